//! What a site did that its model does not do, counted from the log.

use super::{Placed, SAME};
use crate::format::{NAMED, PARTITION, QUEUE};
use crate::load::{Loaded, TraceJob};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::time::SimDuration;
use gridrig_results::plot::seconds;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// When nothing starts for so long although each of the waiting jobs fits, the machine
/// was out of service, as far as the log tells.
const OUTAGE: SimDuration = SimDuration::from_secs(3_600);

/// Something that the model does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmodelled {
    /// A stable name for programs.
    pub name: &'static str,
    /// Jobs, or what the text says; 0 is looked for and not found.
    pub count: u64,
    /// What was counted.
    pub text: String,
}

/// A log and the model that was made of it.
pub(super) struct Site<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) jobs: &'a [Placed<'a>],
    /// Jobs that do not fit.
    pub(super) wider: u64,
    pub(super) processors: u32,
    /// Processors busy at once, by the log.
    pub(super) peak: u64,
    /// When the jobs were submitted that are counted.
    pub(super) window: Range<SimDuration>,
    pub(super) discipline: DisciplineKind,
}

/// When a job started by the log; `None` without a recorded wait.
fn started(job: &TraceJob) -> Option<SimDuration> {
    job.wait_time.map(|wait| job.submit + wait)
}

impl Site<'_> {
    pub(super) fn not_modelled(&self) -> Vec<Unmodelled> {
        let mut all = Vec::new();
        let mut say = |name, count, text: String| all.push(Unmodelled { name, count, text });
        let order = Rule::of(self.discipline);
        let against = self.passed(order, false);
        say(
            "start-order",
            against,
            format!(
                "jobs were passed in a way that {} never allows: {}",
                self.discipline.name(),
                order.meaning()
            ),
        );
        let within = self.passed(Rule::ANY, true);
        say(
            "priorities",
            within,
            "jobs were passed by a later one of the same queue and partition that is at least as \
             wide and as long: priorities, shares or holds"
                .to_owned(),
        );
        for (field, name) in [(QUEUE, "queues"), (PARTITION, "partitions")] {
            let (values, outside) = self.values(field);
            let of = NAMED[field].0;
            let text = format!(
                "jobs are outside the {of} with the most jobs ({values} {name}); the model has one \
                 queue for all processors"
            );
            say(name, outside, text);
        }
        self.of_time(&mut say);
        self.of_jobs(&mut say);
        all
    }

    fn of_time(&self, say: &mut impl FnMut(&'static str, u64, String)) {
        let jobs = self.jobs.iter().map(|(_, job)| *job);
        let Occupancy { above, outages, .. } = sweep(jobs, self.processors, &self.window);
        let total: f64 = outages.iter().map(|it| it.as_secs_f64()).sum();
        let longest = outages.iter().max().map_or(0.0, |it| it.as_secs_f64());
        let text = format!(
            "times of an hour and more in which each waiting job fits and nothing starts \
             ({} in all, the longest {}): maintenance, outages, holds or limits",
            seconds(total),
            seconds(longest)
        );
        say("outages", outages.len() as u64, text);
        let beyond = self.peak.saturating_sub(u64::from(self.processors));
        let text = format!(
            "processors more than the {} of the model are busy at once in the log, some of them \
             for {} in all (--processors)",
            self.processors,
            seconds(above.as_secs_f64())
        );
        say("above-machine", beyond, text);
        let notes = self.loaded.header.values("Note").iter();
        let held = notes.filter_map(|note| {
            note.strip_prefix(HELD)?
                .split(' ')
                .next()?
                .parse::<u64>()
                .ok()
        });
        let text = "jobs were held before they were eligible; the import has left that time out of \
                    their waits";
        say("held", held.sum(), text.to_owned());
    }

    fn of_jobs(&self, say: &mut impl FnMut(&'static str, u64, String)) {
        let counted = || self.jobs.iter().filter(|(_, job)| self.is_counted(job));
        let count = |of: fn(&TraceJob) -> bool| counted().filter(|(_, job)| of(job)).count() as u64;
        let skipped = |reason| self.loaded.skipped.get(reason).copied().unwrap_or(0);
        let of_the_log = [
            (
                "dependent-jobs",
                count(|job| job.depends),
                "jobs wait for another job (field 17); the model uses their recorded submit times",
            ),
            (
                "memory",
                count(|job| job.requested_memory_kib > 0),
                "jobs ask for memory; the model does not limit it",
            ),
            (
                "resized",
                count(|job| job.resized),
                "jobs got another number of processors than they asked for (fields 5 and 8)",
            ),
            (
                "no-size",
                skipped("no-processors"),
                "jobs of the log have no number of processors and are not run",
            ),
            (
                "never-ran",
                skipped("never-ran"),
                "jobs of the log never ran; the model has no jobs that leave the queue",
            ),
            (
                "too-wide",
                self.wider,
                "jobs are wider than the machine and are not run",
            ),
            (
                "no-estimate",
                count(|job| job.requested_time.is_none()),
                "jobs have no requested time; disciplines that plan know their run time",
            ),
            (
                "no-wait",
                count(|job| job.wait_time.is_none()),
                "jobs have no recorded wait; they are run and not compared",
            ),
        ];
        for (name, count, text) in of_the_log {
            say(name, count, text.to_owned());
        }
    }

    fn is_counted(&self, job: &TraceJob) -> bool {
        self.window.contains(&job.submit)
    }

    /// Values of a field, and jobs that have another than the most frequent one.
    fn values(&self, field: usize) -> (u64, u64) {
        let mut jobs: BTreeMap<u32, u64> = BTreeMap::new();
        for (_, job) in self.jobs.iter().filter(|(_, job)| self.is_counted(job)) {
            if let Some(id) = job.ids[field] {
                *jobs.entry(id).or_default() += 1;
            }
        }
        let most = jobs.values().max().copied().unwrap_or(0);
        (jobs.len() as u64, jobs.values().sum::<u64>() - most)
    }

    /// Jobs that waited for a minute more when a later one, which by the rule could not
    /// start before them, had started; `alike` looks at the same queue and partition only.
    fn passed(&self, rule: Rule, alike: bool) -> u64 {
        type Class = ([Option<u32>; 2], u32, u64);
        let class = |job: &TraceJob| -> Class {
            let asked = job.requested_time.unwrap_or(job.run_time).as_nanos();
            let queue = [job.ids[QUEUE], job.ids[PARTITION]];
            (
                queue.map(|id| id.filter(|_| alike)),
                job.processors * u32::from(rule.by_size),
                asked * u64::from(rule.by_length),
            )
        };
        let jobs: Vec<(&TraceJob, SimDuration)> = self
            .jobs
            .iter()
            .filter_map(|(_, job)| Some((*job, started(job)?)))
            .collect();
        // A job that has started is gone before it could be passed at the same instant.
        let mut events: Vec<(SimDuration, u8, usize)> = Vec::with_capacity(3 * jobs.len());
        for (at, (job, start)) in jobs.iter().enumerate() {
            events.extend([(job.submit, 0, at), (*start, 1, at), (*start + SAME, 2, at)]);
        }
        events.sort_unstable();
        let mut waiting: BTreeMap<Class, BTreeSet<usize>> = BTreeMap::new();
        let mut count = 0;
        for (_, kind, at) in events {
            let (job, _) = jobs[at];
            let own = class(job);
            match kind {
                0 => drop(waiting.entry(own).or_default().insert(at)),
                1 => drop(waiting.get_mut(&own).map(|all| all.remove(&at))),
                _ => {
                    let before = jobs.partition_point(|(other, _)| other.submit < job.submit);
                    let lesser = waiting.range_mut((own.0, 0, 0)..=own);
                    for (_, all) in lesser.filter(|(class, _)| class.2 <= own.2) {
                        let rest = all.split_off(&before);
                        let passed = std::mem::replace(all, rest);
                        let counted = passed.iter().filter(|at| self.is_counted(jobs[**at].0));
                        count += counted.count() as u64;
                    }
                    waiting.retain(|_, all| !all.is_empty());
                }
            }
        }
        count
    }
}

/// What the note of an import begins with that lost the time before jobs were eligible.
const HELD: &str = "lost: time held before it was eligible, of ";

/// Which later jobs cannot start before an earlier one that waits.
#[derive(Clone, Copy)]
struct Rule {
    /// Only those at least as wide.
    by_size: bool,
    /// Only those whose estimate is at least as long.
    by_length: bool,
}

impl Rule {
    /// No discipline that goes by arrival, size and estimate lets these pass.
    const ANY: Rule = Rule {
        by_size: true,
        by_length: true,
    };

    fn of(discipline: DisciplineKind) -> Self {
        let (by_size, by_length) = match discipline {
            DisciplineKind::Fcfs => (false, false),
            DisciplineKind::ShortestJobFirst => (false, true),
            DisciplineKind::FirstInFirstFit => (true, false),
            DisciplineKind::EasyBackfill
            | DisciplineKind::ConservativeBackfill
            | DisciplineKind::SlurmBackfill => (true, true),
        };
        Rule { by_size, by_length }
    }

    fn meaning(self) -> &'static str {
        match (self.by_size, self.by_length) {
            (false, false) => "by a later one",
            (false, true) => "by a later one that is at least as long",
            (true, false) => "by a later one that is at least as wide",
            (true, true) => "by a later one that is at least as wide and as long",
        }
    }
}

