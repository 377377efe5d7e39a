//! Peers that are away for so long that they are given up.

use gridrig_core::event::{Event, EventKind, EventSink};
use gridrig_core::faults::FaultPlan;
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::virtual_time::{Options, run_with_faults};
use gridrig_simtest::faults::Draw;
use gridrig_simtest::services::scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Whatever is known of a job is known by then.
const LATE: SimTime = SimTime::from_secs(1_000);

/// How often each thing happened to each job.
#[derive(Default)]
struct Told(BTreeMap<(EventKind, JobId), u32>);

impl EventSink for Told {
    fn emit(&mut self, _: SimTime, event: Event<'_>) {
        if let Some(job) = event.job {
            *self.0.entry((event.kind, job)).or_default() += 1;
        }
    }
}

impl Told {
    fn times(&self, kind: EventKind, job: JobId) -> u32 {
        self.0.get(&(kind, job)).copied().unwrap_or(0)
    }
}

#[test]
fn touch_is_lost_with_jobs_of_a_peer_that_is_given_up_and_none_runs_twice() {
    let (mut lost, mut ended_all_the_same) = (0, 0);
    for seed in crate::scenarios(40) {
        let scenario = scenario(seed);
        let mut plan = FaultPlan {
            heartbeat: SimDuration::from_secs(1),
            give_up: SimDuration::from_secs(1),
            ..FaultPlan::default()
        };
        let mut draw = Draw::new(&scenario);
        (0..3).for_each(|_| draw.silence(&mut plan));
        let options = Options {
            seed,
            stop_at: Some(LATE),
            cancellations: &[],
            ..Options::default()
        };
        let (grid, jobs) = (&scenario.grid, &scenario.submissions);
        let go_on = |_, _| ControlFlow::Continue(());
        let mut told = Told::default();
        let outcome = run_with_faults(grid, jobs, &options, &plan, &mut told, go_on);
        outcome.expect("no policy needs the truth");
        let ids: BTreeSet<JobId> = jobs.iter().map(|one| one.spec.id).collect();
        for job in ids {
            let times = |kind| told.times(kind, job);
            let ends = [EventKind::Finished, EventKind::Rejected, EventKind::Failed];
            let ends: u32 = ends.into_iter().map(times).sum();
            let is_lost = times(EventKind::LostTouch) > 0;
            assert!(
                ends == 1 || ends == 0 && is_lost,
                "seed {seed} {job}: {ends} ends"
            );
            assert!(
                times(EventKind::Started) <= 1,
                "seed {seed} {job} ran twice"
            );
            lost += u32::from(is_lost);
            ended_all_the_same += u32::from(is_lost && ends == 1);
        }
    }
    assert!(
        lost > 20 && ended_all_the_same > 10,
        "{lost} {ended_all_the_same}"
    );
}
