//! Predictions: where a job is predicted to start, or to be done, first (JSS 3.1: total time to
//! start, total time to delivery).
//!
//! Time to start = stage-in + wait in the queue; time to completion = that + run time. Each has a
//! predictor of its own: stage-in is what its data takes over the link; the wait is a coarse
//! estimate from the load that was last told, or what jobs that were sent there have waited
//! lately; the run time is by the benchmarks that the user gives, as far as the cluster has them,
//! else the estimate over the speed (a benchmark against that of the machine of the trace), as if
//! the job got nodes of the mean speed of those that will do; where it is corrected, times what
//! jobs have run lately of their estimates. A user also says how long files take that the broker
//! knows nothing of.

use super::co_allocation::{CANDIDATES, NOTICE, WITHIN};
use super::domains::SPEED_ONE;
use super::registry::Values;
use super::{
    BrokerSettings, Choice, Forecast, InformationNeed, Machine, Parameter, Policy, PolicyEntry,
    Tie, View,
};
use crate::decision::Score;
use crate::job::{JobRequest, Objective};
use crate::message::{EndState, JobEnd};
use crate::time::{SimDuration, SimTime};
use std::collections::VecDeque;

pub(super) const START: PolicyEntry = entry(
    "earliest-start",
    "where it is predicted to start first: stage-in and wait",
    |settings| Predicting::boxed(settings, false),
);

pub(super) const COMPLETION: PolicyEntry = entry(
    "earliest-completion",
    "where it is predicted to be done first: stage-in, wait and run time",
    |settings| Predicting::boxed(settings, true),
);

const fn entry(
    name: &'static str,
    summary: &'static str,
    build: fn(&BrokerSettings) -> Box<dyn Policy>,
) -> PolicyEntry {
    let parameters = &[
        WAIT,
        RUN_TIMES,
        BrokerSettings::RESERVE,
        CANDIDATES,
        WITHIN,
        NOTICE,
        Tie::PARAMETER,
    ];
    PolicyEntry {
        predicts: true,
        ..PolicyEntry::new(name, summary, parameters, InformationNeed::Clusters, build)
    }
}

/// How the wait in a queue is predicted.
const WAIT: Parameter = Parameter {
    name: "wait",
    values: Values::Word(|| vec!["load", "recent"]),
    default: |_| "load".to_owned(),
};

/// Whether users are believed how long their jobs run.
const RUN_TIMES: Parameter = Parameter {
    name: "run_times",
    values: Values::Word(|| vec!["estimates", "corrected"]),
    default: |_| "estimates".to_owned(),
};

/// In nanoseconds.
const ONE_SECOND: u128 = 1_000_000_000;

/// So many of the latest jobs count.
const LATEST: usize = 50;

/// The latest lengths of something.
#[derive(Default)]
struct Latest {
    nanos: VecDeque<u64>,
    sum: u128,
}

impl Latest {
    fn add(&mut self, length: SimDuration) {
        if self.nanos.len() == LATEST
            && let Some(first) = self.nanos.pop_front()
        {
            self.sum -= u128::from(first);
        }
        self.nanos.push_back(length.as_nanos());
        self.sum += u128::from(length.as_nanos());
    }

    fn mean(&self) -> Option<u128> {
        let count = self.nanos.len() as u128;
        self.sum.checked_div(count)
    }
}

/// What is known of a candidate by the jobs that were sent there.
#[derive(Default)]
struct Known {
    runs: Latest,
    waits: Latest,
}

struct Predicting {
    /// Whether the end counts, not the start.
    to_completion: bool,
    /// Whether the latest waits are taken for the next one.
    by_waits: bool,
    /// Whether estimates are multiplied by what came of the latest ones.
    corrects: bool,
    tie: Tie,
    known: Vec<Known>,
    /// How long jobs ran, in seconds for each that they were estimated to run.
    ran: Latest,
}

