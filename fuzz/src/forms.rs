//! Documents that are wrong in one place of a type, and documents with other good values.
//!
//! `Deserialize` of a struct reads it from a table, and in JSON from an array of its values, too,
//! and drops at a mistake what it has read by then: a few branches for each field of each
//! struct, which changes of whole documents reach one at a time. So each struct is written here
//! with each of its fields wrong, missing and last, in a document with nothing else.
//! What a document means is decided later, and depends on what else is there: so each good
//! value of a type stands in each place for it in the documents that a target begins with.

use crate::shape::{self, Shape};
use crate::values::{TOML, VALUES};
use crate::words;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// What documents are written in.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Toml,
    Json,
}

impl Format {
    /// What an element of a struct is in the place of a good value: each kind of value.
    fn wrong(self) -> [Node; 8] {
        let of = match self {
            Format::Toml => [
                "\"\\n\"",
                "'-'",
                "-7",
                "-0.5",
                "true",
                "[[]]",
                "{ \"\" = 0 }",
                "07:32:00",
            ],
            Format::Json => [
                "\"\\n\"", "\"-\"", "-7", "-0.5", "true", "[[]]", "{\"\":0}", "null",
            ],
        };
        of.map(Node::text)
    }

    /// What any value can be instead.
    fn values(self) -> impl Iterator<Item = &'static str> {
        let own = if self == Format::Toml { TOML } else { &[] };
        let all = own.iter().chain(VALUES);
        all.filter_map(|value| std::str::from_utf8(value).ok())
    }

    fn written(self, node: &Node) -> String {
        match node {
            Node::Text(text) => text.clone(),
            Node::Table(table) => {
                let all: Vec<String> = table.iter().map(|one| self.line(one)).collect();
                format!("{{{}}}", all.join(","))
            }
            Node::List(list) => {
                let all: Vec<String> = list.iter().map(|one| self.written(one)).collect();
                format!("[{}]", all.join(","))
            }
        }
    }

    fn line(self, (key, value): &(String, Node)) -> String {
        let value = self.written(value);
        match self {
            _ if key.starts_with('"') && self == Format::Toml => format!("{key}={value}"),
            _ if key.starts_with('"') => format!("{key}:{value}"),
            Format::Toml => format!("{}={value}", Value::String(key.clone())),
            Format::Json => format!("{}:{value}", serde_json::Value::String(key.clone())),
        }
    }

    /// As a whole document, up to where it is cut.
    fn document(self, node: &Node) -> Vec<u8> {
        let mut text = match (self, node) {
            (Format::Toml, Node::Table(table)) => {
                let lines = table.iter().map(|one| self.line(one) + "\n");
                lines.collect()
            }
            _ => self.written(node),
        };
        text.truncate(text.find(CUT).unwrap_or(text.len()));
        text.into_bytes()
    }
}

/// So many good values of a type are tried in each place of a document.
const TRIED: usize = 24;

/// So long are the values that types are offered, at most.
const LONGEST: usize = 60;

/// Where a document ends, whatever comes then.
const CUT: char = '\0';

/// Documents, each made when it is its turn.
pub type Texts = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Makes the documents of a type, some of them out of those that a target begins with.
pub type Forms = fn(&[Vec<u8>]) -> Texts;

/// A value, or what stands for one.
#[derive(Clone)]
enum Node {
    Text(String),
    Table(Vec<(String, Node)>),
    List(Vec<Node>),
}

impl Node {
    fn of(value: &Value) -> Self {
        match value {
            Value::Table(table) => {
                let all = table.iter();
                Node::Table(
                    all.map(|(key, value)| (key.clone(), Node::of(value)))
                        .collect(),
                )
            }
            Value::Array(list) => Node::List(list.iter().map(Node::of).collect()),
            value => Node::Text(value.to_string()),
        }
    }

    fn text(text: &str) -> Self {
        Node::Text(text.to_owned())
    }

