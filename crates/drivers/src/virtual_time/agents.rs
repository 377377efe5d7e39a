//! A client, and brokers and LRMSs as services run them, under a plan of faults:
//! with keys, memory, sessions and recovery, on links that may fail.

mod clients;
mod deliver;
mod network;
mod sessions;

use super::order::{Alarms, Layer, Observe, Timers, play};
use super::watch::{Met, Says as _};
use super::{Cancellation, Options, Outcome};
use crate::faults::FaultCounts;
use clients::{QuestionsForEnds, client_of};
use gridrig_core::agent::{
    Agent as _, BrokerAgent, BrokerInput, BrokerSetup, ClientAgent, Completions, Due, Envelope,
    Exchange, FromBroker, Handle, Home, LrmsAgent, LrmsSetup, Memory, Message as _,
    Participant as _, Pass, Record, Replay, Resumed, SetupError, Tries, Undelivered,
};
use gridrig_core::event::{EventSink, NoEvents, Party};
use gridrig_core::faults::{FaultPlan, Restart};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::SimTime;
use network::{Network, Parcel};
use sessions::Sessions;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Runs the grid as [`run`](super::run()) does, with services and links of which
/// some fail as planned. Every two brokers that have a link hold a session; one
/// client submits all jobs.
///
/// The run goes on until the client knows of the end of every job that it has not
/// given up and nothing about a job is left anywhere: where that may never be,
/// `options` say when it stops. The same
/// arguments give the same events, to the byte.
///
/// # Errors
/// When a policy needs the truth, which no service has.
pub fn run_with_faults(
    grid: &Grid,
    submissions: &[Submission],
    options: &Options<'_>,
    plan: &FaultPlan,
    events: &mut dyn EventSink,
    mut observe: impl FnMut(SimTime, usize) -> ControlFlow<()>,
) -> Result<(Outcome, FaultCounts), SetupError> {
    let agents = Agents::new(grid, submissions, options, plan, events)?;
    Ok(agents.play(options, &mut observe))
}

/// The inputs of a broker since it began.
struct Journal {
    setup: BrokerSetup,
    records: Vec<Record<BrokerInput>>,
}

struct Agents<'a> {
    grid: &'a Grid,
    seed: u64,
    client: ClientAgent,
    questions: QuestionsForEnds,
    /// `None` while a broker is not there.
    brokers: Vec<Option<BrokerAgent>>,
    /// Brokers that are not there, as they were.
    stopped: BTreeMap<DomainId, Resumed<BrokerAgent>>,
    /// Those of brokers that will be restarted with them.
    journals: BTreeMap<DomainId, Journal>,
    /// How often each has been started.
    lives: Vec<u64>,
    /// Since which of its lives each knows everything.
    memories: Vec<u64>,
    lrms: Vec<LrmsAgent>,
    timers: Timers,
    /// Timers on the wall: of each broker with its sessions, then of each LRMS, then
    /// of the client.
    wall: Alarms,
    sessions: Sessions,
    /// Whose last message to whom did not get through.
    down: BTreeSet<(Party, Party)>,
    network: Network<'a>,
}

impl<'a> Agents<'a> {
    /// Not generic, so that all of it is compiled, and optimized, in this crate.
    fn play(mut self, options: &Options<'_>, observe: Observe<'_>) -> (Outcome, FaultCounts) {
        let outcome = play(&mut self, options, observe);
        (outcome, self.network.links.counts)
    }

