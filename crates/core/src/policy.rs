//! Forwarding policies of a broker: one trait over plain data, a file each, and
//! the table of those there are.

mod best_broker_rank;
mod co_allocation;
mod domains;
mod free_node;
mod full_information;
mod inter;
mod local_only;
mod own;
mod predicted;
mod queue_length;
mod random;
mod registry;
mod round_robin;
mod settings;
mod threshold;
mod utilization;
mod view;

pub(crate) use co_allocation::{Placing, SHORTEST, Shares};
pub use domains::{Aggregate, Kinds, Machine, Offer, Site, Wanted};
pub use own::Queued;
pub use registry::{BrokerSettings, InformationNeed, Parameter, PolicyEntry, PolicySpec, Values};
pub use settings::{
    Blocking, CoAllocation, Commit, LocalInfo, MatchmakingKind, OwnDispatch, Placement,
};
pub use view::{Candidate, Truth, View};

use crate::decision::Score;
use crate::job::{JobRequest, Reason};
use crate::message::JobEnd;
use crate::time::{SimDuration, SimTime};
use strum::{EnumString, IntoStaticStr};

/// Every policy, in the order of reports; the first is the default. A policy is
/// its own file and its entry here.
pub static POLICIES: &[PolicyEntry] = &[
    round_robin::ENTRY,
    random::ENTRY,
    queue_length::ENTRY,
    free_node::ENTRY,
    utilization::ENTRY,
    threshold::ENTRY,
    best_broker_rank::FLAT,
    best_broker_rank::FLAT_110,
    best_broker_rank::FLAT_125,
    best_broker_rank::AGGREGATED,
    best_broker_rank::AGGREGATED_110,
    best_broker_rank::AGGREGATED_125,
    inter::IN_TURN,
    inter::AT_RANDOM,
    co_allocation::WORST_FIT,
    co_allocation::CLOSE_TO_FILES,
    co_allocation::CLUSTER_MINIMIZATION,
    co_allocation::FLEXIBLE,
    co_allocation::RESERVATIONS,
    predicted::START,
    predicted::COMPLETION,
    local_only::ENTRY,
    full_information::ENTRY,
];

/// What is known beforehand of a policy that is not among them: the user's own.
static OWN: PolicyEntry = own::ENTRY;

/// Decides where jobs go.
///
/// A broker asks it about each job of its queue, in order. The broker has
/// filtered the candidates before; it tells equals apart, counts what it sends
/// and remembers who refused afterwards.
pub trait Policy: Send + Sync {
    /// Who gets this job. Where nobody does while a peer is closed, it is asked
    /// again with the closed ones among the possible candidates, and the job
    /// waits if somebody would get it then.
    fn choose(&mut self, request: &JobRequest<'_>, view: &View) -> Choice;

    /// What it has compared of a possible candidate, for who wants to know how a
    /// choice came about; `None` where it compares nothing.
    fn score(&self, _: &JobRequest<'_>, _: &View, _index: usize) -> Option<Score> {
        None
    }

    /// Whether it is shown a whole queue before it is asked about each of its jobs.
    fn reads_queue(&self) -> bool {
        false
    }

    /// The jobs that wait at the beginning of a cycle and have a possible candidate,
    /// in the order in which it is asked about them.
    fn read_queue(&mut self, _: SimTime, _: &[Queued<'_>], _: &View) {}

    /// What it predicts of a job at a candidate, if it does.
    fn forecast(&self, _: &JobRequest<'_>, _: &View, _index: usize) -> Option<Forecast> {
        None
    }

    /// A job with this estimate that went to this candidate at this instant has ended.
    fn note_end(&mut self, _index: usize, _: (SimDuration, SimTime), _: &JobEnd) {}
}

/// What is predicted of a job at a candidate, from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// How long it takes to start.
    pub start: SimDuration,
    /// How long what counts takes: the same, or until it is done.
    pub ready: SimDuration,
}

/// What a policy says of a job, by positions of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One of these equally good ones, told apart by this rule. None of them:
    /// the job is held while only closed candidates could take it, else turned
    /// away.
    Among(Vec<usize>, Tie),
    /// One of these, in a turn of their own that other choices do not move.
    InTurn(Vec<usize>),
    /// It waits here and is decided again in the next cycle; it keeps nobody waiting.
    Hold,
    /// Turned away for this reason.
    Reject(Reason),
}

/// Which of equally good candidates is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Tie {
    /// `tied[counter mod n]`, then counter + 1; one counter per broker, which
    /// every decision moves.
    #[default]
    Rotate,
    /// Own clusters before peers, and in turn among those.
    Local,
    /// The first in candidate order.
    First,
    /// Any, from the broker's random stream.
    Random,
}

impl Tie {
    /// All rules.
    pub const ALL: [Tie; 4] = [Tie::Rotate, Tie::Local, Tie::First, Tie::Random];

    /// What a policy takes that leaves ties to the settings.
    const PARAMETER: Parameter = Parameter {
        name: "tie",
        values: Values::Word(|| Tie::ALL.map(Tie::name).to_vec()),
        default: |settings| settings.tie.name().to_owned(),
    };

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The rule that a policy of these settings goes by.
    pub fn of(settings: &BrokerSettings) -> Self {
        Tie::PARAMETER.of(settings).parse().expect("a rule")
    }
}
