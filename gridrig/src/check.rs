//! What a scenario will do, before anything runs: jobs, load, time, and what
//! its results will not be able to say (`docs/validity.md`).

mod entering;
mod faults;
mod repeats;
mod text;
mod warnings;

pub(crate) use faults::how_nodes_fail;
pub use repeats::Repeats;
pub(crate) use text::{human, steps};

use crate::scenario::{Clock, Scenario, Warning};
use entering::Entering;
use gridrig_core::faults::FaultPlan;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::resource::Resources;
use gridrig_core::time::NANOS_PER_SEC;
use gridrig_results::Stop;
use gridrig_tracelab::prepare::Prepared;
use gridrig_tracelab::reduce::{COMPONENTS, StepReport as Step};
use gridrig_tracelab::spec::{Draw, Keep};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run in virtual time takes in seconds, from its jobs to its files on the disk, for
/// the prediction of wall time: by itself, and for each job without brokers and with them.
/// Measured on two cores: the command of `scripts/bench.d/million-jobs` in 3.8 s, and
/// `gridrig run resources/scenarios/la-grid-3.toml --set run.replicate.count=1`, a million
/// job runs over 22 clusters, in 25 s.
const VIRTUAL_RUN_S: f64 = 0.045;
const VIRTUAL_JOB_S: [f64; 2] = [4e-6, 25e-6];

/// What a scenario will do. Times are seconds of the run unless a name says
/// otherwise; loads are work over capacity, 1.0 being all that there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// The name of the scenario.
    pub scenario: String,
    /// `"virtual"` or `"real"`.
    pub clock: &'static str,
    /// Jobs of one run.
    pub jobs: u64,
    /// Of these, jobs that no cluster in their reach could ever run. They
    /// will be rejected and counted.
    pub impossible_jobs: u64,
    /// Runs: policies times replications.
    pub runs: u64,
    /// Time in which jobs arrive.
    pub span_s: f64,
    /// Processors of all clusters.
    pub processors: u64,
    /// Processor-seconds of all jobs over the capacity of all clusters in the
    /// span; none without a span.
    pub offered_load: Option<f64>,
    /// How often nodes fail with the seed of the scenario, outages included; absent
    /// if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_failures: Option<u64>,
    /// By how much the trace is compressed at most.
    pub compression: f64,
    /// Predicted wall time of all runs, one after the other.
    pub wall_time_s: f64,
    /// How many repeats it takes; absent without a pilot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// What goes wrong by plan; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultReport>,
    /// The workloads in file order.
    pub workloads: Vec<WorkloadReport>,
    /// The domains in file order.
    pub domains: Vec<DomainReport>,
    /// The clusters in file order.
    pub clusters: Vec<ClusterReport>,
    /// What the results will not be able to say, and what is probably not
    /// meant.
    pub warnings: Vec<Warning>,
}

/// How much goes wrong by plan, with the seed of the first replication.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FaultReport {
    /// Settings of links.
    pub links: u64,
    /// Outages.
    pub outages: u64,
    /// Restarts of brokers.
    pub restarts: u64,
}

impl FaultReport {
    /// What a plan comes to.
    pub fn of(plan: Option<FaultPlan>) -> Option<Self> {
        plan.map(|plan| FaultReport {
            links: plan.links.len() as u64,
            outages: plan.outages.len() as u64,
            restarts: plan.restarts.len() as u64,
        })
    }
}

/// A workload and what its reduction does to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkloadReport {
    /// The trace.
    pub trace: String,
    /// Where it enters, such as `domain a`.
    pub entry: String,
    /// The keys of `draw` in the scenario that add something to the jobs.
    pub drawn: Vec<&'static str>,
    /// Jobs after reduction.
    pub jobs: u64,
    /// Lines that are no usable job, by reason.
    pub skipped: Vec<(String, u64)>,
    /// Jobs that the reduction leaves out, by reason.
    pub reduced: Vec<(String, u64)>,
    /// The part of the trace that is played; none is all of it.
    pub window: Option<WindowReport>,
    /// The probability that a wanted load came to; none without one.
    pub share: Option<f64>,
    /// The steps of the reduction that change something.
    pub steps: Vec<StepReport>,
}

/// The part of a trace that is played, in seconds of the trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WindowReport {
    /// Where it begins, counted from the log's time 0.
    pub start_s: f64,
    /// How long it is.
    pub length_s: f64,
    /// How it was chosen; none for a window that was given.
    pub chosen: Option<ChosenReport>,
}

