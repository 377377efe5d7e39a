//! Runs as a table shows them: the replications of a policy in one row.

use super::scan::{Figures, RunEntry, State};
use crate::summary::JobCounts;
use gridrig_scenario::each_once;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// One run, or all replications of a policy in a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The run, or the directory that holds the runs.
    pub path: String,
    /// How many runs.
    pub runs: u64,
    /// The worst of their states.
    pub state: State,
    /// Why it is not complete, of the first that is not.
    pub reason: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// The policy; null without a broker.
    pub policy: Option<String>,
    /// Their seeds, if there are few.
    pub seeds: String,
    /// The key of the replication; what varies if there are several.
    pub replication: String,
    /// `virtual` or `real`.
    pub clock: String,
    /// Runs that may not be relied on.
    pub invalid: u64,
    /// Runs that ended before all jobs did.
    pub partial: u64,
    /// Sums over the runs.
    pub jobs: JobCounts,
    /// Means over the runs that have the figure.
    pub figures: Figures,
    /// Each once.
    pub warnings: Vec<String>,
    /// Tags that any of them has.
    pub tags: Vec<String>,
    /// The notes, each once.
    pub note: String,
    /// Whether one of them is the baseline.
    pub baseline: bool,
    /// When the last of them was written, in seconds since 1970.
    pub written_unix_s: Option<u64>,
    /// How long they took on the wall clock, in seconds: the mean over those that say it.
    pub wall_s: Option<f64>,
    /// Its settings, such as `exchange 60s`, that not every row of the scenario has.
    pub differs: Vec<String>,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Order {
    /// The path.
    #[default]
    Path,
    /// Scenario, then policy.
    Scenario,
    /// The policy.
    Policy,
    /// When it was written.
    Written,
    /// Jobs submitted.
    Jobs,
    /// Mean delay.
    Delay,
    /// 95 % quantile of the delay.
    DelayP95,
    /// Mean wait.
    Wait,
    /// Utilization.
    Utilization,
    /// Forwarding ratio.
    Forwarded,
}

impl Order {
    /// The names that addresses use.
    pub const NAMES: &'static [&'static str] = <Order as strum::VariantNames>::VARIANTS;

    /// The order of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Compares two rows; what a row does not have comes last either way.
    fn compare(self, a: &Row, b: &Row, down: bool) -> Ordering {
        let number = |row: &Row| match self {
            Order::Written => row.written_unix_s.map(|s| s as f64),
            Order::Jobs => Some(row.jobs.submitted as f64),
            Order::Delay => row.figures.delay_s_mean,
            Order::DelayP95 => row.figures.delay_s_p95,
            Order::Wait => row.figures.wait_s_mean,
            Order::Utilization => row.figures.utilization,
            Order::Forwarded => row.figures.forwarding_ratio,
            Order::Path | Order::Scenario | Order::Policy => None,
        };
        let turned = |order: Ordering| if down { order.reverse() } else { order };
        let order = match self {
            Order::Path => turned(a.path.cmp(&b.path)),
            Order::Scenario => turned((&a.scenario, &a.policy).cmp(&(&b.scenario, &b.policy))),
            Order::Policy => turned(a.policy.cmp(&b.policy)),
            _ => match (number(a), number(b)) {
                (Some(a), Some(b)) => turned(a.total_cmp(&b)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            },
        };
        // The baseline stays on top.
        (b.baseline.cmp(&a.baseline))
            .then(order)
            .then_with(|| a.path.cmp(&b.path))
    }
}

/// The runs that `wanted` picks as rows of a table. Replications that lie in
/// one directory are one row, unless `each` is set or some of them are not
/// wanted: a row never stands for a run that was filtered out.
pub fn rows(
    all: &[RunEntry],
    wanted: impl Fn(&RunEntry) -> bool,
    each: bool,
    (order, down): (Order, bool),
) -> Vec<Row> {
    let mut folders: BTreeMap<&str, Vec<&RunEntry>> = BTreeMap::new();
    for run in all {
        folders.entry(parent(&run.path)).or_default().push(run);
    }
    let mut rows = Vec::new();
    for (folder, runs) in folders {
        let alike =
            |run: &&RunEntry| run.scenario == runs[0].scenario && run.policy == runs[0].policy;
        let together = !each
            && runs.len() > 1
            && !folder.is_empty()
            && runs.iter().all(|run| wanted(run))
            && runs.iter().all(alike);
        match together {
            true => rows.push(row(folder, &runs)),
            false => {
                let own = runs.iter().filter(|run| wanted(run));
                rows.extend(own.map(|run| row(&run.path, &[run])));
            }
        }
    }
    keep_what_differs(&mut rows);
    rows.sort_by(|a, b| order.compare(a, b, down));
    rows
}

