//! Honest reductions pass, dishonest ones do not.

#[path = "../../examples/validity_power.rs"]
#[allow(dead_code, reason = "its main is for the command line")]
mod power;

use crate::{archive, clustering, need, secs, window};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::load::{TraceJob, load};
use gridrig_tracelab::spec::{SizeFrom, TraceWindow};
use gridrig_tracelab::validate::{
    Design, Group, Options, Selection, ValidateError, Validation, validate,
};
use power::{busiest, demand, shuffled, without_serial, without_user};
use rand::RngExt;
use std::path::Path;

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

const SHUFFLE: &str = "test-shuffle";
const NEW_NUMBERS: u64 = 10_000_000;

/// A trace, the part of it that is reduced, and how to compare with it.
pub struct Case {
    pub all: Vec<TraceJob>,
    pub part: Vec<TraceJob>,
    pub options: Options,
}

impl Case {
    pub fn new(
        all: Vec<TraceJob>,
        window: Option<TraceWindow>,
        max_processors: Option<u32>,
    ) -> Self {
        let inside = |job: &&TraceJob| {
            let submit = job.submit;
            window.is_none_or(|w| w.start <= submit && submit < w.start + w.length)
                && max_processors.is_none_or(|limit| job.processors <= limit)
        };
        let part = all.iter().filter(inside).copied().collect();
        let options = Options {
            selection: Selection {
                window,
                max_processors,
                ..Selection::default()
            },
            ..Options::default()
        };
        Case { all, part, options }
    }

    /// A part of a real log; `None` where there is none.
    #[track_caller]
    pub fn archive(log: &str, start: &str, length: &str) -> Option<Self> {
        let log = archive::log(&archive::need()?, log);
        let window = TraceWindow {
            start: SimDuration::parse(start).unwrap(),
            length: SimDuration::parse(length).unwrap(),
        };
        Some(Case::new(log.jobs, Some(window), None))
    }

    /// The week of LSAP and its widest jobs.
    #[track_caller]
    pub fn lsap_week() -> Option<Self> {
        let case = Case::archive("CTC-SP2-1996-3.1-cln", "87.08d", "7d")?;
        let window = case.options.selection.window;
        Some(Case::new(case.all, window, Some(225)))
    }

    /// The trace that ships.
    pub fn shipped() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/ctc-like.swf.gz");
        let log = load(&file, SizeFrom::Allocated).unwrap();
        Case::new(log.jobs, None, None)
    }

    pub fn systematic(&self, m: usize, n: usize, phase: usize) -> Vec<TraceJob> {
        let kept = |i: usize| (i + 1 + phase) * m / n > (i + phase) * m / n;
        let jobs = self.part.iter().enumerate();
        jobs.filter(|(i, _)| kept(*i))
            .map(|(_, job)| *job)
            .collect()
    }

    pub fn random(&self, share: f64, seed: u64) -> Vec<TraceJob> {
        let mut stream = rng::stream(seed, "test-sample");
        let kept = |_: &&TraceJob| stream.random::<f64>() < share;
        self.part.iter().filter(kept).copied().collect()
    }

    pub fn judge(&self, reduced: &[TraceJob]) -> Validation {
        validate(&self.all, reduced, &self.options).unwrap()
    }

    pub fn passes(&self, what: &str, reduced: &[TraceJob]) {
        let outcome = self.judge(reduced);
        assert!(outcome.passed(), "{what}: {:#?}", outcome.failures());
        assert!(outcome.identity.ids_kept, "{what}");
        assert_eq!(outcome.identity.shared, reduced.len() as u64, "{what}");
    }

    pub fn fails(&self, what: &str, reduced: &[TraceJob]) -> Validation {
        let outcome = self.judge(reduced);
        assert!(!outcome.passed(), "{what} of {} jobs passed", reduced.len());
        assert!(!outcome.failures().is_empty(), "{what}");
        outcome
    }
}

