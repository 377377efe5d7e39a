//! The elements of a cluster file, and what their text may be.

use super::{NAMESPACE, ResourceError};
use crate::xml::record::{
    At, Field, Fields, Language, Tag, Value, Wrong, records, required, values,
};
use crate::xml::{Element, digits, excerpt, is_space, too_long};
use gridrig_core::generic::{EXPECTED, Generics};
use gridrig_core::resource::Resource;
use gridrig_core::time::Decimal;

/// The language of cluster files; `file` names the one at hand in messages.
pub(super) struct Cluster {
    pub file: String,
}

/// What the root element holds.
pub(super) struct Groups {
    pub groups: Vec<Resource>,
}

records! { Cluster:
    Groups in NAMESPACE {
        groups = "Resource",
    }
    Resource in NAMESPACE {
        name = "Name",
        count = "Count",
        architecture = "Architecture" [demanded],
        cpu_count = "CPUCount",
        os = "OS" [demanded],
        memory_mib = "PhysicalMemory" [demanded],
        disk_mib = "Disk",
        speed = "Speed",
        generic = "GenericResources" [if_any Generics],
    }
}

values! { Cluster:
    u32 = "a whole number from 1 to 4294967295",
        |text| digits(text)?.parse().ok().filter(|count| *count > 0);
    u64 = "a whole number of MiB from 1 to 18446744073709551615",
        |text| digits(text)?.parse().ok().filter(|mib| *mib > 0);
    Generics = EXPECTED, |text| text.parse().ok().filter(|all: &Generics| !all.is_empty());
}

required! { Cluster: String }

/// A text as `xs:token` reads it: no spaces around, single ones within.
impl Value<Cluster> for String {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::with_text(namespace, name, self.as_str())
    }

    fn read(at: &At<'_>, language: &mut Cluster) -> Result<Self, ResourceError> {
        let text = at.text(language, &[])?;
        let words = text.split(is_space).filter(|word| !word.is_empty());
        let words = words.collect::<Vec<&str>>().join(" ");
        if words.is_empty() {
            return Err(language.error(at, Wrong::Value("", "a text that is not empty")));
        }
        match too_long(&words) {
            Some(expected) => Err(language.error(at, Wrong::Value(&words, &expected))),
            None => Ok(words),
        }
    }
}

impl Value<Cluster> for Decimal {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::with_text(namespace, name, self.to_string())
    }

    fn read(at: &At<'_>, language: &mut Cluster) -> Result<Self, ResourceError> {
        let expected = "a decimal number above 0 with at most 9 digits on either side of its point";
        at.parsed(language, expected, |text| {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            let fits = |part: &str| digits(part).is_some() && part.len() <= 9;
            let speed = Decimal::parse(text).filter(|_| fits(whole) && fits(fraction));
            speed.filter(|speed| !speed.is_zero())
        })
    }
}

/// A speed of 1 is that of a group that says none.
impl Field<Cluster> for Decimal {
    fn put(&self, tag: Tag, parent: &mut Element) {
        let speed = Some(*self).filter(|speed| *speed != Decimal::ONE);
        Cluster::put(&speed, tag, parent);
    }

    fn take(fields: &mut Fields<'_, Cluster>, tag: Tag) -> Result<Self, ResourceError> {
        Ok(fields.take::<Option<_>>(tag)?.unwrap_or(Decimal::ONE))
    }
}

impl Language for Cluster {
    type Error = ResourceError;

    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> ResourceError {
        let (mut element, name) = (at.element, &at.element.name);
        let problem = match what {
            Wrong::Unknown(other, tags) => {
                element = other;
                let names: Vec<&str> = tags.iter().map(|tag| tag.1).collect();
                match (&*other.namespace, names.as_slice()) {
                    (NAMESPACE, [only]) => format!(": not allowed here: expected {only}"),
                    (NAMESPACE, _) => {
                        let names = names.join(", ");
                        format!(": not allowed here: expected one of {names}")
                    }
                    ("", _) => format!(": in no namespace: expected the namespace {NAMESPACE:?}"),
                    (found, _) => {
                        format!(": in {found:?}: expected the namespace {NAMESPACE:?}")
                    }
                }
            }
            Wrong::Attribute(name, _)
            | Wrong::NoAttribute(name)
            | Wrong::BadAttribute(name, ..) => format!(": attribute {name}: expected none"),
            Wrong::Text(text) => {
                let word = text.split(is_space).next().unwrap_or(text);
                let problem = format!("text {word:?} between elements: expected an element");
                return ResourceError::at(&self.file, element.line, problem);
            }
            Wrong::Inner(inner) => {
                element = inner;
                format!(": not allowed in {name}: expected a text")
            }
            Wrong::Missing(name, _) => format!(": missing element {name}: expected it once"),
            Wrong::Twice => ": given twice: expected it once".to_owned(),
            Wrong::Value(value, expected) => {
                format!(" = {:?}: expected {expected}", excerpt(value))
            }
            Wrong::Other(problem) => format!(": {problem}"),
        };
        let problem = format!("element {}{problem}", element.name);
        ResourceError::at(&self.file, element.line, problem)
    }
}
