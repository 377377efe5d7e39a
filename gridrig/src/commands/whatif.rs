//! `gridrig whatif`

use super::{answer, run, trace::values};
use crate::exit::Failure;
use crate::init::{self, OwnLog, Site};
use crate::runner::{self, RunOptions};
use crate::scenario::Scenario;
use crate::versioned::{Document, Versioned, WHATIF};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::time::SimDuration;
use gridrig_results::compare::{self, Comparison};
use gridrig_tracelab::characterize::calendar::{Clock, ClockSource};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow};
use gridrig_tracelab::twin::{Grade, Options, Twin, twin};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

const WEEK_S: u64 = 7 * 86_400;

/// `gridrig whatif`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig whatif alpha.swf:430 beta.swf:512 --policy queue-length\n\n\
        Two cases are compared: each domain keeps its jobs (local-only), or brokers forward them \
        under a policy. The time that all logs cover is divided into windows, each of which is a \
        repeat. The twin of each site comes first: docs/twin.md."
)]
pub struct WhatifArgs {
    /// The logs of the sites, and the processors of each (default: what the header says)
    #[arg(required = true, num_args = 2.., value_name = "LOG[:PROCESSORS]")]
    logs: Vec<OwnLog>,
    /// The discipline of all clusters [default: that of each site's twin, else easy-backfill]
    #[arg(long, value_name = "NAME",
          value_parser = crate::cli::values::one_of(DisciplineKind::ALL, DisciplineKind::name))]
    discipline: Option<DisciplineKind>,
    /// A forwarding policy; may be repeated [default: round-robin, queue-length, free-node]
    #[arg(long = "policy", value_name = "NAME")]
    policies: Vec<String>,
    /// The part that is run, counted from the beginning of the time that all logs cover
    #[arg(long, value_name = "START,LENGTH", value_parser = values::window)]
    window: Option<TraceWindow>,
    /// How to align the logs in time [default: clock, refused if the time zones differ]
    #[arg(long, value_name = "HOW")]
    align: Option<Align>,
    /// Number of windows (repeats) that the common time is divided into
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    repeats: u64,
    /// Seed of the brokers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the scenario (whatif.toml) and its runs go
    #[arg(long, default_value = "runs")]
    out: PathBuf,
    /// Number of runs at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Overwrite what is there
    #[arg(long)]
    force: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// What lies beside what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Align {
    /// By UnixStartTime, even if time zones differ
    Clock,
    /// The first Monday 0:00 of each log, by its own calendar
    Week,
    /// The first submission of each log
    Start,
}

/// The document of `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Told<'a> {
    /// In the order of the logs; null for a log without recorded waits.
    twins: Vec<Option<Twin>>,
    /// What the reader should know of the logs and their twins.
    warnings: Vec<String>,
    /// The document of `compare`, with `local-only` as the baseline.
    comparison: Versioned<&'a Comparison>,
}

impl Document for &Told<'_> {
    const SCHEMA: &'static str = WHATIF;
}

/// Says who gains and who loses by brokers between the sites of these logs.
pub(super) fn whatif(args: &WhatifArgs) -> Result<(), Failure> {
    let mut sites = init::sites(&args.logs)?;
    let read = |log: &OwnLog| load(&log.path, SizeFrom::Allocated).map_err(Failure::input);
    let logs: Vec<Loaded> = args.logs.iter().map(read).collect::<Result<_, _>>()?;
    let (starts, length) = part(args, &logs)?;
    let mut warnings = Vec::new();
    let mut twins = Vec::new();
    let windows = starts
        .into_iter()
        .map(|start| TraceWindow { start, length });
    for ((site, log), window) in sites.iter_mut().zip(&logs).zip(windows) {
        let twin = twin_of(args, site, (log, window), &mut warnings)?;
        site.discipline = match (&twin, args.discipline) {
            (Some(twin), _) => twin.discipline,
            (None, Some(asked)) => asked.name(),
            (None, None) => site.discipline,
        };
        let step = SimDuration::from_secs(length.as_nanos() / 1_000_000_000 / args.repeats);
        site.window = Some(TraceWindow {
            length: step,
            ..window
        });
        twins.push(twin);
    }
    drop(logs);
    let comparison = federate(args, &sites)?;
    let told = Told {
        twins,
        warnings,
        comparison: Versioned::from(&comparison),
    };
    answer(args.json, &Versioned::from(&told), |_| {
        let mut text = String::new();
        for (site, twin) in sites.iter().zip(&told.twins) {
            let verdict = twin.as_ref().map_or("no twin", |twin| &twin.verdict);
            let _ = writeln!(text, "{}: {verdict}", site.name);
        }
        for warning in &told.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        let mut report = compare::report(&comparison);
        let shown = |title: &str| SHOWN.iter().any(|part| title.contains(part));
        report.tables.retain(|table| shown(&table.title));
        let out = args.out.display();
        let more = format!(
            "next: gridrig compare {out}/whatif-{} --baseline local-only",
            args.seed
        );
        format!("{text}\n{}\n{more}\n", report.text())
    })
}

