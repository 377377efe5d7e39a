//! The figures of every run, over the jobs that completed under every policy
//! of its replication; bounds have no say in which these are. Columns are read one by one and let go again: memory is
//! that of a few columns of as many runs as there are processors.

use super::classes::{RUN_TIME_NAMES, SIZE_NAMES, run_time_class, size_class};
use super::common::{self, Common, Opened, count, over};
use super::document::{InformationAge, Role, Starved};
use super::error::{CompareError, Result};
use super::group::Study;
use super::parallel::try_each;
use super::{age, starvation};
use crate::rundir::{Codes, OWNERS, RunDirError};
use crate::stats::{Distribution, Survival};
use crate::threshold::{Figure, METRICS};
use gridrig_core::time::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// What jobs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    OriginDomain,
    ExecDomain,
    /// Whose they are: by a number, in the column of the job table of this name.
    Owner(&'static str),
    Size,
    RunTime,
}

impl By {
    /// All, in the order of reports.
    pub(super) fn all() -> impl Iterator<Item = By> {
        let domains = [By::OriginDomain, By::ExecDomain].into_iter();
        let owners = OWNERS.into_iter().map(|(name, _)| By::Owner(name));
        domains.chain(owners).chain([By::Size, By::RunTime])
    }

    /// The name in documents.
    pub(super) fn name(self) -> &'static str {
        match self {
            By::OriginDomain => "origin-domain",
            By::ExecDomain => "executing-domain",
            By::Owner(name) => name,
            By::Size => "size",
            By::RunTime => "run-time",
        }
    }
}

/// The jobs of a group in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GroupSum {
    pub(super) jobs: u64,
    pub(super) processor_s: f64,
    /// Jobs that have the metric.
    values: u64,
    sum: f64,
}

impl GroupSum {
    pub(super) fn mean(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / self.values as f64)
    }

    fn add(&mut self, processor_s: f64, value: f64) {
        self.jobs += 1;
        self.processor_s += processor_s;
        if value.is_finite() {
            self.values += 1;
            self.sum += value;
        }
    }
}

/// Groups by what they are grouped by, a number that orders them, and name.
pub(super) type Groups = BTreeMap<(By, u64, String), GroupSum>;

/// One run over the common jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct RunFigures {
    /// Common jobs that did not complete here: only a bound can have some.
    pub(super) missing: u64,
    pub(super) metrics: [Distribution; METRICS.len()],
    pub(super) groups: Groups,
    pub(super) forwarding: BTreeMap<(String, String), u64>,
    pub(super) starving: Vec<Starved>,
    pub(super) survival: RunSurvival,
    /// `None` where nothing was looked at, or nobody knows when.
    pub(super) age: Option<InformationAge>,
}

/// One run over all its measured jobs, whatever became of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunSurvival {
    pub(super) finished_share: Option<f64>,
    pub(super) wait_s_p50: Option<f64>,
    pub(super) wait_s_p95: Option<f64>,
}

/// One replication.
#[derive(Clone, Debug)]
pub(super) struct Replication {
    /// Jobs that completed under every policy but bounds.
    pub(super) common: u64,
    /// Jobs that completed under some.
    pub(super) left_out: u64,
    /// Jobs that completed under none.
    pub(super) never_completed: u64,
    /// In the order of the variants.
    pub(super) runs: Vec<RunFigures>,
    /// The baseline over the jobs of a variant that lacks some.
    narrowed: BTreeMap<usize, RunFigures>,
}

impl Replication {
    /// The baseline over the same jobs as a variant.
    pub(super) fn beside(&self, variant: usize) -> Option<&RunFigures> {
        self.narrowed.get(&variant).or(self.runs.first())
    }
}

/// The delays of all replications together, for who draws them: by variant, in
/// no order, of the jobs that completed under every one, bounds too.
pub(super) type Delays = Vec<Vec<f64>>;

/// Reads all runs that are paired. The delays are read anyway, and kept only
/// where they are asked for.
pub(super) fn measure(
    study: &Study<'_>,
    primary: Figure,
    mut delays: Option<&mut Delays>,
) -> Result<Vec<Replication>> {
    let variants = study.variants.iter();
    let bounds: Vec<bool> = variants.map(|v| v.role == Role::Bound).collect();
    let mut all = Vec::with_capacity(study.keys.len());
    for key in &study.keys {
        let opened = common::open(&study.runs_of(key))?;
        let common = Common::of(&opened, &bounds);
        let keep = delays.is_some();
        let figures = try_each(&opened, |run| {
            let own = run.own(&common);
            let missing = common.jobs - count(&own);
            let mut raw = Vec::new();
            let kept = keep.then_some(&mut raw);
            let figures = run.figures(&own, &key.text, primary, kept)?;
            Ok::<_, CompareError>((RunFigures { missing, ..figures }, raw))
        })?;
        let (figures, raw): (Vec<RunFigures>, Vec<Vec<f64>>) = figures.into_iter().unzip();
        if let Some(delays) = &mut delays {
            pool(delays, &opened, raw);
        }
        let mut narrowed = BTreeMap::new();
        for (variant, (run, own)) in opened.iter().zip(&figures).enumerate() {
            if own.missing > 0 {
                let own = run.own(&common);
                narrowed.insert(variant, opened[0].figures(&own, &key.text, primary, None)?);
            }
        }
        all.push(Replication {
            common: common.jobs,
            left_out: common.left_out,
            never_completed: common.never_completed,
            runs: figures,
            narrowed,
        });
    }
    Ok(all)
}

