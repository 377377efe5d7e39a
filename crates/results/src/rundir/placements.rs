//! The `placement` column of `jobs.parquet` by itself: where each job ran.

use super::{RunDirError, TableColumns, names};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
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
    #[must_use]
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
        let items = list.values().as_struct_opt()?;
        let number = |field: &str| {
            let column = items.column_by_name(field)?;
            column.as_primitive_opt::<UInt32Type>()
        };
        let (resource, node) = (number("resource")?, number("node")?);
        let (nodes, processors) = (number("nodes")?, number("processors")?);
        for (row, ends) in list.value_offsets().windows(2).enumerate() {
            let &[from, to] = ends else {
                return None;
            };
            if list.is_valid(row) {
                let own = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
                let runs = own.map(|item| PlacementRun {
                    resource: u16::try_from(resource.value(item)).unwrap_or(u16::MAX),
                    node: node.value(item),
                    nodes: nodes.value(item),
                    processors: processors.value(item),
                });
                self.runs.extend(runs);
            }
            self.ends.push(self.runs.len());
        }
        Some(())
    }
}
