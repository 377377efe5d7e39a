//! A look-alike of a trace: a model fitted to it that holds no job of it.
//!
//! The model says when a job is submitted (the days of the source, the hours of
//! a week, and how jobs crowd from half a day down to a second), whose job it is
//! (who has just submitted goes on with odds that fall with time) and what it is
//! (each user's mix of job *cells*, a cell being a range of sizes crossed with a
//! range of run times, and how like the job before it is).
//!
//! Jobs are dealt, not drawn: what days and users have is scaled to the number
//! of jobs wanted and handed out without being put back. So the marginals of a
//! look-alike differ from the source's by less than those of a random sample of
//! it, although its jobs come in batches, and only tables of counts are kept in
//! memory.

mod calibrate;
mod choose;
mod daytime;
mod deal;
mod fit;
mod gaps;
mod generate;
mod halved;
mod halves;
mod hours;
mod inside;
mod levels;
mod likeness;
mod residual;
mod rows;
mod silences;
mod splits;
mod stretch;
mod tilting;
mod turns;
mod week;
mod weights;

pub use fit::{FitOptions, recurring_jobs};
pub use generate::LookAlikeJobs;
pub use levels::Level;

use super::error::{SynthError, all_within, entries, within};
use super::extent::Extent;
use serde::{Deserialize, Serialize};

/// A job belongs to its batch up to so many seconds after the first one.
const BATCH_WINDOW_S: u64 = 120;

/// Ranges of run times that count as alike on either side of one.
const ALIKE: usize = 1;

/// Tables of a model are no longer than this.
const MAX_ENTRIES: usize = 100_000;

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
    /// of the source.
    pub hours_of_week: Vec<f64>,
    /// Jobs by hour of the day.
    pub hours_of_day: Vec<u64>,
    /// Jobs of each day of the source, in order; the first one is a day of the
    /// week of `first_submit_s`.
    pub days: Vec<u64>,
    /// The longest silences of the source: pairs of the minutes from the beginning
    /// of the first day, and of the length in minutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences_min: Vec<u64>,
    /// Rows of jobs at even distances, those of the source with most jobs, in
    /// threes: minutes from the beginning of the first day, from the second row
    /// on from that of the row before; jobs; seconds from the first job to the
    /// last one. `days`, `hours_of_week`, `hours_of_day`, `splits` and `folds`
    /// are about the other jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<u64>,
    /// How the jobs of a day fall on its hours, and where `folds` is empty those
    /// of an hour on its seconds: for each halving (24, 12, 6, 3 and 2 hours,
    /// then those of an hour) and for each number of jobs that is halved (1, 2, 3 and 4, 5
    /// to 8, ... 129 to 512, more), three numbers: the probability that one half
    /// has all jobs, else the correlation of the halves of two jobs, and the
    /// exponent with which the halves follow their neighbours.
    pub splits: Vec<Vec<f64>>,
    /// How the jobs of an hour fall on its seconds: for each halving, for each
    /// number of jobs as above, and perhaps for each way in which the stretch
    /// before was halved (evenly, somehow, one-sidedly): the exponent with which the
    /// halves follow their neighbours, and how often, of a thousand, the larger
    /// half has as little as it can, up to 0.562, 0.625, 0.75, 0.875 of the
    /// jobs, less than all, and all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folds: Vec<Vec<Vec<f64>>>,
    /// In place of `folds`: for each halving, for each octave of jobs (1, 2, 3 and
    /// 4, ... 2049 to 4096 and more; those past the last one listed are like it):
    /// the exponent with which the halves follow their neighbours, how often, of
    /// a thousand, halves are as even as can be and one has all, and the quantiles
    /// of the larger half's share else, in thousandths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halves: Vec<Vec<Vec<f64>>>,
    /// Weights by which hours with some distances of jobs are avoided, once a
    /// trace is thinned to a tenth: for each bin of distances (0, then four to an octave of milliseconds
    /// from one second on). Where there are any, each hour is drawn six times, and
    /// each of these also with its jobs at looks every 2, 3, 5, 10, 30 or 60 s,
    /// fifty times less likely; one is taken with a probability in proportion to
    /// exp(-sum of its distances' weights).
    #[serde(default, rename = "gap_leanings")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gap_weights: Vec<f64>,
    /// Probability that a recent user goes on, by time since the user's last job
    /// (below 1 s, 2 s, 4 s ... 2^17 s); a row for each class of jobs in a row
    /// (1, 2, 3 and 4, 5 to 8, 9 to 32, 33 to 128, more) of each class of
    /// place in the list of recent users (1, 2, 3 and 4, 5 to 8, 9 to 16).
    pub turns: Vec<Vec<f64>>,
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
    /// For each range of run times: its jobs in each eighth of a day over those
    /// that their users' hours give.
    #[serde(default, rename = "run_time_leanings")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_time_weights: Vec<Vec<f64>>,
    /// For each range of sizes: its jobs in each eighth of a day over those that
    /// their users' hours and run times give.
    #[serde(default, rename = "size_leanings")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_weights: Vec<Vec<f64>>,
    /// Where in their ranges the jobs of a cell lie, where that is not the middle:
    /// in threes a cell and the mean places of its run times and of its sizes, in
    /// thousandths; cells rise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<u64>,
    /// How like the job before it a user's job is.
    pub likeness: Likeness,
    /// Users, alone or with others like them.
    pub profiles: Vec<Profile>,
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

