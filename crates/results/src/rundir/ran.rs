//! Where and when the jobs of a run ran, for charts of time and processors.

use super::{Codes, Manifest, Result, TableColumns};

/// The jobs of a run, row by row.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// When each started, in nanoseconds; [`Ran::NEVER`] if it did not.
    pub start: Vec<i64>,
    /// When it ended. What still runs at the end of the run has it as its end.
    pub end: Vec<i64>,
    /// Processors of each.
    pub processors: Vec<u32>,
    /// The clusters that queued them.
    pub cluster: Codes,
    /// Where each was submitted.
    pub origin: Codes,
    /// By row: the position of the cluster in the grid.
    pub on: Vec<Option<usize>>,
    /// By row: whether it ran away from where it was submitted.
    pub away: Vec<bool>,
    /// Whether brokers have delegated processors: what ran away from where it was
    /// submitted did so on borrowed ones, and was not forwarded.
    pub lent: bool,
}

impl Ran {
    /// No instant.
    pub const NEVER: i64 = i64::MIN;

    /// What is said of jobs that ran away from where they were submitted.
    pub fn elsewhere(&self) -> &'static str {
        match self.lent {
            true => "on borrowed processors",
            false => "forwarded",
        }
    }

    /// Reads the columns of a job table.
    ///
    /// # Errors
    /// A table that is damaged, or has no such columns.
    pub fn read(table: &TableColumns, manifest: &Manifest) -> Result<Self> {
        let (start, mut end) = (table.i64s("start_ns")?, table.i64s("end_ns")?);
        let last = i64::try_from(manifest.end_ns).unwrap_or(i64::MAX);
        for (end, start) in end.iter_mut().zip(&start) {
            if *end == Ran::NEVER && *start != Ran::NEVER {
                *end = last;
            }
        }
        let cluster = table.codes("cluster")?;
        // The table names clusters by numbers of its own.
        let clusters = || manifest.grid.clusters.iter();
        let known = |name: &String| clusters().position(|own| own.name() == *name);
        let of_code: Vec<Option<usize>> = cluster.names.iter().map(known).collect();
        let on = |code: &u16| of_code.get(usize::from(*code)).copied().flatten();
        let (origin, exec) = (table.codes("origin_domain")?, table.codes("exec_domain")?);
        let away = |row| {
            let domains = origin.name(row).zip(exec.name(row));
            domains.is_some_and(|(origin, exec)| origin != exec)
        };
        Ok(Ran {
            on: cluster.rows.iter().map(on).collect(),
            away: (0..start.len()).map(away).collect(),
            lent: manifest.summary["lending"]["delegations"]
                .as_u64()
                .is_some_and(|delegations| delegations > 0),
            processors: table.u32s("processors")?,
            start,
            end,
            cluster,
            origin,
        })
    }
}
