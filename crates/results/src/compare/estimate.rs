//! Figures over replications, and the document made of them.

use super::Options;
use super::answer::{Verdict, Versus};
use super::document::{
    ClusterShare, Comparison, Estimate, Forwarded, Guard, InformationAge, Load, Measured, Method,
    Pairs, Policy, Role, RunDoc, RunMetric, ThresholdDoc, Unfinished,
};
use super::figures::{Replication, RunFigures};
use super::find::FoundRun;
use super::group::{Distinct, Study, Variant, traces};
use super::{federation, starvation, verdict};
use crate::regret::Regret;
use crate::stats::{self, ENOUGH, Judgement, LEVEL, METHOD, Paired, Range};
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
    distinct: &Distinct,
    level: Option<f64>,
) -> Estimate {
    let pairs = baseline.map(|baseline| {
        let pairs = baseline.into_iter().zip(own.iter().copied());
        once(pairs.map(|(a, b)| a.zip(b)), &distinct.pairs)
    });
    let runs = once(own.iter().copied(), &distinct.own);
    Estimate {
        value: mean_of(own.into_iter().flatten()),
        value_interval: level.and_then(|_| Range::of_mean(&runs)),
        paired: pairs.and_then(|pairs| Paired::of(&pairs, level)),
        ..Estimate::default()
    }
}