/// What every log has to show: systematic and random samples of a part pass, the three
/// frauds do not.
#[track_caller]
fn honest_pass_and_frauds_fail(log: &str, start: &str, length: &str, serial: bool) {
    let Some(case) = Case::archive(log, start, length) else {
        return;
    };
    assert_eq!(case.part.iter().any(|job| job.processors == 1), serial);
    case.passes("phase 4", &case.systematic(2, 5, 4));
    case.passes("seed 1", &case.random(0.4, 1));
    let honest = case.systematic(2, 5, 1);
    for weight in [|_: &TraceJob| 1.0, demand] {
        let rest = without_user(&honest, busiest(&case.part, weight));
        let outcome = case.fails("without a busy user", &rest);
        assert!(outcome.identity.holds());
    }
    if serial {
        let outcome = case.fails("without serial jobs", &without_serial(&honest));
        assert!(outcome.identity.holds());
    }
    let outcome = case.fails("shuffled, with numbers", &shuffled(&honest, SHUFFLE, None));
    assert!(outcome.identity.submit_changed > 0);
    let renumbered = shuffled(&honest, SHUFFLE, Some(NEW_NUMBERS));
    let outcome = case.fails("shuffled, renumbered", &renumbered);
    assert!(!outcome.identity.ids_kept);
    let outside = |name| {
        outcome
            .statistics
            .iter()
            .any(|s| s.name == name && !s.inside)
    };
    assert!(outside("users.time") && outside("processors.time"));
}

#[test]
fn on_a_week_of_ctc_honest_samples_pass_and_frauds_fail() {
    honest_pass_and_frauds_fail("CTC-SP2-1996-3.1-cln", "87.08d", "7d", true);
}

#[test]
fn every_phase_of_the_lsap_week_passes() {
    let Some(case) = Case::lsap_week() else {
        return;
    };
    for phase in 0..5 {
        case.passes(&format!("phase {phase}"), &case.systematic(2, 5, phase));
    }
}

#[test]
fn on_a_week_of_sdsc_sp2_honest_samples_pass_and_frauds_fail() {
    honest_pass_and_frauds_fail("SDSC-SP2-1998-4.2-cln", "200d", "14d", true);
}

#[test]
fn on_weeks_of_kth_honest_samples_pass_and_frauds_fail() {
    honest_pass_and_frauds_fail("KTH-SP2-1996-2.1-cln", "100d", "21d", true);
}

#[test]
fn on_a_log_without_serial_jobs_the_other_frauds_fail() {
    honest_pass_and_frauds_fail("LANL-CM5-1994-4.1-cln", "200d", "7d", false);
}

#[test]
fn of_forty_honest_samples_hardly_one_fails() {
    // Samples of a sample are as honest; a small trace keeps this quick. At a
    // level of 1 % the chance of four or more failures is below 0.1 %.
    let case = Case::shipped();
    let small = Case::new(case.systematic(1, 2, 0), None, None);
    let failed = (0..40).filter(|seed| !small.judge(&small.random(0.4, *seed)).passed());
    let failed: Vec<u64> = failed.collect();
    assert!(failed.len() <= 3, "{failed:?}");
    for phase in 0..5 {
        small.passes(&format!("phase {phase}"), &small.systematic(2, 5, phase));
    }
}

#[test]
fn frauds_on_the_shipped_trace_fail() {
    let case = Case::shipped();
    let honest = case.systematic(2, 5, 0);
    case.passes("2/5", &honest);
    case.fails("without serial jobs", &without_serial(&honest));
    case.fails("shuffled", &shuffled(&honest, SHUFFLE, None));
    // Jobs that come after others of their kind, made up or made wider.
    let mut wider = honest.clone();
    wider
        .iter_mut()
        .step_by(50)
        .for_each(|job| job.processors += 1);
    let outcome = case.fails("wider", &wider);
    assert!(outcome.identity.processors_changed > 0);
    let mut twice = honest.clone();
    twice.push(honest[7]);
    assert_eq!(case.fails("a job twice", &twice).identity.repeated, 1);
    let mut foreign = honest;
    foreign[3].trace_id = 99_999_999;
    assert_eq!(
        case.fails("a job of another trace", &foreign)
            .identity
            .foreign,
        1
    );
}

