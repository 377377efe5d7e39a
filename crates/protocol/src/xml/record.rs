//! Records as elements: one table for each, by which it is read and written.
//!
//! A [`Language`] says in its own words what is wrong with an element, and what
//! of it may be left out. [`records!`] is the table: each field with the name
//! of its element, in the order of the schema; [`structs!`] makes the struct of it, too.

mod tables;

pub(crate) use tables::{
    attribute, attributes, put, records, required, structs, tag, take, texts, values,
};

use super::{Element, SCHEMA_INSTANCE};
use std::collections::VecDeque;
use std::fmt;

/// A language of elements.
pub(crate) trait Language: Sized {
    /// What a document is refused with.
    type Error;

    /// Whether the elements of a record have to come in the order of its table.
    const IN_ORDER: bool = false;

    /// Looks at an element before anything else does.
    ///
    /// # Errors
    /// Where it can not be read at all.
    fn begin(&self, _at: &At<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Adds a field to the element that holds it.
    fn put<T: Field<Self>>(field: &T, tag: Tag, parent: &mut Element) {
        field.put(tag, parent);
    }

    /// What is wrong at a place.
    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> Self::Error;

    /// Leaves out what has no place there, or refuses it.
    ///
    /// # Errors
    /// Where it is refused.
    fn surplus(&mut self, at: &At<'_>, what: Wrong<'_>) -> Result<(), Self::Error> {
        Err(self.error(at, what))
    }
}

/// What can be wrong with an element.
pub(crate) enum Wrong<'a> {
    /// An attribute that is none of those known.
    Attribute(&'a str, &'a [&'static str]),
    /// An attribute that is required.
    NoAttribute(&'a str),
    /// The value of an attribute that is none of its kind: name, value, and
    /// what is expected.
    BadAttribute(&'a str, &'a str, &'a str),
    /// A text between elements.
    Text(&'a str),
    /// An element in a text.
    Inner(&'a Element),
    /// An element that is none of those known.
    Unknown(&'a Element, &'a [Tag]),
    /// An element that is required, and what stands in its place.
    Missing(&'a str, Option<&'a Element>),
    /// An element once more.
    Twice,
    /// A value that is none of its kind.
    Value(&'a str, &'a str),
    /// Anything else.
    Other(&'a str),
}

/// An element where it stands.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub element: &'a Element,
    name: &'a str,
    outer: Option<&'a At<'a>>,
}

impl<'a> At<'a> {
    /// The outermost element.
    pub fn root(element: &'a Element) -> Self {
        At::named(element, &element.name)
    }

    /// The outermost element, under another name.
    pub fn named(element: &'a Element, name: &'a str) -> Self {
        At {
            element,
            name,
            outer: None,
        }
    }

    /// An element within this one.
    pub fn inner(&'a self, element: &'a Element) -> Self {
        At {
            element,
            name: &element.name,
            outer: Some(self),
        }
    }

    /// The text of an element that holds no other and only these attributes.
    pub fn text<L: Language>(
        &self,
        language: &mut L,
        attributes: &[&'static str],
    ) -> Result<String, L::Error> {
        language.begin(self)?;
        self.attributes(language, attributes)?;
        match self.element.elements().next() {
            None => Ok(self.element.text()),
            Some(inner) => Err(language.error(self, Wrong::Inner(inner))),
        }
    }

    pub fn attributes<L: Language>(
        &self,
        language: &mut L,
        known: &[&'static str],
    ) -> Result<(), L::Error> {
        for attribute in &self.element.attributes {
            let is_known = attribute.namespace == SCHEMA_INSTANCE
                || (attribute.namespace.is_empty() && known.contains(&&*attribute.name));
            if !is_known {
                language.surplus(self, Wrong::Attribute(&attribute.name, known))?;
            }
        }
        Ok(())
    }

    /// The value that `parse` finds in an attribute, if it is given.
    pub fn attribute<T, L: Language>(
        &self,
        language: &L,
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, L::Error> {
        let Some(text) = self.element.attribute("", name) else {
            return Ok(None);
        };
        let wrong = || language.error(self, Wrong::BadAttribute(name, text, expected));
        parse(text).map(Some).ok_or_else(wrong)
    }

    /// The value that `parse` finds in a text without the spaces around it.
    pub fn parsed<T, L: Language>(
        &self,
        language: &mut L,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, L::Error> {
        let text = self.text(language, &[])?;
        let text = text.trim_matches(super::is_space);
        parse(text).ok_or_else(|| language.error(self, Wrong::Value(text, expected)))
    }
}

/// The path from the outermost element.
impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}/")?;
        }
        // Names from outside are not echoed at length.
        f.write_str(&super::excerpt(self.name))
    }
}

/// Namespace and local name.
pub(crate) type Tag = (&'static str, &'static str);

/// Something that is one element.
pub(crate) trait Value<L: Language>: Sized {
    /// The element, under this name.
    fn write(&self, tag: Tag) -> Element;

    /// What the element says.
    fn read(at: &At<'_>, language: &mut L) -> Result<Self, L::Error>;
}

/// Something that is elements within another one: one, at most one, or any
/// number.
pub(crate) trait Field<L: Language>: Sized {
    /// Adds them to the parent.
    fn put(&self, tag: Tag, parent: &mut Element);

    /// Takes them from the parent.
    fn take(fields: &mut Fields<'_, L>, tag: Tag) -> Result<Self, L::Error>;
}

/// Something that is an attribute, or may be.
pub(crate) trait Attribute<L: Language>: Sized {
    /// Its text, if it is written.
    fn put(&self) -> Option<String>;

    /// What is read from the attribute of this name.
    fn take(fields: &mut Fields<'_, L>, name: &'static str) -> Result<Self, L::Error>;
}

/// Something that is attributes and fields.
pub(crate) trait Record<L: Language>: Sized {
    /// Adds them to the element.
    fn put_all(&self, element: &mut Element);

    /// Takes them all.
    fn take_all(fields: &mut Fields<'_, L>) -> Result<Self, L::Error>;
}

/// What an element holds that is not yet taken.
pub(crate) struct Fields<'a, L> {
    pub at: &'a At<'a>,
    pub language: &'a mut L,
    rest: VecDeque<&'a Element>,
    attributes: Vec<&'static str>,
    tags: Vec<Tag>,
}

impl<'a, L: Language> Fields<'a, L> {
    /// Of an element that holds elements.
    pub fn of(at: &'a At<'a>, language: &'a mut L) -> Result<Self, L::Error> {
        language.begin(at)?;
        if let Some(text) = at.element.stray_text() {
            language.surplus(at, Wrong::Text(text))?;
        }
        Ok(Fields {
            at,
            language,
            rest: at.element.elements().collect(),
            attributes: Vec::new(),
            tags: Vec::new(),
        })
    }

    /// The value that `parse` finds in an attribute, if it is given.
    pub fn attribute<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, L::Error> {
        self.attributes.push(name);
        self.at.attribute(self.language, name, expected, parse)
    }

    /// The error about a required attribute.
    pub fn no_attribute(&self, name: &str) -> L::Error {
        self.language.error(self.at, Wrong::NoAttribute(name))
    }

    /// The next element of this name.
    pub fn next(&mut self, tag: Tag) -> Option<&'a Element> {
        if self.tags.last() != Some(&tag) {
            self.tags.push(tag);
        }
        let is = |one: &&Element| one.is(tag.0, tag.1);
        let place = match L::IN_ORDER {
            true => self.rest.front().filter(|one| is(one)).map(|_| 0),
            false => self.rest.iter().position(is),
        };
        self.rest.remove(place?)
    }

    /// A field.
    pub fn take<T: Field<L>>(&mut self, tag: Tag) -> Result<T, L::Error> {
        T::take(self, tag)
    }

    /// The error about a required element that does not come next.
    pub fn missing(&self, name: &str) -> L::Error {
        let instead = self.rest.front().filter(|_| L::IN_ORDER).copied();
        self.language.error(self.at, Wrong::Missing(name, instead))
    }

    /// Sees to what nobody has taken.
    pub fn end(self) -> Result<(), L::Error> {
        self.at.attributes(self.language, &self.attributes)?;
        for one in self.rest {
            let known = self.tags.iter().any(|tag| one.is(tag.0, tag.1));
            if known && !L::IN_ORDER {
                return Err(self.language.error(&self.at.inner(one), Wrong::Twice));
            }
            let unknown = Wrong::Unknown(one, &self.tags);
            self.language.surplus(self.at, unknown)?;
        }
        Ok(())
    }
}

impl<L: Language, T: Record<L>> Value<L> for T {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::new(namespace, name);
        self.put_all(&mut element);
        element
    }

    fn read(at: &At<'_>, language: &mut L) -> Result<Self, L::Error> {
        let mut fields = Fields::of(at, language)?;
        let read = T::take_all(&mut fields)?;
        fields.end()?;
        Ok(read)
    }
}

impl<L: Language, T: Value<L>> Field<L> for Option<T> {
    fn put(&self, tag: Tag, parent: &mut Element) {
        parent.push_all(self.iter().map(|value| value.write(tag)));
    }

    fn take(fields: &mut Fields<'_, L>, tag: Tag) -> Result<Self, L::Error> {
        let element = fields.next(tag);
        let read = element.map(|one| T::read(&fields.at.inner(one), fields.language));
        read.transpose()
    }
}

impl<L: Language, T: Value<L>> Field<L> for Vec<T> {
    fn put(&self, tag: Tag, parent: &mut Element) {
        parent.push_all(self.iter().map(|value| value.write(tag)));
    }

    fn take(fields: &mut Fields<'_, L>, tag: Tag) -> Result<Self, L::Error> {
        let mut all = Vec::new();
        while let Some(one) = fields.take(tag)? {
            all.push(one);
        }
        Ok(all)
    }
}

/// Whether a part says nothing.
pub(crate) fn is_default<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}
