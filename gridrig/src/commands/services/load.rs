//! `gridrig load`

use crate::cli::LoadArgs;
use crate::commands::{print, print_json, refuse_existing};
use crate::exit::Failure;
use crate::interrupt;
use crate::load::{Level, Paper, Plan, Report, Times, drive};
use crate::realtime::{outlet, workdir};
use crate::versioned::Versioned;
use crate::words::many;
use anyhow::{Context as _, anyhow, ensure};
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::Client;
use gridrig_replayer::outlet::{CommandLog, Limits, Native, Outlet, OutletText};
use gridrig_results::text::{aligned, cells, head, table};
use gridrig_service::http::allow_descriptors;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The longest that a client may submit: jobs have numbers of 32 bits.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Beyond the timeout of requests, so that the outlet's own comes later.
const SPARE: Duration = Duration::from_secs(5);
/// Descriptors that are no connections of clients.
const OTHERS: u64 = 256;
/// A share of one processor from which on the load tester itself is what is slow.
const BUSY: f64 = 0.9;
/// How far the throughput may be from what a closed loop gives.
const TOLERANCE: f64 = 0.1;

/// Loads a service with clients that submit and wait.
pub(in crate::commands) fn load(args: LoadArgs) -> Result<(), Failure> {
    let plan = plan(&args)?;
    let workdir = workdir().map_err(Failure::run)?;
    let ways = way(&args, workdir.path())?;
    let descriptions = described(&args.outlet).then(|| workdir.path().join("jobs"));
    allow_descriptors(u64::from(plan.clients) + OTHERS);
    let lines = args.out.as_deref().map(|dir| -> anyhow::Result<_> {
        refuse_existing(dir, args.force)?;
        std::fs::create_dir_all(dir).with_context(|| format!("--out {}", dir.display()))?;
        let file = dir.join("requests.csv");
        let created = File::create(&file).with_context(|| file.display().to_string())?;
        Ok(Box::new(created) as Box<dyn std::io::Write + Send>)
    });
    let lines = lines.transpose()?;
    // All clients on this thread: most of what they do is to wait.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    let driven = runtime.block_on(drive(plan, ways, descriptions, lines, interrupt::wait()));
    let mut report = driven.context("requests.csv").map_err(Failure::Run)?;
    report.paper = args.beside_paper.then(Paper::jss);
    if let Some(dir) = &args.out {
        let text = serde_json::to_string_pretty(&Versioned::from(&report)).map_err(Failure::run)?;
        let file = dir.join("load.json");
        let written = std::fs::write(&file, text + "\n");
        let written = written.with_context(|| file.display().to_string());
        written.map_err(Failure::Run)?;
    }
    match args.json {
        true => print_json(&Versioned::from(&report))?,
        false => print(&text(&report))?,
    }
    if report.interrupted {
        return Err(Failure::Interrupted);
    }
    match report.failures.first() {
        Some(why) if report.whole.accepted == 0 => {
            let requests = many(report.whole.failed, "request");
            Err(Failure::Run(anyhow!(
                "no job was accepted in {requests}: {}",
                why.first
            )))
        }
        _ => Ok(()),
    }
}

fn plan(args: &LoadArgs) -> anyhow::Result<Plan> {
    let (each, timeout) = (args.each, args.timeout);
    let longest = !each.is_zero() && each <= LONGEST;
    ensure!(
        longest,
        "--for {each:?}: expected more than 0s and at most 1d"
    );
    ensure!(
        !timeout.is_zero(),
        "--timeout {timeout:?}: expected more than 0s"
    );
    let last = args.every * (args.clients - 1);
    ensure!(
        each > last,
        "--for {each:?}: the first of {} clients would end before the last begins (expected more \
         than {last:?}, or a shorter --every)",
        args.clients
    );
    Ok(Plan {
        clients: args.clients,
        every: args.every,
        each,
        timeout,
        processors: args.processors,
        run_time: args.run_time,
    })
}