/// How a window was chosen (`docs/reduction.md`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChosenReport {
    /// Of so many windows.
    pub considered: u64,
    /// Root mean square of its ranks, from 0 (the best in everything) to 1.
    pub score: f64,
    /// Distance to the whole by component.
    pub distances: BTreeMap<&'static str, f64>,
}

impl WindowReport {
    fn of(prepared: &Prepared) -> Option<Self> {
        let window = prepared.reduction.window?;
        let chosen = prepared.reduction.ranking.as_ref().and_then(|ranking| {
            let best = ranking.windows.first()?;
            Some(ChosenReport {
                considered: ranking.considered(),
                score: best.score,
                distances: COMPONENTS.into_iter().zip(best.distances).collect(),
            })
        });
        Some(WindowReport {
            start_s: window.start.as_secs_f64(),
            length_s: window.length.as_secs_f64(),
            chosen,
        })
    }
}

/// One step of a reduction. Loads are over the clusters in reach of where the
/// workload enters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepReport {
    /// The step.
    pub name: &'static str,
    /// Jobs before it.
    pub jobs_before: u64,
    /// Jobs after it.
    pub jobs_after: u64,
    /// Offered load before it.
    pub load_before: Option<f64>,
    /// Offered load after it.
    pub load_after: Option<f64>,
    /// Processor-seconds before it.
    pub work_before_s: f64,
    /// Processor-seconds after it.
    pub work_after_s: f64,
    /// Share of the processor-seconds that it leaves out; a scale changes all
    /// of them and leaves out none.
    pub work_lost: f64,
}

impl StepReport {
    /// The steps that change something, with the loads of so many processors.
    pub(crate) fn all(steps: &[Step], processors: Option<u64>) -> Vec<Self> {
        let steps = steps.iter().filter(|step| step.before != step.after);
        let report = steps.map(|step| {
            let (before, after) = (&step.before, &step.after);
            let kept = after.processor_seconds() / before.processor_seconds();
            let leaves_out = after.jobs < before.jobs && kept.is_finite();
            StepReport {
                name: step.name,
                jobs_before: before.jobs,
                jobs_after: after.jobs,
                load_before: processors.and_then(|p| before.offered(p)),
                load_after: processors.and_then(|p| after.offered(p)),
                work_before_s: before.processor_seconds(),
                work_after_s: after.processor_seconds(),
                work_lost: if leaves_out { 1.0 - kept } else { 0.0 },
            }
        });
        report.collect()
    }
}

/// A domain and the load that enters at its broker.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DomainReport {
    /// Its name.
    pub name: String,
    /// Jobs that enter here.
    pub jobs: u64,
    /// Processors of its own clusters.
    pub processors: u64,
    /// Entering work over the capacity of its own clusters.
    pub load_on_own: Option<f64>,
    /// Entering work over the capacity of all clusters in reach.
    pub load_on_reachable: Option<f64>,
    /// Mean number of jobs that enter between two cycles.
    pub jobs_per_cycle: f64,
    /// Mean number of jobs that enter between two exchanges of information.
    pub jobs_per_exchange: f64,
    /// The most jobs that enter between two exchanges.
    pub busiest_exchange: u64,
}

/// A cluster and the load that goes straight to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClusterReport {
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: Option<String>,
    /// Its processors.
    pub processors: u64,
    /// Jobs that enter here, past any broker.
    pub jobs: u64,
    /// The work of these over its capacity.
    pub direct_load: Option<f64>,
    /// Its share of the work of all domains that can reach it, were that
    /// spread over their clusters by capacity, and of what goes straight to it.
    pub even_load: Option<f64>,
    /// How its nodes fail, in words; absent if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how_nodes_fail: Option<String>,
}

/// Predicts what a scenario will do with these workloads, which are those of
/// the scenario in the same order.
pub fn check(scenario: &Scenario, prepared: &[Prepared]) -> CheckReport {
    let facts = Facts::new(scenario, prepared);
    let clusters = facts.clusters();
    let domains = facts.domains();
    let mut report = CheckReport {
        scenario: scenario.name.clone(),
        clock: match scenario.clock {
            Clock::Virtual => "virtual",
            Clock::Real { .. } => "real",
        },
        jobs: facts.jobs().count() as u64,
        impossible_jobs: facts.impossible_jobs(),
        runs: facts.runs(),
        span_s: facts.span_s,
        processors: clusters.iter().map(|cluster| cluster.processors).sum(),
        offered_load: facts.load(facts.entering.work_s, &facts.all_clusters()),
        node_failures: facts.node_failures(),
        compression: scenario.compression().as_f64(),
        wall_time_s: facts.wall_time_s(),
        repeats: None,
        faults: FaultReport::of(scenario.fault_plan()),
        workloads: facts.workloads(),
        domains,
        clusters,
        warnings: Vec::new(),
    };
    report.warnings = warnings::warnings(&facts, &report);
    report
}

