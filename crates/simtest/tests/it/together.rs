//! Jobs that several clusters run together, by the virtual driver and by the reference.

use crate::grids::{by_driver_until, by_reference_until};
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::{Entry, JobSpec, Reason};
use gridrig_core::policy::Placement;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_simtest::checkers;
use gridrig_simtest::scenarios::{Scenario, co_allocating, grid_scenario};
use gridrig_simtest::trail::{Step, Trails};
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 200;

/// More policies, beside those that place components in the scenarios under faults.
const POLICIES: [&str; 5] = [
    "worst-fit(tries=2)",
    "close-to-files(tries=3)",
    "cluster-minimization(quota=0.5,tries=9)",
    "flexible-cluster-minimization(least_component=2)",
    "flexible-cluster-minimization(quota=0.9,least_component=3,most_components=3)",
];

#[test]
fn brokers_place_components_as_the_reference_does() {
    let mut reached: BTreeMap<String, u32> = BTreeMap::new();
    for seed in crate::scenarios(SCENARIOS) {
        let scenario = claiming(grid_scenario(seed), None);
        let trails = compared(&scenario, SimTime::from_secs(20_000));
        if let Err(text) = checkers::check_all(&scenario.grid, &scenario.submissions, &trails) {
            panic!("seed {seed}: {text}\n{scenario:#?}");
        }
        for steps in &trails.jobs {
            let asked = steps.iter().filter(|(_, it)| matches!(it, Step::Asked(..)));
            let clusters = asked.count();
            for (_, step) in steps {
                let turn = match step {
                    Step::Started(..) if clusters > 1 => "started together".to_owned(),
                    Step::Rejected(_, reason) => reason.name().to_owned(),
                    Step::Cancelled(Party::Lrms(_)) if clusters > 1 => "cancelled".to_owned(),
                    _ => continue,
                };
                *reached.entry(turn).or_default() += 1;
            }
        }
    }
    let tries = Reason::TriesExhausted.name();
    for turn in ["started together", "cancelled", tries, "no-candidate"] {
        assert!(few() || reached.get(turn) > Some(&5), "{turn}: {reached:?}");
    }
}

/// As if messages were lost: clusters and brokers wait for each other for less than these take.
#[test]
fn parts_are_let_go_of_at_time_outs_as_by_the_reference() {
    let (mut in_vain, mut put_back) = (0, 0);
    for seed in crate::scenarios(SCENARIOS) {
        let scenario = claiming(grid_scenario(seed), Some([2, 400, 900, 1_700, 2_600]));
        let trails = compared(&scenario, SimTime::from_secs(60));
        for (_, step) in trails.jobs.iter().flatten() {
            in_vain += i32::from(matches!(step, Step::LetGo(_)));
            in_vain -= i32::from(matches!(step, Step::Finished(_)));
            put_back += i32::from(matches!(step, Step::Refused(_, _, Reason::ServiceLost)));
        }
    }
    let text = format!("{in_vain} parts held in vain, {put_back} jobs put back");
    assert!(few() || in_vain > 1_000 && put_back > 1_000, "{text}");
}

/// Whether fewer scenarios are asked for.
fn few() -> bool {
    crate::scenarios(SCENARIOS).count() < SCENARIOS as usize
}

/// Both do the same until then.
fn compared(scenario: &Scenario, until: SimTime) -> Trails {
    let reference = by_reference_until(scenario, until);
    let real = by_driver_until(scenario, until);
    if let Some(text) = reference.first_difference("reference", &real, "driver") {
        panic!("seed {}: {text}\n{scenario:#?}", scenario.seed);
    }
    real
}

/// The same where components are placed at once, under more of the parameters; with one of these
/// time-outs no job starts before all clusters have heard of it, so that none starts in parts.
pub fn claiming(scenario: Scenario, timeouts: Option<[u64; 5]>) -> Scenario {
    let mut scenario = co_allocating(scenario);
    let mut rng = rng::stream(scenario.seed, "scenario.together.claiming");
    for domain in &mut scenario.grid.domains {
        let broker = &mut domain.broker;
        let reserves = broker.policy.placement().is_some_and(Placement::reserves);
        if reserves || rng.random_range(0..3) == 0 {
            let policy = POLICIES[rng.random_range(0..POLICIES.len())];
            broker.policy = policy.parse().expect("a policy");
        }
        let costs = &mut broker.co_allocation;
        let contention = ["0", "0.5", "1.3"][rng.random_range(0..3)];
        costs.startup_contention = Decimal::parse(contention).expect("a number");
        let times = [4, 7].map(SimDuration::from_secs).to_vec();
        let sizes = (1..5).filter_map(|size| Some((NonZeroU32::new(size)?, times.clone())));
        costs.run_times = [(NonZeroU32::MIN, sizes.collect())].into();
        if let Some(timeouts) = timeouts {
            costs.startup = [2_500, 3_000].map(SimDuration::from_millis).to_vec();
            costs.claim_timeout = SimDuration::from_millis(timeouts[rng.random_range(0..5)]);
        }
    }
    for cluster in &mut scenario.grid.clusters {
        cluster.config.reserving = None;
    }
    for submission in &mut scenario.submissions {
        submission.spec.start_window = None;
        let has_program = rng.random_range(0..4) == 0;
        submission.spec.executable = has_program.then_some(NonZeroU32::MIN);
    }
    add_a_last_job(&mut scenario);
    scenario
}

/// Until it comes it is seen what becomes of the parts of jobs that were removed.
fn add_a_last_job(scenario: &mut Scenario) {
    let mut last = scenario.submissions.last().expect("a job").clone();
    let id = JobId(scenario.submissions.len() as u32);
    last.spec = JobSpec::rigid(id, 1, SimDuration::ZERO);
    last.at += SimDuration::from_secs(60);
    last.entry = Entry::Cluster(ClusterId(0));
    scenario.submissions.push(last);
}
