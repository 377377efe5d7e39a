//! A trace on one page: tables and figures as an HTML file that needs no
//! network.

mod figures;
mod tables;

use super::batches::batches;
use super::{Characterization, Columns};
use crate::load::Loaded;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use gridrig_results::plot::{Page, Verdict, integer, number, percent, seconds};

/// The sheet of a trace and what was computed of it.
pub fn sheet(loaded: &Loaded, trace: &Characterization) -> Page {
    let name = loaded.file.rsplit('/').next().unwrap_or(&loaded.file);
    let mut page = Page::new(format!("Trace {name}"));
    overview(&mut page, trace);
    let jobs = &Columns::of(&loaded.jobs);
    if loaded.jobs.is_empty() {
        page.verdict(Verdict::Warning, "The trace has no job that ran.");
        return page;
    }
    profile(&mut page, jobs, trace);
    page.heading("Demand with unlimited resources");
    page.paragraph(&demand_text(trace));
    let (processors, running) = figures::demand(jobs, trace);
    page.figure(
        &processors,
        "Processors busy if every job started when it is submitted (LSAP Figures 7 and 8).",
    );
    page.figure(&running, "Jobs running under the same assumption.");
    page.heading("Arrivals");
    page.pair(
        (
            &figures::hourly(trace),
            "Jobs by the hour of the day in which they are submitted.",
        ),
        (
            &figures::daily(trace),
            "Jobs by day of the week, per such day between the first and the last submission.",
        ),
    );
    page.pair(
        (
            &figures::interarrival(&jobs.submits),
            "Times from one submission to the next.",
        ),
        (
            &figures::autocorrelation(&jobs.submits),
            "Correlation of an inter-arrival time with the one so many jobs later.",
        ),
    );
    page.heading("Sizes and run times");
    page.pair(
        (
            &figures::processors(&jobs.sizes),
            "Share of jobs that are not wider.",
        ),
        (
            &figures::run_times(&jobs.run_times),
            "Share of jobs that do not run longer.",
        ),
    );
    batch_section(&mut page, jobs, trace);
    cluster_section(&mut page, trace);
    page.footer("Instants count from the log's time 0. docs/trace-info.md explains every figure.");
    page
}

fn overview(page: &mut Page, trace: &Characterization) {
    let mut facts: Vec<(&str, String)> = vec![
        ("Format", trace.format.to_uppercase()),
        (
            "Jobs",
            format!(
                "{} of {} users; {} failed or were cancelled after they ran",
                integer(trace.jobs),
                integer(trace.distinct.users),
                integer(trace.failed)
            ),
        ),
        ("Skipped", skipped(trace)),
        ("Span", seconds(trace.span_s)),
    ];
    if let (Some(first), Some(last)) = (&trace.first_submit, &trace.last_submit) {
        facts.push(("Submitted", format!("{first} to {last}")));
    }
    let machine = match (trace.max_processors, trace.offered_load) {
        (Some(has), Some(load)) => {
            format!(
                "{} processors, offered load {}",
                integer(has),
                percent(load)
            )
        }
        (Some(has), None) => format!("{} processors", integer(has)),
        (None, _) => "processors not known".to_owned(),
    };
    facts.push(("Machine", machine));
    facts.push(("SHA-256", trace.sha256.clone()));
    page.heading("Overview");
    page.facts(facts);
    for warning in &trace.warnings {
        let prefix = format!("{}: ", trace.file);
        page.verdict(
            Verdict::Warning,
            warning.strip_prefix(&prefix).unwrap_or(warning),
        );
    }
    page.table(&tables::distributions(trace));
    page.table(&tables::sizes(trace));
}

fn skipped(trace: &Characterization) -> String {
    let reasons: Vec<String> = trace
        .skipped
        .iter()
        .map(|(reason, count)| format!("{} {reason}", integer(*count)))
        .collect();
    match reasons.is_empty() {
        true => "no line".to_owned(),
        false => reasons.join(", "),
    }
}

fn profile(page: &mut Page, jobs: &Columns, trace: &Characterization) {
    page.heading("Job profile");
    page.figure(
        &figures::run_time_profile(jobs),
        "Run time of each job against its submission (LSAP Figures 5 and 6).",
    );
    page.figure(
        &figures::processor_profile(jobs, trace.max_processors),
        "Processors of each job against its submission (LSAP Figures 5 and 6).",
    );
}

fn demand_text(trace: &Characterization) -> String {
    let demand = &trace.demand;
    let (Some(peak), Some(at), Some(mean)) = (
        demand.peak_processors,
        demand.peak_processors_at_s,
        demand.mean_processors,
    ) else {
        return "No job runs for any time.".to_owned();
    };
    let above = match (demand.above_machine_share, trace.max_processors) {
        (Some(share), Some(has)) => format!(
            " More than the machine's {} are wanted for {} of the time.",
            integer(has),
            percent(share)
        ),
        _ => String::new(),
    };
    format!(
        "At most {} processors are wanted at once, first {} into the log; {} on average.{above}",
        integer(peak),
        seconds(at),
        number(mean)
    )
}

fn batch_section(page: &mut Page, jobs: &Columns, trace: &Characterization) {
    let of = &trace.batches;
    page.heading("Batch submissions");
    page.paragraph(&format!(
        "A batch is what one user submits within {} of its first job (DMM 5.1). {} batches of two \
         jobs and more hold {} of the jobs and {} of the processor time.",
        seconds(of.window_s),
        integer(of.count),
        of.jobs_share.map_or("no".to_owned(), percent),
        of.processor_time_share.map_or("none".to_owned(), percent)
    ));
    if of.count == 0 {
        return;
    }
    let window = SimDuration::from_nanos((of.window_s * NANOS_PER_SEC as f64) as u64);
    let all = batches(jobs, window, 2);
    page.pair(
        (
            &figures::batch_sizes(&all),
            "Share of batches with no more jobs.",
        ),
        (
            &figures::batch_spread(&all, of),
            "Longest over shortest run inside a batch (DMM Figure 6); runs below 1 s count as 1 s.",
        ),
    );
    page.table(&tables::batches(of));
}

fn cluster_section(page: &mut Page, trace: &Characterization) {
    let Some(all) = &trace.clusters else { return };
    page.heading("Load of the clusters");
    page.paragraph(&tables::imbalance(all));
    let (cumulative, hourly) = figures::clusters(all);
    page.figure(
        &cumulative,
        "Cumulative load of the busiest clusters (DMM Figure 2 a and b).",
    );
    page.figure(
        &hourly,
        "Arrivals of an hour at the four busiest clusters, the busiest hour of each bin (DMM \
         Figure 2 c and d).",
    );
    page.table(&tables::clusters(all));
}
