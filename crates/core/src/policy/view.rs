//! What a policy sees: plain data, so that it may as well be another program's.

use super::domains::{Machine, Site, Wanted};
use crate::load::{Fraction, FreeSpace};
use crate::message::Route;
use crate::time::SimDuration;
use std::cmp::Ordering;
use std::sync::Arc;

/// Those of all that are best by what is told of each: `Less` is better, `Equal`
/// a tie.
pub(super) fn best<T>(
    all: impl Iterator<Item = (usize, T)>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<usize> {
    let mut found = Vec::with_capacity(all.size_hint().1.unwrap_or(0));
    let mut best: Option<T> = None;
    for (index, told) in all {
        let order = best
            .as_ref()
            .map_or(Ordering::Less, |best| compare(&told, best));
        if order.is_lt() {
            found.clear();
            best = Some(told);
        }
        if order.is_le() {
            found.push(index);
        }
    }
    found
}

/// What a broker knows when it decides about a job: the last information it has
/// received, less what it has sent since if it keeps count of that. Which of the
/// lists are filled, the [need](super::InformationNeed) of the policy says.
///
/// Candidates go by position: own clusters in file order, then providing peers
/// in link order.
#[derive(Clone, Debug)]
pub struct View {
    /// So many candidates are own clusters.
    pub own: usize,
    /// Who may have the job, in candidate order: could run it or knows who
    /// could within the forwards left, takes jobs, and has not refused it.
    pub possible: Vec<usize>,
    /// Every candidate in sums.
    pub candidates: Vec<Candidate>,
    /// What nobody is told about every candidate.
    pub truth: Vec<Truth>,
    /// The own domain and those of the peers, cluster by cluster.
    pub domains: Vec<Site>,
    /// What the job wants of nodes, in the numbers of `domains`; nothing in
    /// particular where its components want different things.
    pub wanted: Wanted,
    /// How long the job is on its way to each candidate, with its data; for policies that
    /// predict.
    pub stage_in: Vec<SimDuration>,
    /// The way that the job has come.
    pub route: Route,
}

impl View {
    /// The best of the possible candidates, by what `all` has about each.
    pub fn best<T>(&self, all: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Vec<usize> {
        let told = self.possible.iter().map(|&index| (index, &all[index]));
        best(told, |a, b| compare(a, b))
    }

    /// The own clusters that may have the job.
    pub fn clusters(&self) -> impl Iterator<Item = (usize, &Machine)> {
        let own = self.possible.iter().take_while(|index| **index < self.own);
        own.map(|&index| (index, &self.domains[0].machines[index]))
    }

    /// The domains of the peers that may have it.
    pub fn peers(&self) -> impl Iterator<Item = (usize, &Site)> {
        let peers = self.possible.iter().filter(|index| **index >= self.own);
        peers.map(|&index| (index, &self.domains[index - self.own + 1]))
    }
}

/// A candidate in sums.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// All its processors, at least 1.
    pub processors: u128,
    /// Queued jobs (a peer: summed over its clusters), in the order of
    /// [`Window::ALL`](crate::load::Window::ALL).
    pub queued: [Fraction; 3],
    /// Busy processors over all processors, likewise.
    pub utilization: [Fraction; 3],
    /// Free processors this instant (a peer: the most that one of its
    /// clusters has).
    pub free: i64,
    /// Free memory, disk and generic resources (a peer: of its clusters
    /// together), what it has been sent since not counted.
    pub space: Arc<FreeSpace>,
}

/// What is true of a candidate, with all that is on its way there.
#[derive(Clone, Copy, Debug)]
pub struct Truth {
    /// Free processors that no queued job is waiting for (a peer: the most that
    /// one of its clusters has).
    pub free_beyond_queue: i64,
    /// Processor-nanoseconds left to do per processor.
    pub work_per_processor: Fraction,
}
