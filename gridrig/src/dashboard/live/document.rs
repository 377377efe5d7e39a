//! What the page is told: one whole state, then what is new.

use super::tap::{ClusterNow, Counts, Tap};
use super::words::Line;
use gridrig_core::broker::LocalInfo;
use gridrig_core::event::Party;
use gridrig_core::grid::{Grid, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::{InformationNeed, PolicySpec};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::names::Names;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Pairs of domains that a forwarding matrix shows; the busiest of more.
const PAIRS: usize = 400;
/// Brokers whose information age a cluster's card shows.
const OBSERVERS: usize = 8;

/// What is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionDoc {
    /// Its number in this dashboard.
    pub id: u64,
    /// The name of the scenario.
    pub scenario: String,
    /// `virtual` or `real`.
    pub clock: String,
    /// Run seconds per second on the wall, of a real clock.
    pub speed: Option<f64>,
    /// By how much arrivals of the trace are compressed: a second of the run
    /// is so many seconds of the trace.
    pub compression: f64,
    /// By how much run times are.
    pub run_time_compression: f64,
    /// Submission lag times compression beyond which a run is not valid.
    pub lag_tolerance_s: f64,
    /// `preparing`, `running`, `done`, `failed` or `stopped`.
    pub state: &'static str,
    /// Why it failed, or what else there is to say.
    pub message: Option<String>,
    /// What the results will not be able to say.
    pub warnings: Vec<String>,
}

/// One run of the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunDoc {
    /// The policy; null without a broker.
    pub policy: Option<String>,
    /// Which replication, from 0.
    pub replication: u32,
    /// What tells it from the others.
    pub key: String,
    /// `waiting`, `running`, `writing` (and audited), `done`, `stopped` or `not
    /// run`.
    pub state: &'static str,
    /// Jobs that ran to their end, of a run that is over.
    pub completed: Option<u64>,
    /// Jobs of the run.
    pub jobs: Option<u64>,
    /// Mean delay: exact, of the measured jobs.
    pub delay_mean_s: Option<f64>,
    /// Its 95 % quantile.
    pub delay_p95_s: Option<f64>,
    /// Share of the measured jobs that ever waited for processors.
    pub waited_share: Option<f64>,
    /// Whether the run may be relied on.
    pub valid: Option<bool>,
    /// `ok`, or what the audit found.
    pub audit: Option<String>,
    /// Its directory below the folder of runs.
    pub dir: Option<String>,
}

impl RunDoc {
    /// Takes over the figures of a summary, as `run --json` has it.
    pub fn take(&mut self, summary: &Value) {
        let number = |at: &str| summary.pointer(at).and_then(Value::as_f64);
        let count = |at: &str| summary.pointer(at).and_then(Value::as_u64);
        self.completed = count("/jobs/completed");
        self.jobs = count("/jobs/submitted");
        self.delay_mean_s = number("/delay_s/mean");
        self.delay_p95_s = number("/delay_s/p95");
        self.waited_share = number("/waited_share");
        self.valid = summary["valid"].as_bool();
        self.audit = summary["audit"].as_str().map(str::to_owned);
    }
}

/// The names of the domains, those above them, and the clusters with their domains and sizes.
pub fn grid(grid: &Grid) -> Value {
    let names = Names::of(grid);
    let clusters = grid.clusters.iter().zip(0..).map(|(cluster, index)| {
        json!({
            "name": names.cluster(ClusterId(index)),
            "domain": cluster.domain.map(|domain| domain.0),
            "processors": cluster.config.resources.processors(),
        })
    });
    let domains: Vec<_> = names.domain_ids().map(|id| names.domain(id)).collect();
    let parents = grid.domains.iter().map(|domain| domain.topology.parent);
    let parents: Vec<_> = parents.map(|parent| parent.map(|it| it.0)).collect();
    json!({
        "domains": domains,
        "parents": parents,
        "clusters": clusters.collect::<Vec<_>>(),
    })
}

