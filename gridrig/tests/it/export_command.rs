//! `gridrig export`: the jobs of finished runs for other tools.

use crate::command::{
    Bench, JOBS, PAIR, expect_code, expect_refused, expect_stderr, expect_stdout, json, ok, run,
    split, stdout,
};
use gridrig_tracelab::format::{Format, Record, TraceReader, field, open_as};
use std::fs;

fn bench() -> Bench {
    Bench::ran(PAIR, &JOBS)
}

/// The fields of a line of CSV that has JSON in quotes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn a_run_as_csv_has_the_columns_and_values_of_its_parquet() {
    let bench = bench();
    let dir = bench.path("runs/s-1/round-robin/r000");
    let output = ok(run(&["export", &dir, "--format", "csv", "--out", "-"]));
    let text = stdout(&output);
    let mut lines = text.lines().map(fields);
    let header = lines.next().unwrap();
    let rows: Vec<Vec<String>> = lines.collect();
    assert_eq!(rows.len(), JOBS.len());
    let table = gridrig_results::rundir::TableColumns::open(dir.as_ref(), "jobs.parquet").unwrap();
    let at = |name: &str| header.iter().position(|own| own == name).unwrap();
    let delays = table.f64s("delay_s").unwrap();
    let starts = table.i64s("start_ns").unwrap();
    let clusters = table.codes("cluster").unwrap();
    for (row, cells) in rows.iter().enumerate() {
        assert_eq!(cells.len(), header.len());
        assert_eq!(cells[at("delay_s")].parse::<f64>().unwrap(), delays[row]);
        assert_eq!(cells[at("start_ns")].parse::<i64>().unwrap(), starts[row]);
        assert_eq!(clusters.name(row), Some(cells[at("cluster")].as_str()));
        assert_eq!(cells[at("reason")], "");
        // As they were given.
        let number = |name: &str| cells[at(name)].parse::<u64>().unwrap();
        let (submit, run, size) = JOBS[row];
        assert_eq!(number("submit_ns"), submit * 1_000_000_000);
        assert_eq!(number("processors"), u64::from(size));
        let length = number("finish_ns") - number("start_ns");
        assert_eq!(length, run as u64 * 1_000_000_000);
    }
    let raw = text.lines().nth(1).unwrap();
    let placement = "\"[{\"\"cluster\"\":\"\"a1\"\",\"\"resource\"\":0,\"\"node\"\":0,";
    assert!(raw.contains(placement), "{raw}");
}

#[test]
fn a_run_as_swf_is_read_by_our_own_reader_with_its_wait_times() {
    let bench = bench();
    let dir = bench.path("runs/s-1/round-robin/r000");
    let out = bench.path("out.swf.gz");
    let output = ok(run(&["export", &dir, "--format", "swf", "--out", &out]));
    expect_stdout(&output, "out.swf.gz: 6 jobs");

    let mut reader = open_as(out.as_ref(), Format::Swf).unwrap();
    let mut records: Vec<Record> = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record.clone());
    }
    let table = gridrig_results::rundir::TableColumns::open(dir.as_ref(), "jobs.parquet").unwrap();
    let waits = table.f64s("wait_s").unwrap();
    assert!(waits.iter().any(|wait| *wait > 1.0), "{waits:?}");
    for (record, (index, wait)) in records.iter().zip(waits.iter().enumerate()) {
        let (submit, run_time, size) = JOBS[index];
        assert_eq!(
            record.time(field::SUBMIT).unwrap().as_secs_f64(),
            submit as f64
        );
        assert_eq!(
            record.time(field::RUN_TIME).unwrap().as_secs_f64(),
            run_time as f64
        );
        assert_eq!(record.time(field::WAIT).unwrap().as_secs_f64(), *wait);
        assert_eq!(record.count(field::ALLOCATED), Some(u64::from(size)));
        let end = [field::STATUS, field::USER].map(|at| record.count(at));
        assert_eq!(end, [Some(1), Some(7)]);
    }
    let header = reader.header();
    assert_eq!(header.max_processors(), Some(8));
    assert_eq!(
        header.values("Partition"),
        ["1 a1 (4 processors)", "2 b1 (4 processors)"]
    );
    assert!(header.values("Conversion")[0].starts_with("gridrig export --format swf"));
    let note = &header.values("Note")[0];
    assert!(
        note.contains("round-robin") && note.contains("t.swf (SHA-256 "),
        "{note}"
    );

    // And by the trace laboratory, which sees the clusters.
    let info = json(&run(&["trace", "info", &out, "--json"]));
    assert_eq!(info["jobs"], 6);
    assert_eq!(info["max_processors"], 8);
}

