//! The kinds of files that logs are: compressed, Parquet, JSON, Batsim's.

use crate::importing::{fixture, fixtures, imported, jobs, of_text, refused, sacct};
use gridrig_tracelab::batsim::{self, Version};
use gridrig_tracelab::import::{Map, SHIPPED};
use gridrig_tracelab::load::load;
use gridrig_tracelab::spec::SizeFrom;
use parquet::basic::{Compression, Encoding, LogicalType, TimeUnit, Type as Physical};
use parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};
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

/// Values of a column that are there, as a Parquet file has them.
enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// Writes columns, each with the definition levels of its rows, in so many equal row groups.
fn write_parquet(to: &Path, schema: Type, columns: &[(Vec<i16>, Values)], groups: usize) {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    write_as(properties.build(), to, schema, columns, groups);
}

/// The same with these properties.
fn write_as(
    properties: WriterProperties,
    to: &Path,
    schema: Type,
    columns: &[(Vec<i16>, Values)],
    groups: usize,
) {
    let file = fs::File::create(to).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        for (levels, values) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let starts = vec![0; levels.len()];
            let (levels, starts) = (Some(&levels[..]), Some(&starts[..]));
            let written = match values {
                Values::Int32(values) => column
                    .typed::<Int32Type>()
                    .write_batch(values, levels, starts),
                Values::Int64(values) => column
                    .typed::<Int64Type>()
                    .write_batch(values, levels, starts),
                Values::Int96(values) => column
                    .typed::<Int96Type>()
                    .write_batch(values, levels, starts),
                Values::Double(values) => column
                    .typed::<DoubleType>()
                    .write_batch(values, levels, starts),
                Values::Bytes(values) => column
                    .typed::<ByteArrayType>()
                    .write_batch(values, levels, starts),
            };
            written.unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A table of text as Parquet: numbers, times and texts as pandas writes them.
fn as_parquet(csv: &Path, to: &Path, groups: usize) {
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
        let there = cells().flatten();
        let (physical, logical, values) = if all(&|cell| cell.parse::<i64>().is_ok()) {
            let values = there.map(|cell| cell.parse::<i64>().unwrap());
            (Physical::INT64, None, Values::Int64(values.collect()))
        } else if all(&|cell| cell.parse::<f64>().is_ok()) {
            let values = there.map(|cell| cell.parse::<f64>().unwrap());
            (Physical::DOUBLE, None, Values::Double(values.collect()))
        } else if all(&|cell| time(cell).is_some()) {
            let utc = all(&|cell| cell.ends_with('Z'));
            let logical = LogicalType::timestamp(utc, TimeUnit::MICROS);
            let values = Values::Int64(there.filter_map(time).collect());
            (Physical::INT64, Some(logical), values)
        } else {
            let values = Values::Bytes(there.map(ByteArray::from).collect());
            (Physical::BYTE_ARRAY, Some(LogicalType::String), values)
        };
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        let levels: Vec<i16> = cells().map(|cell| cell.is_some().into()).collect();
        (Arc::new(field.build().unwrap()), (levels, values))
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    let schema = Type::group_type_builder("log").with_fields(fields);
    write_parquet(to, schema.build().unwrap(), &columns, groups);
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
        as_parquet(&text, &packed, 1);
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
    as_parquet(&fixture("helios"), &packed, 1);
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

/// A map of the columns `id`, `at`, `took` and `cores`.
fn of_four() -> Map {
    let text = "about = \"a test\"\n[job]\njob_number = \"id\"\nrun_time = \"took\"\n\
                allocated_processors = \"cores\"\n\
                submit_time = { column = \"at\", unit = \"date\" }\n";
    Map::parse("four.toml", text).unwrap()
}

#[test]
fn row_groups_of_a_parquet_file_are_read_some_rows_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, packed] = ["t.csv", "t.parquet"].map(|name| folder.path().join(name));
    let rows = (1..2_501).map(|row| match row % 3 {
        0 => format!("{row},{row},,1\n"),
        _ => format!("{row},{row},{row}.5,2\n"),
    });
    let rows: String = rows.collect();
    fs::write(&csv, format!("id,at,took,cores\n{rows}")).unwrap();
    as_parquet(&csv, &packed, 2);
    let of_text = of_text(&format!("id,at,took,cores\n{rows}{rows}"), of_four()).unwrap();
    let of_parquet = imported(&packed, of_four()).unwrap();
    assert_eq!((of_parquet.0.rows, of_parquet.0.jobs), (5_000, 2_500));
    assert_eq!(of_parquet.1, of_text.1);
}

