//! ADL as attributes, which are named by their paths, and values.

use super::DescriptionError;
use super::syntax::{MAX_JOBS, Read, Relation, Request, Value, texts};
use crate::adl::NAMESPACE;
use crate::xml::{Element, Node};

/// Reads one description, or all of an `ActivityDescriptions`.
pub(super) fn read(root: &Element) -> Read<Vec<Request>> {
    if root.name != "ActivityDescriptions" {
        return Ok(vec![request(root)?]);
    }
    let all: Vec<&Element> = root.elements().collect();
    if all.is_empty() || all.len() > MAX_JOBS {
        let text = format!("{} activities: expected 1 to {MAX_JOBS}", all.len());
        return Err(DescriptionError::at(root.line, text));
    }
    all.into_iter().map(request).collect()
}

fn request(root: &Element) -> Read<Request> {
    if !root.is(NAMESPACE, "ActivityDescription") {
        let text = format!(
            "element {}: expected ActivityDescription in namespace {NAMESPACE}",
            root.name
        );
        return Err(DescriptionError::at(root.line, text));
    }
    let mut request = Request::default();
    for section in root.elements() {
        for node in section.elements() {
            let path = format!("{}/{}", section.name, node.name);
            match group(&node.name) {
                Some(parts) => grouped(node, &path, parts, &mut request),
                None => leaves(node, path, &mut request),
            }
        }
    }
    Ok(request)
}

/// The parts of an element that are one value together.
fn group(name: &str) -> Option<[&'static str; 2]> {
    match name {
        "Environment" => Some(["Name", "Value"]),
        "InputFile" => Some(["Name", "Source"]),
        "OutputFile" => Some(["Name", "Target"]),
        _ => None,
    }
}

fn relation(line: usize, name: String, values: Vec<Value>) -> Relation {
    Relation {
        line,
        name,
        op: "=",
        values,
    }
}

fn grouped(node: &Element, path: &str, parts: [&str; 2], request: &mut Request) {
    let mut texts = Vec::new();
    for part in node.elements() {
        match parts.iter().position(|known| *known == part.name) {
            // A name of a file may begin with the session directory.
            Some(0) if path.starts_with("DataStaging") => {
                texts.insert(0, {
                    let of_session = |c: char| c == '/' || c.is_whitespace();
                    part.text()
                        .trim_start_matches(of_session)
                        .trim_end()
                        .to_owned()
                });
            }
            Some(0) => texts.insert(0, part.text().trim().to_owned()),
            Some(_) => {
                let inner = part.child(NAMESPACE, "URI").unwrap_or(part);
                texts.push(inner.text().trim().to_owned());
            }
            None => leaves(part, format!("{path}/{}", part.name), request),
        }
    }
    if texts.len() == 1 && parts[1] == "Value" {
        texts.push(String::new());
    }
    let values = vec![Value::list(texts)];
    request
        .relations
        .push(relation(node.line, path.to_owned(), values));
}

fn leaves(node: &Element, path: String, request: &mut Request) {
    let mut is_leaf = true;
    for inner in node.elements() {
        is_leaf = false;
        leaves(inner, format!("{path}/{}", inner.name), request);
    }
    let text = node.text().trim().to_owned();
    // The client writes an empty element for a job without a program.
    if is_leaf && (!text.is_empty() || node.name == "Argument") {
        request
            .relations
            .push(relation(node.line, path, vec![Value::Text(text)]));
    }
}

/// One description, or several in an `ActivityDescriptions`.
pub(super) fn write(requests: &[Vec<Relation>]) -> String {
    let all = requests.iter().map(|relations| element(relations));
    match requests.len() {
        1 => all.collect::<Vec<_>>().remove(0).to_document(),
        _ => Element::new(NAMESPACE, "ActivityDescriptions")
            .with_all(all)
            .to_document(),
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
            match (value, group(name)) {
                (Value::Text(text), _) => node.children.push(Node::Text(text.clone())),
                (Value::List(list), Some([first, second])) => {
                    let texts = texts(list).unwrap_or_default();
                    node = node.fields(first, texts.first());
                    for text in texts.iter().skip(1) {
                        match second {
                            "Value" => node = node.field(second, text),
                            // The size of what the client has, which ADL does not say.
                            _ if !text.contains("://") => {}
                            _ => node.push(Element::new(NAMESPACE, second).field("URI", text)),
                        }
                    }
                }
                (Value::List(_), None) => {}
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
