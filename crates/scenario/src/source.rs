//! The text of a scenario with its overrides, and where each value stands.
//!
//! The overrides stand behind the file in one buffer, so that one span says
//! of any value, wherever it came from, where to look.

use super::error::{Place, Result, ScenarioError};
use super::nearest::hint;
use crate::document::Document;
use crate::reader::{self, Why};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest value that a message repeats, in characters.
const LONGEST_VALUE: usize = 80;

/// The texts a scenario is made of.
pub(crate) struct Source {
    file: String,
    buffer: String,
    file_end: usize,
    sets: Vec<Range<usize>>,
}

/// The tables, with spans into their source.
#[derive(Clone)]
pub(crate) struct Tables<'a> {
    pub(crate) source: &'a Source,
    pub(crate) root: Spanned<DeTable<'a>>,
}

impl Source {
    pub(crate) fn new(file: &str, text: &str, sets: &[String]) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut buffer = text.to_owned();
        let mut ranges = Vec::new();
        for set in sets {
            buffer.push('\n');
            let start = buffer.len();
            buffer.push_str(set);
            ranges.push(start..buffer.len());
        }
        Source {
            file: file.to_owned(),
            buffer,
            file_end: text.len(),
            sets: ranges,
        }
    }

    /// Reads the file and applies the overrides in order.
    pub(crate) fn parse(&self) -> Result<Tables<'_>> {
        let text = &self.buffer[..self.file_end];
        let root = DeTable::parse(text).map_err(|error| ScenarioError::Syntax {
            at: self.place(&error.span().unwrap_or(0..0)),
            problem: error.message().to_owned(),
        })?;
        let mut tables = Tables { source: self, root };
        for range in &self.sets {
            tables.set(range.clone())?;
        }
        if let Some(span) = too_deep(tables.root.get_ref()) {
            let at = self.place(&span);
            tables.take_apart();
            let problem = format!("more than {DEEPEST} tables and lists within each other");
            return Err(ScenarioError::Syntax { at, problem });
        }
        Ok(tables)
    }

    pub(crate) fn place(&self, span: &Range<usize>) -> Place {
        let holds = |set: &&Range<usize>| set.start <= span.start && span.start <= set.end;
        if let Some(set) = self.sets.iter().find(holds) {
            return Place::Set(self.buffer[set.clone()].to_owned());
        }
        let before = self.buffer.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place::File {
            file: self.file.clone(),
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
        }
    }
}

/// So deep are tables and lists at most, lest what goes through them takes all of the stack:
/// keys of 80 parts within 80 tables are TOML.
const DEEPEST: usize = 100;

