//! Reads the types of a document from the tables of its text.
//!
//! What `serde` derives for a struct is compiled once for each kind of access that hands out
//! its values, and `toml` has one for tables, for dates, for places and for lists. Here a struct
//! is read from a table and from nothing else.

use crate::value::AT;
use serde::de::{self, DeserializeSeed, Deserializer, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Value<'de> = &'de Spanned<DeValue<'de>>;

/// Reads a whole document.
pub(crate) fn read<'de, T: de::Deserialize<'de>>(root: &'de DeTable<'de>) -> Result<T, Refused> {
    T::deserialize(Reader::Root(root))
}

/// What cannot be read, and where it stands: nowhere is the document itself.
#[derive(Debug)]
pub(crate) struct Refused(Box<(Option<Range<usize>>, Why)>);

/// What is wrong with it.
#[derive(Debug)]
pub(crate) enum Why {
    /// A key that its table does not have, and those that it has.
    Unknown(String, &'static [&'static str]),
    /// A key that its table has to have.
    Missing(&'static str),
    /// In words, with ", expected ..." at the end where that can be said.
    Other(String),
}

impl Refused {
    fn new(why: Why) -> Self {
        Refused(Box::new((None, why)))
    }

    /// What is wrong within this place, unless it is known better.
    fn at(mut self, place: Range<usize>) -> Self {
        self.0.0.get_or_insert(place);
        self
    }

    pub(crate) fn into_parts(self) -> (Option<Range<usize>>, Why) {
        *self.0
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.1 {
            Why::Unknown(key, _) => write!(f, "unknown key `{key}`"),
            Why::Missing(key) => write!(f, "missing key `{key}`"),
            Why::Other(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Refused::new(Why::Other(why.to_string()))
    }

    fn unknown_field(key: &str, keys: &'static [&'static str]) -> Self {
        Refused::new(Why::Unknown(key.to_owned(), keys))
    }

    fn missing_field(key: &'static str) -> Self {
        Refused::new(Why::Missing(key))
    }
}

/// Where something is read from.
#[derive(Clone, Copy)]
enum Reader<'de> {
    Root(&'de DeTable<'de>),
    Value(Value<'de>),
    Key(&'de str),
    /// An end of a place.
    Offset(usize),
}

/// What stands there.
enum Part<'de> {
    Text(&'de str),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    List(&'de [Spanned<DeValue<'de>>]),
    Table(&'de DeTable<'de>),
    Other(&'static str),
}

impl<'de> Reader<'de> {
    fn part(self) -> Part<'de> {
        match self {
            Reader::Root(table) => Part::Table(table),
            Reader::Key(key) => Part::Text(key),
            Reader::Offset(offset) => Part::Unsigned(offset as u64),
            Reader::Value(value) => Part::of(value.get_ref()),
        }
    }

    fn place(self) -> Range<usize> {
        match self {
            Reader::Value(value) => value.span(),
            Reader::Root(_) | Reader::Key(_) | Reader::Offset(_) => 0..0,
        }
    }
}

impl<'de> Part<'de> {
    fn of(value: &'de DeValue<'de>) -> Self {
        match value {
            DeValue::String(text) => Part::Text(text),
            DeValue::Boolean(value) => Part::Bool(*value),
            DeValue::Integer(number) => {
                let (text, radix) = (number.as_str(), number.radix());
                let signed = i64::from_str_radix(text, radix).map(Part::Signed);
                let unsigned = || u64::from_str_radix(text, radix).map(Part::Unsigned);
                signed
                    .or_else(|_| unsigned())
                    .unwrap_or(Part::Other("a number beyond 64 bits"))
            }
            DeValue::Float(number) => {
                let text = number.as_str();
                let fits =
                    |value: &f64| value.is_finite() || text.contains("inf") || value.is_nan();
                let value = text.parse().ok().filter(fits);
                value.map_or(Part::Other("a number beyond 64 bits"), Part::Float)
            }
            DeValue::Datetime(_) => Part::Other("a date or a time"),
            DeValue::Array(list) => Part::List(list),
            DeValue::Table(table) => Part::Table(table),
        }
    }

    /// It is not what was expected.
    fn unfit(&self, expected: &dyn Expected) -> Refused {
        let what = match *self {
            Part::Text(text) => Unexpected::Str(text),
            Part::Signed(number) => Unexpected::Signed(number),
            Part::Unsigned(number) => Unexpected::Unsigned(number),
            Part::Float(number) => Unexpected::Float(number),
            Part::Bool(value) => Unexpected::Bool(value),
            Part::List(_) => Unexpected::Seq,
            Part::Table(_) => Unexpected::Map,
            Part::Other(what) => Unexpected::Other(what),
        };
        de::Error::invalid_type(what, expected)
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.part() {
            Part::Text(text) => visitor.visit_borrowed_str(text),
            Part::Signed(number) => visitor.visit_i64(number),
            Part::Unsigned(number) => visitor.visit_u64(number),
            Part::Float(number) => visitor.visit_f64(number),
            Part::Bool(value) => visitor.visit_bool(value),
            Part::List(list) => visitor.visit_seq(Items(list.iter())),
            Part::Table(table) => visitor.visit_map(Entries::of(table)),
            part @ Part::Other(_) => Err(part.unfit(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.part() {
            Part::Table(table) => visitor.visit_map(Entries::of(table)),
            part => Err(part.unfit(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.part() {
            Part::List(list) => visitor.visit_seq(Items(list.iter())),
            part => Err(part.unfit(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self.part() {
            Part::List(list) if list.len() != length => {
                Err(de::Error::invalid_length(list.len(), &visitor))
            }
            _ => self.deserialize_seq(visitor),
        }
    }

    /// A value with its place.
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if name == AT {
            let place = self.place();
            let (start, end) = (Reader::Offset(place.start), Reader::Offset(place.end));
            return visitor.visit_seq(Placed([start, end, self].into_iter()));
        }
        self.deserialize_tuple(length, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct enum identifier ignored_any
    }
}

/// A value behind both ends of its place.
struct Placed<'de>(std::array::IntoIter<Reader<'de>, 3>);

impl<'de> de::SeqAccess<'de> for Placed<'de> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refused> {
        self.0.next().map(|part| seed.deserialize(part)).transpose()
    }
}

/// The elements of a list.
struct Items<'de>(std::slice::Iter<'de, Spanned<DeValue<'de>>>);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refused> {
        self.0.next().map(|item| one(seed, item)).transpose()
    }
}

/// The entries of a table.
struct Entries<'de> {
    rest: toml::map::Iter<'de, Spanned<Cow<'de, str>>, Spanned<DeValue<'de>>>,
    value: Option<Value<'de>>,
}

impl<'de> Entries<'de> {
    fn of(table: &'de DeTable<'de>) -> Self {
        Entries {
            rest: table.iter(),
            value: None,
        }
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refused> {
        let Some((key, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        let read = seed.deserialize(Reader::Key(key.get_ref()));
        read.map(Some).map_err(|refused| refused.at(key.span()))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        match self.value.take() {
            Some(value) => one(seed, value),
            None => Err(de::Error::custom("a key has one value")),
        }
    }
}

fn one<'de, S: DeserializeSeed<'de>>(seed: S, value: Value<'de>) -> Result<S::Value, Refused> {
    let read = seed.deserialize(Reader::Value(value));
    read.map_err(|refused| refused.at(value.span()))
}
