//! The domains around a broker, as a policy over domains sees them.

use super::view::Known;
use crate::ids::{ClusterId, DomainId};
use crate::job::{JobSpec, Requirements};
use crate::policy::{Information, Kinds, Machine, Site, Wanted};
use crate::resource::Resources;
use std::sync::Arc;

/// The broker's own domain, then those of its providing peers in link order.
pub(super) struct Survey {
    kinds: Kinds,
    sites: Vec<Site>,
}

/// Clusters by name with what they are made of.
type Clusters = [(ClusterId, Arc<Resources>)];

impl Survey {
    pub fn new<'a>(
        own: (DomainId, &'a Clusters),
        peers: impl Iterator<Item = (DomainId, &'a Clusters)>,
    ) -> Self {
        let mut kinds = Kinds::default();
        let sites = std::iter::once(own).chain(peers).map(|(domain, clusters)| {
            let machine = |(id, resources): &(ClusterId, Arc<Resources>)| {
                Machine::idle(*id, resources, &mut kinds)
            };
            Site::new(domain, clusters.iter().map(machine).collect())
        });
        Survey {
            sites: sites.collect(),
            kinds,
        }
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    pub fn wanted(&self, requirements: &Requirements) -> Wanted {
        self.kinds.wanted(requirements)
    }

    /// Whether a domain could run the job, by what is known of it.
    pub fn suits(&self, site: usize, wanted: Wanted, job: &JobSpec, by: Information) -> bool {
        let site = &self.sites[site];
        match by {
            Information::Flat => site.could_run(&wanted, job.processors),
            Information::Aggregated => site.matching(wanted, job.processors).next().is_some(),
        }
    }

    /// Takes over what is known of every cluster; what was sent counts only if
    /// `debited`.
    pub fn refresh(&mut self, known: &[Known], debited: bool) {
        let own = self.sites[0].machines.len();
        for (machine, known) in self.sites[0].machines.iter_mut().zip(known) {
            if let Some(sample) = known.samples().first() {
                machine.busy = u64::from(sample.busy);
                machine.queued = sample.queued_processors;
            }
        }
        for (site, known) in self.sites.iter_mut().skip(1).zip(&known[own..]) {
            for (machine, sample) in site.machines.iter_mut().zip(known.samples()) {
                machine.busy = u64::from(sample.busy);
                machine.queued = sample.queued_processors;
            }
        }
        if debited {
            for (index, known) in known.iter().enumerate() {
                for processors in known.sent() {
                    self.debit(index, processors);
                }
            }
        }
    }

    /// Brings the aggregated forms up to date.
    pub fn sum_up(&mut self) {
        self.sites.iter_mut().for_each(Site::sum_up);
    }

    /// Counts a job that was sent to a candidate: its processors are busy, at
    /// a peer on the cluster that had the most to spare, the first of equals.
    /// Answers the domain that has changed.
    pub fn debit(&mut self, candidate: usize, processors: u32) -> usize {
        let own = self.sites[0].machines.len();
        let (site, machine) = match candidate.checked_sub(own) {
            None => (0, self.sites[0].machines.get_mut(candidate)),
            Some(peer) => {
                let machines = self.sites[peer + 1].machines.iter_mut().rev();
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

    /// Brings the aggregated form of one domain up to date.
    pub fn sum_up_one(&mut self, site: usize) {
        self.sites[site].sum_up();
    }
}
