//! Jobs that several clusters run together, by the virtual driver and by the reference.

use crate::grids::{by_driver_until, by_reference_until};
use crate::rules::{grid, ms, play, record, with};
use gridrig_core::cluster::{Overrun, Reserving};
use gridrig_core::event::Party;
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Component, Entry, JobSpec, Reason, Requirements, StartWindow};
use gridrig_core::message::EndState;
use gridrig_core::policy::Placement;
use gridrig_core::resource::Resources;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_simtest::checkers;
use gridrig_simtest::scenarios::{
    Scenario, co_allocating, grid_scenario, predicting, with_components, with_windows,
};
use gridrig_simtest::trail::{Step, Trails};
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

const D0: Entry = Entry::Domain(DomainId(0));

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
        for steps in &compared_to_the_end(seed, &scenario).jobs {
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

/// Policies that reserve for components.
const RESERVING: [&str; 6] = [
    "co-reservation(deviation=1ms,notice=200ms,within=10m)",
    "co-reservation(deviation=3s,notice=1s,within=10m)",
    "co-reservation(notice=300ms,within=10m,tries=2)",
    "co-reservation(deviation=700ms,notice=2s,within=30s,tries=1)",
    "co-reservation(search=exact,deviation=2s,notice=1s,within=2m,tries=4)",
    "co-reservation(search=exact,deviation=250ms,notice=5s,within=5m,tries=20)",
];

/// Time-outs, of which a scenario has one.
const SHORTER_THAN_SEARCHES: [u64; 5] = [300, 900, 1_700, 2_600, 5_000];

/// What becomes of jobs in such scenarios, in which both do the same, with long time-outs and
/// with shorter ones than searches.
fn turns_reached(of: fn(Scenario, Option<[u64; 5]>) -> Scenario) -> BTreeMap<String, u32> {
    let mut reached: BTreeMap<String, u32> = BTreeMap::new();
    for seed in crate::scenarios(SCENARIOS) {
        let scenario = of(grid_scenario(seed), None);
        for steps in &compared_to_the_end(seed, &scenario).jobs {
            for turn in turns_of_reserving(steps) {
                *reached.entry(turn).or_default() += 1;
            }
        }
        let scenario = of(grid_scenario(seed), Some(SHORTER_THAN_SEARCHES));
        let trails = compared(&scenario, SimTime::from_secs(60));
        for (_, step) in trails.jobs.iter().flatten() {
            if let Step::Started(..) | Step::Rejected(..) = step {
                let turn = format!("{} at time-outs", turn(step));
                *reached.entry(turn).or_default() += 1;
            }
        }
    }
    reached
}

fn assert_reached(reached: &BTreeMap<String, u32>, turns: &[(&str, u32)]) {
    for (turn, least) in turns {
        let times = reached.get(*turn).copied().unwrap_or(0);
        assert!(
            few() || times >= *least,
            "{turn}: {times} < {least}: {reached:#?}"
        );
    }
}

#[test]
fn brokers_reserve_for_components_as_the_reference_does() {
    let turns = [
        ("started on 1", 1_000),
        ("started on 2", 200),
        ("started on 3", 10),
        ("started by a later try", 200),
        ("started at time-outs", 1_000),
        ("refused service-lost", 200),
        ("not-reserved", 500),
        ("not-reserved at time-outs", 500),
        ("no-candidate", 20),
        ("tries-exhausted", 100),
        ("tries-exhausted at time-outs", 100),
        ("overran-reservation", 3),
        ("cancelled at a broker", 30),
        ("cancelled at an LRMS", 50),
    ];
    assert_reached(&turns_reached(reserving), &turns);
}

/// Policies that predict, and keep one reservation.
const KEEPING: [&str; 10] = [
    "earliest-completion(wait=recent)",
    "queue-length",
    "earliest-start(reserve=all,notice=200ms,within=10m)",
    "earliest-completion(reserve=all,notice=1s,run_times=corrected)",
    "earliest-start(candidates=2,reserve=all,notice=10ms,within=20s)",
    "earliest-completion(reserve=windows,wait=recent)",
    "earliest-start(candidates=3,reserve=all,wait=recent,within=3s)",
    "earliest-completion(candidates=2,reserve=windows,notice=100ms)",
    "earliest-completion(reserve=all,notice=300ms,within=1s)",
    "earliest-start(candidates=1,reserve=all,notice=1s,run_times=corrected)",
];

#[test]
fn brokers_keep_one_reservation_as_the_reference_does() {
    let turns = [
        ("started on 0", 2_000),
        ("started on 1", 1_000),
        ("started by a later try", 200),
        ("started at time-outs", 2_000),
        ("refused service-lost", 200),
        ("refused not-reserved", 200),
        ("refused queue-full", 100),
        ("not-reserved", 200),
        ("not-reserved at time-outs", 200),
        ("overran-reservation", 3),
        ("cancelled at a broker", 100),
        ("cancelled at an LRMS", 50),
    ];
    assert_reached(&turns_reached(keeping), &turns);
}

/// Whole, to the cluster, at that instant: in the scenario of this seed one does.
#[test]
fn a_job_may_come_as_its_reservation_is_given_back() {
    let seed = 3_767;
    compared_to_the_end(seed, &keeping(grid_scenario(seed), None));
    let hasty = keeping(grid_scenario(seed), Some(SHORTER_THAN_SEARCHES));
    compared(&hasty, SimTime::from_secs(60));
}

/// The same with a cluster that reserves.
fn where_one_reserves(mut scenario: Scenario, cluster: usize) -> Scenario {
    scenario.grid.clusters[cluster].config.reserving = Some(Reserving {
        overrun: Overrun::Kill,
        most_share: Decimal::ONE,
        longest: None,
        most_ahead: None,
    });
    scenario
}

/// Nothing is known of a neighbour but that it knows somebody: its own cluster is too small.
#[test]
fn a_job_that_no_cluster_here_reserves_for_goes_to_a_neighbour() {
    let scenario = grid("earliest-start(reserve=all)", &[&[4], &[1], &[4]]);
    let mut scenario = with(where_one_reserves(scenario, 2), D0, 0, 4, 10);
    for domain in &mut scenario.grid.domains {
        domain.broker.max_hops = 2;
    }
    scenario.submissions[0].spec.start_window = Some(Box::new(StartWindow {
        earliest: ms(50_000),
        latest: ms(60_000),
        flexible: false,
    }));
    let job = record(&play(&scenario), 0);
    assert_eq!(
        (job.cluster, job.start),
        (Some(ClusterId(2)), Some(ms(50_000)))
    );
}

/// At 20 s nothing is free before 31 s, and the neighbour gets the job and sends it back. At 35 s
/// it is to start at once, as it was first tried more than 10 s ago: it waits in the queue.
#[test]
fn within_counts_from_the_first_try_also_where_a_neighbour_has_refused_the_job() {
    let policy = "earliest-start(reserve=all,notice=1s,within=10s)";
    let mut scenario = where_one_reserves(grid(policy, &[&[4], &[4]]), 0);
    scenario.grid.links.truncate(1);
    scenario.grid.clusters[1].config.queue_limit = Some(0);
    let scenario = with(scenario, Entry::Cluster(ClusterId(0)), 0, 4, 40_000);
    let trails = play(&with(scenario, D0, 16_000, 4, 1_000));
    let job = record(&trails, 1);
    assert_eq!(
        (job.dispatch, job.start),
        (Some(ms(35_000)), Some(ms(40_000)))
    );
    let steps = trails.jobs[1].iter();
    assert!(
        !steps
            .map(|(_, step)| step)
            .any(|step| matches!(step, Step::Asked(..)))
    );
}

/// At 8 s it is known that the fast cluster has reserved from 20 s on. The slow one would have to
/// start the job before 10 s, and hears of nothing before 12 s.
#[test]
fn what_is_reserved_is_kept_where_nobody_else_can_be_asked_in_time() {
    let policy = "earliest-completion(reserve=all,notice=10ms)";
    let mut scenario = where_one_reserves(grid(policy, &[&[4, 4]]), 0);
    scenario.grid.domains[0].broker.lrms_latency = SimDuration::from_secs(4);
    let slow = &mut scenario.grid.clusters[1].config;
    let mut groups = slow.resources.groups().to_vec();
    groups[0].speed = Decimal::parse("0.5").expect("a number");
    slow.resources = Resources::new(groups).expect("some processors");
    let scenario = with(scenario, Entry::Cluster(ClusterId(0)), 0, 4, 20_000);
    let job = record(&play(&with(scenario, D0, 0, 4, 10_000)), 1);
    assert_eq!(
        (job.dispatch, job.start),
        (Some(ms(8_000)), Some(ms(20_000)))
    );
}

/// One cluster of 4 processors, which reserves, and a broker that does so in a second.
fn reserving_in_a_second() -> Scenario {
    where_one_reserves(grid("co-reservation(notice=1s,tries=1)", &[&[4]]), 0)
}

#[test]
fn a_job_that_may_be_tried_once_is_tried() {
    let trails = play(&with(reserving_in_a_second(), D0, 0, 2, 10));
    assert_eq!(record(&trails, 0).start, Some(ms(1_001)));
}

/// Two jobs of components of these sizes that come at once, on 6 processors that are asked over
/// 100 ms.
fn two_at_once(sizes: &[u32]) -> Trails {
    let scenario = grid("co-reservation(notice=1s,within=1h)", &[&[6]]);
    let mut scenario = where_one_reserves(scenario, 0);
    scenario.grid.domains[0].broker.lrms_latency = SimDuration::from_millis(100);
    for _ in 0..2 {
        scenario = with(scenario, D0, 0, sizes[0], 10_000);
        let added = scenario.submissions.last_mut().expect("it was added");
        let more = sizes[1..].iter().map(|processors| Component {
            processors: *processors,
            requirements: Requirements::default(),
            cluster: None,
        });
        added.spec.components.more = more.collect();
    }
    play(&scenario)
}

/// Each holds what the other one wants for its last component.
#[test]
fn jobs_that_search_at_once_do_not_keep_each_other_from_starting() {
    let trails = two_at_once(&[3, 3]);
    let starts = [0, 1].map(|job| record(&trails, job).start.expect("it starts"));
    assert!(
        starts[0] < ms(20_000) && starts[1] < ms(100_000),
        "{starts:?}"
    );
    // Each component has room here, all together have not: nobody is asked.
    let trails = two_at_once(&[3, 3, 1]);
    let ends = [0, 1].map(|job| record(&trails, job).end);
    assert_eq!(ends, [Some(EndState::Rejected(Reason::NoCandidate)); 2]);
}

/// It is asked for at 0.6 s, granted from 1.6 s on, and known to the broker at 1.2 s: nobody can
/// confirm it before it would start. A job overruns there since 1 s.
#[test]
fn nobody_is_ended_for_a_reservation_that_is_not_confirmed() {
    let cluster = Entry::Cluster(ClusterId(0));
    let mut scenario = with(reserving_in_a_second(), cluster, 0, 4, 20_000);
    scenario.submissions[0].spec.requested_time = Some(SimDuration::from_secs(1));
    scenario.grid.domains[0].broker.lrms_latency = SimDuration::from_millis(600);
    let scenario = with(scenario, D0, 0, 2, 10);
    let trails = play(&scenario);
    assert_eq!(record(&trails, 0).finish, Some(ms(20_000)));
    let rejected = Some(EndState::Rejected(Reason::TriesExhausted));
    assert_eq!(record(&trails, 1).end, rejected);
}

fn turn(step: &Step) -> String {
    match step {
        Step::Started(..) => "started".to_owned(),
        Step::Rejected(_, reason) | Step::Failed(_, reason) => reason.name().to_owned(),
        Step::Refused(.., reason) => format!("refused {}", reason.name()),
        Step::Cancelled(Party::Lrms(_)) => "cancelled at an LRMS".to_owned(),
        Step::Cancelled(_) => "cancelled at a broker".to_owned(),
        _ => String::new(),
    }
}

/// What became of a job for which a broker reserves.
fn turns_of_reserving(steps: &[(SimTime, Step)]) -> Vec<String> {
    let mut turns = Vec::new();
    let mut clusters = 0;
    let mut lost = false;
    for (_, step) in steps {
        match step {
            Step::Asked(..) => clusters += 1,
            // They would have begun before their clusters heard of that.
            Step::Refused(..) => (clusters, lost) = (0, true),
            Step::Started(..) if lost => turns.push("started by a later try".to_owned()),
            _ => {}
        }
        turns.push(match step {
            Step::Started(..) => format!("started on {clusters}"),
            step => turn(step),
        });
    }
    turns
}

/// The same where all brokers reserve.
fn reserving(scenario: Scenario, timeouts: Option<[u64; 5]>) -> Scenario {
    let mut scenario = claiming(scenario, timeouts);
    let mut rng = rng::stream(scenario.seed, "scenario.together.reserving");
    for domain in &mut scenario.grid.domains {
        let policy = RESERVING[rng.random_range(0..RESERVING.len())];
        domain.broker.policy = policy.parse().expect("a policy");
    }
    for cluster in &mut scenario.grid.clusters {
        let share = ["1", "1", "0.5"][rng.random_range(0..3)];
        cluster.config.reserving = Some(Reserving {
            overrun: Overrun::Kill,
            most_share: Decimal::parse(share).expect("a number"),
            longest: None,
            most_ahead: None,
        });
        cluster.config.slurm.bf_resolution = SimDuration::ZERO;
    }
    for submission in &mut scenario.submissions {
        let mut some = |millis: [u64; 3]| SimDuration::from_millis(millis[rng.random_range(0..3)]);
        let earliest = submission.at + some([0, 500, 20_000]);
        let latest = earliest + some([250, 5_000, 60_000]);
        let flexible = rng.random_range(0..2) == 0;
        submission.spec.start_window = (rng.random_range(0..3) == 0).then(|| {
            Box::new(StartWindow {
                earliest,
                latest,
                flexible,
            })
        });
    }
    scenario
}

/// The same where brokers predict, and reserve at clusters of which some do not: jobs of one
/// component or, in a third of them, also of several.
fn keeping(scenario: Scenario, timeouts: Option<[u64; 5]>) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.together.keeping");
    let mut scenario = predicting(with_windows(match rng.random_range(0..3) {
        0 => with_components(scenario),
        _ => scenario,
    }));
    // Peers are closed where no job has a window.
    let windows = rng.random_range(0..4) > 0;
    if windows {
        scenario.grid.hours.clear();
    }
    for domain in &mut scenario.grid.domains {
        let broker = &mut domain.broker;
        let policy = KEEPING[rng.random_range(0..KEEPING.len())];
        broker.policy = policy.parse().expect("a policy");
        let costs = &mut broker.co_allocation;
        let startup = [&[][..], &[700, 2_000]][rng.random_range(0..2)].iter();
        costs.startup = startup.map(|it| SimDuration::from_millis(*it)).collect();
        let times = [4, 7].map(SimDuration::from_secs).to_vec();
        let sizes = (1..5).filter_map(|size| Some((NonZeroU32::new(size)?, times.clone())));
        costs.run_times = [(NonZeroU32::MIN, sizes.collect())].into();
        costs.claim_timeout = SimDuration::from_millis(match timeouts {
            Some(timeouts) => timeouts[rng.random_range(0..5)],
            None => 15_000,
        });
    }
    for cluster in &mut scenario.grid.clusters {
        let config = &mut cluster.config;
        config.slurm.bf_resolution = SimDuration::ZERO;
        if let Some(reserving) = &mut config.reserving {
            reserving.overrun = Overrun::Kill;
        }
    }
    for submission in &mut scenario.submissions {
        let spec = &mut submission.spec;
        spec.executable = (rng.random_range(0..4) == 0).then_some(NonZeroU32::MIN);
        let keeps = windows && rng.random_range(0..3) > 0;
        spec.start_window = spec.start_window.take().filter(|_| keeps);
    }
    add_a_last_job(&mut scenario);
    scenario
}

/// Whether fewer scenarios are asked for.
fn few() -> bool {
    crate::scenarios(SCENARIOS).count() < SCENARIOS as usize
}

/// What both do until every job has ended, by the rules of all runs.
fn compared_to_the_end(seed: u64, scenario: &Scenario) -> Trails {
    let trails = compared(scenario, SimTime::from_secs(20_000));
    if let Err(text) = checkers::check_all(&scenario.grid, &scenario.submissions, &trails) {
        panic!("seed {seed}: {text}\n{scenario:#?}");
    }
    trails
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
