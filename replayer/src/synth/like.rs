//! A look-alike of a trace: a model fitted to it that holds no job of it.
//!
//! The model is a hierarchy: profiles of users, each with the sizes of their
//! batches (DMM 5.1: jobs of one user within 120 s of the first) and the mix of
//! job *cells*, a cell being a range of sizes crossed with a range of run times;
//! the levels inside each range; and the weights of the hours of a week.
//!
//! Jobs are dealt, not drawn: what the profiles hold is scaled to the number of
//! jobs wanted and handed out without being put back, and hours are filled to
//! their share batch by batch. So the marginals of a look-alike differ from the
//! source's by less than those of an honest sample of it, although its jobs come
//! in batches, and only tables of counts are kept in memory.

mod deal;
mod fit;
mod generate;
mod leaning;
mod levels;
mod rhythm;
mod week;

pub use fit::{FitOptions, recurring_jobs};
pub use generate::LookAlikeJobs;
pub use levels::Level;

use super::error::{SynthError, within};
use super::model::Extent;
use serde::{Deserialize, Serialize};

/// A job belongs to its batch up to so many seconds after the first one.
const BATCH_WINDOW_S: u64 = 120;

/// Ranges of run times that count as alike on either side of one.
const ALIKE: usize = 1;

/// Tables of a model are no longer than this.
const MAX_ENTRIES: usize = 100_000;

/// A model fitted to a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookAlike {
    /// Always [`SCHEMA`](super::model::SCHEMA).
    pub schema: String,
    /// Always `look-alike`.
    pub kind: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// How much is made: so many jobs in so many days; what is absent follows
    /// from the rate of the source.
    pub extent: Extent,
    /// Processors of the machine.
    pub processors: u32,
    /// What it was fitted to.
    pub source: Source,
    /// Unix seconds of time 0 in a made-up year, with the weekday and the local
    /// hour of the source's time 0; absent where the source has no calendar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_start: Option<u64>,
    /// Seconds from time 0 to the beginning of the submissions: past the last
    /// submission of the source, with the weekday and hour of its first one. So
    /// a look-alike goes on where its source ends, and no job of the source can
    /// recur.
    pub first_submit_s: u64,
    /// Jobs per hour by hour of the week from Monday 0:00, in the proportion
    /// of the source; an hour counts for the batches that begin in it.
    pub hours_of_week: Vec<f64>,
    /// Quantiles of the jobs of a day over what its weekday has on average.
    pub day_levels: Vec<f64>,
    /// For each hour of the day: means of equal parts of the jobs of that hour
    /// over those expected from its hour of the week and its day, rising; empty
    /// where hours are even.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hour_levels: Vec<Vec<f64>>,
    /// Correlation of the levels of an hour and the next one.
    #[serde(default)]
    pub hour_persistence: f64,
    /// For each halving of an hour, how much its batches crowd into one half:
    /// the correlation of two of them, 0 for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bunching: Vec<f64>,
    /// Ranges of sizes in processors.
    pub sizes: Vec<Level>,
    /// Ranges of run times in seconds.
    pub run_times: Vec<Level>,
    /// For each range of run times: pairs of an index into `requested_times_s`
    /// and a number of jobs; the index past the end is *no request*.
    pub requests: Vec<Vec<u64>>,
    /// The requested times that occur most, in seconds, rising.
    pub requested_times_s: Vec<u64>,
    /// For each range of run times: permille of the jobs that failed.
    pub failed_permille: Vec<u64>,
    /// Ranges of batch sizes.
    pub batches: Vec<BatchLevel>,
    /// For each range of run times: its jobs in each eighth of a day over those
    /// that their users' hours give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_time_leanings: Vec<Vec<f64>>,
    /// For each range of sizes: its jobs in each eighth of a day over those that
    /// their users' hours and run times give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size_leanings: Vec<Vec<f64>>,
    /// How alike the jobs of a batch are.
    pub likeness: Likeness,
    /// Users, alone or with others like them.
    pub profiles: Vec<Profile>,
}

/// What a model was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The file, without its folder.
    pub trace: String,
    /// Its usable jobs.
    pub jobs: u64,
    /// First to last submission.
    pub days: f64,
}