/// How things are now. Times are seconds of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Now {
    /// The clock of the run.
    pub t_s: f64,
    /// Time on the wall since the run began.
    pub wall_s: f64,
    /// Run seconds per second on the wall so far.
    pub pace: Option<f64>,
    /// Jobs of the run.
    pub jobs: u64,
    /// Time on the wall until the run ends, were it to go on like this.
    pub eta_s: Option<f64>,
    /// Events so far, information included.
    pub events: u64,
    /// Jobs that brokers hold.
    pub with_brokers: u64,
    /// Jobs so far: those whose end has been seen have ended.
    #[serde(flatten)]
    pub counts: Counts,
    /// Of the jobs that started, the share that waited for processors.
    pub waited_share: Option<f64>,
    /// Mean delay so far.
    pub delay_mean_s: Option<f64>,
    /// Its 95 % quantile, estimated.
    pub delay_p95_s: Option<f64>,
    /// 99 % quantile of the submission lag.
    pub lag_p99_s: Option<f64>,
    /// The same times compression, in seconds of the trace.
    pub lag_trace_s: Option<f64>,
    /// Whether that is past the tolerance: the run will not be valid.
    pub late: bool,
    /// By cluster: queued, running, busy processors, finished.
    pub clusters: Vec<[u64; 4]>,
    /// By cluster: the mean utilization over the measured time; absent while it goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<Option<f64>>,
    /// By domain: how old its information is.
    pub ages: Vec<Age>,
    /// Forwards: from, to, how many.
    pub forwards: Vec<(u16, u16, u64)>,
    /// Forwards between pairs that are not shown.
    pub more_forwards: u64,
    /// Processors that domains have delegated: lender, borrower, leases now and so far.
    pub leases: Vec<(u16, u16, u64, u64)>,
}

/// How old the information on a domain's clusters is, in seconds of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Age {
    /// To its own broker; null before the first report.
    pub own_s: Option<f64>,
    /// To the peers: which, and how old; null before the first report.
    pub peers: Vec<(u16, Option<f64>)>,
    /// Peers that are not shown.
    pub more: usize,
    /// The oldest that any peer has; null where none has any.
    pub oldest_s: Option<f64>,
    /// The same over the time of a finished run; absent while it goes on, and
    /// where nobody looks at information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<AgeOfRun>,
}

/// How old the information on a domain's clusters was over a whole run: mean
/// over time and the age that 95 % of the time did not exceed, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgeOfRun {
    /// To its own broker; null where it looks at the clusters themselves.
    pub own_s: Option<[f64; 2]>,
    /// To the peers that are shown, in their order.
    pub peers_s: Vec<Option<[f64; 2]>>,
    /// The largest of all peers.
    pub oldest_s: Option<[f64; 2]>,
}

/// Rows of a course that are new, or all of them from 0 on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rows {
    /// Position of the first row; whatever was there from it on is replaced.
    pub from: usize,
    /// Each its time in seconds, then the figures.
    pub rows: Vec<Vec<f64>>,
}

/// A whole state or what is new of it: fields that are absent are unchanged.
#[derive(Clone, Debug, Serialize)]
pub struct Message<'a> {
    /// One higher with every message.
    pub seq: u64,
    /// What is run; null before anything is.
    pub session: Option<&'a SessionDoc>,
    /// The runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<&'a [RunDoc]>,
    /// Position of the run that is shown.
    pub current: Option<usize>,
    /// The grid of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<&'a Value>,
    /// How things are.
    pub now: Option<&'a Now>,
    /// Jobs with brokers, queued and running.
    pub course: Rows,
    /// Queue of each cluster.
    pub sparks: Rows,
    /// New events, oldest first.
    pub feed: &'a [Line],
}

/// What a figure of now needs besides the counts.
#[derive(Clone, Debug)]
pub struct Context {
    /// The grid of the run.
    pub grid: Grid,
    /// Its policy.
    pub policy: Option<PolicySpec>,
    /// A second of the run is so many of the trace.
    pub compression: f64,
    /// Lag in trace seconds beyond which a run is not valid.
    pub lag_tolerance_s: f64,
}

impl Context {
    /// Whether brokers read everything live.
    pub fn is_of_truth(&self) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(|policy| policy.entry().need == InformationNeed::Truth)
    }
}

impl Now {
    /// How things are by these counts, `wall` after the run began.
    pub fn of(tap: &Tap, context: &Context, wall: Duration) -> Self {
        const S: f64 = 1e-9;
        let counts = tap.counts;
        let jobs = tap.jobs as u64;
        let wall_s = wall.as_secs_f64();
        let share = counts.seen as f64 / jobs.max(1) as f64;
        let lag_p99_s = tap.lags.quantile(0.99).map(|lag| lag * S);
        let lag_trace_s = lag_p99_s.map(|lag| lag * context.compression);
        let (forwards, more_forwards) = forwards(tap, &context.grid);
        Now {
            t_s: tap.now.as_secs_f64(),
            wall_s,
            pace: (wall_s > 0.0).then(|| tap.now.as_secs_f64() / wall_s),
            jobs,
            eta_s: (share > 0.0).then(|| wall_s * (1.0 - share) / share),
            events: tap.events(),
            with_brokers: counts.with_brokers(),
            counts,
            waited_share: (counts.started > 0)
                .then(|| counts.waited as f64 / counts.started as f64),
            delay_mean_s: tap.delays.mean().map(|delay| delay * S),
            delay_p95_s: tap.delays.quantile(0.95).map(|delay| delay * S),
            lag_p99_s,
            lag_trace_s,
            late: lag_trace_s.is_some_and(|lag| lag > context.lag_tolerance_s),
            clusters: tap.clusters.iter().map(ClusterNow::figures).collect(),
            used: Vec::new(),
            ages: ages(tap, context),
            forwards,
            more_forwards,
            leases: leases(tap),
        }
    }
}

