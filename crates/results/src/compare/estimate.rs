//! Figures over replications, and the document made of them.

use super::Options;
use super::document::{
    ClusterShare, Comparison, Estimate, Forwarded, Guard, InformationAge, Load, Measured, Method,
    Pairs, Policy, Role, RunDoc, RunMetric, ThresholdDoc, Verdict,
};
use super::figures::{Replication, RunFigures};
use super::find::FoundRun;
use super::group::{Study, Variant, traces};
use super::{starvation, verdict};
use crate::regret::Regret;
use crate::stats::{self, IntervalMethod, LEVEL, Paired, Range, Resamples, holm};
use crate::threshold::{Figure, METRICS, Threshold};
use std::collections::{BTreeMap, BTreeSet};

/// All that was measured.
pub(super) struct Tables<'a> {
    pub(super) study: &'a Study<'a>,
    /// At least one.
    pub(super) primary: &'a [Figure],
    /// In the order of the study's keys.
    pub(super) replications: &'a [Replication],
}

/// What values say, replication by replication, and held against the baseline's.
pub(super) fn estimate(
    own: Vec<Option<f64>>,
    baseline: Option<Vec<Option<f64>>>,
    mut resamples: Option<&mut Resamples>,
) -> Estimate {
    let pairs = baseline.map(|baseline| {
        let pairs = baseline.into_iter().zip(&own);
        pairs
            .filter_map(|(a, b)| Some((a?, (*b)?)))
            .collect::<Vec<_>>()
    });
    let values: Vec<f64> = own.into_iter().flatten().collect();
    let interval = resamples.as_deref_mut();
    Estimate {
        value: stats::mean(&values),
        value_interval: interval.and_then(|resamples| Range::of_mean(&values, resamples)),
        paired: pairs.and_then(|pairs| Paired::of(&pairs, resamples)),
        p_holm: None,
    }
}

/// The mean; `None` without values.
pub(super) fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    stats::mean(&values.collect::<Vec<_>>())
}

