//! Jobs as small numbers: what two hundred samples look up two hundred times
//! is looked up once.

use super::job::Pair;
use super::profiles::{Profiles, hour};
use crate::characterize::bins::cumulate;
use crate::format;
use crate::load::TraceJob;
use gridrig_core::time::NANOS_PER_SEC;
use std::collections::BTreeMap;

/// Labels that jobs are counted by, and the places of their codes.
pub(super) const LABELS: usize = 6;
pub(super) const USER: usize = 0;
pub(super) const QUEUE: usize = 1;
pub(super) const EXECUTABLE: usize = 2;
pub(super) const CLASS: usize = 3;
pub(super) const PROFILE: usize = 4;
pub(super) const HOUR: usize = 5;

/// Quantities whose distributions are compared.
pub(super) const QUANTITIES: usize = 3;
pub(super) const PROCESSORS: usize = 0;
pub(super) const RUN_TIME: usize = 1;
pub(super) const SUBMIT: usize = 2;

/// Labels whose association with time is measured: sizes, run times, users.
pub(super) const ASSOCIATIONS: usize = 3;

/// A job as a sample sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub submit_ns: u64,
    /// Processor-seconds.
    pub demand: f64,
    pub serial: bool,
    /// Codes of its labels.
    pub labels: [u32; LABELS],
    /// Places among the values of the reference.
    pub slots: [u32; QUANTITIES],
    /// Mid-ranks of processors and run time in the reference, 0 to 1.
    pub ranks: [f64; 2],
    /// Pointwise information between label and time.
    pub information: [f64; ASSOCIATIONS],
    /// Its place in the reference, where it is a job of it.
    pub origin: Option<u32>,
}

/// The reference and the reduced trace, encoded alike.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub reference: Vec<Row>,
    pub reduced: Vec<Row>,
    /// Share of each code of each label in the reference; the last code
    /// stands for what the reference does not have.
    pub shares: [Vec<f64>; LABELS],
    /// Share of each user in the demand of the reference.
    pub user_demand: Vec<f64>,
    /// Cumulative share at each slot.
    pub cdf: [Vec<f64>; QUANTITIES],
    /// Cumulative share of demand at each slot of the submit time.
    pub demand_cdf: Vec<f64>,
    /// Mean demand of the reference.
    pub mean_demand: f64,
}

impl Encoded {
    pub(super) fn new(pair: &Pair, seed: u64) -> Self {
        let coder = Coder::new(&pair.reference, seed);
        let encode = |(job, origin)| coder.row(job, origin);
        let reference = pair.reference.iter().zip((0..).map(Some)).map(encode);
        let reference: Vec<Row> = reference.collect();
        let reduced = pair
            .reduced
            .iter()
            .map(|placed| (&placed.job, placed.origin));
        let reduced = reduced.map(encode).collect();
        let count = reference.len() as f64;
        let shares = std::array::from_fn(|label| {
            let mut shares = vec![0.0; coder.codes(label)];
            for row in &reference {
                shares[row.labels[label] as usize] += 1.0 / count;
            }
            shares
        });
        let total: f64 = reference.iter().map(|row| row.demand).sum();
        let mut user_demand = vec![0.0; coder.codes(USER)];
        let mut demand_cdf = vec![0.0; coder.values[SUBMIT].len() * 2 + 1];
        for row in reference.iter().filter(|_| total > 0.0) {
            user_demand[row.labels[USER] as usize] += row.demand / total;
            demand_cdf[row.slots[SUBMIT] as usize] += row.demand / total;
        }
        cumulate(&mut demand_cdf);
        let cdf = std::array::from_fn(|quantity| {
            let mut cdf = vec![0.0; coder.values[quantity].len() * 2 + 1];
            for row in &reference {
                cdf[row.slots[quantity] as usize] += 1.0;
            }
            cumulate(&mut cdf);
            cdf.iter_mut().for_each(|share| *share /= count);
            cdf
        });
        Encoded {
            reference,
            reduced,
            shares,
            user_demand,
            cdf,
            demand_cdf,
            mean_demand: total / count,
        }
    }
}

struct Coder {
    /// Distinct values of each quantity, rising.
    values: [Vec<u64>; QUANTITIES],
    /// Cumulative number of jobs at each of them.
    below: [Vec<u32>; 2],
    count: f64,
    names: [Vec<Option<u32>>; 3],
    profiles: Profiles,
    cells: Cells,
}

/// Classes of run time begin at these seconds: a minute, ten minutes, an
/// hour, four hours, twelve hours.
const RUN_TIME_CLASSES: [u64; 5] = [60, 600, 3_600, 14_400, 43_200];

/// Classes of size: 1, 2, 3-4, 5-8, ... up to 2^32.
const SIZE_CLASSES: u32 = 34;

