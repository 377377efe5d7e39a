//! The report as text.

use super::{CheckReport, StepReport, WindowReport};
use crate::words::list;
use gridrig_results::text::table;
use std::fmt;

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "scenario      {} ({} time)", self.scenario, self.clock)?;
        writeln!(f, "jobs          {} in {}", self.jobs, human(self.span_s))?;
        if self.impossible_jobs > 0 {
            writeln!(f, "impossible    {} jobs", self.impossible_jobs)?;
        }
        writeln!(f, "processors    {}", self.processors)?;
        writeln!(f, "offered load  {}", load(self.offered_load))?;
        if let Some(failures) = self.node_failures {
            writeln!(f, "node failures {failures}")?;
        }
        for cluster in &self.clusters {
            if let Some(how) = &cluster.how_nodes_fail {
                writeln!(f, "  {}: {how}", cluster.name)?;
            }
        }
        writeln!(f, "runs          {}", self.runs)?;
        let one_by_one = match (self.runs, self.clock) {
            (2.., "virtual") => ", one run at a time (-j runs several)",
            _ => "",
        };
        let wall = human(self.wall_time_s);
        writeln!(f, "wall time     about {wall}{one_by_one}")?;
        if let Some(repeats) = &self.repeats {
            writeln!(f, "repeats       {repeats}")?;
        }
        if let Some(faults) = &self.faults {
            writeln!(f, "faults        {faults}")?;
        }
        for workload in &self.workloads {
            let (trace, entry, jobs) = (&workload.trace, &workload.entry, workload.jobs);
            writeln!(f, "\nworkload {trace} -> {entry}: {jobs} jobs")?;
            for (kind, counts) in [
                ("skipped", &workload.skipped),
                ("left out", &workload.reduced),
            ] {
                for (reason, count) in counts {
                    writeln!(f, "  {kind}: {count} {reason}")?;
                }
            }
            if let Some(window) = &workload.window {
                writeln!(f, "  {}", window.sentence())?;
            }
            if !workload.drawn.is_empty() {
                writeln!(f, "  drawn at random by draw: {}", list(&workload.drawn))?;
            }
            if let Some(share) = workload.share {
                writeln!(f, "  share: {share:.4}, chosen by its load")?;
            }
            f.write_str(&steps(&workload.steps, "  ", 3, "demand lost"))?;
        }
        if !self.domains.is_empty() {
            write!(f, "\n{}", self.domain_table())?;
        }
        write!(f, "\n{}", self.cluster_table())?;
        for warning in &self.warnings {
            writeln!(f, "\nwarning [{}]: {}", warning.code, warning.message)?;
        }
        Ok(())
    }
}

impl WindowReport {
    /// Where it is and, if it was chosen, how good it is.
    fn sentence(&self) -> String {
        let (start, length) = (human(self.start_s), human(self.length_s));
        let Some(chosen) = &self.chosen else {
            return format!("window: {length} from {start}");
        };
        let distances = chosen.distances.iter();
        let distances = list(distances.map(|(component, far)| format!("{component} {far:.3}")));
        let (considered, score) = (chosen.considered, chosen.score);
        format!(
            "window: {length} from {start}, the best of {considered} (score {score:.3}; {distances})"
        )
    }
}

impl CheckReport {
    fn domain_table(&self) -> String {
        let head = "domain|processors|jobs|own load|load in reach|jobs/cycle|jobs/exchange|max";
        rows(head, &self.domains, |domain| {
            vec![
                domain.name.clone(),
                domain.processors.to_string(),
                domain.jobs.to_string(),
                load(domain.load_on_own),
                load(domain.load_on_reachable),
                format!("{:.3}", domain.jobs_per_cycle),
                format!("{:.3}", domain.jobs_per_exchange),
                domain.busiest_exchange.to_string(),
            ]
        })
    }

    fn cluster_table(&self) -> String {
        let head = "cluster|processors|direct jobs|direct load|load if spread evenly";
        rows(head, &self.clusters, |cluster| {
            vec![
                cluster.name.clone(),
                cluster.processors.to_string(),
                cluster.jobs.to_string(),
                load(cluster.direct_load),
                load(cluster.even_load),
            ]
        })
    }
}

/// A table with these names of columns, and a row of each.
fn rows<T>(head: &str, all: &[T], row: impl Fn(&T) -> Vec<String>) -> String {
    let head: Vec<String> = head.split('|').map(str::to_owned).collect();
    let rows = all.iter().map(row);
    table(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

/// A table of the steps, loads with so many decimals; `lost` is the head of what
/// is left out.
pub(crate) fn steps(steps: &[StepReport], indent: &str, decimals: usize, lost: &str) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let load = |load: Option<f64>| load.map_or("-".to_owned(), |load| format!("{load:.decimals$}"));
    let head = format!("{indent}step|jobs|load before|load after|{lost}");
    rows(&head, steps, |step| {
        vec![
            format!("{indent}{}", step.name),
            format!("{} -> {}", step.jobs_before, step.jobs_after),
            load(step.load_before),
            load(step.load_after),
            format!("{:.1} %", step.work_lost * 100.0),
        ]
    })
}

fn load(load: Option<f64>) -> String {
    load.map_or_else(|| "-".to_owned(), |load| format!("{load:.3}"))
}

/// Seconds in the unit that a person would choose.
pub(crate) fn human(seconds: f64) -> String {
    let units = [
        (86_400.0, "d"),
        (3_600.0, "h"),
        (60.0, "min"),
        (1.0, "s"),
        (1e-3, "ms"),
    ];
    if seconds <= 0.0 {
        return "0 s".to_owned();
    }
    let fits = units.into_iter().find(|(size, _)| seconds >= *size);
    let (size, unit) = fits.unwrap_or((1e-6, "us"));
    // Three digits, without those that say nothing.
    let value = format!("{:.2}", seconds / size);
    let value = value.trim_end_matches('0').trim_end_matches('.');
    format!("{value} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_the_unit_of_people() {
        let check = |seconds, text: &str| assert_eq!(human(seconds), text);
        check(300.0, "5 min");
        check(18_000.0, "5 h");
        check(0.06, "60 ms");
        check(2_700.0, "45 min");
        check(10_080.0, "2.8 h");
        check(0.0, "0 s");
        check(0.000_5, "500 us");
    }
}