/// Of values, replication by replication, those that count.
fn once<T>(values: impl Iterator<Item = Option<T>>, distinct: &[bool]) -> Vec<T> {
    let counted = values.zip(distinct).filter(|(_, distinct)| **distinct);
    counted.filter_map(|(value, _)| value).collect()
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
    ) -> Comparison {
        let pairs = self.pairs();
        let method = self.method(&pairs, &guard, options);
        let policies: Vec<Policy> = (0..self.study.variants.len())
            .map(|index| self.policy(index, &method))
            .collect();
        let breakdown = self.breakdown(options.users, method.interval.map(|_| LEVEL));
        let versus = self.versus(&method);
        let mut document = Comparison {
            verdict: Verdict::default(),
            federation: None,
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
        document.measured.text = verdict::left_out(&document);
        document.verdict = verdict::of(&document, versus);
        // One domain has nobody to federate with.
        let mut manifests = self.study.all_runs().map(|run| &run.manifest);
        if manifests.any(|manifest| manifest.grid.domains.len() > 1) {
            document.federation = federation::of(&document, self.study);
        }
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
            never_completed: self.replications.iter().map(|r| r.never_completed).sum(),
            text: None,
            tau: manifest.map_or(String::new(), |m| m.measure.tau_in_seconds()),
            run_time_scale: manifest.and_then(|m| Some(m.study.scale?.run_time)),
            traces: manifest.map_or(String::new(), traces),
        }
    }

    fn method(&self, pairs: &Pairs, guard: &Guard, options: &Options) -> Method {
        let coverage = stats::coverage(self.study.keys.len());
        let why_none = if !guard.comparable {
            Some("the runs are not comparable".to_owned())
        } else if let Some(overlap) = &pairs.overlap {
            Some(format!("descriptive only: {overlap}"))
        } else if pairs.n == 1 && !pairs.identical.is_empty() {
            Some("all replications gave the same run, which counts once".to_owned())
        } else if pairs.n == 1 {
            Some("there is one run of each policy, and no repeat".to_owned())
        } else if coverage.is_none() {
            Some(format!(
                "too few repeats: {} pairs, five are needed",
                pairs.n
            ))
        } else {
            None
        };
        let coverage = coverage.filter(|_| why_none.is_none());
        let too_low = coverage.filter(|share| *share < ENOUGH);
        let variants = self.study.variants.iter();
        let competing = variants.filter(|v| v.role != Role::Bound).count();
        let comparisons = competing * competing.saturating_sub(1) / 2 * self.primary.len();
        Method {
            level: LEVEL,
            interval: coverage.map(|_| METHOD),
            why_none,
            coverage,
            why_open: too_low.map(|share| {
                format!(
                    "intervals from {} pairs held the mean of skewed populations in {:.0} % of \
                     samples; {} pairs are needed",
                    pairs.n,
                    100.0 * share,
                    stats::fewest_for_a_claim()
                )
            }),
            correction: "bonferroni",
            comparisons: comparisons as u64,
            simultaneous_level: 1.0 - (1.0 - LEVEL) / comparisons.max(1) as f64,
            relevant: self.study.relevant(self.primary, options),
        }
    }

    fn policy(&self, index: usize, method: &Method) -> Policy {
        let variant = &self.study.variants[index];
        let mut metrics: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for figure in Figure::all() {
            let estimate = self.estimate(index, figure, method);
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
            unfinished: self.unfinished(index, method),
            worse_off: self.worse_off(index),
            forwarding: forwarding
                .into_iter()
                .map(|((from, to), jobs)| Forwarded { from, to, jobs })
                .collect(),
            starvation,
        }
    }

    /// A figure of each run of a variant, replication by replication.
    fn values<'a>(
        &'a self,
        figure: Figure,
        run: impl Fn(&'a Replication) -> Option<&'a RunFigures> + 'a,
    ) -> Vec<Option<f64>> {
        let metric = move |run| run_metric(run, figure.metric_index());
        let runs = self.replications.iter();
        runs.map(|one| metric(run(one)?).statistic(figure.statistic()))
            .collect()
    }

    fn estimate(&self, variant: usize, figure: Figure, method: &Method) -> Estimate {
        let competes = self.study.variants[variant].role == Role::Contender;
        let judged = competes && self.primary.contains(&figure);
        let level = match judged {
            true => method.simultaneous_level,
            false => LEVEL,
        };
        let own = self.values(figure, |one| one.runs.get(variant));
        let base = self.values(figure, |one| one.beside(variant));
        let base = (variant > 0).then_some(base);
        let distinct = self.study.distinct(variant);
        let mut estimate = estimate(own, base, &distinct, method.interval.map(|_| level));
        if let (true, Some(paired)) = (judged, &estimate.paired) {
            estimate.p_corrected = method.corrected(paired);
            estimate.judgement = method.judgement(paired, figure);
        }
        estimate
    }

    /// Every two policies that compete.
    fn versus(&self, method: &Method) -> Vec<Versus> {
        let (figure, variants) = (self.primary[0], &self.study.variants);
        let competing = variants.iter().filter(|v| v.role != Role::Bound).count();
        let level = method.interval.map(|_| method.simultaneous_level);
        let values = |variant: usize| self.values(figure, move |one| one.runs.get(variant));
        let mut all = Vec::new();
        for (one, other) in (0..competing).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let pairs = values(other).into_iter().zip(values(one));
            let distinct = self.study.distinct_pairs(other, one);
            let pairs = once(pairs.map(|(a, b)| a.zip(b)), &distinct);
            let Some(paired) = Paired::of(&pairs, level) else {
                continue;
            };
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
            let relevant = method.relevant_to(figure);
            all.push(Versus {
                policy: variants[one].name.clone(),
                against: variants[other].name.clone(),
                p_corrected: method.corrected(&paired),
                judgement: method.judgement(&paired, figure),
                pairs_needed: stats::pairs_needed(
                    &differences,
                    relevant,
                    method.simultaneous_level,
                ),
                paired,
            });
        }
        all
    }

    /// Of all measured jobs, where some did not finish.
    fn unfinished(&self, index: usize, method: &Method) -> Option<Unfinished> {
        let runs = || self.replications.iter();
        let variants = self.study.variants.iter().enumerate();
        let looked_at = variants.filter(|(at, v)| *at == index || v.role != Role::Bound);
        let mut all = looked_at.flat_map(|(at, _)| runs().filter_map(move |one| one.runs.get(at)));
        if all.all(|run| run.survival.finished_share == Some(1.0)) {
            return None;
        }
        let level = method.interval.map(|_| LEVEL);
        let distinct = self.study.distinct(index);
        let of = |figure: fn(&RunFigures) -> Option<f64>| {
            let of = |at: usize| -> Vec<Option<f64>> {
                runs().map(|one| figure(one.runs.get(at)?)).collect()
            };
            // Over some replications only it would be over those in which more jobs started.
            let is_known = |values: &Vec<Option<f64>>| values.iter().all(Option::is_some);
            let own = Some(of(index)).filter(is_known);
            let base = Some(of(0)).filter(|base| index > 0 && is_known(base));
            own.map_or(Estimate::default(), |own| {
                estimate(own, base, &distinct, level)
            })
        };
        Some(Unfinished {
            finished_share: of(|run| run.survival.finished_share),
            wait_s_p50: of(|run| run.survival.wait_s_p50),
            wait_s_p95: of(|run| run.survival.wait_s_p95),
        })
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

impl Method {
    pub(super) fn relevant_to(&self, figure: Figure) -> f64 {
        let relevant = self.relevant.get(&figure.to_string());
        relevant.copied().unwrap_or_default()
    }

    fn corrected(&self, paired: &Paired) -> Option<f64> {
        Some((paired.interval?.p * self.comparisons as f64).min(1.0))
    }

    fn judgement(&self, paired: &Paired, figure: Figure) -> Option<Judgement> {
        paired.interval?;
        Some(paired.judge(self.relevant_to(figure)))
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
