//! A week of bursts of wide jobs over a floor of narrow ones, with given
//! moments: what stands in for the two weeks of the LSAP paper, whose traces
//! were not published.
//!
//! The moments are met by the jobs as they are played: run times divided by
//! `scale` and lifted to one second, as in LSAP Tables 1 and 2.

mod draw;
mod engine;
mod fit;

use super::error::{Result, SynthError, all_within, within};
use crate::format::{Record, field};
use engine::number;
use gridrig_results::stats::Distribution;
use serde::{Deserialize, Serialize};

/// The length of the week in seconds.
pub const WEEK_SECONDS: u64 = 7 * 86_400;

/// Unix time 0 was a Thursday; weeks begin on Monday.
const EPOCH_IN_WEEK: u64 = 3 * 86_400;

/// The jobs of a week are fitted together, so they are all in memory.
const MAX_JOBS: usize = 200_000;

/// Relative error of a moment that counts as reached.
const REACHED: f64 = 0.02;

/// A week of bursts. Times are in trace seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Always [`SCHEMA`](super::extent::SCHEMA).
    pub schema: String,
    /// Always `burst`.
    pub kind: String,
    /// What it is called; the name of the random stream.
    pub name: String,
    /// What it stands for.
    pub note: String,
    /// Seed of the random stream.
    pub seed: u64,
    /// Jobs of the week, those of the groups included.
    pub jobs: usize,
    /// Processors of the machine named in the header.
    pub processors: u32,
    /// Unix seconds of the start.
    pub unix_start: u64,
    /// Both scales of the reduction that the moments hold after.
    pub scale: u64,
    /// Moments of run times in scaled seconds.
    pub run_time: Moments,
    /// Moments of sizes in processors.
    pub size: Moments,
    /// Quantiles of the run times that are drawn, as (permille, seconds),
    /// straight between them.
    pub run_quantiles: Vec<(u64, u64)>,
    /// Run times are multiples of this.
    pub run_step: u64,
    /// Sizes that are drawn, as (processors, weight).
    pub sizes: Vec<(u32, u64)>,
    /// Jobs that are set: bursts of wide jobs and the longest run.
    pub groups: Vec<Group>,
    /// Users of the other jobs; few of them submit most.
    pub users: u64,
    /// Weights of the hours of the day.
    pub hourly: [u64; 24],
    /// Percent of these on Saturdays and Sundays.
    pub weekend_percent: u64,
}

/// Moments to reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    /// Largest value.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub sd: f64,
}

/// Jobs of one user that arrive one after the other, kept as they are while
/// the rest is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// When the first one is submitted.
    pub at_s: u64,
    /// Between two submissions, up to a quarter more.
    pub gap_s: u64,
    /// Their sizes.
    pub sizes: Vec<u32>,
    /// Each runs this long, up to a tenth less unless it is the longest run.
    pub run_time_s: u64,
}

/// The burst weeks that ship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Week {
    /// `traces/ctc-like.json`.
    Ctc,
    /// `traces/grid5000-like.json`.
    Grid5000,
}

impl Week {
    /// Its model.
    pub fn model(self) -> Burst {
        let text = match self {
            Week::Ctc => include_str!("../../../../traces/ctc-like.json"),
            Week::Grid5000 => include_str!("../../../../traces/grid5000-like.json"),
        };
        serde_json::from_str(text).expect("a test reads both files as burst weeks")
    }
}