impl Tables<'_> {
    pub(super) fn document(
        &self,
        options: &Options,
        guard: Guard,
        skipped: Vec<String>,
        resamples: &mut Resamples,
    ) -> Comparison {
        let pairs = self.pairs();
        let method = self.method(&pairs, &guard, options.seed);
        // Without a method no interval is made at all.
        let mut resamples = method.interval.map(|_| resamples);
        let mut policies: Vec<Policy> = (0..self.study.variants.len())
            .map(|index| self.policy(index, resamples.as_deref_mut()))
            .collect();
        self.correct(&mut policies);
        let breakdown = self.breakdown(options.users, resamples);
        let mut document = Comparison {
            verdict: Verdict::default(),
            baseline: policies.first().map_or(String::new(), |p| p.name.clone()),
            primary: self.primary.to_vec(),
            measured: self.measured(),
            pairs,
            method,
            guard,
            policies,
            thresholds: self.thresholds(options),
            breakdown,
            runs: self.runs(),
            skipped,
            warnings: self.warnings(),
        };
        document.verdict = verdict::of(&document);
        document
    }

    fn pairs(&self) -> Pairs {
        let (over, overlap) = self.study.varies();
        let keys = &self.study.keys;
        let docs = self.study.all_runs().map(|run| &run.manifest.study.varies);
        let step = docs.flatten().find_map(|varies| varies.step.clone());
        Pairs {
            n: self.study.keys.len() as u64,
            over,
            step,
            workloads: keys
                .iter()
                .map(|k| &k.workload)
                .collect::<BTreeSet<_>>()
                .len() as u64,
            keys: self.study.keys.iter().map(|key| key.text.clone()).collect(),
            identical: self.study.identical.clone(),
            unpaired: self.study.unpaired.clone(),
            overlap,
        }
    }

    fn measured(&self) -> Measured {
        let manifest = self.study.all_runs().next().map(|run| &run.manifest);
        Measured {
            jobs: self.replications.iter().map(|r| r.common).sum(),
            left_out: self.replications.iter().map(|r| r.left_out).sum(),
            tau: manifest.map_or(String::new(), |m| m.measure.tau_in_seconds()),
            run_time_scale: manifest.and_then(|m| Some(m.study.scale?.run_time)),
            traces: manifest.map_or(String::new(), traces),
        }
    }

    fn method(&self, pairs: &Pairs, guard: &Guard, seed: u64) -> Method {
        let usual = IntervalMethod::for_pairs(self.study.keys.len());
        let why_none = if !guard.comparable {
            Some("the runs are not comparable".to_owned())
        } else if let Some(overlap) = &pairs.overlap {
            Some(format!("descriptive only: {overlap}"))
        } else if pairs.n == 1 && !pairs.identical.is_empty() {
            Some("all replications gave the same run, which counts once".to_owned())
        } else if pairs.n == 1 {
            Some("there is one run of each policy, and no repeat".to_owned())
        } else if usual.is_none() {
            Some(format!(
                "too few repeats: {} pairs, five are needed",
                pairs.n
            ))
        } else {
            None
        };
        let interval = usual.filter(|_| why_none.is_none());
        let bootstrap = interval == Some(IntervalMethod::BcaBootstrap);
        let contenders = self.study.variants.iter();
        let contenders = contenders.filter(|v| v.role == Role::Contender).count();
        Method {
            level: LEVEL,
            interval,
            why_none,
            resamples: bootstrap.then_some(Resamples::COUNT as u64),
            seed,
            correction: "holm",
            comparisons: (contenders * self.primary.len()) as u64,
        }
    }

    fn policy(&self, index: usize, mut resamples: Option<&mut Resamples>) -> Policy {
        let variant = &self.study.variants[index];
        let mut metrics: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for figure in Figure::all() {
            let estimate = self.estimate(index, figure, resamples.as_deref_mut());
            let own = metrics.entry(figure.metric()).or_default();
            own.insert(figure.statistic(), estimate);
        }
        let figures = || self.replications.iter().filter_map(|r| r.runs.get(index));
        let mut forwarding: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (pair, jobs) in figures().flat_map(|run| &run.forwarding) {
            *forwarding.entry(pair.clone()).or_default() += jobs;
        }
        let mut starvation: Vec<_> = figures().flat_map(|run| run.starving.clone()).collect();
        starvation.sort_by(|a, b| b.relative_wait.total_cmp(&a.relative_wait));
        starvation.truncate(starvation::MOST);
        Policy {
            name: variant.name.clone(),
            role: variant.role,
            missing_jobs: figures().map(|run| run.missing).sum(),
            metrics,
            load: self.load(variant, figures().filter_map(|run| run.age)),
            worse_off: self.worse_off(index),
            forwarding: forwarding
                .into_iter()
                .map(|((from, to), jobs)| Forwarded { from, to, jobs })
                .collect(),
            starvation,
        }
    }

    fn estimate(
        &self,
        variant: usize,
        figure: Figure,
        resamples: Option<&mut Resamples>,
    ) -> Estimate {
        let value =
            |run: &RunFigures| run_metric(run, figure.metric_index()).statistic(figure.statistic());
        let runs = || self.replications.iter();
        let own = runs().map(|r| value(r.runs.get(variant)?)).collect();
        let base = runs().map(|r| value(r.beside(variant)?)).collect();
        estimate(own, (variant > 0).then_some(base), resamples)
    }

    /// Holm's correction over the contenders times the primary figures.
    fn correct(&self, policies: &mut [Policy]) {
        let contenders = policies.iter().enumerate();
        let contenders = contenders.filter(|(_, p)| p.role == Role::Contender);
        let places: Vec<(usize, Figure)> = contenders
            .flat_map(|(index, _)| self.primary.iter().map(move |figure| (index, *figure)))
            .collect();
        let p = |&(index, figure): &(usize, Figure)| {
            let estimate = policies[index].estimate(figure)?;
            Some(estimate.paired?.interval?.p)
        };
        let adjusted = holm(&places.iter().map(p).collect::<Vec<_>>());
        for ((index, figure), p_holm) in places.into_iter().zip(adjusted) {
            let own = policies[index].metrics.get_mut(figure.metric());
            if let Some(estimate) = own.and_then(|own| own.get_mut(figure.statistic())) {
                estimate.p_holm = p_holm;
            }
        }
    }

    /// From the summaries of the runs; null where a run has none.
    fn load(&self, variant: &Variant<'_>, ages: impl Iterator<Item = InformationAge>) -> Load {
        let runs: Vec<&FoundRun> = self
            .study
            .keys
            .iter()
            .filter_map(|key| variant.runs.get(key).copied())
            .collect();
        let figure = |run: &&FoundRun, name: &str| run.manifest.summary[name].as_f64();
        let mean = |name: &str| mean_of(runs.iter().filter_map(|run| figure(run, name)));
        let utilizations = |run: &FoundRun| run.manifest.cluster_loads();
        let spread = |of: fn(&[f64]) -> Option<f64>| {
            let one = |run: &&FoundRun| {
                let own = utilizations(run);
                let own: Option<Vec<f64>> = own.into_iter().map(|(_, value)| value).collect();
                of(&own?)
            };
            mean_of(runs.iter().filter_map(one))
        };
        let names = runs.first().map_or(Vec::new(), |run| utilizations(run));
        let clusters = names.into_iter().enumerate().map(|(index, (cluster, _))| {
            let own = runs
                .iter()
                .filter_map(|run| utilizations(run).get(index)?.1);
            ClusterShare {
                cluster,
                utilization: mean_of(own),
            }
        });
        Load {
            utilization: mean("utilization"),
            cv: spread(stats::cv),
            gini: spread(stats::gini),
            forwarding_ratio: mean("forwarding_ratio"),
            away_share: mean("away_share"),
            waited_share: mean("waited_share"),
            makespan_s: mean("makespan_s"),
            information: over_runs(ages),
            regret: regret(&runs),
            clusters: clusters.collect(),
        }
    }

    fn thresholds(&self, options: &Options) -> Vec<ThresholdDoc> {
        let mut docs = Vec::new();
        for threshold in self.study.thresholds(options) {
            // Bounds show what is possible; they are not what was to be good
            // enough.
            let judged = self.study.variants.iter();
            for variant in judged.filter(|variant| variant.role != Role::Bound) {
                docs.push(self.threshold(&threshold, variant));
            }
        }
        docs
    }

    fn threshold(&self, threshold: &Threshold, variant: &Variant<'_>) -> ThresholdDoc {
        let mut runs = Vec::new();
        for key in &self.study.keys {
            if let Some(run) = variant.runs.get(key) {
                let figure = threshold.figure_in(&run.manifest.summary);
                runs.push((threshold.holds(figure), figure, key.text.clone()));
            }
        }
        let missed = runs.iter().filter(|(held, ..)| !held).count() as u64;
        // A run that misses is worse than any that holds, and an undefined
        // figure the worst of all; beyond that the bound says which way.
        let badness = |figure: Option<f64>| match (figure, threshold.is_upper()) {
            (None, _) => f64::INFINITY,
            (Some(figure), true) => figure,
            (Some(figure), false) => -figure,
        };
        let worst = runs.iter().max_by(|a, b| {
            let missed = b.0.cmp(&a.0);
            missed.then(badness(a.1).total_cmp(&badness(b.1)))
        });
        ThresholdDoc {
            require: threshold.to_string(),
            policy: variant.name.clone(),
            held: missed == 0,
            runs: runs.len() as u64,
            missed,
            worst: worst.and_then(|(_, figure, _)| *figure),
            worst_run: worst.map_or(String::new(), |(.., key)| key.clone()),
        }
    }

    fn runs(&self) -> Vec<RunDoc> {
        let mut docs = Vec::new();
        for (key, replication) in self.study.keys.iter().zip(self.replications) {
            let runs = self.study.runs_of(key);
            let variants = self.study.variants.iter().zip(runs);
            for ((variant, run), figures) in variants.zip(&replication.runs) {
                let metric = |(index, name)| (name, run_metric(figures, index));
                docs.push(RunDoc {
                    policy: variant.name.clone(),
                    replication: key.text.clone(),
                    seed: key.seed,
                    dir: run.dir.display().to_string(),
                    jobs: replication.common - figures.missing,
                    metrics: METRICS.into_iter().enumerate().map(metric).collect(),
                });
            }
        }
        docs
    }

    /// One warning of each kind, with how many runs have one like it: their
    /// numbers differ from window to window.
    fn warnings(&self) -> Vec<String> {
        let mut kinds: Vec<(&str, &str, u64)> = Vec::new();
        for run in self.study.all_runs() {
            let mut own = BTreeSet::new();
            for warning in &run.manifest.warnings {
                let kind = warning
                    .split_once(':')
                    .map_or(warning.as_str(), |(kind, _)| kind);
                match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                    Some((.., count)) => *count += u64::from(own.insert(kind)),
                    None => {
                        own.insert(kind);
                        kinds.push((kind, warning, 1));
                    }
                }
            }
        }
        let all = self.study.all_runs().count() as u64;
        let told = kinds
            .into_iter()
            .map(|(_, warning, count)| match count == all {
                true => format!("{warning} (the same or similar in all {all} runs)"),
                false => format!("{warning} (the same or similar in {count} of {all} runs)"),
            });
        told.collect()
    }
}

