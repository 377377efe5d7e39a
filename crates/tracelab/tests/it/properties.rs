//! What holds for any input.

use crate::{line, load_any_text, load_text, whole};
use gridrig_core::time::SimDuration;
use gridrig_tracelab::TraceError;
use gridrig_tracelab::format::{FIELDS, Format, Number, Record, TraceReader, Writer, field, open};
use gridrig_tracelab::import::{Map, SHIPPED, import};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::sanitize::{Rules, apply};
use gridrig_tracelab::spec::{Keep, SizeFrom};
use gridrig_tracelab::synth::gzip;
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

/// A number that every column can be, as a rule.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![40 => "-?[0-9]{1,5}", 1 => "[-+0-9.eE;#{}x]{1,5}"]
}

/// Whether these words are numbers of a job: `None` where it is for the reader to say, as one
/// is too large, or no whole number.
fn are_numbers<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<bool> {
    let is_plain = |word: &str| !word.contains(|c: char| c != '-' && !c.is_ascii_digit());
    words.try_fold(true, |all, word| match word.parse::<f64>() {
        Ok(_) if is_plain(word) => Some(all),
        Ok(_) => None,
        Err(_) => Some(false),
    })
}

fn is_swf_job<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Option<bool> {
    match words.clone().count() {
        ..FIELDS => Some(false),
        _ => are_numbers(words.take(FIELDS)),
    }
}

