//! A reduction that becomes a trace of its own.

use crate::archive::need;
use crate::compare::{Demand, Moments};
use crate::{line, whole};
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::TraceError;
use gridrig_tracelab::format::{Format, TraceReader, open_as};
use gridrig_tracelab::load::{Loaded, load, load_from};
use gridrig_tracelab::prepare::Prepared;
use gridrig_tracelab::reduce::{
    Provenance, REDUCTION_KEY, Reduced, WriteError, Written, write_reduced,
};
use gridrig_tracelab::spec::{
    Keep, Sanitize, SizeFrom, TraceWindow, WindowChoice, WorkloadSpec, ZeroRunTime,
};
use proptest::prelude::*;
use std::path::PathBuf;

fn secs(secs: u64) -> SimDuration {
    SimDuration::from_secs(secs)
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn read(text: &str, name: &str) -> Loaded {
    load_from(
        &mut TraceReader::new(Format::Swf, text.as_bytes(), name),
        SizeFrom::Allocated,
    )
    .unwrap()
}

fn reduce(text: &str, spec: &WorkloadSpec) -> Reduced {
    let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "folder/t.swf");
    let loaded = load_from(&mut reader, spec.size).unwrap();
    loaded.into_reduced(spec).unwrap()
}

/// The reduced trace as text, and what was said of it.
fn write(text: &str, spec: &WorkloadSpec, processors: Option<u64>) -> (String, Written) {
    let reduced = reduce(text, spec);
    let source = TraceReader::new(Format::Swf, text.as_bytes(), "folder/t.swf");
    let (written, bytes) = write_reduced(&reduced, spec, processors, source, Vec::new()).unwrap();
    (String::from_utf8(bytes).unwrap(), written)
}

/// What a run makes of a trace without any step.
fn replay(text: &str) -> Prepared {
    read(text, "r.swf").into_prepared(&whole(), 0).unwrap()
}

fn direct(text: &str, spec: &WorkloadSpec) -> Prepared {
    reduce(text, spec).into_prepared(spec, 0).unwrap()
}

/// Forty jobs, one every 100 s from 1000 s, of 1 to 7 processors.
fn forty() -> String {
    let jobs = (0..40u32).map(|i| {
        let (at, run) = ((1000 + 100 * i).to_string(), (7 * i).to_string());
        line(i + 1, &at, &run, i64::from(i % 7) + 1, 9, 1)
    });
    let header = "; Computer: a test\n; MaxNodes: 4 (of 16)\n; MaxProcs: 64\n; MaxJobs: 99\n\
                  ; UnixStartTime: 1000000\n; StartTime: long ago\n; Note: of the source\n";
    std::iter::once(header.to_owned()).chain(jobs).collect()
}

fn sampled(change: impl FnOnce(&mut WorkloadSpec)) -> WorkloadSpec {
    let mut spec = whole();
    spec.max_processors = Some(6);
    spec.window = Some(TraceWindow {
        start: secs(1250),
        length: secs(2000),
    });
    spec.keep = Keep::Systematic {
        m: 2,
        n: 3,
        phase: 1,
    };
    spec.scale_arrival = decimal("7");
    spec.scale_run_time = decimal("2.5");
    spec.min_run_time = secs(3);
    change(&mut spec);
    spec
}

#[test]
fn the_written_trace_replays_as_the_reduction_itself() {
    let spec = sampled(|_| {});
    let (text, written) = write(&forty(), &spec, None);
    let (again, direct) = (replay(&text), direct(&forty(), &spec));
    assert_eq!(again.jobs, direct.jobs);
    assert!(direct.jobs.len() > 5 && written.jobs == direct.jobs.len() as u64);
    // Time 0 is the start of the window, not the first job.
    assert!(again.jobs[0].at.as_nanos() > 0);
    assert_eq!(again.steps[0].before, direct.steps[6].after);
    assert_eq!(again.warnings, Vec::<String>::new());
}

