//! Inter_RR and Inter_RM (LA Grid 4.3.4): a job stays where there is room for
//! it, else it goes on to another broker, at most TTL times; then it goes back
//! to where it entered and waits there.

use super::view::best;
use super::{BrokerSettings, Choice, InformationNeed, Machine, Policy, PolicyEntry, Tie, View};
use crate::job::{JobRequest, Reason};

pub(super) const IN_TURN: PolicyEntry = PolicyEntry::new(
    "inter-rr",
    "here if there is room, else to the peers in turn",
    &[BrokerSettings::TTL, Tie::PARAMETER],
    InformationNeed::Clusters,
    |settings| inter(settings, Choice::InTurn),
);

pub(super) const AT_RANDOM: PolicyEntry = PolicyEntry::new(
    "inter-random",
    "here if there is room, else to any peer",
    &[BrokerSettings::TTL, Tie::PARAMETER],
    InformationNeed::Clusters,
    |settings| inter(settings, |peers| Choice::Among(peers, Tie::Random)),
);

fn inter(settings: &BrokerSettings, onward: fn(Vec<usize>) -> Choice) -> Box<dyn Policy> {
    let tie = Tie::of(settings);
    Box::new(Inter { onward, tie })
}

/// Room here, or the next broker.
struct Inter {
    /// How the next one is found among these.
    onward: fn(Vec<usize>) -> Choice,
    tie: Tie,
}

/// Own clusters that have the wanted processors free: the most free ones.
fn room(request: &JobRequest<'_>, view: &View) -> Vec<usize> {
    let free = |machine: &Machine| machine.free(machine.offer(&view.wanted));
    let free = view.clusters().map(|(index, m)| (index, free(m)));
    let enough = free.filter(|(_, free)| *free >= u64::from(request.processors));
    best(enough, |a, b| b.cmp(a))
}

/// Where it waits: here; if it cannot run here at all, at the peer with the
/// shortest queue.
fn settle(request: &JobRequest<'_>, view: &View) -> Vec<usize> {
    let here = view.clusters();
    let here = best(here.map(|(index, m)| (index, m.queued)), u64::cmp);
    if !here.is_empty() {
        return here;
    }
    let wide = u64::from(request.processors);
    let able = |machine: &&Machine| machine.offer(&view.wanted).capacity >= wide;
    let shortest = view.peers().filter_map(|(index, site)| {
        let queues = site.machines.iter().filter(able);
        Some((index, queues.map(|machine| machine.queued).min()?))
    });
    best(shortest, u64::cmp)
}

impl Policy for Inter {
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice {
        let route = &view.route;
        if !route.settled {
            let room = room(request, view);
            if !room.is_empty() {
                return Choice::Among(room, self.tie);
            }
            // Neither where it has just been nor, on the way, where it entered.
            let entered_here = route.from.is_none();
            let new = view.peers().filter(|(_, site)| {
                entered_here || (Some(site.domain) != route.from && site.domain != route.origin)
            });
            let peers: Vec<usize> = new.map(|(index, _)| index).collect();
            if !peers.is_empty() {
                return (self.onward)(peers);
            }
            if !entered_here {
                return Choice::Reject(Reason::HopsExhausted);
            }
        }
        Choice::Among(settle(request, view), self.tie)
    }
}
