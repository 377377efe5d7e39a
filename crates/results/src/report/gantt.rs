//! What ran where and when, processor by processor.

use super::Shown;
use super::error::Result;
use super::material::Material;
use super::number::key_words;
use crate::compare::parallel::each;
use crate::plot::{Axis, Color, Drawing, Figure as _, Gantt, Page, Unit, integer};
use crate::processors::Processors;
use crate::rundir::{self, GridDoc, Placements, Ran, TableColumns};

/// Charts of so many policies are drawn.
const MOST: usize = 4;

/// Above so many jobs in a run, only two policies are drawn.
const MANY_JOBS: usize = 100_000;

/// Above so many jobs, boxes have no names to point at: they are drawn as
/// cells, which have none.
const MOST_NAMES: usize = 3_000;

const HERE: Color = Color::Series(0);
const AWAY: Color = Color::Series(1);

/// The pictures with their captions, and what is said above them.
#[derive(Debug)]
pub(super) struct Pictures {
    words: String,
    charts: Vec<(Drawing, String)>,
}

impl Pictures {
    pub(super) fn show(&self, page: &mut Page) {
        page.heading("Gantt charts");
        page.paragraph(&self.words);
        for (drawing, caption) in &self.charts {
            page.figure(drawing, caption);
        }
    }
}

pub(super) fn draw((material, chosen, replications): Shown<'_>) -> Result<Pictures> {
    let order = order(material);
    let many = replications.chosen.iter().flatten().map(TableColumns::rows);
    let most = match many.max().unwrap_or(0) > MANY_JOBS {
        true => 2,
        false => MOST,
    };
    let words = format!(
        "Time runs to the right, and a line of the chart is a processor. {}{}",
        chosen.why,
        match order.len() > most {
            true => format!(" Drawn are {most} of {}.", order.len()),
            false => String::new(),
        }
    );
    let drawn: Vec<usize> = order.into_iter().take(most).collect();
    let bars = each(&drawn, |&index| {
        let run = material.columns[index].at(chosen.index)?;
        let jobs = replications.chosen[index].as_ref()?;
        Some(Ran::read(jobs, &run.manifest).map(|bars| (index, run, bars)))
    });
    let bars: Vec<_> = bars.into_iter().flatten().collect::<Result<_, _>>()?;
    let ends = bars.iter().flat_map(|(_, _, bars)| &bars.end).copied();
    let end = seconds(ends.max().unwrap_or(0).max(0));
    let charts = each(&bars, |&(index, run, ref bars)| {
        let column = &material.columns[index];
        let drawn = rundir::read_placements(&run.dir, &run.manifest.grid).map(|placements| {
            chart(&column.name, bars, &placements, &run.manifest.grid, end).draw()
        });
        (column, run, drawn)
    });
    let charts = charts.into_iter().map(|(column, run, drawn)| {
        let caption = format!(
            "{}, {}. The time axis is the same in all of these charts.",
            column.name,
            key_words(&run.key)
        );
        Ok((drawn?, caption))
    });
    let charts = charts.collect::<Result<_>>()?;
    Ok(Pictures { words, charts })
}

/// Nanoseconds as seconds.
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// The baseline and the policy of the verdict one under the other, then the
/// others.
fn order(material: &Material) -> Vec<usize> {
    let comparison = material.comparison.as_ref();
    let about = comparison.and_then(|c| c.verdict.policy.as_ref());
    let mut order: Vec<usize> = (0..material.columns.len()).collect();
    order.sort_by_key(|&index| match index {
        0 => 0,
        index if Some(&material.columns[index].name) == about => 1,
        _ => 2,
    });
    order
}

fn chart(name: &str, jobs: &Ran, placements: &Placements, grid: &GridDoc, end: f64) -> Gantt {
    let clusters = || grid.clusters.iter();
    // Numbered as in `jobs.csv`.
    let mut processors = Processors::new(clusters().map(|cluster| cluster.nodes()));
    let names = clusters().flat_map(|cluster| {
        let name = cluster.name();
        (0..cluster.processors()).map(move |number| format!("{name} {number}"))
    });
    let axis = Axis::linear("time", Unit::Seconds).range(0.0, end);
    let mut chart = Gantt::new(name, axis, names.collect::<Vec<_>>())
        .legend(HERE, "runs where it was submitted")
        .legend(AWAY, jobs.elsewhere())
        .hatched(AWAY);
    let named = jobs.start.len() <= MOST_NAMES;
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); jobs.start.len()];
    for (begins, row) in events(jobs) {
        if !begins {
            processors.give_back(&std::mem::take(&mut held[row]));
            continue;
        }
        let parts = placements.by_cluster(row, jobs.on[row]);
        let taken: Vec<usize> = parts
            .flat_map(|(cluster, runs)| processors.take(cluster, runs))
            .collect();
        let color = if jobs.away[row] { AWAY } else { HERE };
        for block in taken.chunk_by(|a, b| *b == *a + 1) {
            let label = match named {
                true => format!(
                    "job {row}: {} processors",
                    integer(u64::from(jobs.processors[row]))
                ),
                false => String::new(),
            };
            let first = block.first().copied().unwrap_or(0);
            let times = (seconds(jobs.start[row]), seconds(jobs.end[row]));
            chart.span((first, block.len()), times, color, label);
        }
        held[row] = taken;
    }
    chart
}

/// Whether a job begins or ends, and its row, in the order of time. At one
/// instant, what ends makes room for what begins.
fn events(jobs: &Ran) -> impl Iterator<Item = (bool, usize)> {
    let times = || jobs.start.iter().zip(&jobs.end);
    // A box without a length cannot be seen and would never end.
    let seen = || {
        let ran = times().enumerate();
        ran.filter(|(_, (start, end))| **start != Ran::NEVER && start < end)
    };
    // Two short lists of integers are sorted in half the time of a long one.
    let in_order = |mut list: Vec<(i64, usize)>| {
        list.sort_unstable();
        list.into_iter().peekable()
    };
    let starts = seen().map(|(row, (start, _))| (*start, row));
    let ends = seen().map(|(row, (_, end))| (*end, row));
    let mut starts = in_order(starts.collect());
    let mut ends = in_order(ends.collect());
    // Every start has its end behind it: the starts run out first.
    std::iter::from_fn(move || {
        let end = ends.peek()?.0;
        match starts.next_if(|(start, _)| *start < end) {
            Some((_, row)) => Some((true, row)),
            None => ends.next().map(|(_, row)| (false, row)),
        }
    })
}