#[test]
fn the_header_says_how_it_was_made() {
    let (text, written) = write(&forty(), &sampled(|_| {}), None);
    let reader = read(&text, "r.swf");
    let header = &reader.header;
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
        (made.scale.arrival, made.scale.run_time),
        (decimal("7"), decimal("2.5"))
    );
    let line = &header.values(REDUCTION_KEY)[0];
    let json: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(json["window"]["start_s"], 1250);
    assert_eq!(json["scale"]["run_time"], 2.5);
    assert_eq!(json["min_run_time"], "3s");
}

#[test]
fn the_steps_of_the_header_make_the_same_jobs_from_the_source() {
    for spec in [
        sampled(|_| {}),
        sampled(|spec| {
            spec.keep = Keep::Load {
                offered: decimal("0.05"),
                processors: 64,
                seed: 3,
            };
        }),
        sampled(|spec| {
            spec.window = None;
            spec.choose = Some(WindowChoice {
                step: secs(100),
                ..WindowChoice::of_length(secs(700))
            });
        }),
    ] {
        let (_, written) = write(&forty(), &spec, None);
        let entry = Entry::Domain(DomainId(0));
        let again = written
            .provenance
            .to_spec(PathBuf::from("t.swf"), entry)
            .unwrap();
        assert!(again.choose.is_none() && !matches!(again.keep, Keep::Load { .. }));
        assert_eq!(direct(&forty(), &again).jobs, direct(&forty(), &spec).jobs);
    }
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
            .all(|job| job.spec.processors == 9)
    );
}

#[test]
fn a_trace_that_was_cut_out_lasts_as_long_as_its_window() {
    let spec = sampled(|spec| spec.scale_arrival = Decimal::from_whole(10));
    let (text, _) = write(&forty(), &spec, None);
    let load = replay(&text).steps[0].before;
    assert_eq!(load.span, secs(200));
    // Reduced once more, it is counted from its own time 0.
    let mut second = whole();
    second.window = Some(TraceWindow {
        start: secs(100),
        length: secs(100),
    });
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
    assert!(prepared.warnings[0].contains("Gridrig-Reduction cannot be read"));
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
    assert!(
        written
            .warnings
            .iter()
            .any(|w| w.contains("wants 4 processors"))
    );
    assert_eq!(read(&text, "r.swf").header.max_processors(), Some(3));
}

#[test]
fn a_source_that_changes_meanwhile_is_refused() {
    let reduced = reduce(&forty(), &whole());
    let shorter: String = forty().lines().take(20).map(|l| format!("{l}\n")).collect();
    let source = TraceReader::new(Format::Swf, shorter.as_bytes(), "t.swf");
    let error = write_reduced(&reduced, &whole(), None, source, Vec::new()).unwrap_err();
    assert!(
        matches!(error, WriteError::Changed { line: 21, .. }),
        "{error}"
    );
    let broken = forty().replace("\n12 ", "\nx ");
    let source = TraceReader::new(Format::Swf, broken.as_bytes(), "t.swf");
    let error = write_reduced(&reduced, &whole(), None, source, Vec::new()).unwrap_err();
    assert!(
        matches!(
            error,
            WriteError::Source(TraceError::Line { line: 12 | 19, .. })
        ),
        "{error}"
    );
}

fn keeps() -> impl Strategy<Value = Keep> {
    prop_oneof![
        Just(Keep::All),
        (1u64..5, 0u64..5, 0u64..9).prop_map(|(m, more, phase)| Keep::Systematic {
            m,
            n: m + more,
            phase
        }),
        (1u64..100, any::<u64>()).prop_map(|(percent, seed)| Keep::Share {
            share: Decimal::parse(&format!("0.{percent:02}")).unwrap(),
            seed
        }),
        (1u64..200, any::<u64>()).prop_map(|(percent, seed)| Keep::Load {
            offered: Decimal::parse(&format!("{}.{:02}", percent / 100, percent % 100)).unwrap(),
            processors: 20,
            seed
        }),
    ]
}

