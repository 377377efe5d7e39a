//! Whose processors jobs have used, by how far apart the two domains are, what was said
//! about them, and who pays for it.

use super::censored::CensoredWaits;
use super::{JobCounts, share};
use crate::jobs::{JobRow, JobTable};
use crate::stats::mean;
use gridrig_core::ids::DomainId;
use gridrig_core::time::{SimDuration, SimTime};
use serde::Serialize;
use std::collections::BTreeMap;

/// Processor-seconds of the completed measured jobs by where they ran, seen from where they
/// entered, and what was said to have processors delegated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lending {
    /// In the domain where they entered.
    pub local_processor_s: f64,
    /// In another domain of the same site.
    pub intra_site_processor_s: f64,
    /// In another site of the same grid.
    pub intra_grid_processor_s: f64,
    /// In another grid, or where no grid is named.
    pub inter_grid_processor_s: f64,
    /// On processors that were delegated for them.
    pub delegated_processor_s: f64,
    /// Inter-grid / all that was not where they entered.
    pub inter_grid_share: Option<f64>,
    /// Requests for processors, each from one broker to another.
    pub requests: u64,
    /// Requests that were rejected.
    pub rejections: u64,
    /// Processors of one job that one broker delegated to another.
    pub delegations: u64,
    /// Releases of what was asked for or delegated.
    pub releases: u64,
    /// Delegations / jobs of the run.
    pub delegations_per_job: Option<f64>,
    /// Requests that were taken back before anything was delegated.
    pub cancelled_requests: u64,
    /// Processor-seconds that were delegated to the domains of jobs, used or not.
    pub charged_processor_s: f64,
    /// Messages that manage jobs, of the whole run.
    pub messages: LeaseMessages,
    /// Who pays and who gains, by domain.
    pub domains: Vec<DomainLending>,
    /// Who has used whose processors, where anything was delegated.
    pub pairs: Vec<Loan>,
}

/// Messages by the kinds of Iosup et al. (SC 2007), each counted as one from one party to
/// another in the steps of their Figure 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseMessages {
    /// A job manager tells its broker of a job.
    pub notify_broker: u64,
    /// A broker tells a job manager of processors.
    pub negotiate: u64,
    /// A job goes to its processors.
    pub job_data_exchange: u64,
    /// A job manager tells processors and broker that it needs them no more.
    pub match_claim_release: u64,
    /// Brokers ask for processors, reject, delegate and release.
    pub dmm: u64,
    /// Processors say that they run a job, each five minutes.
    pub keep_alive: u64,
    /// The last but one / the four before.
    pub dmm_overhead: Option<f64>,
    /// The last but one / all.
    pub dmm_share: Option<f64>,
}

/// What a domain gives and gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DomainLending {
    /// Its name.
    pub domain: String,
    /// Measured jobs that entered there.
    pub submitted: u64,
    /// Those that completed / all of them.
    pub finished_share: Option<f64>,
    /// Processor-seconds of those that completed, wherever they ran.
    pub goodput_processor_s: f64,
    /// Processor-seconds of jobs of other domains that completed here.
    pub lent_processor_s: f64,
    /// Processor-seconds of jobs from here that completed elsewhere.
    pub borrowed_processor_s: f64,
    /// Mean wait of the jobs from here that started.
    pub wait_s_mean: Option<f64>,
    /// Waits of all jobs from here.
    pub waits: CensoredWaits,
}

/// What one domain has had of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loan {
    /// Where the jobs entered.
    pub borrower: String,
    /// Whose processors they had.
    pub lender: String,
    /// Jobs of the run that had some, the last time they had any.
    pub jobs: u64,
    /// Processor-seconds that were delegated for them, used or not.
    pub charged_processor_s: f64,
}

/// A job says that it runs once in so long: Condor's `ALIVE_INTERVAL`.
const KEEP_ALIVE: SimDuration = SimDuration::from_secs(300);

/// What is known of the jobs that entered at a domain.
#[derive(Default)]
struct Home {
    counts: JobCounts,
    waits: Vec<(f64, bool)>,
    /// Processor-seconds.
    goodput: f64,
    lent: f64,
    borrowed: f64,
}

/// The figures as they grow.
pub(super) struct Lent<'a> {
    table: &'a JobTable,
    figures: Lending,
    homes: Vec<Home>,
    /// By borrower and lender: jobs, and processor-seconds.
    loans: BTreeMap<(DomainId, DomainId), (u64, f64)>,
}

impl<'a> Lent<'a> {
    /// What was said in the run.
    pub(super) fn new(table: &'a JobTable) -> Self {
        let [requests, rejections, delegations, releases] = table.said;
        let figures = Lending {
            requests,
            rejections,
            delegations,
            releases,
            delegations_per_job: share(delegations, table.rows().len() as u64),
            ..Lending::default()
        };
        Lent {
            homes: table.topology.iter().map(|_| Home::default()).collect(),
            loans: BTreeMap::new(),
            figures,
            table,
        }
    }

