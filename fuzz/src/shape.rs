//! What a type of a TOML document consists of, found by asking the type.
//!
//! `Deserialize` is led along a path: it gets a table with the one key of each step, or an
//! array with one element, and says at the end of the path what it wants there, or whether it
//! takes a value that is offered.

use gridrig_scenario::value::AT;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::cell::Cell;
use toml::de::{Error, ValueDeserializer};

/// Keys that tables with any keys are offered.
const KEYS: &[&str] = &["x", "1", "delay_s", "mean"];

/// No table of a scenario is deeper, but some types would take any value at any depth.
const DEEPEST: usize = 12;

/// So many good values of a type are enough, if there are more.
const MOST: usize = 40;

/// What is wanted at a place.
pub(crate) enum Shape {
    /// A table with these keys, in the order of the type.
    Table(Vec<(&'static str, Shape)>),
    /// A table with any keys, of which this is one.
    Map(&'static str, Box<Shape>),
    List(Box<Shape>),
    /// Any other value: these are good ones, as they are written.
    Value(Vec<String>),
}

/// Where to go from a table or an array.
#[derive(Clone, Copy)]
enum Step {
    Key(&'static str),
    Item,
}

/// What a type did at the end of a path.
#[derive(Clone, Copy)]
enum Answer {
    Table(&'static [&'static str]),
    Map,
    List,
    Value,
    Taken(bool),
}

/// The shape of a type, with good values out of these.
pub(crate) fn of<T: DeserializeOwned>(offers: &[String]) -> Shape {
    below::<T>(&mut Vec::new(), offers).unwrap_or(Shape::Value(Vec::new()))
}

fn ask<T: DeserializeOwned>(path: &[Step], offer: Option<&str>) -> Option<Answer> {
    let answer = Cell::new(None);
    let _ = T::deserialize(Guide {
        path,
        offer,
        answer: &answer,
    });
    answer.get()
}

fn next<T: DeserializeOwned>(path: &mut Vec<Step>, step: Step, offers: &[String]) -> Option<Shape> {
    path.push(step);
    let found = below::<T>(path, offers);
    path.pop();
    found
}

fn below<T: DeserializeOwned>(path: &mut Vec<Step>, offers: &[String]) -> Option<Shape> {
    let list = |path: &mut Vec<Step>| {
        let item = next::<T>(path, Step::Item, offers)?;
        Some(Shape::List(Box::new(item)))
    };
    let value = |path: &mut Vec<Step>| {
        let is_taken =
            |offer: &&String| matches!(ask::<T>(path, Some(offer)), Some(Answer::Taken(true)));
        let good = offers.iter().filter(is_taken).take(MOST);
        Some(Shape::Value(good.cloned().collect()))
    };
    if path.len() > DEEPEST {
        return None;
    }
    match ask::<T>(path, None)? {
        Answer::Table(keys) => {
            let of = |key: &&'static str| Some((*key, next::<T>(path, Step::Key(key), offers)?));
            Some(Shape::Table(keys.iter().filter_map(of).collect()))
        }
        Answer::Map => KEYS.iter().find_map(|key| {
            let item = next::<T>(path, Step::Key(key), offers)?;
            Some(Shape::Map(key, Box::new(item)))
        }),
        Answer::List => list(path),
        Answer::Value | Answer::Taken(_) => {
            path.push(Step::Item);
            let is_list = matches!(ask::<T>(path, None), Some(Answer::Table(_)));
            path.pop();
            if is_list { list(path) } else { value(path) }
        }
    }
}

/// Leads a type along a path.
#[derive(Clone, Copy)]
struct Guide<'a> {
    path: &'a [Step],
    offer: Option<&'a str>,
    answer: &'a Cell<Option<Answer>>,
}

impl<'de> Guide<'de> {
    fn go<V: Visitor<'de>>(self, answer: Answer, visitor: V) -> Result<V::Value, Error> {
        let one = |path| {
            let guide = Guide { path, ..self };
            One {
                key: None,
                guide: Some(guide),
            }
        };
        match (self.path, self.offer) {
            ([Step::Item, rest @ ..], _) => visitor.visit_seq(one(rest)),
            ([Step::Key(key), rest @ ..], _) => {
                let one = One {
                    key: Some(key),
                    ..one(rest)
                };
                visitor.visit_map(one)
            }
            ([], Some(offer)) => {
                let value = ValueDeserializer::parse(offer)?;
                de::Deserializer::deserialize_any(value, visitor)
            }
            ([], None) => {
                self.answer.set(Some(answer));
                Err(Error::custom("it was asked"))
            }
        }
    }

    fn value<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        let value = seed.deserialize(self);
        // Here, since some types read a value and refuse it then.
        if self.path.is_empty() && self.offer.is_some() {
            self.answer.set(Some(Answer::Taken(value.is_ok())));
        }
        value
    }
}

macro_rules! asks {
    ($($deserialize:ident $answer:ident,)+) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.go(Answer::$answer, visitor)
        })+
    };
}

impl<'de> de::Deserializer<'de> for Guide<'de> {
    type Error = Error;

    asks! {
        deserialize_any Value,
        deserialize_seq List,
        deserialize_map Map,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.go(Answer::List, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        parts: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == AT {
            return visitor.visit_seq(Placed { parts, guide: self });
        }
        self.go(Answer::List, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.go(Answer::Table(fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.go(Answer::Value, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct identifier ignored_any
    }
}

/// A table with one key, or an array with one element.
struct One<'a> {
    key: Option<&'static str>,
    guide: Option<Guide<'a>>,
}

impl<'de> de::SeqAccess<'de> for One<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let guide = self.guide.take();
        guide.map(|guide| guide.value(seed)).transpose()
    }
}

impl<'de> de::MapAccess<'de> for One<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let key = self.key.take().map(BorrowedStrDeserializer::new);
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let guide = self.guide.take();
        guide
            .ok_or_else(|| Error::custom("there is one value"))?
            .value(seed)
    }
}

/// A value with its place: where it begins, where it ends, and itself.
struct Placed<'a> {
    parts: usize,
    guide: Guide<'a>,
}

impl<'de> de::SeqAccess<'de> for Placed<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.parts -= 1;
        match self.parts {
            0 => self.guide.value(seed).map(Some),
            _ => seed.deserialize(0_u64.into_deserializer()).map(Some),
        }
    }
}
