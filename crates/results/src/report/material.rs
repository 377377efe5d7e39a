//! What a report is made of: the comparison, and the runs behind it.

use super::error::Result;
use crate::compare::find::{self, FoundRun};
use crate::compare::{self, CompareError, Comparison};
use crate::names::unused;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A policy, or whatever else is shown beside others.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// In the order of the replications.
    pub(super) runs: Vec<FoundRun>,
}

/// Everything on the page.
#[derive(Clone, Debug, Default)]
pub(super) struct Material {
    pub(super) comparison: Option<Comparison>,
    /// With a comparison: by column, over all replications, the delays of the
    /// jobs that completed under every policy, in no order.
    pub(super) delays: Vec<Vec<f64>>,
    /// What is shown, and why nothing is compared; empty with a comparison.
    without: String,
    /// Whether the runs are of different traces or otherwise do not pair up.
    pub(super) unlike: bool,
    /// The figures of a single policy, which compares with nothing.
    pub(super) alone: Option<Comparison>,
    /// Where they were found, as the user said it.
    pub(super) paths: Vec<PathBuf>,
    /// At least one, each with a run.
    pub(super) columns: Vec<Column>,
    pub(super) skipped: Vec<String>,
}

impl Material {
    pub(super) fn gather(paths: &[PathBuf], options: &compare::Options) -> Result<Self> {
        let shown = compare::Options {
            anyway: true,
            ..options.clone()
        };
        match compare::compare_with_delays(paths, &shown) {
            // Somebody who names a baseline wants a comparison.
            Err(CompareError::OnePolicy { .. } | CompareError::NoPair { .. })
                if options.baseline.is_none() =>
            {
                Material::side_by_side(paths, &shown)
            }
            found => Material::compared(paths, found?),
        }
    }

    fn compared(
        paths: &[PathBuf],
        (comparison, delays): (Comparison, Vec<Vec<f64>>),
    ) -> Result<Self> {
        let mut columns: Vec<Column> = comparison
            .policies
            .iter()
            .map(|policy| Column {
                name: policy.name.clone(),
                runs: Vec::new(),
            })
            .collect();
        for run in &comparison.runs {
            let own = columns.iter_mut().find(|column| column.name == run.policy);
            if let Some(column) = own {
                column.runs.push(FoundRun {
                    key: run.replication.clone(),
                    ..FoundRun::read(Path::new(&run.dir))?
                });
            }
        }
        Ok(Material {
            skipped: comparison.skipped.clone(),
            unlike: !comparison.guard.comparable,
            paths: paths.to_vec(),
            columns,
            comparison: Some(comparison),
            delays,
            ..Material::default()
        })
    }

    /// The comparison has found the runs whole, or knows which are not.
    fn side_by_side(paths: &[PathBuf], options: &compare::Options) -> Result<Self> {
        let found = find::find(paths, options.skip_damaged)?;
        let runs = found.runs;
        if runs.is_empty() {
            let path = paths.first().cloned().unwrap_or_default();
            return Err(CompareError::NoRun(path).into());
        }
        let traces: BTreeSet<Vec<String>> = runs.iter().map(traces).collect();
        let columns = columns(runs);
        let alone = match columns.len() {
            1 => Some(compare::alone(paths, options)?),
            _ => None,
        };
        Ok(Material {
            alone,
            paths: paths.to_vec(),
            without: without(&columns, &traces),
            unlike: columns.len() > 1,
            columns,
            skipped: found.skipped,
            ..Material::default()
        })
    }

    /// The sentence that the page opens with.
    pub(super) fn sentence(&self) -> String {
        self.comparison
            .as_ref()
            .map_or_else(|| self.without.clone(), |comparison| comparison.sentence())
    }

