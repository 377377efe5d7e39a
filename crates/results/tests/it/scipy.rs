//! Every statistic of a comparison against numpy and scipy.

use crate::need;
use gridrig_core::rng;
use gridrig_results::stats::{Distribution, Interval, Survival, cv, gini};
use rand::RngExt;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What scipy says of the same values: t, and t through Hall's transformation, whose
/// inverse is searched for instead of written down; and of waits that were cut off.
const SCRIPT: &str = r#"
import json, sys
import numpy as np
from scipy import optimize, stats

def interval(values, level):
    n, skew = len(values), stats.skew(values, bias=False)
    error, k = stats.sem(values), skew / np.sqrt(n)
    bent = lambda t: t + k / 3 * t**2 + k**2 / 27 * t**3 + k / 6
    t = stats.t(n - 1)
    plain = t.interval(1 - 0.75 * (1 - level))
    ends = [optimize.brentq(lambda x: bent(x) - q, -1e4, 1e4, xtol=1e-14) for q in plain]
    mean = np.mean(values)
    p = lambda t_: min(1.0, 2 * t.sf(abs(t_)) / 0.75)
    return [mean - error * max(ends[1], plain[1]), mean - error * min(ends[0], plain[0]),
            max(p(mean / error), p(bent(mean / error)))]

def survival(case):
    over = [t for t, o in case if o]
    cut = [t for t, o in case if not o]
    sf = stats.ecdf(stats.CensoredData(uncensored=over, right=cut)).sf
    kept = [(q, p) for q, p in zip(sf.quantiles, sf.probabilities) if q in set(over)]
    return [list(step) for step in kept]

asked = json.load(sys.stdin)
json.dump({"intervals": [interval(np.array(c["values"]), c["level"]) for c in asked["intervals"]],
           "survival": [survival(c) for c in asked["survival"]]}, sys.stdout)
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

fn close(what: &str, got: f64, expected: &Value, share: f64) {
    let expected = expected.as_f64().unwrap();
    let most = share * expected.abs().max(1.0);
    assert!((got - expected).abs() <= most, "{what}: {got}, {expected}");
}

/// Skewed differences: most windows alike, some with a burst.
fn differences(n: usize, shift: f64) -> Vec<f64> {
    let mut stream = rng::stream(n as u64, "pairs");
    let one = |_| {
        let burst = stream.random_range(0.0_f64..1.0).powi(6) * 30.0;
        shift - burst + stream.random_range(-1.0..1.0)
    };
    (0..n).map(one).collect()
}

#[test]
fn intervals_p_values_and_survival_are_those_of_scipy() {
    let Some(python) = need::python("intervals_p_values_and_survival_are_those_of_scipy") else {
        return;
    };
    let mut cases = Vec::new();
    for n in [5, 6, 11, 20, 47] {
        for level in [0.95, 1.0 - 0.05 / 6.0] {
            cases.push((differences(n, 3.0), level));
        }
    }
    let mut stream = rng::stream(1, "survival");
    let mut waits = |n: usize| -> Vec<(f64, bool)> {
        let mut one = || {
            (
                stream.random_range(0..40_u32),
                stream.random_range(0..3_u32) > 0,
            )
        };
        (0..n)
            .map(|_| one())
            .map(|(time, over)| (f64::from(time), over))
            .collect()
    };
    let survivals = [waits(7), waits(60), waits(300)];
    let asked = json!({
        "intervals": cases.iter().map(|(values, level)| json!({"values": values, "level": level}))
            .collect::<Vec<_>>(),
        "survival": survivals,
    });
    let answers = ask(&python, SCRIPT, &asked);
    let close = |what: &str, got: f64, expected: &Value| close(what, got, expected, 1e-8);
    for ((values, level), answer) in cases.iter().zip(answers["intervals"].as_array().unwrap()) {
        let Interval { low, high, p } = Interval::of_mean(values, *level).unwrap();
        let what = format!("{} values at {level}", values.len());
        for (got, at) in [low, high, p].into_iter().zip(0..) {
            close(&what, got, &answer[at]);
        }
    }
    for (times, answer) in survivals
        .into_iter()
        .zip(answers["survival"].as_array().unwrap())
    {
        let steps = Survival::of(times).steps;
        assert_eq!(steps.len(), answer.as_array().unwrap().len());
        for ((time, share), answer) in steps.iter().zip(answer.as_array().unwrap()) {
            close("time", *time, &answer[0]);
            close("share", *share, &answer[1]);
        }
    }
}

/// Each figure from the definition, by other means than ours: quantiles of type
/// 7 are scipy's `alphap = betap = 1`, and the Gini coefficient goes over all pairs.
const FIGURES: &str = r#"
import json, sys
import numpy as np
from scipy import stats

def gini(values):
    return np.abs(np.subtract.outer(values, values)).mean() / (2 * values.mean())

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
json.dump({"figures": answers}, sys.stdout)
"#;

#[test]
fn distributions_and_imbalance_are_those_of_scipy() {
    let Some(python) = need::python("distributions_and_imbalance_are_those_of_scipy") else {
        return;
    };
    let mut stream = rng::stream(1, "figures");
    // Skewed as delays are, with ties; one so long that its tail is trimmed.
    let mut sample = |n: usize| -> Vec<f64> {
        let mut value = || stream.random_range(0.0_f64..1.0).powi(5) * 900.0;
        (0..n).map(|_| (value() * 4.0).round() / 4.0).collect()
    };
    let samples: Vec<Vec<f64>> = [2, 3, 10, 99, 101, 4_321].map(&mut sample).into();
    let asked = json!({ "samples": samples });
    let answers = ask(&python, FIGURES, &asked);
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
            close(&what, got.unwrap(), expected, 1e-12);
        }
    }
}
