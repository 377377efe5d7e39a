//! How a broker comes by what it knows, and when it acts on it.

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

/// When a job leaves a broker's queue.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Commit {
    /// In the cycle after its arrival, wherever it may have to wait.
    #[default]
    Early,
    /// When whoever the policy chooses has as many processors free as it wants.
    Late,
}

impl Commit {
    /// All of them.
    pub const ALL: [Commit; 2] = [Commit::Early, Commit::Late];

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What those do that stand behind a job that has no room yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// They wait with it.
    #[default]
    Head,
    /// They may pass it.
    Skip,
}

/// How jobs and processors are brought together, beside the policy.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum MatchmakingKind {
    /// Each broker sends its jobs to the candidate that the policy chooses.
    #[default]
    Route,
    /// Each domain for itself: jobs stay where they enter.
    Independent,
    /// One queue at the central domain, which sends a job to a domain that has room
    /// by what it was last told.
    Push,
    /// One queue at the central domain, of which domains ask for jobs when they have
    /// room.
    Pull,
    /// Jobs stay where they enter, and their job managers ask one domain after the other
    /// for processors, which serves users by their past usage.
    Flock,
    /// Jobs stay where they enter, and processors are delegated to them over the
    /// links of the tree (DMM).
    Delegate,
}

impl MatchmakingKind {
    /// All of them.
    pub const ALL: [MatchmakingKind; 6] = [
        MatchmakingKind::Route,
        MatchmakingKind::Independent,
        MatchmakingKind::Push,
        MatchmakingKind::Pull,
        MatchmakingKind::Flock,
        MatchmakingKind::Delegate,
    ];

    /// The name used in scenarios and results.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether brokers make deals for it, which one that has forgotten them cannot keep.
    pub fn makes_deals(self) -> bool {
        self == MatchmakingKind::Pull || self.is_lending()
    }

    /// Whether processors are delegated.
    pub fn is_lending(self) -> bool {
        matches!(self, MatchmakingKind::Flock | MatchmakingKind::Delegate)
    }

    /// Whether all jobs wait at one domain.
    pub fn is_central(self) -> bool {
        matches!(self, MatchmakingKind::Push | MatchmakingKind::Pull)
    }
}
