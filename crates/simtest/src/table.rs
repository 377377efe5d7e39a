//! Which kinds of faults have met which steps of conversations, and how often.

use crate::services::Ran;
use crate::trail::Step as JobStep;
use gridrig_core::agent::Memory;
use gridrig_core::event::Party;
use gridrig_core::faults::{FaultPlan, Restart};
use gridrig_core::ids::ClusterId;
use gridrig_core::time::SimTime;
use gridrig_drivers::virtual_time::{Meeting, Met, Step};
use std::collections::BTreeMap;
use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Loss,
    Duplication,
    Reordering,
    Delay,
    Outage,
    Silence,
    Partition,
    ClusterOutage,
    NoInformation,
    Journal,
    Forgotten,
    StoodStill,
    NodeFailure,
}

/// The kinds with the heads of their columns.
const KINDS: [(Kind, &str); 13] = [
    (Kind::Loss, "lost"),
    (Kind::Duplication, "twice"),
    (Kind::Reordering, "overtaken"),
    (Kind::Delay, "late"),
    (Kind::Outage, "outage"),
    (Kind::Silence, "silence"),
    (Kind::Partition, "partition"),
    (Kind::ClusterOutage, "cluster"),
    (Kind::NoInformation, "no-info"),
    (Kind::Journal, "journal"),
    (Kind::Forgotten, "forgotten"),
    (Kind::StoodStill, "stopped"),
    (Kind::NodeFailure, "nodes"),
];

/// A step, or the answer to it: yes or no.
type Row = (Step, Option<bool>);

/// The steps with the names of their rows.
const ROWS: [(Row, &str); 42] = [
    ((Step::Submit, None), "submit"),
    ((Step::Submit, Some(true)), "  answer: accepted"),
    ((Step::Submit, Some(false)), "  answer: refused"),
    ((Step::ClientCancel, None), "cancel"),
    ((Step::ClientCancel, Some(true)), "  answer: known"),
    ((Step::ClientCancel, Some(false)), "  answer: unknown"),
    ((Step::ClientSearch, None), "ask for a job"),
    ((Step::ClientSearch, Some(true)), "  answer: here"),
    ((Step::ClientSearch, Some(false)), "  answer: not here"),
    ((Step::AskForEnds, None), "ask for ends"),
    ((Step::Ends, None), "  answer: ends of jobs"),
    ((Step::Dispatch, None), "LRMS: submit"),
    ((Step::Dispatch, Some(true)), "  answer: has come"),
    ((Step::LrmsRefusal, None), "LRMS: refusal"),
    ((Step::LrmsEnd, None), "LRMS: end of job"),
    ((Step::LrmsCancel, None), "LRMS: cancel"),
    ((Step::LrmsSearch, None), "LRMS: ask for a job"),
    ((Step::LrmsSearch, Some(true)), "  answer: here"),
    ((Step::LrmsSearch, Some(false)), "  answer: not here"),
    ((Step::ClaimRequest, None), "LRMS: hold a part"),
    ((Step::ClaimAnswer, None), "LRMS: holds it or not"),
    ((Step::ClaimBegin, None), "LRMS: part begins"),
    ((Step::ClaimRelease, None), "LRMS: release a part"),
    ((Step::LrmsLoad, None), "LRMS: load"),
    ((Step::Forward, None), "peer: forward"),
    ((Step::Forward, Some(true)), "  answer: has come"),
    ((Step::PeerRefusal, None), "peer: refusal"),
    ((Step::PeerEnd, None), "peer: end of job"),
    ((Step::PeerCancel, None), "peer: cancel"),
    ((Step::PeerSearch, None), "peer: ask for a job"),
    ((Step::PeerSearch, Some(true)), "  answer: here"),
    ((Step::PeerSearch, Some(false)), "  answer: not here"),
    ((Step::PeerLoad, None), "peer: load"),
    ((Step::AskForLoad, None), "peer: ask for load"),
    ((Step::Drain, None), "peer: drain"),
    ((Step::LeaseRequest, None), "peer: ask processors"),
    ((Step::LeaseRejection, None), "peer: has none"),
    ((Step::Delegation, None), "peer: delegates them"),
    ((Step::LeaseRelease, None), "peer: releases them"),
    ((Step::Room, None), "peer: has room"),
    ((Step::OpenSession, None), "peer: open session"),
    ((Step::Heartbeat, None), "peer: heartbeat"),
];

