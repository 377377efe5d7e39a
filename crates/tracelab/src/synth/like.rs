//! A look-alike of a trace: the demand of its days, and what jobs they are made of.
//!
//! Jobs are of *classes*: a size class (1, 2 and 3, 4 to 7, ... processors) crossed
//! with a run-time class (below 1 min, 4 min, 16 min, ...). The model holds how
//! many jobs of each class each day of the source has, and the demand of the day;
//! what sizes, run times and requested times go together in a class; how many
//! jobs of each class a user has, and on how few days they crowd; and how
//! long after each other the jobs of one user are submitted.
//!
//! What users and classes have is dealt, not drawn. So a day has the demand that it
//! has in the source, and the marginals differ from the source's by less than
//! those of a random sample.

mod deal;
mod fit;
mod generate;

pub use fit::recurring_jobs;

use super::error::{Result, SynthError, all_within, entries, within};
use super::extent::Extent;
use serde::{Deserialize, Serialize};

const DAY: u64 = 86_400;

/// Tables of a model are no longer than this.
const MAX_ENTRIES: usize = 1_000_000;

/// A model fitted to a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookAlike {
    /// Always [`SCHEMA`](super::extent::SCHEMA).
    pub schema: String,
    /// Always `look-alike`.
    pub kind: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// How much is made: so many jobs in so many days; what is absent follows
    /// from the days of the source.
    pub extent: Extent,
    /// Processors of the machine.
    pub processors: u32,
    /// What it was fitted to.
    pub source: Source,
    /// Unix seconds of time 0 in a made-up year, with the weekday and the local
    /// hour of the source's time 0; absent where the source has no calendar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_start: Option<u64>,
    /// Days from time 0 to the first one that is made: past the last day of the
    /// source, and whole weeks after its first one. So no job of the source can
    /// recur.
    pub first_day: u64,
    /// For each day of the source, in order, counted from time 0: the demand of its
    /// jobs in processor-seconds, then pairs of a class and its jobs.
    pub days: Vec<Vec<u64>>,
    /// Jobs by hour, counted from time 0.
    pub hours_of_day: Vec<u64>,
    /// How users go on during a day, by number of jobs.
    pub rhythms: Vec<Rhythm>,
    /// Classes of jobs.
    pub classes: Vec<Class>,
    /// Who submits.
    pub users: Vec<User>,
}

/// What a model was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The file, without its folder.
    pub trace: String,
    /// Its usable jobs.
    pub jobs: u64,
    /// First to last submission.
    pub days: f64,
}

/// Days of a user that are alike in number of jobs and in the time from the first
/// to the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rhythm {
    /// So many jobs at least, and fewer than the next rhythm with another number.
    pub jobs: u64,
    /// Days of users that went so, of those with as many jobs.
    pub days: u64,
    /// How often of a thousand a gap is like the one before, beyond chance.
    pub repeats_permille: u64,
    /// Seconds from one job to the next, as equally likely steps.
    pub gaps_s: Vec<u64>,
}

/// Jobs of about the same size and run time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// What its jobs are like, in threes, equally likely: processors, run time and
    /// requested time (0 is none) in seconds; by size, then by run time. Between
    /// two of one size lie the run times between.
    pub jobs: Vec<u64>,
    /// Jobs that failed, of a thousand.
    pub failed_permille: u64,
}

/// Who submits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The number, as SWF has it; -1 for jobs without a user.
    pub user: i64,
    /// Days on which the user submits.
    pub days: u64,
    /// The sum over these of the square of the user's jobs on that day.
    pub crowding: u64,
    /// Pairs of a class and the user's jobs of it.
    pub classes: Vec<u64>,
    /// In fives: group, executable, queue and partition as SWF has them, and a
    /// number of jobs; the most common ones.
    pub labels: Vec<i64>,
}