    fn table(of: &[(&str, Node)]) -> Self {
        let all = of.iter().cloned();
        Node::Table(all.map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn of_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Object(table) => {
                let all = table.iter();
                let all = all.map(|(key, value)| (key.clone(), Node::of_json(value)));
                Node::Table(all.collect())
            }
            serde_json::Value::Array(list) => Node::List(list.iter().map(Node::of_json).collect()),
            value => Node::Text(value.to_string()),
        }
    }
}

/// A key as it is written with an escape: a reader of JSON passes it on otherwise than one
/// without.
fn escaped(key: &str) -> String {
    let mut characters = key.chars();
    let first = characters.next().map(u32::from).unwrap_or_default();
    format!("\"\\u{first:04x}{}\"", characters.as_str())
}

impl Shape {
    /// A good value, the first or another.
    fn good(&self, which: usize) -> Node {
        match self {
            Shape::Table(fields) => {
                let all = fields.iter();
                Node::Table(
                    all.map(|(key, shape)| ((*key).to_owned(), shape.good(which)))
                        .collect(),
                )
            }
            Shape::Map(key, item) => Node::table(&[(key, item.good(which))]),
            Shape::List(item) => Node::List(vec![item.good(which), item.good(which + 1)]),
            Shape::Value(good) => {
                let one = good.get(which.checked_rem(good.len()).unwrap_or(0));
                Node::Text(one.cloned().unwrap_or_else(|| "0".to_owned()))
            }
        }
    }
}

/// All forms of a type that is a whole document, and good values in these.
pub fn forms<T: DeserializeOwned>(documents: &[Vec<u8>]) -> Texts {
    all::<T>(Format::Toml, tables(documents))
}

/// The same of a type that is a document in JSON.
pub fn json_forms<T: DeserializeOwned>(documents: &[Vec<u8>]) -> Texts {
    let read = |text: &Vec<u8>| serde_json::from_slice(text).ok();
    let documents = documents.iter().filter_map(read);
    let documents = documents.map(|document| Node::of_json(&document));
    all::<T>(Format::Json, documents.collect())
}

fn all<T: DeserializeOwned>(format: Format, documents: Vec<Node>) -> Texts {
    let shape = shape::of::<T>(&offers(format, &documents));
    let mut texts = Vec::new();
    wrong(format, &shape, &|node| node, &mut |node| {
        texts.push(format.document(&node))
    });
    let of_document = move |whole: Node| {
        let mut texts = Vec::new();
        others(&shape, &whole, &|node| node, &mut |node| {
            texts.push(format.document(&node))
        });
        texts
    };
    Box::new(
        texts
            .into_iter()
            .chain(documents.into_iter().flat_map(of_document)),
    )
}

/// All forms of a type that stands at `@` of a text.
pub fn forms_within<T: DeserializeOwned>(text: &str, documents: &[Vec<u8>]) -> Texts {
    let format = Format::Toml;
    let shape = shape::of::<T>(&offers(format, &tables(documents)));
    let mut texts = Vec::new();
    wrong(format, &shape, &|node| node, &mut |node| {
        texts.push(text.replace('@', &format.written(&node)).into_bytes());
    });
    Box::new(texts.into_iter())
}

fn tables(documents: &[Vec<u8>]) -> Vec<Node> {
    let read = |text: &Vec<u8>| toml::from_str(std::str::from_utf8(text).ok()?).ok();
    let tables = documents.iter().filter_map(read);
    tables
        .map(|table: Table| Node::of(&Value::Table(table)))
        .collect()
}