/// Where something is that is too deep.
fn too_deep(root: &DeTable<'_>) -> Option<Range<usize>> {
    let mut left: Vec<(usize, &Spanned<DeValue<'_>>)> = root.values().map(|it| (1, it)).collect();
    while let Some((depth, value)) = left.pop() {
        if depth > DEEPEST {
            return Some(value.span());
        }
        match value.get_ref() {
            DeValue::Table(table) => left.extend(table.values().map(|it| (depth + 1, it))),
            DeValue::Array(list) => left.extend(list.iter().map(|it| (depth + 1, it))),
            _ => {}
        }
    }
    None
}

impl<'a> Tables<'a> {
    /// Drops the tables one by one.
    fn take_apart(self) {
        let values = |table: DeTable<'a>| table.into_iter().map(|(_, value)| value.into_inner());
        let mut left: Vec<DeValue<'a>> = values(self.root.into_inner()).collect();
        while let Some(value) = left.pop() {
            match value {
                DeValue::Table(table) => left.extend(values(table)),
                DeValue::Array(list) => left.extend(list.into_iter().map(Spanned::into_inner)),
                _ => {}
            }
        }
    }

    /// A value that is not what was expected.
    pub(crate) fn refuse(&self, span: &Range<usize>, expected: impl Into<String>) -> ScenarioError {
        let (field, value) = self.describe(span);
        ScenarioError::Value {
            at: self.source.place(span),
            field,
            value,
            expected: expected.into(),
        }
    }

    /// A key that has to be in the table at `span`.
    pub(crate) fn missing(&self, span: &Range<usize>, key: &str, expected: &str) -> ScenarioError {
        let table = self.find(span).map(|(path, _)| path);
        ScenarioError::MissingKey {
            at: self.source.place(span),
            key: table.map_or_else(|| key.to_owned(), |path| format!("{path}.{key}")),
            expected: expected.to_owned(),
        }
    }

    /// The path and the value at `span`, for messages.
    pub(crate) fn describe(&self, span: &Range<usize>) -> (String, String) {
        let Some((path, value)) = self.find(span) else {
            return ("scenario".to_owned(), "this file".to_owned());
        };
        let text = match value {
            DeValue::String(text) => format!("{text:?}"),
            DeValue::Table(_) => "a table".to_owned(),
            _ => self
                .source
                .buffer
                .get(span.clone())
                .unwrap_or_default()
                .to_owned(),
        };
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if one_line.chars().count() > LONGEST_VALUE {
            let start: String = one_line.chars().take(LONGEST_VALUE).collect();
            return (path, format!("{start}..."));
        }
        (path, one_line)
    }

    /// Where the value of this key of the table at `span` stands; the table's own
    /// place without it.
    pub(crate) fn key(&self, span: &Range<usize>, key: &str) -> Range<usize> {
        let table = self.find(span).and_then(|(_, value)| value.as_table());
        let value = table.and_then(|table| table.get(key));
        value.map_or_else(|| span.clone(), Spanned::span)
    }

    fn find(&self, span: &Range<usize>) -> Option<(String, &DeValue<'a>)> {
        let (mut steps, value) = find_in_table(self.root.get_ref(), span)?;
        steps.reverse();
        Some((steps.join("."), value))
    }

    /// The document, or what is wrong with it.
    pub(crate) fn document(&self) -> Result<Document> {
        reader::read(self.root.get_ref()).map_err(|refused| {
            let (span, why) = refused.into_parts();
            let span = span.unwrap_or(0..0);
            match why {
                Why::Unknown(key, keys) => ScenarioError::UnknownKey {
                    at: self.source.place(&span),
                    hint: hint(&key, keys),
                    key,
                },
                Why::Missing(key) => self.missing(&span, key, "it to be set"),
                Why::Other(problem) => self.unfit(&span, problem),
            }
        })
    }

    /// A value that is not what its type expects.
    fn unfit(&self, span: &Range<usize>, problem: String) -> ScenarioError {
        let words = problem.rsplit_once(", expected ");
        let known = in_words(words.map_or(&problem, |(_, expected)| expected));
        let Some(expected) = known.or(words.map(|(_, expected)| expected.to_owned())) else {
            let at = self.source.place(span);
            return ScenarioError::Syntax { at, problem };
        };
        // A list of tables stands where its first table does.
        match self.find(span) {
            Some((path, DeValue::Table(_))) if expected.starts_with("a table") => {
                let field = path.rsplit_once('.').map_or("scenario", |(field, _)| field);
                ScenarioError::Value {
                    at: self.source.place(span),
                    field: field.to_owned(),
                    value: "a list of tables".to_owned(),
                    expected,
                }
            }
            _ => self.refuse(span, expected),
        }
    }

    /// Applies the override that stands at `range` of the buffer.
    fn set(&mut self, range: Range<usize>) -> Result<()> {
        let set = &self.source.buffer[range.clone()];
        let refuse = |problem: String| ScenarioError::Set {
            set: set.to_owned(),
            problem,
        };
        let (path, value) = set
            .split_once('=')
            .ok_or_else(|| refuse("expected KEY=VALUE".to_owned()))?;
        let segments: Vec<&str> = path.trim().split('.').map(str::trim).collect();
        if segments.len() > DEEPEST || segments.iter().any(|segment| segment.is_empty()) {
            return Err(refuse(format!(
                "path {path:?}: expected at most {DEEPEST} names with dots between"
            )));
        }
        let value_start = range.end - value.len();
        let value = DeValue::parse(value.trim_start()).map_or_else(
            |_| {
                Spanned::new(
                    value_start..range.end,
                    DeValue::String(Cow::Borrowed(value)),
                )
            },
            |parsed| shifted(parsed, value_start + value.len() - value.trim_start().len()),
        );
        let raw = &self.source.buffer[value_start..range.end];
        let slot = Slot { range, raw };
        slot.set_in_table(self.root.get_mut(), &segments, value)
            .map_err(refuse)
    }
}

/// What `serde` and `toml` call what is expected, and what it is here.
const WORDS: [(&str, &str); 5] = [
    ("a map", "a table"),
    ("a sequence", "a list"),
    ("an array of length", "a list of length"),
    (
        "any valid TOML value",
        "no date, and no number beyond 64 bits",
    ),
    ("u64 value was too large", "at most 9223372036854775807"),
];

fn in_words(expected: &str) -> Option<String> {
    let word =
        |(theirs, ours): &(&str, &str)| Some(format!("{ours}{}", expected.strip_prefix(theirs)?));
    WORDS.iter().find_map(word)
}

/// What stands for every element of a list in the path of an override.
const EVERY: &str = "*";

/// One override while its path is walked.
struct Slot<'a> {
    /// The whole `KEY=VALUE`, which is the span of tables made on the way.
    range: Range<usize>,
    /// The value as written.
    raw: &'a str,
}

