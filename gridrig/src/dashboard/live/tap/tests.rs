//! Counting, event by event.

use super::*;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{Domain, GridCluster};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::Resources;

const C: ClusterId = ClusterId(0);

fn tap(jobs: usize) -> Tap {
    let mut grid = Grid::default();
    for name in ["a", "b"] {
        let clusters = match name {
            "a" => vec![C],
            _ => Vec::new(),
        };
        grid.domains.push(Domain {
            name: name.to_owned(),
            broker: gridrig_core::grid::BrokerSettings::default(),
            clusters,
            topology: Default::default(),
        });
    }
    grid.clusters.push(GridCluster {
        name: "a1".to_owned(),
        domain: Some(DomainId(0)),
        config: ClusterConfig::new(C, Resources::homogeneous(8), DisciplineKind::Fcfs),
    });
    Tap::new(&grid, jobs, SimTime::from_secs(100), SimDuration::ZERO)
}

fn at(tap: &mut Tap, second: u64, event: Event<'_>) {
    tap.emit(SimTime::from_secs(second), event);
}

fn run_job(tap: &mut Tap, job: JobId, times: [u64; 5]) {
    let placement = [PlacementRun {
        resource: 0,
        node: 0,
        nodes: 2,
        processors: 3,
    }];
    let (entry, intended) = (Entry::Domain(DomainId(0)), SimTime::ZERO);
    at(
        tap,
        times[0],
        Event::new(EventKind::Submitted, job, Party::Client)
            .to(entry)
            .at(intended),
    );
    at(tap, times[1], Event::new(EventKind::Queued, job, C));
    assert_eq!(tap.clusters[0].queued, 1);
    let placement = &placement;
    at(
        tap,
        times[2],
        Event::new(EventKind::Started, job, C).on(placement),
    );
    assert_eq!((tap.clusters[0].busy, tap.clusters[0].queued), (6, 0));
    at(tap, times[3], Event::new(EventKind::Finished, job, C));
    at(
        tap,
        times[4],
        Event::new(EventKind::FinishSeen, job, Party::Broker(DomainId(0))),
    );
}

#[test]
fn a_lease_goes_from_the_first_that_delegated_to_where_the_job_entered() {
    use EventKind::{Delegated, LeaseRejected, LeaseRequested, Released};
    let mut tap = tap(2);
    let mut said = |kind, by: u16, to: u16| {
        at(
            &mut tap,
            1,
            Event::new(kind, JobId(0), DomainId(by)).to(DomainId(to)),
        );
        tap.leases.pairs().collect::<Vec<_>>()
    };
    // 1 asks 2 in vain and 3, which asks 4.
    for (kind, by, to) in [
        (LeaseRequested, 1, 2),
        (LeaseRejected, 2, 1),
        (LeaseRequested, 1, 3),
        (LeaseRequested, 3, 4),
        (Delegated, 4, 3),
    ] {
        assert_eq!(said(kind, by, to), []);
    }
    assert_eq!(said(Delegated, 3, 1), [(4, 1, 1, 1)]);
    assert_eq!(said(Released, 1, 3), [(4, 1, 0, 1)]);
    assert_eq!(said(Released, 3, 4), [(4, 1, 0, 1)]);
}

#[test]
fn a_job_counts_in_one_place_at_a_time() {
    let mut tap = tap(2);
    run_job(&mut tap, JobId(0), [1, 3, 3, 10, 11]);
    run_job(&mut tap, JobId(1), [20, 22, 30, 40, 45]);
    let counts = tap.counts;
    assert_eq!((counts.submitted, counts.finished, counts.seen), (2, 2, 2));
    assert_eq!((counts.started, counts.waited), (2, 1));
    assert_eq!(
        (counts.queued, counts.running, counts.with_brokers()),
        (0, 0, 0)
    );
    assert_eq!(tap.clusters[0].busy, 0);
    // 11 - 1 - 7 = 3 s and 45 - 20 - 10 = 15 s.
    assert_eq!(tap.delays.mean(), Some(9e9));
    assert_eq!(tap.lags.len(), 2);
}