/// Adds the delays of one replication: of the jobs that completed, and were
/// seen to, in every run.
fn pool(delays: &mut Delays, opened: &[Opened<'_>], raw: Vec<Vec<f64>>) {
    delays.resize_with(opened.len(), Vec::new);
    let mut shown: Vec<bool> = Vec::new();
    for (run, raw) in opened.iter().zip(&raw) {
        shown.resize(raw.len(), true);
        let own = run.completed.iter().zip(raw);
        for (shown, (completed, delay)) in shown.iter_mut().zip(own) {
            *shown &= *completed && !delay.is_nan();
        }
    }
    for (pool, raw) in delays.iter_mut().zip(raw) {
        let own = raw.into_iter().zip(&shown);
        pool.extend(own.filter_map(|(delay, shown)| shown.then_some(delay)));
    }
}

impl Opened<'_> {
    fn figures(
        &self,
        common: &[bool],
        key: &str,
        primary: Figure,
        mut delays: Option<&mut Vec<f64>>,
    ) -> Result<RunFigures, RunDirError> {
        let mut figures = RunFigures::default();
        let mut judged = Vec::new();
        let mut wait_s = Vec::new();
        for (index, name) in METRICS.into_iter().enumerate() {
            let values = self.metric(name)?;
            if index == primary.metric_index() {
                judged.clone_from(&values);
            }
            match (name, delays.as_deref_mut()) {
                ("delay_s", Some(delays)) => delays.clone_from(&values),
                ("wait_s", _) => wait_s.clone_from(&values),
                _ => {}
            }
            figures.metrics[index] = over(values, common);
        }
        let processors = self.columns.u32s("processors")?;
        let run_times = self.columns.i64s("run_time_ref_ns")?;
        let run_time_s: Vec<f64> = run_times.iter().map(|nanos| *nanos as f64 / 1e9).collect();
        let work: Vec<f64> = processors
            .iter()
            .zip(&run_time_s)
            .map(|(processors, run_time)| f64::from(*processors) * run_time)
            .collect();
        let sums = Sums {
            common,
            judged: &judged,
            work: &work,
        };
        let scale = self.run.manifest.study.scale;
        let scale = scale.map_or(1.0, |scale| scale.run_time);
        let groups = &mut figures.groups;
        sums.by_class(groups, By::Size, &SIZE_NAMES, |row| {
            size_class(processors[row])
        });
        sums.by_class(groups, By::RunTime, &RUN_TIME_NAMES, |row| {
            run_time_class(run_times[row], scale)
        });
        for (name, _) in OWNERS {
            self.by_owner(name, groups, &sums)?;
        }
        let origin = self.columns.codes("origin_domain")?;
        sums.by_code(groups, By::OriginDomain, &origin);
        let exec = self.columns.codes("exec_domain")?;
        sums.by_code(groups, By::ExecDomain, &exec);
        figures.age = age::of(self)?;
        figures.survival = self.survival(&wait_s)?;
        figures.forwarding = forwarding(common, &origin, &exec);
        let columns = (&processors[..], &run_time_s[..], &wait_s[..]);
        figures.starving = starvation::find(self, key, common, columns)?;
        Ok(figures)
    }

    /// A job that has not started has waited until it ended or, if it did not, the run did:
    /// as in the summary of a run.
    fn survival(&self, wait_s: &[f64]) -> Result<RunSurvival, RunDirError> {
        let submit = self.columns.i64s("submit_ns")?;
        let ends = self.columns.i64s("end_ns")?;
        let direct = common::direct(&self.columns, self.measure)?;
        let is_direct = |row: usize| direct.as_ref().is_some_and(|direct| direct[row]);
        let end_ns = self.run.manifest.end_ns;
        let (mut submitted, mut waits) = (0_u64, Vec::new());
        for (row, submit) in submit.into_iter().enumerate() {
            let at = u64::try_from(submit).ok();
            let submit = at.map(SimTime::from_nanos);
            let Some(at) = at.filter(|_| self.measure.measures(submit, is_direct(row))) else {
                continue;
            };
            submitted += 1;
            waits.push(match wait_s[row].is_finite() {
                true => (wait_s[row], true),
                false => {
                    let end = u64::try_from(ends[row]).unwrap_or(end_ns);
                    (end.saturating_sub(at) as f64 / 1e9, false)
                }
            });
        }
        let survival = Survival::of(waits);
        Ok(RunSurvival {
            finished_share: (submitted > 0)
                .then(|| count(&self.completed) as f64 / submitted as f64),
            wait_s_p50: survival.quantile(0.5),
            wait_s_p95: survival.quantile(0.95),
        })
    }

    /// Owners of different workloads may share a number and are told apart.
    fn by_owner(
        &self,
        name: &'static str,
        groups: &mut Groups,
        sums: &Sums<'_>,
    ) -> Result<(), RunDirError> {
        // A run that knows none of them does not have the column.
        if !self.columns.has(name) {
            return Ok(());
        }
        let owners = self.columns.u32s(name)?;
        let several = self.run.manifest.workloads.len() > 1;
        let workloads = match several {
            true => self.columns.codes("workload")?,
            false => Codes::default(),
        };
        let id = |row: usize| {
            let workload = workloads.rows.get(row).copied().unwrap_or(0);
            (u64::from(workload) << 32) | u64::from(owners[row])
        };
        let known = distinct((0..owners.len()).map(id));
        let names: Vec<String> = known
            .iter()
            .map(|id| {
                let owner = match u32::try_from(id & u64::from(u32::MAX)) {
                    Ok(u32::MAX) | Err(_) => "unknown".to_owned(),
                    Ok(owner) => owner.to_string(),
                };
                let workload = usize::try_from(id >> 32).unwrap_or(0);
                match workloads.names.get(workload) {
                    Some(workload) => format!("{workload}:{owner}"),
                    None => owner,
                }
            })
            .collect();
        // Most owners were just seen: where one was found is kept.
        let mut found = vec![(u64::MAX, 0); PLACES];
        sums.by_class(groups, By::Owner(name), &names, |row| {
            let id = id(row);
            let found = &mut found[place(id)];
            if found.0 != id {
                *found = (id, known.partition_point(|other| *other < id));
            }
            found.1
        });
        Ok(())
    }
}

