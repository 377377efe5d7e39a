//! The reference of brokers that reserve for the components of a job (docs/coallocation.md,
//! "By reservations").

use super::domains::Chosen;
use super::together::{Part, Placed};
use super::{Decision, RefBroker};
use crate::reference::best::{Found, Held, Question};
use crate::reference::matching::{Searching, Sought, Wanted};
use gridrig_core::agent::{Asked, ClaimAnswer, ClaimStep};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Component, JobSpec, Reason};
use gridrig_core::message::Target;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Whether components have room at once where so much is left: every way is tried.
fn have_room(components: &[&Component], left: &[(ClusterId, i128)]) -> bool {
    let Some((one, others)) = components.split_first() else {
        return true;
    };
    (0..left.len()).any(|at| {
        let mut left = left.to_vec();
        left[at].1 -= i128::from(one.processors);
        left[at].1 >= 0 && one.may_be_at(left[at].0) && have_room(others, &left)
    })
}

impl RefBroker<'_> {
    pub(super) fn is_searching(&self, index: usize) -> bool {
        self.search(index).is_some()
    }

    /// Whether a job that was searched for waits.
    pub(in crate::reference) fn waits_again(&self, job: JobId) -> bool {
        let mut visits = self.visits.iter().filter(|visit| visit.spec.id == job);
        visits.any(|it| it.sent_to.is_none() && it.together.since.is_some())
    }

    fn search(&self, index: usize) -> Option<&Searching> {
        let placed = self.visits[index].together.placed.as_ref();
        placed?.search.as_deref()
    }

    fn search_mut(&mut self, index: usize) -> Option<&mut Searching> {
        let placed = self.visits[index].together.placed.as_mut();
        placed?.search.as_deref_mut()
    }

    pub(super) fn own_clusters(&self) -> &[ClusterId] {
        &self.grid.domains[self.domain.index()].clusters
    }

    pub(super) fn time(&self, name: &str, default: &str) -> SimDuration {
        let text = self.parameter(name).unwrap_or(default);
        SimDuration::parse(text).unwrap_or_default()
    }

    /// A job is tried: a search begins.
    pub(super) fn search_for(&mut self, now: SimTime, index: usize) -> Vec<Decision> {
        let job = self.visits[index].spec.clone();
        let window = job.start_window.as_deref();
        let all = self.may_take(true);
        let components: Vec<&Component> = job.components.iter().collect();
        let fits = have_room(&components, &all);
        let lost = match window.is_some_and(|window| window.latest < now) {
            true => Some(Reason::NotReserved),
            false if fits => None,
            false if self.is_tried_enough(index) => Some(Reason::TriesExhausted),
            false => Some(Reason::NoCandidate),
        };
        if let Some(reason) = lost {
            self.visits.remove(index);
            return vec![Decision::Reject(job.id, reason)];
        }
        let search = self.searching(now, index, &job);
        self.begin_search(now, index, search)
    }

    pub(super) fn begin_search(
        &mut self,
        now: SimTime,
        index: usize,
        search: Searching,
    ) -> Vec<Decision> {
        let first = self.own_clusters()[0];
        let visit = &mut self.visits[index];
        visit.together.since.get_or_insert(now);
        visit.sent_to = Some(Target::Cluster(first));
        visit.together.placed = Some(Placed {
            asked: Asked {
                job: visit.spec.id,
                at: now,
            },
            parts: Vec::new(),
            components: search.order.len(),
            answers: Vec::new(),
            run: None,
            search: Some(Box::new(search)),
        });
        self.go_on(now, index)
    }

    fn searching(&self, now: SimTime, index: usize, job: &JobSpec) -> Searching {
        let components: Vec<_> = job.components.iter().collect();
        let mut order: Vec<usize> = (0..components.len()).collect();
        order.sort_by_key(|at| {
            let one = components[*at];
            Reverse((one.processors, one.requirements.memory_kib))
        });
        let idle = self.may_take(false);
        let mut ranked: Vec<usize> = (0..idle.len()).collect();
        ranked.sort_by_key(|at| Reverse(idle[*at].1));
        let clusters = order.iter().map(|component| {
            let named = components[*component].cluster;
            let may = |at: &usize| named.is_none_or(|named| named == idle[*at].0);
            ranked.iter().copied().filter(may).collect()
        });
        let deviation = self.time("deviation", "60s");
        // As if all that is read came to one cluster.
        let mib = job.inputs.iter().map(|input| input.data_mib).sum();
        let before = self.bringing(mib) + self.startup(order.len()) + self.time("notice", "10s");
        let (first, last) = self.window(now, index, self.soonest(now, index, before));
        let sought = Sought::Matching(Wanted {
            clusters: clusters.collect(),
            first,
            last,
            deviation,
            exact: self.parameter("search") == Some("exact"),
        });
        let most = components.len().min(self.own_clusters().len());
        let length = self.longest(job, most, self.own_clusters()) + deviation;
        Searching {
            sought,
            lengths: vec![length; self.own_clusters().len()],
            timeout: self.settings.co_allocation.claim_timeout + self.further_ahead(index),
            order,
            names: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// How much longer than usual a search may take.
    pub(super) fn further_ahead(&self, index: usize) -> SimDuration {
        let timeout = self.settings.co_allocation.claim_timeout;
        self.ahead(index, timeout.as_nanos() * 4)
    }

    /// When a job may start that needs so long before, the messages come beside.
    pub(super) fn soonest(&self, now: SimTime, index: usize, before: SimDuration) -> SimTime {
        now + before + self.settings.lrms_latency + self.further_ahead(index)
    }

    /// The first and the last start that a job may have which could start then.
    pub(super) fn window(
        &self,
        now: SimTime,
        index: usize,
        soonest: SimTime,
    ) -> (SimTime, SimTime) {
        let visit = &self.visits[index];
        if let Some(window) = visit.spec.start_window.as_deref() {
            return (window.earliest.max(soonest), window.latest);
        }
        let end = soonest + self.time("within", "86400s");
        // Counted from the first try.
        let searched = now.since(visit.together.since.unwrap_or(now));
        let last = end.as_nanos().saturating_sub(searched.as_nanos());
        (soonest, SimTime::from_nanos(last))
    }

    /// As long as a job may take, on up to so many of these clusters and on the slowest.
    pub(super) fn longest(&self, job: &JobSpec, most: usize, of: &[ClusterId]) -> SimDuration {
        let program = (job.executable, job.processors());
        let costs = &self.settings.co_allocation;
        let lengths = (1..=most).map(|count| costs.length(program, job.run_time, count));
        let longest = lengths.max().max(job.requested_time).unwrap_or_default();
        let groups = of.iter().flat_map(|id| {
            let config = &self.grid.clusters[id.index()].config;
            config.resources.groups()
        });
        let slowest = groups.map(|group| group.speed).min();
        let slowest = slowest.unwrap_or(Decimal::ONE);
        SimDuration::from_nanos(slowest.divide(longest.as_nanos()).max(1_000_000))
    }

    /// The search goes on to the next question or to its end.
    fn go_on(&mut self, now: SimTime, index: usize) -> Vec<Decision> {
        let Some((held, let_go, said)) = self.search(index).map(Searching::state) else {
            return Vec::new();
        };
        let arrives = now + self.settings.lrms_latency;
        let mut decisions = self.say_release(index, let_go);
        decisions.extend(match said {
            Ok(Found::Reserved) => self.confirm(now, index, &held),
            Ok(Found::Elsewhere(view, starts)) => {
                self.visits[index].together.placed = None;
                vec![self.send(now, index, view, starts)]
            }
            Ok(Found::Nothing) => vec![self.turn_away(index, &Chosen::TooLate)],
            // What is kept is better than all that could be asked for in time.
            Err((.., window)) if window.1 <= arrives && self.keeps_one() && !held.is_empty() => {
                if let Some(search) = self.search_mut(index) {
                    search.names.push(SimTime::ZERO);
                    search.answers.push(ClaimAnswer::NotBefore(window.1));
                }
                self.go_on(now, index)
            }
            // It would be over before anybody heard of it.
            Err((.., window)) if window.1 <= arrives => self.put_back(index),
            Err(question) => self
                .ask_next(index, arrives, question)
                .into_iter()
                .collect(),
        });
        decisions
    }

    /// The next cluster is asked.
    fn ask_next(
        &mut self,
        index: usize,
        arrives: SimTime,
        (position, components, window): Question,
    ) -> Option<Decision> {
        let at = self.name(arrives);
        let cluster = self.own_clusters()[position];
        let visit = &mut self.visits[index];
        let placed = visit.together.placed.as_mut()?;
        placed.asked = Asked {
            job: visit.spec.id,
            at,
        };
        let search = placed.search.as_mut()?;
        search.names.push(at);
        let reserve = ClaimStep::Reserve {
            job: (),
            share: search.share(components),
            length: search.lengths[position],
            timeout: search.timeout,
            window,
        };
        Some(Decision::Claim(placed.asked, cluster, reserve))
    }

    fn say_release(
        &self,
        index: usize,
        clusters: impl IntoIterator<Item = usize>,
    ) -> Vec<Decision> {
        let placed = self.visits[index].together.placed.as_ref();
        let asked = placed.map(|placed| placed.asked);
        let own = self.own_clusters();
        let to = clusters.into_iter().map(|at| own[at]);
        let said = to.filter_map(|to| Some(Decision::Claim(asked?, to, ClaimStep::Release)));
        said.collect()
    }

    /// A cluster answers, or has lost what it had reserved.
    pub(super) fn hear_of_search(
        &mut self,
        now: SimTime,
        index: usize,
        (asked, answer): (Asked, ClaimAnswer),
    ) -> Vec<Decision> {
        let Some(search) = self.search_mut(index) else {
            return Vec::new();
        };
        let waits = search.names.len() > search.answers.len();
        if waits && search.names.last() == Some(&asked.at) {
            let (held, _, question) = search.state();
            let refused = !matches!(answer, ClaimAnswer::Reserved { .. });
            if refused && question.is_err_and(|(at, ..)| self.is_held_before(index, at)) {
                let decisions = self.say_release(index, held.into_keys());
                let visit = &mut self.visits[index];
                (visit.together.is_behind, visit.together.placed) = (true, None);
                visit.together.tries -= 1;
                let back = self.put_back(index);
                return decisions.into_iter().chain(back).collect();
            }
            if let Some(search) = self.search_mut(index) {
                search.answers.push(answer);
            }
            return self.go_on(now, index);
        }
        let (held, ..) = search.state();
        let is_lost = |(_, question): &(u64, usize)| search.names[*question] == asked.at;
        match held.values().any(is_lost) {
            true => self.put_back(index),
            false => Vec::new(),
        }
    }

    /// Whether this cluster has reserved for a search for a job that came before.
    fn is_held_before(&self, index: usize, cluster: usize) -> bool {
        let mut earlier = (0..index).filter_map(|index| self.search(index));
        !self.keeps_one() && earlier.any(|search| search.state().0.contains_key(&cluster))
    }

    /// Whether a job that came before is searched for.
    pub(super) fn is_one_searched_before(&self, index: usize) -> bool {
        (0..index).any(|index| self.is_searching(index))
    }

    /// Clusters that have reserved something for a search, or may have, let go.
    pub(super) fn searched(&self, index: usize) -> Option<Vec<Decision>> {
        let search = self.search(index)?;
        let (held, _, said) = search.state();
        let mut clusters: BTreeSet<usize> = held.into_keys().collect();
        let waits = search.names.len() > search.answers.len();
        clusters.extend(said.err().filter(|_| waits).map(|(asked, ..)| asked));
        Some(self.say_release(index, clusters))
    }

    /// All are reserved: the job begins everywhere when the last of them starts.
    fn confirm(&mut self, now: SimTime, index: usize, held: &Held) -> Vec<Decision> {
        let at = self.name(now + self.settings.lrms_latency);
        let job = self.visits[index].spec.clone();
        let Some(search) = self.search(index) else {
            return Vec::new();
        };
        let (mut parts, mut answers): (Vec<Part>, _) = (Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for (cluster, (components, answer)) in held {
            let cluster = self.own_clusters()[*cluster];
            let share = search.share(*components);
            let own = job.components.iter().enumerate();
            let own = own.filter(|(component, _)| share.has(*component));
            parts.push((cluster, share, own.map(|(_, one)| one.processors).sum()));
            if let ClaimAnswer::Reserved { start, speed } = search.answers[*answer] {
                starts.push(start);
                answers.push((cluster, ClaimAnswer::Held(speed)));
            }
        }
        parts.sort_by_key(|(.., processors)| Reverse(*processors));
        let wanted = |(cluster, share, _): &Part| Decision::Part(job.id, *cluster, share.bits());
        let mut decisions: Vec<Decision> = parts.iter().map(wanted).collect();
        let told = now + self.settings.lrms_latency;
        // Names of one instant are some nanoseconds apart.
        let kept_until = told + SimDuration::from_nanos(1_000);
        let stands =
            |(_, answer): &(u64, usize)| search.names[*answer] + search.timeout > kept_until;
        let all_stand = held.values().all(stands);
        let ready = told + self.brought(&job, &parts);
        let visit = &mut self.visits[index];
        visit.sent_to = Some(Target::Cluster(parts[0].0));
        let (first, last) = (starts.iter().min().copied(), starts.iter().max().copied());
        let in_time = first > Some(told) && last >= Some(ready) && all_stand;
        visit.together.placed = Some(Placed {
            asked: Asked { job: job.id, at },
            components: job.components.iter().count(),
            parts,
            answers,
            run: last.filter(|_| !in_time).map(|last| (last, last)),
            search: None,
        });
        decisions.extend(match in_time {
            true => {
                if self.keeps_one() {
                    let kept = held.keys().next().copied();
                    self.count_on(now, index, kept.unwrap_or_default(), last);
                }
                self.begin(now, index, last)
            }
            // One would have started before it heard of that, or had what it reads, or it would
            // be lost by then.
            false => self.put_back(index),
        });
        decisions
    }
}
