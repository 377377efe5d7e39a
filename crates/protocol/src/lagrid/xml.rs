//! Messages as elements. A message is a sequence of elements in the order of
//! the schema; what is not in the schema is refused by its path.

mod records;
mod values;

pub(super) use values::parameters;

use super::PeerFault;
use super::fault::codes;
use crate::xml::{Element, SCHEMA_INSTANCE};
use std::fmt;
use std::iter::Peekable;

/// Something that is one element.
pub(super) trait Value: Sized {
    /// The element, under this name.
    fn write(&self, name: &'static str) -> Element;

    /// What the element at this path says.
    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault>;
}

/// Something that is elements within another one: one, at most one, or any
/// number.
pub(super) trait Field: Sized {
    /// Adds them to the parent.
    fn put(&self, name: &'static str, parent: &mut Element);

    /// Takes them from the parent.
    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Self, PeerFault>;
}

/// Something that is a sequence of fields.
pub(super) trait Record: Sized {
    /// Adds the fields to the element.
    fn put_all(&self, element: &mut Element);

    /// Takes all fields.
    fn take_all(fields: &mut Fields<'_>) -> Result<Self, PeerFault>;
}

impl<T: Record> Value for T {
    fn write(&self, name: &'static str) -> Element {
        let mut element = Element::new(super::LAGRID, name);
        self.put_all(&mut element);
        element
    }

    fn read(element: &Element, path: &Path<'_>) -> Result<Self, PeerFault> {
        let mut fields = Fields::of(element, path)?;
        let read = T::take_all(&mut fields)?;
        fields.end()?;
        Ok(read)
    }
}

/// Where an element stands, from the outermost one of the message.
pub(super) struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    name: &'a str,
}

impl<'a> Path<'a> {
    pub(super) fn root(name: &'a str) -> Self {
        Path { outer: None, name }
    }

    pub(super) fn inner(&'a self, name: &'a str) -> Self {
        Path {
            outer: Some(self),
            name,
        }
    }

    /// A fault about the element there.
    pub(super) fn fault(&self, line: usize, what: &str) -> PeerFault {
        PeerFault::new(codes::INVALID, format!("line {line}: element {self}{what}"))
    }

    /// A fault about the value of the element there.
    pub(super) fn value(&self, element: &Element, value: &str, expected: &str) -> PeerFault {
        let value: String = value.chars().take(80).collect();
        self.fault(
            element.line,
            &format!(" = \"{value}\": expected {expected}"),
        )
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}/")?;
        }
        // Names from outside are not echoed at length.
        f.write_str(self.name.get(..80).unwrap_or(self.name))
    }
}

/// Refuses attributes and texts that no message has.
pub(super) fn plain(element: &Element, path: &Path<'_>) -> Result<(), PeerFault> {
    let stranger = |attribute: &&crate::xml::Attribute| attribute.namespace != SCHEMA_INSTANCE;
    if let Some(attribute) = element.attributes.iter().find(stranger) {
        let name: String = attribute.name.chars().take(80).collect();
        let what = format!(": attribute {name}: expected none");
        return Err(path.fault(element.line, &what));
    }
    let nil = element.attribute(SCHEMA_INSTANCE, "nil").map(str::trim);
    if matches!(nil, Some("true" | "1")) {
        return Err(path.fault(element.line, " is nil: expected a value or no element"));
    }
    Ok(())
}

/// The elements of a record, taken in order.
pub(super) struct Fields<'a> {
    parent: &'a Element,
    path: &'a Path<'a>,
    rest: Peekable<Box<dyn Iterator<Item = &'a Element> + 'a>>,
}

impl<'a> Fields<'a> {
    fn of(parent: &'a Element, path: &'a Path<'a>) -> Result<Self, PeerFault> {
        plain(parent, path)?;
        if let Some(text) = parent.stray_text() {
            return Err(path.value(parent, text, "elements only"));
        }
        let elements: Box<dyn Iterator<Item = &Element>> = Box::new(parent.elements());
        Ok(Fields {
            parent,
            path,
            rest: elements.peekable(),
        })
    }

    /// The next element, if it has this name.
    pub(super) fn next_if(&mut self, name: &str) -> Option<&'a Element> {
        self.rest.next_if(|next| next.is(super::LAGRID, name))
    }

    pub(super) fn path(&self) -> &'a Path<'a> {
        self.path
    }

    /// The fault about the element that should come next and does not.
    pub(super) fn missing(&mut self, name: &str) -> PeerFault {
        match self.rest.peek() {
            Some(other) => {
                let path = self.path.inner(&other.name);
                let what = format!(
                    " in the namespace \"{}\": expected {name} of {}",
                    other.namespace.chars().take(80).collect::<String>(),
                    super::LAGRID
                );
                path.fault(other.line, &what)
            }
            None => {
                let what = format!(": missing element: expected {name}");
                self.path.fault(self.parent.line, &what)
            }
        }
    }

    fn end(mut self) -> Result<(), PeerFault> {
        match self.rest.next() {
            None => Ok(()),
            Some(more) => {
                let path = self.path.inner(&more.name);
                let what = format!(
                    " in the namespace \"{}\": expected no such element there",
                    more.namespace.chars().take(80).collect::<String>()
                );
                Err(path.fault(more.line, &what))
            }
        }
    }
}

impl<T: Value> Field for T {
    fn put(&self, name: &'static str, parent: &mut Element) {
        parent.push(self.write(name));
    }

    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Self, PeerFault> {
        match fields.next_if(name) {
            Some(element) => T::read(element, &fields.path().inner(name)),
            None => Err(fields.missing(name)),
        }
    }
}

impl<T: Value> Field for Option<T> {
    fn put(&self, name: &'static str, parent: &mut Element) {
        if let Some(value) = self {
            parent.push(value.write(name));
        }
    }

    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Self, PeerFault> {
        let element = fields.next_if(name);
        let read = element.map(|element| T::read(element, &fields.path().inner(name)));
        read.transpose()
    }
}

impl<T: Value> Field for Vec<T> {
    fn put(&self, name: &'static str, parent: &mut Element) {
        for value in self {
            parent.push(value.write(name));
        }
    }

    fn take(fields: &mut Fields<'_>, name: &'static str) -> Result<Self, PeerFault> {
        let mut all = Vec::new();
        while let Some(element) = fields.next_if(name) {
            all.push(T::read(element, &fields.path().inner(name))?);
        }
        Ok(all)
    }
}

/// The message that an element is.
pub(super) fn from_element<T: Value>(element: &Element) -> Result<T, PeerFault> {
    T::read(element, &Path::root(&element.name))
}
