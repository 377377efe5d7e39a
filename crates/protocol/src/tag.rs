//! The tag by which a job is found again in an LRMS, whoever has brought it
//! there: `gridrig_RUNjJOB_LENGTH`, such as `gridrig_4f2a9c01j17_30s`.
//!
//! It is made of letters, digits and `_` alone and begins with a letter, so
//! that it survives as the name of a job: A-REX turns every other character
//! into `_`. RUN tells the runs apart that use the same LRMS, and the length
//! says how long the job runs where names are all that a broker hands on.

use gridrig_core::ids::JobId;
use gridrig_core::job::JobSpec;
use gridrig_core::time::SimDuration;

/// The environment variable that holds a job's tag, for brokers that give jobs
/// names of their own. It counts before the name.
pub const TAG_VARIABLE: &str = "GRIDRIG_TAG";

/// What every tag begins with.
const WORD: &str = "gridrig_";

/// The tags of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    run: String,
}

impl Tags {
    /// The tags of the run of this name.
    pub fn of_run(run: &str) -> Self {
        // FNV-1a: names are told apart, nobody is kept from forging one.
        let hash = run.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let folded = (hash >> 32) ^ (hash & u64::from(u32::MAX));
        Tags {
            run: format!("{folded:08x}"),
        }
    }

    /// The tag of a job.
    pub fn tag(&self, job: &JobSpec) -> String {
        format!("{WORD}{}j{}_{}", self.run, job.id.0, length(job.run_time))
    }

    /// The job of this run that a text names, wherever in it the tag stands.
    pub fn job_in(&self, text: &str) -> Option<JobId> {
        let mut rest = text;
        while let Some(at) = rest.find(WORD) {
            rest = &rest[at + WORD.len()..];
            let named = rest.strip_prefix(self.run.as_str());
            let Some(number) = named.and_then(|named| named.strip_prefix('j')) else {
                continue;
            };
            let digits = number.bytes().take_while(u8::is_ascii_digit).count();
            if let Ok(job) = number[..digits].parse() {
                return Some(JobId(job));
            }
        }
        None
    }
}

/// The length in the largest unit that needs no point.
fn length(length: SimDuration) -> String {
    let nanos = length.as_nanos();
    let mut units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")].into_iter();
    let fits = units.find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, name) = fits.unwrap_or((1, "ns"));
    format!("{}{name}", nanos / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_back_from_wherever_a_broker_puts_it() {
        let tags = Tags::of_run("s-1-4711");
        let job = JobSpec::rigid(JobId(17), 2, SimDuration::from_millis(1_500));
        let tag = tags.tag(&job);
        assert!(tag.ends_with("j17_1500ms"), "{tag}");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(tag.chars().all(plain), "{tag}");
        for text in [tag.clone(), format!("gridrig_x gw-{tag}-0")] {
            assert_eq!(tags.job_in(&text), Some(JobId(17)), "{text}");
        }
    }

    #[test]
    fn tags_of_other_runs_and_other_texts_name_no_job() {
        let (one, other) = (Tags::of_run("s-1-1"), Tags::of_run("s-1-2"));
        let job = JobSpec::rigid(JobId(1), 1, SimDuration::from_secs(1));
        for text in [&other.tag(&job), "", "gridrig_", "gridrig_17_30s"] {
            assert_eq!(one.job_in(text), None, "{text}");
        }
        assert_eq!(one.job_in(&format!("gridrig_{}jx", one.run)), None);
    }
}
