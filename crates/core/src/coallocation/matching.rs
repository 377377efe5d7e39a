//! What is reserved so far, and the windows that the search goes through (Algorithm 1).

use super::{Answer, Asker, Found, MOST_QUESTIONS, Wanted};
use crate::time::SimTime;
use std::collections::BTreeMap;

pub(super) struct Matching {
    pub wanted: Wanted,
    asker: Asker,
    asked: usize,
    /// The resource of each job that has one.
    pub at: Vec<Option<usize>>,
    /// What is reserved at a resource: the jobs as bits, and the start.
    pub holds: BTreeMap<usize, (u64, SimTime)>,
    /// Starts that will do, of those that are considered now.
    pub window: (SimTime, SimTime),
    /// The earliest start after this window that a refusal has named.
    next: Option<SimTime>,
}

/// A job as a bit.
pub(super) fn bit(job: usize) -> u64 {
    1 << job
}

/// The jobs of these bits, the first one first.
pub(super) fn jobs_of(bits: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |job| bits & bit(*job) != 0)
}

impl Matching {
    pub fn new(wanted: Wanted, asker: Asker) -> Self {
        let first = wanted.earliest + wanted.deviation;
        Matching {
            at: vec![None; wanted.resources.len()],
            holds: BTreeMap::new(),
            window: (wanted.earliest, first.min(wanted.latest)),
            next: None,
            asked: 0,
            asker,
            wanted,
        }
    }

    /// Algorithm 1, but that no start falls after the last one that will do, and that what
    /// can be moved into a new window is moved before anything is created in it: jobs at one
    /// resource have one reservation there.
    pub async fn search(mut self) -> Option<Found> {
        while self.wanted.earliest <= self.wanted.latest {
            self.next = None;
            self.move_into_window().await;
            let mut left = Vec::new();
            for job in 0..self.at.len() {
                if self.at[job].is_none() && !self.create(job).await {
                    left.push(job);
                }
            }
            let may = |job: &usize| self.may_be_augmented(*job);
            let holds_true = |job: &usize| may(job) || self.shortest_path(*job).is_none();
            debug_assert!(left.iter().all(holds_true), "step 13 has a false negative");
            if left.iter().all(may) {
                for job in left {
                    self.augment(job).await;
                }
            }
            let is_whole = self.is_whole() || self.wanted.exact && self.match_exactly().await;
            if is_whole {
                let of = |resource: &Option<usize>| resource.map(|it| (it, self.holds[&it].1));
                return self.at.iter().map(of).collect();
            }
            let next = self.next.filter(|next| *next <= self.wanted.latest);
            let Some(next) = next.filter(|_| !self.is_over()) else {
                break;
            };
            let since = next.since(SimTime::ZERO).as_nanos();
            let from = since.saturating_sub(self.wanted.deviation.as_nanos());
            self.window = (SimTime::from_nanos(from).max(self.wanted.earliest), next);
        }
        self.let_go().await;
        None
    }

    pub fn is_whole(&self) -> bool {
        self.at.iter().all(Option::is_some)
    }

    /// Asks a resource for one reservation for these jobs in a window.
    pub async fn ask(&mut self, resource: usize, jobs: u64, window: (SimTime, SimTime)) -> bool {
        self.asked += 1;
        match self.asker.ask(resource, jobs, window).await {
            _ if jobs == 0 => {
                self.holds.remove(&resource);
                true
            }
            Answer::Granted(start) => {
                self.holds.insert(resource, (jobs, start));
                true
            }
            Answer::Refused(next) => {
                // One that is not after this window would lead nowhere.
                let next = next.filter(|next| *next > self.window.1);
                self.next = self.next.into_iter().chain(next).min();
                false
            }
        }
    }

    pub fn held(&self, resource: usize) -> u64 {
        self.holds.get(&resource).map_or(0, |(jobs, _)| *jobs)
    }

    /// Reservations that start too early are moved into the window. Where that cannot be,
    /// the last jobs lose theirs until it can.
    async fn move_into_window(&mut self) {
        let from = self.window.0;
        let early = self.holds.iter().filter(|(_, (_, start))| *start < from);
        let early: Vec<(usize, u64)> = early.map(|(at, (jobs, _))| (*at, *jobs)).collect();
        let next = self.next;
        for (resource, mut left) in early {
            while left != 0 && !self.ask(resource, left, self.window).await {
                let last = 63 - left.leading_zeros() as usize;
                left &= !bit(last);
                self.at[last] = None;
            }
            if left == 0 {
                self.ask(resource, 0, self.window).await;
            }
        }
        // When these could be is asked again when they are created.
        self.next = next;
    }

    /// A job gets a new reservation, at the best resource that grants one.
    async fn create(&mut self, job: usize) -> bool {
        for index in 0..self.wanted.resources[job].len() {
            let resource = self.wanted.resources[job][index];
            let jobs = self.held(resource) | bit(job);
            if self.ask(resource, jobs, self.window).await {
                self.at[job] = Some(resource);
                return true;
            }
        }
        false
    }

    /// A resource lets go of what it has reserved for a job that has another reservation, or
    /// needs none.
    pub async fn give_back(&mut self, resource: usize, job: usize) {
        let Some((jobs, start)) = self.holds.get(&resource).copied() else {
            return;
        };
        let rest = jobs & !bit(job);
        if rest == 0 || !self.ask(resource, rest, (start, start)).await {
            for lost in jobs_of(rest) {
                self.at[lost] = None;
            }
            self.ask(resource, 0, (start, start)).await;
        }
    }

    pub async fn let_go(&mut self) {
        while let Some((resource, (_, start))) = self.holds.pop_first() {
            self.ask(resource, 0, (start, start)).await;
        }
        self.at.fill(None);
    }

    pub fn is_over(&self) -> bool {
        self.asked >= MOST_QUESTIONS
    }
}