    pub(super) fn title(&self) -> String {
        let all = self.runs().map(|run| run.manifest.study.scenario.as_str());
        let scenarios: BTreeSet<&str> = all.filter(|name| !name.is_empty()).collect();
        let scenarios: Vec<&str> = scenarios.into_iter().take(3).collect();
        let scenarios = match scenarios.is_empty() {
            true => "runs".to_owned(),
            false => scenarios.join(", "),
        };
        match self.columns.as_slice() {
            [one] => format!("{scenarios}: {}", one.name),
            more if self.comparison.is_some() && !self.unlike => {
                let bounds = self.comparison.iter().flat_map(|c| &c.policies);
                let bounds = bounds.filter(|p| p.role == compare::Role::Bound).count();
                let between = match bounds {
                    0 => String::new(),
                    1 => ", with a reference".to_owned(),
                    n => format!(", with {n} references"),
                };
                format!(
                    "{scenarios}: {} policies compared{between}",
                    more.len() - bounds
                )
            }
            more if self.comparison.is_some() => {
                format!("{scenarios}: {} policies side by side", more.len())
            }
            more => format!("{scenarios}: {} kinds of runs side by side", more.len()),
        }
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &FoundRun> {
        self.columns.iter().flat_map(|column| &column.runs)
    }

    /// How many replications every column has at least.
    pub(super) fn replications(&self) -> usize {
        self.columns.first().map_or(0, |column| column.runs.len())
    }
}

fn without(columns: &[Column], traces: &BTreeSet<Vec<String>>) -> String {
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    let runs: usize = columns.iter().map(|column| column.runs.len()).sum();
    if let [name] = names.as_slice() {
        let what = match runs {
            1 => format!("One run of {name}"),
            _ => format!("{runs} runs of {name}"),
        };
        return format!("{what}: there is nothing to compare with, and no verdict.");
    }
    let why = match traces.len() {
        0 | 1 => "they have no replication in common".to_owned(),
        _ => {
            let listed: Vec<String> = traces.iter().take(4).map(|t| t.join(", ")).collect();
            format!("they are runs of different traces: {}", listed.join("; "))
        }
    };
    format!(
        "Not comparable: {why}. Shown side by side, without a verdict: {}.",
        names.join(", ")
    )
}

/// The traces of a run with the beginning of their hashes.
pub(super) fn traces(run: &FoundRun) -> Vec<String> {
    let hashes = run.manifest.trace_sha256.iter();
    let shown = hashes.map(|(name, hash)| format!("{name} ({hash:.12})"));
    shown.collect()
}

/// Runs of one study, policy and set of traces are a column.
fn columns(runs: Vec<FoundRun>) -> Vec<Column> {
    let mut sorted: BTreeMap<(Vec<String>, String, String), Vec<FoundRun>> = BTreeMap::new();
    for run in runs {
        let study = run.dir.parent().and_then(Path::parent);
        let study = study.map_or(String::new(), |dir| dir.display().to_string());
        let policy = run.manifest.policy_or_bound();
        let policy = policy.unwrap_or_else(|| "no-broker".to_owned());
        let own = sorted.entry((traces(&run), study, policy)).or_default();
        own.push(run);
    }
    // The shortest name that tells it from the others: the policy, with its
    // scenario, with its traces.
    let names: Vec<[String; 3]> = sorted
        .iter()
        .map(|((traces, _, policy), runs)| {
            let scenario = runs.first().map(|run| run.manifest.study.scenario.clone());
            let with_scenario = format!("{}/{policy}", scenario.unwrap_or_default());
            let with_traces = format!("{policy}, {}", traces.join(", "));
            [policy.clone(), with_scenario, with_traces]
        })
        .collect();
    let tells = |form: &usize| {
        let all: BTreeSet<&String> = names.iter().map(|name| &name[*form]).collect();
        all.len() == names.len()
    };
    let form = (0..3).find(tells).unwrap_or(2);
    let mut used = BTreeSet::new();
    let mut columns = Vec::new();
    for (mut runs, names) in sorted.into_values().zip(&names) {
        runs.sort_by_key(|run| run.manifest.replication);
        let plain = &names[form];
        let name = unused(&mut used, plain, "#");
        columns.push(Column { name, runs });
    }
    columns
}
