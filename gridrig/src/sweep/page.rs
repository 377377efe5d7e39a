//! What a sweep has found, on a page: only the axes that differ, how each figure
//! responds to them, everything at once, and which runs are the best trade-offs.

use super::merge::{name, text};
use super::plan::{Plan, Point};
use super::run::State;
use super::study::number;
use crate::words::{list, many};
use anyhow::bail;
use gridrig_results::plot::{self, Axis, Chart, Page, Parallel, Series, Table, Unit};
use gridrig_results::stats::Range;
use gridrig_results::{rundir, threshold};
use std::collections::{BTreeMap, BTreeSet};

/// What is shown unless somebody asks for something else.
const FIGURES: [&str; 2] = ["delay_s.mean", "forwards_per_job"];
/// Figures of which more is better; of all others, less is.
const MORE_IS_BETTER: [&str; 8] = [
    "utilization",
    "throughput",
    "goodput",
    "completed",
    "finished_share",
    "granted_share",
    "kept_share",
    "jain",
];
/// An axis with more values than this has dots instead of lines.
const MOST_VALUES: usize = 12;
/// Rows of the table of best trade-offs.
const MOST_ROWS: usize = 50;

/// An axis that differs.
struct Differs {
    key: String,
    label: String,
    unit: Unit,
    /// Its values in their order, by their places where they are no numbers, and how each
    /// is shown.
    values: Vec<(f64, String)>,
    is_number: bool,
}

/// The runs of a policy at a point: by replication, the figures.
type Cell<'a> = ((&'a Point, String), BTreeMap<String, Vec<f64>>);

/// What a page is made from.
pub struct Found<'a> {
    plan: &'a Plan,
    figures: Vec<String>,
    axes: Vec<Differs>,
    cells: Vec<Cell<'a>>,
}

impl<'a> Found<'a> {
    /// Reads what there is of a sweep, of these figures, or of delay and forwards.
    ///
    /// # Errors
    /// A figure that there is not; a sweep of which nothing has run.
    pub fn read(plan: &'a Plan, figures: &[String]) -> anyhow::Result<Self> {
        let known = threshold::paths();
        let known: BTreeSet<String> = known.iter().map(|path| path.join(".")).collect();
        let figures = match figures {
            [] => FIGURES.map(str::to_owned).to_vec(),
            asked => asked.to_vec(),
        };
        if let Some(other) = figures.iter().find(|figure| !known.contains(*figure)) {
            bail!("--figure {other}: expected one of {}", list(&known));
        }
        let mut cells: BTreeMap<(usize, String), BTreeMap<String, Vec<f64>>> = BTreeMap::new();
        for (index, point) in plan.points.iter().enumerate() {
            for run in State::of(plan, point).done {
                let policy = run.policy_or_bound().unwrap_or_default();
                if rundir::is_bound(&policy) {
                    continue;
                }
                let value = |figure: &String| {
                    let pointer = format!("/{}", figure.replace('.', "/"));
                    let value = run.summary.pointer(&pointer).and_then(|it| it.as_f64());
                    value.unwrap_or(f64::NAN)
                };
                let all = cells.entry((index, policy)).or_default();
                all.insert(run.key(), figures.iter().map(value).collect());
            }
        }
        if cells.is_empty() {
            let dir = plan.dir.display();
            bail!("{dir}: nothing has run yet (expected gridrig sweep run {dir})");
        }
        let cells = cells.into_iter();
        let cells = cells.map(|((index, policy), runs)| ((&plan.points[index], policy), runs));
        Ok(Found {
            axes: differing(plan),
            plan,
            figures,
            cells: cells.collect(),
        })
    }

    /// The page.
    pub fn page(&self, title: &str) -> Page {
        let mut page = Page::new(title);
        let runs: usize = self.cells.iter().map(|(_, runs)| runs.len()).sum();
        let with_runs: BTreeSet<&String> = self.cells.iter().map(|((it, _), _)| &it.id).collect();
        let points = plot::integer(self.plan.points.len() as u64);
        let points = format!("{} of {points} have runs", with_runs.len());
        page.facts([
            ("points", points),
            ("runs", many(runs as u64, "run")),
            ("policies", list(self.policies())),
            ("shown", list(&self.figures)),
        ]);
        let mut axes = Table::new(["what differs", "values"]);
        for axis in &self.axes {
            let values = match &axis.values[..] {
                [(_, first), .., (_, last)] if axis.values.len() > MOST_VALUES => {
                    format!("{} values from {first} to {last}", axis.values.len())
                }
                all => list(all.iter().map(|(_, shown)| shown)),
            };
            axes.push([axis.key.clone(), values]);
        }
        page.table(&axes);
        if let [first, second, ..] = &self.figures[..] {
            self.trade_offs(&mut page, first, second);
        }
        for axis in &self.axes {
            page.heading(&format!("Response to {}", axis.label));
            let charts = (0..self.figures.len()).map(|figure| self.response(axis, figure));
            page.figures(&charts.collect::<Vec<_>>(), &self.response_caption(axis));
        }
        page.heading("All at once");
        page.figure(
            &self.parallel(),
            "A line is a case: the means of its replications.",
        );
        page.footer(concat!("gridrig ", env!("CARGO_PKG_VERSION")));
        page
    }

