//! Draws the jobs.

use super::{BUCKET_SECONDS, BUCKETS, JobClass, Lublin, MAX_LN_GAP, MAX_LN_RUN_TIME};
use crate::format::{Record, field};
use crate::synth::error::{Result, SynthError};
use crate::synth::extent::Budget;
use crate::synth::unit::unit;
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Gamma};

/// The jobs of a model, in order of submission, without end but its extent.
#[derive(Debug)]
pub struct LublinJobs {
    classes: Vec<Class>,
    budget: Budget,
    processors: u32,
    /// Seconds from midnight to the log's time 0.
    start: u64,
}

/// One class with the arrival of its next job.
#[derive(Debug)]
struct Class {
    law: JobClass,
    stages: [Gamma<f64>; 2],
    gap: Gamma<f64>,
    weights: [f64; BUCKETS],
    /// Half hours since midnight of the first day, whole and in part.
    bucket: u64,
    part: f64,
    arrivals: ChaCha8Rng,
    sizes: ChaCha8Rng,
    run_times: ChaCha8Rng,
}

impl Lublin {
    /// The jobs of this model.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when it makes no workload.
    pub fn jobs(&self) -> Result<LublinJobs> {
        self.check()?;
        let start = u64::from(self.start_hour) * 3_600;
        let mut classes = Vec::new();
        for (name, class) in &self.classes {
            classes.push(Class::new(name, class, start, self.seed)?);
        }
        Ok(LublinJobs {
            classes,
            budget: Budget::new(&self.extent),
            processors: self.processors,
            start,
        })
    }
}

impl Class {
    fn new(name: &str, class: &JobClass, start: u64, seed: u64) -> Result<Self> {
        let gamma = |field: &str, shape: f64, scale: f64| {
            Gamma::new(shape, scale).map_err(|_| {
                let field = format!("classes.{name}.{field}");
                SynthError::parameter(field, shape, "a shape above 0")
            })
        };
        let run = &class.run_time;
        let stream = |what: &str| rng::stream(seed, &format!("lublin/{name}/{what}"));
        let mut this = Class {
            law: *class,
            stages: [
                gamma("run_time.a1", run.a1, run.b1)?,
                gamma("run_time.a2", run.a2, run.b2)?,
            ],
            gap: gamma("arrival.aarr", class.arrival.shape(), class.arrival.barr)?,
            weights: class.arrival.weights(),
            bucket: start / BUCKET_SECONDS as u64,
            part: 0.0,
            arrivals: stream("arrivals"),
            sizes: stream("sizes"),
            run_times: stream("run-times"),
        };
        this.advance();
        Ok(this)
    }

    /// Seconds since midnight of the first day.
    fn at(&self) -> u64 {
        self.bucket * BUCKET_SECONDS as u64 + (self.part * BUCKET_SECONDS) as u64
    }

    /// Moves to the next arrival: a gap is worth so many points, and passing a
    /// half hour costs its weight.
    fn advance(&mut self) {
        let gap = below(MAX_LN_GAP, || self.gap.sample(&mut self.arrivals));
        let mut points = gap.exp() / BUCKET_SECONDS;
        loop {
            let weight = self.weights[self.bucket as usize % BUCKETS];
            let rest = weight * (1.0 - self.part);
            if points < rest {
                self.part += points / weight;
                return;
            }
            points -= rest;
            self.bucket += 1;
            self.part = 0.0;
        }
    }

    fn draw_size(&mut self, limit: u32) -> u32 {
        let size = self.law.size;
        let u = unit(&mut self.sizes);
        if u < size.serial {
            return 1;
        }
        let (from, to) = if unit(&mut self.sizes) < size.prob {
            (size.low, size.med)
        } else {
            (size.med, size.high)
        };
        let log2 = from + (to - from) * unit(&mut self.sizes);
        if u < size.serial + size.power2 {
            // The exponent of the largest power of two on the machine.
            let most = limit.ilog2();
            return 1 << (log2.round() as u32).min(most);
        }
        (log2.exp2().round() as u32).clamp(1, limit)
    }

    /// Whole seconds.
    fn draw_run_time(&mut self, size: u32) -> u64 {
        let first = (self.law.run_time.pa * f64::from(size) + self.law.run_time.pb).clamp(0.0, 1.0);
        let random = &mut self.run_times;
        let ln = below(MAX_LN_RUN_TIME, || {
            let stage = usize::from(unit(random) >= first);
            self.stages[stage].sample(random)
        });
        ln.exp() as u64
    }
}

/// Draws until the value is no larger than a limit.
fn below(limit: f64, mut draw: impl FnMut() -> f64) -> f64 {
    loop {
        let value = draw();
        if value <= limit {
            return value;
        }
    }
}

impl Iterator for LublinJobs {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let class = self.classes.iter_mut().min_by_key(|class| class.at())?;
        let submit = class.at() - self.start;
        let number = self.budget.take(submit)?;
        let size = class.draw_size(self.processors);
        let run_time = class.draw_run_time(size);
        class.advance();
        let job = Record::made(number, submit, run_time, u64::from(size));
        Some(job.with(field::QUEUE, u64::from(class.law.queue)))
    }
}
