//! What reductions are called: equivalent, open or different, and by what.

use crate::reduced_trace::reduce;
use crate::validation::Case;
use crate::{decimal, read, secs, whole};
use gridrig_core::rng;
use gridrig_tracelab::load::TraceJob;
use gridrig_tracelab::spec::WorkloadSpec;
use gridrig_tracelab::validate::{Agreement, Options, Selection, Site, Validation, validate};
use rand::RngExt;

/// The week of LSAP, on sites as wide as its jobs may be.
#[track_caller]
fn lsap_week() -> Option<Case> {
    let mut case = Case::lsap_week()?;
    case.options.site = Some(Site::one_cluster(225));
    Some(case)
}

#[test]
fn a_reduction_that_lost_a_few_jobs_by_chance_passes() {
    let Some(case) = lsap_week() else { return };
    let sample = case.systematic(2, 5, 2);
    for seed in 0..3 {
        let mut fewer = sample.clone();
        let mut stream = rng::stream(seed, "test-lost");
        for _ in 0..10 {
            fewer.remove(stream.random_range(0..fewer.len()));
        }
        case.passes(&format!("without ten jobs, seed {seed}"), &fewer);
    }
}

#[test]
fn a_burst_that_is_missing_is_named_as_what_it_is() {
    let Some(case) = lsap_week() else { return };
    let sample = case.systematic(2, 5, 2);
    let burst = |job: &&TraceJob| {
        let day = job.submit.as_secs_f64() / 86_400.0 - 87.08;
        job.user() == Some(214) && job.processors == 129 && (6.2..6.23).contains(&day)
    };
    assert_eq!(sample.iter().filter(burst).count(), 11);
    let kept = sample.iter().filter(|job| !burst(job)).copied();
    let outcome = case.fails("without the burst", &kept.collect::<Vec<_>>());
    let failures = outcome.failures();
    let named = failures
        .iter()
        .find(|it| it.starts_with("stretches.worst: "));
    let named = named.unwrap_or_else(|| panic!("{failures:?}"));
    assert!(
        named.contains("from day 93.2") && named.contains("0 jobs where"),
        "{named}"
    );
    assert!(named.ends_with("jobs of a burst are missing"), "{named}");
    assert!(
        !failures.iter().any(|it| it.starts_with("interarrival")),
        "{failures:?}"
    );
}

#[test]
fn samples_of_one_week_that_behave_differently_are_not_called_equivalent() {
    let Some(case) = lsap_week() else { return };
    let outcomes = [0, 2].map(|phase| case.judge(&case.systematic(2, 5, phase)));
    for outcome in &outcomes {
        // Sizes, run times and demand agree within the margins, and waits do not.
        assert!(outcome.passed(), "{:?}", outcome.failures());
        assert!(outcome.statistics.iter().all(|s| s.within != Some(false)));
        let behaviour = outcome.behaviour.as_ref().unwrap();
        println!("{}", outcome.summary());
        assert!(!behaviour.agrees, "{behaviour:?}");
        assert_eq!(outcome.verdict, Agreement::Open);
        let [least, most] = behaviour.sampled_mean_s.unwrap();
        assert!(most > 1.5 * least, "{behaviour:?}");
    }
    let mean = |at: usize| {
        outcomes[at]
            .behaviour
            .as_ref()
            .unwrap()
            .reduced
            .mean_s
            .unwrap()
    };
    assert!(
        mean(0).max(mean(1)) > 1.2 * mean(0).min(mean(1)),
        "{} {}",
        mean(0),
        mean(1)
    );
}

#[test]
fn too_few_jobs_are_open_and_a_load_that_nobody_declares_is_not() {
    let mut case = Case::shipped();
    for jobs in [1, 4] {
        let few: Vec<TraceJob> = case.random(0.5, 1).into_iter().take(jobs).collect();
        let spread: Vec<TraceJob> = case.part.iter().step_by(480 / jobs).copied().collect();
        let outcome = case.judge(&few);
        assert_ne!(outcome.verdict, Agreement::Equivalent, "{jobs}");
        let outcome = case.judge(&spread);
        assert_eq!(outcome.verdict, Agreement::Open, "{:?}", outcome.failures());
        assert!(
            outcome
                .summary()
                .contains("as random samples of so few jobs are: ")
        );
    }
    let sample = case.systematic(2, 5, 0);
    case.options.declared = false;
    let outcome = case.fails("undeclared", &sample);
    assert!(
        outcome.failures()[0].starts_with("load = "),
        "{:?}",
        outcome.failures()
    );
    // All jobs are the original, whatever nobody says.
    let whole = case.judge(&case.all);
    assert_eq!(
        whole.verdict,
        Agreement::Equivalent,
        "{:?}",
        whole.failures()
    );
}

/// By hand: one processor, and jobs of 10 s that come at 0, 5 and 100 s, of which the
/// second is left out. At two thirds of the demand the original's arrivals come 1.5 times
/// as far apart: at 0, 7.5 and 150 s, and the second waits for 2.5 s.
#[test]
fn delays_are_compared_at_equal_offered_load() {
    let job = |id: u64, submit: u64| TraceJob {
        trace_id: id,
        submit: secs(submit),
        run_time: secs(10),
        processors: 1,
        ..TraceJob::default()
    };
    let all = [job(1, 0), job(2, 5), job(3, 100)];
    let outcome = validate(&all, &[all[0], all[2]], &Options::default()).unwrap();
    let behaviour = outcome.behaviour.unwrap();
    assert!(
        (behaviour.original.mean_s.unwrap() - 2.5 / 3.0).abs() < 1e-9,
        "{behaviour:?}"
    );
    assert_eq!(behaviour.reduced.mean_s, Some(0.0));
    assert!(
        (behaviour.distance.unwrap() - 1.0 / 3.0).abs() < 1e-9,
        "{behaviour:?}"
    );
    assert!((behaviour.offered_load - 0.2).abs() < 1e-9, "{behaviour:?}");
    assert!(!behaviour.agrees);
}