/// The values, none of them `u64::MAX`, rising and each once: a few hundred of
/// millions.
fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut known: BTreeSet<u64> = BTreeSet::new();
    // Most values were just seen.
    let mut recent = vec![u64::MAX; PLACES];
    for value in values {
        let place = &mut recent[place(value)];
        if *place != value {
            *place = value;
            known.insert(value);
        }
    }
    known.into_iter().collect()
}

/// So many of the values that were just seen are remembered.
const PLACES: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 12;

/// Where a value is remembered: neighbours lie apart (Fibonacci hashing).
fn place(value: u64) -> usize {
    (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS)) as usize
}

/// What is summed over groups.
struct Sums<'a> {
    common: &'a [bool],
    judged: &'a [f64],
    work: &'a [f64],
}

impl Sums<'_> {
    fn by_class<N: AsRef<str>>(
        &self,
        groups: &mut Groups,
        by: By,
        names: &[N],
        mut class: impl FnMut(usize) -> usize,
    ) {
        let mut sums = vec![GroupSum::default(); names.len()];
        for row in (0..self.common.len()).filter(|row| self.common[*row]) {
            if let Some(sum) = sums.get_mut(class(row)) {
                sum.add(self.work[row], self.judged[row]);
            }
        }
        for ((order, name), sum) in (0..).zip(names).zip(sums) {
            if sum.jobs > 0 {
                // Owners come in the order of their processor time, later.
                let order = if let By::Owner(_) = by { 0 } else { order };
                groups.insert((by, order, name.as_ref().to_owned()), sum);
            }
        }
    }

    fn by_code(&self, groups: &mut Groups, by: By, codes: &Codes) {
        let mut own = Groups::new();
        self.by_class(&mut own, by, &codes.names, |row| {
            usize::from(codes.rows[row])
        });
        // Numbers of names differ from run to run; the name alone counts.
        let own = own
            .into_iter()
            .map(|((by, _, name), sum)| ((by, 0, name), sum));
        groups.extend(own);
    }
}

pub(crate) fn forwarding(
    common: &[bool],
    origin: &Codes,
    exec: &Codes,
) -> BTreeMap<(String, String), u64> {
    let width = exec.names.len();
    let mut counts = vec![0_u64; origin.names.len() * width];
    for row in (0..common.len()).filter(|row| common[*row]) {
        let (from, to) = (origin.rows[row], exec.rows[row]);
        if from != Codes::NONE && to != Codes::NONE {
            counts[usize::from(from) * width + usize::from(to)] += 1;
        }
    }
    let ends = |index: usize| (&origin.names[index / width], &exec.names[index % width]);
    let all = counts.into_iter();
    let counts = all.enumerate().filter(|(_, count)| *count > 0);
    let named = counts.map(|(index, count)| (ends(index), count));
    named
        .map(|((from, to), count)| ((from.clone(), to.clone()), count))
        .collect()
}
