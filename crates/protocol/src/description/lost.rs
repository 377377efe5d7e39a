//! What is lost between two languages.

use crate::jsdl::JobDefinition;
use crate::xml::{Element, excerpt};
use std::collections::BTreeMap;

/// Something that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Lost {
    /// The line of the document that says it; 0 if it is not of one line.
    pub line: usize,
    /// The attribute, or the path of the element.
    pub attribute: String,
    /// What it says, cut to 80 characters.
    pub value: String,
    /// Why it is lost, or what it becomes.
    pub why: String,
}

impl Lost {
    pub(super) fn of(line: usize, attribute: &str, value: &str, why: &str) -> Self {
        Lost {
            line,
            attribute: excerpt(attribute),
            value: excerpt(value),
            why: why.to_owned(),
        }
    }
}

/// What one document says and the other does not.
pub(super) fn between(of: &JobDefinition, again: &JobDefinition, prefix: &str) -> Vec<Lost> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, value) in leaves(again) {
        found.entry(path).or_default().push(value);
    }
    // What is found again first, so that the rest has become something else.
    let mut missing = leaves(of);
    missing.retain(|(path, value)| {
        let values = found.entry(path.clone()).or_default();
        let at = values.iter().position(|it| it == value);
        at.map(|at| values.remove(at)).is_none()
    });
    let missing = missing.into_iter().map(|(path, value)| {
        let other = found.get_mut(&path).and_then(Vec::pop);
        let why = other.map_or_else(|| "no counterpart".to_owned(), |it| format!("becomes {it}"));
        Lost::of(0, &format!("{prefix}{}", &path[1..]), &value, &why)
    });
    missing.collect()
}

/// Every text of a document with its path.
fn leaves(job: &JobDefinition) -> Vec<(String, String)> {
    let id = job.id.clone().map(|id| ("/id".to_owned(), id));
    let mut all = Vec::from_iter(id);
    let root = job.element();
    let parts = root.elements().flat_map(Element::elements);
    parts.for_each(|part| walk(part, "", &mut all));
    all
}

fn walk(element: &Element, above: &str, all: &mut Vec<(String, String)>) {
    let (name, text) = (&*element.name, element.text());
    let mut path = format!("{above}/{name}");
    match name {
        // Three forms of a program have the same elements.
        "SPMDApplication" => {
            all.push((path, String::new()));
            path = above.to_owned();
        }
        "POSIXApplication" | "HPCProfileApplication" => path = above.to_owned(),
        "DataStaging" => {
            let file = element.elements().find(|inner| inner.name == "FileName");
            path += &format!("[{}]", file.map(Element::text).unwrap_or_default());
        }
        // A job of MPI has no limit but this.
        "RequestedTime" => {
            let seconds = text.trim_end_matches('s').to_owned();
            return all.push(("/Application/WallTimeLimit".to_owned(), seconds));
        }
        "FileName" => return,
        "CreationFlag" if text == "overwrite" => return,
        _ => {}
    }
    for attribute in &element.attributes {
        path += &format!("[{}={}]", attribute.name, attribute.value);
    }
    if element.elements().next().is_none() && !name.ends_with("Application") {
        all.push((path.clone(), text));
    }
    element.elements().for_each(|inner| walk(inner, &path, all));
}