/// Parts of the titles of the tables that say who gains and who loses.
const SHOWN: [&str; 5] = [
    "less is better",
    "Worse off",
    "by origin domain",
    "by user",
    "by size",
];

/// The twin of a site over the time that is asked about; `None` without recorded waits.
fn twin_of(
    args: &WhatifArgs,
    site: &Site<'_>,
    (log, window): (&Loaded, TraceWindow),
    warnings: &mut Vec<String>,
) -> Result<Option<Twin>, Failure> {
    let name = &site.name;
    if log.jobs.iter().all(|job| job.wait_time.is_none()) {
        warnings.push(format!(
            "{name}: its log has no recorded waits, so the quality of its model is not known"
        ));
        return Ok(None);
    }
    let options = Options {
        processors: Some(site.processors),
        discipline: args.discipline,
        window: Some(window),
    };
    let twin = twin(log, &options).map_err(Failure::input)?;
    if twin.grade >= Grade::Rough {
        let is_poor = twin.grade == Grade::Poor;
        let how = if is_poor { "poorly" } else { "roughly" };
        let path = log.file.as_str();
        warnings.push(format!(
            "{name}: what follows is about a model that reproduces its waits {how}; gridrig twin \
             {path} says what is not modelled"
        ));
    }
    Ok(Some(twin))
}

/// Writes the scenario, runs it and compares.
fn federate(args: &WhatifArgs, sites: &[Site<'_>]) -> Result<Comparison, Failure> {
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: expected a folder", args.out.display()))?;
    let file = args.out.join("whatif.toml");
    let text = scenario(args, sites)?;
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
        let written = init::write_new(&file, &text, args.force);
        written.with_context(|| format!("{}: expected a new file, or --force", file.display()))?;
    }
    let scenario = Scenario::load(&file, &[]).map_err(Failure::input)?;
    let options = RunOptions {
        out: Some(args.out.clone()),
        force: args.force,
        jobs: args.jobs.max(1),
        quiet: args.json,
        ..RunOptions::default()
    };
    let replications = runner::run(&scenario, &options)?;
    run::verdict(&scenario, &replications)?;
    let runs = replications.iter().flat_map(|one| &one.runs);
    let dirs: Vec<PathBuf> = runs.filter_map(|run| run.dir.clone()).collect();
    let options = compare::Options {
        baseline: Some("local-only".to_owned()),
        ..compare::Options::default()
    };
    compare::compare(&dirs, &options).map_err(Failure::input)
}