/// Why a kind of fault cannot meet a step, if it cannot.
fn why_not(kind: Kind, (step, answer): Row) -> Option<(char, &'static str)> {
    use Kind::{ClusterOutage, Delay, Duplication, NoInformation, NodeFailure, Reordering};
    use Step::{AskForLoad, Ends, Heartbeat, OpenSession};
    use Step::{ClaimAnswer, ClaimBegin, ClaimRelease, ClaimRequest};
    use Step::{Delegation, LeaseRejection, LeaseRelease, LeaseRequest, Room};
    let of_parts = matches!(step, ClaimRequest | ClaimAnswer | ClaimBegin | ClaimRelease);
    let of_lrms = matches!(
        step,
        Step::LrmsSearch
            | Step::LrmsCancel
            | Step::LrmsRefusal
            | Step::LrmsEnd
            | Step::LrmsLoad
            | Step::Dispatch
            | Step::Submit
            | Step::ClientCancel
            | Step::ClientSearch
            | Step::AskForEnds
            | Ends
    );
    let at_once = matches!(step, Ends | OpenSession | Heartbeat | AskForLoad);
    let of_deals = matches!(
        step,
        LeaseRequest | LeaseRejection | Delegation | LeaseRelease | Room
    );
    match kind {
        Kind::Forgotten if of_deals || of_parts => Some((
            'd',
            "who makes deals, or has parts of jobs held, has a journal of them",
        )),
        NodeFailure if of_parts => Some(('n', "parts are held where nodes do not fail")),
        _ if answer.is_some() && kind != Duplication => Some((
            'a',
            "an answer is given at the instant of its request: it is lost, or arrives",
        )),
        NoInformation if !step.is_information() => Some(('i', "only information stops")),
        ClusterOutage | NodeFailure if !of_lrms && !of_parts => {
            Some(('p', "no LRMS has a part in it"))
        }
        Delay | Reordering if at_once => Some((
            's',
            "in virtual time it is asked and answered at one instant",
        )),
        _ => None,
    }
}

/// What plans have come to.
#[derive(Default)]
pub struct Table {
    cells: BTreeMap<(Kind, Row), u64>,
    plans: u64,
    under_way: u64,
}

impl Table {
    /// Counts what has happened in a run under this plan.
    pub fn count(&mut self, plan: &FaultPlan, ran: &Ran) {
        let down = Down::of(ran);
        let works = spans_of_work(ran);
        let works = |at: SimTime| works.iter().any(|(from, until)| *from <= at && at < *until);
        let mut happens = false;
        for meeting in &ran.meetings {
            let answer = meeting.met.answer().map(|answer| answer.is_ok());
            let nodes = answer.is_some() && down.meets(meeting);
            let nodes = nodes.then_some(Kind::NodeFailure);
            for kind in kind_of(plan, meeting).into_iter().chain(nodes) {
                let mut add = |answer| {
                    let row = (meeting.step, answer);
                    *self.cells.entry((kind, row)).or_default() += 1;
                };
                add(None);
                if kind == Kind::Duplication {
                    add(answer);
                }
                happens |= works(meeting.at);
            }
        }
        let mut changes = ran.trails.nodes.iter();
        happens |= changes.any(|(at, _, _, up)| !up && works(*at));
        self.plans += 1;
        self.under_way += u64::from(happens);
    }

    /// Adds another table to this one.
    pub fn add(&mut self, other: &Table) {
        for (cell, times) in &other.cells {
            *self.cells.entry(*cell).or_default() += times;
        }
        self.plans += other.plans;
        self.under_way += other.under_way;
    }

    /// How many plans there were.
    pub fn plans(&self) -> u64 {
        self.plans
    }

    fn times(&self, kind: Kind, row: Row) -> u64 {
        self.cells.get(&(kind, row)).copied().unwrap_or(0)
    }

