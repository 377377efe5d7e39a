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
    /// The keys of all axes, those of the grid first.
    pub keys: Vec<String>,
    /// How many of them are of the grid.
    pub grid: usize,
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
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    #[default]
    Linear,
    Log,
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
        let beside = file.with_file_name("").join(&document.scenario);
        let scenario = match document.scenario.is_file() {
            true => document.scenario.clone(),
            false => beside,
        };
        let mut study = Study {
            file: file.to_owned(),
            text,
            scenario,
            keys: Vec::new(),
            grid: 0,
            points: vec![Settings::new()],
        };
        for block in study.blocks(&document)? {
            study.multiply(&block)?;
        }
        ensure!(
            !study.keys.is_empty(),
            "{shown}: expected an axis: a value of [grid], [zipped], [[list]] or [latin-hypercube]"
        );
        Ok(study)
    }

    /// Where the file speaks of a key.
    pub fn at(&self, key: &str) -> String {
        let line = self.text.lines().position(|line| line.contains(key));
        let line = line.map_or(1, |line| line + 1);
        format!("{}:{line}: axis {key}", self.file.display())
    }

    /// The points of what is varied together.
    fn blocks(&mut self, document: &Document) -> anyhow::Result<Vec<Vec<Settings>>> {
        let mut blocks = Vec::new();
        for (key, values) in &document.grid {
            self.name([key])?;
            let set = |value: &Value| Settings::from([(key.clone(), value.clone())]);
            blocks.push(self.values(key, values)?.iter().map(set).collect());
        }
        self.grid = self.keys.len();
        if let Some((first, values)) = document.zipped.iter().next() {
            self.name(document.zipped.keys())?;
            let count = self.values(first, values)?.len();
            let mut block = vec![Settings::new(); count];
            for (key, values) in &document.zipped {
                let values = self.values(key, values)?;
                let (at, found) = (self.at(key), values.len());
                ensure!(
                    found == count,
                    "{at}: has {found} values: expected {count}, as {first} has"
                );
                for (point, value) in block.iter_mut().zip(values) {
                    point.insert(key.clone(), value.clone());
                }
            }
            blocks.push(block);
        }
        if !document.list.is_empty() {
            let keys: BTreeSet<&String> = document.list.iter().flat_map(Table::keys).collect();
            self.name(keys)?;
            let point = |table: &Table| table.clone().into_iter().collect();
            blocks.push(document.list.iter().map(point).collect());
        }
        if let Some(sample) = &document.latin_hypercube {
            self.name(sample.ranges.keys())?;
            blocks.push(self.latin_hypercube(sample)?);
        }
        Ok(blocks)
    }

    /// Notes keys, each of which stands once.
    fn name<'k>(&mut self, keys: impl IntoIterator<Item = &'k String>) -> anyhow::Result<()> {
        for key in keys {
            let at = self.at(key);
            ensure!(
                !self.keys.contains(key),
                "{at}: is varied twice (expected it once)"
            );
            self.keys.push(key.clone());
        }
        Ok(())
    }

    fn values<'v>(&self, key: &str, values: &'v Value) -> anyhow::Result<&'v [Value]> {
        match values {
            Value::Array(values) if !values.is_empty() => Ok(values),
            other => bail!(
                "{} = {other}: expected a list of values (a key with points in it stands in \
                 quotes)",
                self.at(key)
            ),
        }
    }

    /// Each point so far with each of the block.
    fn multiply(&mut self, block: &[Settings]) -> anyhow::Result<()> {
        let count = self.points.len().saturating_mul(block.len());
        let file = self.file.display();
        ensure!(
            count <= MOST_POINTS,
            "{file}: makes {count} points or more: expected at most {MOST_POINTS}"
        );
        let all = self.points.iter().flat_map(|point| {
            let with = |more: &Settings| point.clone().into_iter().chain(more.clone()).collect();
            block.iter().map(with)
        });
        self.points = all.collect();
        Ok(())
    }

    /// So many points, of which each range has one in each of as many equal parts.
    fn latin_hypercube(&self, sample: &LatinHypercube) -> anyhow::Result<Vec<Settings>> {
        let (count, file) = (sample.points, self.file.display());
        ensure!(
            (1..=MOST_POINTS).contains(&count) && !sample.ranges.is_empty(),
            "{file}: latin-hypercube: expected ranges, and points from 1 to {MOST_POINTS}"
        );
        let mut block = vec![Settings::new(); count];
        for (key, range) in &sample.ranges {
            let mut random = rng::stream(sample.seed, &format!("latin-hypercube/{key}"));
            let mut parts: Vec<usize> = (0..count).collect();
            parts.shuffle(&mut random);
            for (point, part) in block.iter_mut().zip(parts) {
                let share = (part as f64 + random.random::<f64>()) / count as f64;
                let value = range.at(share).with_context(|| self.at(key))?;
                point.insert(key.clone(), value);
            }
        }
        Ok(block)
    }
}

impl Range {
    /// The value this share of the way, to six digits.
    fn at(&self, share: f64) -> anyhow::Result<Value> {
        let (from, to) = (number(&self.from), number(&self.to));
        let (Some(from), Some(to)) = (from, to) else {
            bail!(
                "from = {}, to = {}: expected two numbers or two durations",
                self.from,
                self.to
            );
        };
        let is_log = self.scale == Scale::Log;
        ensure!(
            self.from.same_type(&self.to) && from < to && (!is_log || from > 0.0),
            "from = {}, to = {}: expected the lower one first, of one kind, and above 0 on a log \
             scale",
            self.from,
            self.to
        );
        // Of whole numbers each has the same share.
        let half = if self.from.is_integer() { 0.5 } else { 0.0 };
        let (low, high) = (from - half, to + half);
        let value = match self.scale {
            Scale::Linear => low + share * (high - low),
            Scale::Log => low * (high / low).powf(share),
        };
        let value: f64 = format!("{value:.5e}").parse()?;
        Ok(match self.from {
            Value::Integer(_) => Value::Integer(value.round().clamp(from, to) as i64),
            Value::String(_) => SimDuration::from_nanos(value as u64).to_string().into(),
            _ => Value::Float(value),
        })
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        Value::String(text) => Some(SimDuration::read(text).ok()?.as_nanos() as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_range_has_one_point_on_either_scale() {
        let study = "scenario = \"s.toml\"\n[latin-hypercube]\npoints = 8\n[latin-hypercube.ranges]\n\
            \"a\" = { from = \"1s\", to = \"256s\", scale = \"log\" }\n\
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
        assert_eq!(
            parts("a", |nanos| (nanos / 1e9).log2()),
            (0..8).collect::<Vec<_>>()
        );
        assert_eq!(parts("b", |whole| whole), (1..=8).collect::<Vec<_>>());
        assert_eq!(study.points, Study::load(&file).unwrap().points);
    }
}
