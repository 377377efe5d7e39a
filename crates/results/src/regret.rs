//! Regret of decisions: how much later a job would start where it was sent
//! than at the best candidate, by the truth of that instant
//! (`docs/compare.md`).
//!
//! Nothing is asked of brokers for it. The log says at every instant what runs
//! where and until when, and what is queued or on its way, whichever clock and
//! whichever policy made the run; what a broker believed shows in what it did.

mod machine;

use crate::index::JobIndex;
use crate::jobs::{JobRow, JobTable};
use crate::measure::Measure;
use crate::stats::{Distribution, mean};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{JobSpec, Submission};
use gridrig_core::time::SimTime;
use machine::Machine;
use serde::Serialize;

/// So many candidates of a run are weighed at most: with more decisions every
/// second, third, ... is, which takes as long for a million jobs as for some
/// ten thousand.
const MOST_WEIGHED: usize = 20_000;

/// What the decisions of a run were worth. One decision per job: the last of
/// its entry broker, for the jobs that got to a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Regret {
    /// Decisions about measured jobs.
    pub decisions: u64,
    /// Those whose regret was computed: all, or evenly spread ones.
    pub weighed: u64,
    /// Share of these after which no candidate would have been better.
    pub best_share: Option<f64>,
    /// Mean regret in run seconds.
    pub mean_s: Option<f64>,
    /// 95 % quantile.
    pub p95_s: Option<f64>,
    /// The largest.
    pub max_s: Option<f64>,
}

impl Regret {
    /// The regret of a run; `None` if no broker decided anything.
    pub fn of(
        table: &JobTable,
        grid: &Grid,
        submissions: &[Submission],
        measure: &Measure,
    ) -> Option<Self> {
        let measured = |row: &JobRow| measure.measures(row.submit, row.direct);
        let decided = decisions(table, submissions);
        let of_measured = decided.iter().flatten();
        let decisions = of_measured
            .filter(|decision| measured(&table.rows()[decision.row]))
            .count();
        // One cluster instead of several is another question.
        let together = table.rows().iter().any(|row| !row.claims.is_empty());
        if decisions == 0 || together {
            return None;
        }
        let stride = (decisions * grid.clusters.len())
            .div_ceil(MOST_WEIGHED)
            .max(1);
        let mut replay = Replay::new(table, grid, submissions);
        let mut regrets = Vec::with_capacity(decisions.div_ceil(stride));
        let mut seen = 0_usize;
        for change in changes(table, &decided) {
            let row = &table.rows()[change.row];
            if let (What::Decided, Some(decision)) = (change.what, decided[change.row])
                && measured(row)
            {
                if seen.is_multiple_of(stride) {
                    regrets.extend(replay.regret(change.at, &decision));
                }
                seen += 1;
            }
            replay.apply(&change);
        }
        let best = regrets.iter().filter(|regret| **regret == 0.0).count();
        let all = Distribution::of(regrets.iter().copied());
        Some(Regret {
            decisions: decisions as u64,
            weighed: regrets.len() as u64,
            best_share: (!regrets.is_empty()).then(|| best as f64 / regrets.len() as f64),
            mean_s: mean(&regrets),
            p95_s: all.p95,
            max_s: all.max,
        })
    }
}

/// A decision about the job in a row.
#[derive(Clone, Copy, Debug)]
struct Decision {
    row: usize,
    at: SimTime,
    /// When the job came to the entry broker: brokers decide in this order.
    arrival: SimTime,
    domain: DomainId,
    /// Where it got in the end.
    chosen: ClusterId,
}

/// By row; `None` for a job that no broker sent to a cluster.
fn decisions(table: &JobTable, submissions: &[Submission]) -> Vec<Option<Decision>> {
    let mut decided = vec![None; table.rows().len()];
    let mut hops = table.hops().iter().peekable();
    let index = JobIndex::new(submissions);
    while let Some(visit) = hops.next() {
        // The entry broker decides anew when a peer has sent the job back;
        // that is the same visit.
        let at = visit.forwarded.max(visit.dispatched);
        let row = index.find(visit.job);
        while hops.next_if(|next| next.job == visit.job).is_some() {}
        let (Some(at), Some(row)) = (at, row) else {
            continue;
        };
        if let (0, Some(chosen)) = (visit.hop, table.rows()[row].cluster) {
            decided[row] = Some(Decision {
                row,
                at,
                arrival: visit.arrival,
                domain: visit.domain,
                chosen,
            });
        }
    }
    decided
}

/// What happens to the truth, in the order in which one instant has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A job leaves its cluster.
    Ended,
    /// A job came to a cluster past any broker.
    Queued,
    /// A broker sends a job on its way; from here on it counts where it gets.
    Decided,
    /// A job leaves the queue and runs.
    Started,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    at: SimTime,
    what: What,
    row: usize,
}