/// How jobs get there. Descriptions are written to `dir`, commands run here.
fn way(args: &LoadArgs, dir: &Path) -> Result<Arc<dyn Outlet>, Failure> {
    let patience = args.timeout + SPARE;
    if let OutletText::Json(url) = &args.outlet {
        let client = Client::new(patience).map_err(Failure::run)?;
        return Ok(Arc::new(Native::new(client, url).without_run()));
    }
    let limits = Limits {
        request: patience,
        timeout: patience,
        ..Limits::default()
    };
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let here = std::env::current_dir().map_err(Failure::run)?;
    let log = Arc::new(CommandLog::none(clock));
    let way = outlet(&args.outlet, (dir, &here), limits, &log);
    Ok(way.map_err(|why| anyhow!("OUTLET: {why}"))?)
}

/// Whether descriptions of jobs are written that are of no use once they are handed
/// over. gwd takes the directory of a template for that of the job.
fn described(outlet: &OutletText) -> bool {
    match outlet {
        OutletText::Command(words) => !words.iter().any(|word| word.contains("{template}")),
        other => matches!(other, OutletText::Slurm(_)),
    }
}

fn text(report: &Report) -> String {
    let mut lines = vec![head(
        "clients | accepted | failed | jobs/min | clients x 60 / response | mean ms | median ms | p99 ms \
         | max ms",
    )];
    lines.extend(
        report
            .levels
            .iter()
            .map(|level| line(level.clients.to_string(), level)),
    );
    lines.push(line("all".to_owned(), &report.whole));
    let mut text = table(&lines);
    let mut say = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    for level in &report.levels {
        let (rate, clients) = (level.jobs_per_min, many(level.clients.into(), "client"));
        let expected = level.expected_jobs_per_min.unwrap_or(rate);
        if (rate - expected).abs() > TOLERANCE * expected {
            say(format!(
                "{clients}: {rate:.1} jobs/min, but clients x 60 / response is {expected:.1}: requests \
                 are long for this level, or something else takes the time"
            ));
        }
    }
    for one in &report.failures {
        let ms = one
            .response_s
            .as_ref()
            .map_or(0.0, |times| times.mean * 1e3);
        let (requests, outcome) = (one.requests, one.outcome);
        say(format!(
            "{requests} {outcome}, after {ms:.3} ms on average; the first: {}",
            one.first
        ));
    }
    if report.broken_off > 0 {
        say(format!("{} broken off", many(report.broken_off, "request")));
    }
    if let Some(own) = report.processor_s {
        let share = own / report.whole.seconds;
        let slow = if share > BUSY {
            "; response times include waiting for it"
        } else {
            ""
        };
        let share = share * 100.0;
        say(format!(
            "the load tester itself: {own:.2} s of processor time, {share:.0} % of one{slow}"
        ));
    }
    if let Some(paper) = &report.paper {
        let mut lines = vec![head("paper | clients | jobs/min | response s")];
        lines.extend(paper.rows.iter().map(|row| {
            let clients = row.clients.to_string();
            cells([&row.service, &clients, &row.jobs_per_min, &row.response_s])
        }));
        say(format!("\n{}\n{}", paper.source, paper.measured_on));
        text.push_str(&aligned(&lines, "  ", &[0]));
    }
    text
}

fn line(name: String, level: &Level) -> Vec<String> {
    let tenths = |number: f64| format!("{number:.1}");
    let ms = |of: fn(&Times) -> f64| {
        let times = level.response_s.as_ref();
        times.map_or_else(|| "-".to_owned(), |times| format!("{:.3}", of(times) * 1e3))
    };
    cells([
        name,
        level.accepted.to_string(),
        level.failed.to_string(),
        tenths(level.jobs_per_min),
        level
            .expected_jobs_per_min
            .map_or_else(|| "-".to_owned(), tenths),
        ms(|times| times.mean),
        ms(|times| times.p50),
        ms(|times| times.p99),
        ms(|times| times.max),
    ])
}
