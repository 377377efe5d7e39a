//! From descriptions to jobs of the LRMS.

use super::Face;
use super::answer::Fault;
use super::look::look_at;
use super::store::{Job, Stage, Waiting};
use crate::faces::watched;
use gridrig_core::agent::{Arrival, LrmsAgent};
use gridrig_core::event::MessageKind;
use gridrig_core::job::{Components, JobSpec, Requirements};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{CallError, Driven};
use gridrig_protocol::adl::{self, Activity};
use gridrig_protocol::description::{self, Described, Language};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The id of a new job, or why there is none.
pub(super) type Created = Result<String, String>;

/// Creates the jobs that a request describes. Once begun it is done, whether
/// or not the client is still there: no job is half-made.
pub(super) async fn create(
    face: &Arc<Face>,
    viewer: Option<Arc<str>>,
    text: &str,
) -> Result<Vec<Created>, Fault> {
    let described = match text.trim_start().chars().next() {
        None => return Err(Fault::new(500, "Missing payload")),
        Some('<') => {
            let described = adl::read(text).unwrap_or_else(|error| vec![Err(error)]);
            let described = described.into_iter();
            described
                .map(|one| one.map_err(|error| error.to_string()))
                .collect()
        }
        Some('&' | '|' | '+' | '(') => xrsl(text).unwrap_or_else(|error| vec![Err(error)]),
        Some(_) => return Err(Fault::new(500, "Payload is not recognized")),
    };
    let bytes = text.len();
    make_room(face, described.len(), bytes).await?;
    let task = enter_all(Arc::clone(face), viewer, described, bytes);
    let done = tokio::spawn(task).await;
    done.map_err(Fault::broke_off)
}

/// What ARC's client makes of xRSL before it submits it; what ADL has no words for is
/// named.
fn xrsl(text: &str) -> Result<Vec<Result<Activity, String>>, String> {
    let all = description::read("xRSL", text, Some(Language::Xrsl));
    let all = all.map_err(|error| error.to_string())?;
    let one = |described: Described| {
        let lost = described.lost.into_iter();
        let written = description::write(Language::Adl, &described.job.into());
        let (adl, more) = written.map_err(|error| error.to_string())?;
        let mut read = adl::read(&adl).map_err(|error| error.to_string())?;
        let mut activity = read.remove(0).map_err(|error| error.to_string())?;
        let lost = lost.chain(more).map(|lost| lost.attribute);
        activity.ignored.extend(lost);
        Ok(activity)
    };
    Ok(all.jobs.into_iter().map(one).collect())
}

/// Forgets the oldest jobs that have ended where so many new ones would pass
/// the bound.
async fn make_room(face: &Face, wanted: usize, bytes: usize) -> Result<(), Fault> {
    let most = face.setup.max_jobs;
    let over = || {
        let store = face.store();
        let more = (store.jobs.len() + wanted).saturating_sub(most);
        more.max(usize::from(!store.has_room(bytes)))
    };
    // Some more than are needed go at once, so that not every request has to
    // look; where the oldest are the ones that run, all are looked at.
    for looked_at in [over() + most / 100, usize::MAX] {
        if over() == 0 {
            break;
        }
        let oldest: Vec<u64> = {
            let store = face.store();
            store.jobs.keys().take(looked_at).copied().collect()
        };
        let looks = look_at(face, &oldest).await?;
        let mut store = face.store();
        let ended = looks.iter().filter(|(_, look)| look.state.is_end());
        let spare = store.jobs.len() + wanted;
        for (number, _) in ended.take(spare.saturating_sub(most) + most / 100) {
            store.forget(*number);
        }
    }
    Ok(())
}

