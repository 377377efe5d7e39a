//! Reading a document into a tree.

use super::{
    Attribute, Element, MAX_ATTRIBUTES, MAX_DEPTH, Name, Node, XmlError, begins_name,
    continues_name, is_space, is_xml, write,
};
use quick_xml::XmlVersion;
use quick_xml::escape::{resolve_xml_entity, unescape};
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::name::{LocalName, ResolveResult};
use quick_xml::reader::NsReader;
use std::borrow::Cow;

pub(super) fn parse(document: &[u8], most: usize) -> Result<Element, XmlError> {
    let text = std::str::from_utf8(document).map_err(|error| {
        let good = &document[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        XmlError {
            line,
            code: "malformed-xml",
            problem: "the text is not UTF-8: expected XML in UTF-8".to_owned(),
        }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Parser {
        text,
        line: 1,
        most,
        ..Parser::default()
    }
    .parse()
}

#[derive(Default)]
struct Parser<'a> {
    text: &'a str,
    /// Line of the event at hand, and the byte up to which lines are counted.
    line: usize,
    counted: usize,
    nodes: usize,
    /// Most nodes that are read.
    most: usize,
    /// The elements that have begun and not ended, outermost first.
    open: Vec<Element>,
    root: Option<Element>,
}

impl Parser<'_> {
    fn parse(mut self) -> Result<Element, XmlError> {
        if let Some(at) = self.text.find(|c| !is_xml(c)) {
            self.count_lines(at);
            return Err(self.malformed("a control character"));
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
                    return Err(self.malformed(&error.to_string()));
                }
            };
            match event {
                Event::Start(tag) => self.begin(&reader, &tag)?,
                Event::Empty(tag) => {
                    self.begin(&reader, &tag)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::Text(text) => {
                    let text = text.xml10_content();
                    if text.contains("]]>") {
                        return Err(self.malformed("`]]>` in a text"));
                    }
                    self.characters(&text)?;
                }
                Event::CData(text) => self.characters(&text.xml10_content())?,
                Event::GeneralRef(reference) => self.reference(&reference)?,
                Event::Decl(declaration) => self.declaration(&declaration)?,
                Event::DocType(_) => return Err(self.refused("a document type")),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        match self.root.take() {
            Some(root) if self.open.is_empty() => Ok(root),
            _ => Err(self.malformed("the document ends before its root element does")),
        }
    }

    fn begin(&mut self, reader: &NsReader<&[u8]>, tag: &BytesStart<'_>) -> Result<(), XmlError> {
        if self.open.is_empty() && self.root.is_some() {
            return Err(self.malformed("a second root element"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_complex(MAX_DEPTH, "elements within each other"));
        }
        self.count_node()?;
        let (namespace, local) = reader.resolver().resolve_element(tag.name());
        let namespace = self.namespace(&namespace)?;
        let mut element = Element {
            namespace,
            name: self.name(local)?,
            line: self.line,
            ..Element::default()
        };
        for (number, attribute) in tag.attributes().enumerate() {
            if number >= MAX_ATTRIBUTES {
                return Err(self.too_complex(MAX_ATTRIBUTES, "attributes of an element"));
            }
            let attribute = attribute.map_err(|error| self.malformed(&error.to_string()))?;
            if attribute.value.contains('<') {
                return Err(self.malformed("`<` in an attribute"));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (namespace, local) = reader.resolver().resolve_attribute(attribute.key);
            let namespace = self.namespace(&namespace)?;
            let value = attribute
                .normalized_value(XmlVersion::Explicit1_0)
                .map_err(|error| self.refused(&format!("an attribute ({error})")))?;
            element.attributes.push(Attribute {
                namespace,
                name: self.name(local)?,
                value: self.within_xml(value.into_owned())?,
            });
        }
        self.open.push(element);
        Ok(())
    }

    /// The XML reader refuses an end tag that has no start tag.
    fn end(&mut self) {
        let Some(element) = self.open.pop() else {
            return;
        };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(Node::Element(element)),
            None => self.root = Some(element),
        }
    }

    fn characters(&mut self, content: &str) -> Result<(), XmlError> {
        let Some(parent) = self.open.last_mut() else {
            if content.contains(|c| !is_space(c)) {
                return Err(self.malformed("characters outside the root element"));
            }
            return Ok(());
        };
        // A CDATA section may hold nothing.
        if content.is_empty() {
            return Ok(());
        }
        if let Some(Node::Text(text)) = parent.children.last_mut() {
            text.push_str(content);
            return Ok(());
        }
        // Most elements hold one text and nothing else.
        if parent.children.is_empty() {
            parent.children.reserve_exact(1);
        }
        parent.children.push(Node::Text(content.to_owned()));
        self.count_node()
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), XmlError> {
        let name = reference.xml10_content().into_owned();
        if let Some(text) = resolve_xml_entity(&name) {
            return self.characters(text);
        }
        let character = reference.resolve_char_ref().ok().flatten();
        match character.filter(|c| is_xml(*c)) {
            Some(character) => self.characters(character.encode_utf8(&mut [0; 4])),
            None => {
                let name: String = name.chars().take(80).collect();
                Err(self.refused(&format!("reference &{name};")))
            }
        }
    }

    fn declaration(&self, declaration: &BytesDecl<'_>) -> Result<(), XmlError> {
        if self.counted > 0 {
            return Err(self.malformed("an XML declaration that is not at the start"));
        }
        if let Some(Ok(encoding)) = declaration.encoding()
            && !encoding.eq_ignore_ascii_case("utf-8")
            && !encoding.eq_ignore_ascii_case("us-ascii")
        {
            return Err(self.malformed(&format!("encoding = {encoding:?}: expected UTF-8")));
        }
        match declaration.version() {
            Ok(version) if version == "1.0" => Ok(()),
            Ok(version) => Err(self.malformed(&format!("version = {version:?}: expected 1.0"))),
            Err(error) => Err(self.malformed(&error.to_string())),
        }
    }

    /// The XML reader takes anything up to a space for a name, and nothing too.
    fn name(&self, local: LocalName<'_>) -> Result<Name, XmlError> {
        let name = local.into_inner();
        let mut characters = name.chars();
        if characters.next().is_some_and(begins_name) && characters.all(continues_name) {
            return Ok(Cow::Owned(name.to_owned()));
        }
        let name: String = name.chars().take(80).collect();
        Err(self.malformed(&format!("{name:?} is no name of an element or attribute")))
    }

    fn namespace(&self, namespace: &ResolveResult<'_>) -> Result<Name, XmlError> {
        match namespace {
            ResolveResult::Bound(bound) => {
                // The XML reader leaves references in a declaration as they are.
                let name = unescape(bound.0)
                    .map_err(|error| self.refused(&format!("a namespace ({error})")))?;
                Ok(match write::known(&name) {
                    Some(known) => Cow::Borrowed(known),
                    None => Cow::Owned(self.within_xml(name.into_owned())?),
                })
            }
            ResolveResult::Unbound => Ok(Cow::Borrowed("")),
            ResolveResult::Unknown(prefix) => {
                Err(self.malformed(&format!("the prefix {prefix:?} is not declared")))
            }
        }
    }

    /// A character that XML has not stands behind no reference either.
    fn within_xml(&self, value: String) -> Result<String, XmlError> {
        match value.contains(|c| !is_xml(c)) {
            true => Err(self.malformed("a reference to a control character")),
            false => Ok(value),
        }
    }

    fn count_node(&mut self) -> Result<(), XmlError> {
        self.nodes += 1;
        if self.nodes > self.most {
            return Err(self.too_complex(self.most, "elements and texts"));
        }
        Ok(())
    }

    fn count_lines(&mut self, upto: usize) {
        let upto = upto.min(self.text.len());
        if let Some(passed) = self.text.as_bytes().get(self.counted..upto) {
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.counted = upto;
        }
    }

    fn malformed(&self, problem: &str) -> XmlError {
        self.error("malformed-xml", format!("not well-formed XML: {problem}"))
    }

    fn refused(&self, what: &str) -> XmlError {
        let why = "expected none, document types and entities are refused";
        self.error("doctype-refused", format!("{what}: {why}"))
    }

    fn too_complex(&self, most: usize, what: &str) -> XmlError {
        self.error("too-complex", format!("expected at most {most} {what}"))
    }

    fn error(&self, code: &'static str, problem: String) -> XmlError {
        XmlError {
            line: self.line,
            code,
            problem,
        }
    }
}
