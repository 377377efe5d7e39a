//! Listening to a run in real time while it goes.

use super::Services;
use gridrig_core::event::EventKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::time::SimDuration;
use gridrig_drivers::real_time::{Recorded, Recorder, RunClock, merge};
use gridrig_replayer::observation::{Owner, Owners};
use gridrig_replayer::player::Outlets;
use gridrig_service::http::{Exchange, Exchanges};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Exchanges over HTTP that are kept.
const EXCHANGES: usize = 4096;
/// Events that are taken from a service at a time, so that nobody who writes
/// has to wait for long.
const PAGE: usize = 4096;

/// Hears the events of all machines of a run, and what they say to each other
/// about jobs. The default hears nothing and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Listener(Option<Arc<Heard>>);

#[derive(Debug)]
struct Heard {
    machines: Mutex<Machines>,
    exchanges: Exchanges,
}

#[derive(Debug, Default)]
struct Machines {
    /// Events of earlier lives of the run, which its services keep in part.
    earlier: Vec<Recorded>,
    /// How many of them are of each machine.
    known: Vec<u64>,
    all: Vec<Machine>,
    elsewhere: Option<Elsewhere>,
    /// Where jobs of brokers that are not ours are followed.
    places: BTreeMap<JobId, Place>,
}

/// A job under the name that it has in an LRMS.
#[derive(Debug)]
struct Place {
    name: (ClusterId, JobId),
    /// Whether it has ended there without having run to its end.
    in_vain: bool,
}

#[derive(Debug)]
struct Machine {
    recorder: Recorder,
    next: u64,
    /// Events that were forgotten before they were taken in.
    missed: u64,
    /// The LRMS it is, if it is one.
    cluster: Option<ClusterId>,
    /// Taken in and not told yet: of an LRMS also what is about a job of which nobody
    /// knows yet whose it is, and what came after such.
    waiting: VecDeque<Recorded>,
}

/// What has to be known of a run with brokers that are not ours: its jobs have
/// other names in the LRMSs, and it begins late.
#[derive(Debug)]
pub(super) struct Elsewhere {
    /// Whose jobs are.
    pub(super) owners: Owners,
    /// When the run begins on its clock.
    pub(super) shift: SimDuration,
}

impl Elsewhere {
    /// Of a run with these outlets that begins then, if it has such.
    pub(super) fn of(outlets: Option<&Outlets>, shift: SimDuration) -> Option<Self> {
        let owners = outlets?.owners.clone();
        Some(Elsewhere { owners, shift })
    }
}

impl Listener {
    /// One that hears.
    pub fn open() -> Self {
        Listener(Some(Arc::new(Heard {
            machines: Mutex::default(),
            exchanges: Exchanges::keeping(EXCHANGES),
        })))
    }

    /// One that hears what this recorder is told.
    #[cfg(test)]
    pub(crate) fn hearing(recorder: &Recorder) -> Self {
        let listener = Listener::open();
        if let Some(heard) = &listener.0 {
            heard.machines.lock().all = vec![Machine::of(recorder.clone(), None)];
        }
        listener
    }

    /// Hears first what the journals of a run that goes on tell: the log of the client, and
    /// those of brokers and of LRMSs, in the order of the grid.
    pub(super) fn hear_first(&self, logs: Vec<Vec<Recorded>>) {
        if let Some(heard) = &self.0 {
            let mut machines = heard.machines.lock();
            machines.known = logs.iter().map(|log| log.len() as u64).collect();
            machines.earlier = merge(logs);
        }
    }

    /// Listens to the services of a run and to whoever submits.
    pub(super) fn listen(
        &self,
        services: &Services,
        grid: &Grid,
        clock: RunClock,
        submitter: &Recorder,
        elsewhere: Option<Elsewhere>,
    ) {
        let Some(heard) = &self.0 else { return };
        let mut recorders = vec![(submitter.clone(), None)];
        for (index, domain) in (0..).zip(&grid.domains) {
            if let Some(broker) = services.broker(DomainId(index)) {
                recorders.push((broker.recorder().clone(), None));
                broker.capture(&format!("broker:{}", domain.name), &heard.exchanges, clock);
            }
        }
        for (index, cluster) in (0..).zip(&grid.clusters) {
            let id = ClusterId(index);
            if let Some(lrms) = services.lrms(id) {
                recorders.push((lrms.recorder().clone(), Some(id)));
                lrms.capture(&format!("lrms:{}", cluster.name), &heard.exchanges, clock);
            }
        }
        let mut machines = heard.machines.lock();
        machines.listen(recorders);
        machines.elsewhere = elsewhere;
    }

