//! What is said of processors for a part of a job that several clusters run together.

use super::Arrival;
use crate::ids::ClusterId;
use crate::job::{Components, Input, JobSpec};
use crate::time::{Decimal, SimDuration, SimTime};

/// What a broker wants of the processors for a part of a job that several clusters run
/// together. `J` is how the job goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClaimStep<J = Box<Arrival>> {
    /// They are to be held, if they are free at once.
    Hold {
        /// The whole job.
        job: J,
        /// How much of the job is for this cluster.
        share: ClaimShare,
        /// How long the part is thought to need them, at speed 1.0.
        estimate: SimDuration,
        /// They are given back by themselves if nothing more is heard for so long.
        timeout: SimDuration,
    },
    /// They are to be reserved from an instant within a window on, in place of what is
    /// reserved for the job there; if they are not, that stays.
    Reserve {
        /// The whole job.
        job: J,
        /// How much of the job is for this cluster.
        share: ClaimShare,
        /// How long they are needed, whatever their speed.
        length: SimDuration,
        /// They are given back by themselves if nothing more is heard for so long, or before
        /// the instant from which they are reserved.
        timeout: SimDuration,
        /// The first and the last instant that will do.
        window: (SimTime, SimTime),
    },
    /// All clusters hold theirs: the job starts.
    Begin {
        /// When, everywhere at one instant.
        at: SimTime,
        /// How long it runs from then.
        length: SimDuration,
        /// Whether this cluster tells of the start and the end of the job.
        leads: bool,
    },
    /// They are not wanted any more.
    Release,
}

impl<J> ClaimStep<J> {
    /// The same with its job as `job` makes it, or nothing if that makes nothing.
    pub fn with_job<K>(self, job: impl FnOnce(J) -> Option<K>) -> Option<ClaimStep<K>> {
        Some(match self {
            ClaimStep::Hold {
                job: own,
                share,
                estimate,
                timeout,
            } => ClaimStep::Hold {
                job: job(own)?,
                share,
                estimate,
                timeout,
            },
            ClaimStep::Reserve {
                job: own,
                share,
                length,
                timeout,
                window,
            } => ClaimStep::Reserve {
                job: job(own)?,
                share,
                length,
                timeout,
                window,
            },
            ClaimStep::Begin { at, length, leads } => ClaimStep::Begin { at, length, leads },
            ClaimStep::Release => ClaimStep::Release,
        })
    }
}

/// What a cluster has to say of processors for a part of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClaimAnswer {
    /// It holds them, and the slowest has this speed.
    Held(Decimal),
    /// They are reserved, and the slowest has this speed.
    Reserved {
        /// From then on.
        start: SimTime,
        /// The least speed.
        speed: Decimal,
    },
    /// It does not hold them, or no more, or they are not reserved.
    No,
    /// They are not reserved: the same might be from this instant on.
    NotBefore(SimTime),
}

impl ClaimAnswer {
    /// The least speed of those that it holds.
    pub fn held(self) -> Option<Decimal> {
        match self {
            ClaimAnswer::Held(speed) => Some(speed),
            _ => None,
        }
    }
}

/// How much of a job a cluster gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClaimShare {
    /// Those of its [components](crate::job::MOST_COMPONENTS) whose bits are set.
    Components(u64),
    /// So many processors of one that may be divided.
    Processors(u32),
}

impl ClaimShare {
    /// Its components as a sum of powers of two, 0 for some processors of one.
    pub fn bits(self) -> u64 {
        match self {
            ClaimShare::Components(bits) => bits,
            ClaimShare::Processors(_) => 0,
        }
    }

    /// That of these [`bits`](Self::bits), which got so many processors.
    pub fn of_bits(bits: u64, processors: u32) -> Self {
        match bits {
            0 => ClaimShare::Processors(processors),
            bits => ClaimShare::Components(bits),
        }
    }

    /// Whether it has a component, by its position.
    pub fn has(self, component: usize) -> bool {
        match self {
            ClaimShare::Components(bits) => bits >> component & 1 == 1,
            ClaimShare::Processors(_) => component == 0,
        }
    }

    /// What the part of a job reads: of one that is divided, a share by its processors.
    fn inputs(self, job: &JobSpec) -> Box<[Input]> {
        let own = job.inputs.iter().filter_map(|input| {
            let mut own = input.clone();
            match self {
                ClaimShare::Components(bits) => {
                    let before = bits & ((1 << input.component) - 1);
                    own.component = before.count_ones() as u8;
                    self.has(input.component.into()).then_some(own)
                }
                ClaimShare::Processors(part) => {
                    let whole = u128::from(job.processors().max(1));
                    let mib = (u128::from(own.data_mib) * u128::from(part)).div_ceil(whole);
                    (own.component, own.data_mib) = (0, mib as u64);
                    Some(own)
                }
            }
        });
        own.collect()
    }

    /// What the part of a job reads that a cluster does not have, in MiB.
    pub fn missing_mib(self, job: &JobSpec, cluster: ClusterId) -> u64 {
        Input::missing_mib(&self.inputs(job), cluster)
    }

    /// The part of a job; `None` if that is nothing.
    pub fn of(self, job: &JobSpec, estimate: SimDuration) -> Option<JobSpec> {
        let mut own = job.components.iter().cloned().enumerate();
        let components = match self {
            ClaimShare::Processors(processors) => own
                .next()
                .map(|(_, first)| Components::one(processors, first.requirements))?,
            ClaimShare::Components(_) => {
                let own = own.filter(|(at, _)| self.has(*at));
                Components::new(own.map(|(_, component)| component))?
            }
        };
        Some(JobSpec {
            components,
            inputs: self.inputs(job),
            run_time: estimate,
            requested_time: None,
            ..job.clone()
        })
    }
}
