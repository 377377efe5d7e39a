//! `series.parquet`, read again.

use super::batch::{for_each_row, guarded};
use super::{Result, names};
use std::path::Path;

/// The load of a cluster over time; each point holds until the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSeries {
    /// Name of the cluster.
    pub cluster: String,
    /// In the order of time.
    pub points: Vec<SeriesPoint>,
}

/// What a cluster does from an instant on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Seconds since the run's start.
    pub at_s: f64,
    /// Jobs that wait: the most of them until the next point.
    pub queued_max: u64,
    /// Mean share of the processors in use until the next point.
    pub utilization: f64,
}

/// Reads the load of every cluster, in the order of the file.
///
/// # Errors
/// A file that is missing or damaged, or has no such columns.
pub fn read_series(dir: &Path) -> Result<Vec<ClusterSeries>> {
    guarded(dir, names::SERIES, |path| {
        let mut all: Vec<ClusterSeries> = Vec::new();
        for_each_row(path, |batch, index, _| {
            let cluster = batch.text("cluster", index)?.unwrap_or_default();
            // Rows come cluster by cluster.
            let known = all.iter().rposition(|series| series.cluster == cluster);
            let place = known.unwrap_or(all.len());
            if known.is_none() {
                all.push(ClusterSeries {
                    cluster: cluster.to_owned(),
                    points: Vec::new(),
                });
            }
            let at = batch.time("time_ns", index)?;
            let point = SeriesPoint {
                at_s: at.map_or(0.0, |at| at.as_nanos() as f64 / 1e9),
                queued_max: batch.u64("queued_max", index)?.unwrap_or(0),
                utilization: batch.f64("utilization", index)?.unwrap_or(f64::NAN),
            };
            all[place].points.push(point);
            Ok(())
        })?;
        Ok(all)
    })
}
