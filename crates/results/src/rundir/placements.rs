//! The `placement` column of `jobs.parquet` by itself: where each job ran.

use super::batch::runs_of;
use super::{RunDirError, TableColumns, names};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use gridrig_core::placement::PlacementRun;
use std::path::Path;

const COLUMN: &str = "placement";

/// Where the jobs of a run ran, row by row.
#[derive(Clone, Debug, Default)]
pub struct Placements {
    /// Where the runs of each row end.
    ends: Vec<usize>,
    runs: Vec<PlacementRun>,
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
}

/// Reads where the jobs ran.
///
/// # Errors
/// A file that is missing or damaged, or has no such column.
pub fn read_placements(dir: &Path) -> Result<Placements, RunDirError> {
    let table = TableColumns::open(dir, names::JOBS)?;
    let mut all = Placements::default();
    table.for_each_array(COLUMN, false, |array| {
        let taken = all.take(array);
        taken.ok_or_else(|| table.wrong(COLUMN, "list of structs"))
    })?;
    Ok(all)
}

impl Placements {
    /// Adds the rows of an array; `None` if it holds no placements.
    fn take(&mut self, array: &dyn Array) -> Option<()> {
        let list = array.as_list_opt::<i32>()?;
        let read = runs_of(list.values())?;
        for (row, ends) in list.value_offsets().windows(2).enumerate() {
            let &[from, to] = ends else {
                return None;
            };
            if list.is_valid(row) {
                let own = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
                // Resources that no cluster has are for the audit to tell.
                self.runs.extend(own.filter_map(&read));
            }
            self.ends.push(self.runs.len());
        }
        Some(())
    }
}
