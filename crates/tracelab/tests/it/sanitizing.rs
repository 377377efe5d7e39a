//! Rules at work on whole traces.

use crate::archive::need;
use crate::{line, load_text};
use gridrig_tracelab::format::{Record, TraceReader, field, open};
use gridrig_tracelab::sanitize::{Rules, Sanitizer, apply};

fn trace() -> String {
    [
        line(1, "0", "10", 1, 1, 1),
        line(2, "1", "700", 1, 1, 1),
        line(3, "2", "10", 1, 1, 0),
        line(4, "3", "10", 1, 1, 5),
        line(5, "4", "10", 64, 64, 1),
        line(6, "5", "10", 1, 1, 1).replace(" -1 10 ", " -7 10 "),
        line(7, "6", "700", 64, 64, 0),
    ]
    .concat()
}

#[test]
fn every_job_left_out_is_counted_once() {
    let rules =
        Rules::parse("wider-than=32,failed,cancelled,run-above-requested,negative-times,never-ran")
            .unwrap();
    let mut loaded = load_text(trace()).unwrap();
    let reports = apply(&rules, &mut loaded);
    let counts: Vec<_> = reports.iter().map(|r| (r.rule, r.removed)).collect();
    assert_eq!(
        counts,
        [
            ("never-ran", 0),
            ("negative-times", 1),
            ("failed", 2),
            ("cancelled", 1),
            ("run-above-requested", 1),
            ("wider-than", 1),
        ]
    );
    assert_eq!(loaded.jobs[0].trace_id, 1);
}

#[test]
fn a_stream_and_a_trace_in_memory_lose_the_same_jobs() {
    let rules = Rules::parse("failed,run-above-requested,flurry=3@5-5,remove=job>6").unwrap();
    let mut loaded = load_text(trace()).unwrap();
    let in_memory = apply(&rules, &mut loaded);
    let mut sanitizer = Sanitizer::new(&rules);
    let text = trace();
    let mut reader = TraceReader::detect(text.as_bytes(), "t").unwrap();
    let mut kept = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        if sanitizer.keeps(record) {
            kept.extend(record.count(field::JOB));
        }
    }
    assert_eq!(sanitizer.reports(), in_memory);
    let left: Vec<u64> = loaded.jobs.iter().map(|j| j.trace_id).collect();
    assert_eq!(kept, left);
    assert_eq!(kept, [1, 4, 6]);
}

#[test]
fn the_filter_of_the_cleaned_nasa_log_makes_it_from_the_original() {
    let Some(folder) = need() else { return };
    let rules = Rules::parse("remove=user=3 and proc=1 and app=1").unwrap();
    let mut sanitizer = Sanitizer::new(&rules);
    let jobs = |name: &str, sanitizer: &mut Sanitizer<'_>| {
        let mut reader = open(&folder.join(name)).unwrap();
        let mut jobs = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            if sanitizer.keeps(record) {
                // The archive has filled in the queue in between.
                let record = record.clone().with(field::QUEUE, None::<u64>);
                jobs.push(Record { line: 0, ..record });
            }
        }
        jobs
    };
    let ours = jobs("NASA-iPSC-1993-3.swf.gz", &mut sanitizer);
    // The cleaned log's header says so.
    assert_eq!(sanitizer.reports()[0].removed, 24_025);
    let theirs = jobs("NASA-iPSC-1993-3.1-cln.swf.gz", &mut sanitizer);
    assert_eq!(sanitizer.reports()[0].removed, 24_025);
    assert!(ours == theirs, "{} and {} jobs", ours.len(), theirs.len());
}
