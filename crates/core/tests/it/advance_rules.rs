//! Advance reservations without a job: each case worked out by hand, then many drawn ones.

use gridrig_core::cluster::{
    Cluster, ClusterConfig, Finished, MOST_RESERVATIONS, Overrun, Reserving,
};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::generic::Generics;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Components, JobSpec, Reason, Requirements, StartWindow};
use gridrig_core::reservation::{
    AdvanceReservation, Forbidden, ReservationOrder, ReservationRefusal, ReservationStep,
    ReservationUse, ReservationView,
};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// When a job started and ended, by second, and why it failed.
type Life = (Option<u64>, Option<u64>, Option<Reason>);

/// Lives of jobs.
#[derive(Default)]
struct Told(BTreeMap<u32, Life>);

impl EventSink for Told {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        let job = self.0.entry(event.job.map_or(0, |job| job.0)).or_default();
        match event.kind {
            EventKind::Started => job.0 = Some(at.as_nanos() / 1_000_000_000),
            EventKind::Finished | EventKind::Failed => {
                job.1 = Some(at.as_nanos() / 1_000_000_000);
                job.2 = event.reason;
            }
            _ => {}
        }
    }
}

fn secs(secs: u64) -> SimTime {
    SimTime::from_secs(secs)
}

fn cluster(processors: u32, kind: DisciplineKind, overrun: Overrun) -> Cluster {
    cluster_of(Resources::homogeneous(processors), kind, overrun)
}

/// Four nodes of two processors, half of them slow, and of little memory.
fn mixed() -> Resources {
    let group = |speed: &str, memory_mib| Resource {
        name: None,
        count: 2,
        cpu_count: 2,
        architecture: None,
        os: None,
        memory_mib,
        disk_mib: None,
        speed: Decimal::parse(speed).unwrap(),
        generic: Generics::default(),
    };
    Resources::new(vec![group("1", Some(4)), group("0.5", Some(2))]).unwrap()
}

fn cluster_of(resources: Resources, kind: DisciplineKind, overrun: Overrun) -> Cluster {
    let mut config = ClusterConfig::new(ClusterId(0), resources, kind);
    config.reserving = Some(Reserving {
        overrun,
        most_share: Decimal::ONE,
        longest: Some(SimDuration::from_secs(1000)),
        most_ahead: Some(SimDuration::from_secs(5000)),
    });
    Cluster::new(config)
}

/// So many processors for so long, from an instant within a window on.
fn wanted(name: &str, processors: u32, lasts: u64, window: (u64, u64, bool)) -> AdvanceReservation {
    AdvanceReservation {
        name: name.into(),
        processors,
        requirements: Requirements::default(),
        duration: SimDuration::from_secs(lasts),
        window: StartWindow {
            earliest: secs(window.0),
            latest: secs(window.1),
            flexible: window.2,
        },
        users: Vec::new(),
        confirm_within: None,
    }
}

struct Rig {
    cluster: Cluster,
    told: Told,
}

impl Rig {
    fn new(cluster: Cluster) -> Self {
        let told = Told::default();
        Rig { cluster, told }
    }

    /// All that happens up to an instant, which is included.
    fn run_to(&mut self, until: SimTime) {
        while let Some(now) = self.cluster.poll_timeout().filter(|due| *due <= until) {
            let mut ended: Vec<Finished> = Vec::new();
            let (cluster, told) = (&mut self.cluster, &mut self.told);
            cluster.handle_completions(now, told, &mut ended);
            cluster.handle_reservations(now, told, &mut ended);
            cluster.take_turned_out();
            cluster.handle_pass(now, told);
        }
    }

    fn order(
        &mut self,
        at: u64,
        by: Option<&str>,
        step: ReservationStep,
    ) -> Result<ReservationView, ReservationRefusal> {
        self.run_to(secs(at));
        let by = by.map(Into::into);
        let order = ReservationOrder { by, step };
        self.cluster
            .order_reservation(secs(at), &order, &mut self.told)
    }

    /// The start of what is made, in seconds.
    fn make(&mut self, at: u64, wanted: AdvanceReservation) -> Result<u64, ReservationRefusal> {
        let made = self.order(at, None, ReservationStep::Make(Box::new(wanted)));
        made.map(|view| view.start.as_nanos() / 1_000_000_000)
    }

