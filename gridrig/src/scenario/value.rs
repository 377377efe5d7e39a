//! The kinds of value a scenario is written in. Each knows how to read
//! itself, what to say when it cannot, and its JSON Schema.

use super::nearest::hint;
use gridrig_core::broker::{LocalInfo, OwnDispatch};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::load::Window;
use gridrig_core::policy::{PolicyKind, Tie};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_emulator::faces::FaceKind;
use gridrig_metabroker_stub::lagrid::LinkProtocol;
use gridrig_results::threshold::{Figure, Threshold};
use gridrig_tracelab::spec::{Sanitize, SizeFrom, ZeroRunTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use toml::Spanned;

/// A value and where it stands.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct At<T>(Spanned<T>);

impl<T> At<T> {
    pub(crate) fn get(&self) -> &T {
        self.0.get_ref()
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Something that is written as a string.
pub(crate) trait Text: Sized {
    /// What is expected, for messages that need no more.
    const EXPECTED: &'static str;

    /// Reads it, or says what was expected.
    fn read(text: &str) -> Result<Self, String>;

    /// Its JSON Schema.
    fn schema() -> Schema;
}

/// A [`Text`] as serde reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Str<T>(pub(crate) T);

impl<'de, T: Text> Deserialize<'de> for Str<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<T>(PhantomData<T>);

        impl<T: Text> Visitor<'_> for TextVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
                let unexpected = Unexpected::Str(text);
                T::read(text).map_err(|expected| E::invalid_value(unexpected, &expected.as_str()))
            }
        }

        deserializer
            .deserialize_str(TextVisitor(PhantomData))
            .map(Str)
    }
}

impl<T: Text> JsonSchema for Str<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Text")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// A duration: a decimal number and its unit.
const DURATION: &str = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(ns|us|ms|s|m|min|h|d|w)$";

/// Any duration.
pub(crate) type Duration = Str<SimDuration>;

impl Text for SimDuration {
    const EXPECTED: &'static str = "a duration such as \"5s\"";

    fn read(text: &str) -> Result<Self, String> {
        SimDuration::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": DURATION })
    }
}

/// A duration that is longer than nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AboveZero(pub(crate) SimDuration);

impl Text for AboveZero {
    const EXPECTED: &'static str = "a duration above 0 such as \"5s\"";

    fn read(text: &str) -> Result<Self, String> {
        match SimDuration::parse(text) {
            Ok(duration) if duration.is_zero() => Err(Self::EXPECTED.to_owned()),
            Ok(duration) => Ok(AboveZero(duration)),
            Err(why) => Err(format!("{} ({why})", Self::EXPECTED)),
        }
    }

    fn schema() -> Schema {
        SimDuration::schema()
    }
}

/// Things that have a fixed list of names.
pub(crate) trait Named: Copy + 'static {
    /// What it is, with its article.
    const WHAT: &'static str;

    /// All of them with their names, in the order of the documentation.
    fn names() -> Vec<(&'static str, Self)>;
}

/// A [`Named`] thing as serde reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<T>(pub(crate) T);

impl<T: Named> Text for Name<T> {
    const EXPECTED: &'static str = T::WHAT;

    fn read(text: &str) -> Result<Self, String> {
        let names = T::names();
        if let Some((_, found)) = names.iter().find(|(name, _)| *name == text) {
            return Ok(Name(*found));
        }
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        Err(format!(
            "{}{}",
            T::WHAT,
            hint(text, &names).replace(": expected ", ", ")
        ))
    }

    fn schema() -> Schema {
        let names: Vec<&str> = T::names().iter().map(|(name, _)| *name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// Names from a list, with what they stand for.
macro_rules! named {
    ($type:ty, $what:literal, $($name:expr => $value:expr),+ $(,)?) => {
        impl Named for $type {
            const WHAT: &'static str = $what;

            fn names() -> Vec<(&'static str, Self)> {
                vec![$(($name, $value)),+]
            }
        }
    };
}
pub(crate) use named;

named!(LocalInfo, "a source of local information", "exchange" => LocalInfo::Exchange, "fresh" => LocalInfo::Fresh);
named!(OwnDispatch, "a way to count own dispatches", "ignored" => OwnDispatch::Ignored, "debited" => OwnDispatch::Debited);
named!(Window, "a window", "0s" => Window::Instant, "30s" => Window::Seconds30, "300s" => Window::Seconds300);
named!(SizeFrom, "a source of job sizes", "allocated" => SizeFrom::Allocated, "requested" => SizeFrom::Requested);

impl Named for FaceKind {
    const WHAT: &'static str = "a face";

    fn names() -> Vec<(&'static str, Self)> {
        Self::ALL.iter().map(|face| (face.name(), *face)).collect()
    }
}

impl Named for LinkProtocol {
    const WHAT: &'static str = "a protocol between brokers";

    fn names() -> Vec<(&'static str, Self)> {
        let all = Self::ALL.iter();
        all.map(|protocol| (protocol.name(), *protocol)).collect()
    }
}

impl Named for PolicyKind {
    const WHAT: &'static str = "a policy";

    fn names() -> Vec<(&'static str, Self)> {
        Self::ALL
            .iter()
            .map(|policy| (policy.name(), *policy))
            .collect()
    }
}

impl Named for Tie {
    const WHAT: &'static str = "a tie rule";

    fn names() -> Vec<(&'static str, Self)> {
        Self::ALL.iter().map(|tie| (tie.name(), *tie)).collect()
    }
}

impl Named for DisciplineKind {
    const WHAT: &'static str = "a discipline";

    fn names() -> Vec<(&'static str, Self)> {
        Self::ALL.iter().map(|kind| (kind.name(), *kind)).collect()
    }
}

/// The name used in scenarios.
pub(crate) fn name_of<T: Named + PartialEq>(value: T) -> &'static str {
    let names = T::names();
    let found = names.iter().find(|(_, candidate)| *candidate == value);
    found.map_or("", |(name, _)| name)
}

impl Text for Sanitize {
    const EXPECTED: &'static str = "sanitizing rules such as \"failed,wider-than=64\"";

    fn read(text: &str) -> Result<Self, String> {
        Sanitize::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
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

    fn schema() -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "enum": ["drop", "keep"] },
            { "type": "string", "pattern": DURATION },
        ] })
    }
}

