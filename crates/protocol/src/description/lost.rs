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
    let missing: Vec<_> = leaves(of)
        .into_iter()
        .filter(|(path, value)| {
            let same = found.get_mut(path);
            let at = same
                .as_ref()
                .and_then(|same| same.iter().position(|it| it == value));
            at.zip(same).map(|(at, same)| same.remove(at)).is_none()
        })
        .collect();
    let missing = missing.into_iter().map(|(path, value)| {
        let other = found.get_mut(&path).and_then(Vec::pop);
        let why = other.map_or_else(|| "no counterpart".to_owned(), |it| format!("becomes {it}"));
        Lost::of(0, &format!("{prefix}{path}"), &value, &why)
    });
    missing.collect()
}

/// Every text of a document with its path.
fn leaves(job: &JobDefinition) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for description in job.element().elements() {
        for part in description.elements() {
            walk(part, "", &mut all);
        }
    }
    let id = job.id.iter().map(|id| ("id".to_owned(), id.clone()));
    all.extend(id);
    all
}

fn walk(element: &Element, above: &str, all: &mut Vec<(String, String)>) {
    let mut path = match above {
        "" => element.name.to_string(),
        above => format!("{above}/{}", element.name),
    };
    // Three forms of a program have the same elements.
    if let Some(form) = element
        .name
        .strip_suffix("Application")
        .filter(|form| !form.is_empty())
    {
        path = above.to_owned();
        if form == "SPMD" {
            all.push((path.clone() + "/SPMDApplication", String::new()));
        }
    }
    for attribute in &element.attributes {
        path += &format!("[{}={}]", attribute.name, attribute.value);
    }
    let (name, mut text) = (&*element.name, element.text());
    if name == "DataStaging" {
        let file = element.elements().find(|inner| inner.name == "FileName");
        path += &format!("[{}]", file.map(Element::text).unwrap_or_default());
    }
    if name == "RequestedTime" {
        // A job of MPI has no limit but this.
        path = "Application/WallTimeLimit".to_owned();
        text = text.trim_end_matches('s').to_owned();
    }
    let says_nothing = name == "FileName" || text == "overwrite" || name.ends_with("Application");
    if element.elements().next().is_none() && !says_nothing {
        all.push((path.clone(), text));
    }
    element.elements().for_each(|inner| walk(inner, &path, all));
}
