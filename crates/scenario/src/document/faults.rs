//! What goes wrong on the way, as it is written.

use super::List;
use crate::value::{
    AboveZero, At, Duration, Identifier, Name, Named, PartyText, Positive, Probability, Str, named,
};
use gridrig_core::agent::Memory;
use serde::{Deserialize, Serialize};

/// What goes wrong with messages and services. A service is named by what it is
/// and the name of its domain or cluster: "broker:NAME", "lrms:NAME", "client".
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Faults {
    /// How long the client waits for a service that is away before it gives up
    /// the jobs that it has there. Default: as long as it takes.
    pub patience: Option<Duration>,
    /// What happens to messages: of several that concern one, the first counts.
    pub links: Option<List<LinkFaults>>,
    /// Services that cannot be reached for a time.
    pub outages: Option<List<Outage>>,
    /// Brokers that crash and are restarted.
    pub restarts: Option<List<Restart>>,
}

/// What happens to messages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LinkFaults {
    /// Whose messages. Default "all".
    pub between: Option<At<Str<Name<Between>>>>,
    /// Instead of between: those of one service, such as a slow peer.
    pub party: Option<At<Str<PartyText>>>,
    /// With party: only those that go between it and this one.
    pub towards: Option<At<Str<PartyText>>>,
    /// Every message arrives later by this. Default "0s".
    pub delay: Option<Duration>,
    /// And by at most this, drawn for each. Default "0s".
    pub jitter: Option<Duration>,
    /// Probability that a message is lost. Default 0.
    pub loss: Option<Probability>,
    /// Probability that a message arrives twice: its answer is lost, so that it
    /// is sent again. Default 0.
    pub duplication: Option<Probability>,
    /// Probability that a message is overtaken by those sent within the next
    /// second of the run. Default 0.
    pub reordering: Option<Probability>,
    /// Since when. Default "0s".
    pub from: Option<Duration>,
    /// Until when. Default: to the end.
    pub until: Option<At<Duration>>,
}

/// Whose messages are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// All.
    All,
    /// From broker to broker.
    Brokers,
    /// Of brokers with their own LRMSs, and of clients.
    Domain,
}

named!(Between, "a kind of link", "all" => Between::All, "brokers" => Between::Brokers, "domain" => Between::Domain);

/// A service that cannot be reached and reaches nobody. A partition is one for
/// each pair of services that it parts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Outage {
    /// Which service.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub party: Option<At<Str<PartyText>>>,
    /// Towards which other. Default: towards all.
    pub towards: Option<At<Str<PartyText>>>,
    /// Since when. Default "0s".
    pub from: Option<Duration>,
    /// Until when.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub until: Option<At<Duration>>,
    /// Between from and until the service fails and is repaired at random
    /// instants. Default: it is away all of that time.
    pub failures: Option<At<Failures>>,
    /// Whether requests to it are never answered, rather than refused at once.
    /// Default false.
    pub silent: Option<bool>,
    /// Whether only information about load stops. Default false.
    pub information: Option<bool>,
}

/// A broker that crashes and is restarted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Restart {
    /// The domain whose broker it is.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub broker: Option<At<Str<Identifier>>>,
    /// When it crashes. Default "0s".
    pub from: Option<Duration>,
    /// When it is there again.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub until: Option<At<Duration>>,
    /// Between from and until it crashes and is restarted at random instants.
    /// Default: it is away all of that time.
    pub failures: Option<At<Failures>>,
    /// What it knows when it is there again. Default "journal": all that it was
    /// told; "none": nothing, so that it asks peers and LRMSs; "kept": the
    /// process only stood still.
    pub memory: Option<Str<Name<MemoryName>>>,
}

/// What a restarted broker knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryName {
    /// What this says.
    Restarted(Memory),
    /// It was not restarted.
    Kept,
}

named!(
    MemoryName, "a memory",
    "journal" => MemoryName::Restarted(Memory::Journal),
    "none" => MemoryName::Restarted(Memory::None),
    "kept" => MemoryName::Kept,
);

/// Failures and repairs, drawn with the seed of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Failures {
    /// Mean time from the beginning or a repair to the next failure.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub mtbf: Option<Str<AboveZero>>,
    /// Mean time to repair.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub mttr: Option<Str<AboveZero>>,
    /// How these times are distributed. Default "exponential"; "weibull": the
    /// times to failure have this shape and those to repair are exponential;
    /// "constant": all times are the mean.
    pub distribution: Option<Str<Name<Distribution>>>,
    /// With "weibull": its shape; below 1, failures come in bursts.
    pub shape: Option<Positive>,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Without memory.
    Exponential,
    /// With a shape.
    Weibull,
    /// All alike.
    Constant,
}

named!(
    Distribution, "a distribution",
    "exponential" => Distribution::Exponential,
    "weibull" => Distribution::Weibull,
    "constant" => Distribution::Constant,
);
