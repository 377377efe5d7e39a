//! Services of random grids under plans of faults.

use gridrig_core::agent::{Memory, Patience};
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan, LinkFaults, Rates};
use gridrig_core::grid::Grid;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_drivers::faults::FaultCounts;
use gridrig_simtest::faults::Draw;
use gridrig_simtest::minimal::checked;
use gridrig_simtest::scenarios::{Scenario, committing_late, propagating};
use gridrig_simtest::services::{self, scenario};
use gridrig_simtest::trail::Step;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 40;

/// Jobs that come by the same broker by two ways with as many hops: the second
/// time they were taken for a repetition, and lost. Then jobs that were removed by
/// a request of which no answer came: they were submitted, and ran, once more. Then
/// one with a request to remove a job that went round between two brokers for ever.
const ONCE_WRONG: [u64; 5] = [2102, 2680, 2242, 2663, 2395];

/// An LRMS is brought a job again that it has turned away, with fewer forwards
/// than before: it took the name to be another job's.
const BACK_AT_AN_LRMS: u64 = 1134;

/// A scenario with brokers that keep jobs until there is room for them.
fn late(seed: u64) -> Scenario {
    committing_late(scenario(seed))
}

/// Runs that many scenarios under these faults, each with what `add` draws;
/// what went wrong in all of them.
fn jobs_end_once(faults: &FaultPlan, add: impl Fn(&mut Draw<'_>, &mut FaultPlan)) -> FaultCounts {
    jobs_of_end_once(scenario, faults, add)
}

fn jobs_of_end_once(
    scenario: fn(u64) -> Scenario,
    faults: &FaultPlan,
    add: impl Fn(&mut Draw<'_>, &mut FaultPlan),
) -> FaultCounts {
    let mut all = FaultCounts::default();
    for seed in crate::scenarios(SCENARIOS).chain(ONCE_WRONG) {
        let scenario = scenario(seed);
        let mut plan = faults.clone();
        add(&mut Draw::new(&scenario), &mut plan);
        let counts = checked(&scenario, &plan, |scenario, plan| {
            let ran = services::run(scenario, plan);
            services::check(scenario, plan, &ran);
            ran.counts
        });
        all.lost += counts.lost;
        all.repeated += counts.repeated;
        all.overtaken += counts.overtaken;
        all.cut += counts.cut;
        all.given_up += counts.given_up;
        all.restarted += counts.restarted;
    }
    all
}

/// These faults between all services.
fn everywhere(rates: Rates) -> FaultPlan {
    FaultPlan {
        links: vec![LinkFaults::everywhere(rates)],
        ..FaultPlan::default()
    }
}

fn nothing_more(_: &mut Draw<'_>, _: &mut FaultPlan) {}

#[test]
fn where_nothing_fails_services_do_what_brokers_and_lrmss_do_by_themselves() {
    let ordinary = crate::scenarios(200).chain([BACK_AT_AN_LRMS]).map(scenario);
    let propagate = crate::scenarios(200).map(|seed| propagating(scenario(seed)));
    for mut scenario in ordinary
        .chain(crate::scenarios(200).map(late))
        .chain(propagate)
    {
        let seed = scenario.seed;
        let Grid { domains, links, .. } = &mut scenario.grid;
        for (index, domain) in domains.iter_mut().enumerate() {
            // A broker tells its peers what its LRMSs tell it, so it has to know
            // it no later than they.
            let to_peers = links.iter().filter(|link| link.provider.index() == index);
            let least = to_peers.map(|link| link.latency).min();
            let latency = &mut domain.broker.lrms_latency;
            *latency = least.map_or(*latency, |least| least.min(*latency));
        }
        // A service asks for the removal of a job with data only when the
        // receiver has confirmed to have it.
        let jobs = &scenario.submissions;
        let has_no_data = |job: usize| jobs[job].spec.data_kib == 0;
        scenario
            .cancellations
            .retain(|removal| has_no_data(removal.job.index()));
        let ran = services::run(&scenario, &FaultPlan::default());
        assert_eq!(ran.counts, FaultCounts::default());
        let plain = crate::grids::by_driver(&scenario);
        for submission in &scenario.submissions {
            let job = submission.spec.id;
            let (agents, plain) = (ran.trails.record(job), plain.record(job));
            assert_eq!(agents, plain, "seed {seed} {job}");
        }
    }
}

#[test]
fn every_job_ends_once_however_often_messages_are_repeated_or_overtaken() {
    let faults = everywhere(Rates {
        repeated: Chance::once_in(4),
        overtaken: Chance::once_in(4),
        jitter: SimDuration::from_millis(300),
        ..Rates::default()
    });
    let counts = jobs_end_once(&faults, nothing_more);
    assert!(
        counts.repeated > 1000 && counts.overtaken > 1000,
        "{counts:?}"
    );
}

#[test]
fn every_job_ends_once_however_often_peers_are_lost_and_found() {
    let faults = everywhere(Rates {
        lost: Chance::once_in(2),
        repeated: Chance::once_in(8),
        overtaken: Chance::once_in(8),
        ..Rates::default()
    });
    let counts = jobs_end_once(&faults, nothing_more);
    assert!(counts.lost > 1000 && counts.given_up > 100, "{counts:?}");
}

#[test]
fn every_job_ends_once_when_brokers_find_no_way_to_each_other_for_a_time() {
    let counts = jobs_end_once(&FaultPlan::default(), |draw, plan| {
        (0..3).for_each(|_| draw.partition(plan));
    });
    assert!(counts.cut > 100, "{counts:?}");
}

#[test]
fn every_job_ends_once_when_a_broker_is_silent_for_a_time() {
    let counts = jobs_end_once(&FaultPlan::default(), |draw, plan| {
        (0..2).for_each(|_| draw.silence(plan));
    });
    assert!(counts.cut > 100, "{counts:?}");
}

#[test]
fn every_job_ends_once_when_brokers_are_started_anew_and_have_forgotten_it() {
    let counts = jobs_end_once(&FaultPlan::default(), |draw, plan| {
        draw.restarts(plan, 2);
    });
    assert!(counts.restarted > 40, "{counts:?}");
}

#[test]
fn every_job_ends_once_when_brokers_have_forgotten_that_they_removed_it() {
    let counts = jobs_end_once(&FaultPlan::default(), |draw, plan| {
        draw.forgotten_removals(plan, 3);
    });
    assert!(counts.restarted > 20, "{counts:?}");
}

#[test]
fn every_job_ends_once_however_often_any_brokers_are_started_anew_with_their_journals() {
    let counts = jobs_end_once(&FaultPlan::default(), |draw, plan| {
        draw.stops(plan, 6, Some(Memory::Journal));
    });
    assert!(counts.restarted > 100, "{counts:?}");
    let counts = jobs_end_once(&all_together(), |draw, plan| {
        draw.partition(plan);
        draw.silence(plan);
        draw.stops(plan, 4, Some(Memory::Journal));
    });
    assert!(counts.cut > 100 && counts.restarted > 50, "{counts:?}");
}

#[test]
fn a_broker_with_a_journal_goes_on_as_one_does_that_only_stood_still() {
    for seed in crate::scenarios(SCENARIOS) {
        let scenario = scenario(seed);
        let run = |memory| {
            let mut plan = all_together();
            Draw::new(&scenario).stops(&mut plan, 4, memory);
            services::run(&scenario, &plan)
        };
        let (restarted, stood_still) = (run(Some(Memory::Journal)), run(None));
        assert!(restarted == stood_still, "seed {seed}");
    }
}

/// Everything that happens to messages, on a clock that is faster than the wall's.
fn all_together() -> FaultPlan {
    let rates = Rates {
        lost: Chance::once_in(10),
        repeated: Chance::once_in(10),
        overtaken: Chance::once_in(10),
        delay: SimDuration::from_millis(20),
        jitter: SimDuration::from_millis(100),
    };
    FaultPlan {
        speed: Decimal::parse("2.5").expect("a number"),
        links: vec![LinkFaults {
            until: SimTime::from_secs(600),
            ..LinkFaults::everywhere(rates)
        }],
        ..FaultPlan::default()
    }
}

#[test]
fn every_job_ends_once_under_all_faults_together_on_a_clock_that_is_faster() {
    for scenario in [scenario, late] {
        let counts = jobs_of_end_once(scenario, &all_together(), |draw, plan| {
            draw.partition(plan);
            draw.silence(plan);
            draw.restarts(plan, 1);
        });
        assert!(counts.cut > 100 && counts.restarted > 20, "{counts:?}");
    }
}

#[test]
fn a_client_that_loses_patience_gives_jobs_up_and_none_ends_or_runs_twice() {
    let faults = FaultPlan {
        patience: Patience {
            comes_back: SimDuration::from_secs(10),
            ..Patience::default()
        },
        ..FaultPlan::default()
    };
    let (mut given_up, mut ended_all_the_same, mut submitted_again) = (0, 0, 0);
    for seed in crate::scenarios(SCENARIOS) {
        let scenario = scenario(seed);
        let (mut plan, mut draw) = (faults.clone(), Draw::new(&scenario));
        draw.silence(&mut plan);
        draw.restarts(&mut plan, 2);
        draw.stops(&mut plan, 1, Some(Memory::Journal));
        let ran = services::run(&scenario, &plan);
        services::check(&scenario, &plan, &ran);
        let trails = &ran.trails;
        for (_, job, by) in &trails.lost {
            let steps = &trails.jobs[job.index()];
            given_up += u32::from(*by == Party::Client);
            ended_all_the_same += u32::from(services::ends(steps).0 == 1);
        }
        let steps = trails.jobs.iter().flatten();
        let found = steps.filter(|(_, step)| matches!(step, Step::Found(..)));
        submitted_again += found.count();
    }
    assert!(
        given_up > 100 && ended_all_the_same > 50 && submitted_again > 20,
        "{given_up} {ended_all_the_same} {submitted_again}"
    );
}

#[test]
fn the_same_seed_has_the_same_faults_and_the_same_run() {
    let scenario = scenario(1);
    let run = || {
        let mut plan = everywhere(Rates {
            lost: Chance::once_in(3),
            repeated: Chance::once_in(3),
            overtaken: Chance::once_in(3),
            ..Rates::default()
        });
        Draw::new(&scenario).restarts(&mut plan, 1);
        services::run(&scenario, &plan)
    };
    assert_eq!(run(), run());
}
