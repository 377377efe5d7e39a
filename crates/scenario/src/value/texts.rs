//! Values that are written as strings, kind by kind.

use super::{Named, Str, Text, named, unknown};
use crate::Over;
use crate::interface::{FaceKind, LinkProtocol};
use crate::threshold::{Figure, Threshold};
use crate::workload::{ComponentsFrom, Sanitize, SizeFrom, SpreadBy, ZeroRunTime};
use gridrig_core::broker::{Blocking, Commit, LocalInfo, MatchmakingKind, OwnDispatch};
use gridrig_core::cluster::{OnNodeFailure, Overrun};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::load::Window;
use gridrig_core::policy::{POLICIES, PolicySpec, Tie};
use gridrig_core::time::{Decimal, SimDuration};
use std::path::Path;

/// A duration: a decimal number and its unit.
#[cfg(feature = "schema")]
const DURATION: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|ms|s|m|min|h|d|w)$";

/// Any duration.
pub type Duration = Str<SimDuration>;

/// What parses itself and says why it cannot.
macro_rules! parsed {
    ($($type:ty, $expected:literal, $write:expr, $schema:tt;)+) => {$(
        impl Text for $type {
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Result<Self, String> {
                <$type>::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
            }

            fn write(&self) -> String {
                $write(self)
            }

            #[cfg(feature = "schema")]
            fn schema() -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    )+};
}

parsed! {
    SimDuration, "a duration such as \"5s\"", SimDuration::to_string,
        { "type": "string", "pattern": DURATION };
    Sanitize, "sanitizing rules such as \"failed,wider-than=64\"",
        |it: &Sanitize| it.text().to_owned(),
        { "type": "string", "examples": ["failed,wider-than=64"] };
    Threshold, "a threshold such as \"delay_s.p95 < 60\"", Threshold::to_string,
        { "type": "string", "examples": ["delay_s.p95 < 60"] };
    Figure, "a statistic of a job metric such as \"delay_s.mean\"", Figure::to_string,
        { "type": "string", "enum": Figure::all().map(|it| it.to_string()).collect::<Vec<_>>() };
}

/// A duration that is longer than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AboveZero(pub SimDuration);

impl Text for AboveZero {
    const EXPECTED: &'static str = "a duration above 0 such as \"5s\"";

    fn read(text: &str) -> Result<Self, String> {
        match SimDuration::parse(text) {
            Ok(duration) if duration.is_zero() => Err(Self::EXPECTED.to_owned()),
            Ok(duration) => Ok(AboveZero(duration)),
            Err(why) => Err(format!("{} ({why})", Self::EXPECTED)),
        }
    }

    fn write(&self) -> String {
        self.0.to_string()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        SimDuration::schema()
    }
}

named!(LocalInfo, "a source of local information", "exchange" => LocalInfo::Exchange, "fresh" => LocalInfo::Fresh);
named!(Blocking, "what jobs behind a waiting one do", "head" => Blocking::Head, "skip" => Blocking::Skip);
named!(OwnDispatch, "a way to count own dispatches", "ignored" => OwnDispatch::Ignored, "debited" => OwnDispatch::Debited);
named!(SpreadBy, "a way to spread jobs over the domains", "round-robin" => SpreadBy::RoundRobin, "random" => SpreadBy::Random);
named!(SizeFrom, "a source of job sizes", "allocated" => SizeFrom::Allocated, "requested" => SizeFrom::Requested);
named!(ComponentsFrom, "a source of numbers of components", "comments" => ComponentsFrom::Comments, "one" => ComponentsFrom::One, "queue" => ComponentsFrom::Queue);

/// Things that list themselves.
macro_rules! listed {
    ($($type:ty, $what:literal;)+) => {$(
        impl Named for $type {
            const WHAT: &'static str = $what;

            fn names() -> Vec<(&'static str, Self)> {
                Self::ALL.iter().map(|one| (one.name(), *one)).collect()
            }
        }
    )+};
}

listed! {
    FaceKind, "a face";
    LinkProtocol, "a protocol between brokers";
    Commit, "a time to commit a job";
    MatchmakingKind, "a matchmaking";
    Over, "something that varies";
    Window, "a window";
    Tie, "a tie rule";
    DisciplineKind, "a discipline";
    Overrun, "what becomes of a job on processors that are reserved for another";
    OnNodeFailure, "what becomes of a job on a node that fails";
}

/// One of ours, with what is given of its parameters in brackets.
impl Text for PolicySpec {
    const EXPECTED: &'static str = "a policy";

    fn read(text: &str) -> Result<Self, String> {
        let name = text.split('(').next().unwrap_or_default();
        if PolicySpec::named(name).is_none() {
            let names: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
            return Err(unknown(Self::EXPECTED, name, &names));
        }
        text.parse()
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// A number above 0 where documents have it as text.
impl Text for Decimal {
    const EXPECTED: &'static str = "a number above 0";

    fn read(text: &str) -> Result<Self, String> {
        let read = Decimal::parse(text).filter(|number| !number.is_zero());
        read.ok_or_else(|| Self::EXPECTED.to_owned())
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl Text for ZeroRunTime {
    const EXPECTED: &'static str = "a duration above 0, \"drop\" or \"keep\"";

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "drop" => Ok(ZeroRunTime::Drop),
            "keep" => Ok(ZeroRunTime::Keep),
            _ => match AboveZero::read(text) {
                Ok(AboveZero(duration)) => Ok(ZeroRunTime::As(duration)),
                Err(_) => Err(Self::EXPECTED.to_owned()),
            },
        }
    }

    fn write(&self) -> String {
        match self {
            ZeroRunTime::As(length) => length.to_string(),
            ZeroRunTime::Drop => "drop".to_owned(),
            ZeroRunTime::Keep => "keep".to_owned(),
        }
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "string", "enum": ["drop", "keep"] },
            { "type": "string", "pattern": DURATION },
        ] })
    }
}

