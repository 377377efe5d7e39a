//! The kinds of files that logs are: compressed, Parquet, JSON, Batsim's.

use crate::importing::{fixture, fixtures, imported, jobs, of_text, refused, sacct};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use gridrig_tracelab::batsim::{self, Version};
use gridrig_tracelab::import::{Map, SHIPPED};
use gridrig_tracelab::load::load;
use gridrig_tracelab::spec::SizeFrom;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

#[test]
fn compressed_logs_are_known_by_their_content_and_damaged_ones_refused() {
    let log = fixture("sacct");
    let plain = imported(&log, sacct()).unwrap().1;
    for tool in ["gzip", "xz", "bzip2", "zstd"] {
        // Twice, as pieces that were put together.
        let packed = || {
            let file = fs::File::open(&log).unwrap();
            let run = Command::new(tool)
                .arg("-c")
                .stdin(file)
                .stdout(Stdio::piped())
                .output();
            run.map(|done| done.stdout)
        };
        let Ok(once) = packed() else {
            println!("SKIPPED: no {tool}");
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, [once.clone(), once.clone()].concat()).unwrap();
        let (report, trace) = imported(&path, sacct()).unwrap();
        assert_eq!(report.rows, 27, "{tool}");
        assert_eq!(jobs(&trace), jobs(&plain), "{tool}");
        // The digest is that of the file, whatever it holds.
        let hex = |bytes: &[u8]| -> String {
            Sha256::digest(bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect()
        };
        let trace = Command::new(tool)
            .args(["-c", "sacct.swf"])
            .current_dir(fixtures())
            .output();
        fs::write(&path, &trace.unwrap().stdout).unwrap();
        let loaded = load(&path, SizeFrom::Allocated).unwrap();
        assert_eq!(loaded.jobs.len(), 5, "{tool}");
        assert_eq!(loaded.sha256, hex(&fs::read(&path).unwrap()), "{tool}");
        fs::write(&path, &once[..once.len() / 2]).unwrap();
        let said = imported(&path, sacct()).unwrap_err().to_string();
        assert!(
            said.contains("compressed data is damaged"),
            "{tool}: {said}"
        );
    }
}

/// A table of text as Parquet: numbers, times and texts as pandas writes them.
fn as_parquet(csv: &Path, to: &Path) {
    let mut reader = csv::Reader::from_path(csv).unwrap();
    let names = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns = names.iter().enumerate().map(|(at, name)| {
        let cells = || {
            rows.iter()
                .map(|row| Some(&row[at]).filter(|cell| !cell.is_empty()))
        };
        let all = |is: &dyn Fn(&str) -> bool| cells().flatten().all(is);
        let time = |cell: &str| {
            // With an offset of its own it stays a text.
            let local = Some(cell.trim_end_matches('Z')).filter(|cell| !cell.contains('+'));
            let date: jiff::civil::DateTime = local?.parse().ok()?;
            let at = jiff::tz::TimeZone::UTC.to_timestamp(date).ok()?;
            Some(at.as_microsecond())
        };
        let array: ArrayRef = if all(&|cell| cell.parse::<i64>().is_ok()) {
            let cells = cells().map(|cell| cell.map(|cell| cell.parse().unwrap()));
            Arc::new(cells.collect::<Int64Array>())
        } else if all(&|cell| cell.parse::<f64>().is_ok()) {
            let cells = cells().map(|cell| cell.map(|cell| cell.parse().unwrap()));
            Arc::new(cells.collect::<Float64Array>())
        } else if all(&|cell| time(cell).is_some()) {
            let times = cells().map(|cell| cell.and_then(time));
            let times = times.collect::<TimestampMicrosecondArray>();
            match all(&|cell| cell.ends_with('Z')) {
                true => Arc::new(times.with_timezone("UTC")),
                false => Arc::new(times),
            }
        } else {
            Arc::new(cells().collect::<StringArray>())
        };
        (name.to_owned(), array)
    });
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let batch = batch.unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let file = fs::File::create(to).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_table_in_parquet_is_the_same_as_in_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = 0;
    for (name, _) in SHIPPED {
        let text = fixture(name);
        if text.extension().is_none_or(|end| end != "csv") {
            continue;
        }
        // The content tells, not the name.
        let packed = folder.path().join(name);
        as_parquet(&text, &packed);
        let map = || Map::load(name).unwrap();
        let of_text = imported(&text, map()).unwrap().1;
        assert_eq!(imported(&packed, map()).unwrap().1, of_text, "{name}");
        tables += 1;
        let whole = fs::read(&packed).unwrap();
        fs::write(&packed, &whole[..whole.len() - 9]).unwrap();
        let said = imported(&packed, map()).unwrap_err().to_string();
        assert!(said.contains("the Parquet file is damaged"), "{said}");
    }
    assert!(tables >= 7, "{tables}");
}

#[test]
fn a_column_that_a_parquet_or_json_file_has_not_is_named_beside_those_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("t.parquet");
    as_parquet(&fixture("helios"), &packed);
    let said = imported(&packed, Map::load("pm100").unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        said.ends_with(
            "no column \"num_cpus_alloc\" (job.allocated_processors of map pm100): expected one \
             of job_id, user, vc, gpu_num, cpu_num, node_num, state, submit_time, start_time, \
             end_time, duration, queue"
        ),
        "{said}"
    );
    for (text, expected) in [
        (
            "[{\"status\": \"Pass\"}]",
            " no column \"submitted_time\" (job.submit_time of map",
        ),
        ("{\"jobs\": []}", " no list: expected one of jobs"),
        ("[\n{]", "2: key must be a string"),
    ] {
        let said = refused(text, Map::load("philly").unwrap());
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_workload_of_batsim_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.swf");
    let lines = [
        "7 0 5 42.5 4 -1 -1 4 100 -1 1 -1 -1 -1 -1 -1 -1 -1",
        "9 3.25 0 7 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
        "11 9 0 0 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
        "12 10 0 42.5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
    ];
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let loaded = load(&path, SizeFrom::Allocated).unwrap();
    for version in [Version::Four, Version::Five] {
        let mut json = Vec::new();
        let written = batsim::write(&loaded, 8, version, &mut json).unwrap();
        assert_eq!((written.jobs, written.without_run_time), (3, 1));
        let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(document["nb_res"], 8);
        assert_eq!(document["jobs"][0]["walltime"], 100);
        assert!(document["jobs"][1].get("walltime").is_none());
        // Jobs that run as long share a profile.
        assert_eq!(document["profiles"].as_object().unwrap().len(), 2);
        let text = String::from_utf8(json).unwrap();
        let (_, trace) = of_text(&text, Map::load("batsim").unwrap()).unwrap();
        assert_eq!(
            jobs(&trace),
            [
                "7 0 -1 42.5 4 -1 -1 4 100 -1 -1 -1 -1 -1 -1 -1 -1 -1",
                "9 3.25 -1 7 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
                "12 10 -1 42.5 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
            ]
        );
    }
    let twice = lines.join("\n").replace("\n9 ", "\n7 ");
    fs::write(&path, twice + "\n").unwrap();
    let loaded = load(&path, SizeFrom::Allocated).unwrap();
    let mut json = Vec::new();
    let written = batsim::write(&loaded, 8, Version::Five, &mut json).unwrap();
    assert!(written.numbered);
    let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let ids = [0, 1, 2].map(|at| document["jobs"][at]["id"].as_str().unwrap().to_owned());
    assert_eq!(ids, ["1", "2", "3"]);
}
