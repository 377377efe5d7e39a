//! What the archives' real files are known to hold, one small file of our own
//! for each oddity in `tests/fixtures`; `scripts/fuzz` begins with the same files.

use crate::submits;
use gridrig_tracelab::characterize::{Options, characterize};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::spec::SizeFrom;
use std::collections::BTreeSet;
use std::path::Path;

/// A file, how many jobs it has, `reason=count` of the lines that are none, and
/// what else must be so.
type Oddity = (&'static str, usize, &'static str, fn(&Loaded) -> bool);

fn quiet(trace: &Loaded) -> bool {
    trace.warnings.is_empty()
}

fn warns(trace: &Loaded, of: &str) -> bool {
    trace.warnings.len() == 1 && trace.warnings[0].contains(of)
}

fn machine(trace: &Loaded, processors: u64) -> bool {
    trace.header.max_processors() == Some(processors)
}

const SWF: [Oddity; 31] = [
    ("allocated-differs", 2, "", |t| {
        quiet(t) && t.jobs[0].processors == 8
    }),
    ("allocated-unknown", 2, "", |t| t.jobs[0].processors == 4),
    ("blanks", 2, "", |t| quiet(t) && submits(t) == [0.0, 60.0]),
    ("carriage-returns", 2, "", |t| quiet(t) && machine(t, 8)),
    ("exit-codes", 3, "", |t| {
        warns(t, "1 lines with status 2, 3 or 4 have no summary line")
            && t.jobs.iter().all(|job| !job.failed)
    }),
    ("fields-21", 2, "", |t| warns(t, "extended SWF as of Alea")),
    ("fractions", 2, "", |t| {
        quiet(t) && submits(t)[1] == 60.25 && t.jobs[1].run_time.as_secs_f64() == 10.5
    }),
    ("gzip", 2, "", quiet),
    ("gzip-members", 2, "", |t| quiet(t) && machine(t, 8)),
    ("header-ascii-art", 2, "", |t| quiet(t) && machine(t, 32)),
    ("header-conflict", 2, "", |t| {
        warns(t, "MaxProcs") && machine(t, 128) && t.header.values("Note") == ["first", "second"]
    }),
    ("header-counts-lie", 2, "", |t| quiet(t) && machine(t, 8)),
    ("header-hash-in-value", 2, "", |t| machine(t, 64)),
    ("header-indents", 2, "", |t| {
        machine(t, 8) && t.header.values("Version") == ["2.2"]
    }),
    ("header-multi-line", 2, "", |t| {
        machine(t, 16) && t.header.values("Note")[0].lines().count() == 3
    }),
    ("header-none", 2, "", |t| {
        quiet(t) && t.known_processors().is_none() && t.header.entries().is_empty()
    }),
    ("header-prose-and-lists", 2, "", |t| {
        machine(t, 1664) && t.header.number("MaxNodes") == Some(338)
    }),
    ("header-start-times", 2, "", |t| {
        let first = characterize(t, &Options::default()).first_submit;
        first.is_some_and(|date| date.contains("1996-06-26") && date.contains("17:06"))
    }),
    ("never-ran", 1, "never-ran=2", quiet),
    ("no-final-line-feed", 2, "", quiet),
    ("no-processors", 1, "no-processors=2", quiet),
    ("no-requested-time", 2, "", |t| {
        t.jobs.iter().all(|job| job.requested_time.is_none())
    }),
    ("partial-executions", 2, "partial-execution=2", quiet),
    ("requested-unknown", 2, "", |t| t.jobs[0].processors == 4),
    ("run-above-requested", 2, "", |t| {
        quiet(t)
            && t.jobs[0]
                .requested_time
                .is_some_and(|r| r < t.jobs[0].run_time)
    }),
    ("run-zero", 2, "", |t| {
        quiet(t) && t.jobs[0].run_time.is_zero()
    }),
    ("sparse-ids", 2, "", |t| {
        quiet(t) && t.jobs[1].trace_id == 244_821 && submits(t)[0] == 3_585_977.0
    }),
    ("submit-backwards", 3, "", |t| {
        warns(t, "1 submit times step backwards") && submits(t) == [40.0, 100.0, 100.0]
    }),
    ("submit-unknown", 1, "no-submit-time=1", quiet),
    ("truncated-last-line", 2, "truncated-last-line=1", |_| true),
    ("wait-unknown", 2, "", |t| {
        quiet(t) && t.jobs.iter().all(|job| job.wait_time.is_none())
    }),
];

const GWF: [Oddity; 9] = [
    ("advance-reservation", 2, "", |t| {
        warns(t, "1 jobs began before they were submitted")
    }),
    ("carriage-returns", 2, "", quiet),
    ("gzip", 2, "", quiet),
    ("names", 2, "", |t| {
        quiet(t) && t.names["user"] == ["", "U2004S1", "U9S2"]
    }),
    ("never-ran", 1, "never-ran=1", quiet),
    ("processors-header", 2, "", |t| {
        t.known_processors() == Some(64)
    }),
    ("queues", 5, "", |t| {
        t.names["queue"] == ["", "queue0", "queue1", "queue2", "queue7", "queue84"]
    }),
    ("structures", 2, "", quiet),
    ("truncated-last-line", 2, "truncated-last-line=1", |_| true),
];

fn survives(format: &str, oddities: &[Oddity]) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folder = fixtures.join(format);
    for (file, jobs, skipped, holds) in oddities {
        let name = format!("{file}.{format}");
        let trace = load(&folder.join(&name), SizeFrom::Allocated).expect(&name);
        let reasons = trace.skipped.iter();
        let reasons: Vec<String> = reasons.map(|(why, n)| format!("{why}={n}")).collect();
        let found = (trace.jobs.len(), reasons.join(" "));
        assert_eq!(found, (*jobs, (*skipped).to_owned()), "{name}");
        assert!(holds(&trace), "{name}: {trace:?}");
        let characterized = characterize(&trace, &Options::default()).jobs;
        assert_eq!(characterized, *jobs as u64, "{name}");
    }
    // No file lies there that nobody looks at.
    let files = std::fs::read_dir(&folder).unwrap();
    let there: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let known = oddities.iter().map(|odd| format!("{}.{format}", odd.0));
    assert_eq!(there, known.collect());
}

#[test]
fn swf_as_the_archives_have_it_is_read_with_its_oddities_counted() {
    survives("swf", &SWF);
}

#[test]
fn gwf_as_the_archives_have_it_is_read_with_its_oddities_counted() {
    survives("gwf", &GWF);
}
