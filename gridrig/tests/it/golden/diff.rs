//! Two runs compared row by row.

use super::changes::Keys;
use super::rows::{Run, Runs, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One cell, row, column or table that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub run: String,
    pub table: String,
    /// What the row is about, such as `job_id=3 event=started`.
    pub row: String,
    pub column: String,
    pub before: String,
    pub after: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            run,
            table,
            row,
            column,
            before,
            after,
        } = self;
        write!(f, "{run}\t{table}\t{row}\t{column}\t{before}\t{after}")
    }
}

impl Difference {
    /// In words.
    pub fn told(&self) -> String {
        let Difference {
            run,
            table,
            row,
            column,
            before,
            after,
        } = self;
        format!("{run} {table}, {row}: {column} {before} -> {after}")
    }
}

/// Puts the rows of all tables in the order of their jobs. What happened to a
/// job stays in its order.
pub fn sort(runs: &mut Runs, keys: &Keys) {
    for (name, table) in runs.values_mut().flatten() {
        let key = keys.of(name, &table.columns);
        let key = places(&key, &table.columns);
        sort_rows(&mut table.rows, &key);
    }
}

fn sort_rows<R: AsRef<[String]>>(rows: &mut [R], key: &[usize]) {
    if let Some(first) = key.first() {
        rows.sort_by_key(|row| row.as_ref()[*first].parse::<u64>().ok());
    }
}

fn places(key: &[String], columns: &[String]) -> Vec<usize> {
    let place = |name: &String| columns.iter().position(|column| column == name);
    key.iter().filter_map(place).collect()
}

/// All that differs between the runs of one scenario.
pub fn of_all(before: &Runs, after: &Runs, keys: &Keys) -> Vec<Difference> {
    let none = Run::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let runs = names.into_iter();
    runs.flat_map(|run| {
        let get = |runs: &'_ Runs| runs.get(run).unwrap_or(&none).clone();
        of_runs(run, &get(before), &get(after), keys)
    })
    .collect()
}

/// All that differs between two runs.
pub fn of_runs(run: &str, before: &Run, after: &Run, keys: &Keys) -> Vec<Difference> {
    let mut found = Vec::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let mut differ = |row: String, column: &str, before: String, after: String| {
            found.push(Difference {
                run: run.to_owned(),
                table: name.clone(),
                row,
                column: column.to_owned(),
                before,
                after,
            });
        };
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) if before == after => {}
            (Some(before), Some(after)) => {
                let key = keys.of(name, &after.columns);
                tables(&key, before, after, &mut differ);
            }
            (before, after) => {
                let rows =
                    |table: Option<&Table>| table.map(|table| format!("{} rows", table.rows.len()));
                let shown = |table| rows(table).unwrap_or_else(|| "no such table".to_owned());
                differ(String::new(), "", shown(before), shown(after));
            }
        }
    }
    found
}

fn tables(
    key: &[String],
    before: &Table,
    after: &Table,
    differ: &mut impl FnMut(String, &str, String, String),
) {
    if before.columns != after.columns {
        let (b, a) = (before.columns.join(","), after.columns.join(","));
        differ("columns".to_owned(), "", b, a);
    }
    let (old, new) = (Keyed::of(key, before), Keyed::of(key, after));
    let columns: Vec<(&String, usize, usize)> = before
        .columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| {
            let there = after.columns.iter().position(|other| other == column)?;
            Some((column, at, there))
        })
        .collect();
    let mut place = None;
    for (key, row) in &old.rows {
        match new.places.get(key) {
            None => differ(key.clone(), "", row.join(" "), "no such row".to_owned()),
            Some(&at) => {
                let other = new.rows[at].1;
                for (column, b, a) in &columns {
                    if row[*b] != other[*a] {
                        differ(key.clone(), column, row[*b].clone(), other[*a].clone());
                    }
                }
                if place.is_some_and(|place| at < place) {
                    let last = &new.rows[place.unwrap_or_default()].0;
                    let (b, a) = (format!("after {last}"), format!("before {last}"));
                    differ(key.clone(), "order of rows", b, a);
                }
                place = place.max(Some(at));
            }
        }
    }
    for (key, row) in &new.rows {
        if !old.places.contains_key(key) {
            differ(key.clone(), "", "no such row".to_owned(), row.join(" "));
        }
    }
}

/// Rows by what they are known by.
struct Keyed<'a> {
    rows: Vec<(String, &'a Vec<String>)>,
    places: BTreeMap<String, usize>,
}

impl<'a> Keyed<'a> {
    fn of(key: &[String], table: &'a Table) -> Self {
        let key = places(key, &table.columns);
        let mut rows: Vec<&Vec<String>> = table.rows.iter().collect();
        sort_rows(&mut rows, &key);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut keyed = Keyed {
            rows: Vec::new(),
            places: BTreeMap::new(),
        };
        for row in rows {
            let parts = key
                .iter()
                .map(|at| format!("{}={}", table.columns[*at], row[*at]));
            let mut text = parts.collect::<Vec<_>>().join(" ");
            let count = counts.entry(text.clone()).or_default();
            *count += 1;
            if *count > 1 {
                text.push_str(&format!(" ({count})"));
            }
            keyed.places.insert(text.clone(), keyed.rows.len());
            keyed.rows.push((text, row));
        }
        keyed
    }
}
