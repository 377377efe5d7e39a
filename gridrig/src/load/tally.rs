//! What comes out of a closed loop: a line for each request, and figures for each
//! number of clients.

use super::Outcome;
use crate::cli::{Plan, Until};
use crate::estimate::Histogram;
use crate::words::many;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

/// A request that has ended.
pub(super) struct Request {
    pub client: u32,
    pub job: u32,
    /// Since the beginning.
    pub start: Duration,
    pub response: Duration,
    /// With the pause after it.
    pub taken: Duration,
    pub outcome: Outcome,
}

/// Response times in seconds; quantiles to three significant digits.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Times {
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub p50: f64,
    /// Their 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// The requests that ended while there were so many clients.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Level {
    /// How many there were.
    pub clients: u32,
    /// From when on, since the first one began.
    pub from_s: f64,
    /// For how long.
    pub seconds: f64,
    /// Requests whose job was accepted, or has completed if that is waited for.
    pub accepted: u64,
    /// All others: they count as no throughput.
    pub failed: u64,
    /// Jobs accepted in a minute.
    pub jobs_per_min: f64,
    /// Response times of those accepted.
    pub response_s: Option<Times>,
    /// Clients times 60 over the mean time of a request (with the pause of those that
    /// failed), times the share that was accepted: what `jobs_per_min` is in a closed
    /// loop.
    pub expected_jobs_per_min: Option<f64>,
}

/// Requests that failed in one way.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failures {
    /// `refused` (answered, and not accepted), `busy`, `timed-out`, `not-reached`,
    /// `no-answer` (the connection broke, or a command was killed) or `not-completed`.
    pub outcome: &'static str,
    /// How many.
    pub requests: u64,
    /// How long they took.
    pub response_s: Times,
    /// What was said to the first one.
    pub first: String,
}

/// Figures from elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Paper {
    /// Where they stand.
    pub source: String,
    /// With what.
    pub measured_on: String,
    /// What stands in the rows.
    pub columns: [String; 4],
    /// The figures, as they are given.
    pub rows: Vec<[String; 4]>,
}

impl Paper {
    /// What the paper on the job submission service says.
    pub fn jss() -> Self {
        let text = include_str!("../../../resources/studies/jss-load.json");
        serde_json::from_str(text).expect("a document of ours")
    }
}

/// What `gridrig load --json` prints.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// What was asked for.
    #[serde(flatten)]
    pub plan: Plan,
    /// When the first client began, in Unix nanoseconds.
    pub started_unix_ns: u64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Requests that had no answer then: whether their jobs were accepted is unknown.
    pub broken_off: u64,
    /// From when one more client has joined to the next; the last level ends with the
    /// time of the first client.
    pub levels: Vec<Level>,
    /// From the first request to the last, the time in which clients end one by one
    /// included.
    pub whole: Level,
    /// How requests failed.
    pub failures: Vec<Failures>,
    /// Processor time of the load tester itself, where the system tells.
    pub processor_s: Option<f64>,
    /// Figures to look at beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
}

/// Times of requests.
#[derive(Default)]
struct Spread {
    times: Histogram,
    longest: Duration,
}

impl Spread {
    fn record(&mut self, time: Duration) {
        self.times
            .record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.longest = self.longest.max(time);
    }

    /// All 0 where there are none.
    fn times(&self) -> Times {
        let seconds = |nanos: Option<f64>| nanos.unwrap_or_default() / 1e9;
        let max = self.longest.as_secs_f64();
        // A histogram rounds up.
        let quantile = |q| seconds(self.times.quantile(q)).min(max);
        Times {
            mean: seconds(self.times.mean()),
            p50: quantile(0.5),
            p99: quantile(0.99),
            max,
        }
    }
}

/// What the requests of some time have in common.
#[derive(Default)]
struct Sample {
    accepted: Spread,
    failed: u64,
    taken: Duration,
}

impl Sample {
    fn note(&mut self, request: &Request) {
        match request.outcome {
            Ok(()) => self.accepted.record(request.response),
            Err(_) => self.failed += 1,
        }
        self.taken += request.taken;
    }

