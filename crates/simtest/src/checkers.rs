//! What must hold of every run, each rule by its name.

mod together;

mod windows;

use crate::trail::{JobRecord, Share, Step, Trails};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::EventKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Component, Entry, JobSpec, Reason, Requirements, Submission};
use gridrig_core::policy::{InformationNeed, LocalInfo};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::{BTreeMap, BTreeSet};
use together::is_together;

/// What breaks a rule, if anything does.
type Checked = Result<(), String>;

/// A rule that a run must keep, as a sentence, and what looks whether it does.
pub type Checker = (&'static str, fn(&Grid, &[Submission], &Trails) -> Checked);

/// Every rule.
pub const ALL: [Checker; 13] = [
    (
        "a job ends exactly once, and is seen to end after that",
        one_end_per_job,
    ),
    (
        "a job is in one LRMS only, and starts once, and once more after each requeue",
        one_run_per_job,
    ),
    (
        "the steps of a job never go back in time",
        steps_in_time_order,
    ),
    (
        "no node gives more processors, memory or generic resources than it has",
        nodes_within_capacity,
    ),
    (
        "a job gets the processors it asked for, on nodes of its kind",
        placement_as_asked,
    ),
    (
        "a finished job ran for its run time on its slowest node",
        run_time_as_given,
    ),
    ("no job runs on a node that is down", nodes_up),
    (
        "with exact estimates and a pass at each change, no promised start is missed",
        promises_kept,
    ),
    (
        "a job starts within its window, unless nodes fail or a job in the way may run on",
        windows::kept,
    ),
    (
        "a job comes by a broker that forwards it, and not more often than it may",
        forwards_allowed,
    ),
    (
        "a job starts on own processors, or on those that are delegated for it",
        processors_held,
    ),
    (
        "a job of several clusters has all its processors from its start to its end",
        together::all_or_none,
    ),
    (
        "no broker knows what it cannot have been told yet",
        information_from_the_past,
    ),
];

/// Applies every rule.
///
/// # Errors
/// The first rule that is broken, and by what.
pub fn check_all(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    ALL.iter().try_for_each(|(rule, check)| {
        check(grid, submissions, trails)
            .map_err(|what| format!("rule \"{rule}\" is broken: {what}"))
    })
}

fn one_end_per_job(_: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    for job in 0..submissions.len() {
        let steps = trails.jobs.get(job).map_or(&[][..], Vec::as_slice);
        let ends = times(steps, |step| {
            matches!(
                step,
                Step::Finished(_) | Step::Rejected(..) | Step::Cancelled(_) | Step::Failed(..)
            )
        });
        let seen = times(steps, |step| matches!(step, Step::Seen(_)));
        let mut others = steps.iter().rev();
        let last = others
            .find(|(_, step)| !matches!(step, Step::Lease(..) | Step::Held(..) | Step::LetGo(_)))
            .is_some_and(|(_, step)| matches!(step, Step::Seen(_)));
        if (ends, seen, last) != (1, 1, true) {
            return Err(format!(
                "job {job} ends {ends} times and is seen to end {seen} times: {steps:?}"
            ));
        }
    }
    Ok(())
}

/// How many of the steps are such.
fn times(steps: &[(SimTime, Step)], which: fn(&Step) -> bool) -> usize {
    steps.iter().filter(|(_, step)| which(step)).count()
}

fn one_run_per_job(_: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    for (job, steps) in trails.jobs.iter().enumerate() {
        let queued = times(steps, |step| matches!(step, Step::Queued(_)));
        let runs = steps.iter().filter_map(|(_, step)| match step {
            Step::Started(..) => Some(true),
            Step::Requeued(..) => Some(false),
            _ => None,
        });
        let in_turn = runs.enumerate().all(|(at, runs)| runs == (at % 2 == 0));
        if queued > 1 || !in_turn {
            return Err(format!("job {job} is queued {queued} times: {steps:?}"));
        }
    }
    Ok(())
}

fn steps_in_time_order(_: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    for (job, steps) in trails.jobs.iter().enumerate() {
        if !steps.is_sorted_by_key(|(at, _)| *at) {
            return Err(format!("job {job}: {steps:?}"));
        }
    }
    Ok(())
}

/// Processors, memory and generic resources by name that are taken (+) or given
/// back (-) on one node.
type Change = (SimTime, bool, i64, i64, BTreeMap<String, i64>);

fn nodes_within_capacity(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    let mut nodes: BTreeMap<(ClusterId, u16, u32), Vec<Change>> = BTreeMap::new();
    for (steps, submission) in trails.jobs.iter().zip(submissions) {
        let mut held: BTreeMap<ClusterId, &Vec<Share>> = BTreeMap::new();
        let together = is_together(steps);
        let mut change = |at, cluster, (one, share): (&Component, &Share), sign: i64| {
            let key = (cluster, share.resource, share.node);
            let processors = i64::from(share.processors) * sign;
            let memory = i64::try_from(one.requirements.memory_kib).unwrap_or(i64::MAX);
            let memory = processors.saturating_mul(memory);
            let generic = one.requirements.generic.iter();
            let without_type = |name: &str| name.split(':').take(1).collect::<String>();
            let generic =
                generic.map(|(name, count)| (without_type(name), sign * i64::from(count)));
            // `false` sorts first: what ends at an instant is free at it.
            nodes.entry(key).or_default().push((
                at,
                sign > 0,
                processors,
                memory,
                generic.collect(),
            ));
        };
        for (at, step) in steps {
            match step {
                // Its processors were held before.
                Step::Started(..) if together => {}
                Step::Started(cluster, placement) | Step::Held(cluster, placement) => {
                    held.insert(*cluster, placement);
                    let own = by_component(&submission.spec, placement);
                    own.for_each(|taken| change(*at, *cluster, taken, 1));
                }
                Step::Finished(_)
                | Step::Cancelled(_)
                | Step::Failed(..)
                | Step::Requeued(..)
                | Step::LetGo(_) => {
                    let gone = |cluster: &ClusterId, _: &mut &Vec<Share>| match step {
                        Step::LetGo(of) => of == cluster,
                        _ => !together,
                    };
                    for (cluster, placement) in held.extract_if(.., gone) {
                        let own = by_component(&submission.spec, placement);
                        own.for_each(|taken| change(*at, cluster, taken, -1));
                    }
                }
                _ => {}
            }
        }
    }
    nodes
        .into_iter()
        .try_for_each(|(node, changes)| within(grid, node, changes))
}

/// Whether what is taken of a node is always there.
fn within(
    grid: &Grid,
    (cluster, resource, node): (ClusterId, u16, u32),
    mut changes: Vec<Change>,
) -> Checked {
    changes.sort_unstable();
    let groups = grid.clusters[cluster.index()].config.resources.groups();
    let Some(group) = groups.get(usize::from(resource)) else {
        return Err(format!("{cluster} has no resource {resource}"));
    };
    let all_memory = group.memory_mib.map_or(i64::MAX, |mib| {
        i64::try_from(mib.saturating_mul(1024)).unwrap_or(i64::MAX)
    });
    let (mut processors, mut memory) = (0, 0i64);
    let mut generic: BTreeMap<String, i64> = BTreeMap::new();
    for (at, _, more, more_memory, more_generic) in changes {
        processors += more;
        memory = memory.saturating_add(more_memory);
        for (name, more) in more_generic {
            *generic.entry(name).or_default() += more;
        }
        let mut used = generic.iter();
        let beyond = used.any(|(name, used)| *used > i64::from(group.generic.count(name)));
        if processors > i64::from(group.cpu_count) || memory > all_memory || beyond {
            return Err(format!(
                "{cluster}, resource {resource}, node {node} at {} s: {processors} processors, {memory} KiB, {generic:?}",
                at.as_secs_f64()
            ));
        }
    }
    Ok(())
}

/// Which component has each share: they get theirs one after the other.
fn by_component<'a>(
    spec: &'a JobSpec,
    placement: &'a [Share],
) -> impl Iterator<Item = (&'a Component, &'a Share)> {
    let mut given = 0;
    placement.iter().map(move |share| {
        let mut end = 0;
        let of_this = |one: &&Component| {
            end += one.processors;
            given < end
        };
        let one = spec.components.iter().find(of_this);
        given += share.processors;
        (one.unwrap_or(&spec.components.first), share)
    })
}

