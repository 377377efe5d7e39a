//! The file of a study: a scenario, and the axes along which it is varied.

use crate::scenario::value::Text as _;
use anyhow::{Context as _, anyhow, bail, ensure};
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Keys of a scenario and their values at one point.
pub type Settings = BTreeMap<String, Value>;

/// The most points of a sweep.
const MOST_POINTS: usize = 100_000;

/// A study.
pub struct Study {
    file: PathBuf,
    text: String,
    /// The scenario as it is named, from the working directory or beside the file.
    pub scenario: PathBuf,
    /// The keys of all axes.
    pub keys: Vec<String>,
    /// The first key of the grid that has several values.
    pub grid: Option<String>,
    /// What is set at each point, the last axis innermost.
    pub points: Vec<Settings>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    scenario: PathBuf,
    /// Each value with each of the others.
    #[serde(default)]
    grid: Table,
    /// The first value of each with the first of the others, and so on.
    #[serde(default)]
    zipped: Table,
    /// Points as they are written.
    #[serde(default)]
    list: Vec<Table>,
    latin_hypercube: Option<LatinHypercube>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LatinHypercube {
    points: usize,
    #[serde(default)]
    seed: u64,
    ranges: BTreeMap<String, Range>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Value,
    to: Value,
    /// Whether its parts grow from each to the next by the same factor.
    #[serde(default)]
    log: bool,
}

impl Study {
    /// Reads a study.
    ///
    /// # Errors
    /// What is wrong with the file, with its line.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        let shown = file.display();
        let text = std::fs::read_to_string(file);
        let text = text.with_context(|| format!("{shown}: cannot read the study"))?;
        let document: Document = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = 1 + before.unwrap_or_default().matches('\n').count();
            anyhow!("{shown}:{line}: {}", error.message())
        })?;
        let scenario = match document.scenario.is_file() {
            true => document.scenario.clone(),
            false => file.with_file_name("").join(&document.scenario),
        };
        let mut study = Study {
            file: file.to_owned(),
            text,
            scenario,
            keys: Vec::new(),
            grid: None,
            points: vec![Settings::new()],
        };
        for (key, values) in study.lists(&document.grid)? {
            if values.len() > 1 {
                study.grid.get_or_insert_with(|| key.clone());
            }
            study.multiply(zip(&[(key, values)]))?;
        }
        let zipped = study.lists(&document.zipped)?;
        if let Some((first, values)) = zipped.first() {
            let count = values.len();
            if let Some((key, other)) = zipped.iter().find(|(_, it)| it.len() != count) {
                let (at, found) = (study.at(key), other.len());
                bail!("{at}: has {found} values: expected {count}, as {first} has");
            }
            study.multiply(zip(&zipped))?;
        }
        if !document.list.is_empty() {
            let points = document.list.into_iter();
            study.multiply(points.map(|point| point.into_iter().collect()).collect())?;
        }
        if let Some(sample) = &document.latin_hypercube {
            let points = sample.points(&study)?;
            study.multiply(points)?;
        }
        ensure!(
            !study.keys.is_empty(),
            "{shown}: expected an axis in [grid], [zipped], [[list]] or [latin-hypercube.ranges]"
        );
        Ok(study)
    }

    /// Where the file speaks of a key.
    pub fn at(&self, key: &str) -> String {
        let line = self.text.lines().position(|line| line.contains(key));
        let line = line.map_or(1, |line| line + 1);
        format!("{}:{line}: axis {key}", self.file.display())
    }

    /// Keys with the values of each.
    fn lists<'t>(&self, table: &'t Table) -> anyhow::Result<Vec<(&'t String, &'t Vec<Value>)>> {
        let list = |(key, value): (&'t String, &'t Value)| {
            let list = value.as_array();
            let list = list.with_context(|| {
                let at = self.at(key);
                format!("{at}: expected a list of values (a key with dots stands in quotes)")
            })?;
            Ok((key, list))
        };
        table.iter().map(list).collect()
    }

    /// Each point so far with each of these.
    fn multiply(&mut self, others: Vec<Settings>) -> anyhow::Result<()> {
        let keys: BTreeSet<&String> = others.iter().flat_map(Settings::keys).collect();
        if let Some(key) = keys.iter().find(|key| self.keys.contains(key)) {
            bail!("{}: is varied twice (expected it once)", self.at(key));
        }
        self.keys.extend(keys.into_iter().cloned());
        let count = self.points.len().saturating_mul(others.len());
        ensure!(
            (1..=MOST_POINTS).contains(&count),
            "{}: makes {count} points or more: expected 1 to {MOST_POINTS}",
            self.file.display()
        );
        let all = self.points.iter().flat_map(|point| {
            let with = |more: &Settings| point.clone().into_iter().chain(more.clone()).collect();
            others.iter().map(with)
        });
        self.points = all.collect();
        Ok(())
    }
}

