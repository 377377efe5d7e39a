//! Best broker rank (LA Grid 4.3.4; Rodero et al., FGCS 2010): the domain
//! whose clusters together suit the job best.
//!
//! rank(domain) = sum over the clusters that can run the job of speed x
//! max(0, free - queued processors); where that is 0 for every domain, sum of
//! speed x processors / (processors + busy + queued). The rank of the domain
//! where the job entered is multiplied by alpha.

use super::domains::{Offer, SPEED_ONE};
use super::inter::room;
use super::view::best;
use super::{
    BrokerSettings, Choice, InformationNeed, Machine, Parameter, Policy, PolicyEntry, Site, Tie,
    Values, View,
};
use crate::decision::Score;
use crate::job::JobRequest;
use crate::time::Decimal;

pub(super) const FLAT: PolicyEntry = PolicyEntry::new(
    "best-broker-rank",
    "to the domain with the most and fastest free processors (its rank)",
    &[ALPHA, LOCAL_FIRST, Tie::PARAMETER, BrokerSettings::COMMIT],
    InformationNeed::Clusters,
    |settings| rank(settings, &ALPHA.of(settings)),
);

pub(super) const FLAT_110: PolicyEntry = PolicyEntry::new(
    "best-broker-rank-1.10",
    "by rank, that of the job's own domain times 1.10",
    &[LOCAL_FIRST, Tie::PARAMETER, BrokerSettings::COMMIT],
    InformationNeed::Clusters,
    |settings| rank(settings, "1.10"),
);

pub(super) const FLAT_125: PolicyEntry = PolicyEntry::new(
    "best-broker-rank-1.25",
    "by rank, that of the job's own domain times 1.25",
    &[LOCAL_FIRST, Tie::PARAMETER, BrokerSettings::COMMIT],
    InformationNeed::Clusters,
    |settings| rank(settings, "1.25"),
);

pub(super) const AGGREGATED: PolicyEntry = PolicyEntry::new(
    "best-broker-rank-aggr",
    "by rank, each domain known in sums and ranges only (aggregated)",
    &[ALPHA, LOCAL_FIRST, Tie::PARAMETER],
    InformationNeed::Aggregated,
    |settings| rank(settings, &ALPHA.of(settings)),
);

pub(super) const AGGREGATED_110: PolicyEntry = PolicyEntry::new(
    "best-broker-rank-aggr-1.10",
    "by rank of aggregated domains, that of the job's own domain times 1.10",
    &[LOCAL_FIRST, Tie::PARAMETER],
    InformationNeed::Aggregated,
    |settings| rank(settings, "1.10"),
);

pub(super) const AGGREGATED_125: PolicyEntry = PolicyEntry::new(
    "best-broker-rank-aggr-1.25",
    "by rank of aggregated domains, that of the job's own domain times 1.25",
    &[LOCAL_FIRST, Tie::PARAMETER],
    InformationNeed::Aggregated,
    |settings| rank(settings, "1.25"),
);

const ALPHA: Parameter = Parameter {
    name: "alpha",
    values: Values::Number(1000),
    default: |settings| settings.origin_promotion.to_string(),
};

/// Whether a job stays where an own cluster could start it now, as under inter-*.
const LOCAL_FIRST: Parameter = Parameter::flag("local_first", |_| "false".to_owned());

fn rank(settings: &BrokerSettings, alpha: &str) -> Box<dyn Policy> {
    Box::new(BestBrokerRank {
        aggregated: settings.policy.entry().need == InformationNeed::Aggregated,
        promotion: Decimal::parse(alpha).expect("a decimal number").ratio(),
        local_first: LOCAL_FIRST.of(settings) == "true",
        tie: Tie::of(settings),
    })
}

/// The domain of the highest rank; there, the cluster of the highest rank.
struct BestBrokerRank {
    /// Whether ranks are computed from domains in aggregated form.
    aggregated: bool,
    /// alpha.
    promotion: (u64, u64),
    local_first: bool,
    tie: Tie,
}

/// The rank by free processors and the one by load. Ranks are integers: speeds
/// count parts of 1e-9, shares parts of 2^-32, and every term is rounded down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    free: u128,
    share: u128,
}

impl Rank {
    fn of(machine: &Machine, offer: Offer) -> Self {
        let speed = u128::from(offer.speed);
        Rank {
            free: speed * u128::from(machine.unclaimed(offer)),
            share: share(speed, machine.processors, machine.busy, machine.queued),
        }
    }

