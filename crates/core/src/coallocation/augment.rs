//! Augmenting paths (JSS 3.2.3, Algorithm 2): a job that finds no resource takes over what is
//! reserved for another one, which goes elsewhere.

use super::matching::{Matching, bit, jobs_of};
use std::collections::{BTreeMap, VecDeque};

/// A job, and the resource that it is to get.
type Path = Vec<(usize, usize)>;

impl Matching {
    /// Step 13: whether another job has a reservation at a resource that could run this one.
    /// If none has there is no path.
    pub fn may_be_augmented(&self, job: usize) -> bool {
        let mut own = self.wanted.resources[job].iter();
        own.any(|resource| self.held(*resource) & !bit(job) != 0)
    }

    /// Steps 15 to 18. If it fails no other job loses what it has.
    pub async fn augment(&mut self, job: usize) {
        let Some(path) = self.shortest_path(job) else {
            return;
        };
        let mut later = path.into_iter().rev();
        let Some((mut moved, last)) = later.next() else {
            return;
        };
        let jobs = self.held(last) | bit(moved);
        if !self.ask(last, jobs, self.window).await {
            return;
        }
        let mut from = self.at[moved].replace(last);
        for (heir, resource) in later {
            let Some((jobs, start)) = self.holds.get(&resource).copied() else {
                break;
            };
            let jobs = jobs & !bit(moved) | bit(heir);
            if !self.ask(resource, jobs, (start, start)).await {
                break;
            }
            (moved, from) = (heir, self.at[heir].replace(resource));
        }
        // Nobody is left to take over what the one had that has moved last.
        if let Some(from) = from {
            self.give_back(from, moved).await;
        }
    }

    /// From a job over resources and the jobs that have reservations there to a resource at
    /// which nothing is reserved, by breadth-first search; else, since a resource may have
    /// room for several jobs, to the first one that the last job has not got.
    pub fn shortest_path(&self, first: usize) -> Option<Path> {
        // For each job that was reached the one before, and whose resource that wants.
        let mut before: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut queue = VecDeque::from([first]);
        let mut shared = None;
        while let Some(job) = queue.pop_front() {
            let own = self.wanted.resources[job].iter().copied();
            for resource in own.filter(|resource| self.at[job] != Some(*resource)) {
                let holders = self.held(resource);
                if job != first && holders == 0 {
                    return Some(path_to(&before, job, resource));
                }
                if job != first && shared.is_none() {
                    let path = path_to(&before, job, resource);
                    let mut ways = path.iter().rev().skip(1);
                    shared = ways.all(|(_, way)| *way != resource).then_some(path);
                }
                for holder in jobs_of(holders & !bit(first)) {
                    before.entry(holder).or_insert_with(|| {
                        queue.push_back(holder);
                        (job, resource)
                    });
                }
            }
        }
        shared
    }
}

/// The path on which a job was reached that is to get this resource.
fn path_to(before: &BTreeMap<usize, (usize, usize)>, job: usize, resource: usize) -> Path {
    let mut path = vec![(job, resource)];
    let mut last = job;
    while let Some(step) = before.get(&last) {
        path.push(*step);
        last = step.0;
    }
    path.reverse();
    path
}