#[test]
fn scaled_and_rounded_times_are_recognized() {
    let mut case = Case::shipped();
    let start = 86_400 * SECOND;
    case = Case::new(case.all, Some(window(86_400, 4 * 86_400)), None);
    case.options.selection.scale_arrival = Decimal::from_whole(60);
    case.options.selection.scale_run_time = Decimal::from_whole(30);
    case.options.selection.min_run_time = secs(1);
    let unscaled = case.systematic(2, 5, 0);
    // Whole seconds, rounded up or down, are what other tools write.
    for up in [0, SECOND - 1] {
        let round = |nanos: u64| SimDuration::from_nanos((nanos + up) / SECOND * SECOND);
        let scale = |job: &TraceJob| TraceJob {
            submit: round((job.submit.as_nanos() - start) / 60),
            run_time: round((job.run_time.as_nanos() / 30).max(SECOND)),
            ..*job
        };
        let mut scaled: Vec<TraceJob> = unscaled.iter().map(scale).collect();
        let outcome = case.judge(&scaled);
        assert!(outcome.passed(), "{:#?}", outcome.failures());
        assert_eq!(outcome.identity.run_time_changed, 0);
        // Without numbers that say which is which, the statistics still do.
        for (id, job) in (0..).zip(&mut scaled) {
            job.trace_id = 10_000_000 + id;
        }
        let outcome = case.judge(&scaled);
        assert!(!outcome.identity.ids_kept);
        if up == 0 {
            assert!(outcome.passed(), "{:#?}", outcome.failures());
        }
    }
    // The wrong scale is seen.
    case.options.selection.scale_arrival = Decimal::from_whole(50);
    assert!(!case.judge(&unscaled).passed());
}

#[test]
fn a_systematic_sample_is_judged_by_systematic_ones() {
    let case = Case::shipped();
    let sample = case.systematic(1, 4, 0);
    assert_eq!(case.judge(&sample).judged_by, Design::Systematic);
    let outcome = case.judge(&case.random(0.25, 1));
    assert_eq!(outcome.judged_by, Design::Random);
    // Every tenth job is lost, by no pattern of the sampling.
    let fewer = sample.iter().enumerate().filter(|(at, _)| at % 10 != 7);
    let fewer: Vec<TraceJob> = fewer.map(|(_, job)| *job).collect();
    let outcome = case.judge(&fewer);
    assert_eq!(outcome.judged_by, Design::SystematicWithLosses);
    assert_eq!(outcome.standing.len(), 3);
}

#[test]
fn the_same_input_and_seed_give_the_same_answer() {
    let case = Case::shipped();
    let sample = case.random(0.2, 1);
    let mut turned = sample.clone();
    turned.reverse();
    let first = case.judge(&sample);
    assert_eq!(first, case.judge(&turned));
    let json = serde_json::to_string(&first).unwrap();
    assert!(json.starts_with("{\"passed\":"));
    let mut other = case;
    other.options.seed = 2;
    assert_ne!(first.statistics, other.judge(&sample).statistics);
}

#[test]
fn a_requirement_can_fail_what_the_envelope_passes() {
    let mut case = Case::shipped();
    let honest = case.systematic(2, 5, 0);
    case.options.requirements = vec!["processors.ks < 0.5".parse().unwrap()];
    assert!(case.judge(&honest).passed());
    case.options.requirements = vec!["processors.ks < 1e-9".parse().unwrap()];
    let outcome = case.judge(&honest);
    assert!(!outcome.passed());
    assert!(outcome.failures()[0].starts_with("processors.ks < 0.000000001 = 0."));
}

#[test]
fn only_the_groups_asked_for_are_judged() {
    let mut case = Case::shipped();
    let fraud = shuffled(&case.systematic(2, 5, 0), SHUFFLE, Some(NEW_NUMBERS));
    assert!(!case.judge(&fraud).passed());
    case.options.groups = Some([Group::Marginals, Group::Classes].into());
    let outcome = case.judge(&fraud);
    let passed = outcome
        .statistics
        .iter()
        .filter(|s| s.group == Group::Marginals);
    assert!(passed.clone().count() > 0 && passed.clone().all(|s| s.inside));
    assert!(outcome.not_judged.contains(&"users.time"));
}

