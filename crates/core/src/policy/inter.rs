//! Inter_RR and Inter_RM (LA Grid 4.3.4): a job stays where there is room for
//! it, else it goes on to another broker, at most TTL times; then it goes back
//! to where it entered and is decided again after a while.

use super::view::best;
use super::{
    BrokerSettings, Choice, InformationNeed, Machine, Parameter, Policy, PolicyEntry, Tie, View,
};
use crate::decision::Score;
use crate::job::{JobRequest, Reason};

pub(super) const IN_TURN: PolicyEntry = PolicyEntry::new(
    "inter-rr",
    "here if there is room, else to the peers in turn",
    PARAMETERS,
    InformationNeed::Clusters,
    |settings| inter(settings, Choice::InTurn),
);

pub(super) const AT_RANDOM: PolicyEntry = PolicyEntry {
    draws: true,
    ..PolicyEntry::new(
        "inter-random",
        "here if there is room, else to any peer",
        PARAMETERS,
        InformationNeed::Clusters,
        |settings| inter(settings, |peers| Choice::Among(peers, Tie::Random)),
    )
};

const PARAMETERS: &[Parameter] = &[
    BrokerSettings::TTL,
    BrokerSettings::TTL_END,
    BrokerSettings::RESCHEDULE_INTERVAL,
    REVISIT,
    Tie::PARAMETER,
];

/// Whether a job may go back to where it has just been and to where it entered.
const REVISIT: Parameter = Parameter::flag("revisit", |_| "true".to_owned());

fn inter(settings: &BrokerSettings, onward: fn(Vec<usize>) -> Choice) -> Box<dyn Policy> {
    Box::new(Inter {
        onward,
        revisit: REVISIT.of(settings) == "true",
        tie: Tie::of(settings),
    })
}

/// Room here, or the next broker.
struct Inter {
    /// How the next one is found among these.
    onward: fn(Vec<usize>) -> Choice,
    revisit: bool,
    tie: Tie,
}

/// Own clusters where the job could start now, by the view: those with the most
/// processors for it.
pub(super) fn room(request: &JobRequest<'_>, view: &View) -> Vec<usize> {
    let clusters = view.clusters();
    let startable = clusters.map(|(index, machine)| (index, machine.startable(&view.wanted)));
    let enough = startable.filter(|(_, number)| *number >= u64::from(request.processors));
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
            let entered_here = route.from.is_none();
            // Unless it may go there again, neither where it has just been nor, on
            // the way, where it entered.
            let any = self.revisit || entered_here;
            let new = view.peers().filter(|(_, site)| {
                any || (Some(site.domain) != route.from && site.domain != route.origin)
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

    fn score(&self, _: &JobRequest<'_>, view: &View, index: usize) -> Option<Score> {
        let mut own = view.clusters();
        let (_, machine) = own.find(|(own, _)| *own == index)?;
        Some(Score {
            of: "processors of an own cluster on which it could start now, the most",
            value: machine.startable(&view.wanted) as f64,
        })
    }
}