    fn policies(&self) -> BTreeSet<&String> {
        self.cells.iter().map(|((_, policy), _)| policy).collect()
    }

    /// How a figure responds to an axis: a line of means for each policy.
    fn response(&self, axis: &Differs, figure: usize) -> Chart {
        let x = match axis.is_number {
            true if axis.is_wide() => Axis::log(&axis.label, axis.unit.clone()),
            true => Axis::linear(&axis.label, axis.unit.clone()),
            false => Axis::categories(&axis.label, axis.values.iter().map(|(_, shown)| shown)),
        };
        let label = &self.figures[figure];
        let chart = Chart::new(label.clone()).half().x(x);
        let mut chart = chart.y(Axis::linear("", unit_of(label)));
        for policy in self.policies() {
            let mut by_value: BTreeMap<usize, BTreeMap<&String, Vec<f64>>> = BTreeMap::new();
            let own = self.cells.iter().filter(|((_, own), _)| own == policy);
            for ((point, _), runs) in own {
                let Some(at) = axis.place(point) else {
                    continue;
                };
                for (key, figures) in runs {
                    let all = by_value.entry(at).or_default().entry(key).or_default();
                    all.push(figures[figure]);
                }
            }
            let (mut points, mut intervals) = (Vec::new(), Vec::new());
            for (at, by_replication) in by_value {
                let means: Vec<f64> = by_replication.values().map(|all| mean(all)).collect();
                let x = axis.values[at].0;
                points.push((x, mean(&means)));
                intervals.extend(Range::of_mean(&means).map(|range| (x, range.low, range.high)));
            }
            let series = match axis.values.len() > MOST_VALUES {
                true => Series::scatter(policy, points),
                false => Series::line(policy, points),
            };
            chart = chart.series(series.intervals(intervals));
        }
        chart
    }

    fn response_caption(&self, axis: &Differs) -> String {
        let over = match self.axes.len() {
            1 => "",
            _ => " over all values of the other axes",
        };
        let least = self.cells.iter().map(|(_, runs)| runs.len()).min();
        let intervals = match least {
            Some(5..) => "intervals are 95 % intervals of the mean over replications",
            _ => "there are no intervals, which need five replications",
        };
        format!("Means at each value of {}{over}; {intervals}.", axis.key)
    }

    /// Every axis and every figure, and a line for each cell.
    fn parallel(&self) -> Parallel {
        let mut picture = Parallel::new("Axes and figures");
        for axis in &self.axes {
            picture = match axis.is_number {
                true => picture.axis(&axis.label, axis.unit.clone()),
                false => {
                    let names = axis.values.iter().map(|(_, shown)| shown.clone());
                    picture.names(&axis.label, names.collect())
                }
            };
        }
        for figure in &self.figures {
            picture = picture.axis(figure, unit_of(figure));
        }
        for policy in self.policies() {
            let own = self.cells.iter().filter(|((_, own), _)| own == policy);
            let lines = own.map(|(cell, runs)| {
                let x = |axis: &Differs| Some(axis.values[axis.place(cell.0)?].0);
                let axes = self.axes.iter().map(|axis| x(axis).unwrap_or(f64::NAN));
                axes.chain(self.means(runs)).collect()
            });
            picture = picture.group(policy, lines.collect());
        }
        picture
    }

    fn means(&self, runs: &BTreeMap<String, Vec<f64>>) -> Vec<f64> {
        let of = |figure| mean(&runs.values().map(|all| all[figure]).collect::<Vec<f64>>());
        (0..self.figures.len()).map(of).collect()
    }

