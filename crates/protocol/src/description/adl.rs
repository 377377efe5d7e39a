//! ADL as attributes, which are named by their paths, and values.

use super::DescriptionError;
use super::syntax::{MAX_JOBS, Read, Relation, Request, Value, texts};
use crate::adl::NAMESPACE;
use crate::xml::{Element, Node};

/// What is one value together with what is in it.
const GROUPS: [&str; 3] = ["Environment", "InputFile", "OutputFile"];

/// Reads one description, or all of an `ActivityDescriptions`.
pub(super) fn read(root: &Element) -> Read<Vec<Request>> {
    let all: Vec<&Element> = match &*root.name {
        "ActivityDescriptions" => root.elements().collect(),
        _ => vec![root],
    };
    let is_one = |it: &&Element| it.is(NAMESPACE, "ActivityDescription");
    if all.is_empty() || all.len() > MAX_JOBS || !all.iter().all(is_one) {
        let (name, wanted) = (&root.name, "ActivityDescription in namespace");
        let text = format!("element {name}: expected 1 to {MAX_JOBS} {wanted} {NAMESPACE}");
        return Err(DescriptionError::at(root.line, &text));
    }
    let request = |root: &Element| {
        let mut request = Request::default();
        for section in root.elements() {
            let nodes = section.elements();
            nodes.for_each(|node| walk(node, &section.name, None, &mut request.relations));
        }
        request
    };
    Ok(all.into_iter().map(request).collect())
}

/// Takes what is in an element, or the names, values and URIs of a group.
fn walk(node: &Element, above: &str, group: Option<&mut Vec<String>>, into: &mut Vec<Relation>) {
    let path = format!("{above}/{}", node.name);
    let mut text = node.text().trim().to_owned();
    let mut add = |path, value| into.push(Relation::new(node.line, path, "=", vec![value]));
    if GROUPS.contains(&&*node.name) {
        let (mut texts, mut more) = (Vec::new(), Vec::new());
        node.elements()
            .for_each(|part| walk(part, &path, Some(&mut texts), &mut more));
        if texts.len() == 1 && node.name == "Environment" {
            texts.push(String::new());
        }
        add(path, Value::list(texts));
        into.append(&mut more);
    } else if node.elements().next().is_some() {
        let mut group = group;
        node.elements()
            .for_each(|inner| walk(inner, &path, group.as_deref_mut(), into));
    } else if let Some(group) = group.filter(|_| ["Name", "Value", "URI"].contains(&&*node.name)) {
        if above.starts_with("DataStaging") {
            // The session directory.
            let begins = |c: char| c == '/' || c.is_whitespace();
            text = match &*node.name {
                "Name" => text.trim_start_matches(begins).to_owned(),
                _ => text,
            };
        }
        group.push(text);
    } else if !text.is_empty() || node.name == "Argument" {
        // The client writes an empty element for a job without a program.
        add(path, Value::Text(text));
    }
}

/// One description, or several in an `ActivityDescriptions`.
pub(super) fn write(requests: &[Vec<Relation>]) -> String {
    let mut all = requests.iter().map(|relations| element(relations));
    match (requests.len(), all.next()) {
        (1, Some(only)) => only.to_document(),
        (_, first) => {
            let root = Element::new(NAMESPACE, "ActivityDescriptions");
            root.with_all(first.into_iter().chain(all)).to_document()
        }
    }
}

fn element(relations: &[Relation]) -> Element {
    let mut root = Element::new(NAMESPACE, "ActivityDescription");
    for relation in relations {
        let mut parent = &mut root;
        let (above, name) = relation.name.rsplit_once('/').unwrap_or_default();
        for step in above.split('/') {
            parent = within(parent, step);
        }
        for value in &relation.values {
            let mut node = Element::new(NAMESPACE, name.to_owned());
            match value {
                Value::Text(text) => node.children.push(Node::Text(text.clone())),
                Value::List(list) => match (name, &texts(list).unwrap_or_default()[..]) {
                    ("Environment", [name, value]) => {
                        node = node.field("Name", name).field("Value", value);
                    }
                    (_, [name, url]) => {
                        let is_input = relation.name.contains("Input");
                        let end = if is_input { "Source" } else { "Target" };
                        let place = Element::new(NAMESPACE, end).field("URI", url);
                        // ADL does not say the size of what the client has.
                        let place = Some(place).filter(|_| url.contains("://"));
                        node = node.field("Name", name).with_all(place);
                    }
                    _ => {}
                },
            }
            parent.push(node);
        }
    }
    root
}

/// The last element of this name, or a new one.
fn within<'a>(parent: &'a mut Element, name: &str) -> &'a mut Element {
    let is_it = |node: &Node| matches!(node, Node::Element(inner) if inner.name == name);
    let at = parent.children.iter().rposition(is_it).unwrap_or_else(|| {
        parent.push(Element::new(NAMESPACE, name.to_owned()));
        parent.children.len() - 1
    });
    match &mut parent.children[at] {
        Node::Element(inner) => inner,
        Node::Text(_) => unreachable!("an element was found or made there"),
    }
}