    /// A job of so many processors, estimate and run time.
    fn submit(
        &mut self,
        at: u64,
        (id, processors, estimate, run_time): (u32, u32, u64, u64),
        place: Option<(&str, Option<&str>)>,
    ) -> Result<(), Reason> {
        let job = JobSpec {
            requested_time: Some(SimDuration::from_secs(estimate)),
            ..JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(run_time))
        };
        self.bring(at, &job, place)
    }

    fn bring(
        &mut self,
        at: u64,
        job: &JobSpec,
        place: Option<(&str, Option<&str>)>,
    ) -> Result<(), Reason> {
        self.run_to(secs(at));
        let (cluster, told) = (&mut self.cluster, &mut self.told);
        let taken = match place {
            None => cluster.submit(secs(at), job, told),
            Some((name, user)) => {
                let place = ReservationUse {
                    name: name.into(),
                    user: user.map(Into::into),
                };
                cluster.submit_inside(secs(at), job, &place, told)
            }
        };
        self.run_to(secs(at));
        taken
    }

    /// Processors of the reservations that have begun which no job in them has.
    fn free_inside(&self) -> u32 {
        let begun = self.cluster.reservations("").filter(|view| view.begun);
        let free = begun.flat_map(|view| view.free);
        free.map(|share| share.processors).sum()
    }

    fn start(&self, job: u32) -> Option<u64> {
        self.told.0.get(&job).and_then(|told| told.0)
    }

    fn end(&self, job: u32) -> Option<(u64, Option<Reason>)> {
        let told = self.told.0.get(&job)?;
        Some((told.1?, told.2))
    }
}

const IN_A: Option<(&str, Option<&str>)> = Some(("a", None));

#[test]
fn jobs_run_in_a_reservation_and_no_discipline_starts_others_there() {
    for kind in DisciplineKind::ALL {
        let mut rig = Rig::new(cluster(4, *kind, Overrun::Kill));
        assert_eq!(rig.make(0, wanted("a", 3, 100, (50, 50, false))), Ok(50));
        // Too wide for what is left beside it, and too long before it.
        assert_eq!(rig.submit(0, (1, 2, 60, 60), None), Ok(()));
        // In it: the second waits for the first, a third runs beside them.
        assert_eq!(rig.submit(1, (2, 2, 40, 40), IN_A), Ok(()));
        assert_eq!(rig.submit(2, (3, 2, 40, 10), IN_A), Ok(()));
        assert_eq!(rig.submit(3, (4, 1, 90, 90), IN_A), Ok(()));
        // The view is what a client is told.
        rig.run_to(secs(60));
        let view = rig.cluster.reservations("").next().unwrap();
        assert_eq!(
            (view.running.len(), &view.waiting[..]),
            (2, &[JobId(3)][..])
        );
        assert!(view.begun && view.free.is_empty());
        assert_eq!(rig.cluster.present(), 4);
        rig.run_to(secs(5000));
        let starts = [1, 2, 3, 4].map(|job| rig.start(job));
        // At 150 the reservation ends; job 2 gives its processors back to it at 90, not to
        // job 1.
        assert_eq!(
            starts,
            [Some(150), Some(50), Some(90), Some(50)],
            "{kind:?}"
        );
        assert_eq!(rig.end(3), Some((100, None)), "{kind:?}");
        assert_eq!(rig.cluster.reservations("").count(), 0);
        assert_eq!(rig.cluster.present(), 0);
    }
}

#[test]
fn the_jobs_in_all_reservations_have_one_bound() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::Fcfs, Overrun::Kill));
    for name in ["a", "b"] {
        assert_eq!(rig.make(0, wanted(name, 2, 100, (50, 50, false))), Ok(50));
    }
    let mut bring = |id: usize| {
        let name = ["a", "b"][id % 2].into();
        let place = ReservationUse { name, user: None };
        let job = JobSpec::rigid(JobId(id as u32), 1, SimDuration::from_secs(10));
        let (cluster, told) = (&mut rig.cluster, &mut rig.told);
        cluster.submit_inside(secs(0), &job, &place, told)
    };
    assert!((0..MOST_RESERVATIONS).all(|id| bring(id).is_ok()));
    assert_eq!(bring(MOST_RESERVATIONS), Err(Reason::QueueFull));
}

