//! All runs of a sweep in one table, in the layout of Hive: `results/AXIS=value/`.

use super::plan::{Plan, Point};
use super::run::State;
use super::study::Settings;
use crate::exit::Failure;
use anyhow::{Context as _, anyhow};
use gridrig_results::rundir::{Manifest, Values, write_figures};
use gridrig_results::threshold;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use toml::Value;

/// The file in each folder.
const CELLS: &str = "cells.parquet";
/// What every row has besides axes and figures.
const FIXED: [&str; 5] = ["point", "policy", "replication", "replication_key", "seed"];
/// What stands in the name of a folder as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// A run, and the point it is of.
type Row<'a> = (&'a Point, Manifest);

/// Writes the figures of all runs; answers where, and how many runs and files.
///
/// # Errors
/// Points that are not whole; errors of the file system.
pub fn merge(plan: &Plan) -> Result<(PathBuf, usize, usize), Failure> {
    let keys = &plan.header.keys;
    let (grid, others) = keys.split_at(plan.header.grid);
    let mut files: BTreeMap<PathBuf, Vec<Row<'_>>> = BTreeMap::new();
    let mut missing = 0;
    for point in &plan.points {
        let state = State::of(plan, point);
        missing += usize::from(!state.is_whole(point));
        let folder = grid.iter().map(|key| {
            let value = text(point.set.get(key)).unwrap_or_default();
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
    remove(&partial)?;
    let all = || plan.points.iter().map(|point| &point.set);
    for (folder, rows) in &files {
        let mut columns = fixed(rows);
        let axes = others.iter().map(|key| {
            let set = rows.iter().map(|(point, _)| &point.set);
            (name(key, keys), values(key, all(), set))
        });
        columns.extend(axes);
        columns.extend(figures(rows));
        let columns = columns
            .iter()
            .map(|(name, values)| (&**name, values.clone()));
        let written = write_figures(&partial.join(folder), CELLS, columns.collect());
        written.map_err(Failure::run)?;
    }
    remove(&out)?;
    let renamed = fs::rename(&partial, &out);
    renamed
        .with_context(|| format!("{}: cannot be renamed", partial.display()))
        .map_err(Failure::Run)?;
    Ok((out, files.values().map(Vec::len).sum(), files.len()))
}

fn remove(dir: &PathBuf) -> Result<(), Failure> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let what = format!("{}: cannot be removed", dir.display());
            Err(Failure::Run(anyhow::Error::new(error).context(what)))
        }
        _ => Ok(()),
    }
}

fn fixed(rows: &[Row<'_>]) -> Vec<(String, Values)> {
    let texts = |of: fn(&Row<'_>) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let wholes = |of: fn(&Row<'_>) -> i64| {
        let of = rows.iter().map(of);
        Values::Whole(of.map(Some).collect())
    };
    let columns = [
        texts(|(point, _)| Some(point.id.clone())),
        texts(|(_, run)| run.policy_or_bound()),
        wholes(|(_, run)| run.replication.into()),
        texts(|(_, run)| Some(run.key())),
        wholes(|(_, run)| run.seed.cast_signed()),
    ];
    FIXED.map(str::to_owned).into_iter().zip(columns).collect()
}

fn figures(rows: &[Row<'_>]) -> impl Iterator<Item = (String, Values)> {
    threshold::paths().into_iter().map(|path| {
        let pointer = format!("/{}", path.join("/"));
        let figure = |(_, run): &Row<'_>| run.summary.pointer(&pointer)?.as_f64();
        let figures = rows.iter().map(figure);
        (column(&path), Values::Number(figures.collect()))
    })
}

/// The name of a figure's column, such as `delay_s_p95`.
fn column(path: &[&str]) -> String {
    path.join("_").replace([' ', '-'], "_")
}

/// The name of an axis: so much of the end of its key as no other axis and no other
/// column has.
fn name(key: &str, keys: &[String]) -> String {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let is_taken = |end: &str| {
        let mut others = keys.iter().filter(|other| *other != key);
        let mut figures = threshold::paths().into_iter();
        others.any(|other| plain(&format!(".{other}")).ends_with(&format!("_{end}")))
            || FIXED.contains(&end)
            || figures.any(|path| column(&path) == end)
    };
    let starts = key.rmatch_indices('.').map(|(at, _)| at + 1);
    let mut ends = starts.map(|at| plain(&key[at..]));
    ends.find(|end| !is_taken(end))
        .unwrap_or_else(|| plain(key))
}

/// A value as text.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The values of a key, of the type that all values of the sweep have.
fn values<'a>(
    key: &str,
    mut all: impl Iterator<Item = &'a Settings> + Clone,
    set: impl Iterator<Item = &'a Settings>,
) -> Values {
    let is = |what: fn(&Value) -> bool| {
        let mut all = all.clone();
        all.all(|set| set.get(key).is_none_or(what))
    };
    let values = set.map(|set| set.get(key));
    if is(Value::is_integer) {
        return Values::Whole(values.map(|value| value?.as_integer()).collect());
    }
    if all.all(|set| {
        set.get(key)
            .is_none_or(|it| it.is_integer() || it.is_float())
    }) {
        let number = |value: &Value| value.as_float().or(Some(value.as_integer()? as f64));
        return Values::Number(values.map(|value| number(value?)).collect());
    }
    Values::Text(values.map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_named_by_the_end_of_its_key_that_is_its_own() {
        let keys = [
            "domain.*.broker.exchange",
            "workload.scale.arrival",
            "workload.offset",
        ];
        let more = ["domain.a.broker.offset", "run.seed", "arrival"];
        let keys: Vec<String> = keys.iter().chain(&more).map(ToString::to_string).collect();
        let names: Vec<String> = keys.iter().map(|key| name(key, &keys)).collect();
        let expected = [
            "exchange",
            "scale_arrival",
            "workload_offset",
            "broker_offset",
            "run_seed",
            "arrival",
        ];
        assert_eq!(names, expected);
    }
}