/// What the log says of its machine.
#[derive(Default)]
pub(super) struct Occupancy {
    /// The most processors that are busy at once.
    pub(super) peak: u64,
    /// How long more than those of the model are busy.
    above: SimDuration,
    /// How long each time was that counts as [`OUTAGE`], of those that began in the window.
    outages: Vec<SimDuration>,
}

/// Goes through the log beside a machine of so many processors.
pub(super) fn sweep<'a>(
    jobs: impl IntoIterator<Item = &'a TraceJob>,
    processors: u32,
    window: &Range<SimDuration>,
) -> Occupancy {
    let mut sizes: Vec<i64> = Vec::new();
    let mut events: Vec<(SimDuration, u8, usize)> = Vec::new();
    for job in jobs {
        if let Some(begin) = started(job) {
            let at = sizes.len();
            sizes.push(i64::from(job.processors));
            let end = begin + job.run_time;
            events.extend([(end, 0, at), (job.submit, 1, at), (begin, 2, at)]);
        }
    }
    events.sort_unstable();
    // Jobs of no length end before they start; they are never busy.
    let (mut busy, mut most) = (0_i64, 0_i64);
    let processors = i64::from(processors);
    let mut found = Occupancy::default();
    let mut waiting: BTreeSet<(i64, usize)> = BTreeSet::new();
    let mut idle_since: Option<SimDuration> = None;
    let mut before = SimDuration::ZERO;
    for instant in events.chunk_by(|a, b| a.0 == b.0) {
        let now = instant[0].0;
        if busy > processors {
            found.above = found.above + (now - before);
        }
        before = now;
        for (_, kind, at) in instant {
            match kind {
                0 => busy -= sizes[*at],
                1 => drop(waiting.insert((sizes[*at], *at))),
                _ => {
                    busy += sizes[*at];
                    waiting.remove(&(sizes[*at], *at));
                }
            }
        }
        most = most.max(busy);
        let starts = instant.iter().any(|(_, kind, _)| *kind == 2);
        let widest = waiting.last().map(|(size, _)| *size);
        let fits = widest.is_some_and(|size| busy + size <= processors);
        if starts || !fits {
            let since = idle_since.take().filter(|since| window.contains(since));
            let length = since.map(|since| now - since);
            found
                .outages
                .extend(length.filter(|length| *length >= OUTAGE));
        }
        if fits {
            idle_since.get_or_insert(now);
        }
    }
    found.peak = most.max(0).cast_unsigned();
    found
}
