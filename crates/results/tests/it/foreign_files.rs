//! Run directories that somebody else has made: nothing in them is trusted.

use crate::study::{Study, usual};
use gridrig_core::ids::JobId;
use gridrig_results::catalogue::{Catalogue, RunEntry, State};
use gridrig_results::compare::said;
use gridrig_results::rundir::{self, MOST_ROWS, RunDirError, TableColumns, names};
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::printer::print_schema;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

fn one_run() -> (Study, PathBuf) {
    let study = Study::of(&["round-robin"], 1, usual);
    let dir = study.run_dir("round-robin", 0);
    (study, dir)
}

/// The run as a catalogue lists it.
fn listed(study: &Study) -> RunEntry {
    let mut catalogue = Catalogue::open(study.path()).unwrap();
    catalogue.refresh().unwrap();
    catalogue.runs().unwrap().remove(0)
}

/// Changes the manifest of a run.
pub fn in_manifest(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join(names::MANIFEST);
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(&path, manifest.to_string()).unwrap();
}

/// Writes another footer behind the data of a table.
fn with_footer(dir: &Path, name: &str, change: impl FnOnce(ParquetMetaData) -> ParquetMetaData) {
    let path = dir.join(name);
    let read = ParquetMetaDataReader::new().parse_and_finish(&File::open(&path).unwrap());
    let metadata = change(read.unwrap());
    let mut bytes = fs::read(&path).unwrap();
    ParquetMetaDataWriter::new(&mut bytes, &metadata)
        .finish()
        .unwrap();
    fs::write(&path, bytes).unwrap();
}

/// The same with so many rows and this schema.
fn file_of(had: &FileMetaData, rows: i64, schema: SchemaDescPtr) -> FileMetaData {
    let known = had.key_value_metadata().cloned();
    FileMetaData::new(had.version(), rows, None, known, schema, None)
}

/// Makes a table say that it has so many rows, and its manifest too; its data
/// stay. Answers how many it has.
fn claim(dir: &Path, name: &str, rows: i64) -> i64 {
    let mut had_rows = 0;
    with_footer(dir, name, |read| {
        let had = read.file_metadata();
        had_rows = had.num_rows();
        let file = file_of(had, rows, had.schema_descr_ptr());
        let groups = read.row_groups().iter().map(|group| {
            let columns = group.columns().to_vec();
            let group = group.clone().into_builder().set_num_rows(rows);
            group.set_column_metadata(columns).build().unwrap()
        });
        ParquetMetaData::new(file, groups.collect())
    });
    in_manifest(dir, |manifest| {
        manifest["files"][name]["rows"] = rows.into()
    });
    had_rows
}

/// Makes a table say that a column has another type: what stands in its schema for what.
fn retyped(dir: &Path, name: &str, from: &str, to: &str) {
    with_footer(dir, name, |read| {
        let had = read.file_metadata();
        let mut text = Vec::new();
        print_schema(&mut text, had.schema());
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(from), "{text}");
        let schema = parse_message_type(&text.replace(from, to)).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let file = file_of(had, had.num_rows(), schema);
        ParquetMetaData::new(file, read.row_groups().to_vec())
    });
}

#[test]
fn a_column_of_another_type_is_told() {
    let (_study, dir) = one_run();
    retyped(&dir, names::JOBS, "hops (INTEGER(32,false))", "hops");
    let found = rundir::audit_run_dir(&dir).unwrap().expect_err("a type");
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let said = "jobs.parquet: column hops has another type than it was written with";
    assert!(found.iter().any(|it| it.ends_with(said)), "{found:?}");
    let table = TableColumns::open(&dir, names::JOBS).unwrap();
    let error = table.u32s("hops").expect_err("of another type").to_string();
    assert!(error.contains("column hops"), "{error}");
    let mut csv = Vec::new();
    rundir::write_csv(&dir, names::JOBS, &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().next().unwrap().contains(",hops,"), "{csv}");
    // It is not taken for a run of before, which did not have the column.
    let from = "speed_millionths (INTEGER(64,false))";
    retyped(&dir, names::JOBS, from, "speed_millionths");
    let error = rundir::read(&dir).expect_err("of another type").to_string();
    assert!(error.contains("speed_millionths"), "{error}");
    let from = "job_id (INTEGER(32,false))";
    retyped(&dir, names::JOBS, from, "job_id");
    let error = rundir::read_job(&dir, JobId(0)).expect_err("of another type");
    assert!(error.to_string().contains("job_id"), "{error}");
}

#[test]
fn a_column_of_texts_whose_lengths_are_packed_is_refused() {
    let (_study, dir) = one_run();
    let message = "message jobs { required binary state (UTF8); }";
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let mut writer = SerializedFileWriter::new(
        File::create(dir.join(names::JOBS)).unwrap(),
        Arc::new(parse_message_type(message).unwrap()),
        Arc::new(properties.build()),
    )
    .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let texts = [ByteArray::from("completed")];
    let written = column
        .typed::<ByteArrayType>()
        .write_batch(&texts, None, None);
    written.unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let table = TableColumns::open(&dir, names::JOBS).unwrap();
    let Err(error) = table.codes("state") else {
        panic!("texts whose lengths are packed");
    };
    let error = said(&error);
    assert!(error.contains("jobs.parquet"), "{error}");
    assert!(
        error.contains("column state: encoding DELTA_BYTE_ARRAY: expected PLAIN"),
        "{error}"
    );
}