impl Burst {
    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        within("jobs", self.jobs as f64, 2.0..=MAX_JOBS as f64)?;
        within("processors", f64::from(self.processors), 1.0..=1e7)?;
        within("unix_start", self.unix_start as f64, 0.0..=1e11)?;
        within("scale", self.scale as f64, 1.0..=1e6)?;
        within("users", self.users as f64, 1.0..=1e6)?;
        within("weekend_percent", self.weekend_percent as f64, 0.0..=1e4)?;
        // Times of a week's jobs stay far below 2^53.
        let longest = 1e9 / self.scale as f64;
        self.run_time.check("run_time", longest)?;
        self.size.check("size", f64::from(self.processors))?;
        let most = (self.run_time.max * self.scale) as f64;
        within("run_step", self.run_step as f64, 1.0..=most)?;
        let set: usize = self.groups.iter().map(|group| group.sizes.len()).sum();
        within("jobs", self.jobs as f64, set as f64 + 1.0..=MAX_JOBS as f64)?;
        for (at, group) in self.groups.iter().enumerate() {
            group.check(at, self)?;
        }
        self.check_tables(most)
    }

    fn check_tables(&self, longest: f64) -> Result<()> {
        let refuse = |field: &str, value: String, expected: &str| {
            Err(SynthError::parameter(field, value, expected))
        };
        let knots = &self.run_quantiles;
        let ends = knots.first().map(|k| k.0) == Some(0) && knots.last().map(|k| k.0) == Some(1000);
        let rises = knots
            .windows(2)
            .all(|k| k[0].0 < k[1].0 && k[0].1 <= k[1].1);
        if !ends || !rises || knots.iter().any(|k| k.1 as f64 > longest) {
            let expected = "rising quantiles from 0 to 1000 permille, none above the longest run";
            return refuse("run_quantiles", format!("{knots:?}"), expected);
        }
        let weights: u64 = self.sizes.iter().map(|s| s.1.min(1 << 32)).sum();
        let fits = |size: u32| size > 0 && u64::from(size) <= self.size.max;
        if weights == 0 || !self.sizes.iter().all(|s| fits(s.0) && s.1 <= 1 << 32) {
            let expected = "sizes from 1 to the largest one with weights up to 2^32, not all 0";
            return refuse("sizes", format!("{:?}", self.sizes), expected);
        }
        let largest = self.hourly.iter().copied().max().unwrap_or(0);
        // The first day is a working day or the weekend has a weight.
        let weekdays = self.hourly.iter().any(|h| *h > 0);
        if !weekdays || largest > 1_000_000 {
            let expected = "24 weights up to 1000000, not all 0";
            return refuse("hourly", format!("{:?}", self.hourly), expected);
        }
        Ok(())
    }

    /// Seconds from the Monday before to the start.
    fn start_in_week(&self) -> u64 {
        (self.unix_start + EPOCH_IN_WEEK) % WEEK_SECONDS
    }

    /// Moves the run times to other moments: what is set and what is drawn is
    /// stretched by the ratio of the largest values.
    pub fn set_run_time(&mut self, moments: Moments) {
        let (old, new) = (self.run_time.max.max(1), moments.max);
        let stretch = |value: u64| (value * new / old).max(1);
        for group in &mut self.groups {
            group.run_time_s = stretch(group.run_time_s);
        }
        for knot in &mut self.run_quantiles {
            knot.1 = stretch(knot.1);
        }
        self.run_time = moments;
        self.run_step = self.run_step.min(new.max(1));
    }

    /// Moves the sizes to other moments in the same way.
    pub fn set_size(&mut self, moments: Moments) {
        let (old, new) = (self.size.max.max(1), moments.max);
        let largest = u32::try_from(new).unwrap_or(u32::MAX).max(1);
        let stretch = |value: u32| {
            let value = (u64::from(value) * new / old).max(1);
            u32::try_from(value).map_or(largest, |v| v.min(largest))
        };
        for size in self.groups.iter_mut().flat_map(|group| &mut group.sizes) {
            *size = stretch(*size);
        }
        for size in &mut self.sizes {
            size.0 = stretch(size.0);
        }
        self.size = moments;
    }

    /// Replaces the bursts by so many alike, spread evenly over the week. The
    /// longest run stays, and one job of the largest size.
    pub fn set_bursts(&mut self, bursts: u32, jobs: u32, size: u32) {
        let longest = self.run_time.max * self.scale;
        let run_time_s = (longest / 100).max(1);
        self.groups.retain(|group| group.run_time_s == longest);
        let largest = u32::try_from(self.size.max).unwrap_or(u32::MAX);
        for burst in 0..u64::from(bursts) {
            let mut sizes = vec![size; jobs as usize];
            if burst == 0
                && let Some(first) = sizes.first_mut()
            {
                *first = largest;
            }
            self.groups.push(Group {
                at_s: (2 * burst + 1) * WEEK_SECONDS / (2 * u64::from(bursts)),
                gap_s: 120,
                sizes,
                run_time_s,
            });
        }
    }

    /// The jobs of the week, in order of submission. They are fitted together
    /// and so held in memory, unlike those of the other models.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when the parameters make no workload, or when
    /// no jobs with these moments could be found.
    pub fn jobs(&self) -> Result<Vec<Record>> {
        self.check()?;
        let jobs = engine::generate(self);
        self.check_moments(&jobs)?;
        Ok(jobs)
    }

    fn check_moments(&self, jobs: &[Record]) -> Result<()> {
        let runs = jobs.iter().map(|job| {
            let run = number(job, field::RUN_TIME).max(self.scale);
            run as f64 / self.scale as f64
        });
        self.run_time.check_reached("run_time", runs)?;
        let sizes = jobs.iter().map(|job| number(job, field::ALLOCATED) as f64);
        self.size.check_reached("size", sizes)
    }
}

