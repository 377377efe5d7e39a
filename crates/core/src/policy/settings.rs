//! What a broker is told.

use super::{Parameter, PolicySpec, Tie, Values};
use crate::load::Window;
use crate::time::{Decimal, SimDuration};

/// Whether a broker counts what it has sent since its last information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OwnDispatch {
    /// It believes the last information, whatever it has done since.
    #[default]
    Ignored,
    /// It subtracts what it has sent itself from its last view: each job that
    /// arrived there after the sample was taken.
    Debited,
}

/// Where a broker's knowledge of its own clusters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalInfo {
    /// From the exchange, like that of its peers.
    #[default]
    Exchange,
    /// Own clusters are read live at each cycle.
    Fresh,
}

/// The settings of a broker that do not follow from the rest of the grid.
/// `Default` is design 5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerSettings {
    /// Time between scheduling cycles.
    pub interval: SimDuration,
    /// Time between exchanges of information: at its multiples every LRMS of
    /// the domain is sampled.
    pub exchange: SimDuration,
    /// First cycle.
    pub phase: SimDuration,
    /// Forwards a job may make.
    pub max_hops: u32,
    /// Forwards a job may make under the `inter-*` policies before it goes
    /// back to where it entered.
    pub ttl: u32,
    /// What best-broker-rank multiplies the rank of a job's origin by, unless
    /// it is given another number. So it is with `ttl`, `tie` and the windows.
    pub origin_promotion: Decimal,
    /// Whether the broker counts what it has sent.
    pub own_dispatch: OwnDispatch,
    /// How it knows its own clusters.
    pub local_info: LocalInfo,
    /// How equals are told apart.
    pub tie: Tie,
    /// The forwarding policy.
    pub policy: PolicySpec,
    /// Window of the queue-length policy.
    pub queue_window: Window,
    /// Window of the utilization policy.
    pub utilization_window: Window,
    /// One-way latency between broker and its LRMSs, above 0.
    pub lrms_latency: SimDuration,
    /// Whether it is somebody else's program, of which nothing is seen but
    /// what reaches its LRMSs: none of the other settings is its own then.
    pub external: bool,
}

impl Default for BrokerSettings {
    fn default() -> Self {
        BrokerSettings {
            interval: SimDuration::from_secs(5),
            exchange: SimDuration::from_secs(15),
            phase: SimDuration::ZERO,
            max_hops: 1,
            ttl: 1,
            origin_promotion: Decimal::ONE,
            own_dispatch: OwnDispatch::default(),
            local_info: LocalInfo::default(),
            tie: Tie::default(),
            policy: PolicySpec::default(),
            queue_window: Window::Seconds30,
            utilization_window: Window::Seconds30,
            lrms_latency: SimDuration::from_millis(1),
            external: false,
        }
    }
}

impl BrokerSettings {
    /// What a policy takes under which jobs wander.
    pub(super) const TTL: Parameter = Parameter {
        name: "ttl",
        values: Values::Whole(u32::MAX),
        default: |settings| settings.ttl.to_string(),
    };

    /// Forwards a job may make under the policy in force.
    #[must_use]
    pub fn hops(&self) -> u32 {
        match self.policy.entry().wanders() {
            true => Self::TTL.of(self).parse().expect("a whole number"),
            false => self.max_hops,
        }
    }
}
