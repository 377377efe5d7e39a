//! What the archives' real files are known to hold, one small file of our own
//! for each oddity in `tests/fixtures`; `scripts/fuzz` begins with the same files.

use gridrig_tracelab::characterize::{Options, characterize};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::spec::SizeFrom;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file, how many jobs it has, `reason=count` of the lines that are none, and
/// what else must be so.
struct Oddity {
    file: &'static str,
    jobs: usize,
    skipped: &'static str,
    holds: fn(&Loaded) -> bool,
}

const fn odd(
    file: &'static str,
    jobs: usize,
    skipped: &'static str,
    holds: fn(&Loaded) -> bool,
) -> Oddity {
    Oddity {
        file,
        jobs,
        skipped,
        holds,
    }
}

fn quiet(trace: &Loaded) -> bool {
    trace.warnings.is_empty()
}

fn warns(trace: &Loaded, of: &str) -> bool {
    trace.warnings.len() == 1 && trace.warnings[0].contains(of)
}

fn machine(trace: &Loaded, processors: u64) -> bool {
    trace.header.max_processors() == Some(processors)
}

fn submits(trace: &Loaded) -> Vec<f64> {
    trace.jobs.iter().map(|j| j.submit.as_secs_f64()).collect()
}

const SWF: [Oddity; 31] = [
    odd("allocated-differs", 2, "", |t| {
        quiet(t) && t.jobs[0].processors == 8
    }),
    odd("allocated-unknown", 2, "", |t| t.jobs[0].processors == 4),
    odd("blanks", 2, "", |t| quiet(t) && submits(t) == [0.0, 60.0]),
    odd("carriage-returns", 2, "", |t| quiet(t) && machine(t, 8)),
    odd("exit-codes", 3, "", |t| {
        warns(t, "1 lines with status 2, 3 or 4 have no summary line")
            && t.jobs.iter().all(|job| !job.failed)
    }),
    odd("fields-21", 2, "", |t| warns(t, "extended SWF as of Alea")),
    odd("fractions", 2, "", |t| {
        quiet(t) && submits(t)[1] == 60.25 && t.jobs[1].run_time.as_secs_f64() == 10.5
    }),
    odd("gzip", 2, "", quiet),
    odd("gzip-members", 2, "", |t| quiet(t) && machine(t, 8)),
    odd("header-ascii-art", 2, "", |t| quiet(t) && machine(t, 32)),
    odd("header-conflict", 2, "", |t| {
        warns(t, "MaxProcs") && machine(t, 128) && t.header.values("Note") == ["first", "second"]
    }),
    odd("header-counts-lie", 2, "", |t| quiet(t) && machine(t, 8)),
    odd("header-hash-in-value", 2, "", |t| machine(t, 64)),
    odd("header-indents", 2, "", |t| {
        machine(t, 8) && t.header.values("Version") == ["2.2"]
    }),
    odd("header-multi-line", 2, "", |t| {
        machine(t, 16) && t.header.values("Note")[0].lines().count() == 3
    }),
    odd("header-none", 2, "", |t| {
        quiet(t) && t.known_processors().is_none() && t.header.entries().is_empty()
    }),
    odd("header-prose-and-lists", 2, "", |t| {
        machine(t, 1664) && t.header.number("MaxNodes") == Some(338)
    }),
    odd("header-start-times", 2, "", |t| {
        let first = characterize(t, &Options::default()).first_submit;
        first.is_some_and(|date| date.contains("1996-06-26") && date.contains("17:06"))
    }),
    odd("never-ran", 1, "never-ran=2", quiet),
    odd("no-final-line-feed", 2, "", quiet),
    odd("no-processors", 1, "no-processors=2", quiet),
    odd("no-requested-time", 2, "", |t| {
        t.jobs.iter().all(|job| job.requested_time.is_none())
    }),
    odd("partial-executions", 2, "partial-execution=2", quiet),
    odd("requested-unknown", 2, "", |t| t.jobs[0].processors == 4),
    odd("run-above-requested", 2, "", |t| {
        quiet(t)
            && t.jobs[0]
                .requested_time
                .is_some_and(|r| r < t.jobs[0].run_time)
    }),
    odd("run-zero", 2, "", |t| {
        quiet(t) && t.jobs[0].run_time.is_zero()
    }),
    odd("sparse-ids", 2, "", |t| {
        quiet(t) && t.jobs[1].trace_id == 244_821 && submits(t)[0] == 3_585_977.0
    }),
    odd("submit-backwards", 3, "", |t| {
        warns(t, "1 submit times step backwards") && submits(t) == [40.0, 100.0, 100.0]
    }),
    odd("submit-unknown", 1, "no-submit-time=1", quiet),
    odd("truncated-last-line", 2, "truncated-last-line=1", |_| true),
    odd("wait-unknown", 2, "", |t| {
        quiet(t) && t.jobs.iter().all(|job| job.wait_time.is_none())
    }),
];

const GWF: [Oddity; 9] = [
    odd("advance-reservation", 2, "", |t| {
        warns(t, "1 jobs began before they were submitted")
    }),
    odd("carriage-returns", 2, "", quiet),
    odd("gzip", 2, "", quiet),
    odd("names", 2, "", |t| {
        quiet(t) && t.names["user"] == ["", "U2004S1", "U9S2"]
    }),
    odd("never-ran", 1, "never-ran=1", quiet),
    odd("processors-header", 2, "", |t| {
        t.known_processors() == Some(64)
    }),
    odd("queues", 5, "", |t| {
        t.names["queue"] == ["", "queue0", "queue1", "queue2", "queue7", "queue84"]
    }),
    odd("structures", 2, "", quiet),
    odd("truncated-last-line", 2, "truncated-last-line=1", |_| true),
];

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(format)
}

fn survives(format: &str, oddities: &[Oddity]) {
    let folder = folder(format);
    for odd in oddities {
        let name = format!("{}.{format}", odd.file);
        let trace = load(&folder.join(&name), SizeFrom::Allocated).expect(&name);
        let skipped: Vec<String> = trace
            .skipped
            .iter()
            .map(|(reason, count)| format!("{reason}={count}"))
            .collect();
        let found = (trace.jobs.len(), skipped.join(" "));
        assert_eq!(found, (odd.jobs, odd.skipped.to_owned()), "{name}");
        assert!((odd.holds)(&trace), "{name}: {trace:?}");
        let jobs = characterize(&trace, &Options::default()).jobs;
        assert_eq!(jobs, odd.jobs as u64, "{name}");
    }
    // No file lies there that nobody looks at.
    let files = std::fs::read_dir(&folder).unwrap();
    let there: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let known = oddities.iter().map(|odd| format!("{}.{format}", odd.file));
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