impl Moments {
    fn check(&self, field: &str, most: f64) -> Result<()> {
        let max = self.max as f64;
        within(&format!("{field}.max"), max, 1.0..=most)?;
        within(&format!("{field}.mean"), self.mean, 1.0..=max)?;
        within(&format!("{field}.sd"), self.sd, 0.0..=max)
    }

    fn check_reached(&self, field: &str, values: impl Iterator<Item = f64>) -> Result<()> {
        let found = Distribution::of(values);
        let checks = [
            ("max", found.max, self.max as f64),
            ("mean", found.mean, self.mean),
            ("sd", found.sd, self.sd),
        ];
        for (name, found, wanted) in checks {
            let found = found.unwrap_or(0.0);
            if (found - wanted).abs() > REACHED * wanted.max(1e-9) {
                let expected = format!(
                    "moments that jobs of these groups, quantiles and sizes can have (the nearest \
                     found: {found:.1})"
                );
                return Err(SynthError::parameter(
                    format!("{field}.{name}"),
                    wanted,
                    expected,
                ));
            }
        }
        Ok(())
    }
}

impl Group {
    fn check(&self, at: usize, week: &Burst) -> Result<()> {
        let field = |name: &str| format!("groups[{at}].{name}");
        let longest = (week.run_time.max * week.scale) as f64;
        within(&field("run_time_s"), self.run_time_s as f64, 1.0..=longest)?;
        let (gap_s, end) = (self.gap_s as f64, WEEK_SECONDS as f64);
        within(&field("gap_s"), gap_s, 0.0..=end)?;
        let last = self.at_s as f64 + gap_s * self.sizes.len() as f64;
        within(&field("at_s"), last, 0.0..=end)?;
        let sizes = self.sizes.iter().map(|size| f64::from(*size));
        all_within(&field("sizes"), sizes, 1.0..=week.size.max as f64)
    }
}

/// What the queues of the header are called.
pub(super) const QUEUES: [&str; 4] = [
    "1 up to an hour",
    "2 up to six hours",
    "3 up to a day",
    "4 longer",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_moments_and_bursts_are_met() {
        let mut model = Week::Grid5000.model();
        model.jobs = 1_500;
        model.set_run_time(Moments {
            max: 5_000,
            mean: 200.0,
            sd: 500.0,
        });
        model.set_size(Moments {
            max: 100,
            mean: 8.0,
            sd: 16.0,
        });
        model.set_bursts(5, 6, 90);
        let jobs = model.jobs().unwrap();
        let wide = jobs.iter().filter(|j| number(j, field::ALLOCATED) == 90);
        assert_eq!(wide.count(), 29);
        assert_eq!(jobs.len(), 1_500);
    }

    #[test]
    fn moments_that_cannot_be_met_are_an_error() {
        let mut model = Week::Ctc.model();
        model.size.mean = 150.0;
        let error = model.jobs().unwrap_err().to_string();
        assert!(error.contains("field size.mean = \"150\""), "{error}");
    }
}
