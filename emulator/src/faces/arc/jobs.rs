//! `/jobs`: creating, listing and managing.

use super::answer::{Fault, Reply, ids};
use super::state::RestState;
use super::store::{Job, Stage};
use super::{Call, Face, create};
use axum::extract::State;
use axum::extract::rejection::StringRejection;
use axum::http::{Method, StatusCode};
use gridrig_core::agent::{Cancel, JobKeeper as _, JobState, JobView, LrmsAgent};
use gridrig_core::job::Reason;
use gridrig_core::message::EndState;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::glue2::{self, Activity};
use gridrig_protocol::xml::Element;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a job stands at the instant of the request.
pub(super) struct Look {
    pub(super) state: RestState,
    /// What the LRMS says; `None` where it has not had the job.
    pub(super) view: Option<JobView>,
}

/// What is known of a job on this side of the LRMS.
struct Standing {
    stage: Stage,
    arrived: SimTime,
    killed: Option<SimTime>,
}

impl Standing {
    fn of(job: &Job) -> Self {
        Standing {
            stage: job.stage.clone(),
            arrived: job.arrived,
            killed: job.killed,
        }
    }

    fn state(&self, view: Option<&JobView>, now: SimTime, step: SimDuration) -> RestState {
        let (state, killed) = match self.stage {
            Stage::Uploading { .. } if now < self.arrived + step => (RestState::Accepted, None),
            Stage::Uploading { .. } => (RestState::Preparing, None),
            Stage::Entering { until, held } => (RestState::before(until, held, now, step), None),
            Stage::Submitting => (RestState::Submitting, None),
            Stage::InLrms(_) => (RestState::of(view, now, step), self.killed),
            Stage::Failed { .. } => (RestState::Failed, None),
            Stage::Killed { at } => (RestState::Killed, Some(at)),
        };
        match (state, killed) {
            (RestState::Killed | RestState::Other, Some(at)) if now < at + step => {
                RestState::Killing
            }
            (RestState::Other, Some(_)) => RestState::Killed,
            (state, _) => state,
        }
    }
}

/// Where these jobs stand. Those that are no more, or that were to be
/// forgotten and have ended, are left out.
pub(super) async fn look_at(face: &Face, numbers: &[u64]) -> Result<BTreeMap<u64, Look>, Fault> {
    let stages: Vec<(u64, Standing)> = {
        let mut store = face.store();
        store.give_up(face.app.config.clock.now());
        let stage = |number: &u64| Some((*number, Standing::of(store.jobs.get(number)?)));
        numbers.iter().filter_map(stage).collect()
    };
    let step = face.step();
    let view = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
        let look = |(number, job): (u64, Standing)| {
            let view = match &job.stage {
                Stage::InLrms(job) => lrms.view(*job),
                _ => None,
            };
            let state = job.state(view.as_ref(), now, step);
            (number, Look { state, view })
        };
        stages.into_iter().map(look).collect::<BTreeMap<_, _>>()
    };
    let mut looks = face.app.actor.call(view).await?;
    let mut store = face.store();
    looks.retain(|number, look| match store.jobs.get(number) {
        Some(job) if job.wipe && look.state.is_end() => {
            store.jobs.remove(number);
            false
        }
        found => found.is_some(),
    });
    Ok(looks)
}

/// The number of a job that whoever asks may know of.
pub(super) fn find(face: &Face, viewer: Option<&str>, id: &str) -> Option<u64> {
    let number = face.number(id)?;
    let store = face.store();
    let job = store.jobs.get(&number)?;
    job.is_visible(viewer).then_some(number)
}