impl LookAlike {
    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        self.extent.check()?;
        within("processors", f64::from(self.processors), 1.0..=1e9)?;
        within("source.jobs", self.source.jobs as f64, 1.0..=1e12)?;
        within("source.days", self.source.days, 0.0..=1e6)?;
        within("first_day", self.first_day as f64, 0.0..=1e7)?;
        let start = self.unix_start.unwrap_or(0);
        within("unix_start", start as f64, 0.0..=1e11)?;
        let hours = self.hours_of_day.iter().map(|jobs| *jobs as f64);
        within("hours_of_day (entries)", hours.len() as f64, 24.0..=24.0)?;
        all_within("hours_of_day", hours.clone(), 0.0..=1e12)?;
        within("hours_of_day (sum)", hours.sum(), 1.0..=1e13)?;
        entries("rhythms", self.rhythms.len(), 1.0..=1e3)?;
        for (at, rhythm) in self.rhythms.iter().enumerate() {
            let field = |name: &str| format!("rhythms[{at}].{name}");
            within(&field("jobs"), rhythm.jobs as f64, 2.0..=1e9)?;
            within(&field("days"), rhythm.days as f64, 1.0..=1e12)?;
            let repeats = rhythm.repeats_permille as f64;
            within(&field("repeats_permille"), repeats, 0.0..=1e3)?;
            rising(&field("gaps_s"), &rhythm.gaps_s, 0.0..=DAY as f64)?;
        }
        let least: Vec<u64> = self.rhythms.iter().map(|rhythm| rhythm.jobs).collect();
        rising("rhythms (jobs)", &least, 2.0..=1e9)?;
        entries("classes", self.classes.len(), 1.0..=MAX_ENTRIES as f64)?;
        for (at, class) in self.classes.iter().enumerate() {
            let field = |name: &str| format!("classes[{at}].{name}");
            entries(&field("jobs"), class.jobs.len(), 3.0..=3e4)?;
            let machine = u64::from(self.processors);
            let fits = |job: &[u64]| {
                job.len() == 3 && (1..=machine).contains(&job[0]) && job[1].max(job[2]) < 1 << 32
            };
            let in_order = class.jobs.chunks(3).map(|job| &job[..2.min(job.len())]);
            if !class.jobs.chunks(3).all(fits) || !in_order.is_sorted() {
                let expected = format!(
                    "threes of 1 to {machine} processors and two times in seconds, by size and \
                     run time"
                );
                let found = format!("{:?}", class.jobs);
                return Err(SynthError::parameter(field("jobs"), found, expected));
            }
            let failed = class.failed_permille as f64;
            within(&field("failed_permille"), failed, 0.0..=1e3)?;
        }
        self.check_days()?;
        self.check_users()
    }

    fn check_days(&self) -> Result<()> {
        entries("days", self.days.len(), 1.0..=1e5)?;
        for (at, day) in self.days.iter().enumerate() {
            let field = format!("days[{at}]");
            let demand = day.first().copied().unwrap_or(u64::MAX);
            within(&field, demand as f64, 0.0..=1e17)?;
            self.check_pairs(&field, &day[1..])?;
        }
        within(
            "days (jobs)",
            self.jobs_in(0, self.days.len()) as f64,
            1.0..=1e9,
        )
    }

    fn check_users(&self) -> Result<()> {
        entries("users", self.users.len(), 1.0..=MAX_ENTRIES as f64)?;
        let mut known = vec![false; self.classes.len()];
        for (at, user) in self.users.iter().enumerate() {
            let field = |name: &str| format!("users[{at}].{name}");
            within(&field("user"), user.user as f64, -1.0..=1e12)?;
            within(&field("days"), user.days as f64, 0.0..=1e9)?;
            within(&field("crowding"), user.crowding as f64, 0.0..=1e18)?;
            self.check_pairs(&field("classes"), &user.classes)?;
            for pair in user.classes.chunks_exact(2).filter(|pair| pair[1] > 0) {
                known[pair[0] as usize] = true;
            }
            let labels = user.labels.chunks(5);
            let fits = |label: &[i64]| {
                label.len() == 5 && label[4] > 0 && label.iter().all(|n| (-1..1 << 40).contains(n))
            };
            if !labels.clone().all(fits) || labels.len() > 1_000 {
                let expected = "fives of numbers from -1, the last one a count above 0";
                let found = format!("{:?}", user.labels);
                return Err(SynthError::parameter(field("labels"), found, expected));
            }
        }
        match known.iter().position(|known| !known) {
            None => Ok(()),
            Some(class) => {
                let found = format!("no jobs of class {class}");
                let expected = "users of all classes";
                Err(SynthError::parameter("users", found, expected))
            }
        }
    }

    /// Pairs of a class and a number of jobs.
    fn check_pairs(&self, field: &str, pairs: &[u64]) -> Result<()> {
        let classes = self.classes.len() as u64;
        let fits = |pair: &[u64]| pair.len() == 2 && pair[0] < classes && pair[1] < 1 << 32;
        if pairs.chunks(2).all(fits) && pairs.len() <= MAX_ENTRIES {
            return Ok(());
        }
        let expected = format!("pairs of a class below {classes} and a number of jobs");
        Err(SynthError::parameter(field, format!("{pairs:?}"), expected))
    }

    /// Jobs of the source on `length` days, from day `start` on.
    fn jobs_in(&self, start: usize, length: usize) -> u64 {
        let days = self.days.iter().cycle().skip(start).take(length);
        days.flat_map(|day| day[1..].iter().skip(1).step_by(2))
            .sum()
    }
}

/// Refuses a list that is empty, too long or not in order.
fn rising(field: &str, values: &[u64], range: std::ops::RangeInclusive<f64>) -> Result<()> {
    entries(field, values.len(), 1.0..=1e4)?;
    all_within(field, values.iter().map(|value| *value as f64), range)?;
    match values.is_sorted() {
        true => Ok(()),
        false => Err(SynthError::parameter(
            field,
            format!("{values:?}"),
            "numbers in order",
        )),
    }
}
