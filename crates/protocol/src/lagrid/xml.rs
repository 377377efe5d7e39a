//! Messages as elements. A message is a sequence of elements in the order of
//! the schema; what is not in the schema is refused by its path.

mod records;
mod values;

pub(super) use values::parameters;

use super::fault::codes;
use crate::rest::{Problem, Result};
use crate::xml::record::{At, Language, Value, Wrong};
use crate::xml::{Element, Name, SCHEMA_INSTANCE, boolean, excerpt};

/// Messages and their parts: fields of JSON by their names, elements of XML by
/// the names behind them, in the order of the schema.
macro_rules! parts {
    ($(
        $(#[$outer:meta])*
        pub struct $kind:ident $(<$form:ident = $read:ident>)? { $($fields:tt)* }
    )+) => {
        $crate::xml::record::structs! { LaGrid in LAGRID: $(
            $(#[$outer])*
            #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $kind $(<$form = $read>)? { $($fields)* }
        )+ }
    };
}

pub(super) use parts;

/// The language of the messages.
pub(super) struct LaGrid;

impl Language for LaGrid {
    type Error = Problem;

    const IN_ORDER: bool = true;

    fn begin(&self, at: &At<'_>) -> Result<()> {
        let nil = at.element.attribute(SCHEMA_INSTANCE, "nil");
        match nil.and_then(|nil| boolean(nil.trim())) {
            Some(true) => Err(fault(at, " is nil: expected a value or no element")),
            _ => Ok(()),
        }
    }

    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> Problem {
        let elsewhere = |other: &Element, expected: &str| {
            let namespace = excerpt(&other.namespace);
            let what = format!(" in the namespace \"{namespace}\": expected {expected}");
            fault(&at.inner(other), &what)
        };
        let value = |value: &str, expected: &str| {
            let value = excerpt(value);
            fault(at, &format!(" = \"{value}\": expected {expected}"))
        };
        match what {
            Wrong::Attribute(name, _) => {
                let name = excerpt(name);
                fault(at, &format!(": attribute {name}: expected none"))
            }
            Wrong::NoAttribute(name) | Wrong::BadAttribute(name, ..) => {
                fault(at, &format!(": attribute {name}: expected another"))
            }
            Wrong::Text(text) => value(text, "elements only"),
            Wrong::Value(text, expected) => value(text, expected),
            Wrong::Inner(inner) => fault(&at.inner(inner), ": expected a text and no element"),
            Wrong::Unknown(other, _) => elsewhere(other, "no such element there"),
            Wrong::Missing(name, Some(other)) => {
                elsewhere(other, &format!("{name} of {}", super::LAGRID))
            }
            Wrong::Missing(name, None) => fault(at, &format!(": missing element: expected {name}")),
            Wrong::Twice => fault(at, ": given twice: expected it once"),
            Wrong::Other(what) => fault(at, what),
        }
    }
}

fn fault(at: &At<'_>, what: &str) -> Problem {
    let line = at.element.line;
    Problem::of_code(codes::INVALID, format!("line {line}: element {at}{what}"))
}

/// The message as an element of this name.
pub(super) fn to_element<T: Value<LaGrid>>(message: &T, name: impl Into<Name>) -> Element {
    let name = name.into();
    let element = message.write((super::LAGRID, ""));
    Element { name, ..element }
}

/// The message that an element is.
pub(super) fn from_element<T: Value<LaGrid>>(element: &Element) -> Result<T> {
    T::read(&At::root(element), &mut LaGrid)
}
