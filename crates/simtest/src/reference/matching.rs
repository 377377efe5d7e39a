//! The search for reservations of the components of a job (JSS 3.2, Algorithms 1 and 2, and
//! docs/coallocation.md). It is gone through from its beginning with the answers so far each
//! time that there is one more, up to the question to which there is none yet.

use super::best::{Best, Found, Held, Question};
use gridrig_core::agent::{ClaimAnswer, ClaimShare};
use gridrig_core::time::{SimDuration, SimTime};
use std::collections::VecDeque;

/// What is sought.
pub(super) struct Wanted {
    /// Of each component the clusters, by position, that could run it, the best one first;
    /// the components that are hardest to place come first.
    pub clusters: Vec<Vec<usize>>,
    pub first: SimTime,
    pub last: SimTime,
    pub deviation: SimDuration,
    pub exact: bool,
}

/// What a search is for.
pub(super) enum Sought {
    /// A reservation for each component.
    Matching(Wanted),
    /// One for all of them.
    Best(Best),
}

/// A search of a broker.
pub(super) struct Searching {
    pub sought: Sought,
    /// The components in the order of the search.
    pub order: Vec<usize>,
    /// For how long they are reserved at each cluster, and how long that is kept without a word.
    pub lengths: Vec<SimDuration>,
    pub timeout: SimDuration,
    /// What was asked, and answered: there is one name more while an answer is to come.
    pub names: Vec<SimTime>,
    pub answers: Vec<ClaimAnswer>,
}

impl Searching {
    /// What is reserved, who lets go, and how the search has ended or what it asks.
    pub fn state(&self) -> (Held, Vec<usize>, Result<Found, Question>) {
        let wanted = match &self.sought {
            Sought::Matching(wanted) => wanted,
            Sought::Best(best) => return best.search(&self.answers),
        };
        let mut matching = Matching::new(wanted, &self.answers);
        let said = matching.search().map(|is_whole| match is_whole {
            true => Found::Reserved,
            false => Found::Nothing,
        });
        (matching.held, matching.let_go, said)
    }

    pub fn share(&self, components: u64) -> ClaimShare {
        let own = self.order.iter().enumerate();
        let own = own.filter(|(at, _)| components >> at & 1 == 1);
        ClaimShare::Components(own.map(|(_, component)| 1 << component).sum())
    }
}

struct Matching<'a> {
    wanted: &'a Wanted,
    answers: &'a [ClaimAnswer],
    used: usize,
    held: Held,
    /// Where each component has its place.
    at: Vec<Option<usize>>,
    window: (SimTime, SimTime),
    /// The earliest start after the window that a refusal has named.
    next: Option<SimTime>,
    /// Clusters that are told to let go since the last answer.
    let_go: Vec<usize>,
}

fn bit(component: usize) -> u64 {
    1 << component
}

impl<'a> Matching<'a> {
    fn new(wanted: &'a Wanted, answers: &'a [ClaimAnswer]) -> Self {
        Matching {
            wanted,
            answers,
            used: 0,
            held: Held::new(),
            at: vec![None; wanted.clusters.len()],
            window: (
                wanted.first,
                wanted.last.min(wanted.first + wanted.deviation),
            ),
            next: None,
            let_go: Vec::new(),
        }
    }

    /// Algorithm 1: whether all components have a reservation.
    fn search(&mut self) -> Result<bool, Question> {
        let wanted = self.wanted;
        if wanted.first > wanted.last {
            return Ok(false);
        }
        loop {
            self.move_into_window()?;
            self.next = None;
            let mut left = Vec::new();
            for component in 0..self.at.len() {
                if self.at[component].is_none() && !self.create(component)? {
                    left.push(component);
                }
            }
            if left.iter().all(|one| self.may_be_augmented(*one)) {
                for component in left {
                    self.augment(component)?;
                }
            }
            if self.is_whole() || wanted.exact && self.try_all()? {
                return Ok(true);
            }
            let Some(next) = self.next.filter(|next| *next <= wanted.last) else {
                break;
            };
            let from = next.as_nanos().saturating_sub(wanted.deviation.as_nanos());
            self.window = (wanted.first.max(SimTime::from_nanos(from)), next);
        }
        self.let_all_go();
        Ok(false)
    }

    fn is_whole(&self) -> bool {
        self.at.iter().all(Option::is_some)
    }

    fn ask(&mut self, at: usize, all: u64, window: (SimTime, SimTime)) -> Result<bool, Question> {
        let answer = self.answers.get(self.used).ok_or((at, all, window))?;
        self.let_go.clear();
        match answer {
            ClaimAnswer::Reserved { .. } => {
                self.held.insert(at, (all, self.used));
            }
            ClaimAnswer::NotBefore(next) if *next > self.window.1 => {
                self.next = Some(self.next.map_or(*next, |before| before.min(*next)));
            }
            _ => {}
        }
        self.used += 1;
        Ok(matches!(answer, ClaimAnswer::Reserved { .. }))
    }

    fn components_at(&self, cluster: usize) -> u64 {
        let held = self.held.get(&cluster);
        held.map_or(0, |(components, _)| *components)
    }

    /// The window in which what is reserved there starts as it does.
    fn as_it_starts(&self, cluster: usize) -> (SimTime, SimTime) {
        let held = self.held.get(&cluster);
        match held.map(|(_, answer)| self.answers[*answer]) {
            Some(ClaimAnswer::Reserved { start, .. }) => (start, start),
            _ => self.window,
        }
    }

