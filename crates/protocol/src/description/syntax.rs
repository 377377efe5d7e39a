//! What the syntaxes have in common: a description is a list of relations between
//! attributes and values.

use super::{DescriptionError, Lost};
use crate::xml::excerpt;

/// Deepest nesting of parentheses, brackets and braces.
pub const MAX_DEPTH: usize = 32;
/// Most attributes of one document.
pub const MAX_ATTRIBUTES: usize = 10_000;
/// Most jobs of one document.
pub const MAX_JOBS: usize = 1000;

pub(super) type Read<T> = Result<T, DescriptionError>;

/// One value: a text or a number, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
}

impl Value {
    pub(super) fn list<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        let texts = texts.into_iter().map(|text| Value::Text(text.into()));
        Value::List(texts.collect())
    }

    /// The text that it is.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::List(list) => format!("({})", shown(list)),
        }
    }
}

/// The texts of a list that has nothing else.
pub(super) fn texts(values: &[Value]) -> Option<Vec<&str>> {
    values.iter().map(Value::text).collect()
}

fn shown(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(Value::shown).collect();
    values.join(" ")
}

/// An attribute with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) line: usize,
    pub(super) name: String,
    /// One of `OPERATORS`.
    pub(super) op: &'static str,
    pub(super) values: Vec<Value>,
}

/// How an attribute stands to its values, longer signs first.
pub(super) const OPERATORS: [&str; 6] = ["!=", "<=", ">=", "=", "<", ">"];

impl Relation {
    pub(super) fn new(line: usize, name: String, op: &'static str, values: Vec<Value>) -> Self {
        Relation {
            line,
            name,
            op,
            values,
        }
    }

    /// What is lost of it, and why.
    pub(super) fn lost(&self, why: &str) -> Lost {
        let sign = self.op.strip_prefix('=').unwrap_or(self.op);
        let value = format!("{sign}{}", shown(&self.values));
        Lost::of(self.line, &self.name, &value, why)
    }

    /// It is none of what is expected.
    pub(super) fn wrong(&self, expected: &str) -> DescriptionError {
        let (name, op) = (excerpt(&self.name), self.op);
        let value = excerpt(&shown(&self.values));
        let text = format!("attribute {name} {op} {value:?}: expected {expected}");
        DescriptionError::at(self.line, &text)
    }
}

/// What one job is asked for in, before anybody knows what it means.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) relations: Vec<Relation>,
    /// What the syntax itself leaves out.
    pub(super) lost: Vec<Lost>,
}

/// A place in a text.
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
    pub(super) line: usize,
    pub(super) depth: usize,
    attributes: usize,
    /// How comments begin and end.
    comments: &'static [(&'static str, &'static str)],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(rest: &'a str, comments: &'static [(&'static str, &'static str)]) -> Self {
        Cursor {
            rest,
            line: 1,
            depth: 0,
            attributes: 0,
            comments,
        }
    }

    pub(super) fn wrong<T>(&self, expected: &str) -> Read<T> {
        let found: String = self.rest.chars().take(20).collect();
        let text = format!("at {found:?}: expected {expected}");
        Err(DescriptionError::at(self.line, &text))
    }

    /// Goes on by so many bytes.
    pub(super) fn skip(&mut self, bytes: usize) -> &'a str {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
        skipped
    }

    /// Goes on to the first character that is like this.
    pub(super) fn until(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        self.skip(self.rest.find(ends).unwrap_or(self.rest.len()))
    }

    /// Goes on over blanks and comments.
    pub(super) fn space(&mut self) -> Read<()> {
        loop {
            self.until(|c| !c.is_whitespace());
            let mut comments = self.comments.iter();
            let Some((begin, end)) = comments.find(|(begin, _)| self.rest.starts_with(begin))
            else {
                return Ok(());
            };
            let length = self.rest[begin.len()..].find(end);
            match length {
                Some(length) => self.skip(begin.len() + length + end.len()),
                None if *end == "\n" => self.skip(self.rest.len()),
                None => return self.wrong(&format!("a comment that ends with {end}")),
            };
        }
    }

    /// Goes on over this, if it is what follows.
    pub(super) fn takes(&mut self, wanted: &str) -> Read<bool> {
        self.space()?;
        let is_there = self.rest.starts_with(wanted);
        self.skip(if is_there { wanted.len() } else { 0 });
        Ok(is_there)
    }

    pub(super) fn expect(&mut self, wanted: &str) -> Read<()> {
        match self.takes(wanted)? {
            true => Ok(()),
            false => self.wrong(wanted),
        }
    }

    pub(super) fn deeper(&mut self) -> Read<()> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => self.wrong(&format!("at most {MAX_DEPTH} levels of brackets")),
            false => Ok(()),
        }
    }

    /// The name of one more attribute.
    pub(super) fn name(&mut self) -> Read<String> {
        self.space()?;
        self.attributes += 1;
        if self.attributes > MAX_ATTRIBUTES {
            return self.wrong(&format!("at most {MAX_ATTRIBUTES} attributes"));
        }
        let name = self.until(|c| !c.is_alphanumeric() && c != '_');
        match name.is_empty() {
            true => self.wrong("the name of an attribute"),
            false => Ok(name.to_owned()),
        }
    }
}
