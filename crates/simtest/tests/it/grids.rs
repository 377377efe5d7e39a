//! The virtual driver with core's machines, against the reference simulation.

use gridrig_core::broker::MatchmakingKind;
use gridrig_core::discipline::DisciplineKind::ShortestJobFirst;
use gridrig_core::event::Party;
use gridrig_core::time::SimTime;
use gridrig_drivers::virtual_time::{Cancellation, Options, run};
use gridrig_simtest::checkers;
use gridrig_simtest::reference::simulate;
use gridrig_simtest::scenarios::{
    Scenario, committing_late, exact_scenario, grid_scenario, matched, predicting, propagating,
    under, with_components, with_failures, with_generics, with_run_times,
};
use gridrig_simtest::trail::{Step, Trails};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 800;

/// No scenario has so much work; one that runs longer has lost a job.
const TOO_LATE: SimTime = SimTime::from_secs(20_000);

#[test]
fn the_virtual_driver_does_what_the_reference_simulation_does() {
    compare_all(SCENARIOS, grid_scenario);
}

#[test]
fn with_generic_resources_too() {
    compare_all(SCENARIOS / 2, |seed| with_generics(grid_scenario(seed)));
}

#[test]
fn with_jobs_of_several_components_too() {
    compare_all(SCENARIOS / 2, |seed| with_components(grid_scenario(seed)));
}

#[test]
fn with_the_shortest_job_first_too() {
    compare_all(SCENARIOS / 2, |seed| {
        under(ShortestJobFirst, grid_scenario(seed))
    });
}

#[test]
fn with_programs_whose_run_times_clusters_know_too() {
    compare_all(SCENARIOS / 2, |seed| with_run_times(grid_scenario(seed)));
}

#[test]
fn with_brokers_that_predict_too() {
    compare_all(SCENARIOS, |seed| predicting(grid_scenario(seed)));
    compare_all(SCENARIOS / 4, |seed| {
        predicting(propagating(exact_scenario(seed)))
    });
}

#[test]
fn with_information_that_is_passed_on_too() {
    compare_all(SCENARIOS, |seed| propagating(grid_scenario(seed)));
    compare_all(SCENARIOS / 4, |seed| {
        propagating(committing_late(with_failures(grid_scenario(seed))))
    });
}

#[test]
fn with_nodes_that_fail_too() {
    compare_all(SCENARIOS, |seed| with_failures(grid_scenario(seed)));
    let exact = |seed| with_failures(with_generics(exact_scenario(seed)));
    compare_all(SCENARIOS / 2, exact);
}