/// As before, with a job between that is wider than the cluster: it is rejected, and its
/// rejection is no delay of 0 s. At six sevenths of the demand the second job comes after
/// 35/6 s and waits for 25/6 s.
#[test]
fn jobs_that_never_run_have_no_delay_and_are_counted() {
    let job = |id: u64, submit: u64, processors: u32| TraceJob {
        trace_id: id,
        submit: secs(submit),
        run_time: secs(10),
        processors,
        ..TraceJob::default()
    };
    let all = [job(1, 0, 1), job(2, 5, 1), job(3, 50, 4), job(4, 100, 1)];
    let options = Options {
        site: Some(Site::one_cluster(1)),
        ..Options::default()
    };
    let outcome = validate(&all, &[all[0], all[2], all[3]], &options).unwrap();
    let behaviour = outcome.behaviour.unwrap();
    let (original, reduced) = (behaviour.original, behaviour.reduced);
    assert_eq!((original.unfinished, reduced.unfinished), (1, 1));
    let mean_s = 25.0 / 6.0 / 3.0;
    assert!(
        (original.mean_s.unwrap() - mean_s).abs() < 1e-6,
        "{behaviour:?}"
    );
    let told = behaviour.to_string();
    let counts = "have no delay: 1 of the reduced trace and 1 of the original. ";
    assert!(told.contains(counts), "{told}");
    // Where none finishes, nothing agrees.
    let wide = [job(1, 0, 4), job(2, 5, 4), job(3, 100, 4)];
    let behaviour = validate(&wide, &wide, &options).unwrap().behaviour.unwrap();
    assert_eq!(behaviour.reduced.unfinished, 3);
    assert_eq!(behaviour.reduced.mean_s, None);
    assert_eq!((behaviour.distance, behaviour.sampled_mean_s), (None, None));
    assert!(!behaviour.agrees);
    let told = behaviour.to_string();
    assert!(told.contains("no job of either trace finishes"), "{told}");
}

/// 600 jobs for 64 processors, which request one to five times as long as they run; one
/// in seven requests nothing.
fn with_estimates() -> String {
    let mut random = rng::stream(1, "test-estimates");
    let mut submit = 100;
    let jobs = (1..=600u64).map(|id| {
        submit += random.random_range(0..2000u64);
        let run_time = random.random_range(60..7200u64);
        let requested = match id % 7 {
            0 => "-1".to_owned(),
            _ => (run_time * random.random_range(1..=5u64)).to_string(),
        };
        let (processors, user) = (random.random_range(1..=32u32), id % 9);
        format!(
            "{id} {submit} -1 {run_time} {processors} -1 -1 {processors} {requested} -1 1 {user} \
             1 1 1 1 -1 -1\n"
        )
    });
    jobs.collect()
}

/// The jobs with all times divided by 60, and then changed, against the jobs as they were.
fn sixtieth(spec: WorkloadSpec, change: fn(&mut TraceJob)) -> Validation {
    let spec = WorkloadSpec {
        scale_arrival: decimal("60"),
        scale_run_time: decimal("60"),
        ..spec
    };
    let text = with_estimates();
    let mut reduced = reduce(&text, &spec);
    reduced.trace.jobs.iter_mut().for_each(change);
    let options = Options {
        selection: Selection {
            origin: Some(reduced.origin),
            ..Selection::from(&spec)
        },
        site: Some(Site::one_cluster(64)),
        ..Options::default()
    };
    let original = read(&text, "t.swf").jobs;
    validate(&original, &reduced.trace.jobs, &options).unwrap()
}

#[test]
fn requested_times_are_scaled_as_run_times_are() {
    let outcome = sixtieth(whole(), |_| {});
    let behaviour = outcome.behaviour.as_ref().unwrap();
    assert_eq!(behaviour.distance, Some(0.0), "{behaviour:?}");
    assert!(behaviour.original.mean_s.unwrap() > 1.0, "{behaviour:?}");
    let verdict = outcome.verdict;
    assert_eq!(verdict, Agreement::Equivalent, "{:?}", outcome.failures());
    // Those that were changed are not taken for the original's.
    let changes: [fn(&mut TraceJob); 2] = [
        |job| job.requested_time = None,
        |job| job.requested_time = Some(secs(3600)),
    ];
    for change in changes {
        let outcome = sixtieth(whole(), change);
        assert_eq!(outcome.identity.shared, 600);
        assert!(outcome.behaviour.unwrap().distance > Some(0.0));
    }
}

#[test]
fn the_shortest_run_time_raises_requested_times_of_the_original_as_well() {
    let mut spec = whole();
    spec.min_run_time = secs(30);
    // The same jobs by other numbers: none takes its times from the original.
    let outcome = sixtieth(spec, |job| job.trace_id += 10_000_000);
    assert!(!outcome.identity.ids_kept);
    let behaviour = outcome.behaviour.unwrap();
    assert_eq!(behaviour.distance, Some(0.0), "{behaviour:?}");
}
