//! Which lines become jobs, on traces small enough to work out by hand.

use crate::{line, load_text};
use gridrig_tracelab::format::{Format, TraceReader};
use gridrig_tracelab::load::load_from;
use gridrig_tracelab::spec::SizeFrom;

fn ids_and_sizes(text: &str, size: SizeFrom) -> Vec<(u64, u32)> {
    let loaded = load_from(
        &mut TraceReader::new(Format::Swf, text.as_bytes(), "t.swf"),
        size,
    )
    .unwrap();
    loaded
        .jobs
        .iter()
        .map(|j| (j.trace_id, j.processors))
        .collect()
}

#[test]
fn the_size_is_the_wanted_field_or_the_other_where_it_is_not_positive() {
    let text = [
        line(1, "0", "5", 4, 8, 1),
        line(2, "0", "5", -1, 8, 1),
        line(3, "0", "5", 0, 8, 1),
        line(4, "0", "5", 4, -1, 1),
        line(5, "0", "5", 4, 0, 1),
        line(6, "0", "5", 0, -1, 1),
    ]
    .concat();
    assert_eq!(
        ids_and_sizes(&text, SizeFrom::Allocated),
        [(1, 4), (2, 8), (3, 8), (4, 4), (5, 4)]
    );
    assert_eq!(
        ids_and_sizes(&text, SizeFrom::Requested),
        [(1, 8), (2, 8), (3, 8), (4, 4), (5, 4)]
    );
    assert_eq!(load_text(&text).unwrap().skipped["no-processors"], 1);
}

#[test]
fn a_job_without_run_time_or_without_anything_to_run_on_never_ran() {
    let text = [
        line(1, "0", "-1", 4, 4, 1),
        line(2, "0", "0", -1, 4, 1),
        line(3, "0", "0", 0, 4, 1),
        line(4, "0", "0", 2, 4, 1),
        line(5, "0", "-1", -1, -1, 1),
        line(6, "0", "7", -1, 4, 1),
    ]
    .concat();
    let loaded = load_text(&text).unwrap();
    assert_eq!(loaded.skipped["never-ran"], 4);
    assert_eq!(ids_and_sizes(&text, SizeFrom::Allocated), [(4, 2), (6, 4)]);
}

#[test]
fn partial_executions_give_way_to_the_line_that_sums_them_up() {
    let summary = line(1, "0", "30", 4, 4, 1);
    let parts = line(1, "0", "10", 4, 4, 2) + &line(1, "-1", "20", 4, 4, 3);
    for text in [format!("{summary}{parts}"), format!("{parts}{summary}")] {
        let loaded = load_text(text).unwrap();
        assert_eq!(loaded.jobs.len(), 1);
        assert_eq!(loaded.jobs[0].run_time.as_secs_f64(), 30.0);
        assert_eq!(loaded.skipped["partial-execution"], 2);
        assert!(loaded.warnings.is_empty());
    }
}

#[test]
fn a_partial_status_without_summary_line_is_a_job_in_its_place() {
    let text =
        line(1, "0", "1", 1, 1, 1) + &line(2, "0", "2", 1, 1, 3) + &line(3, "0", "3", 1, 1, 0);
    let loaded = load_text(text).unwrap();
    let ids: Vec<u64> = loaded.jobs.iter().map(|j| j.trace_id).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(
        loaded.warnings,
        ["t.swf: 1 lines with status 2, 3 or 4 have no summary line and count as jobs"]
    );
}

#[test]
fn failed_and_cancelled_jobs_that_ran_are_kept_and_marked() {
    let statuses = [1, 0, 5, -1, 137];
    let text: String = statuses.map(|s| line(1, "0", "5", 1, 1, s)).concat();
    let failed: Vec<bool> = load_text(text)
        .unwrap()
        .jobs
        .iter()
        .map(|j| j.failed)
        .collect();
    assert_eq!(failed, [false, true, true, false, false]);
}

#[test]
fn a_requested_time_of_zero_is_none() {
    let text = line(1, "0", "5", 1, 1, 1).replace(" 600 ", " 0 ");
    assert_eq!(load_text(text).unwrap().jobs[0].requested_time, None);
}