#[test]
fn a_job_that_never_ran_is_in_the_log_without_times() {
    // Nine processors fit no cluster: rejected.
    let bench = Bench::ran(PAIR, &[(0, 30, 4), (5, 10, 9)]);
    let dir = bench.path("runs/s-1/round-robin/r000");
    let output = ok(run(&["export", &dir, "--format", "swf", "--out", "-"]));
    let text = stdout(&output);
    assert!(
        text.ends_with("\n2 5 -1 -1 -1 -1 -1 9 -1 -1 5 7 -1 -1 -1 -1 -1 -1\n"),
        "{text}"
    );
    let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "stdout");
    while reader.next_record().unwrap().is_some() {}
}

#[test]
fn several_runs_go_into_a_folder_by_policy_and_replication() {
    let bench = bench();
    let (runs, out) = (bench.path("runs"), bench.path("out"));
    let words = [
        "export", &runs, "--format", "batsim", "--out", &out, "--json",
    ];
    let document = json(&run(&words));
    assert_eq!(document["format"], "batsim");
    assert_eq!(document["files"].as_array().unwrap().len(), 2);
    for policy in ["round-robin", "free-node"] {
        let own = fs::read_to_string(bench.path(&format!("out/s-1/{policy}/r000_jobs.csv")));
        assert_eq!(own.unwrap().lines().count(), 1 + JOBS.len(), "{policy}");
    }
    // It is the file that `run --csv` writes.
    expect_code(&bench.run(&["--csv", "--force"]), 0);
    let written = fs::read(bench.path("runs/s-1/free-node/r000/jobs.csv")).unwrap();
    let exported = fs::read(bench.path("out/s-1/free-node/r000_jobs.csv")).unwrap();
    assert_eq!(written, exported);

    expect_refused(&run(&words), "exists already");
    let mut forced = words.to_vec();
    forced.push("--force");
    expect_code(&run(&forced), 0);
}

#[test]
fn what_cannot_be_exported_is_said_and_nothing_is_written() {
    let bench = bench();
    let runs = bench.path("runs");
    expect_refused(
        &run(&["export", &runs, "--format", "swf", "--out", "-"]),
        "2 runs were found",
    );

    let none = run(&split(&format!(
        "export {} --format csv --out - --json",
        bench.path("")
    )));
    expect_code(&none, 2);
    assert!(stdout(&none).is_empty());

    let jobs = bench.path("runs/s-1/free-node/r000/jobs.parquet");
    let mut bytes = fs::read(&jobs).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(&jobs, bytes).unwrap();
    let dir = bench.path("runs/s-1/free-node/r000");
    let out = bench.path("out.csv");
    for format in ["csv", "batsim", "swf"] {
        let damaged = run(&["export", &dir, "--format", format, "--out", &out]);
        expect_refused(&damaged, "jobs.parquet");
    }
    let left = run(&split(&format!(
        "export {runs} --format csv --out {} --skip-damaged",
        bench.path("o")
    )));
    expect_code(&left, 0);
    expect_stderr(&left, "left out");

    let unwritable = run(&split(&format!(
        "export {} --format csv --out {}",
        bench.path("runs/s-1/round-robin/r000"),
        bench.path("t.swf/below.csv")
    )));
    expect_refused(&unwritable, "cannot be written");
    assert!(!fs::exists(&out).unwrap());
    let partial = fs::read_dir(bench.dir.path()).unwrap();
    assert!(
        partial
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().contains(".partial"))
    );
}