#[test]
fn a_job_that_never_ran_has_no_delay_and_leaves_no_trace() {
    let mut tap = tap(2);
    let (job, by) = (JobId(0), Party::Broker(DomainId(0)));
    let (entry, intended) = (Entry::Domain(DomainId(0)), SimTime::ZERO);
    at(
        &mut tap,
        1,
        Event::new(EventKind::Submitted, job, Party::Client)
            .to(entry)
            .at(intended),
    );
    let (from, to) = (DomainId(0), DomainId(1));
    at(
        &mut tap,
        2,
        Event::new(EventKind::Forwarded, job, from).to(to),
    );
    at(
        &mut tap,
        3,
        Event::new(EventKind::Forwarded, job, to).to(from),
    );
    let reason = Reason::NoCandidate;
    at(
        &mut tap,
        4,
        Event::new(EventKind::Rejected, job, by).because(reason),
    );
    at(&mut tap, 4, Event::new(EventKind::FinishSeen, job, by));
    let counts = tap.counts;
    assert_eq!((counts.rejected, counts.forwarded), (1, 1));
    assert_eq!((tap.forwards(from, to), tap.delays.len()), (1, 0));
    let job = JobId(1);
    at(
        &mut tap,
        5,
        Event::new(EventKind::Submitted, job, Party::Client)
            .to(entry)
            .at(intended),
    );
    at(&mut tap, 6, Event::new(EventKind::Queued, job, C));
    at(
        &mut tap,
        7,
        Event::new(EventKind::Cancelled, job, Party::Lrms(C)),
    );
    assert_eq!((tap.counts.queued, tap.clusters[0].queued), (0, 0));
    // A job that is not of the run harms nobody.
    at(
        &mut tap,
        8,
        Event::new(EventKind::Finished, JobId(9), ClusterId(9)),
    );
}

#[test]
fn the_history_has_a_row_at_every_instant_of_its_grid_and_one_at_the_end() {
    let mut tap = tap(1);
    run_job(&mut tap, JobId(0), [1, 2, 2, 60, 60]);
    tap.close(SimTime::from_secs(100));
    let rows = tap.history.rows(0);
    let steps: Vec<f64> = rows
        .windows(2)
        .map(|pair| pair[1][0] - pair[0][0])
        .collect();
    let inner = &steps[..steps.len() - 1];
    assert!(
        inner.iter().all(|step| (step - inner[0]).abs() < 1e-6),
        "{steps:?}"
    );
    let running = rows.iter().filter(|row| row[3] > 0.0).count() as f64 * inner[0];
    assert!((running - 58.0).abs() <= inner[0], "{running}");
    assert_eq!(rows.last().unwrap()[0], 100.0);
}

#[test]
fn information_is_told_by_whom_to_whom() {
    let mut tap = tap(0);
    let (a, b) = (DomainId(0), DomainId(1));
    let (from, to) = (Party::Broker(a), Party::Broker(b));
    // The log counts these, and is asked.
    at(
        &mut tap,
        3,
        Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
    );
    assert_eq!((tap.events(), tap.told(a.into(), b.into())), (0, None));
    let mut log = gridrig_results::EventLog::default();
    log.emit(
        SimTime::ZERO,
        Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
    );
    let from = Party::Lrms(C);
    for second in [0, 15] {
        let to = Party::Broker(a);
        log.emit(
            SimTime::from_secs(second),
            Event::new(EventKind::InfoSent, None::<JobId>, from).to(to),
        );
    }
    for _ in 0..2 {
        tap.inform(log.info_messages());
        assert_eq!(tap.events(), 3, "looking again counts nothing twice");
    }
    assert_eq!(tap.told(a.into(), b.into()), Some(SimTime::ZERO));
    assert_eq!(tap.told(b.into(), a.into()), None);
    assert_eq!(tap.clusters[0].sampled, Some(SimTime::from_secs(15)));
}
