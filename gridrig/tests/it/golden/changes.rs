//! What was changed on purpose since the golden results were stored: read from
//! `gridrig/tests/golden/changes.toml`, which says how it is written.

use super::rows::{Run, Runs, Table};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What the rows of a table are known by, in today's names; without an entry it
/// is the first column. Rows with equal keys are told apart by their order.
#[derive(Debug, Default, Deserialize)]
pub struct Keys(BTreeMap<String, Vec<String>>);

impl Keys {
    pub fn of(&self, table: &str, columns: &[String]) -> Vec<String> {
        let first = columns.first().cloned().into_iter().collect();
        self.0.get(table).cloned().unwrap_or(first)
    }
}

/// The changes, of all kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    pub keys: Keys,
    run: Vec<Change>,
    table: Vec<Change>,
    column: Vec<Change>,
    value: Vec<Change>,
}

/// `before` and `after`: renamed; `before` alone: gone; `after` alone: new.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Of a column or value: its table, `*` for all.
    table: Option<String>,
    /// Of a value: its column.
    column: Option<String>,
    before: Option<String>,
    after: Option<String>,
    reason: String,
}

impl Changes {
    pub fn parse(text: &str) -> Self {
        let changes: Changes = toml::from_str(text).unwrap_or_else(|e| panic!("changes.toml: {e}"));
        for (kind, change) in changes.all() {
            assert!(
                !change.reason.trim().is_empty()
                    && (&change.before, &change.after) != (&None, &None),
                "changes.toml: [[{kind}]] {change:?}: expected before or after, and a reason"
            );
            let place = (change.table.is_some(), change.column.is_some());
            let expected = match kind {
                "column" => (true, false),
                "value" => (true, true),
                _ => (false, false),
            };
            assert_eq!(
                place, expected,
                "changes.toml: [[{kind}]] {change:?}: a column has a table, a value a table and a column"
            );
        }
        changes
    }

    fn all(&self) -> impl Iterator<Item = (&str, &Change)> {
        let kinds = [
            ("run", &self.run),
            ("table", &self.table),
            ("column", &self.column),
            ("value", &self.value),
        ];
        kinds
            .into_iter()
            .flat_map(|(kind, list)| list.iter().map(move |change| (kind, change)))
    }

    /// The name that a run has now; `None` if it is gone or, of a new one
    /// (`new`), if it was not there before.
    pub fn run(&self, name: &str, new: bool) -> Option<String> {
        renamed(self.run.iter(), name, new)
    }

    /// Older runs under today's names, without what is gone; or today's (`new`)
    /// without what is new.
    pub fn apply_to_all(&self, runs: Runs, new: bool) -> Runs {
        let renamed = runs.into_iter().filter_map(|(name, tables)| {
            let name = self.run(&name, new)?;
            Some((name, self.apply(tables, new)))
        });
        renamed.collect()
    }

    /// The same of the tables of one run.
    pub fn apply(&self, tables: Run, new: bool) -> Run {
        let renamed = tables.into_iter().filter_map(|(name, table)| {
            let name = renamed(self.table.iter(), &name, new)?;
            let table = self.table(&name, table, new);
            Some((name, table))
        });
        renamed.collect()
    }

    fn table(&self, name: &str, mut table: Table, new: bool) -> Table {
        let here = |change: &&Change| {
            let of = change.table.as_deref();
            of == Some("*") || of == Some(name)
        };
        let columns = || self.column.iter().filter(here);
        let names = table.columns.iter();
        let names: Vec<Option<String>> = names.map(|name| renamed(columns(), name, new)).collect();
        if names.contains(&None) {
            for row in &mut table.rows {
                let mut kept = names.iter().map(Option::is_some);
                row.retain(|_| kept.next().unwrap_or(true));
            }
        }
        table.columns = names.into_iter().flatten().collect();
        let values = self.value.iter().filter(here);
        for change in values {
            let column = table.columns.iter();
            let mut column = column
                .zip(0..)
                .filter(|(name, _)| Some(*name) == change.column.as_ref());
            let Some((_, at)) = column.next() else {
                continue;
            };
            table.rows.retain_mut(|row| {
                let value = renamed(std::iter::once(change), &row[at], new);
                value.map(|value| row[at] = value).is_some()
            });
        }
        table
    }
}

/// The name after the first change that is about it.
fn renamed<'a>(changes: impl Iterator<Item = &'a Change>, name: &str, new: bool) -> Option<String> {
    for change in changes {
        match (&change.before, &change.after, new) {
            (Some(before), after, false) => {
                if let Some(parts) = matched(before, name) {
                    return after.as_ref().map(|after| filled(after, &parts));
                }
            }
            (None, Some(after), true) if matched(after, name).is_some() => return None,
            _ => {}
        }
    }
    Some(name.to_owned())
}

/// What the stars of a pattern stand for: `*` for a part between dots or
/// slashes, `**` for as little as what follows allows, at the end for the rest.
fn matched<'a>(pattern: &str, name: &'a str) -> Option<Vec<&'a str>> {
    let Some((head, tail)) = pattern.split_once('*') else {
        return (pattern == name).then(Vec::new);
    };
    let rest = name.strip_prefix(head)?;
    let ends = match tail.strip_prefix('*') {
        None => vec![rest.find(['.', '/']).unwrap_or(rest.len())],
        Some("") => vec![rest.len()],
        Some(_) => rest.char_indices().map(|(at, _)| at).collect(),
    };
    let tail = tail.strip_prefix('*').unwrap_or(tail);
    ends.into_iter().find_map(|end| {
        let mut parts = vec![&rest[..end]];
        parts.extend(matched(tail, &rest[end..])?);
        Some(parts)
    })
}

/// The pattern with its stars filled in.
fn filled(pattern: &str, parts: &[&str]) -> String {
    let mut text = pattern.replace("**", "*");
    for part in parts {
        text = text.replacen('*', part, 1);
    }
    text
}