/// Takes away the settings that all rows of a scenario have. Rows that know of none
/// (runs that cannot be read, pooled clusters) do not count.
fn keep_what_differs(rows: &mut [Row]) {
    let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.differs.is_empty()) {
        match shared.entry(row.scenario.clone()) {
            Entry::Vacant(first) => {
                first.insert(row.differs.iter().cloned().collect());
            }
            Entry::Occupied(mut others) => {
                let others = others.get_mut();
                others.retain(|setting| row.differs.contains(setting));
            }
        }
    }
    for row in rows {
        if let Some(shared) = shared.get(&row.scenario) {
            row.differs.retain(|setting| !shared.contains(setting));
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Runs of one policy, of which there is at least one.
fn row(path: &str, runs: &[&RunEntry]) -> Row {
    let Some(first) = runs.first() else {
        return Row::default();
    };
    let seeds: BTreeSet<u64> = runs.iter().map(|run| run.seed).collect();
    // What varies between replications does not tell one row from another.
    let in_all = |setting: &&String| {
        let mut known = runs.iter().filter(|run| !run.settings.is_empty());
        known.all(|run| run.settings.contains(*setting))
    };
    let walls: Vec<f64> = runs.iter().filter_map(|run| run.wall_s).collect();
    let tags: BTreeSet<&String> = runs.iter().flat_map(|run| &run.labels.tags).collect();
    let notes = runs.iter().map(|run| run.labels.note.as_str());
    let notes = each_once(notes.filter(|note| !note.is_empty()));
    let warnings = runs.iter().flat_map(|run| &run.warnings);
    let warnings = each_once(warnings.filter(|warning| !warning.is_empty()));
    Row {
        path: path.to_owned(),
        runs: runs.len() as u64,
        state: runs.iter().map(|run| run.state).max().unwrap_or_default(),
        reason: runs.iter().find_map(|run| run.reason.clone()),
        scenario: first.scenario.clone(),
        policy: first.policy.clone(),
        seeds: match seeds.len() {
            0..=3 => {
                let texts: Vec<String> = seeds.iter().map(u64::to_string).collect();
                texts.join(", ")
            }
            many => format!("{many} seeds"),
        },
        replication: match (runs.len(), &first.varies) {
            (1, _) => first.key.clone(),
            (n, Some(over)) => format!("{n} over {over}"),
            (n, None) => format!("{n} runs"),
        },
        clock: first.clock.clone(),
        invalid: runs.iter().filter(|run| run.valid == Some(false)).count() as u64,
        partial: runs.iter().filter(|run| run.partial).count() as u64,
        jobs: runs.iter().map(|run| run.jobs).sum(),
        figures: Figures::mean(runs.iter().map(|run| &run.figures)),
        warnings: warnings.into_iter().cloned().collect(),
        tags: tags.into_iter().cloned().collect(),
        note: notes.join("\n"),
        baseline: runs.iter().any(|run| run.labels.baseline),
        written_unix_s: runs.iter().filter_map(|run| run.written_unix_s).max(),
        wall_s: (!walls.is_empty()).then(|| walls.iter().sum::<f64>() / walls.len() as f64),
        differs: first.settings.iter().filter(in_all).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(path: &str, delay: Option<f64>) -> RunEntry {
        RunEntry {
            path: path.to_owned(),
            scenario: "s".to_owned(),
            policy: Some(path.split('/').nth(1).unwrap_or("p").to_owned()),
            figures: Figures {
                delay_s_mean: delay,
                ..Figures::default()
            },
            ..RunEntry::default()
        }
    }

    fn shown(rows: &[Row]) -> Vec<(&str, u64, Option<f64>)> {
        let of = |row: &'_ Row| row.figures.delay_s_mean;
        rows.iter()
            .map(|row| (row.path.as_str(), row.runs, of(row)))
            .collect()
    }

    #[test]
    fn orders_go_by_the_names_of_the_columns() {
        assert_eq!(Order::NAMES.len(), 10);
        assert_eq!(Order::from_name("delay-p95"), Some(Order::DelayP95));
        assert_eq!(Order::from_name("colour"), None);
    }

    #[test]
    fn replications_are_one_row_unless_some_are_not_wanted() {
        let all = [
            run("s-1/a/r000", Some(1.0)),
            run("s-1/a/r001", Some(3.0)),
            run("s-1/b/r000", None),
        ];
        let order = (Order::Delay, true);
        let together = rows(&all, |_| true, false, order);
        assert_eq!(
            shown(&together),
            [("s-1/a", 2, Some(2.0)), ("s-1/b/r000", 1, None)]
        );
        let each = rows(&all, |_| true, true, order);
        assert_eq!(each.len(), 3);
        assert_eq!(each[0].path, "s-1/a/r001");
        let some = rows(&all, |run| run.path != "s-1/a/r000", false, order);
        assert_eq!(some[0].path, "s-1/a/r001");
    }

    #[test]
    fn the_baseline_stays_on_top_and_what_is_undefined_at_the_end() {
        let mut all = [
            run("a", Some(2.0)),
            run("b", None),
            run("c", Some(1.0)),
            run("d", Some(9.0)),
        ];
        all[3].labels.baseline = true;
        for (down, order) in [(false, ["d", "c", "a", "b"]), (true, ["d", "a", "c", "b"])] {
            let rows = rows(&all, |_| true, false, (Order::Delay, down));
            let paths: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
            assert_eq!(paths, order);
        }
    }
}
