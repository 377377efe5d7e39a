//! The Grid Workload Format, as real files have it.

use crate::{gwf_line, line, load_any_text, whole};
use gridrig_core::time::SimDuration;
use gridrig_tracelab::format::{Format, PARTITION, QUEUE, SITE, TraceReader, Writer, field};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::sanitize::Filter;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::synth::gzip;
use std::fs;
use std::num::NonZeroU32;

const PLACE: [&str; 3] = ["U2004S1", "queue0", "S1"];

fn grid() -> String {
    let mut text = "# Grid'5000\n# Processors: 64\n".to_owned();
    for (job, at, user) in [
        (7, "1081771560", "U2004S1"),
        (8, "1081771500.5", "U9S2"),
        (9, "1081771700", "U2004S1"),
    ] {
        text += &gwf_line(job, at, "5", "90", 2, [user, "queue0", "S1"]);
    }
    text
}

#[test]
fn times_count_from_the_second_of_the_first_submit() {
    let loaded = load_any_text(grid()).unwrap();
    let submits: Vec<SimDuration> = loaded.jobs.iter().map(|j| j.submit).collect();
    assert_eq!(
        submits,
        [500, 60_000, 200_000].map(SimDuration::from_millis)
    );
    assert_eq!(loaded.header.unix_start_time(), Some(1_081_771_500));
    assert_eq!(loaded.known_processors(), Some(64));
}

#[test]
fn names_become_numbers_in_order_of_first_appearance() {
    let loaded = load_any_text(grid()).unwrap();
    let users: Vec<Option<u32>> = loaded.jobs.iter().map(|j| j.user()).collect();
    assert_eq!(users, [Some(2), Some(1), Some(1)]);
    assert_eq!(loaded.names["user"], ["", "U2004S1", "U9S2"]);
    assert_eq!(loaded.names["site"], ["", "S1"]);
    assert_eq!(loaded.jobs[0].ids[SITE], Some(1));
    assert!(!loaded.names.contains_key("partition"));
    assert_eq!(loaded.jobs[0].ids[PARTITION], None);
}

/// The same with these texts in a column, by its number.
fn with_column(number: usize, texts: [&str; 3]) -> String {
    let mut texts = texts.into_iter();
    let line = |line: &str| {
        let mut columns: Vec<&str> = line.split('\t').collect();
        if let Some(column) = columns.get_mut(number - 1) {
            *column = texts.next().unwrap();
        }
        columns.join("\t") + "\n"
    };
    grid().lines().map(line).collect()
}

/// The numbers of the jobs for which a filter holds.
fn filtered(loaded: &Loaded, filter: &str) -> Vec<u64> {
    let filter = Filter::parse(filter).unwrap();
    let jobs = loaded.jobs.iter().filter(|job| filter.holds(*job));
    jobs.map(|job| job.trace_id).collect()
}

#[test]
fn the_project_of_a_job_is_its_account() {
    let loaded = load_any_text(with_column(29, ["P9", "-1", "P2"])).unwrap();
    assert_eq!(loaded.names["account"], ["", "P9", "P2"]);
    // The second line comes first.
    assert_eq!(filtered(&loaded, "account=1"), [7]);
    assert_eq!(filtered(&loaded, "account>=1"), [7, 9]);
    let prepared = loaded.into_prepared(&whole(), 0).unwrap();
    let jobs = prepared.jobs.iter();
    let accounts = jobs.map(|job| job.spec.account);
    assert!(accounts.eq([None, NonZeroU32::new(1), NonZeroU32::new(2)]));
}

#[test]
fn the_program_of_a_job_is_its_executable_in_either_format() {
    let swf = |job: u32, program: &str| {
        line(job, "0", "5", 1, 1, 1).replace(" 3 1 1 ", &format!(" 3 1 {program} "))
    };
    // The second line of the GWF text comes first; 0 is none.
    for text in [
        with_column(14, ["cp2k", "-1", "vasp"]),
        swf(8, "0") + &swf(7, "1") + &swf(9, "2"),
    ] {
        let loaded = load_any_text(text).unwrap();
        assert_eq!(filtered(&loaded, "app=1"), [7]);
        let prepared = loaded.into_prepared(&whole(), 0).unwrap();
        let executables = prepared.jobs.iter().map(|job| job.spec.executable);
        assert!(executables.eq([None, NonZeroU32::new(1), NonZeroU32::new(2)]));
    }
}