/// Of the runs that have it.
fn regret(runs: &[&FoundRun]) -> Option<Regret> {
    let docs = || runs.iter().map(|run| &run.manifest.summary["regret"]);
    let figures = |name: &str| docs().filter_map(|doc| doc[name].as_f64()).collect();
    let mean = |name: &str| mean_of(Vec::<f64>::into_iter(figures(name)));
    let count = |name: &str| docs().filter_map(|doc| doc[name].as_u64()).sum();
    Some(Regret {
        decisions: count("decisions"),
        weighed: count("weighed"),
        best_share: Some(mean("best_share")?),
        mean_s: Some(mean("mean_s")?),
        p95_s: Some(mean("p95_s")?),
        max_s: figures("max_s").into_iter().reduce(f64::max).or(Some(0.0)),
    })
}

/// The ages of several runs as one, every decision counting alike.
fn over_runs(ages: impl Iterator<Item = InformationAge>) -> Option<InformationAge> {
    ages.reduce(|a, b| {
        let known = |age: InformationAge| (age.decisions - age.before_first) as f64;
        InformationAge {
            decisions: a.decisions + b.decisions,
            before_first: a.before_first + b.before_first,
            mean_s: (a.mean_s * known(a) + b.mean_s * known(b)) / (known(a) + known(b)),
            max_s: a.max_s.max(b.max_s),
        }
    })
}

fn run_metric(run: &RunFigures, metric: usize) -> RunMetric {
    let of = &run.metrics[metric];
    RunMetric {
        n: of.n,
        mean: of.mean,
        p50: of.p50,
        p95: of.p95,
        p99: of.p99,
    }
}
