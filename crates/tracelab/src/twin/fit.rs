//! How near simulated waits come to recorded ones.

use super::{SAME, Waits};
use crate::format::{NAMED, PARTITION, QUEUE, USER};
use crate::load::{Loaded, TraceJob};
use crate::reduce::ranks;
use crate::validate::apart;
use gridrig_core::discipline::DisciplineKind;
use gridrig_results::plot::seconds;
use gridrig_results::stats::{Distribution, mean};
use gridrig_results::threshold::{SIZE_NAMES, size_class};
use serde::Serialize;
use std::collections::BTreeMap;

/// Users, queues and partitions that are shown of each.
const SHOWN: usize = 5;

/// What the model is good for, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Each job waits as long as it did.
    Exact,
    /// A misfit of 1 at most.
    Good,
    /// A misfit of 2 at most.
    Rough,
    /// A larger one.
    Poor,
}

/// A good model has at most this area, as a share of the mean recorded wait (of a
/// minute at least),
const AREA: f64 = 0.25;
/// this KS distance,
const KS: f64 = 0.10;
/// and this distance of the rank correlation from 1.
const RANK: f64 = 0.30;

/// Waits under a discipline, beside those of the log.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// Its name.
    pub discipline: &'static str,
    #[serde(skip)]
    pub(super) kind: DisciplineKind,
    /// The largest of area, KS distance and 1 - rank correlation, each over the most
    /// that a good model may have.
    pub misfit: f64,
    /// Waits of the model.
    pub simulated_s: Distribution,
    /// Area between the distribution functions of both: how far the n-th shortest
    /// simulated wait is from the n-th shortest recorded one, in the mean.
    pub area_s: f64,
    /// The largest distance of the two distribution functions from a minute on.
    pub ks: f64,
    /// Rank correlation of the waits, job by job; null where all are alike.
    pub spearman: Option<f64>,
    /// Mean of the differences of a job's two waits, whatever their sign.
    pub job_error_s: f64,
    /// The largest of them.
    pub largest_job_error_s: f64,
    /// Share of the jobs whose waits differ by a minute at most.
    pub same_share: f64,
    /// Share of those that wait less than recorded.
    pub less_share: f64,
    /// Share of those that wait more.
    pub more_share: f64,
}

/// The jobs by one of their fields.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Breakdown {
    /// `size`, `user`, `queue` or `partition`.
    pub by: &'static str,
    /// All sizes; of the others those with the most jobs.
    pub groups: Vec<Group>,
    /// Groups that are not shown.
    pub other_groups: u64,
    /// Their jobs.
    pub other_jobs: u64,
}

/// Jobs that have something in common.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// What that is.
    pub group: String,
    /// How many.
    pub jobs: u64,
    /// Their mean wait in the log.
    pub recorded_mean_s: f64,
    /// Their mean wait in the model.
    pub simulated_mean_s: f64,
    /// Area between the distribution functions.
    pub area_s: f64,
    /// Rank correlation.
    pub spearman: Option<f64>,
}

impl Fit {
    pub(super) fn of(kind: DisciplineKind, waits: &[Waits]) -> Self {
        let same = SAME.as_secs_f64();
        let share = |of: &dyn Fn(f64) -> bool| {
            let count = waits.iter().filter(|it| of(it.simulated_s - it.recorded_s));
            count.count() as f64 / waits.len() as f64
        };
        let errors = waits
            .iter()
            .map(|it| (it.simulated_s - it.recorded_s).abs());
        let errors: Vec<f64> = errors.collect();
        let recorded: Vec<f64> = waits.iter().map(|it| it.recorded_s).collect();
        let (area_s, ks, spearman) = (area_s(waits), ks(waits, same), spearman(waits));
        let waited = mean(&recorded).unwrap_or(0.0).max(same);
        let parts = [
            area_s / (AREA * waited),
            ks / KS,
            spearman.map_or(0.0, |rank| (1.0 - rank) / RANK),
        ];
        Fit {
            discipline: kind.name(),
            kind,
            misfit: parts.into_iter().fold(0.0, f64::max),
            simulated_s: Distribution::of(waits.iter().map(|it| it.simulated_s)),
            area_s,
            ks,
            spearman,
            job_error_s: mean(&errors).unwrap_or(0.0),
            largest_job_error_s: errors.iter().copied().fold(0.0, f64::max),
            same_share: share(&|more| more.abs() <= same),
            less_share: share(&|more| more < -same),
            more_share: share(&|more| more > same),
        }
    }

    pub(super) fn grade(&self) -> Grade {
        match (self.largest_job_error_s, self.misfit) {
            (0.0, _) => Grade::Exact,
            (_, ..=1.0) => Grade::Good,
            (_, ..=2.0) => Grade::Rough,
            _ => Grade::Poor,
        }
    }

