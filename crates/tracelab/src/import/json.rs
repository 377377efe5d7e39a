//! Rows of a JSON document: the objects of a list.

use super::rows::{Log, Rows};
use crate::error::{Result, TraceError};
use csv::ByteRecord;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::iter::Enumerate;
use std::vec::IntoIter;

/// A document is held in memory, and takes some times its size there.
const MAX_BYTES: u64 = 256 << 20;

/// Opens a document whose list is under the key `records`, or is the document. A column is
/// the path to a value of a row: `attempts.0.start_time`, `attempts.last.end_time`;
/// `gpus.count` is the number of entries, also of all lists below `*`. With `$.` the path
/// begins at the document, and `{profile}` is what the row has under that key.
pub(super) fn open(
    input: impl Read,
    file: String,
    records: Option<&str>,
    wanted: &[&str],
) -> Result<Log> {
    let refuse = |problem| TraceError::file(&file, problem);
    let mut input = BufReader::new(input.take(MAX_BYTES));
    let root = serde_json::from_reader(&mut input);
    let root: Value = root.map_err(|error| match error.is_io() {
        true => refuse(format!(
            "the compressed data is damaged, or cannot be read: {error}"
        )),
        false if input.get_ref().limit() == 0 => refuse(format!(
            "JSON of more than {MAX_BYTES} bytes: expected less"
        )),
        false => TraceError::line(
            &file,
            error.line() as u64,
            format!("{error}: expected JSON"),
        ),
    })?;
    let list = records.map_or(Some(&root), |key| root.get(key));
    let Some(rows) = list.and_then(Value::as_array) else {
        let place = records.map_or(String::new(), |key| format!(" under \"{key}\""));
        return Err(refuse(format!("no list{place}: expected one of jobs")));
    };
    let keys = |value: &Value| -> Vec<String> {
        let object = value.as_object().into_iter();
        object.flat_map(|object| object.keys().cloned()).collect()
    };
    let of_rows: BTreeSet<String> = rows.iter().flat_map(keys).collect();
    let of_root = keys(&root).into_iter().map(|key| format!("$.{key}"));
    let columns: Vec<String> = of_rows.into_iter().chain(of_root).collect();
    let is_there = |path: &&&str| {
        let steps = if path.starts_with("$.") { 2 } else { 1 };
        let first: Vec<&str> = path.split('.').take(steps).collect();
        columns.contains(&first.join("."))
    };
    let read: Vec<String> = wanted
        .iter()
        .filter(is_there)
        .map(|path| (*path).to_owned())
        .collect();
    let texts = rows.iter().map(|row| {
        let texts = read.iter().map(|path| text(&root, row, path));
        ByteRecord::from(texts.collect::<Vec<_>>())
    });
    let rows = texts.collect::<Vec<_>>().into_iter().enumerate();
    Ok(Log {
        columns,
        read,
        rows: Box::new(rows),
    })
}

/// The rows that are left.
impl Rows for Enumerate<IntoIter<ByteRecord>> {
    fn next(&mut self, row: &mut ByteRecord) -> Result<Option<u64>> {
        Ok(Iterator::next(self).map(|(at, next)| {
            *row = next;
            at as u64 + 1
        }))
    }
}

/// What stands at a path, empty if there is nothing.
fn text(root: &Value, row: &Value, path: &str) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let (mut found, steps) = match path.strip_prefix("$.") {
        Some(rest) => (vec![root], rest),
        None => (vec![row], path),
    };
    for step in steps.split('.') {
        if step == "count" {
            let lists = found.iter().filter_map(|value| value.as_array());
            let lengths: Vec<usize> = lists.map(Vec::len).collect();
            return match lengths.is_empty() {
                true => String::new(),
                false => lengths.iter().sum::<usize>().to_string(),
            };
        }
        let key = step
            .strip_prefix('{')
            .and_then(|step| step.strip_suffix('}'));
        let key = key.map_or(step.to_owned(), |key| plain(&row[key]));
        found = found
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(list) if key == "*" => list.iter().collect::<Vec<_>>(),
                Value::Array(list) if key == "last" => list.last().into_iter().collect(),
                Value::Array(list) => {
                    let at = key.parse::<usize>().ok();
                    at.and_then(|at| list.get(at)).into_iter().collect()
                }
                other => other.get(&key).into_iter().collect(),
            })
            .collect();
    }
    found.first().map_or(String::new(), |value| plain(value))
}