#[test]
fn the_rest_of_the_cluster_is_for_the_queue() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::EasyBackfill, Overrun::Kill));
    assert_eq!(rig.make(0, wanted("a", 3, 100, (50, 50, false))), Ok(50));
    rig.submit(0, (1, 1, 500, 500), None).unwrap();
    rig.submit(0, (2, 3, 50, 50), None).unwrap();
    rig.run_to(secs(5000));
    assert_eq!((rig.start(1), rig.start(2)), (Some(0), Some(0)));
}

#[test]
fn granted_rejected_or_rejected_until() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::EasyBackfill, Overrun::Kill));
    assert_eq!(rig.make(0, wanted("a", 4, 100, (50, 60, false))), Ok(50));
    // Said again it is no second one.
    assert_eq!(rig.make(0, wanted("a", 4, 100, (50, 60, false))), Ok(50));
    let next = rig.make(0, wanted("b", 1, 10, (60, 100, false)));
    assert_eq!(next, Err(ReservationRefusal::NotBefore(secs(150))));
    let wide = rig.make(0, wanted("b", 5, 10, (0, 100, false)));
    let never = |what| Err(ReservationRefusal::Forbidden(what));
    let (processors, most) = (5, 4);
    assert_eq!(wide, never(Forbidden::TooWide { processors, most }));
    // Longer, and further ahead, than the cluster grants; in the past.
    let long = rig.make(0, wanted("b", 1, 1001, (200, 300, false)));
    let [length, longest] = [1001, 1000].map(SimDuration::from_secs);
    assert_eq!(long, never(Forbidden::TooLong { length, longest }));
    let far = rig.make(0, wanted("b", 1, 10, (5001, 6000, false)));
    let (earliest, last) = (secs(5001), secs(5000));
    assert_eq!(far, never(Forbidden::TooFar { earliest, last }));
    let late = rig.make(10, wanted("b", 1, 10, (0, 9, false)));
    let (latest, now) = (secs(9), secs(10));
    assert_eq!(late, never(Forbidden::Past { latest, now }));
    // Without an end.
    let endless = rig.make(10, wanted("b", 1, 10, (200, u64::MAX, false)));
    let last = SimTime::from_nanos(u64::MAX - 2 - 10_000_000_000);
    let latest = SimTime::MAX;
    assert_eq!(endless, never(Forbidden::Endless { latest, last }));
    assert_eq!(rig.cluster.reservations("").count(), 1);
}

#[test]
fn it_is_modified_at_once_or_stays_and_is_cancelled_unless_it_is_used() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::Fcfs, Overrun::Kill));
    assert_eq!(rig.make(0, wanted("a", 4, 100, (50, 50, false))), Ok(50));
    assert_eq!(rig.make(0, wanted("b", 4, 100, (150, 150, false))), Ok(150));
    // It may take its own place, and not that of the other.
    assert_eq!(rig.make(1, wanted("a", 2, 90, (60, 60, false))), Ok(60));
    let refused = rig.make(1, wanted("a", 2, 100, (160, 170, false)));
    assert_eq!(refused, Err(ReservationRefusal::NotBefore(secs(250))));
    let starts: Vec<SimTime> = rig
        .cluster
        .reservations("")
        .map(|view| view.start)
        .collect();
    assert_eq!(starts, [secs(60), secs(150)]);
    let cancel = |name: &str| ReservationStep::Cancel(name.into());
    assert!(rig.order(2, None, cancel("b")).is_ok());
    let twice = rig.order(2, None, cancel("b"));
    assert_eq!(twice, Err(ReservationRefusal::NotHere));
    rig.submit(3, (1, 1, 10, 10), IN_A).unwrap();
    let used = rig.order(3, None, cancel("a"));
    assert_eq!(used, Err(ReservationRefusal::InUse));
    let used = rig.make(3, wanted("a", 2, 90, (61, 61, false)));
    assert_eq!(used, Err(ReservationRefusal::InUse));
    // Its processors are free for others when it is cancelled while it goes on.
    rig.run_to(secs(75));
    assert_eq!(rig.end(1), Some((70, None)));
    rig.submit(80, (2, 4, 10, 10), None).unwrap();
    assert_eq!(rig.start(2), None);
    assert!(rig.order(85, None, cancel("a")).is_ok());
    rig.run_to(secs(85));
    assert_eq!(rig.start(2), Some(85));
}

