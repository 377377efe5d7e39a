//! Files that are refused, and how the message names what is wrong.

use crate::{chain, line, load_text};
use gridrig_tracelab::TraceError;
use gridrig_tracelab::load::load;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::synth::gzip;
use std::fs;

fn check(text: &str, message: &str) {
    let error = load_text(text).expect_err(message);
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_field_that_is_no_number_is_named_with_its_line() {
    let good = line(1, "0", "10", 1, 1, 1);
    let bad = good.replace(" 10 ", " ten ");
    check(
        &format!("; MaxProcs: 4\n{good}{bad}{good}"),
        "t.swf:3: field 4 (run time) = \"ten\": expected a number or -1",
    );
    check(
        &good.replace(" 600 ", " 99999999999 "),
        "t.swf:1: field 9 (requested time) = \"99999999999\": expected a time below 584 years",
    );
    check(
        &line(1, "0", "10", 1, 1, 1).replace(" 3 1 1 1 1", " 3.5 1 1 1 1"),
        "t.swf:1: field 12 (user) = \"3.5\": expected a whole number",
    );
    check(
        &line(1, "0", "10", 4_294_967_296, 1, 1),
        "t.swf:1: field 5 (allocated processors) = \"4294967296\": expected at most 4294967295",
    );
}

#[test]
fn a_short_line_is_an_error_in_the_middle_and_at_the_end_with_its_line_feed() {
    let good = line(1, "0", "10", 1, 1, 1);
    for rest in [good.as_str(), ""] {
        check(
            &format!("{good}2 5 -1 10\n{rest}"),
            "t.swf:2: field count = \"4\": expected 18",
        );
    }
}

#[test]
fn a_reservation_table_is_refused_by_name() {
    check(
        "# Format: JobID<TAB>StartTime<TAB>StopTime\n\n840\t1081771500\t-1\n",
        "t.swf:3: this is a GWA reservation table (JobID, StartTime, StopTime), not a job trace: \
         expected the 18 fields of SWF",
    );
}

#[test]
fn a_reader_of_swf_refuses_gwf_by_name_whatever_its_columns_hold() {
    let message = "t.swf:2: this is GWF (29 columns): expected the 18 fields of SWF";
    let numbers = ["-1"; 29].join("\t");
    check(&format!("# GWF\n{numbers}\n"), message);
    let strings = format!(
        "1\t{}\tU2004S1\t{}",
        ["7"; 10].join("\t"),
        ["x"; 17].join("\t")
    );
    check(&format!("# GWF\n{strings}\n"), message);
}

#[test]
fn something_else_is_refused_with_a_look_at_it() {
    check(
        "{\"jobs\": [1, 2]}\n",
        "t.swf:1: not an SWF trace: line = \"{\\\"jobs\\\": [1, 2]}\": expected 18 numbers \
         separated by blanks (gridrig trace import makes a trace of other logs)",
    );
    let error = load_text(b"PK\x03\x04\xff\xfe\x00\n").unwrap_err();
    assert!(matches!(error, TraceError::Line(_, 1, _)), "{error}");
}

#[test]
fn a_file_without_a_job_line_is_refused() {
    check(
        "; MaxProcs: 4\n\n",
        "t.swf: the trace has no job line (2 lines of comments and blanks)",
    );
    check(
        "",
        "t.swf: the trace has no job line (0 lines of comments and blanks)",
    );
}

#[test]
fn a_missing_file_and_a_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = load(&folder.path().join("no.swf"), SizeFrom::Allocated).unwrap_err();
    assert!(matches!(missing, TraceError::Open { .. }));
    assert!(chain(&missing).contains("No such file"), "{missing}");
    assert!(load(folder.path(), SizeFrom::Allocated).is_err());
}

#[test]
fn damaged_gzip_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.swf.gz");
    let text: String = (1..2000)
        .map(|n| line(n, &(n * 7).to_string(), "10", 1, 1, 1))
        .collect();
    let whole = gzip(&text).unwrap();
    let mut flipped = whole.clone();
    let crc = whole.len() - 6;
    flipped[crc] ^= 0x55;
    let mut garbage = whole.clone();
    garbage.extend_from_slice(b"trailing garbage");
    for bytes in [
        &whole[..whole.len() / 2],
        &whole[..whole.len() - 3],
        &flipped,
        &garbage,
    ] {
        fs::write(&path, bytes).unwrap();
        let error = load(&path, SizeFrom::Allocated).unwrap_err();
        assert!(
            matches!(error, TraceError::Damaged { .. }),
            "{}",
            chain(&error)
        );
    }
}