/// What is read has jobs only, and all of them; what has jobs only is read. There is a value for
/// each line that is no comment.
fn judge(
    read: &Result<Loaded, TraceError>,
    are_jobs: &[Option<bool>],
) -> Result<(), TestCaseError> {
    match read {
        Ok(loaded) => {
            prop_assert!(!are_jobs.is_empty() && !are_jobs.contains(&Some(false)));
            let counted: u64 = loaded.skipped.values().sum();
            prop_assert_eq!(loaded.jobs.len() as u64 + counted, are_jobs.len() as u64);
        }
        Err(error) => {
            let all = !are_jobs.is_empty() && are_jobs.iter().all(|it| *it == Some(true));
            prop_assert!(!all, "{}", error);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..400)) {
        let mut reader = TraceReader::new(Format::Swf, &bytes[..], "t.swf");
        while let Ok(Some(_)) = reader.next_record() {}
        prop_assert!(matches!(reader.next_record(), Ok(None)));
    }

    #[test]
    fn any_words_are_read_or_refused(lines in vec((vec(word(), 16..22), " {1,2}| ?\t ?"), 0..5)) {
        // Two tabs in each place would be the empty columns of the other format.
        let lines: Vec<String> = lines.iter().map(|(words, blank)| words.join(blank.as_str())).collect();
        let jobs = lines.iter().filter(|line| !line.starts_with([';', '#']));
        let are_jobs = jobs.map(|line| is_swf_job(line.split_ascii_whitespace()));
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        judge(&load_text(text), &are_jobs.collect::<Vec<_>>())?;
    }

    #[test]
    fn any_bytes_are_a_trace_of_either_format_or_refused(bytes in vec(any::<u8>(), 0..400)) {
        let _ = load_any_text(&bytes);
        let mut reader = TraceReader::new(Format::Gwf, &bytes[..], "t.gwf");
        while let Ok(Some(_)) = reader.next_record() {}
        prop_assert!(matches!(reader.next_record(), Ok(None)));
    }

    #[test]
    fn any_columns_are_read_or_refused(
        lines in vec((vec(word(), 11), vec("[a-z{}]{0,6}|-1", 17..21)), 0..5),
    ) {
        let lines: Vec<Vec<String>> = lines.into_iter().map(|it| [it.0, it.1].concat()).collect();
        let jobs = lines.iter().filter(|line| !line[0].starts_with([';', '#']));
        // The first job says of which format all are.
        let is_gwf = jobs.clone().next().is_some_and(|line| line.len() >= 29);
        let are_jobs = jobs.map(|line| {
            let words = line.iter().map(String::as_str);
            match is_gwf {
                true if line.len() < 29 => Some(false),
                true => are_numbers(words.take(11)),
                false => is_swf_job(words.filter(|word| !word.is_empty())),
            }
        });
        let text = lines.iter().map(|line| line.join("\t") + "\n").collect::<String>();
        judge(&load_any_text(text), &are_jobs.collect::<Vec<_>>())?;
    }

    #[test]
    fn a_gwf_job_that_is_read_is_written_and_read_back_the_same(
        numbers in vec("(-?[0-9]{1,9}(\\.[0-9]{1,9})?|-1)", 11),
        texts in vec("[ -~]{0,8}|-1|[0-9]{1,3}", 18),
    ) {
        let line = [numbers.join("\t"), texts.join("\t")].join("\t") + "\n";
        let read = |text: &[u8]| {
            let mut reader = TraceReader::new(Format::Gwf, text, "t.gwf");
            reader.next_record().map(|record| {
                let mut record = record.unwrap().clone();
                // Written, a value below 0 other than a wait time is -1, and
                // an empty column too.
                for at in (0..FIELDS).filter(|at| *at != field::WAIT) {
                    record.set(at, record.number(at));
                }
                for text in &mut record.text {
                    if text.is_empty() {
                        *text = b"-1".to_vec();
                    }
                }
                record
            })
        };
        if let Ok(first) = read(line.as_bytes()) {
            let mut writer = Writer::new(Vec::new(), Format::Gwf, &[]).unwrap();
            writer.write(&first).unwrap();
            prop_assert_eq!(read(&writer.finish().unwrap()).unwrap(), first);
        }
    }

    #[test]
    fn the_fast_and_the_careful_reader_agree(
        fields in vec("(-?[0-9]{1,12}(\\.[0-9]{0,9})?|-1)", 18),
        blanks in vec(" {1,3}|\t", 18),
    ) {
        let spaced: Vec<String> = fields.iter().zip(&blanks).map(|(f, b)| format!("{b}{f}")).collect();
        let line = spaced.concat();
        // The first line of a file is read with care, the second is not; the
        // third cannot be, since it has no line feed.
        let text = format!("{line}\n{line}\n{line}");
        let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "t.swf");
        let mut read = || reader.next_record().map(|r| r.map(|r| Record { line: 0, ..r.clone() }));
        if let Ok(first) = read() {
            prop_assert!(first.is_some());
            prop_assert_eq!(&read().unwrap(), &first);
            prop_assert_eq!(&read().unwrap(), &first);
        } else {
            let good = crate::line(1, "0", "5", 1, 1, 1);
            let text = format!("{good}{line}\n{good}");
            let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "t.swf");
            prop_assert!(reader.next_record().is_ok_and(|first| first.is_some()));
            prop_assert!(reader.next_record().is_err(), "{}", line);
        }
    }

    #[test]
    fn what_is_written_is_read_back(
        numbers in vec(proptest::option::of(any::<u64>()), 18),
    ) {
        let mut record = Record { line: 1, ..Record::default() };
        for (at, number) in numbers.into_iter().enumerate() {
            let Some(n) = number else { continue };
            match at {
                field::SUBMIT | field::WAIT | field::RUN_TIME | field::CPU_TIME
                | field::REQUESTED_TIME | field::THINK_TIME => {
                    record.set(at, SimDuration::from_nanos(n));
                }
                field::USED_MEMORY | field::REQUESTED_MEMORY => record.set(at, Number {
                    billionths: (n % 1_000_000_000) as u32,
                    ..Number::from(n >> 8)
                }),
                _ => record.set(at, n),
            }
        }
        let mut writer = Writer::new(Vec::new(), Format::Swf, &[]).unwrap();
        writer.write(&record).unwrap();
        let bytes = writer.finish().unwrap();
        let mut reader = TraceReader::new(Format::Swf, &bytes[..], "t.swf");
        prop_assert_eq!(reader.next_record().unwrap(), Some(&record));
    }

    #[test]
    fn a_rule_applied_twice_leaves_out_nothing_more(text in trace(), limit in 1u32..20) {
        let rules = format!("failed,cancelled,run-above-requested,wider-than={limit},remove=job<9");
        let rules = Rules::parse(&rules).unwrap();
        let mut loaded = load_text(&text).unwrap();
        let before = loaded.jobs.len() as u64;
        let removed: u64 = apply(&rules, &mut loaded).iter().map(|r| r.removed).sum();
        prop_assert_eq!(loaded.jobs.len() as u64, before - removed);
        let left = loaded.jobs.clone();
        prop_assert!(apply(&rules, &mut loaded).iter().all(|r| r.removed == 0));
        prop_assert_eq!(loaded.jobs, left);
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
        let left_out = prepared.reduction.reduced.get("not-sampled").copied().unwrap_or(0);
        prop_assert_eq!(left_out, jobs - m * rounds);
    }

    #[test]
    fn the_phases_of_1_of_n_share_out_the_jobs(n in 1u64..9, jobs in 1u64..60) {
        let text: String = (0..jobs).map(|i| line(1, &i.to_string(), "1", 1, 1, 1)).collect();
        let loaded = load_text(text).unwrap();
        let count = |phase| {
            let mut spec = whole();
            spec.keep = Keep::Systematic { m: 1, n, phase };
            loaded.clone().into_prepared(&spec, 0).unwrap().jobs.len() as u64
        };
        prop_assert_eq!((0..n).map(count).sum::<u64>(), jobs);
    }

    #[test]
    fn a_log_with_damage_is_imported_as_a_trace_or_refused(
        map in proptest::sample::select(SHIPPED.iter().map(|map| map.0).collect::<Vec<_>>()),
        damage in vec((any::<proptest::sample::Index>(), "[-0-9a-zA-Z|,:.=\"\n {}]{0,4}"), 1..4),
        gwf: bool,
    ) {
        let mut log = fs::read(crate::importing::fixture(map)).unwrap();
        for (at, text) in damage {
            let at = at.index(log.len());
            let end = (at + text.len() / 2).min(log.len());
            log.splice(at..end, text.bytes());
        }
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("log");
        fs::write(&input, log).unwrap();
        let output = folder.path().join(if gwf { "out.gwf" } else { "out.swf" });
        let map = Map::load(map).unwrap();
        let request = crate::importing::request(&input, map, output.clone());
        if let Ok(report) = import(&request) {
            let mut reader = open(&output).unwrap();
            let mut jobs = 0;
            while reader.next_record().unwrap().is_some() {
                jobs += 1;
            }
            prop_assert_eq!(jobs, report.jobs);
        }
    }
}