    fn let_go_of(&mut self, cluster: usize) {
        for at in self.at.iter_mut().filter(|at| **at == Some(cluster)) {
            *at = None;
        }
        self.held.remove(&cluster);
        self.let_go.push(cluster);
    }

    fn let_all_go(&mut self) {
        while let Some(cluster) = self.held.keys().next().copied() {
            self.let_go_of(cluster);
        }
    }

    /// Steps 6 and 7: what starts too early is moved, and where that cannot be the last of
    /// the components lose their place until it can.
    fn move_into_window(&mut self) -> Result<(), Question> {
        for cluster in self.held.keys().copied().collect::<Vec<_>>() {
            let is_early = self.as_it_starts(cluster).0 < self.window.0;
            let all = self.components_at(cluster);
            let mut left = if is_early { all } else { 0 };
            while left > 0 && !self.ask(cluster, left, self.window)? {
                let last = left.ilog2() as usize;
                left -= bit(last);
                self.at[last] = None;
            }
            if is_early && left == 0 {
                self.let_go_of(cluster);
            }
        }
        Ok(())
    }

    /// Step 9.
    fn create(&mut self, component: usize) -> Result<bool, Question> {
        for &cluster in &self.wanted.clusters[component] {
            let all = self.components_at(cluster) | bit(component);
            if self.ask(cluster, all, self.window)? {
                self.at[component] = Some(cluster);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Step 13: whether others have a place where this one could be.
    fn may_be_augmented(&self, component: usize) -> bool {
        let mut own = self.wanted.clusters[component].iter();
        own.any(|cluster| self.components_at(*cluster) > 0)
    }

    /// The shortest path, by breadth-first search: the component and the cluster that it is to
    /// get, one that is there now and the cluster that that is to get, and so on. It had
    /// best end where nothing is reserved.
    fn path(&self, first: usize) -> Option<Vec<(usize, usize)>> {
        let mut reached = bit(first);
        let mut ways = VecDeque::from([(first, Vec::new())]);
        let mut shared = None;
        while let Some((component, way)) = ways.pop_front() {
            for &cluster in &self.wanted.clusters[component] {
                if self.at[component] == Some(cluster) {
                    continue;
                }
                let there = self.components_at(cluster);
                let mut longer: Vec<(usize, usize)> = way.clone();
                longer.push((component, cluster));
                if component != first && there == 0 {
                    return Some(longer);
                }
                if component != first && way.iter().all(|(_, passed)| *passed != cluster) {
                    shared.get_or_insert_with(|| longer.clone());
                }
                for next in 0..self.at.len() {
                    if there & bit(next) & !reached > 0 {
                        reached |= bit(next);
                        ways.push_back((next, longer.clone()));
                    }
                }
            }
        }
        shared
    }

    /// Algorithm 2: the last one gets a new reservation, and then each is handed on to the one
    /// before, its start unchanged.
    fn augment(&mut self, component: usize) -> Result<(), Question> {
        let mut path = self.path(component).unwrap_or_default();
        let Some((mut moved, cluster)) = path.pop() else {
            return Ok(());
        };
        let all = self.components_at(cluster) | bit(moved);
        if !self.ask(cluster, all, self.window)? {
            return Ok(());
        }
        let mut before = self.at[moved].replace(cluster);
        while let Some((heir, cluster)) = path.pop() {
            let all = self.components_at(cluster) & !bit(moved) | bit(heir);
            if !self.ask(cluster, all, self.as_it_starts(cluster))? {
                break;
            }
            before = self.at[heir].replace(cluster);
            moved = heir;
        }
        // Nobody takes over the first place of the one that has moved last.
        match before {
            Some(cluster) => self.give_back(cluster, moved),
            None => Ok(()),
        }
    }

    /// A cluster lets go of what it has for a component, and of all if it cannot do that.
    fn give_back(&mut self, cluster: usize, component: usize) -> Result<(), Question> {
        let rest = self.components_at(cluster) & !bit(component);
        let start = self.as_it_starts(cluster);
        if self.held.contains_key(&cluster) && (rest == 0 || !self.ask(cluster, rest, start)?) {
            self.let_go_of(cluster);
        }
        Ok(())
    }

    /// Every way to place the components in this window. What a cluster has refused for
    /// some of them it is not asked for more.
    fn try_all(&mut self) -> Result<bool, Question> {
        self.let_all_go();
        self.try_from(0, &mut Vec::new())?;
        Ok(self.is_whole())
    }

    fn try_from(
        &mut self,
        component: usize,
        refused: &mut Vec<(usize, u64)>,
    ) -> Result<bool, Question> {
        let Some(clusters) = self.wanted.clusters.get(component) else {
            return Ok(true);
        };
        for &cluster in clusters {
            let all = self.components_at(cluster) | bit(component);
            let is_vain = |(at, some): &(usize, u64)| *at == cluster && some & !all == 0;
            if refused.iter().any(is_vain) {
                continue;
            }
            if !self.ask(cluster, all, self.window)? {
                refused.push((cluster, all));
                continue;
            }
            self.at[component] = Some(cluster);
            if self.try_from(component + 1, refused)? {
                return Ok(true);
            }
            self.at[component] = None;
            self.give_back(cluster, component)?;
        }
        Ok(false)
    }
}