impl Coder {
    fn new(reference: &[TraceJob], seed: u64) -> Self {
        let values: [Vec<u64>; QUANTITIES] = std::array::from_fn(|quantity| {
            let mut values: Vec<u64> = reference.iter().map(|job| value(job, quantity)).collect();
            values.sort_unstable();
            values.dedup();
            values
        });
        let below = std::array::from_fn(|quantity| {
            let mut counts = vec![0u32; values[quantity].len() + 1];
            for job in reference {
                counts[values[quantity].partition_point(|v| *v < value(job, quantity)) + 1] += 1;
            }
            for at in 1..counts.len() {
                counts[at] += counts[at - 1];
            }
            counts
        });
        let names = std::array::from_fn(|label| {
            let mut names: Vec<Option<u32>> =
                reference.iter().map(|job| name(job, label)).collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        let mut coder = Coder {
            values,
            below,
            count: reference.len() as f64,
            names,
            profiles: Profiles::of(reference, seed),
            cells: Cells::default(),
        };
        coder.cells = Cells::new(reference, |job| coder.associated(job));
        coder
    }

    /// How many codes a label has, with the one for what the reference does not have.
    fn codes(&self, label: usize) -> usize {
        match label {
            CLASS => SIZE_CLASSES as usize * (RUN_TIME_CLASSES.len() + 1) + 1,
            PROFILE => self.profiles.count() + 1,
            HOUR => 25,
            _ => self.names[label].len() + 1,
        }
    }

    fn row(&self, job: &TraceJob, origin: Option<u32>) -> Row {
        let slots = std::array::from_fn(|quantity| {
            let value = value(job, quantity);
            let at = self.values[quantity].partition_point(|v| *v < value);
            let known = self.values[quantity].get(at) == Some(&value);
            (2 * at + usize::from(known)) as u32
        });
        let rank = |quantity: usize| {
            let slot = slots[quantity] as usize;
            let below = &self.below[quantity];
            f64::from(below[slot / 2] + below[slot.div_ceil(2)]) / (2.0 * self.count)
        };
        let associated = self.associated(job);
        Row {
            submit_ns: job.submit.as_nanos(),
            demand: job.run_time.as_nanos() as f64 / NANOS_PER_SEC as f64
                * f64::from(job.processors),
            serial: job.processors == 1,
            labels: [
                self.name_code(job, USER),
                self.name_code(job, QUEUE),
                self.name_code(job, EXECUTABLE),
                class(job),
                self.profiles.class(job),
                hour(job),
            ],
            slots,
            ranks: [rank(PROCESSORS), rank(RUN_TIME)],
            information: std::array::from_fn(|at| {
                self.cells
                    .information(at, job.submit.as_nanos(), associated[at])
            }),
            origin,
        }
    }

    fn name_code(&self, job: &TraceJob, label: usize) -> u32 {
        let found = self.names[label].binary_search(&name(job, label));
        found.unwrap_or(self.names[label].len()) as u32
    }

    /// The labels whose association with time is measured.
    fn associated(&self, job: &TraceJob) -> [u32; ASSOCIATIONS] {
        let run = job.run_time.as_nanos() / NANOS_PER_SEC;
        [
            size_class(job.processors),
            u64::BITS - run.leading_zeros(),
            self.name_code(job, USER),
        ]
    }
}

fn value(job: &TraceJob, quantity: usize) -> u64 {
    match quantity {
        PROCESSORS => u64::from(job.processors),
        RUN_TIME => job.run_time.as_nanos(),
        _ => job.submit.as_nanos(),
    }
}

fn name(job: &TraceJob, label: usize) -> Option<u32> {
    job.ids[match label {
        USER => format::USER,
        QUEUE => format::QUEUE,
        _ => format::EXECUTABLE,
    }]
}

/// The exponent of the next power of two.
fn size_class(processors: u32) -> u32 {
    u32::BITS - processors.saturating_sub(1).leading_zeros()
}

fn class(job: &TraceJob) -> u32 {
    let run = job.run_time.as_nanos() / NANOS_PER_SEC;
    let run = RUN_TIME_CLASSES.partition_point(|bound| *bound <= run) as u32;
    run * SIZE_CLASSES + size_class(job.processors)
}

/// Jobs by label within short stretches of the window.
#[derive(Clone, Debug, Default)]
struct Cells {
    /// First submit time of each stretch.
    starts: Vec<u64>,
    jobs_in: Vec<f64>,
    with: [BTreeMap<u32, f64>; ASSOCIATIONS],
    both: [BTreeMap<(u32, u32), f64>; ASSOCIATIONS],
    count: f64,
}

/// Jobs of the reference in a stretch: few enough that a stretch knows its
/// users, many enough that a sample has some of each.
const JOBS_IN_CELL: usize = 64;

impl Cells {
    fn new(reference: &[TraceJob], labels: impl Fn(&TraceJob) -> [u32; ASSOCIATIONS]) -> Self {
        let mut cells = Cells {
            count: reference.len() as f64,
            ..Cells::default()
        };
        for job in reference.iter().step_by(JOBS_IN_CELL) {
            if cells.starts.last() != Some(&job.submit.as_nanos()) {
                cells.starts.push(job.submit.as_nanos());
            }
        }
        cells.jobs_in = vec![0.0; cells.starts.len()];
        for job in reference {
            let cell = cells.cell(job.submit.as_nanos());
            cells.jobs_in[cell as usize] += 1.0;
            for (at, label) in labels(job).into_iter().enumerate() {
                *cells.with[at].entry(label).or_default() += 1.0;
                *cells.both[at].entry((cell, label)).or_default() += 1.0;
            }
        }
        cells
    }

    fn cell(&self, submit: u64) -> u32 {
        let after = self.starts.partition_point(|start| *start <= submit);
        after.saturating_sub(1) as u32
    }

    /// How much likelier the label is in the job's stretch than anywhere, as a
    /// logarithm. The logarithm is of the mean of 1 and the ratio, so that one
    /// job out of place costs ln 2 and no more.
    fn information(&self, at: usize, submit: u64, label: u32) -> f64 {
        let cell = self.cell(submit);
        let both = self.both[at].get(&(cell, label)).copied().unwrap_or(0.0);
        let with = self.with[at].get(&label).copied().unwrap_or(0.0);
        let jobs = self.jobs_in.get(cell as usize).copied().unwrap_or(0.0);
        let expected = with * jobs / self.count;
        match expected > 0.0 {
            true => ((both + expected) / (2.0 * expected)).ln(),
            false => -std::f64::consts::LN_2,
        }
    }
}
