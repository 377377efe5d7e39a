//! Rules that leave jobs out, each with its name, its count and its reason.
//!
//! A rule looks at one job at a time, so the same rules serve a stream and a
//! trace in memory, and applying them twice leaves out nothing more. A job is
//! counted under the first rule that holds, in the order of
//! [`Rules::iter`]; `docs/sanitize.md` lists them.
//!
//! ```
//! use gridrig_tracelab::sanitize::Rules;
//! use gridrig_tracelab::format::{Format, TraceReader};
//!
//! let rules = Rules::parse("failed, flurry=7@1-100, wider-than=64").unwrap();
//! let names: Vec<&str> = rules.iter().map(|rule| rule.name()).collect();
//! assert_eq!(names, ["failed", "wider-than", "flurry"]);
//! let line = "5 0 -1 90 4 -1 -1 4 300 -1 1 7 1 -1 0 -1 -1 -1\n";
//! let mut reader = TraceReader::new(Format::Swf, line.as_bytes(), "t");
//! let job = reader.next_record().unwrap().unwrap();
//! let rule = rules.verdict(job).unwrap();
//! assert_eq!(rule.reason(), "user=7 and (job>=1 and job<=100)");
//! ```

pub use gridrig_scenario::sanitize::{
    Fields, Filter, Quality, Rule, RuleError, RuleReport, Rules, Sanitizer,
};

use crate::format::{Record, field, place};
use crate::load::{Loaded, TraceJob};
use gridrig_core::time::SimDuration;

/// A job line.
impl Fields for Record {
    fn field(&self, number: usize) -> Option<u64> {
        match number - 1 {
            at @ (field::SUBMIT | field::RUN_TIME | field::REQUESTED_TIME) => {
                self.time(at).map(SimDuration::as_nanos)
            }
            at => self.count(at),
        }
    }

    fn below_zero(&self) -> u32 {
        Record::below_zero(self)
    }
}

/// A job in memory, which ran and has a size.
impl Fields for TraceJob {
    fn field(&self, number: usize) -> Option<u64> {
        match number - 1 {
            field::JOB => Some(self.trace_id),
            field::SUBMIT => Some(self.submit.as_nanos()),
            field::RUN_TIME => Some(self.run_time.as_nanos()),
            field::ALLOCATED => Some(u64::from(self.processors)),
            field::REQUESTED_TIME => self.requested_time.map(SimDuration::as_nanos),
            field::STATUS => self.status,
            _ => self.ids[place(number)?].map(u64::from),
        }
    }

    fn below_zero(&self) -> u32 {
        self.below_zero
    }
}

/// Leaves the jobs out that a rule holds for, and says how many for which.
///
/// `never-ran`, `no-processors` and `no-submit-time` find nothing here: such
/// lines are no jobs of a [`Loaded`], which has counted them as skipped.
pub fn apply(rules: &Rules, loaded: &mut Loaded) -> Vec<RuleReport> {
    let mut sanitizer = Sanitizer::new(rules);
    loaded.jobs.retain(|job| sanitizer.keeps(job));
    sanitizer.reports()
}