/// Values that a type may like: those of the documents, some, and the words of the format.
fn offers(format: Format, documents: &[Node]) -> Vec<String> {
    fn look(format: Format, node: &Node, found: &mut Vec<String>) {
        found.push(format.written(node));
        match node {
            Node::List(list) => list.iter().for_each(|it| look(format, it, found)),
            Node::Table(table) => table.iter().for_each(|(_, it)| look(format, it, found)),
            Node::Text(_) => {}
        }
    }
    let mut found = Vec::new();
    documents.iter().for_each(|it| look(format, it, &mut found));
    found.retain(|text| text.len() <= LONGEST);
    let word = |word: &&[u8]| Some(format!("{:?}", std::str::from_utf8(word).ok()?));
    found.extend(words().iter().filter_map(word));
    found.extend(format.values().map(str::to_owned));
    let mut seen = std::collections::HashSet::new();
    found.retain(|offer| seen.insert(offer.clone()));
    found
}

/// Documents that are wrong in one place, which is put in by `within`.
fn wrong(format: Format, shape: &Shape, within: &dyn Fn(Node) -> Node, put: &mut dyn FnMut(Node)) {
    for text in format.values() {
        put(within(Node::text(text)));
    }
    match shape {
        Shape::Value(good) => good.iter().for_each(|it| put(within(Node::text(it)))),
        Shape::List(item) => {
            let good: Vec<Node> = (0..3).map(|which| item.good(which)).collect();
            for many in 0..=good.len() {
                put(within(Node::List(good[..many].to_vec())));
                for bad in format.wrong() {
                    put(within(Node::List([&good[..many], &[bad]].concat())));
                }
            }
            wrong(format, item, &|node| within(Node::List(vec![node])), put);
        }
        Shape::Map(key, item) => {
            for bad in format.wrong() {
                put(within(Node::table(&[
                    (key, item.good(0)),
                    ("2", bad.clone()),
                ])));
                put(within(Node::table(&[(key, bad)])));
            }
            put(within(Node::table(&[(&escaped(key), item.good(0))])));
            for other in ["", "\n", "2", "0", "-", "\u{e4}", "gpu:1", "\"\\n\""] {
                put(within(Node::table(&[
                    (key, item.good(0)),
                    (other, item.good(1)),
                ])));
            }
            wrong(
                format,
                item,
                &|node| within(Node::table(&[(key, node)])),
                put,
            );
        }
        Shape::Table(fields) => {
            for which in 0..3 {
                wrong_fields(format, fields, which, &mut |node| put(within(node)));
            }
            if format == Format::Json {
                cut_fields(format, fields, &mut |node| put(within(node)));
            }
            for (key, item) in fields {
                wrong(
                    format,
                    item,
                    &|node| within(Node::table(&[(key, node)])),
                    put,
                );
            }
        }
    }
}

/// A struct as a table, and in JSON as an array, good up to one of its fields.
fn wrong_fields(format: Format, fields: &[(&str, Shape)], which: usize, put: &mut dyn FnMut(Node)) {
    let all: Vec<(&str, Node)> = fields
        .iter()
        .map(|(key, it)| (*key, it.good(which)))
        .collect();
    let list = |of: &[(&str, Node)]| {
        of.iter()
            .map(|(_, value)| value.clone())
            .collect::<Vec<_>>()
    };
    put(Node::table(&all));
    for (at, (key, _)) in all.iter().enumerate() {
        let (before, behind) = (&all[..at], &all[at + 1..]);
        let reversed: Vec<_> = behind.iter().rev().cloned().collect();
        put(Node::table(&[before, behind].concat()));
        put(Node::table(&[before, &[("x", Node::text("0"))]].concat()));
        put(Node::table(
            &[&all[at..at + 1], &[("x", Node::text("0"))]].concat(),
        ));
        put(Node::table(
            &[before, &[("\"\\n\"", Node::text("0"))]].concat(),
        ));
        put(Node::table(
            &[before, &[(&*escaped(key), all[at].1.clone())]].concat(),
        ));
        for bad in format.wrong() {
            let one = [(*key, bad.clone())];
            put(Node::table(&[before, &one].concat()));
            put(Node::table(&[before, &one, behind].concat()));
            put(Node::table(&[(&*escaped(key), bad.clone())]));
            put(Node::table(&[&reversed[..], &one].concat()));
            if format == Format::Json {
                put(Node::List([list(before), vec![bad]].concat()));
            }
        }
        if format == Format::Json {
            put(Node::List(list(before)));
        }
    }
    if format == Format::Json {
        put(Node::List(list(&all)));
        put(Node::List([list(&all), vec![Node::text("0")]].concat()));
    }
}

