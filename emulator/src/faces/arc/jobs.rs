//! `/jobs`: creating, listing and managing.

use super::answer::{Fault, Reply, ids};
use super::look::{Look, find, look_at, problem};
use super::state::RestState;
use super::store::{Job, Stage};
use super::{Call, Face, create};
use axum::extract::State;
use axum::extract::rejection::StringRejection;
use axum::http::{Method, StatusCode};
use gridrig_core::agent::{Cancel, JobState, LrmsAgent};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::glue2;
use gridrig_protocol::xml::Element;
use std::sync::Arc;

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
    let items: Vec<Element> = match call.action() {
        "new" => {
            let created = create::create(&face, call.viewer.clone(), &body).await?;
            created.into_iter().map(created_item).collect()
        }
        "info" => look(&face, &call, &body, info_item).await?,
        "status" => look(&face, &call, &body, status_item).await?,
        "delegations" => look(&face, &call, &body, delegations_item).await?,
        "kill" => kill(&face, &call, &body).await?,
        "clean" => clean(&face, &call, &body).await?,
        "restart" => restart(&face, &call, &body).await?,
        _ => return Err(Fault::new(501, "Action not implemented")),
    };
    let jobs = Element::new("", "jobs").with_all(items);
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

/// By which delegations the job acts: at most one.
fn delegations_item(face: &Face, id: &str, found: Option<Found<'_>>) -> Element {
    let Some(found) = found else {
        return item(404, "Job not found", id);
    };
    let delegation = found
        .job
        .delegation
        .map(|number| face.delegation_id(number));
    item(200, "OK", id).optional("delegation_id", delegation)
}

fn info_item(face: &Face, id: &str, found: Option<Found<'_>>) -> Element {
    let document = Element::new("", "info_document");
    match found {
        Some(found) => item(200, "OK", id).with(document.with(activity(face, &found))),
        None => item(404, "Job not found", id).with(document),
    }
}

/// The document of a job.
fn activity(face: &Face, found: &Found<'_>) -> Element {
    let (job, look) = (found.job, found.look);
    let id = face.id(found.number);
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
    let lrms_id = match job.stage {
        Stage::InLrms(job) => Some(job.0),
        _ => None,
    };
    let end = end.map(instant);
    let expires = found.expires.and_then(|at| u64::try_from(at).ok());
    let wanted = &job.activity;
    let name = &face.app.config.name;
    let document = glue2::arc::activity(&instant(now))
        .field("ID", format!("urn:caid:{name}:org.nordugrid.arcrest:{id}"))
        .optional("Name", wanted.name.as_ref())
        .field("OtherInfo", "SubmittedVia=org.nordugrid.arcrest")
        .field("Type", "single")
        .field("IDFromEndpoint", format!("urn:idfe:{id}"))
        .optional("LocalIDFromManager", lrms_id)
        .field("JobDescription", "emies:adl")
        .fields("State", look.state.emies())
        .field("State", format!("arcrest:{}", look.state.name()))
        .optional("ExitCode", (look.state == RestState::Finished).then_some(0))
        .optional("Error", problem(job, look))
        .field("Owner", &job.owner)
        .optional("RequestedTotalWallTime", wanted.wall_time_s)
        .field("RequestedSlots", wanted.slots)
        .optional("StdIn", wanted.input.as_ref())
        .optional("StdOut", wanted.output.as_ref())
        .optional("StdErr", wanted.error.as_ref())
        .fields("ExecutionNode", nodes)
        .field("Queue", &face.setup.queue)
        .optional("UsedTotalWallTime", used)
        .field("SubmissionTime", instant(job.arrived))
        .field("ComputingManagerSubmissionTime", instant(job.arrived))
        .optional("StartTime", start.map(instant))
        .optional("ComputingManagerEndTime", end.as_ref())
        .optional("EndTime", end.as_ref())
        .optional("ProxyExpirationTime", expires.map(glue2::instant));
    glue2::arc::in_share(document, &face.share_id())
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

/// An item for each job that a request names: what `act` makes of it.
fn each(
    face: &Face,
    call: &Call,
    body: &str,
    mut act: impl FnMut(u64, &mut Job) -> (u16, &'static str),
) -> Result<Vec<Element>, Fault> {
    let one = |id: String| {
        let number = find(face, call.viewer.as_deref(), &id);
        let mut store = face.store();
        let found = number.and_then(|number| Some((number, store.jobs.get_mut(&number)?)));
        let done = found.map(|(number, job)| act(number, job));
        let (code, reason) = done.unwrap_or((404, "Job not found"));
        item(code, reason, &id)
    };
    Ok(ids(&call.headers, body)?.into_iter().map(one).collect())
}

async fn kill(face: &Face, call: &Call, body: &str) -> Result<Vec<Element>, Fault> {
    let mut cancelled = Vec::new();
    let items = each(face, call, body, |_, job| {
        let at = face.app.config.clock.now();
        match job.stage {
            Stage::Submitting => return (505, "Job could not be canceled"),
            Stage::Uploading { .. } | Stage::Entering { .. } => job.stage = Stage::Killed { at },
            Stage::InLrms(name) => {
                job.killed.get_or_insert(at);
                cancelled.push(name);
            }
            Stage::Failed { .. } | Stage::Killed { .. } => {}
        }
        (202, "Queued for killing")
    })?;
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
    let mut marked = Vec::new();
    let items = each(face, call, body, |number, job| {
        job.wipe = true;
        marked.push(number);
        (202, "Queued for cleaning")
    })?;
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
    let items = each(face, call, body, |number, job| {
        let state = looks.get(&number).map(|look| look.state);
        // A job named twice in one request is restarted once.
        let once = !again.iter().any(|(n, _)| *n == number);
        match state {
            None => return (404, "Job not found"),
            Some(RestState::Failed | RestState::Killed) if once => {}
            Some(_) => return (505, "Job has not failed"),
        }
        again.push((number, job.stage.clone()));
        job.stage = create::first_stage(face, job);
        job.killed = None;
        (202, "Queued for restarting")
    })?;
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