#[test]
fn a_generated_trace_is_compared_by_thinning_both() {
    let mut case = Case::shipped();
    // The trace itself with other numbers is the best model there is; one with
    // all run times doubled is none.
    let mut copy = case.all.clone();
    copy.iter_mut().for_each(|job| job.trace_id += 10_000_000);
    case.options.thin = Some(0.25);
    case.options.groups = Some(Group::GENERATED.into());
    assert!(case.judge(&copy).passed());
    copy.iter_mut()
        .for_each(|job| job.run_time = job.run_time + job.run_time);
    assert!(!case.judge(&copy).passed());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let case = Case::shipped();
    let error = |reduced: &[TraceJob], options: &Options| {
        validate(&case.all, reduced, options)
            .unwrap_err()
            .to_string()
    };
    let options = Options::default();
    assert_eq!(
        error(&[], &options),
        "reduced jobs = 0: expected at least one"
    );
    let twice = [case.all.clone(), case.all.clone()].concat();
    assert!(error(&twice, &options).contains("expected at most the"));
    let few = Options {
        samples: 199,
        ..Options::default()
    };
    assert!(error(&case.all, &few).contains("samples = 199: expected 200 to"));
    let mut beyond = Options::default();
    beyond.selection.window = Some(window(1 << 40, 1));
    let refused = validate(&case.all, &case.all[..5], &beyond);
    assert!(matches!(refused, Err(ValidateError::NoOriginal(dropped)) if dropped > 0));
    let mut wide = case.all[..60].to_vec();
    wide[59].submit = SimDuration::from_nanos(u64::MAX);
    let refused = validate(&wide, &wide[..30], &Options::default());
    assert!(refused.is_ok() || matches!(refused, Err(ValidateError::Linkage(_))));
}

#[test]
fn odd_traces_are_judged_without_a_panic() {
    let job = |id: u64, submit: u64, run: u64| TraceJob {
        trace_id: id,
        submit: SimDuration::from_nanos(submit),
        run_time: SimDuration::from_nanos(run),
        processors: 1,
        ..TraceJob::default()
    };
    let options = Options::default();
    // One job; all at once; nothing runs; identical to the original.
    for jobs in [
        vec![job(1, 0, 0)],
        (0..60).map(|id| job(id, 5, 0)).collect::<Vec<_>>(),
        (0..60)
            .map(|id| job(id, id * SECOND, u64::MAX / 2))
            .collect(),
        (0..60).map(|_| job(1, 5, SECOND)).collect(),
    ] {
        let outcome = validate(&jobs, &jobs, &options).unwrap();
        assert!(outcome.passed(), "{:?}", outcome.failures());
        let half = jobs.len().div_ceil(2);
        assert!(validate(&jobs, &jobs[..half], &options).is_ok());
    }
}

const ORACLE: &str = r#"
import json, sys
import numpy as np
from scipy.stats import ks_2samp
given = json.load(sys.stdin)
a, b = given["original"], given["reduced"]
share = lambda t, k: {v: t[k].count(v) / len(t[k]) for v in set(t[k])}
def tv(k):
    p, q = share(a, k), share(b, k)
    return sum(abs(p.get(v, 0) - q.get(v, 0)) for v in set(p) | set(q)) / 2
gaps = np.diff(np.sort(np.array(b["submit"])))
json.dump({
    "processors.ks": ks_2samp(a["processors"], b["processors"]).statistic,
    "run_time.ks": ks_2samp(a["run"], b["run"]).statistic,
    "arrivals.ks": ks_2samp(a["submit"], b["submit"]).statistic,
    "users.tv": tv("user"),
    "interarrival.cv": float(gaps.std() / gaps.mean()),
}, sys.stdout)
"#;

#[test]
fn distances_are_those_of_scipy() {
    let Some(python) = need::python() else { return };
    let case = Case::shipped();
    let reduced = case.random(0.3, 11);
    let columns = |jobs: &[TraceJob]| {
        let seconds = |nanos: u64| nanos as f64 / SECOND as f64;
        serde_json::json!({
            "processors": jobs.iter().map(|j| j.processors).collect::<Vec<_>>(),
            "run": jobs.iter().map(|j| seconds(j.run_time.as_nanos())).collect::<Vec<_>>(),
            "submit": jobs.iter().map(|j| seconds(j.submit.as_nanos())).collect::<Vec<_>>(),
            "user": jobs.iter().map(|j| j.user()).collect::<Vec<_>>(),
        })
    };
    let given = serde_json::json!({"original": columns(&case.part), "reduced": columns(&reduced)});
    let told = clustering::ask(&python, ORACLE, &given);
    let outcome = case.judge(&reduced);
    let mut compared = 0;
    for statistic in &outcome.statistics {
        if let Some(theirs) = told[statistic.name].as_f64() {
            let apart = (statistic.value - theirs).abs();
            assert!(
                apart <= 1e-12,
                "{} {} {theirs}",
                statistic.name,
                statistic.value
            );
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared}");
}