fn placement_as_asked(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    let jobs = trails.jobs.iter().zip(submissions);
    for (steps, submission) in jobs.filter(|(steps, _)| !is_together(steps)) {
        let spec = &submission.spec;
        for (_, step) in steps {
            let Step::Started(cluster, placement) = step else {
                continue;
            };
            let given: u64 = placement.iter().map(|s| u64::from(s.processors)).sum();
            if given != u64::from(spec.processors()) {
                return Err(format!("{} has {given} processors", spec.id));
            }
            let groups = grid.clusters[cluster.index()].config.resources.groups();
            for (one, share) in by_component(spec, placement) {
                let plain = Requirements {
                    memory_kib: 0,
                    ..one.requirements.clone()
                };
                let group = groups.get(usize::from(share.resource));
                let right = |group: &gridrig_core::resource::Resource| {
                    group.meets(&plain) && share.node < group.count && share.processors > 0
                };
                if !group.is_some_and(right) {
                    return Err(format!("{} has {share:?} of {cluster}", spec.id));
                }
            }
        }
    }
    Ok(())
}

fn run_time_as_given(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    let jobs = trails.jobs.iter().zip(submissions);
    for (steps, submission) in jobs.filter(|(steps, _)| !is_together(steps)) {
        let (mut started, mut done) = (None, 0);
        for (at, step) in steps {
            if let Step::Requeued(_, now_done) = step {
                done += now_done.cast_unsigned();
            }
            if let Step::Started(cluster, placement) = step {
                started = Some((*at, *cluster, placement));
            }
            let (Step::Finished(_), Some((start, cluster, placement))) = (step, started) else {
                continue;
            };
            let config = &grid.clusters[cluster.index()].config;
            let groups = config.resources.groups();
            let on = |share: &Share| {
                let group = groups.get(usize::from(share.resource))?;
                let left = config
                    .length_of(&submission.spec)
                    .as_nanos()
                    .checked_sub(done)?;
                Some(group.stretch(SimDuration::from_nanos(left)))
            };
            let slowest = placement.iter().filter_map(on).max();
            if slowest != Some(at.since(start)) {
                let (ran, id) = (at.since(start), submission.spec.id);
                return Err(format!("{id} ran {ran:?}, expected {slowest:?}"));
            }
        }
    }
    Ok(())
}

