//! Reading a document.

mod application;
mod resources;
mod staging;

use super::{
    HPC_PROFILE, Identification, JSDL, JobDefinition, JsdlError, OWN, POSIX, Position, SPMD,
};
use crate::xml::{Element, SCHEMA_INSTANCE, is_space};
use gridrig_core::time::SimDuration;

/// A document of somebody who is not strict about the standard.
#[derive(Clone, Debug, PartialEq)]
pub struct Lenient {
    /// What the standard has words for.
    pub job: JobDefinition,
    /// The paths of what was left out: texts between elements, and elements
    /// and attributes of other namespaces.
    pub ignored: Vec<String>,
}

impl JobDefinition {
    /// Reads a document; `file` names it in messages.
    ///
    /// # Errors
    /// When it is no XML that we read, no JSDL, or has anything that is not
    /// supported.
    pub fn read(file: &str, document: &[u8]) -> Result<Self, JsdlError> {
        Self::read_element(file, &parse(file, document)?)
    }

    /// Reads the element of a document as strictly as a document by itself.
    ///
    /// # Errors
    /// When it is no JSDL or has anything that is not supported.
    pub fn read_element(file: &str, root: &Element) -> Result<Self, JsdlError> {
        Ok(Reader::new(file, false).definition(root)?.job)
    }

    /// Reads the element of a document that leaves the standard where real
    /// clients do: texts between elements and parts of other namespaces are
    /// left out and listed. What is in a namespace of JSDL and not supported
    /// is refused all the same.
    ///
    /// # Errors
    /// When it is no JSDL or has an element of JSDL that is not supported.
    pub fn read_lenient(file: &str, root: &Element) -> Result<Lenient, JsdlError> {
        Reader::new(file, true).definition(root)
    }
}

fn parse(file: &str, document: &[u8]) -> Result<Element, JsdlError> {
    Element::parse(document).map_err(|error| {
        let line = error.line();
        let text = error.to_string();
        let problem = text
            .split_once(": ")
            .map_or(text.as_str(), |(_, rest)| rest);
        JsdlError::Xml {
            file: file.to_owned(),
            line,
            code: error.code(),
            problem: problem.to_owned(),
        }
    })
}

struct Reader<'a> {
    file: &'a str,
    lenient: bool,
    ignored: Vec<String>,
}

/// The most parts of one document that are listed as left out; further ones
/// are counted in the last entry.
const MAX_IGNORED: usize = 32;

impl<'a> Reader<'a> {
    fn new(file: &'a str, lenient: bool) -> Self {
        Reader {
            file,
            lenient,
            ignored: Vec::new(),
        }
    }