/// Probabilities that a job is like the one before it of the same user, beyond
/// what the user's mix gives anyway; each for a job within a batch's window
/// after that one, within an hour, and later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Likeness {
    /// Same cell.
    pub same_cell: Vec<f64>,
    /// Same range of sizes, and the same or a neighbouring range of run times.
    pub alike: Vec<f64>,
    /// Same range of sizes.
    pub same_size: Vec<f64>,
}

/// A user, or several whose mixes are taken together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Pairs of a user as SWF has it and a number of jobs; user -1 is none.
    pub users: Vec<i64>,
    /// Turns: how often one of them submitted who was not among the recent
    /// users who go on.
    pub turns: u64,
    /// How much likelier than others they go on, as a logarithm of odds.
    pub stays: f64,
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
        all_within("hours_of_week", self.hours_of_week.clone(), 0.0..=1e12)?;
        within(
            "hours_of_week (sum)",
            self.hours_of_week.iter().sum(),
            1e-12..=1e15,
        )?;
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
        self.check_profiles()
    }

    fn check_rhythm(&self) -> Result<(), SynthError> {
        let table = |field: &str, rows: &[Vec<f64>], most: f64| {
            for (at, row) in rows.iter().enumerate() {
                let field = format!("{field}[{at}]");
                entries(&field, row.len(), 0.0..=1e3)?;
                all_within(&field, row.clone(), 0.0..=most)?;
            }
            Ok(())
        };
        length("hours_of_day", self.hours_of_day.len(), 24)?;
        let of_day = self.hours_of_day.iter().map(|jobs| *jobs as f64);
        within("hours_of_day (sum)", of_day.sum(), 1.0..=1e15)?;
        entries("days", self.days.len(), 1.0..=1e5)?;
        let of_days = self.days.iter().map(|jobs| *jobs as f64);
        all_within("days", of_days, 0.0..=1e12)?;
        // With folds or halves, splits end at the hour.
        let halvings = match self.folds.is_empty() && self.halves.is_empty() {
            true => splits::DAY_HALVINGS + splits::HOUR_HALVINGS,
            false => splits::DAY_HALVINGS,
        };
        length("splits", self.splits.len(), halvings)?;
        for (at, row) in self.splits.iter().enumerate() {
            let field = format!("splits[{at}]");
            length(&field, row.len(), 3 * splits::CROWDS)?;
            for split in row.chunks_exact(3) {
                within(&field, split[0], 0.0..=1.0)?;
                within(&field, split[1], 0.0..=1.0)?;
                within(&field, split[2], -10.0..=10.0)?;
            }
        }
        if !self.gap_weights.is_empty() {
            length("gap_leanings", self.gap_weights.len(), gaps::BINS)?;
        }
        all_within("gap_leanings", self.gap_weights.clone(), -1e4..=1e4)?;
        self.check_rows()?;
        self.check_halves()?;
        self.check_inside()?;
        self.check_folds()?;
        length("turns", self.turns.len(), turns::PLACES * turns::ROWS)?;
        for (at, row) in self.turns.iter().enumerate() {
            length(&format!("turns[{at}]"), row.len(), turns::AGES)?;
        }
        table("turns", &self.turns, 1.0)?;
        table("run_time_leanings", &self.run_time_weights, 1e6)?;
        table("size_leanings", &self.size_weights, 1e6)
    }

    fn check_rows(&self) -> Result<(), SynthError> {
        let entries = self.rows.len();
        if !entries.is_multiple_of(3) || entries > MAX_ENTRIES {
            let expected = format!("groups of 3 numbers, at most {MAX_ENTRIES} numbers");
            let found = format!("{entries} numbers");
            return Err(SynthError::parameter("rows", found, expected));
        }
        let numbers = self.rows.iter().map(|number| *number as f64);
        all_within("rows", numbers, 0.0..=1e9)
    }

    fn check_inside(&self) -> Result<(), SynthError> {
        let (triples, rest) = self.inside.as_chunks::<3>();
        let rise = triples.is_sorted_by(|a, b| a[0] < b[0]);
        if rest.is_empty() && rise && triples.iter().all(|at| at[1] <= 1_000 && at[2] <= 1_000) {
            return Ok(());
        }
        Err(SynthError::parameter(
            "inside",
            format!("{:?}", self.inside),
            "groups of a cell, rising, and two numbers of at most 1000",
        ))
    }

    fn check_halves(&self) -> Result<(), SynthError> {
        if !self.halves.is_empty() {
            length("halves", self.halves.len(), splits::HOUR_HALVINGS)?;
        }
        for (at, row) in self.halves.iter().enumerate() {
            let field = format!("halves[{at}]");
            let octaves = halves::OCTAVES as f64;
            entries(&field, row.len(), 0.0..=octaves)?;
            for numbers in row {
                if numbers.len() != halves::NUMBERS[0] {
                    length(&field, numbers.len(), halves::NUMBERS[1])?;
                }
                within(&field, numbers[0], -10.0..=10.0)?;
                all_within(&field, numbers[1..].to_vec(), 0.0..=1e3)?;
            }
        }
        Ok(())
    }

    fn check_folds(&self) -> Result<(), SynthError> {
        let pairs = self.silences_min.len();
        entries("silences_min", pairs, 0.0..=1e5)?;
        let rising = |pair: &[u64]| pair[0] >= pair[1] && pair[0] < 1 << 40;
        let ends: Vec<u64> = self
            .silences_min
            .chunks_exact(2)
            .flat_map(|pair| [pair[0], pair[0].saturating_add(pair[1])])
            .collect();
        if !pairs.is_multiple_of(2) || ends.windows(2).any(|pair| !rising(&[pair[1], pair[0]])) {
            return Err(SynthError::parameter(
                "silences_min",
                format!("{:?}", self.silences_min),
                "pairs of a rising minute and a number of minutes",
            ));
        }
        if !self.folds.is_empty() {
            length("folds", self.folds.len(), splits::HOUR_HALVINGS)?;
        }
        for (at, row) in self.folds.iter().enumerate() {
            let field = format!("folds[{at}]");
            if row.len() != splits::CROWDS {
                length(&field, row.len(), splits::CROWDS * splits::KINDS)?;
            }
            for numbers in row {
                let pull = numbers.first().copied().unwrap_or(0.0);
                within(&field, pull, -10.0..=10.0)?;
                if numbers.len() > 1 {
                    length(&field, numbers.len(), 1 + splits::CLASSES)?;
                }
                all_within(&field, numbers.iter().skip(1).copied(), 0.0..=1e6)?;
            }
        }
        Ok(())
    }

    fn check_profiles(&self) -> Result<(), SynthError> {
        let likeness = &self.likeness;
        for (field, ages) in [
            ("likeness.same_cell", &likeness.same_cell),
            ("likeness.alike", &likeness.alike),
            ("likeness.same_size", &likeness.same_size),
        ] {
            length(field, ages.len(), 3)?;
            all_within(field, ages.clone(), 0.0..=1.0)?;
        }
        entries("profiles", self.profiles.len(), 1.0..=MAX_ENTRIES as f64)?;
        let cells = (self.sizes.len() * self.run_times.len()) as u64;
        for (at, profile) in self.profiles.iter().enumerate() {
            let field = |name: &str| format!("profiles[{at}].{name}");
            check_pairs(&field("cells"), &profile.cells, cells)?;
            let some = |pairs: &[u64]| pairs.iter().skip(1).step_by(2).sum::<u64>() as f64;
            within(&field("turns"), profile.turns as f64, 0.0..=1e12)?;
            within(&field("stays"), profile.stays, -10.0..=10.0)?;
            within(&field("cells (sum)"), some(&profile.cells), 1.0..=1e12)?;
            check_tuples(&field("users"), &profile.users, 2)?;
            check_tuples(&field("labels"), &profile.labels, 5)?;
            let users = profile.users.len() / 2;
            entries(&field("users"), users, 1.0..=MAX_ENTRIES as f64)?;
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