    fn level(&self, clients: u32, from: Duration, until: Duration) -> Level {
        let accepted = self.accepted.times.len();
        let in_a_minute = |seconds: f64| match accepted {
            0 => 0.0,
            _ => accepted as f64 * 60.0 / seconds,
        };
        let (seconds, taken) = ((until - from).as_secs_f64(), self.taken.as_secs_f64());
        Level {
            clients,
            from_s: from.as_secs_f64(),
            seconds,
            accepted,
            failed: self.failed,
            jobs_per_min: in_a_minute(seconds),
            response_s: (accepted > 0).then(|| self.accepted.times()),
            expected_jobs_per_min: (taken > 0.0).then(|| in_a_minute(taken / f64::from(clients))),
        }
    }
}

/// Counts requests as they end.
pub(super) struct Tally {
    plan: Plan,
    started: u64,
    lines: Option<BufWriter<File>>,
    written: io::Result<()>,
    /// How many clients there are now; one more than there will be after the last level.
    clients: u32,
    now: Sample,
    whole: Sample,
    levels: Vec<Level>,
    failures: BTreeMap<&'static str, (Spread, String)>,
}

impl Tally {
    pub fn new(plan: Plan, started: u64, lines: Option<File>) -> Self {
        let mut lines = lines.map(BufWriter::new);
        let head = "client,job,start_ns,response_ns,outcome,reason";
        Tally {
            written: lines.as_mut().map_or(Ok(()), |out| writeln!(out, "{head}")),
            clients: match plan.every.is_zero() {
                true => plan.clients,
                false => 1,
            },
            plan,
            started,
            lines,
            now: Sample::default(),
            whole: Sample::default(),
            levels: Vec::new(),
            failures: BTreeMap::new(),
        }
    }

    /// Takes note of a request; whether there is any use in another one.
    pub fn note(&mut self, request: &Request) -> bool {
        self.pass(request.start + request.response);
        if self.clients <= self.plan.clients {
            self.now.note(request);
        }
        self.whole.note(request);
        let (outcome, reason) = match &request.outcome {
            Ok(()) if self.plan.until == Until::Ended => ("completed", ""),
            Ok(()) => ("accepted", ""),
            Err((outcome, reason)) => {
                let first = || (Spread::default(), reason.clone());
                let (all, _) = self.failures.entry(outcome).or_insert_with(first);
                all.record(request.response);
                (*outcome, reason.as_str())
            }
        };
        if let (Some(out), Ok(())) = (&mut self.lines, &self.written) {
            let Request { client, job, .. } = request;
            let (start, response) = (request.start.as_nanos(), request.response.as_nanos());
            let reason = match reason {
                "" => String::new(),
                said => format!("\"{}\"", said.replace('"', "\"\"")),
            };
            self.written = writeln!(out, "{client},{job},{start},{response},{outcome},{reason}");
        }
        self.written.is_ok()
    }

    /// Begins the level of this time.
    fn pass(&mut self, at: Duration) {
        while self.clients <= self.plan.clients && at >= self.until() {
            self.close(self.until());
        }
    }

    /// When the level ends.
    fn until(&self) -> Duration {
        match self.clients < self.plan.clients {
            true => self.plan.every * self.clients,
            false => self.plan.each,
        }
    }

    fn close(&mut self, until: Duration) {
        let from = self.plan.every * (self.clients - 1);
        let level = std::mem::take(&mut self.now).level(self.clients, from, until);
        // Who waits for a quarter of an hour sees how it goes.
        if level.seconds >= 1.0 {
            let (rate, failed) = (level.jobs_per_min, level.failed);
            let clients = many(level.clients.into(), "client");
            eprintln!("{clients}: {rate:.1} jobs/min, {failed} failed");
        }
        self.levels.push(level);
        self.clients += 1;
    }

    /// The figures, when the last request has ended or everything is broken off.
    pub fn finish(
        &mut self,
        at: Duration,
        submitted: u32,
        interrupted: bool,
    ) -> io::Result<Report> {
        self.pass(at);
        if self.clients <= self.plan.clients {
            self.close(at);
        }
        std::mem::replace(&mut self.written, Ok(()))?;
        self.lines.as_mut().map_or(Ok(()), Write::flush)?;
        let mut whole = self.whole.level(self.plan.clients, Duration::ZERO, at);
        // It had fewer clients at times.
        whole.expected_jobs_per_min = None;
        let failures = std::mem::take(&mut self.failures).into_iter();
        let failures = failures.map(|(outcome, (all, first))| Failures {
            outcome,
            requests: all.times.len(),
            response_s: all.times(),
            first,
        });
        Ok(Report {
            plan: self.plan.clone(),
            started_unix_ns: self.started,
            interrupted,
            broken_off: u64::from(submitted) - whole.accepted - whole.failed,
            levels: std::mem::take(&mut self.levels),
            whole,
            failures: failures.collect(),
            processor_s: processor_s(),
            paper: None,
        })
    }
}