/// A scenario with its jobs.
struct Facts<'a> {
    scenario: &'a Scenario,
    prepared: &'a [Prepared],
    entering: Entering,
    span_s: f64,
}

impl<'a> Facts<'a> {
    fn new(scenario: &'a Scenario, prepared: &'a [Prepared]) -> Self {
        let ends = scenario.workloads.iter().zip(prepared);
        let ends = ends.map(|(spec, prepared)| {
            let last = prepared.reduction.steps.last();
            let span = last.map_or(0, |step| step.after.span.as_nanos());
            span.saturating_add(spec.offset.as_nanos())
        });
        let span_s = ends.max().unwrap_or(0) as f64 / NANOS_PER_SEC as f64;
        Facts {
            scenario,
            prepared,
            entering: Entering::of(prepared),
            span_s,
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &'a Submission> {
        self.prepared.iter().flat_map(|workload| &workload.jobs)
    }

    fn node_failures(&self) -> Option<u64> {
        let mut grid = self.scenario.grid.clone();
        self.scenario.fail_nodes(&mut grid, self.jobs());
        let clusters = grid.clusters.iter();
        let plans = clusters.flat_map(|cluster| cluster.config.node_plan.iter());
        let failures = plans.filter(|planned| !planned.change.up);
        let nodes: u64 = failures.map(|it| u64::from(it.change.nodes)).sum();
        (nodes > 0).then_some(nodes)
    }

    fn all_clusters(&self) -> Vec<ClusterId> {
        let clusters = self.scenario.grid.clusters.iter();
        clusters.map(|cluster| cluster.config.id).collect()
    }

    fn resources(&self, id: ClusterId) -> &'a Resources {
        &self.scenario.grid.clusters[id.index()].config.resources
    }

    /// Processors at speed 1.0 that these clusters are worth.
    fn capacity(&self, clusters: &[ClusterId]) -> f64 {
        let groups = clusters.iter().flat_map(|id| self.resources(*id).groups());
        let worth = groups.map(|group| {
            f64::from(group.count) * f64::from(group.cpu_count) * group.speed.as_f64()
        });
        worth.sum()
    }

    fn load(&self, work_s: f64, clusters: &[ClusterId]) -> Option<f64> {
        let capacity_s = self.capacity(clusters) * self.span_s;
        (capacity_s > 0.0).then(|| work_s / capacity_s)
    }

    /// Clusters that a job which enters there can get to.
    fn reach(&self, entry: Entry) -> Vec<ClusterId> {
        match entry {
            Entry::Cluster(id) => vec![id],
            Entry::Domain(id) => {
                let hops = self.scenario.grid.domains[id.index()].broker.hops();
                self.scenario.grid.reachable(id, hops)
            }
        }
    }

    fn impossible_jobs(&self) -> u64 {
        let impossible = self.prepared.iter().map(|workload| {
            let reach = self.reach(workload.entry);
            let runs = |job: &&Submission| self.scenario.could_run(&job.spec.components, &reach);
            workload.jobs.iter().filter(|job| !runs(job)).count() as u64
        });
        impossible.sum()
    }

    fn runs(&self) -> u64 {
        let replicate = self.scenario.replicate;
        let replications = replicate.map_or(1, |replicate| replicate.count);
        let each = self.scenario.contenders().len() as u64 + u64::from(self.scenario.bounds);
        each * u64::from(replications)
    }

    fn wall_time_s(&self) -> f64 {
        let one = match self.scenario.clock {
            Clock::Virtual => {
                let brokers = usize::from(!self.scenario.grid.domains.is_empty());
                VIRTUAL_RUN_S + self.jobs().count() as f64 * VIRTUAL_JOB_S[brokers]
            }
            Clock::Real { speed } => {
                let end = |job: &Submission| match self.scenario.measure.stop {
                    Stop::Drained => job.at + job.spec.run_time,
                    Stop::LastArrival => job.at,
                };
                let last = self.jobs().map(end).max().unwrap_or_default();
                last.as_secs_f64().max(self.span_s) / speed.as_f64()
            }
        };
        one * self.runs() as f64
    }

