//! Every statistic of a comparison against numpy and scipy.

use crate::need;
use gridrig_core::rng;
use gridrig_results::stats::{Distribution, Paired, Range, Resamples, cv, gini, holm};
use rand::RngExt;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What scipy says of the same pairs. The BCa interval is computed by scipy
/// from our resamples, so that only the formula is compared; and once from its
/// own, so that ours are known to be drawn well.
const SCRIPT: &str = r#"
import json, sys, types
import numpy as np
from scipy import stats

def bca(values, means, level):
    given = types.SimpleNamespace(bootstrap_distribution=np.asarray(means))
    got = stats.bootstrap((values,), np.mean, n_resamples=0, vectorized=True, axis=-1,
                          confidence_level=level, method="BCa", bootstrap_result=given)
    return got.confidence_interval

answers = []
for case in json.load(sys.stdin):
    base, other = np.array(case["base"]), np.array(case["other"])
    test = stats.ttest_rel(other, base)
    interval = test.confidence_interval(0.95)
    answer = {"t": [interval.low, interval.high, test.pvalue]}
    values = other - base
    if case["means"]:
        own = bca(values, case["means"], 0.95)
        free = stats.bootstrap((values,), np.mean, n_resamples=9999, method="BCa",
                               rng=np.random.default_rng(7)).confidence_interval
        # The interval at 1 - p ends at zero, to within one resample.
        at_p = bca(values, case["means"], 1 - case["p"])
        gap = np.diff(np.sort(case["means"])).max()
        answer["bca"] = [own.low, own.high]
        answer["free"] = [free.low, free.high]
        answer["zero"] = [min(abs(at_p.low), abs(at_p.high)), gap]
    # And the interval of the mean of one side by itself.
    alone = stats.ttest_1samp(other, 0).confidence_interval(0.95)
    answer["alone"] = [alone.low, alone.high]
    if case["own"]:
        own = bca(other, case["own"], 0.95)
        answer["alone"] = [own.low, own.high]
    answers.append(answer)
json.dump(answers, sys.stdout)
"#;