pub(super) async fn jobs(
    State(face): State<Arc<Face>>,
    call: Call,
    body: Result<String, StringRejection>,
) -> Reply {
    if matches!(call.method, Method::GET | Method::HEAD) {
        return list(&face, &call).await;
    }
    call.only(&[Method::POST])?;
    let body = body.map_err(|error| Fault::new(error.status().as_u16(), error.body_text()))?;
    let items = match call.action() {
        "new" => {
            let created = create::create(&face, call.viewer.clone(), &body).await?;
            created.into_iter().map(created_item).collect()
        }
        "info" => look(&face, &call, &body, info_item).await?,
        "status" => look(&face, &call, &body, status_item).await?,
        "kill" => kill(&face, &call, &body).await?,
        "clean" => clean(&face, &call, &body).await?,
        "restart" => restart(&face, &call, &body).await?,
        _ => return Err(Fault::new(501, "Action not implemented")),
    };
    let list: Vec<Element> = items;
    let jobs = Element::new("", "jobs").with_all(list);
    Ok(call.format.answer(StatusCode::CREATED, &jobs, &["job"]))
}

async fn list(face: &Face, call: &Call) -> Reply {
    let wanted = call.query.get("state").into_iter().flatten();
    let wanted: Vec<&str> = wanted.flat_map(|states| states.split(',')).collect();
    let viewer = call.viewer.as_deref();
    let numbers: Vec<u64> = {
        let store = face.store();
        let visible = store.jobs.iter().filter(|(_, job)| job.is_visible(viewer));
        visible.map(|(number, _)| *number).collect()
    };
    let looks = look_at(face, &numbers).await?;
    let shown = looks
        .into_iter()
        .filter(|(_, look)| wanted.is_empty() || wanted.contains(&look.state.name()));
    let item = |(number, look): (u64, Look)| {
        let job = Element::new("", "job").field("id", face.id(number));
        // A-REX gives the state only where it had to look at it.
        match wanted.is_empty() {
            true => job,
            false => job.field("state", look.state.name()),
        }
    };
    let jobs = Element::new("", "jobs").with_all(shown.map(item));
    Ok(call.format.answer(StatusCode::OK, &jobs, &["job"]))
}

fn item(code: u16, reason: &str, id: &str) -> Element {
    let job = Element::new("", "job")
        .field("status-code", code)
        .field("reason", reason);
    match id {
        "" => job,
        id => job.field("id", id),
    }
}

fn created_item(created: create::Created) -> Element {
    match created {
        Ok(id) => item(201, "Created", &id).field("state", RestState::Accepting.name()),
        Err(reason) => item(500, &reason, ""),
    }
}

/// What an item of `info` or `status` says of a job that is there, or is not.
type Say = fn(&Face, &str, Option<Found<'_>>) -> Element;

/// A job with what there is to say of it.
struct Found<'a> {
    job: &'a Job,
    number: u64,
    look: &'a Look,
    /// When its credentials run out, in Unix seconds.
    expires: Option<i64>,
}

async fn look(face: &Face, call: &Call, body: &str, say: Say) -> Result<Vec<Element>, Fault> {
    let ids = ids(&call.headers, body)?;
    let viewer = call.viewer.as_deref();
    let numbers: Vec<u64> = ids.iter().filter_map(|id| find(face, viewer, id)).collect();
    let looks = look_at(face, &numbers).await?;
    let store = face.store();
    let items = ids.iter().map(|id| {
        let found = face.number(id).and_then(|number| {
            let (job, look) = (store.jobs.get(&number)?, looks.get(&number)?);
            let delegation = job.delegation.and_then(|id| store.delegations.get(&id));
            let credentials = delegation.and_then(|found| found.credentials.as_ref());
            Some(Found {
                job,
                number,
                look,
                expires: credentials.map(|credentials| credentials.chain.not_after),
            })
        });
        say(face, id, found)
    });
    Ok(items.collect())
}

fn status_item(_face: &Face, id: &str, found: Option<Found<'_>>) -> Element {
    match found {
        Some(found) => item(200, "OK", id).field("state", found.look.state.name()),
        None => item(404, "Job not found", id).field("state", "None"),
    }
}

