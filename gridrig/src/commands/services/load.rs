//! `gridrig load`

use crate::cli::{LoadArgs, Until};
use crate::commands::{answer, refuse_existing};
use crate::exit::Failure;
use crate::interrupt;
use crate::load::{Level, Paper, Report, Times, drive};
use crate::realtime::{outlet, sbatch, unless_it_breaks_off, workdir};
use crate::versioned::Versioned;
use crate::words::{list, many};
use anyhow::{Context as _, anyhow};
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::Client;
use gridrig_replayer::outlet::{ArcRest, Bes, CommandLog, Limits, Native, Outlet, OutletText};
use gridrig_results::text::{aligned, cells, head, table};
use gridrig_service::http::allow_descriptors;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
    args.plan.check()?;
    let workdir = workdir().map_err(Failure::run)?;
    let ways = way(&args, workdir.path())?;
    // A command makes it.
    let descriptions = Some(workdir.path().join("jobs")).filter(|dir| dir.is_dir());
    allow_descriptors(u64::from(args.plan.clients) + OTHERS);
    let lines = args.out.as_deref().map(|dir| -> anyhow::Result<_> {
        refuse_existing(dir, args.force)?;
        std::fs::create_dir_all(dir).with_context(|| format!("--out {}", dir.display()))?;
        let file = dir.join("requests.csv");
        File::create(&file).with_context(|| file.display().to_string())
    });
    let lines = lines.transpose()?;
    // All clients on this thread: most of what they do is to wait.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    let driven = drive(args.plan, ways, descriptions, lines, interrupt::wait());
    let driven = runtime.block_on(unless_it_breaks_off(driven));
    let driven = driven.map_err(Failure::run)?.context("requests.csv");
    let mut report = driven.map_err(Failure::Run)?;
    report.paper = args.beside_paper.then(Paper::jss);
    if let Some(dir) = &args.out {
        let text = serde_json::to_string_pretty(&Versioned::from(&report)).map_err(Failure::run)?;
        let file = dir.join("load.json");
        let written = std::fs::write(&file, text + "\n");
        let written = written.with_context(|| file.display().to_string());
        written.map_err(Failure::Run)?;
    }
    answer(args.json, &Versioned::from(&report), |_| text(&report))?;
    if report.interrupted {
        return Err(Failure::Interrupted);
    }
    match report.failures.first() {
        Some(why) if report.whole.accepted == 0 => {
            let (requests, why) = (many(report.whole.failed, "request"), &why.first);
            Err(Failure::Run(anyhow!(
                "no job was accepted in {requests}: {why}"
            )))
        }
        _ => Ok(()),
    }
}

/// How jobs get there. Descriptions are written to `dir`, commands run here.
fn way(args: &LoadArgs, dir: &Path) -> Result<Arc<dyn Outlet>, Failure> {
    let patience = args.plan.timeout + SPARE;
    let client = || Client::new(patience).map_err(Failure::run);
    let mut to = args.outlet.clone();
    match (args.plan.until, &args.outlet) {
        (_, OutletText::Json(url)) => {
            return Ok(Arc::new(Native::new(client()?, url).without_run()));
        }
        (Until::Ended, OutletText::Arc(url)) => {
            return Ok(Arc::new(ArcRest::new(client()?, url).following()));
        }
        (Until::Ended, OutletText::Bes(url)) => {
            return Ok(Arc::new(Bes::new(client()?, url).following()));
        }
        (Until::Ended, OutletText::Slurm(bin)) => {
            to = OutletText::Command(sbatch(bin, &["--wait"]).map_err(Failure::Run)?);
        }
        (Until::Ended, OutletText::Command(_)) => {
            let expected = "or --until accepted, and a command that waits for the end itself";
            return Err(anyhow!(
                "--until ended: the state of a command's jobs is not known (expected another \
                 OUTLET, {expected})"
            )
            .into());
        }
        (Until::Accepted, _) | (_, OutletText::LaGrid(_)) => {}
    }
    let limits = Limits {
        timeout: patience,
        ..Limits::default()
    };
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let here = std::env::current_dir().map_err(Failure::run)?;
    let log = Arc::new(CommandLog::none(clock));
    let way = outlet(&to, (dir, &here), limits, &log);
    Ok(way.map_err(|why| anyhow!("OUTLET: {why}"))?)
}

fn text(report: &Report) -> String {
    let mut lines = vec![head(
        "clients | accepted | failed | jobs/min | clients x 60 / response | mean ms | median ms | p99 ms \
         | max ms",
    )];
    let levels = report.levels.iter();
    lines.extend(levels.map(|level| line(level.clients.to_string(), level)));
    lines.push(line("all".to_owned(), &report.whole));
    let mut text = table(&lines);
    let mut say = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    let differs = report.levels.iter().filter(|level| {
        let (rate, expected) = (level.jobs_per_min, level.expected_jobs_per_min);
        expected.is_some_and(|expected| (rate - expected).abs() > TOLERANCE * expected)
    });
    let differs = list(differs.map(|level| level.clients));
    if !differs.is_empty() {
        say(format!(
            "jobs/min differ by more than a tenth from clients x 60 / response with {differs} \
             clients: requests are long for these levels, or something else takes the time"
        ));
    }
    for one in &report.failures {
        let (requests, outcome, first) = (one.requests, one.outcome, &one.first);
        let ms = one.response_s.mean * 1e3;
        say(format!(
            "{requests} {outcome}, after {ms:.3} ms on average; the first: {first}"
        ));
    }
    if report.broken_off > 0 {
        say(format!("{} broken off", many(report.broken_off, "request")));
    }
    if let Some(own) = report.processor_s {
        let share = own / report.whole.seconds;
        let percent = share * 100.0;
        say(format!(
            "the load tester itself: {own:.2} s of processor time, {percent:.0} % of one"
        ));
        if share > BUSY {
            say("response times include waiting for it".to_owned());
        }
    }
    if let Some(paper) = &report.paper {
        let lines = [std::slice::from_ref(&paper.columns), &paper.rows[..]].concat();
        say(format!("\n{}\n{}", paper.source, paper.measured_on));
        text.push_str(&aligned(&lines, "  ", &[0]));
    }
    text
}

fn line(name: String, level: &Level) -> Vec<String> {
    let tenths = |number: f64| format!("{number:.1}");
    let none = || "-".to_owned();
    let ms = |of: fn(&Times) -> f64| {
        let times = level.response_s.as_ref();
        times.map_or_else(none, |times| format!("{:.3}", of(times) * 1e3))
    };
    let expected = level.expected_jobs_per_min.map_or_else(none, tenths);
    cells([
        name,
        level.accepted.to_string(),
        level.failed.to_string(),
        tenths(level.jobs_per_min),
        expected,
        ms(|times| times.mean),
        ms(|times| times.p50),
        ms(|times| times.p99),
        ms(|times| times.max),
    ])
}
