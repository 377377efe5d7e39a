//! Documents in JSON that a type reads, made by asking the type what it has.
//!
//! Each field, variant and element that `Deserialize` asks for is drawn and written down,
//! so that the documents have all that the type has today.

use crate::{Chance, words};
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;

const TEXTS: &[&[u8]] = &[
    b"1",
    b"60s",
    b"x",
    b"x86_64",
    b"gpu",
    b"http://127.0.0.1:1/",
];

/// Draws what is asked for, and writes it down.
struct Sample<'a> {
    chance: &'a mut Chance,
    json: &'a mut String,
    /// Whether it is the key of a map.
    is_key: bool,
}

/// A document that the type reads; `None` if what was drawn is refused.
pub fn sample<T: for<'de> Deserialize<'de>>(seed: u64) -> Option<String> {
    let mut json = String::new();
    let drawn = T::deserialize(Sample {
        chance: &mut Chance(seed),
        json: &mut json,
        is_key: false,
    });
    drawn.ok().map(|_| json)
}

impl Sample<'_> {
    fn again(&mut self) -> Sample<'_> {
        Sample {
            chance: self.chance,
            json: self.json,
            is_key: false,
        }
    }

    fn text(&mut self) -> &'static str {
        let from = if self.chance.below(3) > 0 {
            words()
        } else {
            TEXTS
        };
        std::str::from_utf8(self.chance.one(from)).unwrap_or("x")
    }

    fn write_text(&mut self) -> &'static str {
        let text = self.text();
        self.json.push_str(&format!("\"{text}\""));
        text
    }

    fn write_number(&mut self) -> u8 {
        let number = [1, 2, 1, 3, 0, 60][self.chance.below(6)];
        let quote = if self.is_key { "\"" } else { "" };
        self.json.push_str(&format!("{quote}{number}{quote}"));
        number
    }

    fn many(&mut self) -> usize {
        [1, 2, 0, 1][self.chance.below(4)]
    }
}

macro_rules! numbers {
    ($($deserialize:ident $visit:ident $type:ty,)+) => {
        $(fn $deserialize<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
            let number = self.write_number();
            visitor.$visit(<$type>::try_from(number).map_err(Error::custom)?)
        })+
    };
}

impl<'de> de::Deserializer<'de> for Sample<'_> {
    type Error = Error;

    numbers! {
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
        deserialize_u128 visit_u128 u128,
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_i128 visit_i128 i128,
        deserialize_f32 visit_f32 f32,
        deserialize_f64 visit_f64 f64,
    }

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.write_text())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let is = self.chance.below(2) > 0;
        self.json.push_str(if is { "true" } else { "false" });
        visitor.visit_bool(is)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.chance.below(8) > 0 {
            return visitor.visit_some(self);
        }
        self.json.push_str("null");
        visitor.visit_none()
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.json.push_str("null");
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let many = self.many();
        self.deserialize_tuple(many, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        mut self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json.push('[');
        let value = visitor.visit_seq(Parts::of(self.again(), &[], len))?;
        self.json.push(']');
        Ok(value)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let many = self.many();
        self.json.push('{');
        let value = visitor.visit_map(Parts::of(self.again(), &[], many))?;
        self.json.push('}');
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.json.push('{');
        let value = visitor.visit_map(Parts::of(self.again(), fields, fields.len()))?;
        self.json.push('}');
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = variants[self.chance.below(variants.len())];
        visitor.visit_enum(Variant(self, variant))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf identifier ignored_any
    }
}

/// The elements of an array, the entries of a map or the fields of a struct.
struct Parts<'a> {
    sample: Sample<'a>,
    fields: &'static [&'static str],
    left: usize,
    is_first: bool,
}

impl<'a> Parts<'a> {
    fn of(sample: Sample<'a>, fields: &'static [&'static str], left: usize) -> Self {
        Parts {
            sample,
            fields,
            left,
            is_first: true,
        }
    }

    fn is_next(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if !std::mem::take(&mut self.is_first) {
            self.sample.json.push(',');
        }
        true
    }
}

impl<'de> de::SeqAccess<'de> for Parts<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let is_next = self.is_next();
        is_next
            .then(|| seed.deserialize(self.sample.again()))
            .transpose()
    }
}

impl<'de> de::MapAccess<'de> for Parts<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if !self.is_next() {
            return Ok(None);
        }
        let key = match self.fields {
            [] => seed.deserialize(Sample {
                is_key: true,
                ..self.sample.again()
            })?,
            fields => {
                let field = fields[fields.len() - 1 - self.left];
                self.sample.json.push_str(&format!("\"{field}\""));
                seed.deserialize(BorrowedStrDeserializer::new(field))?
            }
        };
        self.sample.json.push(':');
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.sample.again())
    }
}

struct Variant<'a>(Sample<'a>, &'static str);

impl<'de, 'a> de::EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name = seed.deserialize(BorrowedStrDeserializer::<Error>::new(self.1))?;
        Ok((name, self))
    }
}

impl<'a> Variant<'a> {
    fn with<T>(mut self, value: impl FnOnce(Sample<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.0.json.push_str(&format!("{{\"{}\":", self.1));
        let value = value(self.0.again())?;
        self.0.json.push('}');
        Ok(value)
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.json.push_str(&format!("\"{}\"", self.1));
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.with(|sample| seed.deserialize(sample))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.with(|sample| de::Deserializer::deserialize_tuple(sample, len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.with(|sample| de::Deserializer::deserialize_struct(sample, "", fields, visitor))
    }
}
