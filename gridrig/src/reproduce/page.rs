//! A page of figures, each table below what it is made from.
//!
//! A table stands between `<!-- table` and `<!-- end -->`: first, up to `-->`, in
//! TOML which scenarios are run with which settings and which figures are shown of
//! them, then the table itself, which is made from that.

use super::study::{Figures, Key, Runs};
use anyhow::{Context as _, anyhow, bail, ensure};
use gridrig_core::policy::PolicySpec;
use gridrig_results::stats::Distribution;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::iter::repeat;

const BEGIN: &str = "<!-- table\n";
const BODY: &str = "-->\n";
const END: &str = "<!-- end -->";

/// What a table is made from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What `--only` calls it.
    pub name: String,
    /// The scenario of every row that names none, in `resources/scenarios`.
    #[serde(default)]
    scenario: String,
    /// Settings of every row, as `--set` takes them.
    #[serde(default)]
    set: Vec<String>,
    /// So many random samples, of as many jobs as the run has of its window.
    #[serde(default)]
    samples: u32,
    /// What the tables of one figure vary, or the rows of this one, with its unit; `None`
    /// where it is not to be drawn.
    pub x: Option<String>,
    /// `[figure, head]`: a figure of the summary by its path, maybe with
    /// [`RATIO`] or [`WINS`] before it.
    columns: Vec<[String; 2]>,
    /// The lines of a row.
    #[serde(default = "ours")]
    lines: Vec<Line>,
    row: Vec<Row>,
}

/// A row: one policy on one setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    scenario: Option<String>,
    #[serde(default)]
    set: Vec<String>,
    policy: String,
    /// What the paper has in each column, `nan` where it has nothing.
    #[serde(default)]
    paper: Vec<f64>,
    /// What the paper's words allow in each column, from the least to the most; `nan`
    /// where it says nothing.
    #[serde(default)]
    words: Vec<[f64; 2]>,
}

impl Row {
    /// Whether there is something for this line.
    fn has(&self, line: Line) -> bool {
        match line {
            Line::Paper | Line::Percentile => !self.paper.is_empty(),
            Line::Words => !self.words.is_empty(),
            Line::Ours | Line::Range | Line::Samples => true,
        }
    }
}

/// A line of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// What the paper has.
    Paper,
    /// The mean over the replications.
    Ours,
    /// From the least to the greatest replication.
    Range,
    /// The 5 % and the 95 % quantile of the random samples.
    Samples,
    /// The share of the random samples that are below the paper, equal ones half.
    Percentile,
    /// Whether our mean is what the paper's words allow.
    Words,
}

fn ours() -> Vec<Line> {
    vec![Line::Ours]
}

/// Before a figure: divided by that of the first row, replication by replication.
const RATIO: &str = "ratio ";
/// Before a figure: in how many replications it is less than that of the first row.
const WINS: &str = "wins ";

/// The lines "ours" of a table as they stand.
pub struct Shown {
    /// Its name.
    pub name: String,
    /// What is varied.
    pub x: Option<String>,
    /// The heads of the columns.
    pub heads: Vec<String>,
    /// Name and figures of each row, as many as there are columns.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A page, taken apart.
pub struct Page<'a> {
    /// The text before each table, and the table.
    parts: Vec<(&'a str, Part<'a>)>,
    rest: &'a str,
}

struct Part<'a> {
    table: Table,
    spec: &'a str,
    body: &'a str,
}

