//! What a broker shows its policy.

use super::view::{Known, work_of};
use super::{BrokerConfig, MatchmakingKind, OwnDispatch};
use crate::ids::{ClusterId, DomainId};
use crate::job::{Component, JobRequest, JobSpec, Requirements};
use crate::load::LoadSample;
use crate::message::Route;
use crate::policy::{InformationNeed, Kinds, Machine, Placement, Site, View, Wanted};
use crate::resource::Resources;
use std::sync::Arc;

/// The view with what it takes to keep it up to date.
pub(super) struct Survey {
    pub view: View,
    kinds: Kinds,
    need: InformationNeed,
    /// Whether the policy predicts when jobs start.
    pub predicts: bool,
    /// Forwards a job may make.
    pub hops: u32,
    /// Whether what was sent counts.
    pub counts_own: bool,
    /// Whether jobs wait until there is room for them.
    pub late: bool,
    /// Whether somebody could run the job it has turned to, though not now.
    pub lacks_room: bool,
    /// Whether the candidates run jobs together, so that none need be able to run one alone.
    pub together: bool,
    /// Whether that is neighbours only, so that it keeps nobody else waiting.
    pub waits_away: bool,
}

/// Clusters by name with what they are made of.
type Clusters = [(ClusterId, Arc<Resources>)];

impl Survey {
    pub fn new(config: &BrokerConfig, counts_own: bool) -> Self {
        let policy = &config.settings.policy;
        let need = policy.entry().need;
        let mut kinds = Kinds::default();
        let mut site = |domain: DomainId, clusters: &Clusters| {
            let clusters = clusters.iter();
            let machines = clusters.map(|(id, all)| Machine::idle(*id, all, &mut kinds));
            Site::new(domain, machines.collect())
        };
        let mut domains = Vec::new();
        if need.is_by_cluster() {
            domains.push(site(config.domain, &config.clusters));
            let peers = config.peers.iter();
            domains.extend(peers.map(|peer| site(peer.domain, &peer.told_of())));
        }
        // The others know the room that there is in a way of their own.
        let late = config.settings.commits_late(policy)
            && matches!(
                config.settings.matchmaking(),
                MatchmakingKind::Independent | MatchmakingKind::Route
            );
        let debited = late || counts_own || config.settings.own_dispatch == OwnDispatch::Debited;
        Survey {
            view: View {
                own: config.clusters.len(),
                possible: Vec::new(),
                candidates: Vec::new(),
                truth: Vec::new(),
                domains,
                wanted: kinds.wanted(&Requirements::default()),
                stage_in: Vec::new(),
                route: Route::entering(config.domain),
            },
            predicts: policy.entry().predicts,
            kinds,
            need,
            hops: config.settings.hops(),
            counts_own: debited || need == InformationNeed::Truth,
            late,
            lacks_room: false,
            together: policy.placement().is_some_and(Placement::is_together),
            waits_away: false,
        }
    }

    /// Takes over what is known of every candidate at the beginning of a cycle;
    /// `informed` if information has come in since the last one.
    pub fn refresh(&mut self, known: &[Known], informed: bool) {
        let (view, counts_own) = (&mut self.view, self.counts_own);
        // Who places jobs on several clusters looks at what is known itself.
        if matches!(self.need, InformationNeed::Totals | InformationNeed::Truth) && !self.together {
            let candidates = known.iter().map(|known| known.candidate(counts_own));
            view.candidates.clear();
            view.candidates.extend(candidates);
        }
        if self.need == InformationNeed::Truth {
            view.truth.clear();
            view.truth.extend(known.iter().map(Known::truth));
        }
        // What was sent is counted anew in each cycle: it changes with time.
        if self.need.is_by_cluster() && (informed || counts_own) {
            self.refresh_domains(known);
        }
    }

