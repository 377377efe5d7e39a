//! The order of one instant (design 5), which both layers of participants keep.

use super::{Options, Outcome};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::time::SimTime;
use gridrig_core::tournament::Tournament;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

/// When each of many has something to do, [`SimTime::MAX`] for never.
pub(super) type Alarms = Tournament<SimTime>;

/// When participants have something to do by themselves.
pub(super) struct Timers {
    /// Each LRMS: an end of a job, nodes that fail or are repaired, or a pass.
    pub lrms: Alarms,
    /// Each broker: a cycle with something to decide.
    pub cycles: Alarms,
    /// Each domain: its LRMSs are sampled.
    pub samples: Alarms,
}

impl Timers {
    /// All LRMSs are sampled at the start, and none has a job.
    pub fn of(grid: &Grid) -> Self {
        let (never, domains) = (SimTime::MAX, grid.domains.len());
        let start = grid.domains.iter().map(|_| SimTime::ZERO);
        let first = grid.clusters.iter().map(|cluster| {
            let first = cluster.config.node_plan.first();
            first.map_or(never, |planned| planned.at)
        });
        Timers {
            lrms: Alarms::of(first, grid.clusters.len(), never),
            cycles: Alarms::new(domains, never),
            samples: Alarms::of(start, domains, never),
        }
    }
}

/// The participants of a grid with what is under way between them.
pub(super) trait Layer {
    fn timers(&self) -> &Timers;

    /// When something happens next; `None` when nothing about a job ever will.
    fn next_instant(&self) -> Option<SimTime>;

    /// Whether nothing is left to be done.
    fn is_over(&self) -> bool;

    /// Jobs whose end has been seen where they entered.
    fn ended(&self) -> usize;

    /// The clock moves on.
    fn set_now(&mut self, now: SimTime);

    /// Whether a job of this LRMS ends at this instant, or its nodes change.
    fn ends_a_job(&self, lrms: usize, now: SimTime) -> bool;

    /// Jobs of this LRMS end, then nodes are repaired, then others fail.
    fn complete(&mut self, lrms: ClusterId);

    /// What has arrived is handled.
    fn handle_messages(&mut self, now: SimTime);

    /// A broker decides.
    fn decide(&mut self, broker: DomainId);

    /// A scheduling pass of an LRMS.
    fn schedule(&mut self, lrms: ClusterId);

    /// The LRMSs of a domain are sampled.
    fn sample(&mut self, domain: DomainId, now: SimTime);

    /// One instant. Jobs of length 0 that start in it end in a further round.
    fn handle_instant(&mut self, now: SimTime) {
        self.set_now(now);
        loop {
            let mut from = 0;
            while let Some(index) = self.next_completion(from, now) {
                self.complete(ClusterId(index as u16));
                from = index + 1;
            }
            self.handle_messages(now);
            from = 0;
            while let Some(index) = self.timers().cycles.first(from, now) {
                self.decide(DomainId(index as u16));
                from = index + 1;
            }
            from = 0;
            while let Some(index) = self.timers().lrms.first(from, now) {
                self.schedule(ClusterId(index as u16));
                from = index + 1;
            }
            from = 0;
            while let Some(index) = self.timers().samples.first(from, now) {
                self.sample(DomainId(index as u16), now);
                from = index + 1;
            }
            if self.next_completion(0, now).is_none() {
                break;
            }
        }
    }

    /// The first LRMS from this one on where a job ends at this instant, or nodes
    /// change.
    fn next_completion(&self, mut from: usize, now: SimTime) -> Option<usize> {
        while let Some(index) = self.timers().lrms.first(from, now) {
            if self.ends_a_job(index, now) {
                return Some(index);
            }
            from = index + 1;
        }
        None
    }
}

/// Who is told the virtual time and how many jobs have ended, and may break the run off.
pub(super) type Observe<'a> = &'a mut dyn FnMut(SimTime, usize) -> ControlFlow<()>;

/// Instants between two calls of the observer.
const OBSERVE_EVERY: u64 = 1 << 14;

/// Lets one instant after the other happen.
pub(super) fn play(layer: &mut impl Layer, options: &Options<'_>, observe: Observe<'_>) -> Outcome {
    let mut end = SimTime::ZERO;
    let mut instants = 0;
    let mut interrupted = false;
    while !layer.is_over() {
        let Some(next) = layer.next_instant() else {
            break;
        };
        if options.stop_at.is_some_and(|stop| next > stop) {
            break;
        }
        layer.handle_instant(next);
        end = next;
        instants += 1;
        let broken_off = options
            .broken_off
            .is_some_and(|it| it.load(Ordering::Relaxed));
        if broken_off || instants % OBSERVE_EVERY == 0 && observe(next, layer.ended()).is_break() {
            interrupted = true;
            break;
        }
    }
    Outcome {
        end,
        ended: layer.ended(),
        interrupted,
    }
}
