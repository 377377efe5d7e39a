//! Writing a tree as a document.
//!
//! Namespaces of the standards get their customary prefixes, declared once at
//! the root. Any other becomes the default namespace of the element it begins
//! with, so that its elements stand un-prefixed: GridWay's BES driver looks
//! for an element called literally `ID`.

use super::{
    ADDRESSING, AGREEMENT, AGREEMENT_OWN, Element, FACTORY, HPC_PROFILE, JSDL, JSDL_OWN, LAGRID,
    MANAGEMENT, Node, POSIX, PROBLEM, PROPERTIES, SCHEMA, SCHEMA_INSTANCE, SOAP_1_1, SOAP_1_2,
    SPMD, XML,
};

/// Namespaces with a customary prefix.
const PREFIXES: [(&str, &str); 17] = [
    (SOAP_1_1, "soapenv"),
    (SOAP_1_2, "env"),
    (ADDRESSING, "wsa"),
    (XML, "xml"),
    (SCHEMA_INSTANCE, "xsi"),
    (FACTORY, "bes-factory"),
    (MANAGEMENT, "bes-mgmt"),
    (JSDL, "jsdl"),
    (POSIX, "jsdl-posix"),
    (HPC_PROFILE, "jsdl-hpcpa"),
    (SPMD, "jsdl-spmd"),
    (JSDL_OWN, "gridrig"),
    (LAGRID, "lagrid"),
    (AGREEMENT, "wsag"),
    (AGREEMENT_OWN, "reservation"),
    (PROPERTIES, "wsrf-rp"),
    (SCHEMA, "xsd"),
];

/// The same text with a static lifetime, if it is a namespace of ours.
pub(super) fn known(namespace: &str) -> Option<&'static str> {
    let mut all = PREFIXES.iter().map(|(known, _)| *known).chain([PROBLEM]);
    all.find(|known| *known == namespace)
}

fn prefix(namespace: &str) -> Option<usize> {
    PREFIXES.iter().position(|(known, _)| *known == namespace)
}

pub(super) fn write(root: &Element, xml: &mut String) {
    let mut used = [false; PREFIXES.len()];
    mark(root, &mut used);
    let mut declarations = String::new();
    for ((namespace, prefix), used) in PREFIXES.iter().zip(used) {
        if used && *namespace != XML {
            declarations += &format!(" xmlns:{prefix}=\"{namespace}\"");
        }
    }
    element(root, "", &declarations, xml);
    xml.push('\n');
}

fn mark(root: &Element, used: &mut [bool]) {
    let attributes = root.attributes.iter().map(|attribute| &attribute.namespace);
    for namespace in std::iter::once(&root.namespace).chain(attributes) {
        if let Some(position) = prefix(namespace) {
            used[position] = true;
        }
    }
    for child in root.elements() {
        mark(child, used);
    }
}

/// `default` is the default namespace where the element stands.
fn element(this: &Element, default: &str, declarations: &str, xml: &mut String) {
    xml.push('<');
    let mut inner = default;
    name(&this.namespace, &this.name, xml);
    if this.namespace != default && prefix(&this.namespace).is_none() {
        xml.push_str(" xmlns=\"");
        escape(&this.namespace, true, xml);
        xml.push('"');
        inner = &this.namespace;
    }
    xml.push_str(declarations);
    for (number, attribute) in this.attributes.iter().enumerate() {
        xml.push(' ');
        if attribute.namespace.is_empty() || prefix(&attribute.namespace).is_some() {
            name(&attribute.namespace, &attribute.name, xml);
        } else {
            xml.push_str(&format!("xmlns:a{number}=\""));
            escape(&attribute.namespace, true, xml);
            xml.push_str(&format!("\" a{number}:{}", attribute.name));
        }
        xml.push_str("=\"");
        escape(&attribute.value, true, xml);
        xml.push('"');
    }
    if this.children.is_empty() {
        xml.push_str("/>");
        return;
    }
    xml.push('>');
    for child in &this.children {
        match child {
            Node::Element(child) => element(child, inner, "", xml),
            Node::Text(text) => escape(text, false, xml),
        }
    }
    xml.push_str("</");
    name(&this.namespace, &this.name, xml);
    xml.push('>');
}

/// A name, with the prefix of its namespace if that has one.
fn name(namespace: &str, local: &str, xml: &mut String) {
    if let Some(position) = prefix(namespace) {
        xml.push_str(PREFIXES[position].1);
        xml.push(':');
    }
    xml.push_str(local);
}

/// Characters that XML does not have become the replacement character, since
/// no reference could carry them.
fn escape(text: &str, attribute: bool, xml: &mut String) {
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' if attribute => xml.push_str("&quot;"),
            '\n' if attribute => xml.push_str("&#10;"),
            '\t' if attribute => xml.push_str("&#9;"),
            '\r' => xml.push_str("&#13;"),
            c if !super::is_xml(c) => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
}
