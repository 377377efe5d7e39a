//! All runs of a sweep in one table, in the layout of Hive: `results/AXIS=value/`.

use super::plan::{Plan, Point};
use super::run::State;
use super::study::number;
use crate::exit::Failure;
use anyhow::{Context as _, anyhow};
use gridrig_results::rundir::{Manifest, Values, write_figures};
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

/// A run, and the point it is of.
type Row<'a> = (&'a Point, Manifest);

/// Writes the figures of all runs; answers where, and how many runs and files.
///
/// # Errors
/// Points that are not whole; errors of the file system.
pub fn merge(plan: &Plan) -> Result<(PathBuf, usize, usize), Failure> {
    let (keys, grid) = (&plan.header.keys, &plan.header.grid);
    let mut files: BTreeMap<PathBuf, Vec<Row<'_>>> = BTreeMap::new();
    let mut missing = 0;
    for point in &plan.points {
        let state = State::of(plan, point);
        missing += usize::from(!state.is_whole(point));
        let folder = grid.iter().map(|key| {
            let value = text(point, key).unwrap_or_default();
            format!("{}={}", name(key, keys), utf8_percent_encode(&value, PLAIN))
        });
        let rows = state.done.into_iter().map(|manifest| (point, manifest));
        files.entry(folder.collect()).or_default().extend(rows);
    }
    if missing > 0 {
        return Err(Failure::run(anyhow!(
            "{}: {missing} of {} points are not whole (see gridrig sweep status)",
            plan.dir.display(),
            plan.points.len()
        )));
    }
    let (out, partial) = (plan.dir.join("results"), plan.dir.join("results.partial"));
    // Of one that was broken off.
    let _ = fs::remove_dir_all(&partial);
    let axes = keys.iter().filter(|key| !grid.contains(key));
    let axes: Vec<(&str, bool, String)> = axes
        .map(|key| {
            let values = || plan.points.iter().filter_map(|point| point.set.get(key));
            let is_number = values().all(|value| number(value).is_some());
            let unit = if is_number && values().any(Value::is_str) {
                "_s"
            } else {
                ""
            };
            (&**key, is_number, name(key, keys) + unit)
        })
        .collect();
    for (folder, rows) in &files {
        write_figures(&partial.join(folder), CELLS, columns(rows, &axes)).map_err(Failure::run)?;
    }
    let _ = fs::remove_dir_all(&out);
    let renamed = fs::rename(&partial, &out);
    let renamed = renamed.with_context(|| format!("{}: cannot be written", out.display()));
    renamed.map_err(Failure::Run)?;
    Ok((out, files.values().map(Vec::len).sum(), files.len()))
}

/// The columns of these runs: where they are of, the axes outside of the grid, the figures.
fn columns(rows: &[Row<'_>], axes: &[(&str, bool, String)]) -> Vec<(String, Values)> {
    let texts =
        |of: &dyn Fn(&Row<'_>) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let numbers =
        |of: &dyn Fn(&Row<'_>) -> Option<f64>| Values::Number(rows.iter().map(of).collect());
    let mut columns = vec![
        (
            "point".to_owned(),
            texts(&|(point, _)| Some(point.id.clone())),
        ),
        (
            "policy".to_owned(),
            texts(&|(_, run)| run.policy_or_bound()),
        ),
        ("replication".to_owned(), texts(&|(_, run)| Some(run.key()))),
    ];
    columns.extend(axes.iter().map(|(key, is_number, name)| {
        let values = match is_number {
            true => numbers(&|(point, _)| number(point.set.get(*key)?)),
            false => texts(&|(point, _)| text(point, key)),
        };
        (name.clone(), values)
    }));
    columns.extend(threshold::paths().into_iter().map(|path| {
        let pointer = format!("/{}", path.join("/"));
        let figure = |(_, run): &Row<'_>| run.summary.pointer(&pointer)?.as_f64();
        (column(&path), numbers(&figure))
    }));
    columns
}

/// The name of a figure's column, such as `delay_s_p95`.
fn column(path: &[&str]) -> String {
    path.join("_").replace([' ', '-'], "_")
}

/// The name of an axis: the end of its key if nothing else has that name, else all of it.
fn name(key: &str, keys: &[String]) -> String {
    let end = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let own = end(key);
    let is_taken = keys.iter().filter(|key| end(key) == own).count() > 1
        || ["point", "policy", "replication"].contains(&&*own)
        || threshold::paths().iter().any(|path| column(path) == own);
    let name = if is_taken { key } else { &own };
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// A value as text.
fn text(point: &Point, key: &str) -> Option<String> {
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