#[test]
fn under_every_matchmaking_too() {
    let mut said = BTreeMap::new();
    for kind in MatchmakingKind::ALL {
        compare_all(SCENARIOS / 16, |seed| matched(kind, grid_scenario(seed)));
        compare_all(SCENARIOS / 32, |seed| {
            with_failures(matched(kind, grid_scenario(seed)))
        });
        for seed in 0..SCENARIOS / 32 {
            let trails = by_driver(&matched(kind, grid_scenario(seed)));
            for (_, step) in trails.jobs.iter().flatten() {
                if let Step::Lease(what, ..) = step {
                    *said.entry(*what).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(
        said.len() == 5 && said.values().all(|times| *times > 20),
        "{said:?}"
    );
}

#[test]
fn with_brokers_that_commit_late_too() {
    let late = |seed| committing_late(grid_scenario(seed));
    compare_all(SCENARIOS, late);
    compare_all(SCENARIOS / 4, |seed| with_failures(late(seed)));
    compare_all(SCENARIOS / 4, |seed| with_components(late(seed)));
    let mut waited = 0;
    for seed in 0..SCENARIOS / 8 {
        let scenario = late(seed);
        for steps in &by_reference(&scenario).jobs {
            waited += waits_at_a_broker(&scenario, steps);
        }
    }
    assert!(waited > 300, "jobs waited at brokers {waited} times");
}

/// Cycles come and gone before a job was dispatched.
fn waits_at_a_broker(scenario: &Scenario, steps: &[(SimTime, Step)]) -> u64 {
    let waits = steps.windows(2).map(|pair| match pair {
        [(arrived, Step::Arrived(..)), (at, Step::Dispatched(by, _))] => {
            let broker = &scenario.grid.domains[by.index()].broker;
            let cycle = arrived.next_on_grid(broker.phase, broker.interval);
            u64::from(*at > cycle)
        }
        _ => 0,
    });
    waits.sum()
}

pub fn compare_all(scenarios: u64, of: impl Fn(u64) -> Scenario) {
    for seed in crate::scenarios(scenarios) {
        let scenario = of(seed);
        let reference = by_reference(&scenario);
        let real = by_driver(&scenario);
        if let Some(text) = reference.first_difference("reference", &real, "driver") {
            panic!("seed {seed}: {text}\n{scenario:#?}");
        }
        for trails in [&reference, &real] {
            if let Err(text) = checkers::check_all(&scenario.grid, &scenario.submissions, trails) {
                panic!("seed {seed}: {text}");
            }
        }
    }
}

#[test]
fn the_scenarios_reach_every_turn_of_the_rules() {
    let mut reached: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..SCENARIOS / 4 {
        let scenario = grid_scenario(seed);
        let trails = by_reference(&scenario);
        for (_, step) in trails.jobs.iter().flatten() {
            *reached.entry(turn(step)).or_default() += 1;
        }
        for (name, often) in cut_short(&trails) {
            *reached.entry(name.to_owned()).or_default() += often;
        }
        let times = reached.entry("forwarded when a peer opened".to_owned());
        *times.or_default() += waits_for_opening(&scenario, &trails);
    }
    let expected = [
        "arrived after 0 forwards",
        "arrived after 1 forwards",
        "arrived after 2 forwards",
        "arrived after 3 forwards",
        "cancelled as it came back",
        "cancelled as its data left",
        "cancelled by broker",
        "cancelled by lrms",
        "forwarded when a peer opened",
        "refused by broker all-refused",
        "refused by broker no-candidate",
        "refused by lrms queue-full",
        "rejected by broker all-refused",
        "rejected by broker no-candidate",
        "rejected by lrms never-fits",
        "rejected by lrms queue-full",
        "started on many nodes",
        "started on one node",
    ];
    for name in expected {
        assert!(
            reached.get(name).is_some_and(|times| *times >= 3),
            "\"{name}\" is not reached three times: {reached:#?}"
        );
    }
}

/// Jobs that were removed while they were under way between brokers.
fn cut_short(trails: &Trails) -> [(&'static str, u32); 2] {
    let (mut leaving, mut back) = (0, 0);
    for pair in trails.jobs.iter().flat_map(|steps| steps.windows(2)) {
        let [(_, before), (_, Step::Cancelled(Party::Broker(by)))] = pair else {
            continue;
        };
        match before {
            Step::Forwarded(from, _) => leaving += u32::from(from == by),
            Step::Refused(_, to, _) => back += u32::from(*to == Party::Broker(*by)),
            _ => {}
        }
    }
    [
        ("cancelled as its data left", leaving),
        ("cancelled as it came back", back),
    ]
}

/// Forwards later than the cycle that comes first: the job waited until a peer
/// opened.
fn waits_for_opening(scenario: &Scenario, trails: &Trails) -> u32 {
    let mut times = 0;
    for steps in &trails.jobs {
        for pair in steps.windows(2) {
            if let [(before, Step::Arrived(..)), (at, Step::Forwarded(from, _))] = pair {
                let interval = scenario.grid.domains[from.index()].broker.interval;
                let phase = scenario.grid.domains[from.index()].broker.phase;
                times += u32::from(*at > before.next_on_grid(phase, interval));
            }
        }
    }
    times
}

/// A name for what a step shows of the rules.
fn turn(step: &Step) -> String {
    let who = |party: &Party| match party {
        Party::Client => "client",
        Party::Broker(_) => "broker",
        Party::Lrms(_) => "lrms",
    };
    match step {
        Step::Arrived(_, hop) => format!("arrived after {hop} forwards"),
        Step::Cancelled(by) => format!("cancelled by {}", who(by)),
        Step::Refused(by, _, reason) => format!("refused by {} {}", who(by), reason.name()),
        Step::Rejected(by, reason) => format!("rejected by {} {}", who(by), reason.name()),
        Step::Started(_, nodes) if nodes.len() == 1 => "started on one node".to_owned(),
        Step::Started(..) => "started on many nodes".to_owned(),
        _ => "other".to_owned(),
    }
}

pub fn by_reference(scenario: &Scenario) -> Trails {
    by_reference_until(scenario, TOO_LATE)
}

pub fn by_reference_until(scenario: &Scenario, until: SimTime) -> Trails {
    let (grid, submissions) = (&scenario.grid, &scenario.submissions);
    simulate(
        grid,
        submissions,
        &scenario.cancellations,
        scenario.seed,
        until,
    )
}

pub fn by_driver(scenario: &Scenario) -> Trails {
    by_driver_until(scenario, TOO_LATE)
}

pub fn by_driver_until(scenario: &Scenario, until: SimTime) -> Trails {
    let cancellations: Vec<Cancellation> = scenario
        .cancellations
        .iter()
        .map(|c| Cancellation {
            at: c.at,
            job: c.job,
        })
        .collect();
    let options = Options {
        seed: scenario.seed,
        stop_at: Some(until),
        cancellations: &cancellations,
        ..Options::default()
    };
    let mut trails = Trails::new(scenario.submissions.len());
    run(
        &scenario.grid,
        &scenario.submissions,
        &options,
        &mut trails,
        |_, _| ControlFlow::Continue(()),
    );
    trails
}
