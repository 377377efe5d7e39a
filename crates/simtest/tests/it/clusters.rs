//! `core::cluster::Cluster` driven by a small loop, against the reference.

use gridrig_core::cluster::Cluster;
use gridrig_core::discipline::DisciplineKind::ShortestJobFirst;
use gridrig_core::event::{EventSink, Party};
use gridrig_core::ids::ClusterId;
use gridrig_core::job::Reason;
use gridrig_core::load::{LoadSample, Window};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_simtest::reference::{RefCluster, RefLoad, RefLoss, RefMean};
use gridrig_simtest::scenarios::{
    Scenario, cluster_scenario, exact_scenario, under, with_components, with_failures,
    with_generics, with_run_times, with_windows,
};
use gridrig_simtest::trail::{Step, Trails};
use std::collections::BTreeMap;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const SCENARIOS: u64 = 1_500;

#[test]
fn a_cluster_does_what_the_reference_cluster_does() {
    compare_all(SCENARIOS, cluster_scenario);
}

#[test]
fn a_cluster_gives_generic_resources_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, |seed| with_generics(cluster_scenario(seed)));
}

#[test]
fn a_cluster_runs_the_components_of_a_job_together_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, |seed| with_components(cluster_scenario(seed)));
    compare_all(SCENARIOS / 2, |seed| {
        with_components(with_generics(cluster_scenario(seed)))
    });
}

#[test]
fn a_cluster_runs_programs_as_long_as_it_is_known_to_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, |seed| with_run_times(cluster_scenario(seed)));
    compare_all(SCENARIOS / 2, |seed| {
        with_run_times(with_failures(with_components(cluster_scenario(seed))))
    });
}

#[test]
fn a_cluster_starts_the_shortest_job_first_as_the_reference_cluster_does() {
    let of = |seed| under(ShortestJobFirst, cluster_scenario(seed));
    compare_all(SCENARIOS, of);
    compare_all(SCENARIOS / 2, |seed| with_generics(of(seed)));
    compare_all(SCENARIOS / 2, |seed| with_components(of(seed)));
}

#[test]
fn a_cluster_loses_and_regains_nodes_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, |seed| with_failures(cluster_scenario(seed)));
    compare_all(SCENARIOS / 2, |seed| {
        with_failures(with_generics(cluster_scenario(seed)))
    });
    compare_all(SCENARIOS / 2, |seed| {
        with_failures(with_components(with_generics(cluster_scenario(seed))))
    });
    compare_all(SCENARIOS / 2, |seed| {
        with_failures(under(ShortestJobFirst, cluster_scenario(seed)))
    });
}

#[test]
fn a_cluster_reserves_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, reserving);
    compare_all(SCENARIOS / 2, |seed| {
        under(ShortestJobFirst, reserving(seed))
    });
    compare_all(SCENARIOS / 2, |seed| with_generics(reserving(seed)));
    compare_all(SCENARIOS / 2, |seed| with_components(reserving(seed)));
}

#[test]
fn a_cluster_reserves_where_nodes_fail_as_the_reference_cluster_does() {
    compare_all(SCENARIOS, |seed| with_failures(reserving(seed)));
    compare_all(SCENARIOS / 2, |seed| {
        with_failures(under(ShortestJobFirst, reserving(seed)))
    });
    compare_all(SCENARIOS / 2, |seed| {
        with_failures(with_components(with_generics(reserving(seed))))
    });
}

fn reserving(seed: u64) -> Scenario {
    let mut scenario = with_windows(match seed % 2 {
        0 => cluster_scenario(seed),
        _ => exact_scenario(seed),
    });
    let config = &mut scenario.grid.clusters[0].config;
    // Plans of rounded times are another thing beside reservations.
    config.slurm.bf_resolution = SimDuration::ZERO;
    // Where nodes do not count, jobs are not spread over them, and those that never could be
    // are refused all the same, which the reference does not do.
    let by_node = config.resources.may_count_by_node();
    for submission in scenario.submissions.iter_mut().filter(|_| !by_node) {
        let all = submission.spec.components.iter_mut();
        all.for_each(|one| one.requirements.most_per_node = 0);
    }
    scenario
}

fn compare_all(scenarios: u64, of: impl Fn(u64) -> Scenario) {
    for seed in crate::scenarios(scenarios) {
        let scenario = of(seed);
        if let Err(difference) = compare(&scenario) {
            panic!("seed {seed}: {difference}\n{scenario:#?}");
        }
    }
}

/// The instants at which something comes from outside, the last one first.
fn outside(scenario: &Scenario) -> Vec<SimTime> {
    let submitted = scenario.submissions.iter().map(|s| s.at);
    let all = submitted.chain(scenario.cancellations.iter().map(|c| c.at));
    let mut all: Vec<SimTime> = all.collect();
    all.sort_unstable();
    all.reverse();
    all
}