/// Nanoseconds of the day, and the number of the day.
fn legacy(nanos: u64, day: u32) -> Int96 {
    let mut at = Int96::new();
    at.set_data(nanos as u32, (nanos >> 32) as u32, day);
    at
}

#[test]
fn integers_of_parquet_have_their_width_and_sign_and_times_their_unit() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("t.parquet");
    let write = |at: &str, times: Values, took: &str, long: Values| {
        let message = format!(
            "message log {{ required int32 id (INTEGER(16,false)); required {at}; \
             optional {took}; required int32 cores (INTEGER(8,true)); }}"
        );
        let columns = [
            (vec![0; 2], Values::Int32(vec![65_535, 300])),
            (vec![0; 2], times),
            (vec![1, 0], long),
            (vec![0; 2], Values::Int32(vec![100, -100])),
        ];
        write_parquet(&packed, parse_message_type(&message).unwrap(), &columns, 1);
        imported(&packed, of_four()).map_err(|error| error.to_string())
    };
    let second = 1_000_000_000;
    let noon = 1_704_110_400 * second;
    let nanos = || Values::Int64(vec![noon + 250, noon + second * 3 / 2]);
    let expected = [
        "65535 0.00000025 -1 4294967295 100 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
        "300 1.5 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
    ];
    let utc = "int64 at (TIMESTAMP(NANOS,true))";
    let took = "int32 took (INTEGER(32,false))";
    let (report, trace) = write(utc, nanos(), took, Values::Int32(vec![-1])).unwrap();
    assert_eq!(jobs(&trace), expected);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    let half = 12 * 3600 * 1_000_000_000_u64;
    let late = vec![legacy(0, 2_460_311), legacy(0, 6_000_000)];
    let said = write(
        "int96 at",
        Values::Int96(late),
        took,
        Values::Int32(vec![-1]),
    )
    .unwrap_err();
    assert!(said.contains("times out of range"), "{said}");
    let times = [half + 250, half + 1_500_000_000].map(|nanos| legacy(nanos, 2_460_311));
    for (at, times) in [
        ("int64 at (TIMESTAMP(NANOS,false))", nanos()),
        ("int96 at", Values::Int96(times.to_vec())),
    ] {
        let (report, trace) = write(at, times, took, Values::Int32(vec![-1])).unwrap();
        assert_eq!(jobs(&trace), expected, "{at}");
        let warning = &report.warnings[0];
        assert!(
            warning.contains("2 times do not say their offset"),
            "{warning}"
        );
    }
    let took = "int64 took (INTEGER(64,false))";
    let said = write(utc, nanos(), took, Values::Int64(vec![-1])).unwrap_err();
    assert!(
        said.ends_with(":1: column took = \"18446744073709551615\": expected a number of seconds"),
        "{said}"
    );
    let years = "int64 at (TIMESTAMP(MILLIS,true))";
    let took = "int32 took";
    let said = write(years, nanos(), took, Values::Int32(vec![1])).unwrap_err();
    assert!(
        said.ends_with(":1: a column of times out of range: expected numbers, texts or times"),
        "{said}"
    );
}

