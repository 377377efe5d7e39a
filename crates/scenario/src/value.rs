//! The kinds of value a scenario is written in. Each knows how to read
//! itself, what to say when it cannot, and its JSON Schema.

mod texts;

pub use texts::{
    AboveZero, DecisionTime, Duration, Identifier, KeepText, PartyText, PathText, UntilText,
};

use crate::nearest::hint;
use crate::workload::ZeroRunTime;
use gridrig_core::faults::Chance;
use gridrig_core::time::{Decimal, SimDuration};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::Range;

/// A value and where it stands in the file.
#[derive(Clone)]
pub struct At<T> {
    span: Range<usize>,
    value: T,
}

/// What [`At`] is called where it is read: as a tuple of where the value begins, where it ends,
/// and itself.
pub const AT: &str = "$gridrig::At";

impl<T> At<T> {
    /// A value that nobody wrote.
    pub fn new(value: T) -> Self {
        At { span: 0..0, value }
    }

    /// The value.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The value, to be completed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Where it stands.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple_struct(AT, 3, Placed(PhantomData))
    }
}

struct Placed<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Placed<T> {
    type Value = At<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its place")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<At<T>, A::Error> {
        let (start, end) = (parts.next_element()?, parts.next_element()?);
        match (start, end, parts.next_element()?) {
            (Some(start), Some(end), Some(value)) => {
                let span = start..end;
                Ok(At { span, value })
            }
            _ => Err(Error::invalid_length(0, &self)),
        }
    }
}

impl<T: Serialize> Serialize for At<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// Two scenarios that say the same look the same, wherever it is written.
impl<T: fmt::Debug> fmt::Debug for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A value that a document has, or gets where it is not written.
pub trait Written {
    /// What it means.
    type Value: Copy;

    /// As it is written.
    fn of(value: Self::Value) -> Self;

    /// What was written.
    fn value(&self) -> Self::Value;
}

/// What is written, or this.
pub(crate) fn or<W: Written>(slot: &Option<W>, default: W::Value) -> W::Value {
    slot.as_ref().map_or(default, W::value)
}

/// The value, which is the default where none is written: then it is now.
pub fn fill<W: Written>(slot: &mut Option<W>, default: W::Value) -> W::Value {
    slot.get_or_insert_with(|| W::of(default)).value()
}

/// How values are written, and read.
macro_rules! written {
    ($([$($generics:tt)*] $type:ty => $value:ty, $of:expr, $get:expr;)+) => {$(
        impl<$($generics)*> Written for $type {
            type Value = $value;

            fn of(value: $value) -> Self {
                $of(value)
            }

            fn value(&self) -> $value {
                $get(self)
            }
        }
    )+};
}

written! {
    [] bool => bool, |value| value, |it: &bool| *it;
    [] Positive => Decimal, Positive, |it: &Positive| it.0;
    [] NotNegative => Decimal, NotNegative, |it: &NotNegative| it.0;
    [] Str<SimDuration> => SimDuration, Str, |it: &Str<SimDuration>| it.0;
    [] Str<AboveZero> => SimDuration, |value| Str(AboveZero(value)), |it: &Str<AboveZero>| it.0.0;
    [] Str<ZeroRunTime> => ZeroRunTime, Str, |it: &Str<ZeroRunTime>| it.0;
    [T: Named] Str<Name<T>> => T, |value| Str(Name(value)), |it: &Str<Name<T>>| it.0.0;
    [const MIN: u64, const MAX: u64] Whole<MIN, MAX> => u64, Whole, |it: &Self| it.0;
    [W: Written] At<W> => W::Value, |value| At::new(W::of(value)), |it: &At<W>| it.get().value();
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

/// The schema of a type that has no name of its own in the whole one.
macro_rules! inline_schema {
    ([$($generics:tt)*] $type:ty, $name:literal, |$generator:tt| $schema:expr) => {
        #[cfg(feature = "schema")]
        impl<$($generics)*> schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed($name)
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use inline_schema;

/// Something that is written as a string.
pub trait Text: Sized {
    /// What is expected, for messages that need no more.
    const EXPECTED: &'static str;

    /// Reads it, or says what was expected.
    ///
    /// # Errors
    /// What was expected.
    fn read(text: &str) -> Result<Self, String>;

    /// Writes what is read as the same.
    fn write(&self) -> String;

    /// Its JSON Schema.
    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema;
}

/// A [`Text`] as serde reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Str<T>(pub T);

impl<'de, T: Text> Deserialize<'de> for Str<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plain(deserializer, |value| match value.as_str() {
            Some(text) => T::read(text).map(Str),
            None => Err(T::EXPECTED.to_owned()),
        })
    }
}

/// Reads a value that has no parts, or says what was expected in its place.
fn plain<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(Plain(read))
}

/// What is refused has to be refused here, while its place is known.
struct Plain<F>(F);

impl<T, F: Fn(&Value) -> Result<T, String>> Plain<F> {
    fn read<E: Error>(&self, value: Value) -> Result<T, E> {
        let refuse = |expected| E::custom(format!("{value}, expected {expected}"));
        (self.0)(&value).map_err(refuse)
    }
}