async fn enter_all(
    face: Arc<Face>,
    viewer: Option<Arc<str>>,
    described: Vec<Result<Activity, String>>,
    bytes: usize,
) -> Vec<Created> {
    let mut entered = Vec::with_capacity(described.len());
    let mut ready = Vec::new();
    // What the text takes is what its descriptions take.
    let bytes = bytes / described.len().max(1);
    for activity in described {
        let enter = |activity| enter(&face, viewer.as_ref(), activity, bytes);
        let number = activity.and_then(enter);
        ready.extend(number.as_ref().ok().copied());
        entered.push(number);
    }
    let problem = submit(&face, &ready).await.err();
    let mut store = face.store();
    let of = |number: Result<u64, String>| match (number, &problem) {
        (Ok(number), None) => Ok(face.id(number)),
        (Ok(number), Some(problem)) => {
            // One that waits for files has nothing to do with the LRMS yet.
            let job = store.jobs.get(&number);
            if job.is_some_and(|job| job.stage != Stage::Submitting) {
                return Ok(face.id(number));
            }
            store.forget(number);
            Err(problem.to_string())
        }
        (Err(reason), _) => Err(reason),
    };
    entered.into_iter().map(of).collect()
}

/// The steps that a job takes before the LRMS has it.
const BEFORE: u64 = 4;

/// Those of them that are left once its files are there.
pub(super) const PREPARED: u64 = 2;

/// Where a job stands that has so many steps left before the LRMS has it,
/// which then holds it for so long.
pub(super) fn entering(face: &Face, now: SimTime, steps: u64, held: SimDuration) -> Stage {
    let way = SimDuration::from_nanos(face.step().as_nanos().saturating_mul(steps));
    match way.is_zero() && held.is_zero() {
        true => Stage::Submitting,
        false => Stage::Entering {
            until: now + way + held,
            held,
        },
    }
}

/// Where a job stands that has just come or is restarted.
pub(super) fn first_stage(face: &Face, job: &Job) -> Stage {
    let now = face.app.config.clock.now();
    if job.missing().next().is_none() {
        return entering(face, now, BEFORE, job.held);
    }
    let until = now + face.app.config.clock.run(face.setup.stage_in);
    Stage::Uploading { until }
}

/// Checks a description and enters the job; nothing is handed to the LRMS yet.
fn enter(
    face: &Face,
    viewer: Option<&Arc<str>>,
    activity: Activity,
    bytes: usize,
) -> Result<u64, String> {
    let queue = activity.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != face.setup.queue) {
        return Err(format!(
            "Requested queue {queue} does not match any of available queues"
        ));
    }
    let no_duration = |variable: &'static str| {
        move |value: String| {
            format!(
                "environment variable {variable} = \"{value}\": expected a duration such as 90s"
            )
        }
    };
    let length = activity.run_time(face.setup.default_run_time);
    let length = length.map_err(no_duration(adl::RUN_TIME_VARIABLE))?;
    let held = activity.held().map_err(no_duration(adl::HELD_VARIABLE))?;
    let now = face.app.config.clock.now();
    let unix = face.unix_now();
    let mut store = face.store();
    if store.jobs.len() >= face.setup.max_jobs || !store.has_room(bytes) {
        return Err("No more jobs allowed".to_owned());
    }
    let delegation = match &activity.delegation {
        None => None,
        Some(id) => {
            let number = face.delegation_number(id);
            let found = number.and_then(|number| store.delegations.get(&number));
            let found = found.filter(|found| found.is_visible(viewer.map(AsRef::as_ref)));
            match found {
                Some(found) if found.is_valid(unix) => number,
                Some(_) => return Err(format!("Delegation {id} is unfinished or has expired")),
                None => return Err(format!("Failed to find delegation {id}")),
            }
        }
    };
    let delegated = delegation.and_then(|number| store.delegations[&number].credentials.as_ref());
    let delegated = delegated.map(|credentials| Arc::from(credentials.chain.identity.as_str()));
    let owner = viewer.cloned().or(delegated);
    let mut job = Job {
        activity: Arc::new(activity),
        bytes,
        waiting: None,
        length,
        owner: owner.unwrap_or_else(|| Arc::from("anonymous")),
        visible_to: viewer.cloned(),
        held,
        arrived: now,
        stage: Stage::Submitting,
        uploads: BTreeMap::new(),
        wipe: false,
        killed: None,
        delegation,
    };
    job.stage = first_stage(face, &job);
    Ok(store.enter(job))
}

