//! The jobs behind the pictures.

use super::error::Result;
use super::material::{Column, Material};
use crate::compare::common::Opened;
use crate::compare::figures;
use crate::compare::find::FoundRun;
use crate::compare::parallel::try_each;
use crate::rundir::{RunDirError, TableColumns, names};
use crate::stats;
use std::collections::BTreeMap;
use std::thread;

/// Jobs by origin and executing domain.
pub(super) type Forwarding = BTreeMap<(String, String), u64>;

/// What is read of all runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Replications {
    /// By column, over all replications: delays of the jobs that completed
    /// under every policy (side by side: in that run), ascending.
    pub(super) delays: Vec<Vec<f64>>,
    /// By column, the job table of the replication that is shown up close.
    pub(super) chosen: Vec<Option<TableColumns>>,
    /// By column, over all replications; only without a comparison, which has
    /// it already.
    pub(super) forwarding: Vec<Forwarding>,
}

impl Replications {
    /// The delays that the comparison has read are taken from the material.
    pub(super) fn read(material: &mut Material, chosen: usize) -> Result<Self> {
        let delays = std::mem::take(&mut material.delays);
        let columns = &material.columns;
        let mut all = Replications {
            delays,
            chosen: try_each(columns, |column| {
                let run = column.at(chosen);
                run.map(|run| TableColumns::open(&run.dir, names::JOBS))
                    .transpose()
            })?,
            forwarding: vec![Forwarding::new(); columns.len()],
        };
        all.delays.resize_with(columns.len(), Vec::new);
        if material.comparison.is_none() {
            all.read_side_by_side(columns)?;
        }
        // Several charts are drawn from them, and each would sort them anew.
        thread::scope(|scope| {
            for delays in &mut all.delays {
                scope.spawn(|| *delays = stats::sorted(std::mem::take(delays)));
            }
        });
        Ok(all)
    }

    /// What a comparison would have read.
    fn read_side_by_side(&mut self, columns: &[Column]) -> Result<()> {
        let most = columns.iter().map(|column| column.runs.len()).max();
        for index in 0..most.unwrap_or(0) {
            let own = try_each(columns, |column| match column.runs.get(index) {
                Some(run) => of_run(run),
                None => Ok((Vec::new(), Forwarding::new())),
            })?;
            for (column, (delays, forwarding)) in own.into_iter().enumerate() {
                self.delays[column].extend(delays);
                for (pair, jobs) in forwarding {
                    *self.forwarding[column].entry(pair).or_default() += jobs;
                }
            }
        }
        Ok(())
    }
}

impl Column {
    /// Its run of a replication; side by side, where there is none, the first.
    pub(super) fn at(&self, replication: usize) -> Option<&FoundRun> {
        self.runs.get(replication).or(self.runs.first())
    }
}

/// Delays of the measured jobs that completed, and who ran whose jobs.
fn of_run(run: &FoundRun) -> Result<(Vec<f64>, Forwarding), RunDirError> {
    let run = Opened::new(run)?;
    let jobs = run.columns.f64s("delay_s")?.into_iter().zip(&run.completed);
    let delays = jobs.filter(|(delay, completed)| **completed && !delay.is_nan());
    let delays = delays.map(|(delay, _)| delay).collect();
    let origin = run.columns.codes("origin_domain")?;
    let exec = run.columns.codes("exec_domain")?;
    let all = vec![true; run.columns.rows()];
    Ok((delays, figures::forwarding(&all, &origin, &exec)))
}

/// A column of instants or lengths in seconds; NaN where something did not
/// happen.
pub(super) fn seconds(jobs: &TableColumns, name: &'static str) -> Result<Vec<f64>, RunDirError> {
    let nanos = jobs.i64s(name)?;
    let seconds = nanos.into_iter().map(|nanos| match nanos {
        i64::MIN => f64::NAN,
        nanos => nanos as f64 / 1e9,
    });
    Ok(seconds.collect())
}
