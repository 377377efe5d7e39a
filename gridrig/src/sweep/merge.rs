//! All runs of a sweep in one table, in the layout of Hive: `results/AXIS=value/`.

use super::plan::{Header, Plan, Point};
use super::run::State;
use super::study::number;
use crate::exit::Failure;
use anyhow::{Context as _, anyhow};
use gridrig_results::rundir::{Values, write_figures};
use gridrig_results::threshold;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use toml::Value;

/// The file in each folder.
const CELLS: &str = "cells.parquet";
/// What stands in the name of a folder as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// A run: its point, its policy, what tells its replication, its figures.
type Row<'a> = (&'a Point, Option<String>, String, Vec<Option<f64>>);

/// Writes the figures of all runs; answers where, and how many runs and files.
///
/// # Errors
/// Points that are not whole; errors of the file system.
pub fn merge(plan: &Plan) -> Result<(PathBuf, usize, usize), Failure> {
    let paths = threshold::paths();
    let pointers = paths.iter().map(|path| format!("/{}", path.join("/")));
    let pointers: Vec<String> = pointers.collect();
    let (keys, grid) = (&plan.header.keys, &plan.header.grid);
    let mut files: BTreeMap<String, Vec<Row<'_>>> = BTreeMap::new();
    for point in &plan.points {
        let state = State::of(plan, point);
        if !state.is_whole(point) {
            let (dir, id) = (plan.dir.display(), &point.id);
            return Err(Failure::run(anyhow!(
                "{dir}: point {id} is not whole (see gridrig sweep status)"
            )));
        }
        let folder = grid.as_ref().map_or_else(String::new, |key| {
            let value = text(point, key).unwrap_or_default();
            format!("{}={}", name(key, keys), utf8_percent_encode(&value, PLAIN))
        });
        let rows = state.done.iter().map(|run| {
            let figure = |pointer: &String| run.summary.pointer(pointer)?.as_f64();
            let figures = pointers.iter().map(figure).collect();
            (point, run.policy_or_bound(), run.key(), figures)
        });
        files.entry(folder).or_default().extend(rows);
    }
    let (out, partial) = (plan.dir.join("results"), plan.dir.join("results.partial"));
    // Of one that was broken off.
    let _ = fs::remove_dir_all(&partial);
    for (folder, rows) in &files {
        let mut columns = columns(plan, rows);
        columns.extend(paths.iter().enumerate().map(|(at, path)| {
            let figures = rows.iter().map(|row| row.3[at]);
            (column(path), Values::Number(figures.collect()))
        }));
        write_figures(&partial.join(folder), CELLS, columns).map_err(Failure::run)?;
    }
    let _ = fs::remove_dir_all(&out);
    let renamed = fs::rename(&partial, &out);
    let renamed = renamed.with_context(|| format!("{}: cannot be written", out.display()));
    renamed.map_err(Failure::Run)?;
    Ok((out, files.values().map(Vec::len).sum(), files.len()))
}

/// What these runs are of, and the axes that are not in the names of folders.
fn columns(plan: &Plan, rows: &[Row<'_>]) -> Vec<(String, Values)> {
    let texts =
        |of: &dyn Fn(&Row<'_>) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let mut columns = vec![
        ("point".to_owned(), texts(&|row| Some(row.0.id.clone()))),
        ("policy".to_owned(), texts(&|row| row.1.clone())),
        ("replication".to_owned(), texts(&|row| Some(row.2.clone()))),
    ];
    let Header { keys, grid, .. } = &plan.header;
    for key in keys.iter().filter(|key| Some(*key) != grid.as_ref()) {
        let set = || plan.points.iter().filter_map(|point| point.set.get(key));
        let name = name(key, keys);
        columns.push(if set().any(|value| number(value).is_none()) {
            (name, texts(&|row| text(row.0, key)))
        } else {
            let unit = if set().any(Value::is_str) { "_s" } else { "" };
            let numbers = rows.iter().map(|row| number(row.0.set.get(key)?));
            (name + unit, Values::Number(numbers.collect()))
        });
    }
    columns
}

/// The name of a figure's column, such as `delay_s_p95`.
fn column(path: &[&str]) -> String {
    path.join("_").replace([' ', '-'], "_")
}

/// The name of an axis: the end of its key if nothing else has that name, else all of it.
pub(super) fn name(key: &str, keys: &[String]) -> String {
    let end = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let own = end(key);
    let is_taken = keys.iter().filter(|key| end(key) == own).count() > 1
        || ["point", "policy", "replication"].contains(&&*own)
        || threshold::paths().iter().any(|path| column(path) == own);
    let name = if is_taken { key } else { &own };
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// A value as text.
pub(super) fn text(point: &Point, key: &str) -> Option<String> {
    match point.set.get(key)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_named_by_the_end_of_its_key_if_that_is_its_own() {
        let keys = [
            "domain.*.broker.exchange",
            "workload.offset",
            "domain.a.x.offset",
            "a.utilization",
        ];
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let names: Vec<String> = keys.iter().map(|key| name(key, &keys)).collect();
        let expected = [
            "exchange",
            "workload_offset",
            "domain_a_x_offset",
            "a_utilization",
        ];
        assert_eq!(names, expected);
    }
}