    /// Adds a job, measured or not.
    pub(super) fn add(&mut self, row: &JobRow, is_measured: bool) {
        let run_end = self.table.end();
        self.figures.messages.add(row, run_end);
        let origin = row.origin.filter(|id| id.index() < self.homes.len());
        let (Some(origin), processors) = (origin, f64::from(row.processors)) else {
            return;
        };
        if let Some(lease) = &row.lease {
            self.figures.cancelled_requests += u64::from(lease.cancelled);
            if let Some(lender) = lease.chain.first() {
                let charged = lease.charged(run_end).as_secs_f64() * processors;
                self.figures.charged_processor_s += charged;
                let loan = self.loans.entry((origin, *lender)).or_default();
                *loan = (loan.0 + 1, loan.1 + charged);
            }
        }
        if !is_measured {
            return;
        }
        let home = &mut self.homes[origin.index()];
        home.counts.add(row);
        home.waits.extend(CensoredWaits::of_job(row, run_end));
        let (Some(run_time), Some(there)) = (row.run_time(), row.exec_domain) else {
            return;
        };
        let seconds = run_time.as_secs_f64() * processors;
        home.goodput += seconds;
        if origin != there {
            home.borrowed += seconds;
            self.homes[there.index()].lent += seconds;
        }
        if row.lender().is_some() {
            self.figures.delegated_processor_s += seconds;
        }
        *self.class(origin, there) += seconds;
    }

    /// The goodput of jobs that ran so far from where they entered.
    fn class(&mut self, origin: DomainId, there: DomainId) -> &mut f64 {
        let [here, there_of] = [origin, there].map(|id| &self.table.topology[id.index()]);
        let alike = |here: &Option<_>, there: &Option<_>| here.is_some() && here == there;
        let grid = alike(&here.grid, &there_of.grid);
        match () {
            () if origin == there => &mut self.figures.local_processor_s,
            () if grid && alike(&here.site, &there_of.site) => {
                &mut self.figures.intra_site_processor_s
            }
            () if grid => &mut self.figures.intra_grid_processor_s,
            () => &mut self.figures.inter_grid_processor_s,
        }
    }

    pub(super) fn finish(mut self) -> Lending {
        let of = &self.figures;
        let away =
            of.intra_site_processor_s + of.intra_grid_processor_s + of.inter_grid_processor_s;
        let inter_grid_share = (away > 0.0).then(|| of.inter_grid_processor_s / away);
        let said = [of.requests, of.rejections, of.delegations, of.releases];
        self.figures.messages.finish(said.iter().sum());
        self.figures.inter_grid_share = inter_grid_share;
        let name = |id: DomainId| self.table.names().domain(id).into_owned();
        let ids = (0..).map(DomainId);
        let topology = ids.zip(&self.table.topology).zip(self.homes);
        let with_jobs = topology.filter(|((_, it), _)| !it.administrative);
        self.figures.domains = with_jobs
            .map(|((id, _), home)| DomainLending {
                domain: name(id),
                submitted: home.counts.submitted,
                finished_share: share(home.counts.completed, home.counts.submitted),
                goodput_processor_s: home.goodput,
                lent_processor_s: home.lent,
                borrowed_processor_s: home.borrowed,
                wait_s_mean: {
                    let started = home.waits.iter().filter(|(_, over)| *over);
                    mean(&started.map(|(wait, _)| *wait).collect::<Vec<_>>())
                },
                waits: CensoredWaits::of(home.waits),
            })
            .collect();
        let loans = self.loans.into_iter();
        self.figures.pairs = loans
            .map(|((borrower, lender), (jobs, charged_processor_s))| Loan {
                borrower: name(borrower),
                lender: name(lender),
                jobs,
                charged_processor_s,
            })
            .collect();
        self.figures
    }
}

impl LeaseMessages {
    fn add(&mut self, row: &JobRow, run_end: SimTime) {
        self.notify_broker += u64::from(row.submit.is_some());
        self.negotiate += u64::from(row.dispatch.is_some());
        self.job_data_exchange += u64::from(row.start.is_some());
        if let Some((start, end)) = row.occupied(run_end) {
            // Two are told.
            self.match_claim_release += 2 * u64::from(row.end.is_some());
            self.keep_alive += end.since(start).as_nanos() / KEEP_ALIVE.as_nanos();
        }
    }

    fn finish(&mut self, dmm: u64) {
        self.dmm = dmm;
        let managed =
            self.notify_broker + self.negotiate + self.job_data_exchange + self.match_claim_release;
        self.dmm_overhead = share(dmm, managed);
        self.dmm_share = share(dmm, managed + dmm + self.keep_alive);
    }
}
