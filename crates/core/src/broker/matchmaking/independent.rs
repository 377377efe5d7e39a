//! Domains that know nothing of each other: `sep-c`, where a job goes to its LRMS at once,
//! and, with late commitment, `condor`, where it waits to be matched.

use super::{Fit, Matchmaking};
use crate::broker::{Broker, Held};
use crate::message::Target;
use crate::policy::BrokerSettings;
use crate::time::SimDuration;

/// Jobs stay where they enter.
pub struct Independent {
    /// Whether they wait here until there is room.
    pub late: bool,
}

impl Matchmaking for Independent {
    fn interval(&self, settings: &BrokerSettings) -> SimDuration {
        match self.late {
            true => settings.matchmaking_interval,
            false => settings.interval,
        }
    }

    fn fit(&self, broker: &Broker, index: usize, _: &Held) -> Fit {
        match broker.known[index].target {
            Target::Cluster(_) => Fit::Now,
            Target::Peer(_) => Fit::Never,
        }
    }
}
