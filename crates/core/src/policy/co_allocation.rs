//! Placing the components of a job on several clusters (KOALA, section 4): worst fit, cluster
//! minimization, and flexible cluster minimization; near to what they read; and by advance
//! reservations (JSS, 3.2).

mod capacity;

use super::registry::Values;
use super::{
    BrokerSettings, Choice, InformationNeed, Parameter, Placement, Policy, PolicyEntry, Tie, View,
};
use crate::agent::ClaimShare;
use crate::ids::ClusterId;
use crate::job::{Component, Components, Division, JobRequest, JobSpec, MOST_COMPONENTS};
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration};
use std::cmp::Reverse;
use std::sync::Arc;

const fn entry(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    placement: Placement,
) -> PolicyEntry {
    let build: fn(&BrokerSettings) -> Box<dyn Policy> = |_| Box::new(Together);
    PolicyEntry {
        placement: Some(placement),
        ..PolicyEntry::new(name, summary, parameters, InformationNeed::Totals, build)
    }
}

pub(super) const WORST_FIT: PolicyEntry = entry(
    "worst-fit",
    "components one by one to where the most processors are idle",
    &[TRIES],
    Placement::WorstFit,
);

pub(super) const CLOSE_TO_FILES: PolicyEntry = entry(
    "close-to-files",
    "components one by one to where the least has to be brought of what they read",
    &[TRIES],
    Placement::CloseToFiles,
);

pub(super) const CLUSTER_MINIMIZATION: PolicyEntry = entry(
    "cluster-minimization",
    "components to as few clusters as hold them",
    &[TRIES, QUOTA],
    Placement::ClusterMinimization,
);

pub(super) const FLEXIBLE: PolicyEntry = entry(
    "flexible-cluster-minimization",
    "jobs divided as clusters have room, over as few as hold them",
    &[TRIES, QUOTA, LEAST_COMPONENT, MOST_PARTS],
    Placement::FlexibleClusterMinimization,
);

pub(super) const RESERVATIONS: PolicyEntry = entry(
    "co-reservation",
    "components to clusters that reserve processors for all of them at one time",
    &[TRIES, SEARCH, DEVIATION, WITHIN, NOTICE],
    Placement::Reservations,
);

const SEARCH: Parameter = Parameter {
    name: "search",
    values: Values::Word(|| vec!["augmenting-paths", "exact"]),
    default: |_| "augmenting-paths".to_owned(),
};

const DEVIATION: Parameter = time("deviation", |_| "1m".to_owned());
pub(super) const WITHIN: Parameter = time("within", |_| "1d".to_owned());
pub(super) const NOTICE: Parameter = time("notice", |settings| match settings.policy.placement() {
    Some(Placement::KeptReservation) => "2s".to_owned(),
    _ => "10s".to_owned(),
});

/// At how many candidates, the best ones by what is predicted; 0 is all.
pub(super) const CANDIDATES: Parameter = Parameter::whole("candidates", |_| "0".to_owned());

const fn time(name: &'static str, default: fn(&BrokerSettings) -> String) -> Parameter {
    Parameter {
        name,
        values: Values::Time,
        default,
    }
}

const TRIES: Parameter = Parameter::whole("tries", |_| "0".to_owned());

const QUOTA: Parameter = Parameter {
    name: "quota",
    values: Values::Number(1),
    default: |_| "1".to_owned(),
};

const LEAST_COMPONENT: Parameter = Parameter::whole("least_component", |_| "1".to_owned());

const MOST_PARTS: Parameter = Parameter::whole("most_components", |_| "0".to_owned());

/// The first candidate stands for all clusters: the broker places the job.
struct Together;

impl Policy for Together {
    fn choose(&mut self, _: &JobRequest<'_>, view: &View) -> Choice {
        Choice::Among(view.possible.clone(), Tie::First)
    }
}

/// A job by its components, for clusters by their positions.
pub(crate) struct Parts<'a> {
    /// Processors of each.
    sizes: Vec<u32>,
    components: Vec<&'a Component>,
    job: &'a JobSpec,
    division: Option<&'a Division>,
    /// Whether the components are pieces of one.
    is_split: bool,
    /// Whether one of them asks something of its nodes: otherwise all processors will do.
    asks: bool,
    clusters: &'a [(ClusterId, Arc<Resources>)],
}

/// How a policy places jobs, with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    placement: Placement,
    /// How often a job is tried; 0 is without end.
    pub tries: u32,
    quota: Decimal,
    least_component: u32,
    most_components: u32,
    /// How it reserves, if it does.
    pub reservations: Option<CoReservation>,
}

/// No cluster counts a job as shorter.
pub(crate) const SHORTEST: SimDuration = SimDuration::from_nanos(1_000_000);

/// How processors are reserved for all components of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoReservation {
    /// Whether each window is searched through.
    pub exact: bool,
    /// How far apart the reservations may start.
    pub deviation: SimDuration,
    /// How much later than at once a job may start that has no window.
    pub within: SimDuration,
    /// How long before the first start a search may take.
    pub notice: SimDuration,
    /// Whether that is for jobs with a start window only.
    pub windows_only: bool,
    /// At so many candidates, 0 is all.
    pub candidates: usize,
}

