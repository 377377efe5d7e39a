//! What `gridrig load` takes on its line.

use super::values;
use anyhow::ensure;
use clap::{Args, ValueEnum};
use gridrig_scenario::external::OutletText;
use serde::{Serialize, Serializer};
use std::path::PathBuf;
use std::time::Duration;

/// `gridrig load`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gridrig load json:http://127.0.0.1:8201 --clients 3 --every 10s --for 1min\n  \
        gridrig load arc:http://127.0.0.1:8101/arex --out arc-load --beside-paper\n  \
        gridrig load json:http://127.0.0.1:8201 --clients 200 --every 0s --for 30s\n\n\
        The defaults are those of the JSS paper (Elmroth and Tordsson): 15 clients, one more \
        every 30 s, each for 15 min."
)]
pub struct LoadArgs {
    /// Where jobs are submitted, in a form of `gridrig replay --outlet`: json:URL, bes:URL,
    /// arc:URL, lagrid:URL#INITIATOR, lagrid-soap12:URL#INITIATOR, lagrid-json:URL#INITIATOR,
    /// slurm:DIR or command:WORDS
    #[arg(value_name = "OUTLET", value_parser = values::outlet)]
    pub outlet: OutletText,
    /// The clients and their jobs.
    #[command(flatten)]
    pub plan: Plan,
    /// Write requests.csv, a line for each request, and load.json into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into a folder that exists
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Also print the figures of the JSS paper (Elmroth and Tordsson)
    #[arg(long)]
    pub beside_paper: bool,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What is asked for.
#[derive(Clone, Debug, Args, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// Number of clients when all have joined; each has one request under way
    #[arg(long, value_name = "N", default_value = "15",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// One more client joins after this time; with 0s all begin at once
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::wall)]
    #[serde(rename = "every_s", serialize_with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub every: Duration,
    /// How long each client submits, at most 1d
    #[arg(long = "for", value_name = "DURATION", default_value = "15min", value_parser = values::wall)]
    #[serde(rename = "for_s", serialize_with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub each: Duration,
    /// Time after which a request counts as failed
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::wall)]
    #[serde(rename = "timeout_s", serialize_with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub timeout: Duration,
    /// Processors of every job
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub processors: u32,
    /// How long every job runs
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::wall)]
    #[serde(rename = "run_time_s", serialize_with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub run_time: Duration,
    /// What a client waits for before its next job
    #[arg(long, value_enum, default_value_t)]
    pub until: Until,
}

/// When a request is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The job is accepted.
    #[default]
    Accepted,
    /// The job has completed (not with command:).
    Ended,
}

fn seconds<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(length.as_secs_f64())
}

/// The longest that a client may submit: jobs have numbers of 32 bits.
const LONGEST: Duration = Duration::from_secs(86_400);

impl Plan {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What does not, and what was expected.
    pub fn check(&self) -> anyhow::Result<()> {
        let (each, timeout) = (self.each, self.timeout);
        let possible = !each.is_zero() && each <= LONGEST;
        ensure!(
            possible,
            "--for {each:?}: expected more than 0s and at most 1d"
        );
        ensure!(
            !timeout.is_zero(),
            "--timeout {timeout:?}: expected more than 0s"
        );
        let last = self.every * (self.clients - 1);
        ensure!(
            each > last,
            "--for {each:?}: the first of {} clients would end before the last begins (expected \
             more than {last:?}, or a shorter --every)",
            self.clients
        );
        Ok(())
    }
}