    /// The events since the last call, in order of time as far as they have
    /// come. Jobs have the names of the workload; of a job that a broker which
    /// is not ours has placed more than once, the first placement is followed,
    /// and another when that has come to nothing.
    pub fn events(&self) -> Vec<Recorded> {
        self.0
            .as_ref()
            .map_or(Vec::new(), |heard| heard.machines.lock().events())
    }

    /// Takes in what there is, for the next call: somebody is about to take it away.
    pub(super) fn take_in(&self) {
        if let Some(heard) = &self.0 {
            let mut machines = heard.machines.lock();
            machines.all.iter_mut().for_each(Machine::take_in);
        }
    }

    /// How many events were forgotten before they could be heard.
    pub fn missed(&self) -> u64 {
        let missed = |heard: &Arc<Heard>| {
            let machines = heard.machines.lock();
            machines.all.iter().map(|it| it.missed).sum::<u64>()
        };
        self.0.as_ref().map_or(0, missed)
    }

    /// What was said about a job, oldest first.
    pub fn about(&self, job: u32) -> Vec<Exchange> {
        self.0
            .as_ref()
            .map_or_else(Vec::new, |heard| heard.exchanges.about(job))
    }
}

impl Machines {
    /// Listens to these, each from where its log goes on.
    fn listen(&mut self, recorders: Vec<(Recorder, Option<ClusterId>)>) {
        let known = std::mem::take(&mut self.known);
        let known = known.into_iter().chain(std::iter::repeat(0));
        let machines = recorders.into_iter().zip(known);
        let machines = machines.map(|((recorder, cluster), next)| Machine {
            next,
            ..Machine::of(recorder, cluster)
        });
        self.all = machines.collect();
    }

    fn events(&mut self) -> Vec<Recorded> {
        let Machines {
            earlier,
            all,
            elsewhere,
            places,
            ..
        } = self;
        let Some(elsewhere) = elsewhere else {
            let earlier = std::iter::once(std::mem::take(earlier));
            return merge(earlier.chain(all.iter_mut().map(Machine::rest)));
        };
        let logs = all.iter_mut().map(|machine| match machine.cluster {
            Some(cluster) => machine.known(cluster, &elsewhere.owners, places),
            None => machine.rest(),
        });
        let events = merge(logs).into_iter();
        events.map(|event| event.earlier(elsewhere.shift)).collect()
    }
}

impl Machine {
    fn of(recorder: Recorder, cluster: Option<ClusterId>) -> Self {
        Machine {
            recorder,
            next: 0,
            missed: 0,
            cluster,
            waiting: VecDeque::new(),
        }
    }

    /// The events of an LRMS up to the first about a job of which nobody knows
    /// whose it is, with the names of the workload.
    fn known(
        &mut self,
        cluster: ClusterId,
        owners: &Owners,
        places: &mut BTreeMap<JobId, Place>,
    ) -> Vec<Recorded> {
        self.take_in();
        let mut events = Vec::new();
        while let Some(recorded) = self.waiting.pop_front() {
            let Some(local) = recorded.event().job else {
                events.push(recorded);
                continue;
            };
            let job = match owners.owner(cluster, local) {
                None => {
                    self.waiting.push_front(recorded);
                    break;
                }
                Some(Owner::Foreign) => continue,
                Some(Owner::Named(job) | Owner::Tagged(job) | Owner::Repeated(job)) => job,
            };
            let here = || Place {
                name: (cluster, local),
                in_vain: false,
            };
            let place = places.entry(job).or_insert_with(here);
            if place.name != (cluster, local) {
                if !place.in_vain {
                    continue;
                }
                *place = here();
            }
            let kind = recorded.event().kind;
            place.in_vain |= kind.is_terminal() && kind != EventKind::Finished;
            events.push(recorded.about(job));
        }
        events
    }

    fn rest(&mut self) -> Vec<Recorded> {
        self.take_in();
        self.waiting.drain(..).collect()
    }

