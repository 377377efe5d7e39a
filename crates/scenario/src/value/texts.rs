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
use schemars::{Schema, json_schema};
use std::path::Path;

/// A duration: a decimal number and its unit.
const DURATION: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|ms|s|m|min|h|d|w)$";

/// Any duration.
pub type Duration = Str<SimDuration>;

impl Text for SimDuration {
    const EXPECTED: &'static str = "a duration such as \"5s\"";

    fn read(text: &str) -> Result<Self, String> {
        SimDuration::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": DURATION })
    }
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

    fn schema() -> Schema {
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

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
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

    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Text for Sanitize {
    const EXPECTED: &'static str = "sanitizing rules such as \"failed,wider-than=64\"";

    fn read(text: &str) -> Result<Self, String> {
        Sanitize::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        Sanitize::text(self).to_owned()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["failed,wider-than=64"] })
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

    fn schema() -> Schema {
        json_schema!({ "anyOf": [
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

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": r"^(all|\s*[0-9]+\s*/\s*[0-9]+\s*)$" })
    }
}

/// `measure.until`: an instant or the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntilText(pub Option<SimDuration>);

impl Text for UntilText {
    const EXPECTED: &'static str = "a duration such as \"7d\", or \"end\"";

    fn read(text: &str) -> Result<Self, String> {
        if text == "end" {
            return Ok(UntilText(None));
        }
        let until = SimDuration::parse(text).map(|until| UntilText(Some(until)));
        until.map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        self.0
            .map_or_else(|| "end".to_owned(), |until| until.to_string())
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "end" }, { "type": "string", "pattern": DURATION }] })
    }
}

/// How long a decision takes in the model; `None`: as long as it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionTime(pub Option<SimDuration>);

impl Text for DecisionTime {
    const EXPECTED: &'static str = "a duration such as \"20ms\", or \"measured\"";

    fn read(text: &str) -> Result<Self, String> {
        if text == "measured" {
            return Ok(DecisionTime(None));
        }
        let time = SimDuration::parse(text).map(|time| DecisionTime(Some(time)));
        time.map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        let time = self.0.map(|time| time.to_string());
        time.unwrap_or_else(|| "measured".to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "measured" }, { "type": "string", "pattern": DURATION }] })
    }
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

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
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

    fn schema() -> Schema {
        let pattern = "^(client|(broker|lrms):[A-Za-z0-9_-]{1,64})$";
        json_schema!({ "type": "string", "pattern": pattern })
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

    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

impl Text for Threshold {
    const EXPECTED: &'static str = "a threshold such as \"delay_s.p95 < 60\"";

    fn read(text: &str) -> Result<Self, String> {
        Threshold::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["delay_s.p95 < 60"] })
    }
}

impl Text for Figure {
    const EXPECTED: &'static str = "a statistic of a job metric such as \"delay_s.mean\"";

    fn read(text: &str) -> Result<Self, String> {
        Figure::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn schema() -> Schema {
        let names: Vec<String> = Figure::all().map(|figure| figure.to_string()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