/// Batches of one range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchLevel {
    /// Jobs of a batch.
    pub jobs: Level,
    /// Quantiles of the time from the first to the last submission, seconds.
    pub duration_s: Vec<u64>,
    /// Share of the jobs that are submitted in the same second as the one
    /// before.
    pub same_second: f64,
    /// Share of the batches whose run times all lie within one range of the
    /// first one's.
    pub alike: f64,
}

/// Probabilities that a job is like the one before it, beyond what the mix of
/// its user gives anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Likeness {
    /// Same cell as the job before it, in batches of alike run times.
    pub same_cell: f64,
    /// Same range of sizes as the job before it, in the other batches.
    pub same_size: f64,
    /// First job of a batch in the cell of the last job of the user's batch
    /// before.
    pub next_batch: f64,
    /// A batch of the user whose batch was the last one of all.
    pub same_user: f64,
}

/// A user, or several whose mixes are taken together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Pairs of a user as SWF has it and a number of jobs; user -1 is none.
    pub users: Vec<i64>,
    /// Pairs of an index into `batches` and a number of batches.
    pub batches: Vec<u64>,
    /// Jobs in each eighth of a day, from midnight; empty where all hours are
    /// alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts_of_day: Vec<u64>,
    /// Pairs of a cell (index of the size range x number of run-time ranges +
    /// index of the run-time range) and a number of jobs.
    pub cells: Vec<u64>,
    /// In fives: group, executable, queue and partition as SWF has them, and a
    /// number of jobs; the most common ones.
    pub labels: Vec<i64>,
}

impl LookAlike {
    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<(), SynthError> {
        self.extent.check()?;
        within("processors", f64::from(self.processors), 1.0..=1e9)?;
        within("source.jobs", self.source.jobs as f64, 1.0..=1e12)?;
        within("source.days", self.source.days, 1e-6..=1e6)?;
        within("first_submit_s", self.first_submit_s as f64, 0.0..=1e12)?;
        within(
            "unix_start",
            self.unix_start.unwrap_or(0) as f64,
            0.0..=1e11,
        )?;
        length("hours_of_week", self.hours_of_week.len(), 168)?;
        for weight in &self.hours_of_week {
            within("hours_of_week", *weight, 0.0..=1e12)?;
        }
        within(
            "hours_of_week (sum)",
            self.hours_of_week.iter().sum(),
            1e-12..=1e15,
        )?;
        within(
            "day_levels (entries)",
            self.day_levels.len() as f64,
            1.0..=1e3,
        )?;
        for level in &self.day_levels {
            within("day_levels", *level, 0.0..=1e6)?;
        }
        within("day_levels (sum)", self.day_levels.iter().sum(), 1e-9..=1e9)?;
        self.check_rhythm()?;
        levels::check("sizes", &self.sizes, 1.0..=f64::from(self.processors))?;
        levels::check("run_times", &self.run_times, 0.0..=1e9)?;
        length("requests", self.requests.len(), self.run_times.len())?;
        length(
            "failed_permille",
            self.failed_permille.len(),
            self.run_times.len(),
        )?;
        for pairs in &self.requests {
            check_pairs("requests", pairs, self.requested_times_s.len() as u64 + 1)?;
        }
        within("batches (entries)", self.batches.len() as f64, 1.0..=64.0)?;
        for level in &self.batches {
            levels::check("batches.jobs", std::slice::from_ref(&level.jobs), 1.0..=1e9)?;
            within("batches.same_second", level.same_second, 0.0..=1.0)?;
            within("batches.alike", level.alike, 0.0..=1.0)?;
            for duration in &level.duration_s {
                within(
                    "batches.duration_s",
                    *duration as f64,
                    0.0..=BATCH_WINDOW_S as f64,
                )?;
            }
        }
        self.check_profiles()
    }

    fn check_rhythm(&self) -> Result<(), SynthError> {
        let table = |field: &str, rows: &[Vec<f64>], most: f64| {
            for (at, row) in rows.iter().enumerate() {
                let field = format!("{field}[{at}]");
                within(&format!("{field} (entries)"), row.len() as f64, 0.0..=1e3)?;
                for number in row {
                    within(&field, *number, 0.0..=most)?;
                }
            }
            Ok(())
        };
        if !self.hour_levels.is_empty() {
            length("hour_levels", self.hour_levels.len(), 24)?;
        }
        table("hour_levels", &self.hour_levels, 1e6)?;
        within("hour_persistence", self.hour_persistence, 0.0..=1.0)?;
        within("bunching (entries)", self.bunching.len() as f64, 0.0..=8.0)?;
        for correlation in &self.bunching {
            within("bunching", *correlation, 0.0..=0.99)?;
        }
        table("run_time_leanings", &self.run_time_leanings, 1e6)?;
        table("size_leanings", &self.size_leanings, 1e6)
    }

