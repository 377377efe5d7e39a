//! A reduction that becomes a trace of its own.

use crate::{decimal, line, read, secs, systematic, whole, window};
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::Decimal;
use gridrig_tracelab::TraceError;
use gridrig_tracelab::format::{Format, TraceReader};
use gridrig_tracelab::load::load_from;
use gridrig_tracelab::prepare::Prepared;
use gridrig_tracelab::reduce::{
    Provenance, REDUCTION_KEY, Reduced, WriteError, Written, write_reduced,
};
use gridrig_tracelab::spec::{Sanitize, SizeFrom, WorkloadSpec, ZeroRunTime};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub fn reduce(text: &str, spec: &WorkloadSpec) -> Reduced {
    let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "folder/t.swf");
    let loaded = load_from(&mut reader, spec.size).unwrap();
    loaded.into_reduced(spec).unwrap()
}

/// The reduced trace as text, and what was said of it.
pub fn write(text: &str, spec: &WorkloadSpec, processors: Option<u64>) -> (String, Written) {
    let reduced = reduce(text, spec);
    let source = TraceReader::new(Format::Swf, text.as_bytes(), "folder/t.swf");
    let (written, bytes) = write_reduced(&reduced, spec, processors, source, Vec::new()).unwrap();
    (String::from_utf8(bytes).unwrap(), written)
}

/// What a run makes of a trace without any step.
pub fn replay(text: &str) -> Prepared {
    read(text, "r.swf").into_prepared(&whole(), 0).unwrap()
}

pub fn direct(text: &str, spec: &WorkloadSpec) -> Prepared {
    reduce(text, spec).into_prepared(spec, 0).unwrap()
}

/// Forty jobs, one every 100 s from 1000 s, of 1 to 7 processors.
pub fn forty() -> String {
    let jobs = (0..40u32).map(|i| {
        let (at, run) = ((1000 + 100 * i).to_string(), (7 * i).to_string());
        line(i + 1, &at, &run, i64::from(i % 7) + 1, 9, 1)
    });
    let header = "; Computer: a test\n; MaxNodes: 4 (of 16)\n; MaxProcs: 64\n; MaxJobs: 99\n\
                  ; UnixStartTime: 1000000\n; StartTime: long ago\n; Note: of the source\n";
    std::iter::once(header.to_owned()).chain(jobs).collect()
}

pub fn sampled(change: impl FnOnce(&mut WorkloadSpec)) -> WorkloadSpec {
    let mut spec = whole();
    spec.max_processors = Some(6);
    spec.window = Some(window(1250, 2000));
    spec.keep = systematic(2, 3, 1);
    spec.scale_arrival = decimal("7");
    spec.scale_run_time = decimal("2.5");
    spec.min_run_time = secs(3);
    change(&mut spec);
    spec
}

#[test]
fn the_header_says_how_it_was_made() {
    let (text, written) = write(&forty(), &sampled(|_| {}), None);
    let header = &read(&text, "r.swf").header;
    assert_eq!(header.values("MaxProcs"), ["64"]);
    assert_eq!(header.values("MaxNodes"), ["4"]);
    assert_eq!(header.values("MaxJobs"), [written.jobs.to_string()]);
    assert_eq!(header.values("UnixStartTime"), ["1001250"]);
    assert_eq!(header.values("Computer"), ["a test"]);
    assert!(header.values("StartTime").is_empty());
    let notes = header.values("Note");
    assert!(notes[0].contains("from t.swf"), "{notes:?}");
    assert!(!text.contains("folder/"));
    assert!(
        notes
            .iter()
            .any(|n| n.contains("2 of every 3 jobs are kept, phase 1")),
        "{notes:?}"
    );
    assert!(notes.iter().any(|n| n == "of the source"));
    let made = Provenance::of(header).unwrap().unwrap();
    assert_eq!(made, written.provenance);
    assert_eq!(
        (made.max_processors, made.keep.as_str(), made.phase),
        (Some(6), "2/3", Some(1))
    );
    assert_eq!(made.window.unwrap().start_s, secs(1250));
    assert_eq!(
        (made.scale.arrival.0, made.scale.run_time.0),
        (decimal("7"), decimal("2.5"))
    );
    let line = &header.values(REDUCTION_KEY)[0];
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(json["window"]["start_s"], 1250);
    assert_eq!(json["scale"]["run_time"], 2.5);
    assert_eq!(json["min_run_time"], "3s");
}

#[test]
fn what_is_no_time_stays_as_it_was() {
    let source = "; MaxProcs: 8\n\
        5 10 33 100 4 50 2048.5 8 600 512 0 7 2 11 3 1 -1 -1\n\
        9 20 3 60 2 30 -1 -1 -1 -1 5 8 -1 -1 -1 -1 5 44\n\
        6 30 -1 60 3 30 -1 -1 -1 -1 1 9 -1 -1 -1 -1 4 44\n";
    let mut spec = whole();
    spec.scale_arrival = decimal("4");
    spec.scale_run_time = decimal("10");
    let (text, written) = write(source, &spec, None);
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with(';')).collect();
    assert_eq!(
        lines,
        [
            "5 0 -1 10 4 5 2048.5 8 60 512 0 7 2 11 3 1 -1 -1",
            "9 2.5 -1 6 2 3 -1 -1 -1 -1 5 8 -1 -1 -1 -1 5 11",
            "6 5 -1 6 3 3 -1 -1 -1 -1 1 9 -1 -1 -1 -1 -1 -1",
        ]
    );
    assert_eq!(written.cut_dependencies, 1);
}

