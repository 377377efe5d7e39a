//! The parts of a document as elements, in the order of the schemas.

use super::language::Jsdl;
use super::{
    Bound, CreationFlag, Exact, Identification, JSDL, JobDefinition, OWN, Resources, Result,
};
use crate::xml::record::{
    At, Field, Fields, Language as _, Record, Tag, Value, Wrong, attributes, records, required,
    texts, values,
};
use crate::xml::{Element, boolean, digits, is_space};
use gridrig_core::generic::{self, Generics};
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;

records! { Jsdl:
    // What stands in the JobDescription.
    JobDefinition in JSDL {
        identification = "JobIdentification" [if_any Identification],
        application = "Application",
        resources = "Resources" [if_any Resources],
        staging = "DataStaging",
        run_time = OWN "RunTime",
        requested_time = OWN "RequestedTime",
        .. JobDefinition::default()
    }
}

values! { Jsdl:
    bool = "true or false", boolean;
    u64 = "a whole number from 0 on", |text| digits(text)?.parse().ok();
    u32 = POSITIVE, positive;
    Generics = generic::EXPECTED, |text| text.parse().ok();
    CreationFlag = "overwrite, append or dontOverwrite", |text| text.parse().ok();
}

pub(super) const POSITIVE: &str = "a whole number from 1 to 4294967295";

pub(super) fn positive(text: &str) -> Option<u32> {
    digits(text)?.parse().ok().filter(|number| *number > 0)
}

required! { Jsdl: Bound }
texts! { Jsdl }

impl Value<Jsdl> for SimDuration {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::with_text(namespace, name, self.to_string())
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        let text = at.text(language, &[])?;
        let text = text.trim_matches(is_space);
        SimDuration::parse(text).map_err(|error| {
            let expected = format!("a length of time such as \"60s\" ({error})");
            language.error(at, Wrong::Value(text, &expected))
        })
    }
}

/// Numbers by name: an element each, where it is given.
impl<K, V> Field<Jsdl> for BTreeMap<K, V>
where
    K: strum::VariantArray + Copy + Ord + Into<&'static str>,
    V: Value<Jsdl>,
{
    fn put(&self, (namespace, _): Tag, parent: &mut Element) {
        for (name, value) in self {
            parent.push(value.write((namespace, (*name).into())));
        }
    }

    fn take(fields: &mut Fields<'_, Jsdl>, (namespace, _): Tag) -> Result<Self> {
        let mut all = BTreeMap::new();
        for name in K::VARIANTS {
            let value: Option<V> = fields.take((namespace, (*name).into()))?;
            all.extend(value.map(|value| (*name, value)));
        }
        Ok(all)
    }
}

/// A name without a colon, as identifiers of JSDL are.
pub(super) struct NcName(pub String);

impl Value<Jsdl> for NcName {
    fn write(&self, tag: Tag) -> Element {
        Value::<Jsdl>::write(&self.0, tag)
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        let name = at.text(language, &[])?;
        let wrong = || language.error(at, Wrong::Value(&name, "a name"));
        nc_name(&name).map(NcName).ok_or_else(wrong)
    }
}

attributes! { Jsdl:
    String = NC_NAME, |text| nc_name(text.trim()), String::clone;
}

pub(super) const NC_NAME: &str = "a name of letters, digits, `_`, `-` and `.`";

pub(super) fn nc_name(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let begins = |c: char| c.is_alphabetic() || c == '_';
    let is_name = chars.next().is_some_and(begins)
        && chars.all(|c| begins(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{b7}'));
    is_name.then(|| text.to_owned())
}

/// A `Source` or `Target`.
pub(super) struct Place(pub Option<String>);

impl Record<Jsdl> for Place {
    fn put_all(&self, element: &mut Element) {
        Jsdl::put(&self.0, (JSDL, "URI"), element);
    }

    fn take_all(fields: &mut Fields<'_, Jsdl>) -> Result<Self> {
        let uri: Option<String> = fields.take((JSDL, "URI"))?;
        Ok(Place(uri.map(|uri| uri.trim_matches(is_space).to_owned())))
    }
}

impl Value<Jsdl> for Bound {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::with_text(namespace, name, self.value.to_string());
        element.set("exclusiveBound", self.exclusive.then(|| "true".to_owned()));
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        let value = number_at(at, language, "exclusiveBound")?;
        let exclusive = at.attribute(language, "exclusiveBound", "true or false", |text| {
            boolean(text.trim())
        });
        Ok(Bound {
            exclusive: exclusive?.unwrap_or(false),
            value,
        })
    }
}

impl Value<Jsdl> for Exact {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::with_text(namespace, name, self.value.to_string());
        element.set("epsilon", self.epsilon.map(|epsilon| epsilon.to_string()));
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        Ok(Exact {
            value: number_at(at, language, "epsilon")?,
            epsilon: at.attribute(language, "epsilon", NUMBER, number)?,
        })
    }
}

const NUMBER: &str = "a finite number";

/// The number in an element that may have this attribute.
fn number_at(at: &At<'_>, language: &mut Jsdl, attribute: &'static str) -> Result<f64> {
    let text = at.text(language, &[attribute])?;
    let wrong = || language.error(at, Wrong::Value(text.trim_matches(is_space), NUMBER));
    number(&text).ok_or_else(wrong)
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    // Rust reads "inf" and "nan" as well, which are numbers of nothing.
    let plain = text.bytes().all(|b| b"0123456789+-.eE".contains(&b));
    text.parse().ok().filter(|n: &f64| plain && n.is_finite())
}
