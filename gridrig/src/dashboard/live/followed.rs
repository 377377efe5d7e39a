//! A run in real time that was started elsewhere, while it goes on.

use super::hub::Hub;
use super::life::so_far;
use super::watch::Watch;
use crate::runner::{Followed, Observer as _, cells};
use gridrig_core::ids::JobId;
use gridrig_protocol::rest::{Problem, Result};
use gridrig_results::catalogue::is_held;
use gridrig_results::names::Names;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

fn read(dir: &Path) -> Result<Followed> {
    let unreadable =
        |error: anyhow::Error| Problem::new(422, "unreadable-run", format!("{error:#}"));
    Followed::read(dir).map_err(unreadable)
}

/// The state of the page, as JSON.
///
/// # Errors
/// A run whose journals cannot be read, or that has just ended.
pub fn state(dir: &Path) -> Result<Arc<String>> {
    let goes_on = is_held(dir);
    let run = read(dir)?;
    let hub = Arc::<Hub>::default();
    let watch = Watch::new(Arc::clone(&hub), dir);
    let scenario = &run.cell.replication.scenario;
    let replication = &run.cell.replication;
    watch.begin(scenario, std::slice::from_ref(replication));
    let all = cells(scenario, replication);
    let position = all.iter().position(|cell| cell.name() == run.cell.name());
    let position = position.unwrap_or(0);
    let start = run.start();
    let mut shown = watch.start(position, &start);
    for (at, event) in run.log.records() {
        shown.emit(at, event);
    }
    shown.end(Some(&run.log), run.now);
    let state = if goes_on { "running" } else { "stopped" };
    hub.change_run(position, |run| run.state = state);
    hub.session(|session| {
        session.state = state;
        session.message = (!goes_on).then(|| match &run.cannot_go_on {
            None => {
                "This run was interrupted. It can be continued on the machine where it was started."
                    .to_owned()
            }
            Some(why) => format!("This run was interrupted and cannot be continued ({why})."),
        });
    });
    let told = serde_json::from_str(&hub.snapshot());
    let mut told: Value = told.map_err(|_| Problem::new(500, "unreadable-run", "no state"))?;
    // When it began on the wall is not in its journals.
    for figure in ["wall_s", "pace", "eta_s"] {
        told["now"][figure] = Value::Null;
    }
    Ok(Arc::new(told.to_string()))
}

/// The life of a job so far; `None` if there is no such job.
///
/// # Errors
/// As [`state`].
pub fn life(dir: &Path, job: JobId) -> Result<Option<Value>> {
    let run = read(dir)?;
    let names = Names::of(&run.grid);
    let mut life = so_far(job, &run.load.submissions, &run.log, &names);
    if let Some(life) = &mut life {
        life["is_over"] = json!(false);
    }
    Ok(life)
}