    fn new(
        grid: &'a Grid,
        submissions: &'a [Submission],
        options: &Options<'a>,
        plan: &FaultPlan,
        events: &'a mut dyn EventSink,
    ) -> Result<Self, SetupError> {
        let lrms = grid.clusters.iter().map(|cluster| {
            LrmsAgent::new(LrmsSetup {
                cluster: cluster.config.clone(),
                home: cluster.domain.map(|domain| Home::of(grid, domain)),
                incarnation: 0,
                keep_ended: usize::MAX,
                names_apart: true,
            })
        });
        let domains = grid.domains.len();
        let jobs = submissions.len();
        let mut agents = Agents {
            lrms: lrms.collect(),
            brokers: (0..domains).map(|_| None).collect(),
            stopped: BTreeMap::new(),
            journals: BTreeMap::new(),
            lives: vec![0; domains],
            memories: vec![0; domains],
            timers: Timers::of(grid),
            wall: Alarms::new(domains + grid.clusters.len() + 1, SimTime::MAX),
            sessions: Sessions::new(plan),
            down: BTreeSet::new(),
            network: Network::new(plan, options, jobs, events),
            client: client_of(submissions, plan.patience),
            questions: QuestionsForEnds::new(),
            seed: options.seed,
            grid,
        };
        for domain in (0..).map(DomainId).take(domains) {
            agents.start_broker(domain)?;
        }
        agents.open_sessions();
        for &Cancellation { at, job } in options.cancellations {
            let to = submissions[job.index()].entry;
            agents.network.agenda.push(at, Parcel::Cancel(to, job));
        }
        for restart in &plan.restarts {
            let agenda = &mut agents.network.agenda;
            agenda.push(restart.at, Parcel::Crash(restart.broker));
            agenda.push(restart.back, Parcel::Repair(restart.broker, restart.anew));
        }
        agents.set_client_timer();
        Ok(agents)
    }

    /// A broker that knows nothing yet.
    fn start_broker(&mut self, domain: DomainId) -> Result<(), SetupError> {
        let life = &mut self.lives[domain.index()];
        *life += 1;
        self.memories[domain.index()] = *life;
        let mut setup = BrokerSetup::of(self.grid, domain, self.seed)?;
        setup.incarnation = *life;
        setup.born = self.network.now;
        let peers = setup.config.neighbours.iter().map(|other| other.domain);
        setup.sessions = peers.map(|peer| (peer, None)).collect();
        self.sessions.start(&setup.config, None);
        let has_journal = |one: &Restart| (one.broker, one.anew) == (domain, Some(Memory::Journal));
        if self.network.links.plan.restarts.iter().any(has_journal) {
            let (setup, records) = (setup.clone(), Vec::new());
            self.journals.insert(domain, Journal { setup, records });
        }
        self.brokers[domain.index()] = Some(BrokerAgent::new(setup));
        self.set_timers(domain);
        Ok(())
    }

    /// A broker is gone, with all that it has not sent off.
    fn crash(&mut self, broker: DomainId) {
        let Some(agent) = self.brokers[broker.index()].take() else {
            return;
        };
        self.sessions.stop(broker);
        let of_it = |party: Party| party == Party::Broker(broker);
        self.down.retain(|(from, _)| !of_it(*from));
        let (mut unanswered, mut under_way) = (Vec::new(), Vec::new());
        self.network.agenda.retain(|parcel| {
            let (sent, result) = match parcel {
                Parcel::FromBroker(sent, _) => (sent, Ok(())),
                Parcel::BrokerFate(fate) => (&fate.envelope, fate.result),
                _ => return true,
            };
            if of_it(sent.from) && result != Err(Undelivered::CalledBack) {
                under_way.push(((sent.from, sent.message.to()), sent.message.step()));
                unanswered.push(sent.clone());
            }
            !of_it(sent.from)
        });
        for (way, step) in under_way {
            self.network.note(way, step, Met::SenderStopped);
        }
        unanswered.sort_by_key(|sent| sent.id);
        let wall = self.network.wall();
        let stopped = Resumed {
            agent,
            wall,
            unanswered,
        };
        self.stopped.insert(broker, stopped);
        self.set_timers(broker);
        self.hang_up(Entry::Domain(broker));
    }