    fn take_in(&mut self) {
        loop {
            let page = self.recorder.page(self.next, PAGE);
            self.missed += page.first - self.next;
            self.next = page.first + page.events.len() as u64;
            let last = page.events.len() < PAGE;
            self.waiting.extend(page.events);
            if last {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{Event, EventSink as _, Party};
    use gridrig_core::job::{Entry, Reason};
    use gridrig_core::time::SimTime;
    use std::ops::Range;

    fn at(seconds: u64) -> SimTime {
        SimTime::from_secs(seconds)
    }

    /// Names and instants of what is heard.
    fn heard(machines: &mut Machines) -> Vec<(u64, &'static str, Option<u32>)> {
        let events = machines.events().into_iter();
        let events = events.map(|recorded| {
            let event = recorded.event();
            let seconds = recorded.at.as_nanos() / 1_000_000_000;
            (seconds, event.kind.name(), event.job.map(|job| job.0))
        });
        events.collect()
    }

    #[test]
    fn of_a_run_that_goes_on_all_is_heard_once_however_little_its_services_keep() {
        let mut recorders = [Recorder::keeping(2), Recorder::default()];
        let event = |job| Event::new(EventKind::FinishSeen, JobId(job), Party::Client);
        let mut emit = |of: usize, job: u32| recorders[of].emit(at(u64::from(job)), event(job));
        // What their journals tell is told to them again.
        (0..5).for_each(|job| emit(0, job));
        emit(1, 2);
        let listener = Listener::open();
        let told = |jobs: Range<u32>| -> Vec<Recorded> {
            jobs.map(|job| Recorded::new(at(u64::from(job)), event(job)))
                .collect()
        };
        listener.hear_first(vec![told(0..5), told(2..3)]);
        let jobs = || -> Vec<u32> {
            let events = listener.events().into_iter();
            events.filter_map(|it| Some(it.event().job?.0)).collect()
        };
        assert_eq!(jobs(), [0, 1, 2, 2, 3, 4]);
        // They begin to go on before anybody listens to them.
        emit(0, 5);
        let all = recorders.each_ref().map(|it| (it.clone(), None));
        let heard = listener.0.as_ref().unwrap();
        heard.machines.lock().listen(Vec::from(all));
        assert_eq!(jobs(), [5]);
        assert_eq!(listener.missed(), 0);
    }

    #[test]
    fn jobs_of_another_broker_are_heard_under_their_own_names_as_soon_as_these_are_known() {
        let (mut client, mut a, mut b) = <(Recorder, Recorder, Recorder)>::default();
        let owners = Owners::default();
        let (first, second) = (ClusterId(0), ClusterId(1));
        let mut machines = Machines {
            all: vec![
                Machine::of(client.clone(), None),
                Machine::of(a.clone(), Some(first)),
                Machine::of(b.clone(), Some(second)),
            ],
            elsewhere: Some(Elsewhere {
                owners: owners.clone(),
                shift: SimDuration::from_secs(10),
            }),
            ..Machines::default()
        };
        for job in [0, 1, 2] {
            let (job, entry) = (JobId(job), Entry::Domain(DomainId(0)));
            let intended = at(11);
            client.emit(
                at(11),
                Event::new(EventKind::Submitted, job, Party::Client)
                    .to(entry)
                    .at(intended),
            );
        }
        let queued = |cluster, job| Event::new(EventKind::Queued, JobId(job), cluster);
        let started = |cluster, job| Event::new(EventKind::Started, JobId(job), cluster).on(&[]);
        a.emit(at(12), queued(first, 900));
        a.emit(at(13), queued(first, 901));
        a.emit(at(13), started(first, 900));
        let submitted = |job| (1, "submitted", Some(job));
        assert_eq!(heard(&mut machines), [0, 1, 2].map(submitted));
        // The first is known to be somebody else's, of the next nobody knows.
        owners.note(first, JobId(900), Owner::Foreign);
        assert_eq!(heard(&mut machines), []);
        owners.note(first, JobId(901), Owner::Tagged(JobId(1)));
        assert_eq!(heard(&mut machines), [(3, "queued", Some(1))]);
        // Placed a second time, it is followed where it was first.
        owners.note(second, JobId(900), Owner::Tagged(JobId(1)));
        b.emit(at(14), queued(second, 900));
        b.emit(at(14), started(second, 900));
        a.emit(at(15), started(first, 901));
        assert_eq!(heard(&mut machines), [(5, "started", Some(1))]);
        // One that was turned away may come again elsewhere.
        owners.note(first, JobId(902), Owner::Tagged(JobId(2)));
        owners.note(second, JobId(901), Owner::Tagged(JobId(2)));
        let by = Party::Lrms(first);
        let (job, reason) = (JobId(902), Reason::NeverFits);
        a.emit(
            at(16),
            Event::new(EventKind::Rejected, job, by).because(reason),
        );
        b.emit(at(17), queued(second, 901));
        let entry = Entry::Domain(DomainId(0));
        let lost = Event::new(EventKind::LostTouch, JobId(0), Party::Client);
        client.emit(at(18), lost.to(entry).because(Reason::NotPlaced));
        let (rejected, again) = ((6, "rejected", Some(2)), (7, "queued", Some(2)));
        assert_eq!(
            heard(&mut machines),
            [rejected, again, (8, EventKind::LostTouch.name(), Some(0))]
        );
    }
}