/// The run time by the benchmarks that both the job and the cluster have, on average (JSS 3.1).
fn by_benchmarks(request: &JobRequest<'_>, machine: &Machine, estimate: u128) -> Option<u128> {
    let estimate = u64::try_from(estimate).unwrap_or(u64::MAX);
    let (mut sum, mut count) = (0, 0);
    for (name, measured) in &request.preferences?.benchmarks {
        if let Some(result) = machine.benchmarks.get(name) {
            let time = measured.time.map_or(estimate, SimDuration::as_nanos);
            sum += u128::from(measured.result.over_other(*result, time));
            count += 1;
        }
    }
    sum.checked_div(count)
}

/// Nanoseconds until a job starts, and until it is done.
#[derive(Clone, Copy)]
struct Prediction {
    start: u128,
    completion: u128,
}

impl Predicting {
    fn boxed(settings: &BrokerSettings, to_completion: bool) -> Box<dyn Policy> {
        Box::new(Predicting {
            to_completion,
            by_waits: WAIT.of(settings) == "recent",
            corrects: RUN_TIMES.of(settings) == "corrected",
            tie: Tie::of(settings),
            known: Vec::new(),
            ran: Latest::default(),
        })
    }

    /// Whether it counts when this job is done, not when it starts.
    fn to_completion(&self, request: &JobRequest<'_>) -> bool {
        let own = request.preferences.and_then(|own| own.objective);
        own.map_or(self.to_completion, |it| it == Objective::EarlyCompletion)
    }

    fn value(&self, request: &JobRequest<'_>, prediction: Prediction) -> u128 {
        match self.to_completion(request) {
            true => prediction.completion,
            false => prediction.start,
        }
    }

    /// Of the clusters of a candidate the one that suits the job best; `None` if none could
    /// run it, as far as is told.
    fn predict(&self, request: &JobRequest<'_>, view: &View, index: usize) -> Option<Prediction> {
        let machines = match index.checked_sub(view.own) {
            None => &view.domains[0].machines[index..=index],
            Some(peer) => &view.domains[peer + 1].machines[..],
        };
        let stage_in = u128::from(view.stage_in[index].as_nanos());
        let stage_out = request.preferences.and_then(|own| own.stage_out);
        let stage_out = u128::from(stage_out.unwrap_or_default().as_nanos());
        let predicted = machines.iter().filter_map(|machine| {
            let (start, run) = self.on_machine(request, view, (index, machine))?;
            let start = stage_in + start;
            let completion = start + run + stage_out;
            Some(Prediction { start, completion })
        });
        predicted.min_by_key(|prediction| self.value(request, *prediction))
    }

    /// Its wait and its run time.
    fn on_machine(
        &self,
        request: &JobRequest<'_>,
        view: &View,
        (index, machine): (usize, &Machine),
    ) -> Option<(u128, u128)> {
        let offer = machine.offer(&view.wanted);
        let wanted = u64::from(request.processors);
        if offer.capacity < wanted || offer.speed == 0 {
            return None;
        }
        let mut estimate = u128::from(request.estimate.as_nanos());
        if let Some(ran) = self.ran.mean().filter(|_| self.corrects) {
            estimate = estimate * ran / ONE_SECOND;
        }
        let run = by_benchmarks(request, machine, estimate)
            .unwrap_or_else(|| estimate * u128::from(SPEED_ONE) / u128::from(offer.speed));
        let lacks = (machine.queued + wanted).saturating_sub(machine.free(offer));
        let known = self.known.get(index);
        let recent = known.and_then(|known| known.waits.mean());
        let wait = match recent.filter(|_| self.by_waits) {
            _ if lacks == 0 => 0,
            Some(recent) => recent,
            // All processors are given back once in the mean run time of jobs there.
            None => {
                let mean = known.and_then(|known| known.runs.mean()).unwrap_or(run);
                u128::from(lacks) * mean / u128::from(offer.capacity)
            }
        };
        Some((wait, run))
    }
}

impl Policy for Predicting {
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice {
        let told = view.possible.iter().map(|&index| {
            let prediction = self.predict(request, view, index);
            (
                index,
                prediction.map_or(u128::MAX, |it| self.value(request, it)),
            )
        });
        Choice::Among(super::view::best(told, Ord::cmp), self.tie)
    }

    fn score(&self, request: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        let prediction = self.predict(request, view, index)?;
        Some(Score {
            of: match self.to_completion(request) {
                true => "predicted s until it is done, the least",
                false => "predicted s until it starts, the least",
            },
            value: self.value(request, prediction) as f64 / 1e9,
        })
    }