fn is_too_long<T>(result: Result<T, RunDirError>, words: &str) {
    let error = result.err().expect("a table that is too long is refused");
    assert!(matches!(error, RunDirError::TooLong { .. }), "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_table_with_more_rows_than_its_manifest_says_is_refused() {
    let (_study, dir) = one_run();
    for name in [names::JOBS, names::EVENTS, names::SERIES] {
        in_manifest(&dir, |manifest| {
            let rows = &mut manifest["files"][name]["rows"];
            *rows = (rows.as_u64().unwrap() - 1).into();
        });
        is_too_long(TableColumns::open(&dir, name), "the rows in manifest.json");
    }
    is_too_long(rundir::read(&dir), "jobs.parquet");
    is_too_long(rundir::read_newest(&dir, 3), "events.parquet");
    is_too_long(rundir::read_series(&dir), "series.parquet");
}

#[test]
fn a_table_has_no_more_rows_than_the_limit() {
    let (_study, dir) = one_run();
    let most = i64::try_from(MOST_ROWS).unwrap();
    claim(&dir, names::EVENTS, most + 1);
    is_too_long(rundir::read(&dir), "200000001 rows");
    claim(&dir, names::EVENTS, most);
    TableColumns::open(&dir, names::EVENTS).unwrap();
}

#[test]
fn rows_beyond_those_that_a_table_says_it_has_are_refused() {
    let (_study, dir) = one_run();
    let rows = claim(&dir, names::EVENTS, 2);
    assert!(rows > 2);
    is_too_long(rundir::read(&dir), "3 rows");
    let table = TableColumns::open(&dir, names::EVENTS).unwrap();
    let error = table.i64s("time_ns").expect_err("of 2 rows");
    assert!(error.to_string().contains("rows of 2"), "{error}");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (study, dir) = one_run();
    let plain = fs::read(dir.join(names::MANIFEST)).unwrap();
    for name in [
        "..",
        ".",
        "",
        "a/b",
        "a/",
        "../r000/x",
        "/etc/hostname",
        "a\\b",
    ] {
        fs::write(dir.join(names::MANIFEST), &plain).unwrap();
        in_manifest(&dir, |manifest| {
            let scenario = manifest["files"][names::SCENARIO].clone();
            manifest["files"][name] = scenario;
        });
        let error = rundir::read_manifest(&dir).expect_err(name).to_string();
        let said = format!("field files = \"{name}\": expected plain file names");
        assert!(error.ends_with(&said), "{error}");
        let run = listed(&study);
        assert_eq!(run.state, State::Damaged, "{name}");
        assert!(run.reason.unwrap().ends_with(&said), "{name}");
    }
}

#[test]
fn a_file_that_is_no_regular_one_is_refused() {
    for name in [names::MANIFEST, names::JOBS, names::SCENARIO] {
        let (study, dir) = one_run();
        fs::remove_file(dir.join(name)).unwrap();
        symlink("/dev/null", dir.join(name)).unwrap();
        let error = rundir::audit_run_dir(&dir).expect_err(name);
        let error = said(&error);
        assert!(error.contains(name), "{error}");
        assert!(error.contains("expected a regular file"), "{error}");
        let run = listed(&study);
        assert_eq!(run.state, State::Damaged, "{name}");
        let reason = run.reason.unwrap();
        assert!(reason.contains("expected a regular file"), "{reason}");
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let (study, dir) = one_run();
    let path = dir.join(names::LABELS);
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    // Were it opened, this would be read.
    let labels = "{\"format\": 1, \"tags\": [], \"note\": \"x\", \"baseline\": false}";
    let pipe = path.clone();
    let writer = thread::spawn(move || fs::write(pipe, labels));
    let run = listed(&study);
    assert!(run.reason.is_some(), "{run:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), labels);
    writer.join().unwrap().unwrap();
}

#[test]
fn a_link_under_a_partial_name_is_not_written_through() {
    let (study, dir) = one_run();
    let theirs = study.path().join("theirs.txt");
    fs::write(&theirs, "kept").unwrap();
    symlink(&theirs, dir.join("labels.json.partial")).unwrap();
    // What a writer that was killed has left is replaced.
    let left = study.path().join("round-robin/r000/manifest.json.partial");
    fs::write(&left, "half of it").unwrap();
    rundir::write_file(&dir, names::MANIFEST, b"whole").unwrap();
    assert_eq!(fs::read(dir.join(names::MANIFEST)).unwrap(), b"whole");
    assert!(!left.exists());
    rundir::write_file(&dir, names::LABELS, b"labels").unwrap();
    assert_eq!(fs::read(&theirs).unwrap(), b"kept");
    let labels = dir.join(names::LABELS);
    assert!(fs::symlink_metadata(&labels).unwrap().is_file());
    assert_eq!(fs::read(&labels).unwrap(), b"labels");
}