/// `keep`: all jobs, or `m` of every `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepText {
    /// All.
    All,
    /// Some of every so many.
    Of {
        /// So many ...
        m: u64,
        /// ... of so many.
        n: u64,
    },
}

impl Text for KeepText {
    const EXPECTED: &'static str = "\"m/n\" with 1 <= m <= n, such as \"2/5\", or \"all\"";

    fn read(text: &str) -> Result<Self, String> {
        // The index of a job times m has to fit its arithmetic.
        const LARGEST: u64 = 1_000_000;
        if text == "all" {
            return Ok(KeepText::All);
        }
        let parts = text.split_once('/');
        let parsed =
            parts.and_then(|(m, n)| Some((m.trim().parse().ok()?, n.trim().parse().ok()?)));
        match parsed {
            Some((m, n)) if 0 < m && m <= n && n <= LARGEST => Ok(KeepText::Of { m, n }),
            _ => Err(Self::EXPECTED.to_owned()),
        }
    }

    fn write(&self) -> String {
        match self {
            KeepText::All => "all".to_owned(),
            KeepText::Of { m, n } => format!("{m}/{n}"),
        }
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": r"^(all|\s*[0-9]+\s*/\s*[0-9]+\s*)$" })
    }
}

/// Durations that may be a word instead.
macro_rules! or_a_word {
    ($($(#[$doc:meta])+ $type:ident, $word:literal, $expected:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type(pub Option<SimDuration>);

        impl Text for $type {
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Result<Self, String> {
                if text == $word {
                    return Ok($type(None));
                }
                let time = SimDuration::parse(text).map(|time| $type(Some(time)));
                time.map_err(|why| format!("{} ({why})", Self::EXPECTED))
            }

            fn write(&self) -> String {
                let time = self.0.map(|time| time.to_string());
                time.unwrap_or_else(|| $word.to_owned())
            }

            #[cfg(feature = "schema")]
            fn schema() -> schemars::Schema {
                let duration = SimDuration::schema();
                schemars::json_schema!({ "anyOf": [{ "const": $word }, duration] })
            }
        }
    )+};
}

or_a_word! {
    /// `measure.until`: an instant or the end of the run.
    UntilText, "end", "a duration such as \"7d\", or \"end\"";

    /// How long a decision takes in the model; `None`: as long as it took.
    DecisionTime, "measured", "a duration such as \"20ms\", or \"measured\"";
}

/// The name of a run, a domain or a cluster. It is part of file names and of
/// override paths, so that points and slashes cannot be in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identifier(pub String);

impl Text for Identifier {
    const EXPECTED: &'static str = "a name of 1 to 64 letters, digits, `-` and `_`";

    fn read(text: &str) -> Result<Self, String> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if (1..=64).contains(&text.len()) && text.chars().all(good) {
            return Ok(Identifier(text.to_owned()));
        }
        Err(Self::EXPECTED.to_owned())
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
    }
}

/// A service: what it is, and the name of its domain or cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartyText(pub String);

impl Text for PartyText {
    const EXPECTED: &'static str = "a service such as \"broker:a\", \"lrms:a1\" or \"client\"";

    /// Which there are, the grid knows.
    fn read(text: &str) -> Result<Self, String> {
        Ok(PartyText(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        let pattern = "^(client|(broker|lrms):[A-Za-z0-9_-]{1,64})$";
        schemars::json_schema!({ "type": "string", "pattern": pattern })
    }
}

/// A path to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathText(pub String);

impl PathText {
    /// The path as text.
    pub(crate) fn of(path: &Path) -> Self {
        PathText(path.to_string_lossy().into_owned())
    }
}

impl Text for PathText {
    const EXPECTED: &'static str = "the path of a file";

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(Self::EXPECTED.to_owned());
        }
        Ok(PathText(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1 })
    }
}