    fn definition(mut self, root: &Element) -> Result<Lenient, JsdlError> {
        let path = "JobDefinition";
        if !root.is(JSDL, path) {
            let problem = format!(
                "in the namespace \"{}\": expected the element JobDefinition of {JSDL}",
                root.namespace
            );
            return Err(self.element(root, &root.name, &problem));
        }
        self.open(root, path, &["id"])?;
        let mut job = JobDefinition {
            id: root.attribute("", "id").map(str::to_owned),
            ..JobDefinition::default()
        };
        let mut described = false;
        for child in root.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("JobDescription") => {
                    self.once(described, child, &path)?;
                    described = true;
                    self.description(child, &path, &mut job)?;
                }
                _ => self.stranger(child, &path)?,
            }
        }
        if !described {
            return Err(self.missing(root, path, "JobDescription"));
        }
        if self.ignored.len() > MAX_IGNORED {
            let more = self.ignored.len() - MAX_IGNORED;
            self.ignored.truncate(MAX_IGNORED);
            self.ignored.push(format!("and {more} more"));
        }
        Ok(Lenient {
            job,
            ignored: self.ignored,
        })
    }

    fn description(
        &mut self,
        element: &Element,
        path: &str,
        job: &mut JobDefinition,
    ) -> Result<(), JsdlError> {
        self.open(element, path, &[])?;
        let (mut identified, mut resourced) = (false, false);
        for child in element.elements() {
            let path = at(path, child);
            match (child.namespace.as_ref(), child.name.as_ref()) {
                (JSDL, "JobIdentification") => {
                    self.once(identified, child, &path)?;
                    identified = true;
                    job.identification = self.identification(child, &path)?;
                }
                (JSDL, "Application") => {
                    self.once(job.application.is_some(), child, &path)?;
                    job.application = Some(self.application(child, &path)?);
                }
                (JSDL, "Resources") => {
                    self.once(resourced, child, &path)?;
                    resourced = true;
                    job.resources = self.resources(child, &path)?;
                }
                (JSDL, "DataStaging") => job.staging.push(self.staging(child, &path)?),
                (OWN, "RunTime") => {
                    self.once(job.run_time.is_some(), child, &path)?;
                    job.run_time = Some(self.duration(child, &path)?);
                }
                (OWN, "RequestedTime") => {
                    self.once(job.requested_time.is_some(), child, &path)?;
                    job.requested_time = Some(self.duration(child, &path)?);
                }
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(())
    }

    fn identification(
        &mut self,
        element: &Element,
        path: &str,
    ) -> Result<Identification, JsdlError> {
        self.open(element, path, &[])?;
        let mut identification = Identification::default();
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("JobName") => self.text_once(child, &path, &mut identification.name)?,
                Some("Description") => {
                    self.text_once(child, &path, &mut identification.description)?;
                }
                Some("JobAnnotation") => {
                    let text = self.text(child, &path)?;
                    identification.annotations.push(text);
                }
                Some("JobProject") => {
                    let text = self.text(child, &path)?;
                    identification.projects.push(text);
                }
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(identification)
    }

    fn boolean(&mut self, element: &Element, path: &str) -> Result<bool, JsdlError> {
        let text = self.text(element, path)?;
        match text.trim_matches(is_space) {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(self.value(element, path, other, "true or false")),
        }
    }

    fn whole(&mut self, element: &Element, path: &str) -> Result<u64, JsdlError> {
        let text = self.text(element, path)?;
        let text = text.trim_matches(is_space);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.ok_or_else(|| self.value(element, path, text, "a whole number from 0 on"))
    }

    fn duration(&mut self, element: &Element, path: &str) -> Result<SimDuration, JsdlError> {
        let text = self.text(element, path)?;
        let text = text.trim_matches(is_space);
        SimDuration::parse(text).map_err(|error| {
            let expected = format!("a length of time such as \"60s\" ({error})");
            self.value(element, path, text, &expected)
        })
    }

    fn text_once(
        &mut self,
        element: &Element,
        path: &str,
        slot: &mut Option<String>,
    ) -> Result<(), JsdlError> {
        self.once(slot.is_some(), element, path)?;
        *slot = Some(self.text(element, path)?);
        Ok(())
    }

    /// The text of an element that has nothing else and no attributes.
    fn text(&mut self, element: &Element, path: &str) -> Result<String, JsdlError> {
        self.open_text(element, path, &[])?;
        Ok(element.text())
    }

    /// The local name, if the element is in this namespace.
    #[allow(
        clippy::unused_self,
        reason = "reads like the other looks at an element"
    )]
    fn named<'e>(&self, element: &'e Element, namespace: &str) -> Option<&'e str> {
        (element.namespace == namespace).then_some(element.name.as_ref())
    }

    /// Looks at an element that holds elements.
    fn open(&mut self, element: &Element, path: &str, known: &[&str]) -> Result<(), JsdlError> {
        self.attributes(element, path, known)?;
        match element.stray_text() {
            None => Ok(()),
            Some(_) if self.lenient => {
                self.ignored.push(format!("{path}/text()"));
                Ok(())
            }
            Some(text) => {
                let text: String = text.chars().take(80).collect();
                let problem = format!("text {text:?} between elements: expected an element");
                Err(self.element(element, path, &problem))
            }
        }
    }

    /// Looks at an element that holds a text.
    fn open_text(
        &mut self,
        element: &Element,
        path: &str,
        known: &[&str],
    ) -> Result<(), JsdlError> {
        self.attributes(element, path, known)?;
        match element.elements().next() {
            None => Ok(()),
            Some(child) => {
                let problem = format!("has the element {}: expected a text", child.name);
                Err(self.element(element, path, &problem))
            }
        }
    }

    fn attributes(
        &mut self,
        element: &Element,
        path: &str,
        known: &[&str],
    ) -> Result<(), JsdlError> {
        for attribute in &element.attributes {
            let namespace = attribute.namespace.as_ref();
            if namespace == SCHEMA_INSTANCE
                || (namespace.is_empty() && known.contains(&attribute.name.as_ref()))
            {
                continue;
            }
            let path = format!("{path}/@{}", attribute.name);
            if !self.lenient {
                return Err(self.unsupported(element, &path, "an attribute that is not known"));
            }
            self.ignored.push(path);
        }
        Ok(())
    }

    /// An element that has no place where it stands.
    fn stranger(&mut self, element: &Element, path: &str) -> Result<(), JsdlError> {
        let of_jsdl = [JSDL, POSIX, HPC_PROFILE, SPMD].contains(&element.namespace.as_ref());
        if self.lenient && !of_jsdl {
            self.ignored.push(path.to_owned());
            return Ok(());
        }
        let why = if of_jsdl {
            String::new()
        } else {
            format!(": it is in the namespace \"{}\"", element.namespace)
        };
        Err(JsdlError::Unsupported {
            at: Position::at(self.file, element.line),
            path: path.to_owned(),
            why,
        })
    }

    fn once(&self, known: bool, element: &Element, path: &str) -> Result<(), JsdlError> {
        if known {
            return Err(self.element(element, path, "given twice: expected it once"));
        }
        Ok(())
    }

    fn missing(&self, element: &Element, path: &str, what: &str) -> JsdlError {
        self.element(element, path, &format!("missing element: expected {what}"))
    }

    fn element(&self, element: &Element, path: &str, problem: &str) -> JsdlError {
        JsdlError::Element {
            at: Position::at(self.file, element.line),
            path: path.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn unsupported(&self, element: &Element, path: &str, why: &str) -> JsdlError {
        JsdlError::Unsupported {
            at: Position::at(self.file, element.line),
            path: path.to_owned(),
            why: format!(": {why}"),
        }
    }

    fn value(&self, element: &Element, path: &str, value: &str, expected: &str) -> JsdlError {
        JsdlError::Value {
            at: Position::at(self.file, element.line),
            path: path.to_owned(),
            value: value.chars().take(80).collect(),
            expected: expected.to_owned(),
        }
    }
}

/// The path of an element from that of its parent.
fn at(parent: &str, element: &Element) -> String {
    let name: String = element.name.chars().take(80).collect();
    format!("{parent}/{name}")
}

/// Whether a text is a name without a colon, as identifiers of JSDL are.
fn is_nc_name(text: &str) -> bool {
    let mut chars = text.chars();
    let begins = |c: char| c.is_alphabetic() || c == '_';
    chars.next().is_some_and(begins)
        && chars.all(|c| begins(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{b7}'))
}