#[test]
fn columns_of_parquet_that_are_no_numbers_texts_or_times_are_refused_at_their_row() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("t.parquet");
    let write = |took: &str, level: i16, values: Values| {
        let message = format!(
            "message log {{ required int32 id; required int64 at; optional {took} \
             required int32 cores; }}"
        );
        let columns = [
            (vec![0; 2], Values::Int32(vec![1, 2])),
            (vec![0; 2], Values::Int64(vec![10, 20])),
            (vec![0, level], values),
            (vec![0; 2], Values::Int32(vec![1, 1])),
        ];
        write_parquet(&packed, parse_message_type(&message).unwrap(), &columns, 1);
        imported(&packed, of_four()).map_err(|error| error.to_string())
    };
    let one = || Values::Int32(vec![1]);
    let bytes = || Values::Bytes(vec![ByteArray::from("1")]);
    for (took, level, values, row, kind) in [
        ("int32 took (DATE);", 1, one(), 2, "dates"),
        ("int32 took (DECIMAL(9,2));", 1, one(), 2, "decimals"),
        (
            "int32 took (TIME(MILLIS,true));",
            1,
            one(),
            2,
            "times of day",
        ),
        ("binary took;", 1, bytes(), 2, "bytes"),
        ("binary took (ENUM);", 1, bytes(), 2, "bytes"),
        // Of what may have any length nothing is read.
        ("group took { optional int32 a; }", 2, one(), 1, "structs"),
        (
            "group took (LIST) { repeated group list { optional int32 element; } }",
            3,
            one(),
            1,
            "lists",
        ),
    ] {
        let said = write(took, level, values).unwrap_err();
        let expected = format!(":{row}: a column of {kind}: expected numbers, texts or times");
        assert!(said.ends_with(&expected), "{took}: {said}");
    }
    let trace = write("binary took (JSON);", 1, bytes()).unwrap().1;
    assert!(jobs(&trace)[1].starts_with("2 10 -1 1 1 "), "{trace}");
    let wrong = Values::Bytes(vec![ByteArray::from(vec![0xFF_u8])]);
    let said = write("binary took (UTF8);", 1, wrong).unwrap_err();
    assert!(said.contains(":2: the Parquet file is damaged: "), "{said}");
}

#[test]
fn texts_of_parquet_whose_lengths_are_packed_are_refused_with_their_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("t.parquet");
    let message = "message log { required int32 id; required int64 at; \
                   required binary took (UTF8); required int32 cores; }";
    let texts = ["1", "2"].map(ByteArray::from).to_vec();
    let columns = [
        (vec![0; 2], Values::Int32(vec![1, 2])),
        (vec![0; 2], Values::Int64(vec![10, 20])),
        (vec![0; 2], Values::Bytes(texts)),
        (vec![0; 2], Values::Int32(vec![1, 1])),
    ];
    let write = |encoding: Encoding| {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding(ColumnPath::from("took"), encoding)
            .build();
        let schema = parse_message_type(message).unwrap();
        write_as(properties, &packed, schema, &columns, 1);
        imported(&packed, of_four()).map_err(|error| error.to_string())
    };
    assert_eq!(write(Encoding::PLAIN).unwrap().0.jobs, 2);
    for encoding in [
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY,
    ] {
        let said = write(encoding).unwrap_err();
        let expected = format!(
            "t.parquet:1: column took: encoding {encoding}: expected PLAIN, RLE_DICTIONARY or \
             DELTA_BINARY_PACKED"
        );
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn damaged_parquet_files_end_no_program_and_are_no_reason_for_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("t.parquet");
    as_parquet(&fixture("helios"), &packed, 1);
    let whole = fs::read(&packed).unwrap();
    let map = || Map::load("helios").unwrap();
    for at in (4..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xFF;
        fs::write(&packed, bytes).unwrap();
        // There are no checksums: it may be read as something else.
        let _ = imported(&packed, map());
    }
    // The headers of dictionaries, with the number of their values.
    let mut bytes = whole;
    for at in 0..bytes.len() - 5 {
        if matches!(bytes[at..at + 5], [0x4C, 0x15, _, 0x15, _]) {
            bytes[at + 2] = 2 * 63;
        }
    }
    fs::write(&packed, bytes).unwrap();
    let said = imported(&packed, map()).unwrap_err().to_string();
    assert!(said.ends_with("63 values in 18 bytes"), "{said}");
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