#[test]
fn what_is_not_confirmed_is_given_back() {
    for confirms in [false, true] {
        let mut rig = Rig::new(cluster(4, DisciplineKind::Fcfs, Overrun::Kill));
        let mut temporary = wanted("a", 4, 100, (50, 50, false));
        temporary.confirm_within = Some(SimDuration::from_secs(20));
        assert_eq!(rig.make(0, temporary), Ok(50));
        assert_eq!(
            rig.submit(1, (1, 1, 10, 10), IN_A),
            Err(Reason::NotReserved)
        );
        let confirm = ReservationStep::Confirm("a".into());
        if confirms {
            assert!(rig.order(19, None, confirm.clone()).unwrap().confirmed);
        }
        rig.submit(19, (2, 4, 40, 40), None).unwrap();
        rig.run_to(secs(30));
        assert_eq!(rig.start(2), (!confirms).then_some(20));
        let late = rig.order(31, None, confirm).map(|view| view.confirmed);
        assert_eq!(late.is_ok(), confirms);
    }
}

#[test]
fn it_is_for_its_users() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::Fcfs, Overrun::Kill));
    let mut own = wanted("a", 4, 100, (50, 50, false));
    own.users = vec!["ada".into(), "bob".into()];
    let make = ReservationStep::Make(Box::new(own));
    assert!(rig.order(0, Some("bob"), make.clone()).is_ok());
    let nobody = rig.order(0, None, make);
    assert_eq!(nobody, Err(ReservationRefusal::NotYours));
    for by in [None, Some("eve")] {
        let refused = Err(Reason::NotReserved);
        assert_eq!(rig.submit(1, (1, 1, 10, 10), Some(("a", by))), refused);
        let cancel = rig.order(1, by, ReservationStep::Cancel("a".into()));
        assert_eq!(cancel, Err(ReservationRefusal::NotYours));
    }
    let ada = rig.submit(1, (1, 1, 10, 10), Some(("a", Some("ada"))));
    assert_eq!(ada, Ok(()));
}

#[test]
fn jobs_end_with_their_reservation() {
    for (overrun, end) in [
        (Overrun::Kill, (150, Some(Reason::OverranReservation))),
        (Overrun::Delay, (170, None)),
    ] {
        let mut rig = Rig::new(cluster(4, DisciplineKind::EasyBackfill, overrun));
        assert_eq!(rig.make(0, wanted("a", 3, 100, (50, 50, false))), Ok(50));
        // Runs longer than estimated: in its reservation that is nobody else's business.
        rig.submit(0, (1, 2, 60, 120), IN_A).unwrap();
        // There is no room for these two before it is over.
        rig.submit(0, (2, 2, 60, 60), IN_A).unwrap();
        rig.submit(0, (3, 3, 10, 10), None).unwrap();
        assert_eq!(
            rig.submit(0, (4, 1, 101, 1), IN_A),
            Err(Reason::NotReserved)
        );
        assert_eq!(rig.submit(0, (5, 4, 10, 1), IN_A), Err(Reason::NotReserved));
        rig.submit(120, (6, 4, 5, 5), None).unwrap();
        rig.run_to(secs(5000));
        assert_eq!(rig.end(1), Some(end));
        assert_eq!(
            (rig.start(2), rig.end(2)),
            (None, Some((150, Some(Reason::NotReserved))))
        );
        assert_eq!(rig.start(6), Some(end.0));
    }
}