/// Processor time of the first thread of this process, on which all clients are.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(clients: u32, every: u64, each: u64) -> Tally {
        let plan = Plan {
            clients,
            every: Duration::from_secs(every),
            each: Duration::from_secs(each),
            timeout: Duration::from_secs(30),
            processors: 1,
            run_time: Duration::ZERO,
            until: Until::Accepted,
        };
        Tally::new(plan, 0, None)
    }

    fn request(start: u64, response: u64, outcome: Result<(), (&'static str, String)>) -> Request {
        let response = Duration::from_secs(response);
        Request {
            client: 0,
            job: 0,
            start: Duration::from_secs(start),
            response,
            taken: response,
            outcome,
        }
    }

    #[test]
    fn a_request_belongs_to_the_level_in_which_it_ends_if_to_any() {
        let mut tally = tally(4, 10, 40);
        for (start, response) in [(0, 9), (9, 1), (3, 16), (35, 4), (36, 4)] {
            assert!(tally.note(&request(start, response, Ok(()))));
        }
        let refused = ("refused", "no".to_owned());
        assert!(tally.note(&request(41, 3, Err(refused))));
        let report = tally.finish(Duration::from_secs(60), 7, false).unwrap();
        let levels = report.levels.iter();
        let levels: Vec<_> = levels
            .map(|level| (level.clients, level.from_s, level.seconds, level.accepted))
            .collect();
        let expected = [(1, 0.0, 10.0, 1), (2, 10.0, 10.0, 2), (3, 20.0, 10.0, 0)];
        assert_eq!(levels[..3], expected);
        assert_eq!(
            levels[3],
            (4, 30.0, 10.0, 1),
            "the fifth ended with the level"
        );
        assert_eq!(report.levels[2].expected_jobs_per_min, None);
        assert!(report.levels[2].response_s.is_none());
        let whole = &report.whole;
        assert_eq!(
            (whole.accepted, whole.failed, whole.jobs_per_min),
            (5, 1, 5.0)
        );
        assert_eq!(whole.response_s.as_ref().unwrap().max, 16.0);
        let failures = &report.failures[0];
        assert_eq!(failures.response_s.mean, 3.0);
        assert_eq!((failures.outcome, report.broken_off), ("refused", 1));
    }

    #[test]
    fn a_closed_loop_gives_what_its_response_time_says() {
        let mut tally = tally(2, 0, 60);
        // Two clients, of which one is refused every second time.
        for second in (0..60).step_by(2) {
            let refused = ("refused", String::new());
            let other = if second % 4 == 0 {
                Ok(())
            } else {
                Err(refused)
            };
            tally.note(&request(second, 2, Ok(())));
            tally.note(&request(second, 2, other));
        }
        // Those of the last round ended with the level.
        let report = tally.finish(Duration::from_secs(60), 60, false).unwrap();
        let level = &report.levels[0];
        assert_eq!(
            (level.accepted, level.failed, level.jobs_per_min),
            (44, 14, 44.0)
        );
        let expected = level.expected_jobs_per_min.unwrap();
        assert!(
            (expected - 2.0 * 60.0 / 2.0 * 44.0 / 58.0).abs() < 1e-9,
            "{expected}"
        );
    }

    #[test]
    fn what_is_broken_off_ends_its_level_then() {
        let mut tally = tally(3, 10, 60);
        tally.note(&request(11, 1, Ok(())));
        let report = tally.finish(Duration::from_secs(15), 2, true).unwrap();
        let last = report.levels.last().unwrap();
        assert_eq!(
            (last.clients, last.seconds, last.jobs_per_min),
            (2, 5.0, 12.0)
        );
        assert_eq!((report.levels.len(), report.broken_off), (2, 1));
    }

    #[test]
    fn the_figures_of_the_paper_are_read() {
        assert_eq!(Paper::jss().rows.len(), 19);
    }
}
