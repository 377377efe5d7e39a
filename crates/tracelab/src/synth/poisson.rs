//! Poisson arrivals of a mix of applications, as KOALA's workloads W1 and W2
//! (Sonmez et al., e-Science 2006, section 5.4).

use super::error::{Result, SynthError, within};
use super::extent::{Budget, Extent, SCHEMA};
use super::unit::{below, unit};
use crate::format::{Record, field};
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A Poisson process of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Always `poisson`.
    pub kind: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// How much is made.
    pub extent: Extent,
    /// Processors of the machine.
    pub processors: u32,
    /// Mean time between two submissions in seconds.
    pub interarrival_s: f64,
    /// What is submitted: an application, then one of its requests, then one
    /// of the numbers of components, each with equal probability.
    pub applications: Vec<Application>,
}

/// An application of the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// What it is called; in the SWF it is a number, from 1 in file order.
    pub name: String,
    /// Shortest and longest run time in seconds; whole seconds between them
    /// are equally likely.
    pub run_time_s: [u64; 2],
    /// Its sizes.
    pub requests: Vec<Request>,
}

/// A size of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Processors of all components together.
    pub processors: u32,
    /// Numbers of equal components it may be divided into; the one drawn is
    /// the SWF queue.
    pub components: Vec<u32>,
}

/// KOALA's workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Koala {
    /// 200 jobs, 80 s apart on average: low contention.
    W1,
    /// 200 jobs, 40 s apart on average: high contention.
    W2,
}

impl Koala {
    /// The workload on the DAS of the paper: 160 functioning nodes of two
    /// processors.
    ///
    /// The paper's run times are in a figure only, by clusters combined; they
    /// are left to the user and begin as 150 to 250 s, our choice: then the
    /// jobs want 42 % of the processors in W1 and 84 % in W2, beside the 15 to
    /// 20 % of background load that the paper keeps up.
    pub fn model(self, seed: u64) -> Poisson {
        const RUN_TIME_S: [u64; 2] = [150, 250];
        let request = |processors, components: &[u32]| Request {
            processors,
            components: components.to_vec(),
        };
        // No component is larger than 24 processors.
        let small = request(36, &[2, 3, 4]);
        let middle = request(64, &[4]);
        let large = request(72, &[3, 4]);
        let application = |name: &str, requests| Application {
            name: name.to_owned(),
            run_time_s: RUN_TIME_S,
            requests,
        };
        Poisson {
            schema: SCHEMA.to_owned(),
            kind: "poisson".to_owned(),
            seed,
            extent: Extent::jobs(200),
            processors: 320,
            interarrival_s: match self {
                Koala::W1 => 80.0,
                Koala::W2 => 40.0,
            },
            applications: vec![
                application("laplace", vec![small.clone(), middle.clone()]),
                application("2d-heat", vec![small, middle, large]),
            ],
        }
    }
}

impl Poisson {
    /// Refuses parameters that make no workload.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] with the first of them.
    pub fn check(&self) -> Result<()> {
        let some = |field: String, empty: bool| match empty {
            true => Err(SynthError::parameter(field, "[]", "at least one entry")),
            false => Ok(()),
        };
        self.extent.check()?;
        within("processors", f64::from(self.processors), 1.0..=1e7)?;
        within("interarrival_s", self.interarrival_s, 1e-3..=1e9)?;
        some("applications".to_owned(), self.applications.is_empty())?;
        for (at, application) in self.applications.iter().enumerate() {
            let field = |name: &str| format!("applications[{at}].{name}");
            let [shortest, longest] = application.run_time_s.map(|time| time as f64);
            within(&field("run_time_s[1]"), longest, 0.0..=1e9)?;
            within(&field("run_time_s[0]"), shortest, 0.0..=longest)?;
            some(field("requests"), application.requests.is_empty())?;
            for (at, request) in application.requests.iter().enumerate() {
                let field = |name: &str| field(&format!("requests[{at}].{name}"));
                let [own, most] = [request.processors, self.processors].map(f64::from);
                within(&field("processors"), own, 1.0..=most)?;
                some(field("components"), request.components.is_empty())?;
                for components in &request.components {
                    let divides = *components > 0 && request.processors.is_multiple_of(*components);
                    if !divides {
                        let expected = format!("a divisor of {}", request.processors);
                        let field = field("components");
                        return Err(SynthError::parameter(field, components, expected));
                    }
                }
            }
        }
        Ok(())
    }

    /// The jobs of this model.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when it makes no workload.
    pub fn jobs(&self) -> Result<PoissonJobs<'_>> {
        self.check()?;
        Ok(PoissonJobs {
            model: self,
            budget: Budget::new(&self.extent),
            at: 0.0,
            arrivals: rng::stream(self.seed, "poisson/arrivals"),
            mix: rng::stream(self.seed, "poisson/mix"),
            run_times: rng::stream(self.seed, "poisson/run-times"),
        })
    }
}

/// The jobs of a [`Poisson`], in order of submission.
#[derive(Debug)]
pub struct PoissonJobs<'a> {
    model: &'a Poisson,
    budget: Budget,
    at: f64,
    arrivals: ChaCha8Rng,
    mix: ChaCha8Rng,
    run_times: ChaCha8Rng,
}

/// An entry drawn uniformly, with its index.
fn one<'a, T>(random: &mut ChaCha8Rng, items: &'a [T]) -> Option<(u64, &'a T)> {
    let at = below(random, items.len() as u64);
    items.get(at as usize).map(|item| (at, item))
}

impl Iterator for PoissonJobs<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        // The exponential distribution by its inverse; 1 - u is never 0.
        self.at -= self.model.interarrival_s * (1.0 - unit(&mut self.arrivals)).ln();
        let submit = self.at as u64;
        let number = self.budget.take(submit)?;
        let (index, application) = one(&mut self.mix, &self.model.applications)?;
        let (_, request) = one(&mut self.mix, &application.requests)?;
        let (_, components) = one(&mut self.mix, &request.components)?;
        let [shortest, longest] = application.run_time_s;
        let run_time = shortest + below(&mut self.run_times, longest - shortest + 1);
        let processors = u64::from(request.processors);
        let job = Record::made(number, submit, run_time, processors);
        let job = job.with(field::EXECUTABLE, index + 1);
        Some(job.with(field::QUEUE, u64::from(*components)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_do_not_divide_a_size_are_refused() {
        let mut model = Koala::W1.model(1);
        model.applications[1].requests[2].components = vec![5];
        let error = model.check().unwrap_err().to_string();
        assert_eq!(
            error,
            "field applications[1].requests[2].components = \"5\": expected a divisor of 72"
        );
    }
}
