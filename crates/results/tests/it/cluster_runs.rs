//! Logs that the cluster model itself tells are in order, however they are
//! cut up and brought together again.

use gridrig_core::cluster::{Cluster, ClusterConfig};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Requirements, Submission};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_results::{AuditFacts, EventLog, audit};
use proptest::prelude::*;

const CLUSTER: ClusterId = ClusterId(0);

fn grid() -> Grid {
    let group = |count, cpu_count, memory_mib, speed: &str| Resource {
        name: None,
        count,
        cpu_count,
        architecture: None,
        os: None,
        memory_mib,
        disk_mib: None,
        speed: Decimal::parse(speed).unwrap(),
        generic: Default::default(),
    };
    let groups = vec![group(3, 4, Some(8), "1"), group(5, 2, None, "1.5")];
    let resources = Resources::new(groups).unwrap();
    let config = ClusterConfig::new(CLUSTER, resources, DisciplineKind::FirstInFirstFit);
    Grid::single_cluster("x", config)
}

prop_compose! {
    fn job()(gap in 0u64..4, processors in 1u32..=12, run_time in 0u64..30, memory in 0u64..3) -> (u64, JobSpec) {
        let mut spec = JobSpec::rigid(JobId(0), processors, SimDuration::from_secs(run_time));
        spec.components.first.requirements = Requirements { memory_kib: memory * 1024, ..Requirements::default() };
        (gap, spec)
    }
}

fn submissions(jobs: Vec<(u64, JobSpec)>) -> Vec<Submission> {
    let mut now = 0;
    let mut all = Vec::new();
    for (id, (gap, mut spec)) in (0..).zip(jobs) {
        now += gap;
        spec.id = JobId(id);
        all.push(Submission {
            spec,
            at: SimTime::from_secs(now),
            entry: Entry::Cluster(CLUSTER),
            label: JobLabel::default(),
        });
    }
    all
}

/// Runs the jobs; the replayer and the cluster keep logs of their own.
fn run(grid: &Grid, jobs: &[Submission]) -> [EventLog; 2] {
    let mut cluster = Cluster::new(grid.clusters[0].config.clone());
    let (mut replayer, mut lrms) = (EventLog::default(), EventLog::default());
    let mut waiting = jobs.iter().peekable();
    let mut done = Vec::new();
    loop {
        let arrival = waiting.peek().map(|job| job.at);
        let Some(now) = [cluster.poll_timeout(), arrival]
            .into_iter()
            .flatten()
            .min()
        else {
            return [replayer, lrms];
        };
        cluster.handle_completions(now, &mut lrms, &mut done);
        for end in done.drain(..) {
            let (job, from, to) = (end.job, Party::Lrms(CLUSTER), Party::Client);
            lrms.emit(now, Event::new(EventKind::Notified, job, from).to(to));
            replayer.emit(now, Event::new(EventKind::FinishSeen, job, to));
        }
        while let Some(next) = waiting.next_if(|job| job.at <= now) {
            let job = next.spec.id;
            replayer.emit(
                now,
                Event::new(EventKind::Submitted, job, Party::Client)
                    .to(next.entry)
                    .at(next.at),
            );
            if let Err(reason) = cluster.submit(now, &next.spec, &mut lrms) {
                let by = Party::Lrms(CLUSTER);
                lrms.emit(
                    now,
                    Event::new(EventKind::Rejected, job, by).because(reason),
                );
            }
        }
        cluster.handle_pass(now, &mut lrms);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_of_the_model_passes_the_audit(jobs in prop::collection::vec(job(), 0..60), swap: bool) {
        let (grid, jobs) = (grid(), submissions(jobs));
        let [replayer, lrms] = run(&grid, &jobs);
        let told = replayer.len() + lrms.len();
        let (mut log, other) = if swap { (lrms, replayer) } else { (replayer, lrms) };
        other.records().for_each(|(at, event)| log.emit(at, event));
        log.sort();
        prop_assert!(log.is_sorted());
        prop_assert_eq!(log.len(), told);
        if let Err(violations) = audit(&log, &AuditFacts::new(&grid, &jobs)) {
            prop_assert!(false, "{}", violations[0]);
        }
    }
}
