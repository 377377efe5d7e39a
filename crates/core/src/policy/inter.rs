//! Inter_RR and Inter_RM (LA Grid 4.3.4): a job stays where there is room for
//! it, else it goes on to another broker, at most TTL times; then it goes back
//! to where it entered and waits there.

use super::domains::{Choice, DomainPolicy, Information, Site, Traveller};

/// Room here, or the next broker.
pub struct Inter {
    /// How the next one is found.
    pub peers: Peers,
    /// Forwards a job may make before it goes back.
    pub ttl: u32,
}

/// How the next broker is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Each in turn.
    InTurn,
    /// Any.
    AtRandom,
}

impl Inter {
    /// Own clusters that have the wanted processors free: the most free ones.
    fn room(traveller: &Traveller<'_>, own: &Site) -> Vec<usize> {
        let wide = u64::from(traveller.job.processors);
        let mut most = wide;
        let mut found = Vec::new();
        for (index, machine) in own.machines.iter().enumerate() {
            let offer = machine.offer(&traveller.wanted);
            let free = machine.free(offer);
            if free < most || (traveller.refused_here)(index) {
                continue;
            }
            if free > most {
                found.clear();
                most = free;
            }
            found.push(index);
        }
        found
    }

    /// The fewest processors that queued jobs want, among the clusters of a
    /// site that can run the job.
    fn shortest(
        traveller: &Traveller<'_>,
        site: &Site,
        refused: impl Fn(usize) -> bool,
    ) -> Option<(u64, Vec<usize>)> {
        let wide = u64::from(traveller.job.processors);
        let mut best: Option<(u64, Vec<usize>)> = None;
        for (index, machine) in site.machines.iter().enumerate() {
            if machine.offer(&traveller.wanted).capacity < wide || refused(index) {
                continue;
            }
            match &mut best {
                Some((queued, _)) if machine.queued > *queued => {}
                Some((queued, all)) if machine.queued == *queued => all.push(index),
                _ => best = Some((machine.queued, vec![index])),
            }
        }
        best
    }

    /// Where it waits: here; if it cannot run here at all, at the peer with
    /// the shortest queue.
    fn settle(traveller: &Traveller<'_>, sites: &[Site], open: &[usize]) -> Choice {
        let own = &sites[0];
        if let Some((_, here)) = Self::shortest(traveller, own, traveller.refused_here) {
            return Choice::Tied(here);
        }
        let mut best: Option<(u64, Vec<usize>)> = None;
        for &index in open {
            let site = &sites[index - own.machines.len() + 1];
            let Some((queued, _)) = Self::shortest(traveller, site, |_| false) else {
                continue;
            };
            match &mut best {
                Some((least, _)) if queued > *least => {}
                Some((least, all)) if queued == *least => all.push(index),
                _ => best = Some((queued, vec![index])),
            }
        }
        best.map_or(Choice::Nobody, |(_, peers)| Choice::Tied(peers))
    }
}

impl DomainPolicy for Inter {
    fn information(&self) -> Information {
        Information::Flat
    }

    fn choose(&self, traveller: &Traveller<'_>, sites: &[Site]) -> Choice {
        let own = sites[0].machines.len();
        let entered_here = traveller.route.from.is_none();
        let open = || -> Vec<usize> {
            let peers = sites.iter().enumerate().skip(1);
            let others = peers.filter(|(position, site)| {
                let been = Some(site.domain) == traveller.route.from
                    || (!entered_here && site.domain == traveller.route.origin);
                !been && (traveller.open)(*position, Information::Flat)
            });
            others.map(|(position, _)| own + position - 1).collect()
        };
        if traveller.route.settled {
            let peers = if entered_here { open() } else { Vec::new() };
            return Self::settle(traveller, sites, &peers);
        }
        let room = Self::room(traveller, &sites[0]);
        if !room.is_empty() {
            return Choice::Tied(room);
        }
        let peers = match traveller.route.hop < self.ttl {
            true => open(),
            false => Vec::new(),
        };
        match (peers.is_empty(), self.peers) {
            (false, Peers::InTurn) => Choice::InTurn(peers),
            (false, Peers::AtRandom) => Choice::AtRandom(peers),
            (true, _) if entered_here => Self::settle(traveller, sites, &[]),
            (true, _) => Choice::Return,
        }
    }
}