/// A reduction with any steps; run times of 0 do not stay, and requested
/// memory is asked for.
fn specs() -> impl Strategy<Value = WorkloadSpec> {
    let window = prop::option::of((0u64..600, 1u64..600));
    let scales = (1u64..9000, 1u64..9000);
    (
        window,
        keeps(),
        scales,
        prop::option::of(1u32..20),
        0u64..3000,
        any::<bool>(),
    )
        .prop_map(
            |(window, keep, (arrival, run), limit, shortest_ms, requested)| {
                let mut spec = whole();
                spec.window = window.map(|(start, length)| TraceWindow {
                    start: secs(start),
                    length: secs(length),
                });
                spec.keep = keep;
                spec.scale_arrival =
                    Decimal::parse(&format!("{}.{:02}", arrival / 100, arrival % 100))
                        .filter(|scale| !scale.is_zero())
                        .unwrap();
                spec.scale_run_time = Decimal::from_whole(run);
                spec.max_processors = limit;
                spec.min_run_time = SimDuration::from_millis(shortest_ms);
                spec.size = if requested {
                    SizeFrom::Requested
                } else {
                    SizeFrom::Allocated
                };
                spec.require_memory = true;
                spec
            },
        )
}

fn traces() -> impl Strategy<Value = String> {
    let job = (
        0i64..50,
        -1i64..1000,
        -1i64..500,
        -1i64..20,
        -1i64..20,
        -1i64..7,
    );
    prop::collection::vec(job, 1..40).prop_map(|jobs| {
        let lines = jobs
            .iter()
            .map(|(id, submit, run, allocated, requested, status)| {
                format!(
                "{id} {submit}.25 3 {run} {allocated} 1 2 {requested} 600 77.5 {status} 3 1 1 1 1 \
                 {run} 9\n"
            )
            .replace("-1.25", "-1")
            });
        format!("; MaxProcs: 20\n{}", lines.collect::<String>())
    })
}

proptest! {
    #[test]
    fn any_reduction_replays_from_its_file_to_the_nanosecond(text in traces(), spec in specs()) {
        let direct = direct(&text, &spec);
        prop_assume!(!direct.jobs.is_empty());
        let (written, _) = write(&text, &spec, None);
        let mut none = whole();
        none.require_memory = true;
        let again = read(&written, "r.swf").into_prepared(&none, 0).unwrap();
        prop_assert_eq!(&again.jobs, &direct.jobs);
        // A second time over changes nothing any more.
        let (twice, _) = write(&written, &none, None);
        let jobs = |text: &str| -> Vec<String> {
            text.lines().filter(|l| !l.starts_with(';')).map(str::to_owned).collect()
        };
        prop_assert_eq!(jobs(&twice), jobs(&written));
    }
}

#[test]
fn the_ctc_week_of_design_10_survives_its_file() {
    let Some(folder) = need("the_ctc_week_of_design_10_survives_its_file") else {
        return;
    };
    let trace = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
    let mut spec = WorkloadSpec::whole(trace.clone(), Entry::Domain(DomainId(0)));
    spec.max_processors = Some(225);
    spec.window = Some(TraceWindow {
        start: SimDuration::parse("87.08d").unwrap(),
        length: SimDuration::parse("7d").unwrap(),
    });
    spec.keep = Keep::Systematic {
        m: 2,
        n: 5,
        phase: 2,
    };
    spec.scale_arrival = Decimal::from_whole(60);
    spec.scale_run_time = Decimal::from_whole(60);
    spec.min_run_time = secs(1);
    let reduced = load(&trace, spec.size)
        .unwrap()
        .into_reduced(&spec)
        .unwrap();
    let source = open_as(&trace, Format::Swf).unwrap();
    let (written, bytes) = write_reduced(&reduced, &spec, Some(450), source, Vec::new()).unwrap();
    assert_eq!(written.jobs, 481);
    let again = replay(std::str::from_utf8(&bytes).unwrap());
    let direct = reduced.into_prepared(&spec, 0).unwrap();
    assert_eq!(again.jobs, direct.jobs);
    let runs = Moments::of_run_times(&again.jobs).unwrap();
    assert_eq!((runs.mean.round(), runs.max.round()), (234.0, 1081.0));
    assert_eq!(Demand::of(&again.jobs).peak().unwrap().1, 1655);
    assert_eq!(again.steps[0].before.span, secs(10_080));
}

