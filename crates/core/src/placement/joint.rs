//! Jobs of several components: each takes its processors as a job that has only
//! it would, the first one first.

use super::{Class, ClassId, Nodes, PlacementRun, Share};
use crate::job::Components;
use crate::resource::Resources;

/// One of several components, as placement sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The class of jobs that have only such a component.
    pub class: ClassId,
    /// Its processors.
    pub processors: u32,
}

/// What of a placement each component of a job has, these being their processors:
/// they stand in it one after the other, and no run is of two of them.
pub fn by_component(
    mut placement: &[PlacementRun],
    processors: impl IntoIterator<Item = u32>,
) -> impl Iterator<Item = &[PlacementRun]> {
    processors.into_iter().map(move |wanted| {
        let mut left = u64::from(wanted);
        let is_own = |run: &&PlacementRun| {
            let has_some = left > 0;
            left = left.saturating_sub(u64::from(run.nodes) * u64::from(run.processors));
            has_some
        };
        let own = placement.iter().take_while(is_own).count();
        let (own, rest) = placement.split_at(own);
        placement = rest;
        own
    })
}

impl Nodes {
    /// Makes a class of the jobs with these components known.
    pub fn add_joint_class(&mut self, parts: Vec<Part>) -> ClassId {
        self.classes.push(Class {
            parts,
            ..Class::default()
        });
        ClassId(self.classes.len() as u32 - 1)
    }

    pub(super) fn take_parts(
        &mut self,
        class: ClassId,
        shares: Option<&[Share]>,
    ) -> Vec<PlacementRun> {
        let taken = self.try_parts(class, shares);
        taken.expect("placement asked for more processors than are free")
    }

    /// Takes the processors of one component after the other, those that were
    /// planned if some were; where some are missing none is taken.
    pub(super) fn try_parts(
        &mut self,
        class: ClassId,
        shares: Option<&[Share]>,
    ) -> Option<Vec<PlacementRun>> {
        let parts = std::mem::take(&mut self.classes[class.0 as usize].parts);
        let mut placement = self.spare.pop().unwrap_or_default();
        let fit = parts.iter().zip(0..).all(|(part, component)| {
            let own = shares.map(|shares| {
                let own = shares.iter().filter(|share| share.component == component);
                own.copied().collect::<Vec<_>>()
            });
            let fits = match &own {
                Some(own) => self.offers(part.class, own),
                None => self.count(part.class) >= part.processors,
            };
            if fits {
                let taken = match &own {
                    Some(own) => self.take_planned(part.class, own),
                    None => self.take(part.class, part.processors),
                };
                placement.extend(taken);
            }
            fits
        });
        self.classes[class.0 as usize].parts = parts;
        if !fit {
            self.give_back(class, placement);
            return None;
        }
        Some(placement)
    }

    pub(super) fn free_parts(&mut self, class: ClassId, placement: &[PlacementRun]) {
        let parts = std::mem::take(&mut self.classes[class.0 as usize].parts);
        let all = by_component(placement, parts.iter().map(|part| part.processors));
        let all = parts.iter().zip(all);
        all.for_each(|(part, own)| self.free(part.class, own));
        self.classes[class.0 as usize].parts = parts;
    }
}

impl Resources {
    /// Whether a job of these components could run here if the cluster were empty.
    pub fn could_run(&self, job: &Components) -> bool {
        if let Some(only) = job.only() {
            return only.processors <= self.capacity(&only.requirements);
        }
        let mut nodes = Nodes::new(self);
        let parts = job.iter().map(|component| Part {
            class: nodes.add_class(self, &component.requirements),
            processors: component.processors,
        });
        let parts = parts.collect();
        let class = nodes.add_joint_class(parts);
        job.processors() <= self.processors() && nodes.try_parts(class, None).is_some()
    }
}
