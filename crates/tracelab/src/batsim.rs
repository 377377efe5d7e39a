//! The jobs of a trace as a workload of Batsim.

use crate::load::Loaded;
use gridrig_core::time::SimDuration;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// What a profile that only takes time is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Batsim 5: `DelayProfile`.
    Five,
    /// Up to Batsim 4: `delay`.
    Four,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Jobs.
    pub jobs: u64,
    /// Jobs of run time 0, which Batsim refuses.
    pub without_run_time: u64,
    /// Whether jobs were numbered from 1, since numbers of the trace occur twice.
    pub numbered: bool,
}

/// Writes the jobs that ran, each with its run time as a delay; `processors` is the size of
/// the machine. Numbers are exact decimals, and the same jobs give the same bytes.
///
/// # Errors
/// What the output says.
pub fn write(
    loaded: &Loaded,
    processors: u32,
    version: Version,
    out: &mut impl Write,
) -> io::Result<Written> {
    let jobs = loaded.jobs.iter().filter(|job| !job.run_time.is_zero());
    let mut ids = BTreeSet::new();
    let numbered = !jobs.clone().all(|job| ids.insert(job.trace_id));
    let mut delays: BTreeMap<SimDuration, String> = BTreeMap::new();
    write!(out, "{{\n\"nb_res\": {processors},\n\"jobs\": [")?;
    let mut count = 0;
    for job in jobs {
        let comma = if count > 0 { "," } else { "" };
        count += 1;
        let id = if numbered { count } else { job.trace_id };
        let (submit, delay) = (job.submit.seconds(), job.run_time.seconds());
        let profile = delays
            .entry(job.run_time)
            .or_insert_with(|| delay.to_string());
        let size = job.processors;
        write!(
            out,
            "{comma}\n{{\"id\": \"{id}\", \"subtime\": {submit}, \"res\": {size}, \
             \"profile\": \"{profile}\""
        )?;
        if let Some(limit) = job.requested_time {
            write!(out, ", \"walltime\": {}", limit.seconds())?;
        }
        write!(out, "}}")?;
    }
    write!(out, "\n],\n\"profiles\": {{")?;
    let kind = match version {
        Version::Five => "DelayProfile",
        Version::Four => "delay",
    };
    for (at, delay) in delays.values().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(
            out,
            "{comma}\n\"{delay}\": {{\"type\": \"{kind}\", \"delay\": {delay}}}"
        )?;
    }
    write!(out, "\n}}\n}}\n")?;
    let without_run_time = loaded.jobs.len() as u64 - count;
    Ok(Written {
        jobs: count,
        without_run_time,
        numbered,
    })
}
