//! How a generated trace queues, beside its source.
//!
//! The yardstick is the source with sizes and run times exchanged among the jobs of
//! each day: what can be had of a workload that keeps the demand of the days and
//! nothing else of the order of the jobs.

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::rng;
use gridrig_results::stats;
use gridrig_results::text::{head, table};
use gridrig_tracelab::load::TraceJob;
use gridrig_tracelab::validate::{Selection, Site};
use rand::seq::SliceRandom as _;
use serde::Serialize;

const DAY_S: f64 = 86_400.0;

/// How often sizes and run times are exchanged.
const EXCHANGES: usize = 5;

/// How often where jobs hardly wait, and the spread is what counts.
const EXCHANGES_IF_SHORT: usize = 20;

/// Mean waits below this many seconds are short.
const SHORT_S: f64 = 60.0;

/// How far apart mean waits may be.
const FACTOR: f64 = 1.5;

/// Waits of a trace on one cluster that has no broker.
#[derive(Clone, Copy, Debug, Serialize)]
struct Waits {
    mean_s: f64,
    p95_s: f64,
}

/// Waits under one discipline.
#[derive(Debug, Serialize)]
struct Queueing {
    discipline: &'static str,
    source: Waits,
    /// Means over the exchanges.
    exchanged: Waits,
    /// The least and the greatest of their mean waits.
    exchanged_mean_s: [f64; 2],
    exchanges: usize,
    generated: Waits,
    /// Mean wait over that of the exchanges.
    ratio: Option<f64>,
    /// Mean wait within a factor of 1.5 of that of the source or of the exchanges;
    /// where the exchanges wait less than 60 s on average, within their spread.
    alike: bool,
}

/// A generated trace beside its source.
#[derive(Debug, Serialize)]
pub(super) struct Behaviour {
    processors: u32,
    queueing: [Queueing; 2],
    /// Weeks that offer more than the machine holds: of the source, and of the
    /// generated trace.
    weeks_above: [usize; 2],
}

/// How a source queues on one cluster, and what can be had of generated traces.
pub(super) struct Yardstick<'a> {
    source: &'a [TraceJob],
    processors: u32,
    disciplines: [Known; 2],
}

/// The same under one discipline.
struct Known {
    discipline: DisciplineKind,
    source: Waits,
    /// Of the source, with sizes and run times exchanged.
    exchanged: Vec<Waits>,
}

impl<'a> Yardstick<'a> {
    /// Of this trace, on as many processors.
    pub(super) fn of(source: &'a [TraceJob], processors: u32, seed: u64) -> Self {
        let known = |discipline| Known::of(source, processors, discipline, seed);
        Yardstick {
            source,
            processors,
            disciplines: [DisciplineKind::EasyBackfill, DisciplineKind::Fcfs].map(known),
        }
    }

    /// Runs a generated trace beside it.
    pub(super) fn beside(&self, generated: &[TraceJob]) -> Behaviour {
        let queueing =
            |known: &Known| known.beside(waits(generated, self.processors, known.discipline));
        let [easy, fcfs] = &self.disciplines;
        Behaviour {
            processors: self.processors,
            queueing: [queueing(easy), queueing(fcfs)],
            weeks_above: [self.source, generated].map(|jobs| weeks_above(jobs, self.processors)),
        }
    }
}

impl Behaviour {
    /// How far its mean waits are from those of the exchanges, on a logarithmic scale, a
    /// second being next to nothing.
    pub(super) fn distance(&self) -> f64 {
        let of = |q: &Queueing| {
            let [generated, exchanged] = [q.generated, q.exchanged].map(|it| it.mean_s + 1.0);
            (generated / exchanged).ln().abs()
        };
        self.queueing.iter().map(of).fold(0.0, f64::max)
    }

    /// Why it does not pass, if it does not.
    pub(super) fn failure(&self) -> Option<String> {
        let missed = self.queueing.iter().find(|queueing| !queueing.alike)?;
        let [least, most] = missed.exchanged_mean_s;
        Some(format!(
            "mean wait under {} {:.0} s: expected within a factor of {FACTOR} of that of the source \
             ({:.0} s), or of the source with sizes and run times exchanged among the jobs of a day \
             ({:.0} s, {least:.0} to {most:.0} s)",
            missed.discipline,
            missed.generated.mean_s,
            missed.source.mean_s,
            missed.exchanged.mean_s,
        ))
    }