impl<'a> Page<'a> {
    /// Reads a page.
    ///
    /// # Errors
    /// Says which table is not understood, and why.
    pub fn read(text: &'a str) -> anyhow::Result<Self> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once(BEGIN) {
            let line = text.len() - after.len();
            let line = text[..line].lines().count();
            let cut = || anyhow!("line {line}: a table without its `-->` or `{END}`");
            let (spec, after) = after.split_once(BODY).ok_or_else(cut)?;
            let (body, after) = after.split_once(END).ok_or_else(cut)?;
            let table: Table =
                toml::from_str(spec).with_context(|| format!("line {line}: a table"))?;
            table.check().with_context(|| format!("line {line}"))?;
            parts.push((before, Part { table, spec, body }));
            rest = after;
        }
        Ok(Page { parts, rest })
    }

    /// The tables, those only whose names have this part.
    pub fn tables<'b>(&'b self, only: &'b str) -> impl Iterator<Item = &'b Table> {
        let tables = self.parts.iter().map(|(_, part)| &part.table);
        tables.filter(move |table| table.name.contains(only))
    }

    /// What its tables show.
    pub fn shown(&self) -> Vec<Shown> {
        let shown = self.parts.iter().map(|(_, Part { table, body, .. })| {
            let heads: Vec<String> = table.columns.iter().map(|[_, head]| head.clone()).collect();
            let mut rows = Vec::new();
            let mut name = "";
            for line in body.lines().filter(|line| line.starts_with("| ")) {
                let mut cells = line.trim_matches('|').split('|').map(str::trim);
                name = cells.next().filter(|own| !own.is_empty()).unwrap_or(name);
                if cells.next() == Some("ours") {
                    let figures = cells.map(|cell| cell.parse::<f64>().ok());
                    let figures = figures.chain(repeat(None)).take(heads.len());
                    rows.push((name.to_owned(), figures.collect()));
                }
            }
            Shown {
                name: table.name.clone(),
                x: table.x.clone(),
                heads,
                rows,
            }
        });
        shown.collect()
    }

    /// What has to be run for them, and under which policies.
    pub fn needs(&self, only: &str) -> BTreeMap<Key, BTreeSet<String>> {
        let mut needs: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
        for table in self.tables(only) {
            for row in &table.row {
                let policies = needs.entry(table.key(row)).or_default();
                policies.insert(row.policy.clone());
            }
        }
        needs
    }

    /// The figures that they show.
    pub fn figures(&self, only: &str) -> BTreeSet<String> {
        let columns = self.tables(only).flat_map(|table| &table.columns);
        columns.map(|[figure, _]| path(figure).to_owned()).collect()
    }

    /// The page with these tables made again, all others as they are.
    pub fn write(&self, only: &str, runs: &BTreeMap<Key, Runs>) -> String {
        let mut text = String::new();
        for (before, Part { table, spec, body }) in &self.parts {
            let made = table.name.contains(only).then(|| table.write(runs));
            let body = made.as_deref().unwrap_or(*body);
            text.extend([*before, BEGIN, *spec, BODY, body, END]);
        }
        text + self.rest
    }
}

/// The figure without what is done with it.
fn path(figure: &str) -> &str {
    let plain = figure.strip_prefix(RATIO);
    plain.or(figure.strip_prefix(WINS)).unwrap_or(figure)
}

impl Table {
    fn check(&self) -> anyhow::Result<()> {
        let (name, columns) = (&self.name, self.columns.len());
        for row in &self.row {
            // Runs are found by what a policy is called there.
            let written = &row.policy;
            let policy = written.parse().map(|policy: PolicySpec| policy.to_string());
            if policy.as_ref() != Ok(written) {
                let expected = policy.unwrap_or_else(|expected| expected);
                bail!("table {name}: policy = \"{written}\": expected {expected}");
            }
            for figures in [row.paper.len(), row.words.len()] {
                if figures != 0 && figures != columns {
                    let row = &row.name;
                    bail!("table {name}, row {row}: {figures} figures, expected {columns} or none");
                }
            }
        }
        let is_sampled = |line: &Line| matches!(line, Line::Samples | Line::Percentile);
        ensure!(
            self.samples > 0 || !self.lines.iter().any(is_sampled),
            "table {name}: lines of samples, but no samples"
        );
        ensure!(!self.row.is_empty(), "table {name}: expected a row");
        Ok(())
    }

    fn key(&self, row: &Row) -> Key {
        Key {
            scenario: row.scenario.as_ref().unwrap_or(&self.scenario).clone(),
            set: self.set.iter().chain(&row.set).cloned().collect(),
            samples: self.samples,
        }
    }