fn info_item(face: &Face, id: &str, found: Option<Found<'_>>) -> Element {
    let document = Element::new("", "info_document");
    match found {
        Some(found) => {
            let activity = activity(face, found.job, found.number, found.look, found.expires);
            item(200, "OK", id).with(document.with(activity.element()))
        }
        None => item(404, "Job not found", id).with(document),
    }
}

/// What went wrong with a job, if something did.
pub(super) fn problem(job: &Job, look: &Look) -> Option<String> {
    match (&job.stage, look.view.as_ref().map(|view| &view.state)) {
        (Stage::Failed { reason, .. }, _) => Some(reason.clone()),
        (_, Some(JobState::Ended(end))) => match end.state {
            EndState::Completed => None,
            EndState::Cancelled => Some("Job is canceled by external request".to_owned()),
            EndState::Rejected(reason) => Some(refusal(reason)),
            EndState::Failed(reason) => Some(format!("the LRMS lost the job: {}", reason.name())),
        },
        (Stage::Killed { .. }, _) => Some("Job is canceled by external request".to_owned()),
        _ => None,
    }
}

fn refusal(reason: Reason) -> String {
    let why = match reason {
        Reason::NeverFits => "no set of its nodes could ever hold it",
        Reason::QueueFull => "its queue has reached its bound",
        _ => "it was turned away",
    };
    format!("LRMS error: the job was refused ({}): {why}", reason.name())
}

fn activity(face: &Face, job: &Job, number: u64, look: &Look, expires: Option<i64>) -> Activity {
    let id = face.id(number);
    let instant = |at: SimTime| glue2::instant(face.unix_s(at));
    let now = face.app.config.clock.now();
    let (start, end, nodes) = match look.view.as_ref().map(|view| &view.state) {
        Some(JobState::Running { start, placement }) => {
            (Some(*start), None, session_nodes(placement))
        }
        Some(JobState::Ended(end)) => (end.start, end.finish, Vec::new()),
        _ => (None, None, Vec::new()),
    };
    let end = match job.stage {
        Stage::Failed { at, .. } | Stage::Killed { at } => Some(at),
        _ => end,
    };
    let used = start.map(|start| end.unwrap_or(now).since(start).as_nanos() / 1_000_000_000);
    let states = look.state.emies().iter().map(|state| (*state).to_owned());
    let manager_id = match job.stage {
        Stage::InLrms(job) => Some(job.0.to_string()),
        _ => None,
    };
    Activity {
        id: format!(
            "urn:caid:{}:org.nordugrid.arcrest:{id}",
            face.app.config.name
        ),
        local_id: id,
        manager_id,
        name: job.activity.name.clone(),
        states: states
            .chain([format!("arcrest:{}", look.state.name())])
            .collect(),
        exit_code: (look.state == RestState::Finished).then_some(0),
        owner: job.owner.to_string(),
        errors: problem(job, look).into_iter().collect(),
        slots: job.activity.slots,
        requested_wall_s: job.activity.wall_time_s,
        used_wall_s: used,
        stdin: job.activity.input.clone(),
        stdout: job.activity.output.clone(),
        stderr: job.activity.error.clone(),
        queue: face.setup.queue.clone(),
        nodes,
        submitted: Some(instant(job.arrived)),
        started: start.map(instant),
        ended: end.map(instant),
        proxy_expires: expires.and_then(|at| Some(glue2::instant(u64::try_from(at).ok()?))),
        share_id: face.share_id(),
        created: instant(now),
    }
}

/// Most nodes that are named one by one.
const MOST_NODES: usize = 1_000;

fn session_nodes(placement: &[gridrig_core::placement::PlacementRun]) -> Vec<String> {
    let nodes = placement.iter().flat_map(|run| {
        let numbers = run.node..run.node.saturating_add(run.nodes);
        numbers.map(move |node| format!("r{}n{node}", run.resource))
    });
    nodes.take(MOST_NODES).collect()
}