fn scenario(args: &WhatifArgs, sites: &[Site<'_>]) -> anyhow::Result<String> {
    let policies: Vec<&str> = match args.policies.as_slice() {
        [] => vec!["round-robin", "queue-length", "free-node"],
        named => named.iter().map(String::as_str).collect(),
    };
    let step = sites[0].window.map_or(SimDuration::ZERO, |it| it.length);
    if step.is_zero() {
        bail!(
            "--repeats {}: expected windows of a second at least",
            args.repeats
        );
    }
    let warm_up = SimDuration::from_nanos(step.as_nanos() / 10);
    let (repeats, seed) = (args.repeats, args.seed);
    let replicate = match repeats {
        1 => String::new(),
        _ => format!("replicate = {{ over = \"window\", step = \"{step}\", count = {repeats} }}\n"),
    };
    Ok(format!(
        "# Written by gridrig whatif.\n\n{}[run]\nclock = \"virtual\"\npolicies = {policies:?}\n\
         bounds = true\nseed = {seed}\n{replicate}\n# Each window begins with empty machines: \
         jobs of its first tenth fill them.\n[measure]\nfrom = \"{warm_up}\"\n",
        init::grid(sites)?
    ))
}

/// Where the part that is run begins in each log, and its length.
fn part(args: &WhatifArgs, logs: &[Loaded]) -> anyhow::Result<(Vec<SimDuration>, SimDuration)> {
    let (mut starts, mut length) = aligned(args.align, logs)?;
    if let Some(window) = args.window {
        let end = window.start + window.length;
        if end > length {
            bail!(
                "--window {},{}: expected a part of the {:.2} days that all logs cover",
                window.start,
                window.length,
                length.as_secs_f64() / 86_400.0
            );
        }
        starts
            .iter_mut()
            .for_each(|start| *start = *start + window.start);
        length = window.length;
    }
    Ok((starts, length))
}

/// Where the time that all logs cover begins in each, and its length, in whole seconds.
fn aligned(
    align: Option<Align>,
    logs: &[Loaded],
) -> anyhow::Result<(Vec<SimDuration>, SimDuration)> {
    let seconds = |time: SimDuration| time.as_nanos() / 1_000_000_000;
    let ends = |log: &Loaded| {
        let [first, last] = [log.jobs.first(), log.jobs.last()];
        [first, last].map(|job| job.map_or(0, |job| seconds(job.submit)))
    };
    let covered: Vec<[u64; 2]> = logs.iter().map(ends).collect();
    let clocks: Vec<Clock> = logs.iter().map(|log| Clock::of(&log.header)).collect();
    let starts: Vec<u64> = match align {
        Some(Align::Start) => covered.iter().map(|[first, _]| *first).collect(),
        Some(Align::Week) => {
            let monday = |(clock, [first, _]): (&Clock, &[u64; 2])| {
                let into = clock.second_of_week(SimDuration::from_secs(*first));
                first + (WEEK_S - into) % WEEK_S
            };
            clocks.iter().zip(&covered).map(monday).collect()
        }
        None | Some(Align::Clock) => by_clock(align, logs, &clocks, &covered)?,
    };
    let left = starts
        .iter()
        .zip(&covered)
        .map(|(start, [_, last])| last.saturating_sub(*start));
    let length = left.min().unwrap_or(0);
    if length == 0 {
        bail!("the logs have no time in common: expected longer ones, or another --align");
    }
    let starts = starts.into_iter().map(SimDuration::from_secs).collect();
    Ok((starts, SimDuration::from_secs(length)))
}

/// The latest first submission of all, in each log.
fn by_clock(
    align: Option<Align>,
    logs: &[Loaded],
    clocks: &[Clock],
    covered: &[[u64; 2]],
) -> anyhow::Result<Vec<u64>> {
    const OTHERWISE: &str = "--align week, or --align start for their first submissions, whatever \
                             the hour and day";
    let mut unix = Vec::new();
    for (log, clock) in logs.iter().zip(clocks) {
        let Some(start) = clock.unix_start else {
            bail!(
                "{}: its header has no UnixStartTime, so that its clock is not known (expected \
                 {OTHERWISE})",
                log.file
            );
        };
        unix.push(start);
    }
    let begin = |at: usize| unix[at] + covered[at][0];
    let latest = (0..logs.len()).max_by_key(|at| begin(*at)).unwrap_or(0);
    for (at, log) in logs.iter().enumerate() {
        if unix[at] + covered[at][1] <= begin(latest) {
            let date = |at: usize, end: usize| {
                let at_end = SimDuration::from_secs(covered[at][end]);
                clocks[at].date(at_end).unwrap_or_default()
            };
            bail!(
                "the clocks disagree: {} ends on {}, before {} begins on {} (expected logs of the \
                 same time, or {OTHERWISE})",
                log.file,
                date(at, 1),
                logs[latest].file,
                date(latest, 0)
            );
        }
    }
    let known = |clock: &&Clock| !matches!(clock.source, ClockSource::Utc | ClockSource::Trace);
    let mut offsets = clocks.iter().filter(known).map(|clock| clock.utc_offset_s);
    let first = offsets.next().unwrap_or(0);
    // An hour is daylight saving time.
    if align.is_none() && offsets.any(|other| (other - first).abs() > 3_600) {
        let zones: Vec<String> = logs
            .iter()
            .zip(clocks)
            .map(|(log, clock)| format!("{} {}", log.file, clock.zone_name()))
            .collect();
        bail!(
            "the clocks disagree: the time zones are {} (expected --align clock if they are right, \
             --align week to lay the same hours of the week beside each other, or --align start)",
            zones.join(", ")
        );
    }
    Ok(unix.iter().map(|start| begin(latest) - start).collect())
}