fn changes(table: &JobTable, decided: &[Option<Decision>]) -> Vec<Change> {
    let mut changes = Vec::with_capacity(3 * decided.len());
    for (row, (job, decision)) in table.rows().iter().zip(decided).enumerate() {
        let mut tell = |at: Option<SimTime>, what| {
            changes.extend(at.map(|at| Change { at, what, row }));
        };
        if job.cluster.is_none() {
            continue;
        }
        match decision {
            Some(decision) => tell(Some(decision.at), What::Decided),
            None => tell(job.queued, What::Queued),
        }
        tell(job.start, What::Started);
        tell(job.end, What::Ended);
    }
    let order = |row: usize| decided[row].map(|decision| (decision.domain, decision.arrival));
    changes.sort_unstable_by(|a, b| {
        (a.at, a.what)
            .cmp(&(b.at, b.what))
            .then_with(|| order(a.row).cmp(&order(b.row)))
            .then(a.row.cmp(&b.row))
    });
    changes
}

/// All clusters at one instant of the run.
struct Replay<'a> {
    table: &'a JobTable,
    grid: &'a Grid,
    submissions: &'a [Submission],
    machines: Vec<Machine>,
    /// Clusters in reach of each domain's broker, when all providers are open.
    reach: Vec<Vec<ClusterId>>,
    /// Whether the job in a row runs; one that ended at the instant at which it
    /// started never does.
    place: Vec<Place>,
    /// Jobs that came to some queue so far.
    came: u64,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    /// In the queue, with its number there.
    Queued(u64),
    Running(SimTime),
    Gone,
}

impl<'a> Replay<'a> {
    fn new(table: &'a JobTable, grid: &'a Grid, submissions: &'a [Submission]) -> Self {
        let machines = grid.clusters.iter().map(|cluster| {
            let config = &cluster.config;
            // The rules of a real LRMS are its own: in order is the plainest.
            let discipline = match config.is_real {
                true => DisciplineKind::Fcfs,
                false => config.discipline,
            };
            Machine::new(config.resources.processors(), discipline)
        });
        let domains = (0..).map(DomainId).zip(&grid.domains);
        let reach = domains.map(|(id, domain)| grid.reachable(id, domain.broker.hops()));
        Replay {
            table,
            grid,
            submissions,
            machines: machines.collect(),
            reach: reach.collect(),
            place: vec![Place::Nowhere; table.rows().len()],
            came: 0,
        }
    }

    fn apply(&mut self, change: &Change) {
        let row = &self.table.rows()[change.row];
        let Some(machine) = row.cluster.and_then(|c| self.machines.get_mut(c.index())) else {
            return;
        };
        let place = &mut self.place[change.row];
        match (change.what, *place) {
            (What::Decided | What::Queued, Place::Nowhere) => {
                self.came += 1;
                machine.queue(self.came, row.processors, length(row));
                *place = Place::Queued(self.came);
            }
            (What::Started, Place::Queued(number)) => {
                let end = row.end.unwrap_or(self.table.end());
                machine.leave_queue(number);
                *place = match end > change.at {
                    true => {
                        machine.start(end, change.row, row.processors);
                        Place::Running(end)
                    }
                    false => Place::Gone,
                };
            }
            (What::Ended, Place::Queued(number)) if row.start.is_none() => {
                machine.leave_queue(number);
                *place = Place::Gone;
            }
            (What::Ended, Place::Running(end)) => {
                machine.end(end, change.row);
                *place = Place::Gone;
            }
            // A log that contradicts itself; the audit tells.
            _ => {}
        }
    }

    /// The regret of a decision in run seconds; `None` if its job fits nowhere
    /// in reach or got where it could not be sent.
    fn regret(&self, now: SimTime, decision: &Decision) -> Option<f64> {
        let spec: &JobSpec = &self.submissions.get(decision.row)?.spec;
        let reach = self.reach.get(decision.domain.index())?;
        let length = length(&self.table.rows()[decision.row]);
        let start = |id: &ClusterId| {
            let fits = self.grid.clusters[id.index()]
                .config
                .resources
                .could_run(&spec.components);
            let machine = fits.then(|| &self.machines[id.index()])?;
            machine.start_of(now, spec.processors(), length)
        };
        let own = reach
            .contains(&decision.chosen)
            .then(|| start(&decision.chosen))??;
        // Who was closed was no candidate. The chosen one always was: a peer may
        // have sent the job on when somebody had opened.
        let best = match self.grid.hours.is_empty() {
            true => reach.iter().filter_map(start).min()?,
            false => {
                let hops = self.grid.domains[decision.domain.index()].broker.hops();
                let open = self.grid.reachable_at(decision.domain, hops, now);
                open.iter().filter_map(start).fold(own, Ord::min)
            }
        };
        Some(own.since(best).as_secs_f64())
    }
}

/// How long a job runs where it got: as it did, or as the trace wants it.
fn length(row: &JobRow) -> u64 {
    let ran = row.start.zip(row.end).map(|(start, end)| end.since(start));
    ran.unwrap_or(row.run_time_ref).as_nanos()
}
