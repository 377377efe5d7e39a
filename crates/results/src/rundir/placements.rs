//! The `placement` column of `jobs.parquet` by itself: where each job ran.

use super::values::{Placed, Values};
use super::{GridDoc, Result, TableColumns, names};
use gridrig_core::placement::PlacementRun;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const COLUMN: &str = "placement";
const PARTS: &str = "parts";

/// Where the jobs of a run ran, row by row.
#[derive(Clone, Debug, Default)]
pub struct Placements {
    /// Where the runs of each row end.
    ends: Vec<usize>,
    runs: Vec<PlacementRun>,
    /// By row what each cluster had, by its position in the grid, where several ran it.
    together: BTreeMap<usize, Vec<(usize, Vec<PlacementRun>)>>,
}

impl Placements {
    /// The placement in a row; empty if the job never started.
    pub fn of(&self, row: usize) -> &[PlacementRun] {
        let from = match row {
            0 => 0,
            row => self.ends.get(row - 1).copied().unwrap_or(0),
        };
        let end = self.ends.get(row).copied().unwrap_or(from);
        self.runs.get(from..end).unwrap_or_default()
    }

    /// The clusters on which the job of a row ran, by their positions in the grid, with its
    /// placement on each: `on` that one, unless several ran it.
    pub fn by_cluster(
        &self,
        row: usize,
        on: Option<usize>,
    ) -> impl Iterator<Item = (usize, &[PlacementRun])> {
        let together = self.together.get(&row);
        let only = on
            .filter(|_| together.is_none())
            .map(|on| (on, self.of(row)));
        let together = together.into_iter().flatten();
        only.into_iter()
            .chain(together.map(|(on, runs)| (*on, runs.as_slice())))
    }
}

/// A part of a job, as `parts` has it.
#[derive(Deserialize)]
struct Part {
    cluster: String,
    placement: Vec<(u16, u32, u32, u32)>,
}

impl Part {
    fn placement(&self) -> Vec<PlacementRun> {
        let runs = self.placement.iter();
        let runs = runs.map(|&(resource, node, nodes, processors)| PlacementRun {
            resource,
            node,
            nodes,
            processors,
        });
        runs.collect()
    }
}

/// Reads where the jobs ran.
///
/// # Errors
/// A file that is missing or damaged, or has no such column.
pub fn read_placements(dir: &Path, grid: &GridDoc) -> Result<Placements> {
    let table = TableColumns::open(dir, names::JOBS)?;
    let mut all = Placements::default();
    table.for_each_values(COLUMN, |values| match values {
        Values::Placement(placed) => {
            all.take(&placed);
            Ok(())
        }
        _ => Err(table.wrong(COLUMN, "list of structs")),
    })?;
    if table.has(PARTS) {
        let on = |name: &str| grid.clusters.iter().position(|own| own.name() == name);
        let wrong = || table.wrong(PARTS, "JSON lists of parts");
        let mut row = 0;
        table.for_each_values(PARTS, |values| {
            let Values::Text(texts) = values else {
                return Err(wrong());
            };
            for text in texts.iter() {
                if let Some(text) = text {
                    let parts = serde_json::from_slice(text.data());
                    let parts: Vec<Part> = parts.map_err(|_| wrong())?;
                    let parts = parts.iter();
                    let known =
                        parts.filter_map(|part| Some((on(&part.cluster)?, part.placement())));
                    all.together.insert(row, known.collect());
                }
                row += 1;
            }
            Ok(())
        })?;
    }
    Ok(all)
}

impl Placements {
    /// Adds some rows. Resources that no cluster has are for the audit to tell.
    fn take(&mut self, placed: &Placed) {
        for row in &placed.rows {
            let own = row.clone().into_iter().flatten();
            self.runs.extend(own.filter_map(|item| placed.run(item)));
            self.ends.push(self.runs.len());
        }
    }
}
