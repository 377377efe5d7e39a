//! How a broker decided about a job: who could have had it, what the broker believed
//! of each, and what its policy made of that.

use crate::ids::{DomainId, JobId};
use crate::job::{Entry, Reason};
use crate::time::SimTime;
use std::collections::BTreeSet;
use strum::IntoStaticStr;

/// What a broker decided about one job in one cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The job.
    pub job: JobId,
    /// The domain whose broker decided.
    pub by: DomainId,
    /// How often the job had been forwarded by then.
    pub hop: u32,
    /// What became of the job.
    pub outcome: Outcome,
    /// How equally good candidates were told apart.
    pub tie: Option<&'static str>,
    /// What the policy compared, with its unit; `None` where it compared nothing.
    pub score_of: Option<&'static str>,
    /// Every candidate, own clusters first.
    pub candidates: Vec<Considered>,
}

/// What becomes of a waiting job in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// It goes to the chosen candidate.
    Sent,
    /// The matchmaking has arranged for the chosen candidate to have it.
    Arranged,
    /// It waits until a candidate has room.
    WaitsForRoom,
    /// It waits until a candidate takes jobs again.
    WaitsForOpening,
    /// It waits because the policy says so.
    Held,
    /// Nobody takes it.
    TurnedAway(Reason),
}

impl Outcome {
    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Why nobody takes it.
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Outcome::TurnedAway(reason) => Some(reason),
            _ => None,
        }
    }
}

/// How a candidate stood when the policy chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Standing {
    /// It gets the job.
    Chosen,
    /// As good as the chosen one, or the best where nobody has room yet.
    Best,
    /// It could have had the job, and was not among the best.
    Possible,
    /// It could never run the job, nor knows who could within the forwards left.
    CannotRun,
    /// A peer, and the job may be forwarded no more.
    NoForwardLeft,
    /// It has sent the job back before.
    HasRefused,
    /// It takes no jobs at this time.
    Closed,
    /// It takes no more jobs.
    Gone,
    /// The matchmaking lets the job wait until it has room.
    NoRoom,
    /// The matchmaking never sends the job there from here.
    NotFromHere,
}

impl Standing {
    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A candidate, by what the broker believed of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Considered {
    /// Which.
    pub target: Entry,
    /// How it stood.
    pub standing: Standing,
    /// When the oldest information about it that was in use was sampled.
    pub information_from: SimTime,
    /// Free processors (of a peer: the most that one of its clusters has), less what
    /// was sent if the broker counts that.
    pub free: i64,
    /// Jobs that waited there, with what was sent likewise.
    pub queued: f64,
    /// What the policy compared; for people: the policy itself compares exact numbers.
    pub score: Option<f64>,
}

/// What a policy compares of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// What it is, with its unit, and whether the least or the most is best.
    pub of: &'static str,
    /// The value.
    pub value: f64,
}

/// Of which jobs decisions are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// Of none.
    #[default]
    None,
    /// Of so many in 2^32, always the same ones.
    Share(u64),
    /// Of this one.
    Job(JobId),
}

impl About {
    /// Of this share of the jobs, from 0 to 1.
    pub fn share(share: f64) -> Self {
        match (share.clamp(0.0, 1.0) * 2f64.powi(32)).round() as u64 {
            0 => About::None,
            share => About::Share(share),
        }
    }
}

/// Decisions about some of the jobs, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    about: About,
    all: Vec<(SimTime, Decision)>,
    /// Jobs that wait at a broker since a decision that was kept.
    waiting: BTreeSet<(JobId, DomainId)>,
}

impl Decisions {
    /// Those about some jobs.
    pub fn about(about: About) -> Self {
        Decisions {
            about,
            ..Decisions::default()
        }
    }

    /// Of which jobs they are kept.
    pub fn of(&self) -> About {
        self.about
    }

    /// Whether those about this job are kept.
    #[inline]
    pub fn wants(&self, job: JobId) -> bool {
        match self.about {
            About::None => false,
            // Fibonacci hashing: any share is spread evenly over the run.
            About::Share(share) => u64::from(job.0.wrapping_mul(0x9E37_79B9)) < share,
            About::Job(one) => one == job,
        }
    }

    /// Keeps one. Of a job that waits, and is decided so again in each cycle, the first
    /// one says it all.
    pub fn keep(&mut self, at: SimTime, decision: Decision) {
        let here = (decision.job, decision.by);
        let waits = matches!(
            decision.outcome,
            Outcome::WaitsForRoom | Outcome::WaitsForOpening | Outcome::Held
        );
        match waits {
            true if !self.waiting.insert(here) => return,
            true => {}
            false => _ = self.waiting.remove(&here),
        }
        self.all.push((at, decision));
    }

    /// Those that were kept.
    pub fn all(&self) -> &[(SimTime, Decision)] {
        &self.all
    }

    /// Takes out those that were kept.
    pub fn take(&mut self) -> Vec<(SimTime, Decision)> {
        std::mem::take(&mut self.all)
    }
}