/// A struct of JSON with each kind of space at each of its fields, and with the end of the text
/// there. A reader of TOML has passed these before it asks for a type.
fn cut_fields(format: Format, fields: &[(&str, Shape)], put: &mut dyn FnMut(Node)) {
    let all = fields.iter().map(|(key, it)| {
        let value = format.written(&it.good(0));
        (format!("\"{key}\""), value)
    });
    let (mut list, mut table) = (String::from("["), String::from("{"));
    for (key, value) in all {
        for space in ["", " ", "\t", "\n", "\r"] {
            let in_list = [space, &value, space];
            let in_table = [space, &key, space, ":", space, &value, space];
            for (before, parts) in [(&list, &in_list[..]), (&table, &in_table[..])] {
                for many in 1..=parts.len() {
                    put(Node::Text(format!(
                        "{before}{}{CUT}",
                        parts[..many].concat()
                    )));
                }
                let close = if before.starts_with('[') { "]" } else { "}" };
                put(Node::Text(format!("{before}{}{close}", parts.concat())));
                put(Node::Text(format!(
                    "{before}{},{space}{CUT}",
                    parts.concat()
                )));
            }
        }
        list += &format!("{value},");
        table += &format!("{key}:{value},");
    }
}

/// A document with another good value in one place, and with a key or an element more or
/// less.
fn others(shape: &Shape, node: &Node, within: &dyn Fn(Node) -> Node, put: &mut dyn FnMut(Node)) {
    match (shape, node) {
        (Shape::Table(fields), Node::Table(table)) => {
            for (at, (key, value)) in table.iter().enumerate() {
                let with = |value: Option<Node>| {
                    let (mut table, key) = (table.clone(), key.clone());
                    table.splice(at..=at, value.map(|value| (key, value)));
                    within(Node::Table(table))
                };
                put(with(None));
                if let Some((_, shape)) = fields.iter().find(|(name, _)| name == key) {
                    others(shape, value, &|value| with(Some(value)), put);
                }
            }
            let is_new = |key: &str| table.iter().all(|(name, _)| name != key);
            for (key, shape) in fields.iter().filter(|(key, _)| is_new(key)) {
                for which in 0..3 {
                    let more = [(String::from(*key), shape.good(which))];
                    put(within(Node::Table([&table[..], &more].concat())));
                }
            }
        }
        (Shape::Map(_, shape), Node::Table(table)) => {
            for (at, (key, value)) in table.iter().enumerate() {
                let with = |key: &str, value: Node| {
                    let mut table = table.clone();
                    table[at] = (key.to_owned(), value);
                    within(Node::Table(table))
                };
                for other in ["x", "1", "7", "65", "a", "none", "gpu:1"] {
                    put(with(other, value.clone()));
                }
                others(shape, value, &|value| with(key, value), put);
            }
            put(within(Node::Table(Vec::new())));
        }
        (Shape::List(shape), Node::List(list)) => {
            for (at, value) in list.iter().enumerate() {
                let with = |values: Vec<Node>| {
                    let mut list = list.clone();
                    list.splice(at..=at, values);
                    within(Node::List(list))
                };
                put(with(Vec::new()));
                put(with(vec![value.clone(), value.clone()]));
                others(shape, value, &|value| with(vec![value]), put);
            }
        }
        // The one table of a list that may be written so.
        (Shape::List(shape), value @ Node::Table(_)) => others(shape, value, within, put),
        (Shape::Value(good), _) => {
            for text in good.iter().take(TRIED) {
                put(within(Node::text(text)));
            }
        }
        _ => {}
    }
}