impl Placing {
    /// That of these settings, if the policy places components.
    pub fn of(settings: &BrokerSettings) -> Option<Self> {
        let whole = |parameter: &Parameter| parameter.of(settings).parse().unwrap_or(0);
        let time = |parameter: &Parameter| SimDuration::parse(&parameter.of(settings));
        let placement = settings.policy.placement()?;
        let keeps_one = placement == Placement::KeptReservation;
        let reserves = keeps_one || placement == Placement::Reservations;
        let reservations = reserves.then(|| CoReservation {
            exact: SEARCH.of(settings) == "exact",
            deviation: time(&DEVIATION).unwrap_or_default(),
            within: time(&WITHIN).unwrap_or_default(),
            notice: time(&NOTICE).unwrap_or_default(),
            windows_only: BrokerSettings::RESERVE.of(settings) == "windows",
            candidates: whole(&CANDIDATES) as usize,
        });
        Some(Placing {
            placement,
            reservations,
            tries: whole(&TRIES),
            quota: Decimal::parse(&QUOTA.of(settings)).unwrap_or(Decimal::ONE),
            least_component: whole(&LEAST_COMPONENT).max(1),
            most_components: whole(&MOST_PARTS),
        })
    }

    /// Whether it is one of several reservations that is kept.
    pub fn keeps_one(&self) -> bool {
        self.placement == Placement::KeptReservation
    }

    /// How many processors may be taken of a cluster that has so many, of which so many are
    /// idle.
    pub fn may_take(&self, processors: u32, idle: u32) -> u32 {
        let most = self.quota.multiply(processors.into()) as u32;
        idle.min(most.saturating_sub(processors.saturating_sub(idle)))
    }

    /// Which clusters, by position, get how much of a job, the largest part first, and how
    /// many components it has then; `None` if not all of it has room. `idle` is what may be
    /// taken of each.
    pub fn place(&self, job: &Parts<'_>, idle: &[u32]) -> Option<(Shares, usize)> {
        let flexible = self.placement == Placement::FlexibleClusterMinimization;
        let (mut shares, components) = match job.division {
            Some(Division::Splits(splits)) => splits
                .iter()
                .find_map(|split| Some((job.split(split, idle, self.placement)?, split.len())))?,
            _ if flexible && job.may_be_divided() => (self.divide(job, idle)?, 1),
            _ => (job.one_by_one(idle, self.placement)?, job.sizes.len()),
        };
        shares.sort_by_key(|(_, share)| Reverse(job.processors_of(*share)));
        let components = components.max(shares.len());
        Some((shares, components))
    }

    /// A job as it is placed: under
    /// [`Placement::FlexibleClusterMinimization`] one whose components need the same of their
    /// nodes is one component. `None` for one of [`MOST_COMPONENTS`] or more: their sum of powers
    /// of two is the value of an event, which is signed.
    pub fn parts<'a>(
        &self,
        job: &'a JobSpec,
        clusters: &'a [(ClusterId, Arc<Resources>)],
    ) -> Option<Parts<'a>> {
        let all = &job.components;
        let mut components: Vec<&Component> = all.iter().collect();
        let mut sizes: Vec<u32> = all.iter().map(|component| component.processors).collect();
        let alike =
            |one: &&Component| one.requirements == all.first.requirements && one.cluster.is_none();
        if self.placement == Placement::FlexibleClusterMinimization && components.iter().all(alike)
        {
            components.truncate(1);
            sizes = vec![job.processors()];
        }
        (components.len() < MOST_COMPONENTS).then_some(Parts {
            sizes,
            asks: components.iter().any(|it| !it.requirements.is_any()),
            components,
            job,
            is_split: false,
            division: job
                .division
                .as_deref()
                .filter(|_| self.reservations.is_none()),
            clusters,
        })
    }

    /// Each cluster takes what it has.
    fn divide(&self, job: &Parts<'_>, idle: &[u32]) -> Option<Shares> {
        let whole = job.sizes[0];
        let mut left = whole;
        let own = match job.division {
            Some(Division::Bounds {
                least_component,
                most_components,
            }) => (*least_component, *most_components),
            _ => (0, 0),
        };
        let bounds = [own.1, self.most_components]
            .into_iter()
            .filter(|most| *most > 0);
        let most = bounds.min().map_or(idle.len(), |most| most as usize);
        let suitable: Vec<u32>;
        let mut idle = idle;
        if job.asks {
            let all = idle.iter().enumerate();
            suitable = all.map(|(at, idle)| job.suitable(0, at, *idle)).collect();
            idle = &suitable;
        }
        let mut parts = Vec::new();
        for at in by_idle(idle) {
            // What is left over is no component of its own if it is too small for one.
            let least = self.least_component.max(own.0).min(whole);
            let most_here = match left > idle[at] && left - idle[at] < least {
                true => left.saturating_sub(least),
                false => left,
            };
            let taken = idle[at].min(most_here);
            if taken >= least {
                parts.push((at, ClaimShare::Processors(taken)));
                left -= taken;
            }
            if left == 0 || parts.len() == most {
                break;
            }
        }
        (left == 0).then_some(parts)
    }
}