    /// A broker is there again.
    fn repair(&mut self, broker: DomainId, anew: Option<Memory>) {
        let Some(stopped) = self.stopped.remove(&broker) else {
            return;
        };
        self.network.links.counts.restarted += 1;
        match (anew, self.journals.get(&broker)) {
            (Some(Memory::None), _) => {
                // What could be set up before can be again.
                let _ = self.start_broker(broker);
            }
            (Some(Memory::Journal), Some(journal)) => {
                let agent = BrokerAgent::new(journal.setup.clone());
                let mut replay = Replay::new(agent, NoEvents);
                let taken = journal.records.iter().cloned();
                let taken = taken.map(|record| replay.take(record));
                let taken = taken.collect::<Result<(), _>>();
                // What was sent is all from the journal.
                if let (Ok(()), Ok(resumed)) = (taken, replay.finish()) {
                    self.go_on(broker, resumed);
                }
            }
            _ => self.go_on(broker, stopped),
        }
    }

    /// A broker goes on with what it knows. Its sessions are gone, and what it said
    /// last may have arrived or not.
    fn go_on(&mut self, broker: DomainId, resumed: Resumed<BrokerAgent>) {
        self.lives[broker.index()] += 1;
        let lost = Some(self.network.wall());
        let config = resumed.agent.broker().config();
        self.sessions.start(config, lost);
        self.brokers[broker.index()] = Some(resumed.agent);
        for sent in resumed.unanswered {
            self.network.send_off(sent, Tries::AGAIN);
        }
        self.set_timers(broker);
    }

    /// A broker handles an input, if it is there; its timers are set again.
    fn tell_broker<I: Clone>(
        &mut self,
        to: DomainId,
        input: I,
    ) -> Option<<BrokerAgent as Handle<I>>::Answer>
    where
        BrokerAgent: Handle<I>,
        BrokerInput: From<I>,
    {
        let broker = self.brokers[to.index()].as_mut()?;
        let before = broker.published();
        let mut journal = self.journals.get_mut(&to);
        if let Some(journal) = &mut journal {
            let (at, wall, input) = (self.network.now, self.network.wall(), input.clone().into());
            journal.records.push(Record::Input { at, wall, input });
        }
        self.network.speaks = to.into();
        let answer = broker.handle(&mut self.network, input);
        let stopped = std::mem::take(&mut self.network.stopped).into_iter();
        if let Some(journal) = journal {
            journal.records.extend(stopped.map(Record::Stopped));
        }
        if broker.published() > before {
            self.answer_soon(Entry::Domain(to));
        }
        self.set_timers(to);
        Some(answer)
    }

    fn set_timers(&mut self, domain: DomainId) {
        let broker = self.brokers[domain.index()].as_ref();
        let cycle = broker.and_then(|broker| broker.next_due());
        let cycle = cycle.unwrap_or(SimTime::MAX);
        self.timers.cycles.set(domain.index(), cycle);
        let wall = broker.and_then(|broker| broker.next_wall_due());
        let wake = self.sessions.next_wake(domain);
        let wall = wall.into_iter().chain(wake).min();
        self.wall.set(domain.index(), self.network.alarm(wall));
    }

    /// The same for an LRMS.
    fn tell_lrms<I>(&mut self, to: ClusterId, input: I) -> <LrmsAgent as Handle<I>>::Answer
    where
        LrmsAgent: Handle<I>,
    {
        let lrms = &mut self.lrms[to.index()];
        let before = lrms.published();
        let answer = lrms.handle(&mut self.network, input);
        let has_news = lrms.published() > before;
        // What is sampled has an alarm of its own.
        let due = lrms.lrms().next_due().unwrap_or(SimTime::MAX);
        self.timers.lrms.set(to.index(), due);
        let wall = self.network.alarm(lrms.next_wall_due());
        self.wall.set(self.grid.domains.len() + to.index(), wall);
        if has_news {
            self.answer_soon(Entry::Cluster(to));
        }
        answer
    }

