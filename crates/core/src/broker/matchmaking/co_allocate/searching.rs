//! Co-allocation by advance reservations (JSS 3.2): a job's components are reserved for, and
//! only when all reservations start within a short time of one another are they confirmed.
//! The job begins everywhere when the last of them starts.

use super::{Around, CoAllocate, Part, Placed, say};
use crate::agent::{Asked, ClaimAnswer, ClaimShare, ClaimStep};
use crate::broker::Broker;
use crate::coallocation::{Answer, Question, Search, Step, Wanted};
use crate::event::{Event, EventKind};
use crate::ids::{ClusterId, JobId};
use crate::job::Reason;
use crate::message::Target;
use crate::time::{Decimal, SimDuration, SimTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Names of requests that arrive at one instant are nearer to one another than that.
const APART: SimDuration = SimDuration::from_nanos(1_000);

/// A search for reservations for the components of a job.
pub(super) struct Searching {
    pub search: Search,
    /// Its components, the hardest to place first.
    pub order: Vec<usize>,
    /// How long they are reserved at each cluster: as long as the job may take, wherever it
    /// runs, and until the last of them starts.
    pub lengths: Vec<SimDuration>,
    /// How long they are kept unconfirmed: longer after tries in which they were lost.
    pub timeout: SimDuration,
    /// The cluster that has been asked, by its position, and for which jobs of the search.
    pub asked: Option<(usize, u64)>,
    pub reserved: BTreeMap<usize, Reserved>,
}

/// What a cluster has reserved.
pub(super) struct Reserved {
    /// When it was asked for.
    asked: SimTime,
    jobs: u64,
    start: SimTime,
    speed: Decimal,
}

impl CoAllocate {
    /// The search for a job begins; `false` if there is nothing to ask.
    pub(super) fn begin_search(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        job: JobId,
        chosen: usize,
    ) -> bool {
        let searching = match self.placing.keeps_one() {
            true => self.keeping(broker, cx.now(), job, chosen),
            false => self.searching(broker, cx.now(), job),
        };
        let Some(searching) = searching else {
            return false;
        };
        if let Some(held) = broker.jobs.get_mut(&job) {
            let first = broker.config.clusters.first();
            (held.sent, held.sent_at) = (first.map(|(id, _)| Target::Cluster(*id)), cx.now());
        }
        Self::note_try(broker, job, cx.now(), false);
        let placed = Placed {
            at: cx.now(),
            parts: Vec::new(),
            components: searching.order.len(),
            until: None,
            starts: None,
            search: Some(Box::new(searching)),
        };
        self.placed.insert(job, placed);
        self.go_on(broker, cx, job, None);
        true
    }

    fn searching(&self, broker: &Broker, now: SimTime, job: JobId) -> Option<Searching> {
        let held = broker.jobs.get(&job)?;
        let spec = &held.spec;
        let (settings, clusters) = (&broker.config.settings, &broker.config.clusters);
        let (costs, rules) = (&settings.co_allocation, self.placing.reservations?);
        let parts = self.placing.parts(spec, clusters)?;
        let components: Vec<_> = spec.components.iter().collect();
        let mut order: Vec<usize> = (0..components.len()).collect();
        let memory = |at: usize| components[at].requirements.memory_kib;
        order.sort_by_key(|at| Reverse((components[*at].processors, memory(*at))));
        let open = |at: &usize| broker.known[*at].is_open(now);
        let mut ranked: Vec<usize> = (0..clusters.len()).filter(open).collect();
        ranked.sort_by_key(|at| Reverse(self.idle[*at]));
        let resources = order.iter().map(|component| {
            let own = ranked.iter().filter(|at| parts.fits(*component, **at));
            own.copied().collect()
        });
        // The middleware begins, and the search is over, before the first reservation starts.
        // What they read is there, wherever they are.
        let data = spec.inputs.iter().map(|it| it.data_mib);
        let staging = costs.transfer(data.fold(0, u64::saturating_add));
        let startup = staging + costs.startup(order.len()) + settings.lrms_latency;
        let ahead = Self::search_ahead(broker, job);
        let soonest = now + startup + rules.notice + ahead;
        let window = spec.start_window.as_deref();
        let wanted = Wanted {
            resources: resources.collect(),
            earliest: window.map_or(soonest, |window| window.earliest.max(soonest)),
            latest: window.map_or_else(
                || Self::last_start(held, now, soonest, rules.within),
                |window| window.latest,
            ),
            deviation: rules.deviation,
            exact: rules.exact,
        };
        Some(Searching {
            search: Search::new(wanted),
            order,
            timeout: costs.claim_timeout + ahead,
            lengths: vec![rules.length(costs, spec, clusters); clusters.len()],
            asked: None,
            reserved: BTreeMap::new(),
        })
    }

    /// The search for a job goes on, up to what has to be asked next.
    fn go_on(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        job: JobId,
        mut answer: Option<Answer>,
    ) {
        let arrives = cx.now() + broker.config.settings.lrms_latency;
        let keeps_one = self.placing.keeps_one();
        loop {
            let Some(searching) = self.searching_of(job) else {
                return;
            };
            match searching.search.go_on(answer) {
                Step::Asks(question) if question.jobs == 0 => {
                    searching.reserved.remove(&question.resource);
                    answer = Some(Answer::Granted(question.window.0));
                    self.let_go_of(broker, cx, job, question.resource);
                }
                // Nothing that could be asked for in time is better than what is kept.
                Step::Asks(question)
                    if question.window.1 <= arrives
                        && keeps_one
                        && !searching.reserved.is_empty() =>
                {
                    answer = Some(Answer::Refused(Some(arrives)));
                }
                // Nobody would be told before that it is over.
                Step::Asks(question) if question.window.1 <= arrives => {
                    return self.give_up(broker, cx, job);
                }
                Step::Asks(question) => return self.ask(broker, cx, job, question),
                Step::Over(None) => {
                    self.forget(job);
                    return broker.turn_away(&mut { cx }, job, Reason::NotReserved);
                }
                Step::Over(Some(found)) => return self.end_well(broker, cx, job, &found),
            }
        }
    }

    pub(super) fn searching_of(&mut self, job: JobId) -> Option<&mut Searching> {
        self.placed.get_mut(&job)?.search.as_deref_mut()
    }

    fn let_go_of(&self, broker: &Broker, cx: &mut Around<'_>, job: JobId, at: usize) {
        if let Some(placed) = self.placed.get(&job) {
            let asked = Asked { job, at: placed.at };
            let cluster = broker.config.clusters[at].0;
            say(broker, cx, cluster, (asked, ClaimStep::Release));
        }
    }

    fn ask(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId, question: Question) {
        let name = self.name(cx.now() + broker.config.settings.lrms_latency);
        let (Some(placed), Some(held)) = (self.placed.get_mut(&job), broker.jobs.get(&job)) else {
            return;
        };
        let Some(searching) = &mut placed.search else {
            return;
        };
        placed.at = name;
        searching.asked = Some((question.resource, question.jobs));
        let step = ClaimStep::Reserve {
            job: held.passed_by(broker.config.domain),
            share: searching.share(question.jobs),
            length: searching.lengths[question.resource],
            timeout: searching.timeout,
            window: question.window,
        };
        let cluster = broker.config.clusters[question.resource].0;
        say(broker, cx, cluster, (Asked { job, at: name }, step));
    }

    /// What a cluster answers to the search, or that it has lost what it had reserved.
    pub(super) fn hear(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        from: ClusterId,
        (asked, said): (Asked, ClaimAnswer),
    ) {
        let job = asked.job;
        let mut of = broker.config.clusters.iter();
        let from = of.position(|(id, _)| *id == from);
        let now_asked = self.placed.get(&job).map(|placed| placed.at);
        let (Some(from), Some(searching)) = (from, self.searching_of(job)) else {
            return;
        };
        let is_answer = searching.asked.is_some_and(|(at, _)| at == from);
        let (true, Some((_, jobs))) = (is_answer && now_asked == Some(asked.at), searching.asked)
        else {
            let held = searching.reserved.get(&from);
            if held.is_some_and(|held| held.asked == asked.at) {
                self.give_up(broker, cx, job);
            }
            return;
        };
        searching.asked = None;
        let answer = match said {
            ClaimAnswer::Reserved { start, speed } => {
                let reserved = Reserved {
                    asked: asked.at,
                    jobs,
                    start,
                    speed,
                };
                searching.reserved.insert(from, reserved);
                Answer::Granted(start)
            }
            ClaimAnswer::NotBefore(next) => Answer::Refused(Some(next)),
            ClaimAnswer::No | ClaimAnswer::Held(_) => Answer::Refused(None),
        };
        let is_refused = matches!(answer, Answer::Refused(_));
        if is_refused && self.is_behind(broker, job, from) {
            return self.fall_behind(broker, cx, job);
        }
        self.go_on(broker, cx, job, Some(answer));
    }

    /// All are reserved: the job begins everywhere when the last reservation starts.
    pub(super) fn confirm(&mut self, broker: &mut Broker, cx: &mut Around<'_>, job: JobId) {
        let latency = broker.config.settings.lrms_latency;
        // Its own, so that what was answered to the search is not taken for an answer to this.
        let name = self.name(cx.now() + latency);
        let Some(placed) = self.placed.get_mut(&job) else {
            return;
        };
        let Some(searching) = placed.search.take() else {
            return;
        };
        placed.at = name;
        let mut parts: Vec<Part> = Vec::new();
        for (at, reserved) in &searching.reserved {
            parts.push(Part {
                cluster: broker.config.clusters[*at].0,
                share: searching.share(reserved.jobs),
                held: Some(Some(reserved.speed)),
            });
        }
        let spec = broker.jobs.get(&job).map(|held| &held.spec);
        let processors = |part: &Part| {
            let own = spec.and_then(|spec| part.share.of(spec, SimDuration::ZERO));
            own.map_or(0, |own| own.processors())
        };
        // The largest part first.
        parts.sort_by_key(|part| Reverse(processors(part)));
        for part in &parts {
            let requested = Event::new(EventKind::ClaimRequested, job, broker.config.domain);
            let bits = i64::try_from(part.share.bits()).unwrap_or(0);
            cx.emit(cx.now(), requested.to(part.cluster).with(bits));
        }
        let costs = &broker.config.settings.co_allocation;
        let parts_of = parts.iter().map(|part| (part.cluster, part.share));
        let staging = spec.map(|spec| costs.staging(spec, parts_of));
        let ready = cx.now() + latency + staging.unwrap_or_default();
        placed.parts = parts;
        let starts = searching.reserved.values().map(|reserved| reserved.start);
        let first = starts.clone().min().unwrap_or(cx.now());
        let last = starts.max();
        if let (Some(held), Some(lead)) = (broker.jobs.get_mut(&job), placed.parts.first()) {
            held.sent = Some(Target::Cluster(lead.cluster));
        }
        // And still stands when it is told: requests of one instant have names some nanoseconds
        // apart.
        let told = cx.now() + latency;
        let stands = |it: &Reserved| it.asked + searching.timeout > told + APART;
        let all_stand = searching.reserved.values().all(stands);
        match first > told && last >= Some(ready) && all_stand {
            true => {
                let place = searching.reserved.keys().next().copied();
                self.tell_kept(broker, cx, job, (place.unwrap_or(0), first));
                self.begin_job(broker, cx, job, last);
            }
            // One of them would have started before it heard of that, or had what it reads, or
            // would have let go of it.
            false => {
                placed.until = last;
                self.give_up(broker, cx, job);
            }
        }
    }

    /// Lets go of what the search for a job has reserved, or may have.
    pub(super) fn end_search(&mut self, broker: &Broker, cx: &mut Around<'_>, job: JobId) {
        let Some(searching) = self.searching_of(job) else {
            return;
        };
        let reserved = std::mem::take(&mut searching.reserved).into_keys();
        let asked = searching.asked.take().map(|(at, _)| at);
        for at in reserved.chain(asked).collect::<BTreeSet<_>>() {
            self.let_go_of(broker, cx, job, at);
        }
    }
}

impl Searching {
    /// Jobs of the search as components of the job.
    fn share(&self, jobs: u64) -> ClaimShare {
        let own = self.order.iter().enumerate();
        let own = own.filter(|(at, _)| jobs >> at & 1 == 1);
        ClaimShare::Components(own.fold(0, |bits, (_, component)| bits | 1 << component))
    }
}