impl<T, F: Fn(&Value) -> Result<T, String>> Visitor<'_> for Plain<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = (self.0)(&Value::Null).err();
        f.write_str(&expected.unwrap_or_default())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(text.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.read(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.read(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        self.read(value.into())
    }
}

impl<T: Text> Serialize for Str<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.write())
    }
}

inline_schema!([T: Text] Str<T>, "Text", |_| T::schema());

/// Things that have a fixed list of names.
pub trait Named: Copy + PartialEq + 'static {
    /// What it is, with its article.
    const WHAT: &'static str;

    /// All of them with their names, in the order of the documentation.
    fn names() -> Vec<(&'static str, Self)>;
}

/// A [`Named`] thing as serde reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<T>(pub T);

impl<T: Named> Text for Name<T> {
    const EXPECTED: &'static str = T::WHAT;

    fn read(text: &str) -> Result<Self, String> {
        let names = T::names();
        if let Some((_, found)) = names.iter().find(|(name, _)| *name == text) {
            return Ok(Name(*found));
        }
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        Err(unknown(T::WHAT, text, &names))
    }

    fn write(&self) -> String {
        name_of(self.0).to_owned()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        let names: Vec<&str> = T::names().iter().map(|(name, _)| *name).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

/// What is expected where this is none of the names.
fn unknown(what: &str, text: &str, names: &[&str]) -> String {
    format!("{what}{}", hint(text, names).replace(": expected ", ", "))
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

/// The name used in scenarios.
pub fn name_of<T: Named>(value: T) -> &'static str {
    let names = T::names();
    let found = names.iter().find(|(_, candidate)| *candidate == value);
    found.map_or("", |(name, _)| name)
}

/// A whole number between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: u64, const MAX: u64>(pub u64);

/// A whole number above 0 that is a key, which TOML and JSON write as text.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Number(pub NonZeroU32);

impl TryFrom<String> for Number {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.parse().map(Number);
        number.map_err(|_| format!("{text:?}: expected a whole number from 1 to 4294967295"))
    }
}

impl From<Number> for String {
    fn from(number: Number) -> String {
        number.0.to_string()
    }
}

inline_schema!([] Number, "Number", |_generator| schemars::json_schema!({
    "type": "string", "pattern": "^[1-9][0-9]*$"
}));

/// A number of processors or of hops: at least 1, in 32 bits.
pub type Count = Whole<1, { u32::MAX as u64 }>;

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The value, of a type whose bounds fit 32 bits.
    pub fn as_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plain(deserializer, |value| match (value.as_u64(), MAX) {
            (Some(whole), _) if (MIN..=MAX).contains(&whole) => Ok(Whole(whole)),
            (_, u64::MAX) => Err(format!("a whole number of at least {MIN}")),
            _ => Err(format!("a whole number from {MIN} to {MAX}")),
        })
    }
}

impl<const MIN: u64, const MAX: u64> Serialize for Whole<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

inline_schema!([const MIN: u64, const MAX: u64] Whole<MIN, MAX>, "Whole", |_| schemars::json_schema!({
    "type": "integer", "minimum": MIN, "maximum": MAX
}));

/// A decimal number above 0, kept exactly as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positive(pub Decimal);

/// Zero or a decimal above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotNegative(pub Decimal);

/// A number as it is written.
fn decimal(value: &Value) -> Option<Decimal> {
    // The shortest text that gives a float is the decimal that was written, up to
    // 15 digits; it never has an exponent.
    let float = || Decimal::parse(&value.as_f64()?.to_string());
    value.as_u64().map(Decimal::from_whole).or_else(float)
}

fn write_decimal<S: Serializer>(number: Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    let text = number.to_string();
    match (text.parse(), text.parse()) {
        (Ok(whole), _) => serializer.serialize_u64(whole),
        (_, Ok(float)) => serializer.serialize_f64(float),
        (_, Err(error)) => Err(serde::ser::Error::custom(error)),
    }
}

/// A share from 0 to 1, kept exactly as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub(crate) Decimal);

/// A probability below 1, kept exactly as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probability(pub(crate) Decimal, pub(crate) Chance);

/// Decimal numbers within bounds.
macro_rules! decimals {
    ($($type:ident, $name:literal, $read:expr, $expected:literal, $schema:tt;)+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                plain(deserializer, |value| {
                    let read = decimal(value).and_then($read);
                    read.ok_or_else(|| $expected.to_owned())
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                write_decimal(self.0, serializer)
            }
        }

        inline_schema!([] $type, $name, |_| schemars::json_schema!($schema));
    )+};
}

decimals! {
    NotNegative, "NotNegative", |it| Some(NotNegative(it)),
        "a decimal number from 0 on, such as 0.1",
        { "type": "number", "minimum": 0 };
    Positive, "Positive", |it| (!it.is_zero()).then_some(Positive(it)),
        "a decimal number above 0 such as 60 or 2.5",
        { "type": "number", "exclusiveMinimum": 0 };
    Share, "Share", |it| (it <= Decimal::ONE).then_some(Share(it)),
        "a share from 0 to 1, such as 0.01",
        { "type": "number", "minimum": 0, "maximum": 1 };
    Probability, "Probability", |it| Some(Probability(it, Chance::new(it)?)),
        "a probability of at least 0 and below 1, of at most nine places, such as 0.001",
        { "type": "number", "minimum": 0, "exclusiveMaximum": 1 };
}