    /// The timers on the wall that are due.
    fn handle_wall(&mut self, now: SimTime) {
        let domains = self.grid.domains.len();
        let mut from = 0;
        while let Some(index) = self.wall.first(from, now) {
            from = index + 1;
            match index.checked_sub(domains) {
                Some(cluster) if cluster == self.lrms.len() => self.tell_client(Due::Wall),
                Some(cluster) => self.tell_lrms(ClusterId(cluster as u16), Due::Wall),
                None => {
                    let domain = DomainId(index as u16);
                    self.see_to_sessions(domain);
                    self.tell_broker(domain, Due::Wall);
                }
            }
        }
    }

    /// Whether something about a job is left, besides what is under way.
    fn is_at_work(&self) -> bool {
        // Nodes fail and are repaired long after the last job has ended.
        let works = |lrms: &LrmsAgent| lrms.cluster().is_at_work();
        let works = self.timers.cycles.least() < SimTime::MAX || self.lrms.iter().any(works);
        let to_say_again = || {
            let brokers = self.brokers.iter().flatten();
            let brokers = brokers.filter_map(|broker| broker.next_wall_due());
            let lrms = self.lrms.iter().filter_map(|lrms| lrms.next_wall_due());
            // One that is not there says it when it is there again.
            let mut stopped = self.stopped.values();
            let stopped = stopped.any(|one| {
                let mut unanswered = one.unanswered.iter();
                let is_news = |sent: &Envelope<FromBroker>| !sent.message.step().0.is_information();
                one.agent.next_wall_due().is_some() || unanswered.any(is_news)
            });
            stopped || brokers.chain(lrms).next().is_some()
        };
        works || self.network.agenda.has_job_messages() || to_say_again()
    }
}

impl Layer for Agents<'_> {
    fn timers(&self) -> &Timers {
        &self.timers
    }

    fn next_instant(&self) -> Option<SimTime> {
        let submission = self.client.next_due().into_iter();
        let timers = &self.timers;
        let alarms = [&timers.lrms, &timers.cycles, &timers.samples, &self.wall];
        let alarms = alarms.into_iter().map(Alarms::least);
        let others = submission.chain(self.network.agenda.next_time());
        let next = alarms.chain(others).min()?;
        (next < SimTime::MAX).then_some(next.max(self.network.now))
    }

    fn is_over(&self) -> bool {
        self.client.is_done() && !self.is_at_work()
    }

    fn ended(&self) -> usize {
        self.network.ended
    }

    fn set_now(&mut self, now: SimTime) {
        self.network.now = now;
    }

    fn ends_a_job(&self, lrms: usize, now: SimTime) -> bool {
        self.lrms[lrms].lrms().next_completion() == Some(now)
    }

    fn complete(&mut self, lrms: ClusterId) {
        self.tell_lrms(lrms, Completions);
    }

    fn handle_messages(&mut self, now: SimTime) {
        self.handle_wall(now);
        while self.client.next_due().is_some_and(|due| due <= now) {
            self.tell_client(Due::Model { loads: Vec::new() });
        }
        while let Some(parcel) = self.network.agenda.pop_at(now) {
            self.handle_parcel(parcel);
        }
    }

    fn decide(&mut self, broker: DomainId) {
        let reads = self.brokers[broker.index()].iter();
        let reads = reads.flat_map(|broker| broker.reads());
        let loads = reads.map(|cluster| self.lrms[cluster.index()].sample_at(self.network.now));
        let loads = loads.collect();
        self.tell_broker(broker, Due::Model { loads });
    }

    fn schedule(&mut self, lrms: ClusterId) {
        self.tell_lrms(lrms, Pass);
    }

    fn sample(&mut self, domain: DomainId, now: SimTime) {
        let site = &self.grid.domains[domain.index()];
        let next = now + site.broker.exchange;
        self.timers.samples.set(domain.index(), next);
        for cluster in &site.clusters {
            self.tell_lrms(*cluster, Exchange);
        }
    }
}