    /// What is too little: cells that can happen and did less often than this, and a
    /// share of less than two thirds of plans whose faults happen while jobs are under way.
    pub fn too_little(&self, least: u64) -> Vec<String> {
        let cells = ROWS
            .iter()
            .flat_map(|(row, step)| KINDS.map(|kind| (kind, *row, step)));
        let can = cells.filter(|((kind, _), row, _)| why_not(*kind, *row).is_none());
        let mut found: Vec<String> = can
            .map(|((kind, name), row, step)| (name, step.trim(), self.times(kind, row)))
            .filter(|(.., times)| *times < least)
            .map(|(name, step, times)| format!("{step} x {name}: {times} times, expected {least}"))
            .collect();
        if 3 * self.under_way < 2 * self.plans {
            found.push(format!(
                "{} of {} plans have faults while jobs are under way, expected two thirds",
                self.under_way, self.plans
            ));
        }
        found
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:22}", "")?;
        for (_, name) in KINDS {
            write!(f, " {name:>9}")?;
        }
        writeln!(f)?;
        let mut reasons = BTreeMap::new();
        for (row, name) in ROWS {
            write!(f, "{name:22}")?;
            for (kind, _) in KINDS {
                match why_not(kind, row) {
                    Some((mark, why)) => {
                        reasons.insert(mark, why);
                        write!(f, " {mark:>9}")?;
                    }
                    None => write!(f, " {:>9}", self.times(kind, row))?,
                }
            }
            writeln!(f)?;
        }
        for (mark, why) in reasons {
            writeln!(f, "{mark}: cannot happen: {why}")?;
        }
        writeln!(
            f,
            "{} of {} plans have faults while jobs are under way ({} %)",
            self.under_way,
            self.plans,
            100 * self.under_way / self.plans.max(1)
        )
    }
}

/// Which kind of fault of the plan a message has met.
fn kind_of(plan: &FaultPlan, meeting: &Meeting) -> Option<Kind> {
    let Meeting { at, from, to, .. } = *meeting;
    let stopped = |who: Party| {
        let its = |one: &&Restart| Party::Broker(one.broker) == who && one.back >= at;
        let first = plan
            .restarts
            .iter()
            .filter(its)
            .min_by_key(|one| one.back)?;
        Some(match first.anew {
            Some(Memory::Journal) => Kind::Journal,
            Some(Memory::None) => Kind::Forgotten,
            None => Kind::StoodStill,
        })
    };
    match meeting.met {
        Met::Nothing(_) => None,
        Met::Delay => Some(Kind::Delay),
        Met::Detour => Some(Kind::Reordering),
        Met::LostAnswer(_) => Some(Kind::Duplication),
        Met::SenderStopped => stopped(from),
        Met::ReceiverStopped => stopped(to),
        Met::Loss | Met::NoWay => {
            let outage = plan.outage(at, from, to, meeting.step.is_information());
            Some(match outage {
                None => Kind::Loss,
                Some(outage) if outage.information => Kind::NoInformation,
                Some(outage) if outage.towards.is_some() => Kind::Partition,
                Some(outage) if outage.of.cluster().is_some() => Kind::ClusterOutage,
                Some(outage) if outage.silent => Kind::Silence,
                Some(_) => Kind::Outage,
            })
        }
    }
}

/// When jobs had been submitted and had not been seen to end.
fn spans_of_work(ran: &Ran) -> Vec<(SimTime, SimTime)> {
    let span = |steps: &Vec<(SimTime, JobStep)>| {
        let (from, _) = steps.first()?;
        let seen = |(_, step): &&(SimTime, JobStep)| matches!(step, JobStep::Seen(_));
        let until = steps.iter().rfind(seen).map_or(SimTime::MAX, |(at, _)| *at);
        Some((*from, until))
    };
    ran.trails.jobs.iter().filter_map(span).collect()
}

/// How many nodes of each LRMS are down from each instant on.
struct Down(BTreeMap<ClusterId, Vec<(SimTime, usize)>>);

impl Down {
    fn of(ran: &Ran) -> Self {
        let mut down: BTreeMap<_, Vec<(SimTime, usize)>> = BTreeMap::new();
        for (at, cluster, nodes, up) in &ran.trails.nodes {
            let changes = down.entry(*cluster).or_default();
            let before = changes.last().map_or(0, |(_, down)| *down);
            let now = match up {
                true => before.saturating_sub(nodes.len()),
                false => before + nodes.len(),
            };
            changes.push((*at, now));
        }
        Down(down)
    }

    /// Whether nodes of the LRMS are down that sends a message or gets it.
    fn meets(&self, meeting: &Meeting) -> bool {
        let lrms = meeting.from.cluster().or(meeting.to.cluster());
        let changes = lrms.and_then(|lrms| self.0.get(&lrms));
        let before = changes.into_iter().flatten();
        let last = before.take_while(|(at, _)| *at <= meeting.at).last();
        last.is_some_and(|(_, down)| *down > 0)
    }
}
