//! The verdict in words.

use super::demand::DEMAND;
use super::outcome::{Agreement, Validation};
use super::stretches::STRETCHES;
use gridrig_results::plot::integer;

impl Validation {
    /// The verdict in one paragraph for people.
    pub fn summary(&self) -> String {
        let (jobs, all) = (integer(self.reduced_jobs), integer(self.original_jobs));
        let mut text = format!("{jobs} of {all} jobs. ");
        let of = |name: &str| self.statistics.iter().find(|s| s.name == name);
        let distances = [
            ("sizes", "processors.ks"),
            ("run times", "run_time.ks"),
            ("submit times", "arrivals.ks"),
        ];
        let apart = distances.iter().filter_map(|(what, name)| {
            let statistic = of(name)?;
            Some(format!("{what} up to {:.3}", statistic.value))
        });
        let apart: Vec<String> = apart.collect();
        if !apart.is_empty() {
            text += &format!("CDFs apart: {}. ", apart.join(", "));
        }
        if let Some(demand) = of(DEMAND) {
            let per_job = 100.0 * demand.value;
            text += &format!("Demand per job is {per_job:.1} % of the original's");
            if let Some(load) = self.demand.load_ratio {
                let said = match (self.demand.declared, self.demand.load_is_known()) {
                    (_, false) => ", which nothing declares",
                    (true, _) => ", as declared",
                    (false, _) => "",
                };
                text += &format!(", the load {:.0} %{said}", 100.0 * load);
            }
            text += ". ";
        }
        text += match self.verdict {
            Agreement::Equivalent => "These agree within the margins. ",
            Agreement::Different => "The reduced trace is not a random sample of the original. ",
            Agreement::Open => "",
        };
        let beyond = self.statistics.iter().filter(|s| s.within == Some(false));
        let random: Vec<&str> = beyond.filter(|s| s.inside).map(|s| s.name).collect();
        if !random.is_empty() {
            text += &format!(
                "Beyond their margins, as random samples of so few jobs are: {}. ",
                random.join(", ")
            );
        }
        match &self.behaviour {
            Some(behaviour) => text += &format!("{behaviour}."),
            None => text += "Nothing here says that waiting times agree.",
        }
        text
    }

    /// Why it did not pass, one line for each reason.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = self.identity.faults();
        let edge = |edge: Option<f64>| edge.map_or("..".to_owned(), |e| format!("{e:.4}"));
        for statistic in self.statistics.iter().filter(|s| !s.inside) {
            failures.push(format!(
                "{} = {:.4}: outside the envelope [{}, {}] of {} samples, {:.1} spreads \
                 from their median {:.4} ({})",
                statistic.name,
                statistic.value,
                edge(statistic.low),
                edge(statistic.high),
                self.judged_by.name(),
                statistic.deviation,
                statistic.median,
                statistic.what,
            ));
        }
        // Whichever statistic has seen it.
        if let (Some(stretch), false) = (&self.stretch, failures.is_empty()) {
            let kind = match (stretch.found as f64) < stretch.expected {
                true => "jobs of a burst are missing",
                false => "there are too many",
            };
            failures.push(format!(
                "{STRETCHES}: the traces differ most from day {:.3} to {:.3}, with {} jobs where \
                 {:.1} of the original's {} are expected: {kind}",
                stretch.from_s / DAY,
                stretch.to_s / DAY,
                stretch.found,
                stretch.expected,
                stretch.original_jobs
            ));
        }
        if !self.demand.load_is_known() {
            let load = 100.0 * self.demand.load_ratio.unwrap_or_default();
            failures.push(format!(
                "load = {load:.0} % of the original's: expected 90 to 110 %, or a header or \
                 options that say how the trace was reduced"
            ));
        }
        for bound in self.requirements.iter().filter(|r| !r.met) {
            failures.push(format!("{} = {:.4}", bound.requirement, bound.value));
        }
        failures
    }
}

/// Seconds.
const DAY: f64 = 86_400.0;