/// Hands those of these jobs to the LRMS that are ready for it, the others
/// when they have taken their steps.
pub(super) async fn submit(face: &Arc<Face>, numbers: &[u64]) -> Result<(), CallError> {
    let mut later: BTreeMap<SimTime, Vec<u64>> = BTreeMap::new();
    for number in numbers {
        if let Some(Stage::Entering { until, .. }) =
            face.store().jobs.get(number).map(|job| &job.stage)
        {
            later.entry(*until).or_default().push(*number);
        }
    }
    for (until, numbers) in later {
        let task = submit_later(Arc::downgrade(face), numbers.clone(), until);
        let task = watched(face.app.actor.clone(), task);
        let task = Arc::new(Waiting(tokio::spawn(task).abort_handle()));
        let mut store = face.store();
        for number in &numbers {
            if let Some(job) = store.jobs.get_mut(number) {
                job.waiting = Some(Arc::clone(&task));
            }
        }
    }
    submit_now(face, numbers).await
}

/// Between two tries to hand a job to an LRMS that has too much to do.
const BUSY: Duration = Duration::from_millis(20);

/// Does not keep the service alive: with it the jobs are gone as well.
async fn submit_later(face: Weak<Face>, numbers: Vec<u64>, until: SimTime) {
    let Some(clock) = face.upgrade().map(|face| face.app.config.clock) else {
        return;
    };
    tokio::time::sleep_until(clock.deadline(until)).await;
    while let Some(face) = face.upgrade() {
        for number in &numbers {
            // One that was killed meanwhile, and maybe restarted, is another's.
            if let Some(job) = face.store().jobs.get_mut(number)
                && matches!(job.stage, Stage::Entering { until: its, .. } if its == until)
            {
                job.stage = Stage::Submitting;
            }
        }
        match submit_now(&face, &numbers).await {
            Err(CallError::Busy) => tokio::time::sleep(BUSY).await,
            Ok(()) | Err(CallError::Stopped) => return,
        }
    }
}

async fn submit_now(face: &Face, numbers: &[u64]) -> Result<(), CallError> {
    let arrivals: Vec<(u64, Arrival)> = {
        let store = face.store();
        let jobs = numbers.iter().filter_map(|number| {
            let job = store.jobs.get(number)?;
            (job.stage == Stage::Submitting).then(|| (*number, arrival(job)))
        });
        jobs.collect()
    };
    if arrivals.is_empty() {
        return Ok(());
    }
    let call = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
        let taken = arrivals
            .into_iter()
            .map(|(number, arrival)| (number, now, lrms.handle(now, arrival)));
        taken.collect::<Vec<_>>()
    };
    let receipts = face.app.actor.message(None, call).await?;
    let mut store = face.store();
    for (number, at, receipt) in receipts {
        let Some(job) = store.jobs.get_mut(&number) else {
            continue;
        };
        job.stage = match receipt {
            Ok(receipt) => {
                face.app.metrics.count_message(MessageKind::Submit);
                Stage::InLrms(receipt.job)
            }
            Err(error) => Stage::Failed {
                at,
                reason: error.to_string(),
            },
        };
        let inputs = Arc::clone(&job.activity);
        store.fetched(inputs.inputs.iter().flat_map(|input| &input.sources));
    }
    Ok(())
}

fn arrival(job: &Job) -> Arrival {
    let activity = &job.activity;
    let requested = activity.wall_time_s.filter(|wall| *wall > 0);
    let requested = requested.map(|wall| wall.min(u64::MAX / 1_000_000_000));
    let requirements = Requirements {
        architecture: activity.platform.as_deref().map(Arc::from),
        os: activity.os.as_deref().map(Arc::from),
        memory_kib: activity.memory_bytes.unwrap_or(0).div_ceil(1024),
        disk_mib: activity.disk_bytes.unwrap_or(0).div_ceil(1024 * 1024),
        generic: activity.coprocessor.clone(),
        ..Requirements::default()
    };
    let components = Components::one(activity.slots, requirements);
    let spec = JobSpec {
        requested_time: requested.map(SimDuration::from_secs),
        ..JobSpec::of(components, job.length.0)
    };
    Arrival {
        tag: activity.tag().map(Into::into),
        ..Arrival::of(spec)
    }
}