fn nodes_up(_: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    let mut down: BTreeMap<(ClusterId, u16, u32), Vec<(SimTime, SimTime)>> = BTreeMap::new();
    for (at, cluster, shares, up) in &trails.nodes {
        for share in shares {
            let spans = down
                .entry((*cluster, share.resource, share.node))
                .or_default();
            match (up, spans.last_mut()) {
                (true, Some(last)) if last.1 == SimTime::MAX => last.1 = *at,
                (false, Some(last)) if last.1 == SimTime::MAX => {
                    return Err(format!("{cluster}: {share:?} fails twice"));
                }
                (false, _) => spans.push((*at, SimTime::MAX)),
                (true, _) => return Err(format!("{cluster}: {share:?} is repaired twice")),
            }
        }
    }
    for (job, steps) in trails.jobs.iter().enumerate() {
        for pair in steps.windows(2) {
            let [(start, Step::Started(cluster, placement)), (end, _)] = pair else {
                continue;
            };
            for share in placement {
                let spans = down.get(&(*cluster, share.resource, share.node));
                let mut spans = spans.into_iter().flatten();
                if spans.any(|(from, until)| start < until && from < end) {
                    return Err(format!(
                        "job {job} runs on {share:?} of {cluster}: {steps:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Who was to start and is cancelled only after that has missed it, too; who loses the lease it
/// waits on before that, has not. Nodes that fail or are repaired make what was promised before
/// void. How long a part of a job is held is known nowhere beforehand: the others may be on
/// slower nodes.
fn promises_kept(grid: &Grid, submissions: &[Submission], trails: &Trails) -> Checked {
    let jobs = submissions.iter();
    let records: Vec<JobRecord> = jobs.map(|job| trails.record(job.spec.id)).collect();
    let steps = trails.jobs.iter().flatten();
    let holds = steps.filter_map(|(_, step)| match step {
        Step::Held(cluster, _) => Some(*cluster),
        _ => None,
    });
    let holds: BTreeSet<ClusterId> = holds.collect();
    let exact = |cluster: ClusterId| {
        let config = &grid.clusters[cluster.index()].config;
        let mut jobs = submissions.iter().zip(&records);
        let rounds = config.discipline == DisciplineKind::SlurmBackfill
            && !config.slurm.bf_resolution.is_zero();
        let right = |spec: &JobSpec| {
            let length = config.length_of(spec);
            spec.requested_time.is_none_or(|said| said == length)
        };
        config.interval.is_zero()
            && !holds.contains(&cluster)
            && !rounds
            && jobs.all(|(job, record)| record.cluster != Some(cluster) || right(&job.spec))
    };
    for (made, job, promised) in &trails.promises {
        let record = &records[job.index()];
        let mut changes = trails.nodes.iter();
        if changes.any(|(at, of, ..)| Some(*of) == record.cluster && at >= made) {
            continue;
        }
        let steps = trails.jobs[job.index()].iter();
        let left = |step: &Step| {
            matches!(
                step,
                Step::Started(..) | Step::Cancelled(_) | Step::Failed(_, Reason::LeaseExpired)
            )
        };
        let late = steps.clone().find(|(_, step)| left(step));
        let late = late.is_none_or(|(at, _)| at > promised);
        if late && record.cluster.is_some_and(exact) {
            let (made, promised) = (made.as_secs_f64(), promised.as_secs_f64());
            let steps: Vec<_> = steps.collect();
            return Err(format!(
                "{job} was promised {promised} s at {made} s: {steps:?}"
            ));
        }
    }
    Ok(())
}

fn forwards_allowed(grid: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    for (job, steps) in trails.jobs.iter().enumerate() {
        for (index, (_, step)) in steps.iter().enumerate() {
            let Step::Arrived(broker, hop @ 1..) = step else {
                continue;
            };
            let may_have_sent = |step: &Step| match step {
                Step::Forwarded(from, to) if to == broker => {
                    *hop <= grid.domains[from.index()].broker.hops()
                }
                _ => false,
            };
            if !steps[..index].iter().any(|(_, step)| may_have_sent(step)) {
                return Err(format!("job {job} comes to {broker}: {steps:?}"));
            }
        }
    }
    Ok(())
}

fn processors_held(grid: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    for (job, steps) in trails.jobs.iter().enumerate() {
        let mut sent_by = None;
        for (index, (_, step)) in steps.iter().enumerate() {
            if let Step::Dispatched(by, _) = step {
                sent_by = Some(*by);
            }
            let Step::Started(cluster, _) = step else {
                continue;
            };
            let home = grid.clusters[cluster.index()].domain;
            if let (Some(lender), Some(by)) = (home, sent_by)
                && lender != by
                && !delegated(&steps[..index]).any(|(by, ..)| by == lender)
            {
                return Err(format!("job {job} starts at {cluster} for {by}: {steps:?}"));
            }
        }
    }
    Ok(())
}

fn information_from_the_past(grid: &Grid, _: &[Submission], trails: &Trails) -> Checked {
    for ((by, of), (at, from)) in &trails.known {
        let broker = &grid.domains[by.index()].broker;
        // A peer is also asked as a session opens, and answers at that instant.
        let is_told = broker.local_info == LocalInfo::Exchange
            && broker.policy.entry().need != InformationNeed::Truth;
        let latency = match of {
            Entry::Cluster(_) if is_told => broker.lrms_latency,
            _ => SimDuration::ZERO,
        };
        if *from + latency > *at {
            return Err(format!("{by} knows {of:?} of {from} s at {at} s"));
        }
    }
    Ok(())
}

/// By whom processors are delegated for a job and to whom, and not released: each for a
/// request of its own.
pub fn delegated(steps: &[(SimTime, Step)]) -> impl Iterator<Item = (DomainId, DomainId, i64)> {
    let mut open = BTreeSet::new();
    for (_, step) in steps {
        match *step {
            Step::Lease(EventKind::Delegated, by, to, at) => {
                open.insert((by, to, at));
            }
            Step::Lease(EventKind::Released, by, to, at) => {
                open.remove(&(to, by, at));
            }
            Step::Lease(EventKind::LeaseExpired, by, to, at) => {
                open.remove(&(by, to, at));
            }
            _ => {}
        }
    }
    open.into_iter()
}