#[test]
fn a_trace_with_names_is_reduced_to_swf_that_keeps_them() {
    let job = |id: u32, at: u64, user: &str| {
        format!(
            "{id}\t{at}\t5\t{}\t4\t9.5\t-1\t4\t600\t-1\t1\t{user}\tG1\tapp\tqueue0\t-1\tS1\tS1\t\
             UNITARY\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\t-1\n",
            10 * id
        )
    };
    let users = ["U9", "U4", "U9", "U1", "U4"];
    let lines = users.iter().zip(1..);
    let text: String = lines
        .map(|(user, id)| job(id, 5_000_000 + 60 * u64::from(id), user))
        .collect();
    let read = |text: &str| {
        let mut reader = TraceReader::detect(text.as_bytes(), "g.gwf").unwrap();
        load_from(&mut reader, SizeFrom::Allocated).unwrap()
    };
    let mut spec = whole();
    spec.keep = Keep::Systematic {
        m: 2,
        n: 3,
        phase: 1,
    };
    spec.scale_arrival = decimal("7");
    let reduced = read(&text).into_reduced(&spec).unwrap();
    let source = TraceReader::detect(text.as_bytes(), "g.gwf").unwrap();
    let (_, bytes) = write_reduced(&reduced, &spec, Some(8), source, Vec::new()).unwrap();
    let again = read(std::str::from_utf8(&bytes).unwrap());
    let names = |loaded: &Loaded| -> Vec<String> {
        let table = &loaded.names["user"];
        let users = loaded
            .jobs
            .iter()
            .map(|job| table[job.user.unwrap() as usize].clone());
        users.collect()
    };
    assert_eq!(names(&again), ["U9", "U4", "U1", "U4"]);
    assert_eq!(again.names["queue"][1], "queue0");
    // SWF has no field for sites: they take that of partitions, which has none.
    assert!(again.jobs.iter().all(|job| job.partition == Some(1)));
    let notes = again.header.values("Note");
    assert!(
        notes.iter().any(|note| note.contains("OrigSiteID")),
        "{notes:?}"
    );
    assert_eq!(again.header.unix_start_time(), Some(5_000_060));
    let replayed = again.into_prepared(&whole(), 0).unwrap();
    assert_eq!(replayed.jobs, reduced.into_prepared(&spec, 0).unwrap().jobs);
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
    spec.keep = Keep::Systematic {
        m: 1,
        n: 2,
        phase: 0,
    };
    let (text, written) = write(&source, &spec, None);
    let direct = direct(&source, &spec);
    assert_eq!(direct.jobs.len(), 1);
    assert_eq!(direct.jobs[0].label.trace_id, 5);
    let reasons: Vec<(&str, u64)> = direct.reduced.iter().map(|(r, n)| (*r, *n)).collect();
    assert_eq!(
        reasons,
        [
            ("cancelled", 1),
            ("failed", 1),
            ("not-sampled", 1),
            ("wider-than", 1)
        ]
    );
    // Time 0 is that of the trace, whoever came first.
    assert_eq!(direct.jobs[0].at.as_nanos(), 14_000_000_000);
    assert_eq!(replay(&text).jobs, direct.jobs);
    assert!(text.contains("; Note: sanitized: status 5\n"), "{text}");
    let made = written.provenance;
    assert_eq!(
        made.sanitize.as_deref(),
        Some("failed, cancelled,wider-than=6")
    );
    let again = made
        .to_spec(PathBuf::from("t.swf"), Entry::Domain(DomainId(0)))
        .unwrap();
    assert_eq!(again.sanitize, spec.sanitize);
}
