//! Agents of random grids on a network that loses, repeats and reorders
//! messages.

use gridrig_core::time::{SimDuration, SimTime};
use gridrig_simtest::checkers;
use gridrig_simtest::network::{Counts, Faults, Network};
use gridrig_simtest::scenarios::grid_scenario;
use gridrig_simtest::trail::{Step, Trails};

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 40;

/// Jobs that come by the same broker by two ways with as many hops: the second
/// time they were taken for a repetition, and lost.
const SAME_HOP: [u64; 2] = [2102, 2680];

/// No scenario has so much work; one that runs longer has lost a job.
const TOO_LATE: SimTime = SimTime::from_secs(20_000);

/// Runs that many scenarios under these faults; what went wrong in all of them.
fn jobs_end_once(faults: Faults) -> Counts {
    let mut all = Counts::default();
    for seed in (0..crate::scenarios(SCENARIOS)).chain(SAME_HOP) {
        let mut scenario = grid_scenario(seed);
        for domain in &mut scenario.grid.domains {
            // Agents go by what they are told.
            if domain.broker.policy.entry().name == "full-information" {
                domain.broker.policy = "queue-length".parse().expect("a policy");
            }
        }
        let (grid, jobs) = (&scenario.grid, &scenario.submissions);
        let removals = &scenario.cancellations;
        let network = Network::new(grid, jobs, removals, (seed, faults));
        let mut network = network.expect("no policy needs the truth");
        let trails = play(&mut network);
        for (job, steps) in trails.jobs.iter().enumerate() {
            let seen = steps.iter().filter(|(_, step)| is_seen(step)).count();
            assert_eq!(
                (ends(steps), seen),
                (1, 1),
                "seed {seed} job {job}: {steps:#?}"
            );
        }
        // The first rule wants the news of the end to come last, and it may be
        // repeated after it has arrived.
        for checker in &checkers::ALL[1..] {
            if let Err(what) = (checker.check)(grid, jobs, trails) {
                panic!("seed {seed}: {}: {what}", checker.rule);
            }
        }
        let counts = network.counts();
        all.lost += counts.lost;
        all.repeated += counts.repeated;
        all.overtaken += counts.overtaken;
        all.given_up += counts.given_up;
    }
    all
}

/// Lets a grid run until every job has been seen to end, and then until nothing
/// can be left of it.
fn play<'a>(network: &'a mut Network<'_>) -> &'a Trails {
    let slice = SimDuration::from_secs(60);
    let mut end = SimTime::ZERO + slice;
    network.run_until(end);
    let is_over = |trails: &Trails| {
        let mut jobs = trails.jobs.iter();
        jobs.all(|steps| steps.iter().any(|(_, step)| is_seen(step)))
    };
    while !is_over(network.trails()) && end < TOO_LATE {
        end += slice;
        network.run_until(end);
    }
    network.run_until(end + slice);
    network.trails()
}

fn is_seen(step: &Step) -> bool {
    matches!(step, Step::Seen(_))
}

fn ends(steps: &[(SimTime, Step)]) -> usize {
    let is_end = |step: &Step| {
        matches!(
            step,
            Step::Finished(_) | Step::Rejected(..) | Step::Cancelled(_) | Step::Failed(..)
        )
    };
    steps.iter().filter(|(_, step)| is_end(step)).count()
}

#[test]
fn without_faults_every_job_ends_once() {
    assert_eq!(jobs_end_once(Faults::default()), Counts::default());
}

#[test]
fn every_job_ends_once_however_often_messages_are_repeated_or_overtaken() {
    let counts = jobs_end_once(Faults {
        lost: 0,
        repeated: 4,
        overtaken: 4,
    });
    assert!(
        counts.repeated > 1000 && counts.overtaken > 1000,
        "{counts:?}"
    );
}

#[test]
fn every_job_ends_once_however_often_peers_are_lost_and_found() {
    let counts = jobs_end_once(Faults {
        lost: 2,
        repeated: 8,
        overtaken: 8,
    });
    assert!(counts.lost > 1000 && counts.given_up > 100, "{counts:?}");
}

#[test]
fn the_same_seed_has_the_same_faults_and_the_same_run() {
    let scenario = grid_scenario(1);
    let run = || -> Trails {
        let faults = Faults {
            lost: 3,
            repeated: 3,
            overtaken: 3,
        };
        let (grid, jobs) = (&scenario.grid, &scenario.submissions);
        let network = Network::new(grid, jobs, &scenario.cancellations, (7, faults));
        let mut network = network.unwrap();
        play(&mut network).clone()
    };
    assert_eq!(run(), run());
}
