//! A matching in one window wherever there is one: what the paper's algorithm may miss.

use super::matching::{Matching, bit};

impl Matching {
    /// Lets go of everything and tries, job by job, all resources, going back where one
    /// finds none. What a resource has refused for some jobs it is not asked for more.
    pub async fn match_exactly(&mut self) -> bool {
        self.let_go().await;
        let mut refused: Vec<(usize, u64)> = Vec::new();
        let mut tried = vec![0; self.at.len()];
        let mut job = 0;
        while job < self.at.len() {
            let placed = loop {
                let next = self.wanted.resources[job].get(tried[job]).copied();
                let Some(resource) = next.filter(|_| !self.is_over()) else {
                    break false;
                };
                tried[job] += 1;
                let jobs = self.held(resource) | bit(job);
                let fewer = |(at, some): &(usize, u64)| *at == resource && some & !jobs == 0;
                if refused.iter().any(fewer) {
                    continue;
                }
                if self.ask(resource, jobs, self.window).await {
                    self.at[job] = Some(resource);
                    break true;
                }
                refused.push((resource, jobs));
            };
            if placed {
                job += 1;
                continue;
            }
            tried[job] = 0;
            let Some(last) = job.checked_sub(1) else {
                return false;
            };
            if let Some(resource) = self.at[last].take() {
                self.give_back(resource, last).await;
            }
            job = last;
        }
        self.is_whole()
    }
}