fn ask(python: &Path, script: &str, cases: &Value) -> Value {
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(cases.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Pairs with skewed differences: most windows alike, some with a burst.
fn pairs(n: usize, shift: f64) -> Vec<(f64, f64)> {
    let mut stream = rng::stream(n as u64, "pairs");
    let pair = |_| {
        let base = stream.random_range(2.0..40.0);
        let burst = stream.random_range(0.0_f64..1.0).powi(6) * 30.0;
        (base, base + shift - burst + stream.random_range(-1.0..1.0))
    };
    (0..n).map(pair).collect()
}

#[test]
fn intervals_and_p_values_are_those_of_scipy() {
    let Some(python) = need::python("intervals_and_p_values_are_those_of_scipy") else {
        return;
    };
    let sizes = [5, 6, 11, 19, 20, 24, 40];
    let samples: Vec<Vec<(f64, f64)>> = sizes.map(|n| pairs(n, 3.0)).into();
    let mut ours = Vec::new();
    let mut alone = Vec::new();
    let mut cases = Vec::new();
    for sample in &samples {
        let mut resamples = Resamples::new(1);
        let paired = Paired::of(sample, Some(&mut resamples)).unwrap();
        let interval = paired.interval.unwrap();
        let differences: Vec<f64> = sample.iter().map(|(a, b)| b - a).collect();
        let bootstrap = sample.len() >= 20;
        let means = bootstrap.then(|| resamples.means(&differences));
        let (base, other): (Vec<f64>, Vec<f64>) = sample.iter().copied().unzip();
        let own = bootstrap.then(|| resamples.means(&other));
        alone.push(Range::of_mean(&other, &mut resamples).unwrap());
        cases.push(json!({
            "base": base, "other": other, "means": means.unwrap_or_default(), "p": interval.p,
            "own": own.unwrap_or_default(),
        }));
        ours.push(interval);
    }
    let answers = ask(&python, SCRIPT, &Value::Array(cases));
    let mut bootstraps = 0;
    let ours = ours.iter().zip(&alone);
    for ((sample, (interval, range)), answer) in
        samples.iter().zip(ours).zip(answers.as_array().unwrap())
    {
        let n = sample.len();
        let of = |name: &str, index: usize| answer[name][index].as_f64().unwrap();
        let close = |got: f64, expected: f64, tolerance: f64| {
            let error = (got - expected).abs();
            assert!(
                error <= tolerance * expected.abs().max(1.0),
                "n = {n}: {got}, {expected}"
            );
        };
        close(range.low, of("alone", 0), 1e-9);
        close(range.high, of("alone", 1), 1e-9);
        if n < 20 {
            close(interval.low, of("t", 0), 1e-9);
            close(interval.high, of("t", 1), 1e-9);
            close(interval.p, of("t", 2), 1e-9);
            continue;
        }
        bootstraps += 1;
        close(interval.low, of("bca", 0), 1e-9);
        close(interval.high, of("bca", 1), 1e-9);
        // Two sets of 9,999 resamples: their ends differ by a few hundredths
        // of the interval's length.
        let length = interval.high - interval.low;
        close(interval.low, of("free", 0), 0.06 * length);
        close(interval.high, of("free", 1), 0.06 * length);
        assert!(of("zero", 0) <= of("zero", 1), "n = {n}: {answer}");
    }
    assert_eq!(bootstraps, 3);
}

/// Each figure from the definition, by other means than ours: quantiles of type
/// 7 are scipy's `alphap = betap = 1`, the Gini coefficient goes over all pairs,
/// and Holm's correction takes the largest product up to each rank.
const FIGURES: &str = r#"
import json, sys
import numpy as np
from scipy import stats

def gini(values):
    return np.abs(np.subtract.outer(values, values)).mean() / (2 * values.mean())

def holm(p):
    m = len(p)
    rank = {i: r for r, i in enumerate(sorted(range(m), key=lambda i: (p[i], i)))}
    up_to = lambda i: [(m - rank[j]) * p[j] for j in range(m) if rank[j] <= rank[i]]
    return [min(1.0, max(up_to(i))) for i in range(m)]

asked = json.load(sys.stdin)
answers = []
for sample in asked["samples"]:
    values = np.array(sample)
    n = len(values)
    told = stats.describe(values)
    low, mid, high, top = stats.mstats.mquantiles(values, [0.5, 0.9, 0.95, 0.99], 1, 1)
    answers.append({
        "mean": told.mean, "sd": told.variance ** 0.5,
        "cv": stats.variation(values, ddof=1),
        "min": told.minmax[0], "max": told.minmax[1],
        "p50": low, "p90": mid, "p95": high, "p99": top,
        "mean_trimmed": np.sort(values)[:n - n // 100].mean(),
        "cv of clusters": stats.variation(values, ddof=0), "gini": gini(values),
    })
json.dump({"figures": answers, "holm": [holm(p) for p in asked["p"]]}, sys.stdout)
"#;

#[test]
fn distributions_imbalance_and_holms_correction_are_those_of_scipy() {
    let Some(python) =
        need::python("distributions_imbalance_and_holms_correction_are_those_of_scipy")
    else {
        return;
    };
    let mut stream = rng::stream(1, "figures");
    // Skewed as delays are, with ties; one so long that its tail is trimmed.
    let mut sample = |n: usize| -> Vec<f64> {
        let mut value = || stream.random_range(0.0_f64..1.0).powi(5) * 900.0;
        (0..n).map(|_| (value() * 4.0).round() / 4.0).collect()
    };
    let samples: Vec<Vec<f64>> = [2, 3, 10, 99, 101, 4_321].map(&mut sample).into();
    let p_values: Vec<Vec<f64>> = vec![
        vec![0.03],
        vec![0.04, 0.01, 0.03, 0.02],
        vec![0.2, 0.01, 0.01, 0.9, 0.04, 0.012],
    ];
    let asked = json!({ "samples": samples, "p": p_values });
    let answers = ask(&python, FIGURES, &asked);
    let close = |what: &str, got: f64, expected: f64| {
        let error = (got - expected).abs();
        assert!(
            error <= 1e-12 * expected.abs().max(1.0),
            "{what}: {got}, {expected}"
        );
    };
    for (index, values) in samples.iter().enumerate() {
        let own = serde_json::to_value(Distribution::of(values.iter().copied())).unwrap();
        let expected = answers["figures"][index].as_object().unwrap();
        for (name, expected) in expected {
            let got = match name.as_str() {
                "cv of clusters" => cv(values),
                "gini" => gini(values),
                name => own[name].as_f64(),
            };
            let what = format!("{name} of {} values", values.len());
            close(&what, got.unwrap(), expected.as_f64().unwrap());
        }
    }
    for (index, values) in p_values.iter().enumerate() {
        let given: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        for (position, got) in holm(&given).into_iter().enumerate() {
            let expected = answers["holm"][index][position].as_f64().unwrap();
            close("Holm", got.unwrap(), expected);
        }
    }
}
