//! Whose processors jobs have used, by how far apart the two domains are.

use crate::jobs::{JobRow, JobTable};
use serde::Serialize;

/// Processor-seconds of the completed measured jobs by where they ran, seen from where they
/// entered, and what was said to have processors delegated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lending {
    /// In the domain where they entered.
    pub local_processor_s: f64,
    /// In another domain of the same site.
    pub intra_site_processor_s: f64,
    /// In another site of the same grid.
    pub intra_grid_processor_s: f64,
    /// In another grid, or where no grid is named.
    pub inter_grid_processor_s: f64,
    /// Requests for processors, each from one broker to another.
    pub requests: u64,
    /// Requests that were rejected.
    pub rejections: u64,
    /// Processors of one job that one broker delegated to another.
    pub delegations: u64,
    /// Releases of what was asked for or delegated.
    pub releases: u64,
    /// Delegations / jobs of the run.
    pub delegations_per_job: Option<f64>,
}

impl Lending {
    /// What was said in the run.
    pub(super) fn new(table: &JobTable) -> Self {
        let [requests, rejections, delegations, releases] = table.said();
        Lending {
            requests,
            rejections,
            delegations,
            releases,
            delegations_per_job: super::share(delegations, table.rows().len() as u64),
            ..Lending::default()
        }
    }

    /// Adds a measured job.
    pub(super) fn add(&mut self, table: &JobTable, row: &JobRow) {
        let (Some(run_time), Some(origin), Some(there)) =
            (row.run_time(), row.origin, row.exec_domain)
        else {
            return;
        };
        let [here, there_of] = [origin, there].map(|id| &table.topology()[id.index()]);
        let alike = |here: &Option<_>, there: &Option<_>| here.is_some() && here == there;
        let grid = alike(&here.grid, &there_of.grid);
        let seconds = match () {
            () if origin == there => &mut self.local_processor_s,
            () if grid && alike(&here.site, &there_of.site) => &mut self.intra_site_processor_s,
            () if grid => &mut self.intra_grid_processor_s,
            () => &mut self.inter_grid_processor_s,
        };
        *seconds += run_time.as_secs_f64() * f64::from(row.processors);
    }
}
