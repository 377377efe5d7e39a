//! Rules that leave jobs out, each with its name, its count and its reason.
//!
//! A rule looks at one job at a time, so the same rules serve a stream and a
//! trace in memory, and applying them twice leaves out nothing more. A job is
//! counted under the first rule that holds, in the order of
//! [`Rules::iter`]; `docs/sanitize.md` lists them.
//!
//! ```
//! use gridrig_tracelab::sanitize::{Facts, Rules};
//! use gridrig_tracelab::format::{Format, TraceReader};
//!
//! let rules = Rules::parse("failed, flurry=7@1-100, wider-than=64").unwrap();
//! let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
//! assert_eq!(names, ["failed", "wider-than", "flurry"]);
//! let line = "5 0 -1 90 4 -1 -1 4 300 -1 1 7 1 -1 0 -1 -1 -1\n";
//! let mut reader = TraceReader::new(Format::Swf, line.as_bytes(), "t");
//! let job = reader.next_record().unwrap().unwrap();
//! let rule = rules.verdict(&Facts::from(job)).unwrap();
//! assert_eq!(rule.reason(), "user=7 and (job>=1 and job<=100)");
//! ```

pub use gridrig_scenario::sanitize::{
    Facts, Filter, Quality, Rule, RuleError, RuleReport, Rules, Sanitizer,
};

use crate::format::Record;
use crate::load::{Loaded, TraceJob};

/// Of a job line.
impl From<&Record> for Facts {
    fn from(record: &Record) -> Self {
        Facts {
            job: record.job,
            submit: record.submit_time,
            run_time: record.run_time,
            requested_time: record.requested_time,
            allocated: record.allocated_processors.filter(|p| *p > 0),
            requested: record.requested_processors.filter(|p| *p > 0),
            status: record.status,
            user: record.user,
            group: record.group,
            executable: record.executable,
            queue: record.queue,
            partition: record.partition,
            below_zero: record.below_zero,
        }
    }
}

/// Of a job in memory, which ran and has a size.
impl From<&TraceJob> for Facts {
    fn from(job: &TraceJob) -> Self {
        Facts {
            job: Some(job.trace_id),
            submit: Some(job.submit),
            run_time: Some(job.run_time),
            requested_time: job.requested_time,
            allocated: Some(u64::from(job.processors)),
            requested: None,
            status: job.status,
            user: job.user.map(u64::from),
            group: job.group.map(u64::from),
            executable: job.executable.map(u64::from),
            queue: job.queue.map(u64::from),
            partition: job.partition.map(u64::from),
            below_zero: job.below_zero,
        }
    }
}

/// Leaves the jobs out that a rule holds for, and says how many for which.
///
/// `never-ran`, `no-processors` and `no-submit-time` find nothing here: such
/// lines are no jobs of a [`Loaded`], which has counted them as skipped.
pub fn apply(rules: &Rules, loaded: &mut Loaded) -> Vec<RuleReport> {
    let mut sanitizer = Sanitizer::new(rules);
    loaded.jobs.retain(|job| sanitizer.keeps(&Facts::from(job)));
    sanitizer.reports()
}