/// Clusters by position, and what they get.
pub(crate) type Shares = Vec<(usize, ClaimShare)>;

/// Clusters by idle processors, the most first.
fn by_idle(idle: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..idle.len()).collect();
    order.sort_by_key(|at| Reverse(idle[*at]));
    order
}

impl Parts<'_> {
    /// Whether it is one component, which is not to be at one cluster.
    fn may_be_divided(&self) -> bool {
        self.sizes.len() == 1 && self.components[0].cluster.is_none()
    }

    /// Placed as components of these sizes.
    fn split(&self, sizes: &[u32], idle: &[u32], placement: Placement) -> Option<Shares> {
        let split = Parts {
            sizes: sizes.to_vec(),
            components: vec![self.components[0]; sizes.len()],
            is_split: true,
            ..*self
        };
        let shares = split.one_by_one(idle, placement)?.into_iter();
        let as_processors = |(at, share)| (at, ClaimShare::Processors(split.processors_of(share)));
        Some(shares.map(as_processors).collect())
    }

    /// How many of these idle processors of a cluster could be such as a component asks for. Which
    /// of them are is not known, but there are no more than the empty cluster has.
    fn suitable(&self, component: usize, cluster: usize, idle: u32) -> u32 {
        match self.asks {
            false => idle,
            true => {
                let wanted = &self.components[component].requirements;
                idle.min(self.clusters[cluster].1.capacity(wanted))
            }
        }
    }

    /// Whether a component may be at a cluster, and could run there if that were empty.
    pub fn fits(&self, component: usize, cluster: usize) -> bool {
        let size = self.sizes[component];
        self.components[component].may_be_at(self.clusters[cluster].0)
            && self.suitable(component, cluster, size) == size
    }

    /// The same beside those that the cluster gets already: which, and of how many processors.
    fn fits_beside(&self, component: usize, (bits, taken): (u64, u32), cluster: usize) -> bool {
        if bits == 0 {
            return true;
        }
        // Pieces of one component are one part there.
        if self.is_split {
            let all = taken + self.sizes[component];
            return self.suitable(component, cluster, all) == all;
        }
        let own = self.components.iter().enumerate();
        let own = own.filter(|(at, _)| *at == component || bits >> at & 1 == 1);
        let own = Components::new(own.map(|(_, own)| Component::clone(own)));
        own.is_some_and(|own| self.clusters[cluster].1.could_run(&own))
    }

    /// First the components that name their cluster, then the largest, each on a cluster: of those
    /// with room the one with the most idle processors, as it was or as others have left it, or
    /// where the least has to be brought.
    fn one_by_one(&self, idle: &[u32], placement: Placement) -> Option<Shares> {
        if self.sizes.iter().max() > idle.iter().max() {
            return None;
        }
        let mut left = idle.to_vec();
        let mut largest: Vec<usize> = (0..self.sizes.len()).collect();
        largest.sort_by_key(|at| {
            (
                self.components[*at].cluster.is_none(),
                Reverse(self.sizes[*at]),
            )
        });
        let mut bits = vec![0_u64; idle.len()];
        for component in largest {
            let size = self.sizes[component];
            let has_room = |at: &usize| {
                let others = || (bits[*at], idle[*at] - left[*at]);
                left[*at] >= size
                    && self.fits(component, *at)
                    && (!self.asks || self.fits_beside(component, others(), *at))
            };
            let idle_of = |all: &[u32], at: usize| Reverse(self.suitable(component, at, all[at]));
            let rank = |at: &usize| match placement {
                Placement::WorstFit => (0, idle_of(&left, *at)),
                Placement::CloseToFiles => (self.missing_mib(component, *at), idle_of(&left, *at)),
                _ => (0, idle_of(idle, *at)),
            };
            let at = (0..idle.len()).filter(has_room).min_by_key(rank)?;
            left[at] -= size;
            bits[at] |= 1 << component;
        }
        let parts = bits.into_iter().enumerate().filter(|(_, bits)| *bits > 0);
        let parts = parts.map(|(at, bits)| (at, ClaimShare::Components(bits)));
        Some(parts.collect())
    }

    /// What a component reads that a cluster does not have.
    fn missing_mib(&self, component: usize, cluster: usize) -> u64 {
        let share = match self.is_split {
            true => ClaimShare::Processors(self.sizes[component]),
            false => ClaimShare::Components(1 << component),
        };
        share.missing_mib(self.job, self.clusters[cluster].0)
    }

    /// Processors of a part.
    pub fn processors_of(&self, share: ClaimShare) -> u32 {
        match share {
            ClaimShare::Processors(processors) => processors,
            ClaimShare::Components(_) => {
                let own = self.sizes.iter().enumerate();
                own.filter(|(at, _)| share.has(*at))
                    .map(|(_, size)| *size)
                    .sum()
            }
        }
    }
}

#[cfg(test)]
mod tests;
