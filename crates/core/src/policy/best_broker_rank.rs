//! Best broker rank (LA Grid 4.3.4; Rodero et al., FGCS 2010): the domain
//! whose clusters together suit the job best.
//!
//! rank(domain) = sum over the clusters that can run the job of speed x
//! max(0, free - queued processors); where that is 0 for every domain, sum of
//! speed x processors / (processors + busy + queued). The rank of the domain
//! where the job entered is multiplied by alpha.

use super::domains::{Choice, DomainPolicy, Information, Machine, Offer, Site, Traveller};
use crate::time::Decimal;

/// The domain of the highest rank; there, the cluster of the highest rank.
pub struct BestBrokerRank {
    /// What the ranks are computed from.
    pub information: Information,
    /// alpha.
    pub promotion: Decimal,
    /// Forwards a job may make.
    pub hops: u32,
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
    fn flat(&self, traveller: &Traveller<'_>, site: &Site) -> Rank {
        let wide = u64::from(traveller.job.processors);
        let offers = site
            .machines
            .iter()
            .map(|m| (m, m.offer(&traveller.wanted)));
        offers
            .filter(|(_, offer)| offer.capacity >= wide)
            .map(|(machine, offer)| Rank::of(machine, offer))
            .fold(Rank::default(), Rank::plus)
    }

    fn aggregated(&self, traveller: &Traveller<'_>, site: &Site) -> Rank {
        let matching = site.matching(traveller.wanted, traveller.job.processors);
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

    fn rank(&self, traveller: &Traveller<'_>, site: &Site) -> Rank {
        let rank = match self.information {
            Information::Flat => self.flat(traveller, site),
            Information::Aggregated => self.aggregated(traveller, site),
        };
        let (over, under) = self.promotion.ratio();
        rank.times(match site.domain == traveller.route.origin {
            true => over,
            false => under,
        })
    }

    /// The own cluster for the job: where it can start at once before where it
    /// cannot, then by rank, then the first.
    fn best_here(traveller: &Traveller<'_>, own: &Site) -> Option<usize> {
        let wide = u64::from(traveller.job.processors);
        let mut best: Option<(usize, (bool, u128))> = None;
        for (index, machine) in own.machines.iter().enumerate() {
            let offer = machine.offer(&traveller.wanted);
            if offer.capacity < wide || (traveller.refused_here)(index) {
                continue;
            }
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

impl DomainPolicy for BestBrokerRank {
    fn information(&self) -> Information {
        self.information
    }

    fn choose(&self, traveller: &Traveller<'_>, sites: &[Site]) -> Choice {
        let own = &sites[0];
        let mut ranked: Vec<(usize, Rank)> = Vec::with_capacity(sites.len());
        if let Some(here) = Self::best_here(traveller, own) {
            ranked.push((here, self.rank(traveller, own)));
        }
        if traveller.route.hop < self.hops && !traveller.route.settled {
            for (position, site) in sites.iter().enumerate().skip(1) {
                if (traveller.open)(position, self.information) {
                    let index = own.machines.len() + position - 1;
                    ranked.push((index, self.rank(traveller, site)));
                }
            }
        }
        let most_free = ranked.iter().map(|(_, rank)| rank.free).max();
        let merit = |rank: &Rank| match most_free {
            Some(0) => rank.share,
            _ => rank.free,
        };
        match ranked.iter().map(|(_, rank)| merit(rank)).max() {
            None => Choice::Nobody,
            Some(best) => {
                let best = ranked.iter().filter(|(_, rank)| merit(rank) == best);
                Choice::Tied(best.map(|(index, _)| *index).collect())
            }
        }
    }
}