    /// The report for people.
    pub(super) fn text(&self) -> String {
        let words = "wait (s) | mean | p95 | exchanged: mean | p95 | source: mean | p95 | ratio";
        let mut lines = vec![head(words)];
        for q in &self.queueing {
            let number = |seconds: f64| format!("{seconds:.1}");
            let waits = [q.generated, q.exchanged, q.source];
            let waits = waits
                .into_iter()
                .flat_map(|w| [number(w.mean_s), number(w.p95_s)]);
            let ratio = q
                .ratio
                .map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            let name = std::iter::once(q.discipline.to_owned());
            lines.push(name.chain(waits).chain([ratio]).collect());
        }
        let [source, generated] = self.weeks_above;
        format!(
            "on one cluster of {} processors; exchanged: the source with sizes and run times \
             exchanged\namong the jobs of each day; ratio: mean wait over that of the exchanges\n{}\
             weeks that offer more than the machine holds: {generated}, source {source}\n",
            self.processors,
            table(&lines)
        )
    }
}

impl Known {
    fn of(source: &[TraceJob], processors: u32, discipline: DisciplineKind, seed: u64) -> Self {
        let run = |jobs: &[TraceJob]| waits(jobs, processors, discipline);
        let exchange = |number: usize| run(&exchanged(source, seed, number));
        let mut all: Vec<Waits> = (0..EXCHANGES).map(exchange).collect();
        if mean(&all).mean_s < SHORT_S {
            all.extend((EXCHANGES..EXCHANGES_IF_SHORT).map(exchange));
        }
        Known {
            discipline,
            source: run(source),
            exchanged: all,
        }
    }

    fn beside(&self, generated: Waits) -> Queueing {
        let means = || self.exchanged.iter().map(|waits| waits.mean_s);
        let bounds = [
            means().fold(f64::MAX, f64::min),
            means().fold(0.0, f64::max),
        ];
        let exchanged = mean(&self.exchanged);
        let near = |mean_s: f64| (mean_s / FACTOR..=mean_s * FACTOR).contains(&generated.mean_s);
        let inside = (bounds[0]..=bounds[1]).contains(&generated.mean_s);
        Queueing {
            discipline: self.discipline.into(),
            source: self.source,
            exchanged,
            exchanged_mean_s: bounds,
            exchanges: self.exchanged.len(),
            generated,
            ratio: (exchanged.mean_s > 0.0).then(|| generated.mean_s / exchanged.mean_s),
            alike: near(self.source.mean_s)
                || near(exchanged.mean_s)
                || exchanged.mean_s < SHORT_S && inside,
        }
    }
}

fn mean(all: &[Waits]) -> Waits {
    let of = |what: fn(&Waits) -> f64| all.iter().map(what).sum::<f64>() / all.len() as f64;
    Waits {
        mean_s: of(|waits| waits.mean_s),
        p95_s: of(|waits| waits.p95_s),
    }
}

/// Exchanges sizes, run times and requested times among the jobs of each day,
/// counted from time 0.
fn exchanged(jobs: &[TraceJob], seed: u64, number: usize) -> Vec<TraceJob> {
    let mut random = rng::stream(seed, &format!("exchange-{number}"));
    let mut jobs = jobs.to_vec();
    let day = |job: &TraceJob| (job.submit.as_secs_f64() / DAY_S) as u64;
    for day in jobs.chunk_by_mut(|a, b| day(a) == day(b)) {
        let mut others = day.to_vec();
        others.shuffle(&mut random);
        for (job, other) in day.iter_mut().zip(others) {
            job.processors = other.processors;
            job.run_time = other.run_time;
            job.requested_time = other.requested_time;
        }
    }
    jobs
}

fn waits(jobs: &[TraceJob], processors: u32, discipline: DisciplineKind) -> Waits {
    let fitting: Vec<&TraceJob> = jobs
        .iter()
        .filter(|job| job.processors <= processors)
        .collect();
    let site = Site::under(discipline, processors);
    let waited = site.delays(&fitting, 1.0, &Selection::default());
    Waits {
        mean_s: stats::mean(&waited).unwrap_or(0.0),
        p95_s: stats::quantile(&waited, 0.95).unwrap_or(0.0),
    }
}

/// Weeks, from the first submission on, with more demand than processors x time.
fn weeks_above(jobs: &[TraceJob], processors: u32) -> usize {
    let week_s = 7.0 * DAY_S;
    let first = jobs.first().map_or(0.0, |job| job.submit.as_secs_f64());
    let week = |job: &TraceJob| ((job.submit.as_secs_f64() - first) / week_s) as u64;
    let weeks = jobs.chunk_by(|a, b| week(a) == week(b));
    let demand = |jobs: &[TraceJob]| {
        jobs.iter()
            .map(|job| job.demand() as f64 / 1e9)
            .sum::<f64>()
    };
    weeks
        .filter(|jobs| demand(jobs) > f64::from(processors) * week_s)
        .count()
}
