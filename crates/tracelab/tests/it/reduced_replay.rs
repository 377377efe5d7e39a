//! What is written of a reduction is played as the reduction itself.

use crate::archive::need;
use crate::paper_tables::example::ctc_week;
use crate::reduced_trace::{direct, forty, replay, sampled, write};
use crate::{decimal, read, secs, systematic, whole, window};
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::format::{Format, PARTITION, TraceReader, open_as};
use gridrig_tracelab::load::{Loaded, load, load_from};
use gridrig_tracelab::reduce::write_reduced;
use gridrig_tracelab::spec::{Keep, SizeFrom, WindowChoice, WorkloadSpec};
use proptest::prelude::*;
use std::path::PathBuf;

#[test]
fn the_written_trace_replays_as_the_reduction_itself() {
    let spec = sampled(|_| {});
    let (text, written) = write(&forty(), &spec, None);
    let (again, direct) = (replay(&text), direct(&forty(), &spec));
    assert_eq!(again.jobs, direct.jobs);
    assert!(direct.jobs.len() > 5 && written.jobs == direct.jobs.len() as u64);
    // Time 0 is the start of the window, not the first job.
    assert!(again.jobs[0].at.as_nanos() > 0);
    assert_eq!(
        again.reduction.steps[0].before,
        direct.reduction.steps[6].after
    );
    assert_eq!(again.reduction.trace.warnings, Vec::<String>::new());
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

fn keeps() -> impl Strategy<Value = Keep> {
    prop_oneof![
        Just(Keep::All),
        (1u64..5, 0u64..5, 0u64..9).prop_map(|(m, more, phase)| systematic(m, m + more, phase)),
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
    let cut = prop::option::of((0u64..600, 1u64..600));
    let scales = (1u64..9000, 1u64..9000);
    (
        cut,
        keeps(),
        scales,
        prop::option::of(1u32..20),
        0u64..3000,
        any::<bool>(),
    )
        .prop_map(
            |(cut, keep, (arrival, run), limit, shortest_ms, requested)| {
                let mut spec = whole();
                spec.window = cut.map(|(start, length)| window(start, length));
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
    let Some(folder) = need() else { return };
    let trace = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
    let spec = ctc_week(&trace, 2).unwrap();
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
    assert_eq!(again.reduction.steps[0].before.span, secs(10_080));
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
    spec.keep = systematic(2, 3, 1);
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
            .map(|job| table[job.user().unwrap() as usize].clone());
        users.collect()
    };
    assert_eq!(names(&again), ["U9", "U4", "U1", "U4"]);
    assert_eq!(again.names["queue"][1], "queue0");
    // SWF has no field for sites: they take that of partitions, which has none.
    assert!(again.jobs.iter().all(|job| job.ids[PARTITION] == Some(1)));
    let notes = again.header.values("Note");
    assert!(
        notes.iter().any(|note| note.contains("OrigSiteID")),
        "{notes:?}"
    );
    assert_eq!(again.header.unix_start_time(), Some(5_000_060));
    let replayed = again.into_prepared(&whole(), 0).unwrap();
    assert_eq!(replayed.jobs, reduced.into_prepared(&spec, 0).unwrap().jobs);
}
