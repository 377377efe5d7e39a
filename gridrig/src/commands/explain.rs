//! `gridrig explain`

use super::answer;
use crate::cli::ExplainArgs;
use crate::dashboard::life_of;
use crate::exit::Failure;
use crate::runner;
use crate::versioned::Versioned;
use crate::words::{list, many};
use anyhow::anyhow;
use gridrig_core::event::EventKind;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, MOST_COMPONENTS, Reason};
use gridrig_core::policy::{BrokerSettings, PolicySpec};
use gridrig_results::rundir::{self, DecisionDoc};
use gridrig_results::text;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a decision leads to at its own instant.
const LED_TO: [EventKind; 4] = [
    EventKind::Dispatched,
    EventKind::Forwarded,
    EventKind::Refused,
    EventKind::Rejected,
];

/// Tells the life of a job of a finished run, with how brokers decided about it.
pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let (dir, job) = (&meant(&args.run)?, JobId(args.job));
    let manifest = rundir::read_manifest(dir).map_err(Failure::input)?;
    let found = rundir::read_job(dir, job).map_err(Failure::input)?;
    let found = found.ok_or_else(|| {
        let (dir, file) = (dir.display(), manifest.files.get(rundir::names::JOBS));
        let jobs = file.and_then(|file| file.rows).unwrap_or(0);
        let why = anyhow!(
            "{dir}: job {}: expected a number from 0 and below {jobs}",
            job.0
        );
        Failure::Input(why)
    })?;
    let (mut decisions, is_recorded) = runner::decisions(dir, &manifest, job)?;
    name_limit(&mut decisions, &manifest, &found.submission.spec);
    let mut life = life_of(&found);
    life["policy"] = json!(manifest.policy_or_bound());
    life["decisions_recorded"] = json!(is_recorded);
    life["decisions"] = json!(decisions);
    let document = Versioned::of("gridrig.explain.1", &life);
    answer(args.json, &document, |_| told(&life, &decisions))
}

/// A job that has too many components for the policy is told so.
fn name_limit(decisions: &mut [DecisionDoc], manifest: &rundir::Manifest, job: &JobSpec) {
    let policy = manifest.policy.as_deref().unwrap_or_default();
    let Ok(own) = policy.parse::<PolicySpec>() else {
        return;
    };
    let settings = BrokerSettings {
        policy: own,
        ..BrokerSettings::default()
    };
    if settings.takes_components_of(job) {
        return;
    }
    let none = Some(Reason::NoCandidate.name());
    for decision in decisions
        .iter_mut()
        .filter(|it| it.reason.as_deref() == none)
    {
        decision.says += &format!(
            ": the job has {} components, and {policy} places at most {}",
            job.components.iter().count(),
            MOST_COMPONENTS - 1
        );
    }
}

/// The run that is meant: the folder of a policy stands for its only replication.
fn meant(dir: &Path) -> Result<PathBuf, Failure> {
    let is_run = |dir: &Path| dir.join(rundir::names::MANIFEST).exists();
    if is_run(dir) {
        return Ok(dir.to_owned());
    }
    let below = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
    runs.retain(|path| is_run(path));
    runs.sort();
    match &runs[..] {
        // Reading says what is wrong with it.
        [] => Ok(dir.to_owned()),
        [only] => Ok(only.clone()),
        [first, ..] => {
            let names = runs.iter().filter_map(|run| run.file_name()?.to_str());
            let why = anyhow!(
                "{}: holds {} replications, {} (expected one of them, such as {})",
                dir.display(),
                runs.len(),
                list(names),
                first.display()
            );
            Err(Failure::Input(why))
        }
    }
}

/// The life in words: each decision stands before what it led to.
fn told(life: &Value, decisions: &[DecisionDoc]) -> String {
    let of = |key: &str| life[key].as_str().unwrap_or("").to_owned();
    let policy = match of("policy") {
        none if none.is_empty() => "no broker".to_owned(),
        name => format!("policy {name}"),
    };
    let mut said = format!(
        "job {}, {}, entered at {}, {policy}: {}",
        life["job"],
        many(life["processors"].as_u64().unwrap_or(0), "processor"),
        of("entry"),
        of("state")
    );
    if let Some(delay) = life["delay_s"].as_f64() {
        said += &format!(", delay {delay:.3} s");
    }
    said.push('\n');
    let mut rest = decisions;
    for step in life["steps"].as_array().into_iter().flatten() {
        let at = step["t_s"].as_f64().unwrap_or(0.0);
        let kind = step["kind"].as_str().unwrap_or("");
        let led = EventKind::from_name(kind).is_some_and(|it| LED_TO.contains(&it));
        let before = |it: &DecisionDoc| it.time_s < at || (led && it.time_s <= at);
        let (now, later) = rest.split_at(rest.partition_point(before));
        now.iter().for_each(|decision| said += &paragraph(decision));
        rest = later;
        let text = step["text"].as_str().unwrap_or("");
        said += &format!("{at:>12.3} s  {kind} {text}\n");
    }
    rest.iter()
        .for_each(|decision| said += &paragraph(decision));
    said
}

fn paragraph(decision: &DecisionDoc) -> String {
    let score = decision.score_of.as_deref();
    let by = score.map_or(String::new(), |of| format!(" by {of}"));
    let mut lines = vec![text::head(
        " | candidate | standing | score | free | queued | age s | true free | true queued",
    )];
    let number = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    lines.extend(decision.candidates.iter().map(|it| {
        vec![
            String::new(),
            it.candidate.clone(),
            it.standing.clone(),
            number(it.score.map(short)),
            it.free.to_string(),
            short(it.queued),
            short(it.information_age_s),
            number(it.true_free.map(|free| free.to_string())),
            number(it.true_queued.map(|queued| queued.to_string())),
        ]
    }));
    let table = text::aligned(&lines, "  ", &[1, 2]);
    format!(
        "{:>12.3} s  {} decides{by}\n             {}\n{:15}-> {}\n",
        decision.time_s,
        decision.broker,
        table.replace('\n', "\n             ").trim_end(),
        "",
        decision.says
    )
}

/// At most three places.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