async fn kill(face: &Face, call: &Call, body: &str) -> Result<Vec<Element>, Fault> {
    let ids = ids(&call.headers, body)?;
    let viewer = call.viewer.as_deref();
    let mut cancelled = Vec::new();
    let mut items = Vec::with_capacity(ids.len());
    for id in &ids {
        let Some(number) = find(face, viewer, id) else {
            items.push(item(404, "Job not found", id));
            continue;
        };
        let mut store = face.store();
        let Some(job) = store.jobs.get_mut(&number) else {
            items.push(item(404, "Job not found", id));
            continue;
        };
        match job.stage {
            Stage::Uploading { .. } | Stage::Entering { .. } => {
                let at = face.app.config.clock.now();
                job.stage = Stage::Killed { at };
            }
            Stage::InLrms(name) => {
                job.killed.get_or_insert(face.app.config.clock.now());
                cancelled.push(name);
            }
            Stage::Submitting => {
                items.push(item(505, "Job could not be canceled", id));
                continue;
            }
            Stage::Failed { .. } | Stage::Killed { .. } => {}
        }
        items.push(item(202, "Queued for killing", id));
    }
    let cancel = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
        for job in cancelled {
            // One that has ended stays as it ended.
            let _ = lrms.handle(now, Cancel(job));
        }
    };
    face.app.actor.call(cancel).await?;
    Ok(items)
}

async fn clean(face: &Face, call: &Call, body: &str) -> Result<Vec<Element>, Fault> {
    let ids = ids(&call.headers, body)?;
    let viewer = call.viewer.as_deref();
    let mut marked = Vec::new();
    let mut items = Vec::with_capacity(ids.len());
    for id in &ids {
        let number = find(face, viewer, id);
        let mut store = face.store();
        match number.and_then(|number| Some((number, store.jobs.get_mut(&number)?))) {
            Some((number, job)) => {
                job.wipe = true;
                marked.push(number);
                items.push(item(202, "Queued for cleaning", id));
            }
            None => items.push(item(404, "Job not found", id)),
        }
    }
    // Those that have ended go at once, the others when they are next looked
    // at after their end.
    look_at(face, &marked).await?;
    Ok(items)
}

async fn restart(face: &Arc<Face>, call: &Call, body: &str) -> Result<Vec<Element>, Fault> {
    let ids = ids(&call.headers, body)?;
    let viewer = call.viewer.as_deref();
    let numbers: Vec<u64> = ids.iter().filter_map(|id| find(face, viewer, id)).collect();
    let looks = look_at(face, &numbers).await?;
    let mut again = Vec::new();
    let mut items = Vec::with_capacity(ids.len());
    for id in &ids {
        let number = face.number(id).filter(|number| looks.contains_key(number));
        let mut store = face.store();
        let Some((number, job)) = number.and_then(|n| Some((n, store.jobs.get_mut(&n)?))) else {
            items.push(item(404, "Job not found", id));
            continue;
        };
        match looks[&number].state {
            // A job named twice in one request is restarted once.
            RestState::Failed | RestState::Killed if !again.iter().any(|(n, _)| *n == number) => {
                let now = face.app.config.clock.now();
                let entering = create::entering(face, now, create::BEFORE, job.held);
                let before = std::mem::replace(&mut job.stage, entering);
                job.killed = None;
                if job.missing().next().is_some() {
                    let until = now + face.app.config.clock.run(face.setup.stage_in);
                    job.stage = Stage::Uploading { until };
                }
                again.push((number, before));
                items.push(item(202, "Queued for restarting", id));
            }
            _ => items.push(item(505, "Job has not failed", id)),
        }
    }
    let numbers: Vec<u64> = again.iter().map(|(number, _)| *number).collect();
    if let Err(error) = create::submit(face, &numbers).await {
        let mut store = face.store();
        for (number, before) in again {
            if let Some(job) = store.jobs.get_mut(&number) {
                job.stage = before;
            }
        }
        return Err(error.into());
    }
    Ok(items)
}