/// Both clusters through the same instants: completions, cancellations,
/// submissions, pass, then another round; at the end of the instant a sample.
fn compare(scenario: &Scenario) -> Result<(), String> {
    let config = scenario.grid.clusters[0].config.clone();
    let interval = config.interval;
    let id = config.id;
    let mut real = Cluster::new(config.clone());
    let mut reference = RefCluster::new(config);
    let (mut real_trails, mut ref_trails) = (Trails::default(), Trails::default());
    let mut ref_pass: Option<SimTime> = None;
    let mut outside = outside(scenario);
    loop {
        let own = [reference.next_completion(), ref_pass]
            .into_iter()
            .flatten()
            .min();
        let own_real = real.poll_timeout();
        if own != own_real {
            return Err(format!(
                "next instant: {own:?} expected, {own_real:?} found"
            ));
        }
        let Some(now) = own.into_iter().chain(outside.last().copied()).min() else {
            return Ok(());
        };
        let mut first_round = true;
        loop {
            let mut changed = false;
            let mut finished = Vec::new();
            real.handle_completions(now, &mut real_trails, &mut finished);
            for (at, job) in reference.complete(now) {
                ref_trails.note(at, job, Step::Finished(id));
                changed = true;
            }
            real.handle_node_changes(now, &mut real_trails, &mut finished);
            changed |= other_nodes(&mut reference, now, &mut ref_trails);
            real.handle_reservations(now, &mut real_trails, &mut finished);
            let (ended, begun) = begin_reserved(&mut reference, now, &mut ref_trails);
            changed |= ended;
            ref_pass = ref_pass.into_iter().chain(begun).min();
            if first_round {
                changed |= from_outside(
                    scenario,
                    now,
                    (&mut real, &mut real_trails),
                    (&mut reference, &mut ref_trails),
                )?;
                while outside.last() == Some(&now) {
                    outside.pop();
                }
            }
            if changed {
                let due = now.next_on_grid(Default::default(), interval);
                ref_pass = Some(ref_pass.map_or(due, |pass| pass.min(due)));
            }
            if ref_pass == Some(now) {
                for start in reference.pass(now) {
                    ref_trails.note(now, start.job, Step::Started(id, start.placement));
                }
                ref_pass = reference.wakeup();
            }
            real.handle_pass(now, &mut real_trails);
            first_round = false;
            if reference.next_completion() != Some(now) && ref_pass != Some(now) {
                break;
            }
        }
        if let Some(text) = ref_trails.first_difference("reference", &real_trails, "core") {
            return Err(text);
        }
        same_load(&real.sample(now), &reference.sample(now))?;
    }
}

/// What the reference does at changes of nodes; whether there are some.
fn other_nodes(reference: &mut RefCluster, now: SimTime, trails: &mut Trails) -> bool {
    let id = ClusterId(0);
    let (lost, nodes) = reference.change_nodes(now);
    for (job, loss) in lost {
        let step = match loss {
            RefLoss::Job => Step::Failed(Party::Lrms(id), Reason::NodeFailed),
            RefLoss::Place(done) => Step::Requeued(id, done.cast_signed()),
        };
        trails.note(now, job, step);
    }
    !nodes.is_empty()
}

/// Reservations begin: whether jobs end for it, and the pass that is due then.
fn begin_reserved(
    reference: &mut RefCluster,
    now: SimTime,
    trails: &mut Trails,
) -> (bool, Option<SimTime>) {
    let (ended, begun) = reference.begin_reserved(now);
    let ends = !ended.is_empty();
    for job in ended {
        let by = Party::Lrms(ClusterId(0));
        trails.note(now, job, Step::Failed(by, Reason::OverranReservation));
    }
    (ends, begun.then_some(now))
}

fn from_outside(
    scenario: &Scenario,
    now: SimTime,
    (real, real_trails): (&mut Cluster, &mut impl EventSink),
    (reference, ref_trails): (&mut RefCluster, &mut Trails),
) -> Result<bool, String> {
    let id = scenario.grid.clusters[0].config.id;
    let mut changed = false;
    for cancellation in scenario.cancellations.iter().filter(|c| c.at == now) {
        let found = reference.cancel(now, cancellation.job);
        if found {
            let by = Party::Lrms(id);
            ref_trails.note(now, cancellation.job, Step::Cancelled(by));
            changed = true;
        }
        if real.cancel(now, cancellation.job, real_trails) != found {
            return Err(format!("cancelling {}: expected {found}", cancellation.job));
        }
    }
    for submission in scenario.submissions.iter().filter(|s| s.at == now) {
        let job = &submission.spec;
        let answer = reference.submit(now, job);
        if answer.is_ok() {
            ref_trails.note(now, job.id, Step::Queued(id));
            changed = true;
        }
        let found = real.submit(now, job, real_trails);
        if found != answer {
            return Err(format!("{}: {answer:?} expected, {found:?} found", job.id));
        }
    }
    Ok(changed)
}

fn same_load(real: &LoadSample, reference: &RefLoad) -> Result<(), String> {
    let same_mean = |real: gridrig_core::load::Mean, reference: RefMean| {
        real.sum * reference.weight == reference.sum * u128::from(real.weight)
    };
    let means = Window::ALL.into_iter().all(|window| {
        same_mean(
            real.queued_over(window),
            reference.queued_means[window as usize],
        ) && same_mean(
            real.busy_over(window),
            reference.busy_means[window as usize],
        )
    });
    let numbers = (real.at, u64::from(real.processors), u64::from(real.busy));
    let expected = (reference.at, reference.processors, reference.busy);
    let work = (real.queued, real.queued_processors, real.work_left);
    let expected_work = (
        reference.queued,
        reference.queued_processors,
        reference.work_left,
    );
    let generic = real.space.generic.iter();
    let generic = generic.map(|(name, free)| (name.to_string(), *free));
    let same_generic = generic.collect::<BTreeMap<_, _>>() == reference.generic;
    if means && numbers == expected && work == expected_work && same_generic {
        return Ok(());
    }
    Err(format!("the load differs:\n{reference:#?}\n{real:#?}"))
}