/// The mean utilization of each cluster over the measured time of a run, by its summary;
/// empty where nothing could be measured.
pub fn used(summary: &Value) -> Vec<Option<f64>> {
    let clusters = summary["clusters"].as_array().into_iter().flatten();
    let all = clusters.map(|it| it["utilization"].as_f64());
    let all: Vec<Option<f64>> = all.collect();
    match all.iter().any(Option::is_some) {
        true => all,
        false => Vec::new(),
    }
}

/// The busiest pairs, by domain, and the forwards of all others.
fn forwards(tap: &Tap, grid: &Grid) -> (Vec<(u16, u16, u64)>, u64) {
    let pairs = grid.links.iter().map(|link| {
        let (from, to) = (link.consumer, link.provider);
        (from.0, to.0, tap.forwards(from, to))
    });
    let mut pairs: Vec<_> = pairs.filter(|(_, _, count)| *count > 0).collect();
    pairs.sort_by_key(|&(from, to, count)| (std::cmp::Reverse(count), from, to));
    let more = pairs.iter().skip(PAIRS).map(|(_, _, count)| count).sum();
    pairs.truncate(PAIRS);
    pairs.sort_unstable();
    (pairs, more)
}

/// The busiest pairs of lenders and borrowers.
fn leases(tap: &Tap) -> Vec<(u16, u16, u64, u64)> {
    let mut pairs: Vec<_> = tap.leases.pairs().collect();
    pairs.sort_by_key(|&(lender, borrower, now, all)| {
        (std::cmp::Reverse((now, all)), lender, borrower)
    });
    pairs.truncate(PAIRS);
    pairs.sort_unstable();
    pairs
}

/// What its own broker has, what each peer has, and the larger of all peers'.
type ByReceiver<T> = (Option<T>, Vec<(u16, Option<T>)>, Option<T>);

/// What `of` says of the information on a domain's clusters, by who sends it, who
/// is told, and how long that takes: the larger of all that its own broker has,
/// what each peer has, and the larger of all of these.
pub fn by_receiver<T: Copy>(
    grid: &Grid,
    id: DomainId,
    of: impl Fn(Party, Party, SimDuration) -> Option<T>,
    larger: fn(T, T) -> T,
) -> ByReceiver<T> {
    let (domain, here) = (&grid.domains[id.index()], Party::Broker(id));
    let way = domain.broker.lrms_latency;
    let own = domain.clusters.iter().map(|id| Party::Lrms(*id));
    let own = own.filter_map(|lrms| of(lrms, here, way)).reduce(larger);
    let peer = |link: &Link| of(here, Party::Broker(link.consumer), link.latency);
    let peers = grid.consumers_of(id);
    let peers: Vec<_> = peers.map(|link| (link.consumer.0, peer(link))).collect();
    let all = peers.iter().filter_map(|(_, age)| *age).reduce(larger);
    (own, peers, all)
}

fn ages(tap: &Tap, context: &Context) -> Vec<Age> {
    let truth = context.is_of_truth();
    let domains = (0..).map(DomainId).zip(&context.grid.domains);
    let ages = domains.map(|(id, domain)| {
        let settings = &domain.broker;
        let of = |from, to, way| match truth {
            true => Some(0.0),
            false => age(tap.now, tap.told(from, to), way, settings.exchange),
        };
        let (own, mut peers, oldest_s) = by_receiver(&context.grid, id, of, f64::max);
        let fresh = truth || settings.local_info == LocalInfo::Fresh;
        let more = peers.len().saturating_sub(OBSERVERS);
        peers.truncate(OBSERVERS);
        Age {
            own_s: if fresh { Some(0.0) } else { own },
            peers,
            more,
            oldest_s,
            run: None,
        }
    });
    ages.collect()
}

/// How old the sample is that has arrived last: the one sent last, or, while
/// that is under way, the one before it.
fn age(now: SimTime, sent: Option<SimTime>, way: SimDuration, every: SimDuration) -> Option<f64> {
    let sent = sent?;
    let age = now.since(sent);
    if age >= way {
        return Some(age.as_secs_f64());
    }
    (sent.as_nanos() >= every.as_nanos()).then(|| (age + every).as_secs_f64())
}