impl<'a> Slot<'a> {
    fn set_in_table(
        &self,
        table: &mut DeTable<'a>,
        path: &[&'a str],
        value: Spanned<DeValue<'a>>,
    ) -> Result<(), String> {
        let [key, rest @ ..] = path else {
            return Ok(());
        };
        let span = self.range.start..self.range.start;
        if let Some(slot) = table.get_mut(*key) {
            return self.set_in_value(slot, key, rest, value);
        }
        let fresh = if rest.is_empty() {
            value
        } else {
            let mut inner = DeTable::new();
            self.set_in_table(&mut inner, rest, value)?;
            Spanned::new(self.range.clone(), DeValue::Table(inner))
        };
        // Whether the key means anything is for the typed reader to say,
        // which knows all names.
        table.insert(Spanned::new(span, Cow::Borrowed(*key)), fresh);
        Ok(())
    }

    fn set_in_value(
        &self,
        slot: &mut Spanned<DeValue<'a>>,
        key: &str,
        rest: &[&'a str],
        value: Spanned<DeValue<'a>>,
    ) -> Result<(), String> {
        if rest.is_empty() {
            // A name or a path may look like a number: where a string was, a
            // plain value stays a string.
            let plain = !matches!(
                value.get_ref(),
                DeValue::String(_) | DeValue::Array(_) | DeValue::Table(_)
            );
            *slot = if plain && slot.get_ref().is_str() {
                Spanned::new(value.span(), DeValue::String(Cow::Borrowed(self.raw)))
            } else {
                value
            };
            return Ok(());
        }
        match slot.get_mut() {
            DeValue::Table(table) => self.set_in_table(table, rest, value),
            DeValue::Array(list) => self.set_in_list(list, key, rest, value),
            other => {
                let kind = other.type_str();
                Err(format!(
                    "`{key}` is a {kind}: expected a table to set `{}` in",
                    rest[0]
                ))
            }
        }
    }

    fn set_in_list(
        &self,
        list: &mut [Spanned<DeValue<'a>>],
        key: &str,
        rest: &[&'a str],
        value: Spanned<DeValue<'a>>,
    ) -> Result<(), String> {
        let [segment, deeper @ ..] = rest else {
            return Ok(());
        };
        if *segment == EVERY && !list.is_empty() {
            let mut items = list.iter_mut();
            return items.try_for_each(|item| self.set_in_value(item, key, deeper, value.clone()));
        }
        let names: Vec<String> = list
            .iter()
            .filter_map(|item| name_of(item.get_ref()))
            .collect();
        let by_name = list
            .iter()
            .position(|item| name_of(item.get_ref()).as_deref() == Some(*segment));
        let by_index = || segment.parse().ok().filter(|index| *index < list.len());
        if let Some(index) = by_name.or_else(by_index) {
            return self.set_in_value(&mut list[index], segment, deeper, value);
        }
        if let [only] = list
            && only.get_ref().is_table()
            && segment.parse::<usize>().is_err()
        {
            return self.set_in_value(only, key, rest, value);
        }
        let last = list.len().saturating_sub(1);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() {
            return Err(format!(
                "unknown element `{segment}` of `{key}`: expected an index from 0 to {last}"
            ));
        }
        Err(format!(
            "unknown element `{segment}` of `{key}`{}",
            hint(segment, &names)
        ))
    }
}

fn name_of(value: &DeValue<'_>) -> Option<String> {
    let name = value.as_table()?.get("name")?;
    name.get_ref().as_str().map(str::to_owned)
}

/// The same value, its spans moved up.
fn shifted<'a>(value: Spanned<DeValue<'a>>, by: usize) -> Spanned<DeValue<'a>> {
    let moved = |span: Range<usize>| span.start + by..span.end + by;
    let span = moved(value.span());
    let value = match value.into_inner() {
        DeValue::Array(list) => {
            DeValue::Array(list.into_iter().map(|item| shifted(item, by)).collect())
        }
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| {
                let key = Spanned::new(moved(key.span()), key.into_inner());
                (key, shifted(value, by))
            });
            DeValue::Table(entries.collect())
        }
        plain => plain,
    };
    Spanned::new(span, value)
}

/// The value at `span` with its path, the last step first.
fn find_in_table<'t, 'a>(
    table: &'t DeTable<'a>,
    span: &Range<usize>,
) -> Option<(Vec<String>, &'t DeValue<'a>)> {
    table.iter().find_map(|(key, value)| {
        let (mut steps, value) = find_in_value(value, span)?;
        steps.push(key.get_ref().to_string());
        Some((steps, value))
    })
}

fn find_in_value<'t, 'a>(
    value: &'t Spanned<DeValue<'a>>,
    span: &Range<usize>,
) -> Option<(Vec<String>, &'t DeValue<'a>)> {
    let within = match value.get_ref() {
        DeValue::Table(table) => find_in_table(table, span),
        DeValue::Array(list) => list.iter().enumerate().find_map(|(index, item)| {
            let (mut steps, value) = find_in_value(item, span)?;
            steps.push(name_of(item.get_ref()).unwrap_or_else(|| index.to_string()));
            Some((steps, value))
        }),
        _ => None,
    };
    within.or_else(|| (value.span() == *span).then_some((Vec::new(), value.get_ref())))
}