    fn plus(self, other: Rank) -> Self {
        Rank {
            free: self.free + other.free,
            share: self.share + other.share,
        }
    }

    fn times(self, factor: u64) -> Self {
        Rank {
            free: self.free.saturating_mul(u128::from(factor)),
            share: self.share.saturating_mul(u128::from(factor)),
        }
    }
}

fn share(speed: u128, processors: u64, busy: u64, queued: u64) -> u128 {
    let all = u128::from(processors) + u128::from(busy) + u128::from(queued);
    ((speed * u128::from(processors)) << 32) / all.max(1)
}

impl BestBrokerRank {
    fn flat(request: &JobRequest<'_>, view: &View, site: &Site) -> Rank {
        let wide = u64::from(request.processors);
        let offers = site.machines.iter().map(|m| (m, m.offer(&view.wanted)));
        offers
            .filter(|(_, offer)| offer.capacity >= wide)
            .map(|(machine, offer)| Rank::of(machine, offer))
            .fold(Rank::default(), Rank::plus)
    }

    fn aggregated(request: &JobRequest<'_>, view: &View, site: &Site) -> Rank {
        let matching = site.matching(&view.wanted, request.processors);
        let ranks = matching.map(|all| {
            let (speed, claimed) = (u128::from(all.speed), all.busy + all.queued);
            let share = share(speed, all.processors, all.busy, all.queued);
            Rank {
                free: speed * u128::from(all.processors.saturating_sub(claimed)),
                share: share * u128::from(all.count),
            }
        });
        ranks.fold(Rank::default(), Rank::plus)
    }

    fn rank(&self, request: &JobRequest<'_>, view: &View, site: &Site) -> Rank {
        let rank = match self.aggregated {
            false => Self::flat(request, view, site),
            true => Self::aggregated(request, view, site),
        };
        let (over, under) = self.promotion;
        rank.times(match site.domain == view.route.origin {
            true => over,
            false => under,
        })
    }

    /// The rank of each domain that may have the job; that of the own one is at the
    /// cluster that would get it.
    fn ranked(&self, request: &JobRequest<'_>, view: &View) -> Vec<(usize, Rank)> {
        let mut ranked: Vec<(usize, Rank)> = Vec::with_capacity(view.domains.len());
        if let Some(here) = Self::best_here(request, view) {
            ranked.push((here, self.rank(request, view, &view.domains[0])));
        }
        let peers = view.peers();
        ranked.extend(peers.map(|(index, site)| (index, self.rank(request, view, site))));
        ranked
    }

    /// The own cluster for the job: where it can start at once before where it
    /// cannot, then by rank, then the first.
    fn best_here(request: &JobRequest<'_>, view: &View) -> Option<usize> {
        let wide = u64::from(request.processors);
        let mut best: Option<(usize, (bool, u128))> = None;
        for (index, machine) in view.clusters() {
            let offer = machine.offer(&view.wanted);
            let rank = Rank::of(machine, offer);
            let starts = machine.unclaimed(offer) >= wide;
            let merit = (starts, if starts { rank.free } else { rank.share });
            if best.is_none_or(|(_, known)| merit > known) {
                best = Some((index, merit));
            }
        }
        best.map(|(index, _)| index)
    }
}

impl Policy for BestBrokerRank {
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice {
        if self.local_first {
            let room = room(request, view);
            if !room.is_empty() {
                return Choice::Among(room, self.tie);
            }
        }
        let ranked = self.ranked(request, view);
        let nothing_free = ranked.iter().all(|(_, rank)| rank.free == 0);
        let merit = |rank: &Rank| match nothing_free {
            true => rank.share,
            false => rank.free,
        };
        let best = best(ranked.into_iter(), |a, b| merit(b).cmp(&merit(a)));
        Choice::Among(best, self.tie)
    }

    fn score(&self, request: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        let ranked = self.ranked(request, view);
        let nothing_free = ranked.iter().all(|(_, rank)| rank.free == 0);
        let (_, rank) = ranked.into_iter().find(|(ranked, _)| *ranked == index)?;
        let (_, under) = self.promotion;
        let one = SPEED_ONE as f64 * under as f64;
        Some(match nothing_free {
            false => Score {
                of: "rank of the domain by free processors, the highest",
                value: rank.free as f64 / one,
            },
            true => Score {
                of: "rank of the domain by load (nothing is free), the highest",
                value: rank.share as f64 / 2f64.powi(32) / one,
            },
        })
    }
}