    fn write(&self, runs: &BTreeMap<Key, Runs>) -> String {
        let mut text = String::from("\n| | |");
        for [_, head] in &self.columns {
            let _ = write!(text, " {head} |");
        }
        let _ = write!(text, "\n|---|---|{}\n", "---:|".repeat(self.columns.len()));
        for row in &self.row {
            let lines = self.lines.iter().filter(|line| row.has(**line));
            for (at, line) in lines.enumerate() {
                let name = if at == 0 { row.name.as_str() } else { "" };
                let _ = write!(text, "| {name} | {} |", self.say(*line));
                for (at, [figure, _]) in self.columns.iter().enumerate() {
                    let cell = self.cell(*line, row, (figure, at), runs);
                    let _ = write!(text, " {} |", cell.unwrap_or_default());
                }
                text.push('\n');
            }
        }
        text.push('\n');
        text
    }

    fn say(&self, line: Line) -> String {
        match line {
            Line::Paper => "paper".to_owned(),
            Line::Ours => "ours".to_owned(),
            Line::Range => "least to most".to_owned(),
            Line::Samples => format!("{} samples, 5 to 95 %", self.samples),
            Line::Percentile => "percentile".to_owned(),
            Line::Words => "paper's words".to_owned(),
        }
    }

    fn cell(
        &self,
        line: Line,
        row: &Row,
        (figure, at): (&str, usize),
        runs: &BTreeMap<Key, Runs>,
    ) -> Option<String> {
        let of = |row: &Row, pick: fn(&Runs) -> &Vec<Figures>| {
            let runs = pick(runs.get(&self.key(row))?).iter();
            let own = runs.filter_map(|run| run.get(&row.policy)?.get(path(figure)));
            Some(own.copied().collect::<Vec<f64>>())
        };
        // The paper has nothing there.
        let paper = row.paper.get(at).filter(|paper| !paper.is_nan());
        match line {
            Line::Paper => paper.map(|paper| number(*paper)),
            Line::Ours | Line::Range | Line::Words => {
                let own = of(row, |runs| &runs.ours)?;
                let first = of(self.row.first()?, |runs| &runs.ours)?;
                let pairs = || own.iter().zip(&first);
                if figure.starts_with(WINS) {
                    let wins = pairs().filter(|(own, first)| own < first).count();
                    return (line == Line::Ours).then(|| format!("{wins} of {}", own.len()));
                }
                let shown: Vec<f64> = match figure.starts_with(RATIO) {
                    true => pairs().map(|(own, first)| own / first).collect(),
                    false => own,
                };
                let all = Distribution::of(shown);
                match line {
                    Line::Ours => all.mean.map(number),
                    Line::Words => verdict(all.mean?, *row.words.get(at)?),
                    _ => Some(format!("{} to {}", number(all.min?), number(all.max?))),
                }
            }
            Line::Samples | Line::Percentile => {
                let mut samples = of(row, |runs| &runs.samples)?;
                samples.sort_by(f64::total_cmp);
                let at = |share: f64| {
                    let index = (samples.len().saturating_sub(1)) as f64 * share;
                    samples.get(index.round() as usize).copied().map(number)
                };
                if line == Line::Samples {
                    return Some(format!("{} to {}", at(0.05)?, at(0.95)?));
                }
                let paper = *paper?;
                let below = samples.iter().filter(|value| **value < paper).count();
                let equal = samples.iter().filter(|value| **value == paper).count();
                let share = (below as f64 + equal as f64 / 2.0) / samples.len() as f64;
                Some(format!("{share:.3}"))
            }
        }
    }
}

/// Whether it lies between these, and what these are; nothing if they are no numbers.
fn verdict(value: f64, [least, most]: [f64; 2]) -> Option<String> {
    let bound = match (least.is_finite(), most.is_finite()) {
        (true, true) => format!("{} to {}", number(least), number(most)),
        (true, false) => format!("at least {}", number(least)),
        (false, true) => format!("at most {}", number(most)),
        (false, false) => return None,
    };
    let is_inside = (least..=most).contains(&value);
    let verdict = if is_inside { "inside" } else { "**outside**" };
    Some(format!("{verdict}: {bound}"))
}

/// With four digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        small if small < 10.0 => format!("{value:.3}"),
        small if small < 100.0 => format!("{value:.2}"),
        small if small < 1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