/// The first value of each key, then the second, and so on.
fn zip(keys: &[(&String, &Vec<Value>)]) -> Vec<Settings> {
    let mut points = Vec::new();
    for (key, values) in keys {
        points.resize(values.len(), Settings::new());
        for (point, value) in points.iter_mut().zip(*values) {
            point.insert(key.to_string(), value.clone());
        }
    }
    points
}

impl LatinHypercube {
    /// So many points, of which each range has one in each of as many equal parts.
    fn points(&self, study: &Study) -> anyhow::Result<Vec<Settings>> {
        let count = self.points.min(MOST_POINTS + 1);
        let mut points = vec![Settings::new(); count];
        for (key, range) in &self.ranges {
            let mut random = rng::stream(self.seed, &format!("latin-hypercube/{key}"));
            let mut parts: Vec<usize> = (0..count).collect();
            parts.shuffle(&mut random);
            for (point, part) in points.iter_mut().zip(parts) {
                let share = (part as f64 + random.random::<f64>()) / count as f64;
                let value = range.at(share).with_context(|| study.at(key))?;
                point.insert(key.clone(), value);
            }
        }
        Ok(points)
    }
}

impl Range {
    /// The value this share of the way, to six digits.
    fn at(&self, share: f64) -> anyhow::Result<Value> {
        let ends = number(&self.from).zip(number(&self.to));
        let is_range = |(from, to): &(f64, f64)| {
            self.from.same_type(&self.to) && from < to && (!self.log || *from > 0.0)
        };
        let (from, to) = ends.filter(is_range).with_context(|| {
            format!(
                "from = {}, to = {}: expected two numbers or two durations, the lower one first, \
                 and above 0 with log = true",
                self.from, self.to
            )
        })?;
        // Of whole numbers each has the same share.
        let half = if self.from.is_integer() { 0.5 } else { 0.0 };
        let (low, high) = (from - half, to + half);
        let value = match self.log {
            false => low + share * (high - low),
            true => low * (high / low).powf(share),
        };
        let value: f64 = format!("{value:.5e}").parse()?;
        Ok(match self.from {
            Value::Integer(_) => Value::Integer(value.round().clamp(from, to) as i64),
            Value::String(_) => {
                let nanos = SimDuration::from_nanos((value * 1e9).round() as u64);
                nanos.to_string().into()
            }
            _ => Value::Float(value),
        })
    }
}

/// A number, or a duration in seconds.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        Value::String(text) => Some(SimDuration::read(text).ok()?.as_secs_f64()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_range_has_one_point_on_either_scale() {
        let study = "scenario = \"s.toml\"\n[latin-hypercube]\npoints = 8\n[latin-hypercube.ranges]\n\
            \"a\" = { from = \"1s\", to = \"256s\", log = true }\n\
            \"b\" = { from = 1, to = 8 }\n";
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("study.toml");
        std::fs::write(&file, study).unwrap();
        let study = Study::load(&file).unwrap();
        let parts = |key: &str, part: fn(f64) -> f64| {
            let values = study
                .points
                .iter()
                .map(|point| number(&point[key]).unwrap());
            let mut parts: Vec<u64> = values.map(|value| part(value) as u64).collect();
            parts.sort_unstable();
            parts
        };
        assert_eq!(parts("a", f64::log2), (0..8).collect::<Vec<_>>());
        assert_eq!(parts("b", |whole| whole), (1..=8).collect::<Vec<_>>());
        assert_eq!(study.points, Study::load(&file).unwrap().points);
    }
}
