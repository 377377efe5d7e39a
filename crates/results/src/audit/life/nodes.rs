//! Nodes that fail, and the jobs that wait again for that.

use super::super::place::{Life, Place};
use super::super::{Rule, Violation};
use super::Auditor;
use gridrig_core::cluster::{OnNodeFailure, run_time_on};
use gridrig_core::event::{Event, EventKind, Party};
use gridrig_core::time::{SimDuration, SimTime};

impl<'a> Auditor<'a> {
    pub(super) fn change_nodes(&mut self, at: SimTime, event: Event<'a>) {
        let up = match event.kind {
            EventKind::NodeFailed => false,
            EventKind::NodeRepaired => true,
            _ => return,
        };
        if let Some((then, lrms)) = self.failed.filter(|(_, lrms)| *lrms != event.by) {
            self.look_at_failed(then, lrms);
        }
        self.failed = (!up).then_some((at, event.by)).or(self.failed);
        let changed = self.occupancy(event.by);
        let faults = changed.map(|nodes| nodes.change(event.placement, up));
        for fault in faults.into_iter().flatten() {
            let message = format!("{}: {fault}", self.names.party(event.by));
            let finding = Violation::new(Rule::NodesUp, None, Some(at), message);
            self.findings.push(finding);
        }
    }

    /// The instant is over at which nodes have failed.
    pub(super) fn look_at_failed(&mut self, then: SimTime, lrms: Party) {
        self.failed = None;
        let occupancy = self.occupancy(lrms);
        if let Some(used) = occupancy.and_then(|nodes| nodes.in_use_though_down()) {
            let message = format!("{}: {used}", self.names.party(lrms));
            let finding = Violation::new(Rule::NodesUp, None, Some(then), message);
            self.findings.push(finding);
        }
    }

    /// A job that ran waits again; so much of that run counts as done.
    pub(super) fn requeued(&mut self, life: &mut Life<'a>, lrms: Party, done: SimTime) {
        if life.place != Place::Running(lrms) {
            let lrms = self.names.party(lrms);
            return self.find_misplaced(life, &format!("is requeued at {lrms}"));
        }
        let placement = life.placement;
        let occupancy = self.occupancy(lrms);
        if occupancy.is_some_and(|nodes| !nodes.has_failed(placement)) {
            let message = "it is requeued, though no node that it ran on is down";
            self.find_about(Rule::Requeued, life, message);
        }
        let policy = self.cluster(lrms).map(|it| it.config.on_node_failure);
        let done = SimDuration::from_nanos(done.as_nanos());
        let ran = life.last.since(life.start);
        let lasts = |more: u64| {
            let length = SimDuration::from_nanos(done.as_nanos().saturating_add(more));
            let on = self.cluster(lrms).map(|it| &it.config.resources);
            on.map_or(length, |nodes| run_time_on(nodes, placement, length))
        };
        // What was done takes as long as the job has run, but for rounding.
        let fits = match policy {
            Some(OnNodeFailure::Resume) => (lasts(0)..=lasts(1)).contains(&ran),
            _ => done.is_zero(),
        };
        if !fits {
            let message = format!("{done} of its run time counts as done after it ran for {ran}");
            self.find_about(Rule::Requeued, life, message);
        }
        if policy == Some(OnNodeFailure::Fail) {
            let message = "it is requeued, expected it lost, as its cluster says";
            self.find_about(Rule::Requeued, life, message);
        }
        if let Some(occupancy) = self.occupancy(lrms) {
            occupancy.give_back(&life.job.spec, placement);
        }
        life.done = life.done + done;
        life.placement = &[];
        life.promised = SimTime::MAX;
        life.place = Place::Queued(lrms);
    }
}