    fn workloads(&self) -> Vec<WorkloadReport> {
        let grid = &self.scenario.grid;
        let specs = self.scenario.workloads.iter().zip(self.prepared);
        let report = specs.map(|(spec, prepared)| {
            let capacity = self.capacity(&self.reach(prepared.entry)) as u64;
            let count = |(reason, count): (&&str, &u64)| ((*reason).to_owned(), *count);
            let steps = StepReport::all(&prepared.reduction.steps, Some(capacity));
            WorkloadReport {
                trace: spec.trace.display().to_string(),
                entry: match prepared.entry {
                    _ if spec.spread.is_some() => "every domain".to_owned(),
                    Entry::Domain(id) => format!("domain {}", grid.domains[id.index()].name),
                    Entry::Cluster(id) => format!("cluster {}", grid.clusters[id.index()].name),
                },
                drawn: spec.draw.iter().flat_map(Draw::keys).collect(),
                jobs: prepared.jobs.len() as u64,
                skipped: prepared.reduction.trace.skipped.iter().map(count).collect(),
                reduced: prepared.reduction.reduced.iter().map(count).collect(),
                window: WindowReport::of(prepared),
                share: match (spec.keep, prepared.reduction.keep) {
                    (Keep::Load { .. }, Keep::Share { share, .. }) => Some(share.as_f64()),
                    _ => None,
                },
                steps,
            }
        });
        report.collect()
    }

    fn domains(&self) -> Vec<DomainReport> {
        let domains = (0u16..).zip(&self.scenario.grid.domains);
        let report = domains.map(|(index, domain)| {
            let entry = Entry::Domain(DomainId(index));
            let entering = &self.entering;
            let (work_s, jobs) = (entering.work_s_at(entry), entering.jobs_at(entry));
            let per = |seconds: f64| match self.span_s > 0.0 {
                true => jobs as f64 * seconds / self.span_s,
                false => jobs as f64,
            };
            let clusters = domain.clusters.iter();
            let processors = clusters.map(|id| self.resources(*id).processors());
            DomainReport {
                name: domain.name.clone(),
                jobs,
                processors: processors.map(u64::from).sum(),
                load_on_own: self.load(work_s, &domain.clusters),
                load_on_reachable: self.load(work_s, &self.reach(entry)),
                jobs_per_cycle: per(domain.broker.interval.as_secs_f64()),
                jobs_per_exchange: per(domain.broker.exchange.as_secs_f64()),
                busiest_exchange: entering.busiest(entry, domain.broker.exchange.as_nanos()),
            }
        });
        report.collect()
    }

    /// By cluster, the work of all domains that can reach it, were that spread over their
    /// clusters by capacity, and of what goes straight to it.
    fn even_work_s(&self) -> Vec<f64> {
        let own = |id: ClusterId| self.capacity(&[id]);
        let direct = |id: ClusterId| self.entering.work_s_at(Entry::Cluster(id));
        let mut even: Vec<f64> = self.all_clusters().into_iter().map(direct).collect();
        for index in (0u16..).take(self.scenario.grid.domains.len()) {
            let entry = Entry::Domain(DomainId(index));
            let reach = self.reach(entry);
            let (work_s, all) = (self.entering.work_s_at(entry), self.capacity(&reach));
            for id in reach {
                even[id.index()] += work_s * (own(id) / all);
            }
        }
        even
    }

    fn clusters(&self) -> Vec<ClusterReport> {
        let grid = &self.scenario.grid;
        let even_s = self.even_work_s();
        let report = grid.clusters.iter().zip(self.scenario.clusters());
        let report = report.map(|(cluster, written)| {
            let (id, domain) = (cluster.config.id, cluster.domain);
            let direct = Entry::Cluster(id);
            let direct_s = self.entering.work_s_at(direct);
            ClusterReport {
                name: cluster.name.clone(),
                domain: domain.map(|id| grid.domains[id.index()].name.clone()),
                processors: u64::from(cluster.config.resources.processors()),
                jobs: self.entering.jobs_at(direct),
                direct_load: self.load(direct_s, &[id]),
                even_load: self.load(even_s[id.index()], &[id]),
                how_nodes_fail: how_nodes_fail(written),
            }
        });
        report.collect()
    }
}
