//! The reader: a walk over the events of the XML, three levels deep.

use super::field::{Draft, Field, Text};
use super::{NAMESPACE, ResourceError};
use crate::xml::{SCHEMA_INSTANCE, is_space, is_xml};
use gridrig_core::resource::{Resource, Resources};
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

const ROOT: &str = "EmulatedResources";
const GROUP: &str = "Resource";

/// Where in the document the reader is.
enum Place {
    /// Before the root element.
    Prolog,
    /// In `EmulatedResources`.
    Root,
    /// In a `Resource`.
    Group(Draft),
    /// In one of its elements.
    Value(Draft, Field, Text),
    /// After the root element.
    Epilog,
}

/// Reads one document.
pub(super) struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    /// Line of the event at hand, and the byte up to which lines are counted.
    line: usize,
    counted: usize,
    place: Place,
    groups: Vec<Resource>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Parser {
            file,
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            line: 1,
            counted: 0,
            place: Place::Prolog,
            groups: Vec::new(),
        }
    }

    pub(super) fn parse(mut self) -> Result<Resources, ResourceError> {
        if let Some(at) = self.text.find(|c| !is_xml(c)) {
            self.count_lines(at);
            return Err(self.xml("a control character: expected characters of XML 1.0"));
        }
        let mut reader = NsReader::from_str(self.text);
        reader.config_mut().enable_all_checks(true);
        loop {
            self.count_lines(usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX));
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
                    self.count_lines(at);
                    return Err(self.xml(&format!("not well-formed XML: {error}")));
                }
            };
            match event {
                Event::Start(tag) => self.open(&reader, &tag)?,
                Event::Empty(tag) => {
                    self.open(&reader, &tag)?;
                    self.close()?;
                }
                Event::End(_) => self.close()?,
                Event::Text(text) => self.characters(&text.xml10_content())?,
                Event::CData(text) => self.cdata(&text.xml10_content())?,
                Event::GeneralRef(reference) => self.reference(&reference)?,
                Event::Decl(declaration) => self.declaration(&declaration)?,
                Event::DocType(_) => {
                    return Err(self.xml("a document type: expected none, entities are refused"));
                }
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => return self.finish(),
            }
        }
    }

    fn open(
        &mut self,
        reader: &NsReader<&[u8]>,
        tag: &BytesStart<'_>,
    ) -> Result<(), ResourceError> {
        let name = tag.name().0.to_owned();
        let (namespace, local) = reader.resolver().resolve_element(tag.name());
        match &namespace {
            ResolveResult::Bound(bound) if bound.0 == NAMESPACE => {}
            ResolveResult::Bound(bound) => {
                return Err(self.wrong_namespace(&name, &format!("{:?}", bound.0)));
            }
            ResolveResult::Unbound => return Err(self.wrong_namespace(&name, "no namespace")),
            ResolveResult::Unknown(prefix) => {
                return Err(
                    self.wrong_namespace(&name, &format!("the undeclared prefix {prefix:?}"))
                );
            }
        }
        self.check_attributes(reader, tag)?;
        let line = self.line;
        let local = local.into_inner();
        self.place = match std::mem::replace(&mut self.place, Place::Epilog) {
            Place::Prolog if local == ROOT => Place::Root,
            Place::Prolog => return Err(self.unknown(&name, ROOT)),
            Place::Root if local == GROUP => Place::Group(Draft::new(line)),
            Place::Root => return Err(self.unknown(&name, GROUP)),
            Place::Group(draft) => match Field::from_name(local) {
                None => {
                    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
                    return Err(self.unknown(&name, &format!("one of {}", names.join(", "))));
                }
                Some(field) if draft.has(field) => {
                    return Err(self.element(&name, "given twice: expected it once"));
                }
                Some(field) => {
                    let value = String::new();
                    Place::Value(draft, field, Text { line, value })
                }
            },
            Place::Value(_, field, _) => {
                let problem = format!("not allowed in {}: expected a text", field.name());
                return Err(self.element(&name, &problem));
            }
            Place::Epilog => return Err(self.element(&name, "expected the end of the file")),
        };
        Ok(())
    }

    fn close(&mut self) -> Result<(), ResourceError> {
        self.place = match std::mem::replace(&mut self.place, Place::Epilog) {
            Place::Value(mut draft, field, text) => {
                let (line, value) = (text.line, collapse(&text.value));
                draft.set(field, Text { line, value });
                Place::Group(draft)
            }
            Place::Group(draft) => {
                self.groups.push(draft.finish(self.file)?);
                Place::Root
            }
            Place::Root if self.groups.is_empty() => {
                return Err(self.element(ROOT, "missing element Resource: expected at least one"));
            }
            // The XML reader refuses an end tag that has no start tag.
            Place::Root | Place::Epilog | Place::Prolog => Place::Epilog,
        };
        Ok(())
    }

    fn characters(&mut self, content: &str) -> Result<(), ResourceError> {
        if content.contains("]]>") {
            return Err(self.xml("not well-formed XML: `]]>` in a text"));
        }
        if let Place::Value(_, _, text) = &mut self.place {
            text.value.push_str(content);
            return Ok(());
        }
        let Some(first) = content.find(|c| !is_space(c)) else {
            return Ok(());
        };
        // The offending word may stand lines below the end of the last tag.
        self.line += content[..first].matches('\n').count();
        let word = content[first..].split(is_space).next().unwrap_or_default();
        Err(self.xml(&format!(
            "text {word:?} between elements: expected an element"
        )))
    }

    fn cdata(&mut self, content: &str) -> Result<(), ResourceError> {
        if let Place::Value(_, _, text) = &mut self.place {
            text.value.push_str(content);
            return Ok(());
        }
        Err(self.xml("a CDATA section between elements: expected an element"))
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), ResourceError> {
        let name = reference.xml10_content().into_owned();
        let character = match name.as_str() {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "apos" => Some('\''),
            "quot" => Some('"'),
            _ if reference.is_char_ref() => reference.resolve_char_ref().ok().flatten(),
            _ => None,
        };
        match (character.filter(|c| is_xml(*c)), &mut self.place) {
            (Some(character), Place::Value(_, _, text)) => text.value.push(character),
            (Some(_), _) => {
                let problem = format!("reference &{name}; between elements: expected an element");
                return Err(self.xml(&problem));
            }
            (None, _) => {
                let problem = format!(
                    "reference &{name};: expected a character reference, &lt;, &gt;, &amp;, &apos; or &quot;"
                );
                return Err(self.xml(&problem));
            }
        }
        Ok(())
    }

    fn declaration(&mut self, declaration: &BytesDecl<'_>) -> Result<(), ResourceError> {
        if self.counted > 0 {
            return Err(self.xml("an XML declaration: expected it only at the start of the file"));
        }
        if let Some(Ok(encoding)) = declaration.encoding()
            && !encoding.eq_ignore_ascii_case("utf-8")
            && !encoding.eq_ignore_ascii_case("us-ascii")
        {
            return Err(self.xml(&format!("encoding = {encoding:?}: expected UTF-8")));
        }
        match declaration.version() {
            Ok(version) if version == "1.0" => Ok(()),
            Ok(version) => Err(self.xml(&format!("XML version = {version:?}: expected 1.0"))),
            Err(error) => Err(self.xml(&format!("not well-formed XML: {error}"))),
        }
    }

    fn check_attributes(
        &self,
        reader: &NsReader<&[u8]>,
        tag: &BytesStart<'_>,
    ) -> Result<(), ResourceError> {
        for attribute in tag.attributes() {
            let attribute =
                attribute.map_err(|error| self.xml(&format!("not well-formed XML: {error}")))?;
            if attribute.value.contains('<') {
                return Err(self.xml("not well-formed XML: `<` in an attribute"));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (namespace, _) = reader.resolver().resolve_attribute(attribute.key);
            // Attributes of this namespace point editors and validators to the schema.
            if !matches!(namespace, ResolveResult::Bound(bound) if bound.0 == SCHEMA_INSTANCE) {
                let problem = format!("attribute {}: expected none", attribute.key.0);
                return Err(self.element(tag.name().0, &problem));
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Resources, ResourceError> {
        match &self.place {
            Place::Epilog => Resources::new(self.groups).ok_or_else(|| {
                let file = self.file.to_owned();
                ResourceError::TooManyProcessors { file }
            }),
            Place::Prolog => Err(self.xml("no element: expected EmulatedResources")),
            Place::Root | Place::Group(_) | Place::Value(..) => {
                Err(self.xml("the file ends inside an element: expected its end tag"))
            }
        }
    }

    /// Moves the line on to the one that holds this byte.
    fn count_lines(&mut self, to: usize) {
        let to = to.min(self.text.len());
        if to > self.counted {
            let passed = &self.text.as_bytes()[self.counted..to];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted = to;
        }
    }

    fn unknown(&self, name: &str, expected: &str) -> ResourceError {
        self.element(name, &format!("not allowed here: expected {expected}"))
    }

    fn wrong_namespace(&self, name: &str, found: &str) -> ResourceError {
        self.element(
            name,
            &format!("in {found}: expected the namespace {NAMESPACE:?}"),
        )
    }

    fn element(&self, name: &str, problem: &str) -> ResourceError {
        ResourceError::Element {
            file: self.file.to_owned(),
            line: self.line,
            element: name.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn xml(&self, problem: &str) -> ResourceError {
        ResourceError::Xml {
            file: self.file.to_owned(),
            line: self.line,
            problem: problem.to_owned(),
        }
    }
}

/// The text as `xs:token` reads it: no spaces around, single ones within.
pub(super) fn collapse(text: &str) -> String {
    let words: Vec<&str> = text
        .split(is_space)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}
