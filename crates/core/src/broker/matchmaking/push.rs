//! One queue for all, at the central domain (`koala`): a job leaves it when a domain has
//! room by what the central broker was last told, less what it has sent since.

use super::{Fit, Matchmaking};
use crate::broker::{Broker, Held};
use crate::job::JobRequest;
use crate::message::Target;

/// The central broker sends jobs to who has room.
pub struct Push;

impl Matchmaking for Push {
    fn counts_own(&self) -> bool {
        true
    }

    fn fit(&self, broker: &Broker, index: usize, job: &Held) -> Fit {
        match broker.is_central() {
            true if !could_run_there(broker, index, job) => Fit::Never,
            true if broker.known[index].has_room(job.spec.processors()) => Fit::Now,
            true => Fit::Later,
            false => from_elsewhere(broker, index, job),
        }
    }
}

/// Whether the candidate itself could ever run a job: it sends it no further.
pub(super) fn could_run_there(broker: &Broker, index: usize, job: &Held) -> bool {
    broker.known[index].could_run(&JobRequest::from(&job.spec), 0)
}

/// A job that enters at a domain goes to the central queue, and one that comes from there
/// to a cluster.
pub(super) fn from_elsewhere(broker: &Broker, index: usize, job: &Held) -> Fit {
    let goes = match (broker.known[index].target, job.route.from) {
        (Target::Peer(peer), None) => broker.config.central == Some(peer),
        (Target::Cluster(_), from) => from.is_some(),
        (Target::Peer(_), Some(_)) => false,
    };
    match goes {
        true => Fit::Now,
        false => Fit::Never,
    }
}