#[test]
fn ids_that_are_all_numbers_stay_what_they_are() {
    let text = gwf_line(1, "100", "0", "5", 1, ["17", "0", "3"])
        + &gwf_line(2, "101", "0", "5", 1, ["4", "0", "007"]);
    let loaded = load_any_text(text).unwrap();
    assert_eq!(
        (loaded.jobs[0].user(), loaded.jobs[1].user()),
        (Some(17), Some(4))
    );
    assert_eq!(loaded.jobs[0].ids[QUEUE], Some(0));
    // A leading zero would be lost in a number.
    assert_eq!(loaded.names["site"], ["", "3", "007"]);
    assert!(!loaded.names.contains_key("user"));
}

#[test]
fn a_wait_below_zero_is_kept_by_the_reader_and_warned_of_by_the_loader() {
    let text = gwf_line(1, "100", "-60", "5", 1, PLACE);
    let mut reader = TraceReader::new(Format::Gwf, text.as_bytes(), "t");
    let record = reader.next_record().unwrap().unwrap();
    assert_eq!(record.early, Some(SimDuration::from_secs(60)));
    assert_eq!(record.time(field::WAIT), None);
    let loaded = load_any_text(&text).unwrap();
    assert!(loaded.warnings[0].contains("1 jobs began before they were submitted"));
}

#[test]
fn blanks_carriage_returns_gzip_and_a_name_that_says_nothing_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.swf");
    let plain = load_any_text(grid()).unwrap();
    for text in [
        grid().replace('\n', "\r\n"),
        grid().replace('\t', "   "),
        grid()
            .replace("\tUNITARY", "\tUNITARY\t")
            .replace("\t-1\t-1\n", "\t-1\n"),
        grid().replace("\t-1\n", "\t-1\t\n"),
    ] {
        fs::write(&path, gzip(&text).unwrap()).unwrap();
        let loaded = load(&path, SizeFrom::Allocated).unwrap();
        assert_eq!(loaded.jobs, plain.jobs, "{text}");
        assert_eq!(loaded.names, plain.names, "{text}");
        assert_eq!(loaded.header, plain.header, "{text}");
    }
}

#[test]
fn a_job_is_written_as_it_was_read() {
    let text = grid() + &gwf_line(1, "1081771800", "-60.5", "-1", -1, ["a b", "-1", ""]);
    let jobs: String = text.lines().skip(2).map(|l| format!("{l}\n")).collect();
    let mut reader = TraceReader::new(Format::Gwf, text.as_bytes(), "t");
    let mut writer = Writer::new(Vec::new(), Format::Gwf, &[]).unwrap();
    while let Some(record) = reader.next_record().unwrap() {
        writer.write(record).unwrap();
    }
    let written = String::from_utf8(writer.finish().unwrap()).unwrap();
    // An empty column is not available.
    assert_eq!(written, jobs.replace("\t\t\t", "\t-1\t-1\t"));
}

#[test]
fn the_first_job_line_tells_the_format() {
    let detect = |text: &str| TraceReader::detect(text.as_bytes(), "t").unwrap().format();
    assert_eq!(detect(&grid()), Format::Gwf);
    let swf = line(1, "0", "10", 1, 1, 1);
    assert_eq!(detect(&swf), Format::Swf);
    assert_eq!(detect(&format!("# no GWF\n{swf}")), Format::Swf);
    assert_eq!(
        detect(&format!("; SWF\n{}", swf.replace('\n', &" 1".repeat(11)))),
        Format::Swf
    );
}

#[test]
fn bad_columns_are_named_with_their_line() {
    let check = |text: String, message: &str| {
        assert_eq!(load_any_text(text).unwrap_err().to_string(), message);
    };
    let good = gwf_line(1, "100", "0", "5", 1, PLACE);
    check(
        format!("# c\n{good}{}", good.replace("\t5\t", "\tfive\t")),
        "t:3: field 4 (RunTime) = \"five\": expected a number or -1",
    );
    check(
        format!("{good}1\t2\t3\n"),
        "t:2: field count = \"3\": expected 29",
    );
    check(
        good.replace("\t3600\t", "\t99999999999\t"),
        "t:1: field 9 (ReqTime) = \"99999999999\": expected a time below 584 years",
    );
    check(
        good.replace("\t1\t-1\t-1\t1\t", "\t4294967296\t-1\t-1\t1\t"),
        "t:1: field 5 (NProcs) = \"4294967296\": expected at most 4294967295",
    );
}

#[test]
fn names_without_end_are_refused() {
    // A megabyte of names a line is what no line may have, but many lines may.
    let long = "x".repeat(60_000);
    let text: String = (0..600)
        .map(|n| gwf_line(n, "100", "0", "5", 1, [&format!("{n}{long}"), "q", "S"]))
        .collect();
    let error = load_any_text(text).unwrap_err().to_string();
    assert!(
        error.contains("field 12 (UserID): its names take more than"),
        "{error}"
    );
}