    fn forecast(&self, request: &JobRequest<'_>, view: &View, index: usize) -> Option<Forecast> {
        let prediction = self.predict(request, view, index)?;
        let time = |nanos| Some(SimDuration::from_nanos(u64::try_from(nanos).ok()?));
        Some(Forecast {
            start: time(prediction.start)?,
            ready: time(self.value(request, prediction))?,
        })
    }

    fn note_end(&mut self, index: usize, (estimate, sent): (SimDuration, SimTime), end: &JobEnd) {
        // One that was ended before its time says little of others.
        if let (EndState::Completed, Some(start), Some(finish)) = (end.state, end.start, end.finish)
        {
            if self.known.len() <= index {
                self.known.resize_with(index + 1, Known::default);
            }
            let known = &mut self.known[index];
            let run = finish.since(start);
            let for_each = u128::from(run.as_nanos()) * ONE_SECOND;
            if let Some(ran) = for_each.checked_div(estimate.as_nanos().into()) {
                let ran = u64::try_from(ran).unwrap_or(u64::MAX);
                self.ran.add(SimDuration::from_nanos(ran));
            }
            known.runs.add(run);
            known.waits.add(start.since(sent.min(start)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ClusterId, DomainId, JobId};
    use crate::job::{JobSpec, Measured, Preferences, Requirements};
    use crate::message::Route;
    use crate::policy::{Kinds, Site};
    use crate::resource::Resources;
    use crate::time::Decimal;
    use std::sync::Arc;

    #[test]
    fn the_latest_fifty_count() {
        let mut latest = Latest::default();
        assert_eq!(latest.mean(), None);
        (1..=60).for_each(|secs| latest.add(SimDuration::from_secs(secs)));
        assert_eq!(latest.mean(), Some(35_500_000_000));
    }

    #[test]
    fn what_the_user_says_counts_in_each_of_the_four_times() {
        let decimal = |text: &str| Decimal::parse(text).unwrap();
        let secs = SimDuration::from_secs;
        let results = [
            ("linpack".into(), decimal("1250")),
            ("own".into(), decimal("2")),
        ];
        let nodes = Resources::homogeneous(4).with_benchmarks(results.into());
        let mut kinds = Kinds::default();
        let machine = Machine::idle(ClusterId(0), &nodes, &mut kinds);
        let view = View {
            own: 1,
            possible: vec![0],
            candidates: Vec::new(),
            truth: Vec::new(),
            domains: vec![Site::new(DomainId(0), vec![machine])],
            wanted: kinds.wanted(&Requirements::default()),
            stage_in: vec![secs(30)],
            route: Route::entering(DomainId(0)),
        };
        let ready = |benchmarks: &[(&str, &str, Option<u64>)]| {
            let said = benchmarks.iter().map(|(name, result, time)| {
                let (result, time) = (decimal(result), time.map(secs));
                (Arc::from(*name), Measured { result, time })
            });
            let mut job = JobSpec::rigid(JobId(0), 1, secs(100));
            job.preferences = Some(Arc::new(Preferences {
                objective: Some(Objective::EarlyCompletion),
                benchmarks: said.collect(),
                stage_out: Some(secs(7)),
                ..Preferences::default()
            }));
            let policy = Predicting::boxed(&BrokerSettings::default(), false);
            let forecast = policy.forecast(&JobRequest::from(&job), &view, 0).unwrap();
            assert_eq!(forecast.start, secs(30));
            forecast.ready.as_nanos() / 1_000_000_000 - 37
        };
        // 50 s there; the estimate, 100 s, there; and 80 s and 150 s on average.
        assert_eq!(ready(&[("linpack", "2500", Some(25))]), 50);
        assert_eq!(ready(&[("own", "2", None)]), 100);
        assert_eq!(ready(&[("linpack", "1000", None), ("own", "3", None)]), 115);
        // What the cluster has not does not count; without any, the estimate does.
        assert_eq!(
            ready(&[("linpack", "1250", Some(9)), ("other", "1", None)]),
            9
        );
        assert_eq!(ready(&[("other", "1", Some(9))]), 100);
    }
}
