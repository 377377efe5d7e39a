//! JSDL as a language of elements: how strictly it is read, and what is wrong
//! in its words.

use super::{HPC_PROFILE, JSDL, JobDefinition, JsdlError, POSIX, Result, SPMD};
use crate::xml::record::{At, Fields, Language, Record as _, Wrong};
use crate::xml::{Element, excerpt};

/// A document of somebody who is not strict about the standard.
#[derive(Clone, Debug, PartialEq)]
pub struct Lenient {
    /// What the standard has words for.
    pub job: JobDefinition,
    /// The paths of what was left out: texts between elements, and elements
    /// and attributes of other namespaces.
    pub ignored: Vec<String>,
}

/// How a document is read.
pub(super) struct Jsdl {
    file: String,
    lenient: bool,
    ignored: Vec<String>,
}

/// The most parts of one document that are listed as left out; further ones
/// are counted in the last entry.
const MAX_IGNORED: usize = 32;

impl JobDefinition {
    /// The document.
    pub fn write(&self) -> String {
        self.element().to_document()
    }

    /// The document's root, to be put into another one.
    pub fn element(&self) -> Element {
        let mut description = Element::new(JSDL, "JobDescription");
        self.put_all(&mut description);
        let mut root = Element::new(JSDL, "JobDefinition").with(description);
        root.set("id", self.id.clone());
        root
    }

    /// Reads a document; `file` names it in messages.
    ///
    /// # Errors
    /// When it is no XML that we read, no JSDL, or has anything that is not
    /// supported.
    pub fn read(file: &str, document: &[u8]) -> Result<Self> {
        let root = Element::parse(document).map_err(|error| JsdlError::xml(file, &error))?;
        Self::read_element(file, &root)
    }

    /// Reads the element of a document as strictly as a document by itself.
    ///
    /// # Errors
    /// When it is no JSDL or has anything that is not supported.
    pub fn read_element(file: &str, root: &Element) -> Result<Self> {
        Ok(definition(file, root, false)?.job)
    }

    /// Reads the element of a document that leaves the standard where real
    /// clients do: texts between elements and parts of other namespaces are
    /// left out and listed. What is in a namespace of JSDL and not supported
    /// is refused all the same.
    ///
    /// # Errors
    /// When it is no JSDL or has an element of JSDL that is not supported.
    pub fn read_lenient(file: &str, root: &Element) -> Result<Lenient> {
        definition(file, root, true)
    }
}

fn definition(file: &str, root: &Element, lenient: bool) -> Result<Lenient> {
    let mut language = Jsdl {
        file: file.to_owned(),
        lenient,
        ignored: Vec::new(),
    };
    let at = At::root(root);
    if !root.is(JSDL, "JobDefinition") {
        let problem = format!(
            "in the namespace \"{}\": expected the element JobDefinition of {JSDL}",
            root.namespace
        );
        return Err(language.error(&at, Wrong::Other(&problem)));
    }
    let mut fields = Fields::of(&at, &mut language)?;
    let id = fields.attribute("id", "", |id| Some(id.to_owned()))?;
    let job: JobDefinition = fields.take((JSDL, "JobDescription"))?;
    fields.end()?;
    let mut ignored = language.ignored;
    if ignored.len() > MAX_IGNORED {
        let more = ignored.len() - MAX_IGNORED;
        ignored.truncate(MAX_IGNORED);
        ignored.push(format!("and {more} more"));
    }
    let job = JobDefinition { id, ..job };
    Ok(Lenient { job, ignored })
}

impl Jsdl {
    fn at(&self, at: &At<'_>, error: JsdlError) -> JsdlError {
        error.at(&self.file, at.element.line)
    }

    /// A value that is none of its kind.
    pub fn value(&self, at: &At<'_>, within: &str, value: &str, expected: &str) -> JsdlError {
        let path = format!("{at}{within}");
        self.at(at, JsdlError::value(&path, value, expected))
    }

    /// What is not supported.
    pub fn unsupported(&self, at: &At<'_>, within: &str, why: &str) -> JsdlError {
        self.at(at, JsdlError::unsupported(&format!("{at}{within}"), why))
    }
}

impl Language for Jsdl {
    type Error = JsdlError;

    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> JsdlError {
        let problem = match what {
            Wrong::Attribute(name, _) => {
                let name = format!("/@{name}");
                return self.unsupported(at, &name, "an attribute that is not known");
            }
            Wrong::Unknown(element, _) => {
                let why = match is_jsdl(element) {
                    true => String::new(),
                    false => format!("it is in the namespace \"{}\"", element.namespace),
                };
                return self.unsupported(&at.inner(element), "", &why);
            }
            Wrong::Value(value, expected) => return self.value(at, "", value, expected),
            Wrong::BadAttribute(name, value, expected) => {
                return self.value(at, &format!("/@{name}"), value.trim(), expected);
            }
            Wrong::Text(text) => {
                let text = excerpt(text);
                format!("text {text:?} between elements: expected an element")
            }
            Wrong::Inner(inner) => format!("has the element {}: expected a text", inner.name),
            Wrong::NoAttribute(name) => {
                format!("missing element: expected the attribute {name}")
            }
            Wrong::Missing(name, _) => format!("missing element: expected {name}"),
            Wrong::Twice => "given twice: expected it once".to_owned(),
            Wrong::Other(problem) => problem.to_owned(),
        };
        self.at(at, JsdlError::element(&at.to_string(), &problem))
    }

    fn surplus(&mut self, at: &At<'_>, what: Wrong<'_>) -> Result<()> {
        let left_out = match what {
            Wrong::Text(_) => format!("{at}/text()"),
            Wrong::Attribute(name, _) => format!("{at}/@{name}"),
            Wrong::Unknown(element, _) if !is_jsdl(element) => at.inner(element).to_string(),
            _ => return Err(self.error(at, what)),
        };
        if !self.lenient {
            return Err(self.error(at, what));
        }
        self.ignored.push(left_out);
        Ok(())
    }
}

/// Whether the element is in one of the standard's namespaces.
fn is_jsdl(element: &Element) -> bool {
    [JSDL, POSIX, HPC_PROFILE, SPMD].contains(&&*element.namespace)
}
