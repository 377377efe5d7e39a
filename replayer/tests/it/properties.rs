//! What holds for any input.

use crate::{line, load_text, whole};
use gridrig_replayer::load::load;
use gridrig_replayer::spec::{Keep, SizeFrom};
use gridrig_replayer::swf::SwfReader;
use gridrig_replayer::synth::gzip;
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;

/// A trace of jobs that may or may not be usable.
fn trace() -> impl Strategy<Value = String> {
    let job = (
        0u32..50,
        -1i64..1000,
        -1i64..500,
        -1i64..20,
        -1i64..20,
        -1i64..7,
    );
    vec(job, 1..40).prop_map(|jobs| {
        let lines = jobs
            .iter()
            .map(|(id, submit, run, allocated, requested, status)| {
                line(
                    *id,
                    &submit.to_string(),
                    &run.to_string(),
                    *allocated,
                    *requested,
                    *status,
                )
            });
        format!("; MaxProcs: 20\n{}", lines.collect::<String>())
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..400)) {
        let mut reader = SwfReader::new(&bytes[..], "t.swf");
        while let Ok(Some(_)) = reader.next_record() {}
        prop_assert!(matches!(reader.next_record(), Ok(None)));
    }

    #[test]
    fn any_words_are_read_or_refused(words in vec("[-+0-9.eE;#{}x]{0,5}[ \t\n]{1,2}", 0..200)) {
        let _ = load_text(words.concat());
    }

    #[test]
    fn every_line_is_a_job_or_counted(text in trace()) {
        let loaded = load_text(&text).unwrap();
        let counted: u64 = loaded.skipped.values().sum();
        prop_assert_eq!(loaded.jobs.len() as u64 + counted, text.lines().count() as u64 - 1);
    }

    #[test]
    fn carriage_returns_change_nothing(text in trace()) {
        let loaded = load_text(text.replace('\n', "\r\n")).unwrap();
        prop_assert_eq!(loaded, load_text(&text).unwrap());
    }

    #[test]
    fn gzip_changes_nothing_but_the_hash(text in trace()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.swf");
        fs::write(&path, &text).unwrap();
        let plain = load(&path, SizeFrom::Allocated).unwrap();
        fs::write(&path, gzip(&text).unwrap()).unwrap();
        let mut zipped = load(&path, SizeFrom::Allocated).unwrap();
        prop_assert_ne!(&zipped.sha256, &plain.sha256);
        zipped.sha256.clone_from(&plain.sha256);
        prop_assert_eq!(zipped, plain);
    }

    #[test]
    fn m_of_n_keeps_m_of_every_n(n in 1u64..12, m in 1u64..12, phase in 0u64..30, rounds in 1u64..5) {
        let m = m.min(n);
        let jobs = n * rounds;
        let text: String = (0..jobs).map(|i| line(1, &i.to_string(), "1", 1, 1, 1)).collect();
        let mut spec = whole();
        spec.keep = Keep::Systematic { m, n, phase };
        let prepared = load_text(text).unwrap().into_prepared(&spec, 0).unwrap();
        prop_assert_eq!(prepared.jobs.len() as u64, m * rounds);
        let left_out = prepared.reduced.get("not-sampled").copied().unwrap_or(0);
        prop_assert_eq!(left_out, jobs - m * rounds);
    }

    #[test]
    fn the_phases_of_1_of_n_share_out_the_jobs(n in 1u64..9, jobs in 1u64..60) {
        let text: String = (0..jobs).map(|i| line(1, &i.to_string(), "1", 1, 1, 1)).collect();
        let loaded = load_text(text).unwrap();
        let count = |phase| {
            let mut spec = whole();
            spec.keep = Keep::Systematic { m: 1, n, phase };
            loaded.prepare(&spec, 0).unwrap().jobs.len() as u64
        };
        prop_assert_eq!((0..n).map(count).sum::<u64>(), jobs);
    }
}