    fn check_profiles(&self) -> Result<(), SynthError> {
        let likeness = &self.likeness;
        within("likeness.same_cell", likeness.same_cell, 0.0..=1.0)?;
        within("likeness.same_size", likeness.same_size, 0.0..=1.0)?;
        within("likeness.next_batch", likeness.next_batch, 0.0..=1.0)?;
        within("likeness.same_user", likeness.same_user, 0.0..=1.0)?;
        within(
            "profiles (entries)",
            self.profiles.len() as f64,
            1.0..=MAX_ENTRIES as f64,
        )?;
        let cells = (self.sizes.len() * self.run_times.len()) as u64;
        for (at, profile) in self.profiles.iter().enumerate() {
            let field = |name: &str| format!("profiles[{at}].{name}");
            check_pairs(
                &field("batches"),
                &profile.batches,
                self.batches.len() as u64,
            )?;
            check_pairs(&field("cells"), &profile.cells, cells)?;
            let some = |pairs: &[u64]| pairs.iter().skip(1).step_by(2).sum::<u64>() as f64;
            within(&field("batches (sum)"), some(&profile.batches), 1.0..=1e12)?;
            within(&field("cells (sum)"), some(&profile.cells), 1.0..=1e12)?;
            check_tuples(&field("users"), &profile.users, 2)?;
            check_tuples(&field("labels"), &profile.labels, 5)?;
            let users = profile.users.len() as f64 / 2.0;
            within(&field("users (entries)"), users, 1.0..=MAX_ENTRIES as f64)?;
        }
        Ok(())
    }

    /// Jobs and seconds that are made.
    fn wanted(&self) -> (u64, f64) {
        let (jobs, days) = (self.source.jobs as f64, self.source.days);
        let wanted = match (self.extent.jobs, self.extent.days) {
            (Some(count), Some(length)) => (count as f64, length),
            (Some(count), None) => (count as f64, days * count as f64 / jobs),
            (None, length) => {
                let length = length.unwrap_or(days);
                (jobs * length / days, length)
            }
        };
        (wanted.0.round().max(1.0) as u64, wanted.1 * 86_400.0)
    }
}

/// A table has as many entries as it must.
fn length(field: &str, found: usize, wanted: usize) -> Result<(), SynthError> {
    match found == wanted {
        true => Ok(()),
        false => Err(SynthError::parameter(
            field,
            format!("{found} entries"),
            format!("{wanted} entries"),
        )),
    }
}

/// Pairs of an index below `end` and a count.
fn check_pairs(field: &str, pairs: &[u64], end: u64) -> Result<(), SynthError> {
    let even = pairs.len().is_multiple_of(2) && pairs.len() <= 2 * MAX_ENTRIES;
    if even
        && pairs
            .chunks_exact(2)
            .all(|pair| pair[0] < end && pair[1] < 1 << 40)
    {
        return Ok(());
    }
    let expected = format!("pairs of an index below {end} and a count");
    Err(SynthError::parameter(field, format!("{pairs:?}"), expected))
}

/// Tuples of numbers that SWF can hold, the last one a count.
fn check_tuples(field: &str, numbers: &[i64], size: usize) -> Result<(), SynthError> {
    let whole = numbers.len().is_multiple_of(size) && numbers.len() <= size * MAX_ENTRIES;
    let fits = |tuple: &[i64]| {
        let count = tuple.last().copied().unwrap_or(-1);
        (0..1 << 40).contains(&count) && tuple.iter().all(|n| (-1..1 << 40).contains(n))
    };
    if whole && numbers.chunks_exact(size).all(fits) {
        return Ok(());
    }
    let expected = format!("groups of {size} numbers from -1, the last one a count");
    Err(SynthError::parameter(
        field,
        format!("{numbers:?}"),
        expected,
    ))
}
