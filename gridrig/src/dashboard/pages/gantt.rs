//! The Gantt page: which job had which processors when.
//!
//! A page asks for the part of a run that it shows. Where that holds few jobs
//! it gets them one by one; where it holds many, how full each cell of a grid
//! is, so that an answer has the same size for a hundred jobs and a million.

mod bins;
mod boxes;
mod load;

pub(super) use load::Timeline;

use super::query::{Pairs, repeated};
use super::{NoPage, bad_request, no_page, unusable, work};
use crate::dashboard::layout::{Layout, Tab, page};
use crate::dashboard::{Dashboard, Shared};
use askama::Template;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use gridrig_protocol::rest::Problem;
use gridrig_results::catalogue::RunEntry;
use gridrig_results::rundir;
use gridrig_service::http::Result;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Policies stacked on a page.
const MOST_RUNS: usize = 4;
/// Jobs of which timelines are kept in memory, over all runs; the run asked
/// for last is kept however many it has.
const KEPT_JOBS: usize = 4_000_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/gantt", get(gantt_page))
        .route("/api/gantt", get(part))
}

/// The timeline of a run.
fn timeline(own: &Dashboard, run: &str, generation: u64) -> Result<Arc<Timeline>, Problem> {
    let read = || Timeline::read(&own.runs.join(run)).map_err(|e| unusable("unreadable-run", &e));
    let mut jobs = 0;
    let stays = |timeline: &Timeline| {
        let before = jobs;
        jobs += timeline.jobs();
        before == 0 || jobs <= KEPT_JOBS
    };
    let kept = &own.pages.timelines;
    kept.get(format!("{generation} {run}"), read, stays)
}

/// A cluster and how it was used in the part that is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ClusterUse {
    name: String,
    /// Its first processor on the axis of all of them.
    first: u64,
    processors: u64,
    /// Jobs that ran in the part.
    jobs: u64,
    /// Those of them that were submitted elsewhere.
    forwarded: u64,
    /// Busy / available processor-seconds of the part; null if it has no
    /// length.
    busy: Option<f64>,
}

/// `/api/gantt`: a part of a run.
async fn part(State(own): State<Shared>, pairs: Pairs) -> Result<Json<Value>> {
    let made = work(&own, move |own| {
        let (run, generation) = one_run(own, &pairs)?;
        let timeline = timeline(own, &run.path, generation)?;
        let seconds = |name| pairs.number::<f64>(name, "seconds from 0");
        let from = seconds("from")?.unwrap_or(0.0);
        let to = seconds("to")?.unwrap_or(timeline.end_s());
        if !(from >= 0.0 && to > from) && timeline.end_s() > 0.0 {
            let text = format!("fields from, to = {from}, {to}: expected seconds with from < to");
            return Err(bad_request(text));
        }
        Ok(draw(&run, &timeline, from, to))
    });
    Ok(Json(made.await?))
}

/// The run that an address names; of a folder of runs, the first.
fn one_run(own: &Dashboard, pairs: &Pairs) -> Result<(RunEntry, u64), Problem> {
    let chosen = own.chosen(pairs.all("run"))?;
    let run = chosen.runs.into_iter().next();
    let run = run.ok_or_else(|| bad_request("no run is named (expected run=PATH)"))?;
    Ok((run, chosen.generation))
}

/// A part of a run as a document. `jobs` are those of the run, `jobs_shown`
/// those that ran in the part, `never_ran` those that never did; the picture
/// has every job of the part, or how full the cells are.
fn draw(run: &RunEntry, timeline: &Timeline, from_s: f64, to_s: f64) -> Value {
    let window = (nanos(from_s), nanos(to_s));
    let found = timeline.window(window);
    let picture = boxes::draw(timeline, &found, window);
    json!({
        "run": run.path,
        "policy": run.policy,
        "scenario": run.scenario,
        "replication": run.key,
        "end_s": timeline.end_s(),
        "from_s": from_s,
        "to_s": to_s,
        "processors": timeline.processors(),
        "jobs": timeline.jobs(),
        "jobs_shown": found.rows.len(),
        "never_ran": timeline.never_ran(),
        "elsewhere": timeline.ran.elsewhere(),
        "clusters": timeline.use_of(&found, window),
        "picture": picture.unwrap_or_else(|| bins::draw(timeline, &found, window)),
    })
}

fn nanos(seconds: f64) -> i64 {
    // Saturates: a page may ask for the end of time.
    (seconds * 1e9).round() as i64
}

#[derive(Template)]
#[template(path = "gantt.html")]
struct GanttPage {
    layout: Layout,
    runs: Vec<RunEntry>,
    /// Runs that could be shown, policy by policy.
    choices: Vec<RunEntry>,
    compare: String,
    from: String,
    to: String,
    left_out: usize,
}

impl GanttPage {
    fn named(&self, run: &RunEntry) -> String {
        run.policy.clone().unwrap_or_else(|| "no broker".to_owned())
    }

    fn replication(&self, run: &RunEntry) -> String {
        gridrig_results::report::key_words(&run.key)
    }

    fn chosen(&self, run: &RunEntry) -> bool {
        self.runs.iter().any(|shown| shown.path == run.path)
    }
}

async fn gantt_page(State(own): State<Shared>, pairs: Pairs) -> Result<Response, NoPage> {
    let made = work(&own, move |own| {
        let chosen = own.chosen(pairs.all("run"))?;
        let all = own.with_catalogue(|opened| opened.catalogue.runs())?;
        let (runs, left_out) = first_of_each(&chosen.named, &chosen.runs);
        let text = |name: &str| pairs.one(name).unwrap_or_default().to_owned();
        Ok(GanttPage {
            layout: Layout::new(Tab::Gantt),
            choices: choices(&all, &runs),
            compare: repeated("run", &chosen.named),
            from: text("from"),
            to: text("to"),
            runs,
            left_out,
        })
    });
    Ok(page(&made.await.map_err(no_page(Tab::Gantt))?))
}

/// Of a folder of runs the first replication of each policy, as it would be a
/// page per week otherwise; and how many policies found no place.
fn first_of_each(named: &[String], runs: &[RunEntry]) -> (Vec<RunEntry>, usize) {
    let mut shown: Vec<RunEntry> = Vec::new();
    let mut folders = BTreeSet::new();
    for run in runs {
        let alone = named.contains(&run.path);
        let folder = run.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if alone || folders.insert(folder) {
            shown.push(run.clone());
        }
    }
    // Bounds come last: they do not compete for a place either.
    shown.sort_by_key(|run| !named.contains(&run.path) && is_bound(run));
    let left_out = shown.len().saturating_sub(MOST_RUNS);
    shown.truncate(MOST_RUNS);
    (shown, left_out)
}

/// Whether a run shows what is possible at best or at worst; a pooled cluster
/// has no policy.
fn is_bound(run: &RunEntry) -> bool {
    run.policy.as_deref().is_none_or(rundir::is_bound)
}

/// What can be put beside these runs: the others of their replication, or the
/// first of every study.
fn choices(all: &[RunEntry], shown: &[RunEntry]) -> Vec<RunEntry> {
    const MOST: usize = 60;
    let study = |run: &RunEntry| run.path.rsplitn(3, '/').nth(2).unwrap_or("").to_owned();
    let fits = |run: &&RunEntry| match shown.first() {
        Some(first) => study(run) == study(first) && run.replication == first.replication,
        None => run.replication == 0,
    };
    all.iter().filter(fits).take(MOST).cloned().collect()
}