    /// Cells than which no other is better in one of two figures and as good in the other.
    fn trade_offs(&self, page: &mut Page, first: &str, second: &str) {
        let better = [first, second].map(|figure| match better_is_more(figure) {
            true => (-1.0, "more"),
            false => (1.0, "less"),
        });
        let all = self.cells.iter();
        let all = all.map(|(cell, runs)| (cell, self.means(runs)));
        let all = all.filter(|(_, it)| it[..2].iter().all(|v| v.is_finite()));
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(_, a), (_, b)| {
            let by = |at: usize| (better[at].0 * a[at]).total_cmp(&(better[at].0 * b[at]));
            by(0).then(by(1))
        });
        let (mut front, mut best) = (Vec::new(), f64::INFINITY);
        for (cell, means) in &all {
            let own = better[1].0 * means[1];
            if own < best {
                best = own;
                front.push((*cell, means));
            }
        }
        page.heading("The best trade-offs");
        page.paragraph(&format!(
            "Of {} (a policy at a point), {} on the Pareto front: none has as good a {first} (the {} \
             the better) and a better {second} (the {} the better), or the other way round.",
            many(all.len() as u64, "case"),
            match front.len() { 1 => "1 is".to_owned(), some => format!("{some} are") },
            better[0].1,
            better[1].1,
        ));
        let axis = |figure: &str| Axis::linear(figure, unit_of(figure));
        let mut chart = Chart::new(format!("{first} and {second}"))
            .x(axis(first))
            .y(axis(second));
        for policy in self.policies() {
            let own = all.iter().filter(|(cell, _)| cell.1 == *policy);
            let points: Vec<(f64, f64)> = own.map(|(_, it)| (it[0], it[1])).collect();
            chart = chart.series(Series::scatter(policy, points));
        }
        let line: Vec<(f64, f64)> = front.iter().map(|(_, it)| (it[0], it[1])).collect();
        chart = chart.series(Series::step("Pareto front", line).color(plot::Color::Muted));
        page.figure(&chart, "A dot is a case: the means of its replications.");
        let names = self.axes.iter().map(|axis| axis.label.clone());
        let head = ["policy".to_owned()].into_iter().chain(names);
        let mut table = Table::new(head.chain(self.figures.iter().cloned()));
        for ((point, policy), means) in front.iter().take(MOST_ROWS) {
            let value = |axis: &Differs| text(point, &axis.key).unwrap_or_default();
            let axes = self.axes.iter().map(|axis| value(axis).into());
            let row = [plot::Cell::from(policy.as_str())].into_iter().chain(axes);
            table.push(row.chain(means.iter().map(|value| (*value).into())));
        }
        let left = front.len().saturating_sub(MOST_ROWS);
        if left > 0 {
            table = table.caption(format!("{left} more are not listed."));
        }
        page.table(&table);
    }
}

impl Differs {
    /// Whether its numbers are far apart.
    fn is_wide(&self) -> bool {
        let (first, last) = (self.values[0].0, self.values[self.values.len() - 1].0);
        first > 0.0 && last >= 20.0 * first
    }

    /// Which of its values a point has.
    fn place(&self, point: &Point) -> Option<usize> {
        let shown = text(point, &self.key)?;
        self.values.iter().position(|(_, own)| *own == shown)
    }
}

/// The axes of which points have several values, in the order of the study.
fn differing(plan: &Plan) -> Vec<Differs> {
    let keys = &plan.header.keys;
    let axes = keys.iter().map(|key| {
        let mut values: Vec<(f64, String)> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut is_number = true;
        for point in &plan.points {
            let Some(shown) = text(point, key) else {
                continue;
            };
            let value = point.set.get(key).and_then(number);
            is_number &= value.is_some();
            if seen.insert(shown.clone()) {
                values.push((value.unwrap_or_default(), shown));
            }
        }
        if is_number {
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
        } else {
            for (at, own) in values.iter_mut().enumerate() {
                own.0 = at as f64;
            }
        }
        let all = plan.points.iter().filter_map(|point| point.set.get(key));
        let is_time = is_number && all.clone().any(toml::Value::is_str);
        Differs {
            key: key.clone(),
            label: name(key, keys),
            unit: if is_time { Unit::Seconds } else { Unit::Plain },
            values,
            is_number,
        }
    });
    axes.filter(|axis| axis.values.len() > 1).collect()
}

fn better_is_more(figure: &str) -> bool {
    MORE_IS_BETTER.iter().any(|part| figure.contains(part))
}

fn unit_of(figure: &str) -> Unit {
    match figure.split('.').next().unwrap_or_default() {
        name if name.ends_with("processor_s") => Unit::Plain,
        name if name.ends_with("_s") || name.contains("_s_") => Unit::Seconds,
        name if name.contains("utilization") || name.ends_with("_share") => Unit::Fraction,
        _ => Unit::Plain,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