    pub(super) fn sentence(&self, grade: Grade, recorded: &Distribution, tried: usize) -> String {
        let under = match tried {
            1 => format!("under {}", self.discipline),
            _ => format!("under {}, the best of {tried}", self.discipline),
        };
        let says = match grade {
            Grade::Exact => {
                return format!("The twin is exact: {under}, each job waits as recorded.");
            }
            Grade::Good => "good",
            Grade::Rough => "rough, good for orders of magnitude only",
            Grade::Poor => "poor, and its answers about this site are not to be trusted",
        };
        let rank = self
            .spearman
            .map_or("-".to_owned(), |it| format!("{it:.2}"));
        format!(
            "The twin is {says}: {under}, the waits of the model are {} from the recorded ones (area; \
             the mean recorded wait is {}), KS is {:.2} and the rank correlation {rank}.",
            seconds(self.area_s),
            seconds(recorded.mean.unwrap_or(0.0)),
            self.ks
        )
    }
}

/// Both lists of waits in rising order.
fn rising(waits: &[Waits]) -> [Vec<f64>; 2] {
    [|it: &Waits| it.recorded_s, |it: &Waits| it.simulated_s].map(|of| {
        let mut values: Vec<f64> = waits.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    })
}

fn area_s(waits: &[Waits]) -> f64 {
    let [recorded, simulated] = rising(waits);
    let apart = recorded.iter().zip(&simulated).map(|(a, b)| (a - b).abs());
    mean(&apart.collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The Kolmogorov-Smirnov distance over waits of at least so many seconds.
fn ks(waits: &[Waits], from: f64) -> f64 {
    let [recorded, simulated] = rising(waits);
    apart(&recorded, &simulated, from)
}

/// The rank correlation of Spearman, equal waits having the mean of their ranks.
fn spearman(waits: &[Waits]) -> Option<f64> {
    let [x, y] = [|it: &Waits| it.recorded_s, |it: &Waits| it.simulated_s]
        .map(|of| ranks(&waits.iter().map(of).collect::<Vec<_>>()));
    let middle = (waits.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - middle) * (b - middle))
            .sum()
    };
    let spread = (product(&x, &x) * product(&y, &y)).sqrt();
    (spread > 0.0).then(|| product(&x, &y) / spread)
}

/// By size, user, queue and partition; fields with a single value are left out.
pub(super) fn breakdown(loaded: &Loaded, waits: &[Waits]) -> Vec<Breakdown> {
    let id = |at: usize| move |job: &TraceJob| job.ids[at].map_or(0, |id| u64::from(id) + 1);
    let name = |at: usize| {
        let names = loaded.names.get(NAMED[at].0);
        move |key: u64| match key.checked_sub(1) {
            None => "unknown".to_owned(),
            Some(id) => names
                .and_then(|names| names.get(id as usize).cloned())
                .unwrap_or_else(|| id.to_string()),
        }
    };
    let size = |job: &TraceJob| size_class(job.processors) as u64;
    let mut all = vec![Breakdown::of(
        "size",
        waits,
        |it| size(&loaded.jobs[it.job]),
        |class| SIZE_NAMES[class as usize].to_owned(),
        SIZE_NAMES.len(),
    )];
    for at in [USER, QUEUE, PARTITION] {
        let key = id(at);
        let of = |it: &Waits| key(&loaded.jobs[it.job]);
        all.push(Breakdown::of(NAMED[at].0, waits, of, name(at), SHOWN));
    }
    all.retain(|one| one.groups.len() > 1);
    all
}

impl Breakdown {
    fn of(
        by: &'static str,
        waits: &[Waits],
        key: impl Fn(&Waits) -> u64,
        name: impl Fn(u64) -> String,
        shown: usize,
    ) -> Self {
        let mut groups: BTreeMap<u64, Vec<Waits>> = BTreeMap::new();
        for wait in waits {
            groups.entry(key(wait)).or_default().push(*wait);
        }
        let mut groups: Vec<(u64, Vec<Waits>)> = groups.into_iter().collect();
        if groups.len() > shown {
            groups.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.len()));
        }
        let others = groups.split_off(shown.min(groups.len()));
        let group = |(key, waits): (u64, Vec<Waits>)| {
            let fit = |of: fn(&Waits) -> f64| {
                let values: Vec<f64> = waits.iter().map(of).collect();
                mean(&values).unwrap_or(0.0)
            };
            Group {
                group: name(key),
                jobs: waits.len() as u64,
                recorded_mean_s: fit(|it| it.recorded_s),
                simulated_mean_s: fit(|it| it.simulated_s),
                area_s: area_s(&waits),
                spearman: spearman(&waits),
            }
        };
        Breakdown {
            by,
            other_groups: others.len() as u64,
            other_jobs: others.iter().map(|(_, waits)| waits.len() as u64).sum(),
            groups: groups.into_iter().map(group).collect(),
        }
    }
}