    fn refresh_domains(&mut self, known: &[Known]) {
        let load = |machine: &mut Machine, sample: &LoadSample| {
            // Processors that are down are no use either.
            let down = machine.processors.saturating_sub(sample.processors.into());
            machine.busy = u64::from(sample.busy) + down;
            machine.queued = sample.queued_processors;
            let space = [sample.space.memory_kib, sample.space.node_memory_kib];
            machine.memory_kib = space.map(|kib| kib.unwrap_or(u64::MAX));
        };
        let (own, peers) = known.split_at(self.view.own);
        let sites = &mut self.view.domains;
        let samples = own.iter().filter_map(|known| known.samples().first());
        let machines = sites[0].machines.iter_mut();
        machines.zip(samples).for_each(|(m, s)| load(m, s));
        for (site, known) in sites.iter_mut().skip(1).zip(peers) {
            let machines = site.machines.iter_mut();
            machines.zip(known.samples()).for_each(|(m, s)| load(m, s));
        }
        if self.counts_own {
            for (index, known) in known.iter().enumerate() {
                for processors in known.sent() {
                    self.make_busy(index, processors);
                }
            }
        }
        if self.need == InformationNeed::Aggregated {
            self.view.domains.iter_mut().for_each(Site::sum_up);
        }
    }

    /// Turns to this job; who may have it is still to be found.
    pub fn turn_to(&mut self, request: &JobRequest<'_>, route: Route) {
        self.view.route = route;
        self.view.possible.clear();
        if self.need.is_by_cluster() {
            let only = request.components.only();
            let any = Requirements::default();
            let wanted = only.map_or(&any, |only| &only.requirements);
            self.view.wanted = self.kinds.wanted(wanted);
        }
    }

    /// Whether a candidate could run the job or knows who could, as far as the
    /// policy's form of information tells; a forward takes one of the hops left.
    pub fn suits(&self, index: usize, known: &Known, job: &JobRequest<'_>, hops_left: u32) -> bool {
        let Some(peer) = index.checked_sub(self.view.own) else {
            return self.together || known.could_run(job, 0);
        };
        if hops_left == 0 || self.need != InformationNeed::Aggregated {
            return hops_left > 0 && known.could_run(job, hops_left - 1);
        }
        let site = &self.view.domains[peer + 1];
        let matches = |wanted: &Wanted, processors| {
            let mut matching = site.matching(wanted, processors);
            matching.next().is_some()
        };
        let each = |one: &Component| {
            let wanted = self.kinds.wanted(&one.requirements);
            matches(&wanted, one.processors)
        };
        let all_match = match job.components.only() {
            Some(_) => matches(&self.view.wanted, job.processors),
            None => job.components.iter().all(each),
        };
        all_match || (hops_left > 1 && known.could_run(job, hops_left - 1))
    }

    /// Counts a job that was sent to a candidate.
    pub fn debit(&mut self, index: usize, job: &JobSpec) {
        if let Some(candidate) = self.view.candidates.get_mut(index) {
            candidate.debit(job.processors());
        }
        if let Some(truth) = self.view.truth.get_mut(index) {
            truth.debit(job.processors(), work_of(job));
        }
        if self.need.is_by_cluster() {
            let site = self.make_busy(index, job.processors());
            if self.need == InformationNeed::Aggregated {
                self.view.domains[site].sum_up();
            }
        }
    }

    /// The processors of a job that was sent to a candidate are busy, at a peer
    /// on the cluster that had the most to spare, the first of equals. Answers
    /// the domain that has changed.
    fn make_busy(&mut self, index: usize, processors: u32) -> usize {
        let domains = &mut self.view.domains;
        let (site, machine) = match index.checked_sub(self.view.own) {
            None => (0, domains[0].machines.get_mut(index)),
            Some(peer) => {
                let machines = domains[peer + 1].machines.iter_mut().rev();
                let spare = |m: &&mut Machine| {
                    m.processors.cast_signed() - m.busy.cast_signed() - m.queued.cast_signed()
                };
                // The last of the reversed ones is the first of equals.
                (peer + 1, machines.max_by_key(spare))
            }
        };
        if let Some(machine) = machine {
            machine.busy += u64::from(processors);
        }
        site
    }
}
