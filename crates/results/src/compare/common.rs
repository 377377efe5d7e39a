//! The jobs that runs of one replication are compared on: those that completed
//! under every policy. Bounds have no say in which these are.

use super::error::Result;
use super::find::FoundRun;
use super::group::is_bound;
use super::parallel::try_each;
use crate::measure::Measure;
use crate::rundir::{RunDirError, TableColumns, names};
use crate::stats::Distribution;
use crate::summary::Metrics;
use crate::threshold::METRICS;
use gridrig_core::time::SimTime;
use std::path::PathBuf;

/// Runs of one replication over the same jobs.
#[derive(Clone, Debug)]
pub struct OnCommonJobs {
    /// Jobs that completed under every policy but bounds.
    pub jobs: u64,
    /// Jobs that completed under some.
    pub left_out: u64,
    /// Jobs that completed under none.
    pub never_completed: u64,
    /// By run, over those of the common jobs that completed there.
    pub metrics: Vec<Metrics>,
}

/// The metrics of runs of one replication over the jobs that completed in all
/// of them, bounds apart where two policies or more compete.
///
/// # Errors
/// A run that is damaged, or of other jobs than the first.
pub fn on_common_jobs(dirs: &[PathBuf]) -> Result<OnCommonJobs> {
    let runs = dirs.iter().map(|dir| FoundRun::read(dir));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let mut bounds: Vec<bool> = runs.iter().map(|run| is_bound(&run.manifest)).collect();
    if bounds.iter().filter(|bound| !**bound).count() < 2 {
        bounds.fill(false);
    }
    let opened = open(&runs.iter().collect::<Vec<_>>())?;
    let common = Common::of(&opened, &bounds);
    let metrics = try_each(&opened, |run| {
        let own = run.own(&common);
        let mut metrics = [Distribution::default(); METRICS.len()];
        for (metric, name) in metrics.iter_mut().zip(METRICS) {
            *metric = over(run.metric(name)?, &own);
        }
        Ok::<_, RunDirError>(Metrics::of(metrics))
    })?;
    Ok(OnCommonJobs {
        jobs: common.jobs,
        left_out: common.left_out,
        never_completed: common.never_completed,
        metrics,
    })
}

/// Which jobs runs are compared on.
pub(super) struct Common {
    /// By row.
    rows: Vec<bool>,
    /// How many.
    pub(super) jobs: u64,
    /// Others that completed under some policy.
    pub(super) left_out: u64,
    /// Others that were measured and completed under none.
    pub(super) never_completed: u64,
}

impl Common {
    pub(super) fn of(runs: &[Opened<'_>], bounds: &[bool]) -> Self {
        let judged = runs.iter().zip(bounds).filter(|(_, bound)| !**bound);
        let mut judged = judged.map(|(run, _)| run);
        let first = judged.next();
        let of = |rows: fn(&Opened<'_>) -> Vec<bool>| first.map_or(Vec::new(), rows);
        let mut rows = of(|run| run.completed.clone());
        let (mut any, mut measured) = (rows.clone(), of(|run| run.measured.clone()));
        for run in judged {
            for (row, completed) in run.completed.iter().enumerate() {
                rows[row] &= completed;
                any[row] |= completed;
                measured[row] |= run.measured[row];
            }
        }
        let (jobs, some) = (count(&rows), count(&any));
        Common {
            left_out: some - jobs,
            never_completed: count(&measured) - some,
            jobs,
            rows,
        }
    }
}

/// So many rows are chosen.
pub(super) fn count(rows: &[bool]) -> u64 {
    rows.iter().filter(|row| **row).count() as u64
}

/// The distribution of a column over chosen rows.
pub(super) fn over(mut values: Vec<f64>, rows: &[bool]) -> Distribution {
    let mut row = 0;
    values.retain(|_| {
        row += 1;
        rows[row - 1]
    });
    Distribution::of(values)
}

/// Opens the jobs of runs of one workload, which have the same ones in the same rows.
pub(super) fn open<'a>(runs: &[&'a FoundRun]) -> Result<Vec<Opened<'a>>, RunDirError> {
    let opened = try_each(runs, |run| Opened::new(run))?;
    let first = opened.first();
    let differs = |run: &&Opened<'_>| first.is_some_and(|first| run.jobs != first.jobs);
    if let Some((first, run)) = first.zip(opened.iter().find(differs)) {
        let first = first.run.dir.display();
        return Err(RunDirError::Damaged(
            run.run.dir.join(names::JOBS),
            format!("its jobs are not those of {first}, which has the same workload hash"),
        ));
    }
    Ok(opened)
}

/// By row: whether a job entered at a cluster, where such jobs are not measured.
pub(super) fn direct(
    columns: &TableColumns,
    measure: Measure,
) -> Result<Option<Vec<bool>>, RunDirError> {
    if measure.direct {
        return Ok(None);
    }
    let entry = columns.codes("entry")?;
    let rows = 0..entry.rows.len();
    let at_cluster = |row| {
        entry
            .name(row)
            .is_some_and(|name| name.starts_with("lrms:"))
    };
    Ok(Some(rows.map(at_cluster).collect()))
}

/// A run whose jobs are open.
pub(crate) struct Opened<'a> {
    pub(super) run: &'a FoundRun,
    pub(crate) columns: TableColumns,
    pub(super) measure: Measure,
    pub(super) jobs: Vec<u32>,
    /// By row; it says who completed, and is a metric by itself.
    response_s: Vec<f64>,
    /// By row: submitted in the measured interval, which an interrupted run may not come to.
    measured: Vec<bool>,
    /// By row: completed, and submitted in the measured interval.
    pub(crate) completed: Vec<bool>,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(run: &'a FoundRun) -> Result<Self, RunDirError> {
        let measure = run.manifest.measure.read();
        let columns = TableColumns::open(&run.dir, names::JOBS)?;
        let response = columns.f64s("response_s")?;
        let covered = |submit: i64| {
            let submit = u64::try_from(submit).map(SimTime::from_nanos);
            submit.is_ok_and(|submit| measure.covers(submit))
        };
        let submit = columns.i64s("submit_ns")?.into_iter();
        let mut measured: Vec<bool> = submit.map(covered).collect();
        if let Some(direct) = direct(&columns, measure)? {
            for (measured, direct) in measured.iter_mut().zip(direct) {
                *measured &= !direct;
            }
        }
        let all = measured.iter().zip(&response);
        let completed = all.map(|(measured, response)| *measured && response.is_finite());
        Ok(Opened {
            jobs: columns.u32s("job_id")?,
            run,
            columns,
            measure,
            completed: completed.collect(),
            measured,
            response_s: response,
        })
    }

    /// The common jobs that completed here.
    pub(super) fn own(&self, common: &Common) -> Vec<bool> {
        let both = common.rows.iter().zip(&self.completed);
        both.map(|(common, own)| *common && *own).collect()
    }

    /// The column of a metric.
    pub(super) fn metric(&self, name: &'static str) -> Result<Vec<f64>, RunDirError> {
        match name {
            "response_s" => Ok(self.response_s.clone()),
            name => self.columns.f64s(name),
        }
    }
}