/// `keep`: all jobs, or `m` of every `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepText {
    All,
    Of { m: u64, n: u64 },
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

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": r"^(all|\s*[0-9]+\s*/\s*[0-9]+\s*)$" })
    }
}

/// `measure.until`: an instant or the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UntilText(pub(crate) Option<SimDuration>);

impl Text for UntilText {
    const EXPECTED: &'static str = "a duration such as \"7d\", or \"end\"";

    fn read(text: &str) -> Result<Self, String> {
        if text == "end" {
            return Ok(UntilText(None));
        }
        let until = SimDuration::parse(text).map(|until| UntilText(Some(until)));
        until.map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [{ "const": "end" }, { "type": "string", "pattern": DURATION }] })
    }
}

/// The name of a run, a domain or a cluster. It is part of file names and of
/// override paths, so that points and slashes cannot be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identifier(pub(crate) String);

impl Text for Identifier {
    const EXPECTED: &'static str = "a name of 1 to 64 letters, digits, `-` and `_`";

    fn read(text: &str) -> Result<Self, String> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if (1..=64).contains(&text.len()) && text.chars().all(good) {
            return Ok(Identifier(text.to_owned()));
        }
        Err(Self::EXPECTED.to_owned())
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
    }
}

/// A path to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathText(pub(crate) String);

impl Text for PathText {
    const EXPECTED: &'static str = "the path of a file";

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(Self::EXPECTED.to_owned());
        }
        Ok(PathText(text.to_owned()))
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

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["delay_s.p95 < 60"] })
    }
}

impl Text for Figure {
    const EXPECTED: &'static str = "a statistic of a job metric such as \"delay_s.mean\"";

    fn read(text: &str) -> Result<Self, String> {
        Figure::parse(text).map_err(|why| format!("{} ({why})", Self::EXPECTED))
    }

    fn schema() -> Schema {
        let names: Vec<String> = Figure::all().map(|figure| figure.to_string()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// A whole number between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole<const MIN: u64, const MAX: u64>(pub(crate) u64);

/// A number of processors or of hops: at least 1, in 32 bits.
pub(crate) type Count = Whole<1, { u32::MAX as u64 }>;

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The value, of a type whose bounds fit 32 bits.
    pub(crate) fn as_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor<const MIN: u64, const MAX: u64>;

        impl<const MIN: u64, const MAX: u64> Visitor<'_> for WholeVisitor<MIN, MAX> {
            type Value = Whole<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match MAX {
                    u64::MAX => write!(f, "a whole number of at least {MIN}"),
                    _ => write!(f, "a whole number from {MIN} to {MAX}"),
                }
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
                match u64::try_from(value) {
                    Ok(value) => self.visit_u64(value),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
                if (MIN..=MAX).contains(&value) {
                    return Ok(Whole(value));
                }
                Err(E::invalid_value(Unexpected::Unsigned(value), &self))
            }
        }

        deserializer.deserialize_any(WholeVisitor)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Whole<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Whole")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A decimal number above 0, kept exactly as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Positive(pub(crate) Decimal);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PositiveVisitor;

        impl Visitor<'_> for PositiveVisitor {
            type Value = Positive;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a decimal number above 0 such as 60 or 2.5")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Positive, E> {
                match u64::try_from(value) {
                    Ok(whole) if whole > 0 => Ok(Positive(Decimal::from_whole(whole))),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Positive, E> {
                Ok(Positive(Decimal::from_whole(value)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Positive, E> {
                // The shortest text that gives this float is the decimal that
                // was written, up to 15 digits; it never has an exponent.
                Decimal::parse(&value.to_string())
                    .filter(|decimal| !decimal.is_zero())
                    .map(Positive)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
            }
        }

        deserializer.deserialize_any(PositiveVisitor)
    }
}

impl JsonSchema for Positive {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Positive")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}