#[test]
fn the_size_that_counts_is_written_as_allocated() {
    let mut spec = whole();
    spec.size = SizeFrom::Requested;
    let (text, _) = write(&forty(), &spec, None);
    assert_eq!(replay(&text).jobs, direct(&forty(), &spec).jobs);
    assert!(
        replay(&text)
            .jobs
            .iter()
            .all(|job| job.spec.processors() == 9)
    );
}

#[test]
fn a_trace_that_was_cut_out_lasts_as_long_as_its_window() {
    let spec = sampled(|spec| spec.scale_arrival = Decimal::from_whole(10));
    let (text, _) = write(&forty(), &spec, None);
    let load = replay(&text).reduction.steps[0].before;
    assert_eq!(load.span, secs(200));
    // Reduced once more, it is counted from its own time 0.
    let mut second = whole();
    second.window = Some(window(100, 100));
    let (text, written) = write(&text, &second, None);
    assert_eq!(written.provenance.span_s, secs(100));
    assert_eq!(read(&text, "r.swf").header.values(REDUCTION_KEY).len(), 1);
    assert_eq!(
        read(&text, "r.swf").header.unix_start_time(),
        Some(1_001_350)
    );
}

#[test]
fn a_header_line_that_cannot_be_read_is_warned_of_and_ignored() {
    let text = format!("; {REDUCTION_KEY}: {{\"source\": 3}}\n{}", forty());
    let prepared = replay(&text);
    assert_eq!(prepared.jobs[0].at.as_nanos(), 0);
    assert!(prepared.reduction.trace.warnings[0].contains("Gridrig-Reduction cannot be read"));
}

#[test]
fn numbers_that_repeat_runs_of_0_and_unknown_machines_are_told() {
    let source = line(1, "0", "0", 4, 4, 1) + &line(1, "5", "9", 2, 4, 1);
    let mut spec = whole();
    spec.zero_run_time = ZeroRunTime::Keep;
    let (text, written) = write(&source, &spec, None);
    let told = written.warnings.join("\n");
    assert!(
        told.contains("1 jobs have a job number that came before"),
        "{told}"
    );
    assert!(told.contains("1 jobs have a run time of 0"), "{told}");
    assert!(told.contains("MaxProcs is the widest job, 4"), "{told}");
    let again = read(&text, "r.swf").into_prepared(&spec, 0).unwrap();
    assert_eq!(again.jobs, direct(&source, &spec).jobs);
    let (text, written) = write(&source, &spec, Some(3));
    assert!(written.warnings.join("\n").contains("wants 4 processors"));
    assert_eq!(read(&text, "r.swf").header.max_processors(), Some(3));
}

#[test]
fn a_source_that_changes_meanwhile_is_refused() {
    let reduced = reduce(&forty(), &whole());
    let shorter: String = forty().lines().take(20).map(|l| format!("{l}\n")).collect();
    let source = TraceReader::new(Format::Swf, shorter.as_bytes(), "t.swf");
    let error = write_reduced(&reduced, &whole(), None, source, Vec::new()).unwrap_err();
    assert!(matches!(error, WriteError::Changed(_, 21)), "{error}");
    let broken = forty().replace("\n12 ", "\nx ");
    let source = TraceReader::new(Format::Swf, broken.as_bytes(), "t.swf");
    let error = write_reduced(&reduced, &whole(), None, source, Vec::new()).unwrap_err();
    assert!(
        matches!(error, WriteError::Source(TraceError::Line(_, 12 | 19, _))),
        "{error}"
    );
}

#[test]
fn sanitizing_comes_first_is_counted_by_rule_and_stands_in_the_header() {
    let source = "; MaxProcs: 8\n".to_owned()
        + &line(1, "0", "5", 1, 1, 0)
        + &line(2, "5", "5", 8, 1, 1)
        + &line(3, "9", "5", 2, 1, 5)
        + &line(4, "12", "5", 3, 1, 1)
        + &line(5, "14", "5", 4, 1, 1);
    let mut spec = whole();
    spec.sanitize = Sanitize::parse("failed, cancelled,wider-than=6").unwrap();
    spec.keep = systematic(1, 2, 0);
    let (text, written) = write(&source, &spec, None);
    let direct = direct(&source, &spec);
    assert_eq!(direct.jobs.len(), 1);
    assert_eq!(direct.jobs[0].label.trace_id, 5);
    let reasons = ["cancelled", "failed", "not-sampled", "wider-than"];
    let reasons = BTreeMap::from(reasons.map(|reason| (reason, 1)));
    assert_eq!(direct.reduction.reduced, reasons);
    // Time 0 is that of the trace, whoever came first.
    assert_eq!(direct.jobs[0].at.as_nanos(), 14_000_000_000);
    assert_eq!(replay(&text).jobs, direct.jobs);
    assert!(text.contains("; Note: sanitized: status 5\n"), "{text}");
    let made = written.provenance;
    assert_eq!(
        made.sanitize.as_ref().map(|rules| rules.0.text()),
        Some("failed, cancelled,wider-than=6")
    );
    let again = made
        .to_spec(PathBuf::from("t.swf"), Entry::Domain(DomainId(0)))
        .unwrap();
    assert_eq!(again.sanitize, spec.sanitize);
}