#[test]
fn a_flexible_one_gives_way_and_begins_when_the_queue_leaves_room() {
    let mut rig = Rig::new(cluster(4, DisciplineKind::EasyBackfill, Overrun::Kill));
    // As late as its window allows, begun as soon as it has opened and the queue leaves room.
    assert_eq!(rig.make(0, wanted("a", 4, 100, (100, 300, true))), Ok(300));
    let start = |rig: &Rig| rig.cluster.reservations("").next().unwrap().start;
    rig.submit(0, (1, 1, 10, 10), IN_A).unwrap();
    rig.submit(90, (2, 4, 20, 20), None).unwrap();
    rig.run_to(secs(120));
    assert_eq!(start(&rig), secs(110));
    assert_eq!((rig.start(2), rig.start(1)), (Some(90), Some(110)));
    // Moved for another that could not be made otherwise.
    rig.run_to(secs(1000));
    assert_eq!(
        rig.make(1000, wanted("a", 4, 100, (1100, 1300, true))),
        Ok(1300)
    );
    assert_eq!(
        rig.make(1000, wanted("b", 4, 100, (1350, 1350, false))),
        Ok(1350)
    );
    assert_eq!(start(&rig), secs(1100));
}

/// Whatever is asked for at random: processors are never oversubscribed, nobody else has what
/// is reserved, and every job ends.
#[test]
fn drawn_reservations_and_jobs_end_and_hold_what_they_promise() {
    let (mut granted, mut inside, mut vain) = (0, 0, 0);
    for seed in 0..300 {
        let mut rng = rng::stream(seed, "advance reservations");
        let mut below = |most: u64| rng.random_range(0..most);
        let kind = DisciplineKind::ALL[below(DisciplineKind::ALL.len() as u64) as usize];
        let overrun = [Overrun::Kill, Overrun::Delay][below(2) as usize];
        let resources = [Resources::homogeneous(8), mixed()][below(2) as usize].clone();
        let mut rig = Rig::new(cluster_of(resources, kind, overrun));
        let mut taken: Vec<u32> = Vec::new();
        let mut now = 0;
        for id in 1..120 {
            now += below(20);
            let name: Arc<str> = format!("r{}", below(4)).into();
            let draw = below(10);
            let requirements = Requirements {
                memory_kib: [0, 1024][(below(3) == 0) as usize],
                ..Requirements::default()
            };
            if draw < 2 {
                let from = now + below(100);
                let window = (from, from + below(200), below(2) == 0);
                let mut one = wanted(&name, 1 + below(8) as u32, 1 + below(300), window);
                one.requirements = requirements;
                if below(3) == 0 {
                    one.confirm_within = Some(SimDuration::from_secs(below(60)));
                }
                granted += u32::from(rig.make(now, one).is_ok());
            } else if draw == 3 {
                let step = [ReservationStep::Cancel, ReservationStep::Confirm];
                drop(rig.order(now, None, step[below(2) as usize](name)));
            } else {
                let estimate = 1 + below(40);
                let run_time = 1 + below(estimate + 5);
                let place = (draw < 7).then_some((&*name, None));
                let components = Components::one(1 + below(4) as u32, requirements);
                let job = JobSpec {
                    id: JobId(id),
                    requested_time: Some(SimDuration::from_secs(estimate)),
                    ..JobSpec::of(components, SimDuration::from_secs(run_time))
                };
                if rig.bring(now, &job, place).is_ok() {
                    taken.push(id);
                    inside += u32::from(place.is_some());
                }
            }
            let spare = rig.cluster.busy() + rig.free_inside() <= 8;
            assert!(spare || overrun == Overrun::Delay, "seed {seed} at {now}");
        }
        rig.run_to(SimTime::MAX);
        for job in taken {
            let end = rig.end(job);
            assert!(end.is_some(), "seed {seed}: {job}");
            vain += u32::from(end.unwrap().1 == Some(Reason::NotReserved));
        }
        assert_eq!(
            (rig.cluster.present(), rig.cluster.busy()),
            (0, 0),
            "seed {seed}"
        );
        assert_eq!(rig.cluster.reservations("").count(), 0, "seed {seed}");
        // All that was reserved has been given back.
        let whole = wanted("whole", 8, 1000, (1_000_000, 1_000_000, false));
        assert_eq!(rig.make(1_000_000, whole), Ok(1_000_000), "seed {seed}");
    }
    assert!(
        granted > 1000 && inside > 1000 && vain > 3,
        "{granted} {inside} {vain}"
    );
}
