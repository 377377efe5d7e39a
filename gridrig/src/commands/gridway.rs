//! `gridrig gridway`: drivers (MADs) of the GridWay meta-scheduler, so that an
//! unmodified `gwd` has emulated clusters for hosts. `docs/gridway.md` has the
//! protocol and how gwd is set up.

mod clusters;
mod em;
mod filter;
mod im;
mod job;
mod tm;

use crate::cli::values;
use crate::exit::Failure;
use clap::{Args, Subcommand};
use clusters::ClusterArgs;
use gridrig_core::time::SimDuration;
use std::time::Duration;

/// `gridrig gridway`: the three drivers of a GridWay host. Each reads requests on stdin and
/// answers on stdout until FINALIZE or the end of its input.
#[derive(Debug, Subcommand)]
pub enum GridwayDriver {
    /// Information driver: which clusters there are and how busy they are
    #[command(
        after_help = "Example:\n  printf 'INIT - - -\\nDISCOVER - - -\\nMONITOR 0 a1 -\\n' |\n    \
            gridrig gridway im --cluster a1=http://127.0.0.1:8101"
    )]
    Im(ClusterArgs),
    /// Execution driver: submits, polls and cancels jobs
    #[command(
        after_help = "Example:\n  gridrig gridway em --clusters clusters.txt --default-run-time 5min"
    )]
    Em(EmArgs),
    /// Transfer driver: copies nothing; creates empty output files, and the exit status, so that
    /// GridWay finds them
    #[command(after_help = "Example:\n  gridrig gridway tm")]
    Tm,
}

/// `gridrig gridway em`
#[derive(Debug, Args)]
pub struct EmArgs {
    #[command(flatten)]
    clusters: ClusterArgs,
    /// Run time of jobs that do not give one
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = values::text::<SimDuration>)]
    default_run_time: SimDuration,
    /// Wall time between two queries of the jobs that have not ended
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::wall)]
    interval: Duration,
}

/// Does what was asked for.
pub(super) fn gridway(driver: &GridwayDriver) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
    match driver {
        GridwayDriver::Im(clusters) => {
            // What will not do is refused before anything is served.
            clusters.read()?;
            runtime.block_on(filter::run(im::Driver::new(clusters.clone())?))
        }
        GridwayDriver::Em(args) => {
            args.clusters.read()?;
            let driver = em::Driver::new(args.clusters.clone(), args.default_run_time)?;
            runtime.block_on(async {
                driver.watch(args.interval.max(Duration::from_millis(10)));
                filter::run(driver).await
            })
        }
        GridwayDriver::Tm => runtime.block_on(filter::run(tm::Driver)),
    }
}
