//! Logs of clusters become traces by maps.

use gridrig_tracelab::error::ConvertError;
use gridrig_tracelab::import::{Hidden, Map, Report, Request, SHIPPED, import};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import")
}

pub(crate) fn request(input: &Path, map: Map, output: PathBuf) -> Request {
    Request {
        input: input.to_owned(),
        map,
        output,
        to: None,
        processors: None,
        hidden: None,
    }
}

/// The report and the trace of a log.
pub(crate) fn imported(input: &Path, map: Map) -> Result<(Report, String), ConvertError> {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.swf");
    let report = import(&request(input, map, output.clone()))?;
    Ok((report, fs::read_to_string(output).unwrap()))
}

/// The same of a text.
pub(crate) fn of_text(text: &str, map: Map) -> Result<(Report, String), ConvertError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    imported(file.path(), map)
}

/// What is said about a text that is refused, without the name of its file.
pub(crate) fn refused(text: &str, map: Map) -> String {
    let error = of_text(text, map).unwrap_err();
    let said = error.to_string();
    said.split_once(':')
        .map_or(said.clone(), |(_, rest)| rest.to_owned())
}

pub(crate) fn jobs(trace: &str) -> Vec<&str> {
    trace
        .lines()
        .filter(|line| !line.starts_with(';'))
        .collect()
}

/// The fixture of a map that ships, whatever its ending.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let files = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| {
        path.file_stem().is_some_and(|stem| stem == name)
            && path.extension().is_some_and(|end| end != "swf")
    };
    files
        .into_iter()
        .find(is_log)
        .unwrap_or_else(|| panic!("{name} has no fixture"))
}

#[test]
fn the_log_of_every_map_that_ships_is_imported_as_it_should_be() {
    for (name, _) in SHIPPED {
        let (_, trace) = imported(&fixture(name), Map::load(name).unwrap()).unwrap();
        let expected = fs::read_to_string(fixtures().join(format!("{name}.swf"))).unwrap();
        assert_eq!(trace, expected, "{name}");
    }
}

pub(crate) fn sacct() -> Map {
    Map::load("sacct").unwrap()
}

const HEADER: &str = "JobID|User|Partition|Submit|Start|End|Elapsed|Timelimit|State|AllocCPUS\n";

#[test]
fn a_log_of_other_columns_with_dates_and_clocks_is_read_in_its_time_zone() {
    let text = format!(
        "{HEADER}7_3|ada|batch|2024-07-01T12:00:00|2024-07-01T12:00:30|2024-07-02T12:00:30|\
         1-00:00:00|2-00:00:00|COMPLETED|4\n\
         8+1|bob|batch|2024-07-01T12:01:00|Unknown|Unknown|00:00:00|Partition_Limit|\
         CANCELLED by 1000|0\n"
    );
    let warned = of_text(&text, sacct()).unwrap().0.warnings;
    let is_told = |warning: &String| warning.contains("4 times do not say their offset");
    assert!(warned.iter().any(is_told), "{warned:?}");
    let mut map = sacct();
    map.zone = Some("Europe/Paris".to_owned());
    let (report, trace) = of_text(&text, map).unwrap();
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert_eq!(report.unix_start, Some(1_719_828_000));
    assert!(
        trace.contains("; TimeZone: 7200\n; TimeZoneString: Europe/Paris\n"),
        "{trace}"
    );
    assert_eq!(
        jobs(&trace),
        [
            "7 0 30 86400 4 -1 -1 -1 172800 -1 1 1 -1 -1 1 -1 -1 -1",
            "8 60 -1 -1 0 -1 -1 -1 -1 -1 5 2 -1 -1 1 -1 -1 -1",
        ]
    );
}

#[test]
fn a_log_without_header_has_the_columns_of_the_recommended_command_or_those_given() {
    let whole = fs::read_to_string(fixture("sacct")).unwrap();
    let (header, rows) = whole.split_once('\n').unwrap();
    let with = of_text(&whole, sacct()).unwrap().1;
    assert_eq!(of_text(rows, sacct()).unwrap().1, with);
    // sacct -p ends every line with a separator.
    assert_eq!(
        of_text(&whole.replace('\n', "|\n"), sacct()).unwrap().1,
        with
    );
    assert_eq!(
        of_text(&whole.replace('\n', "\r\n"), sacct()).unwrap().1,
        with
    );
    let mut map = sacct();
    map.table.columns = header.split('|').take(3).map(str::to_owned).collect();
    let said = refused(rows, map);
    assert!(
        said.contains("20 columns") && said.contains("expected 3"),
        "{said}"
    );
}

#[test]
fn what_is_wrong_is_told_with_line_column_value_and_what_was_expected() {
    let row = |start: &str, state: &str, processors: &str| {
        format!(
            "{HEADER}1|ada|batch|2024-07-01T12:00:00|{start}|2024-07-01T12:00:30|00:00:30|\
             UNLIMITED|{state}|{processors}\n"
        )
    };
    for (text, expected) in [
        (
            row("noon", "COMPLETED", "1"),
            "2: column Start = \"noon\": expected a date such as 2024-01-31T12:00:00, or Unix \
             seconds",
        ),
        (
            row("2024-07-01T12:00:00", "COMPLETED", "four"),
            "2: column AllocCPUS = \"four\": expected a number",
        ),
        (
            row("2024-07-01T12:00:00", "GONE", "1"),
            "2: column State = \"GONE\": expected one of COMPLETED, CD, ",
        ),
        (
            format!("{HEADER}1|ada|batch\n"),
            "2: 3 columns with \"|\" between them, the first = \"1\": expected 10 (JobID, User, ",
        ),
        (
            HEADER.replace("Submit|", ""),
            " no column \"Submit\" (job.submit_time of map sacct): expected one of JobID, User, \
             Partition, Start, ",
        ),
        (
            HEADER.to_owned(),
            " none of 0 rows is a job (): expected at least one",
        ),
        (String::new(), " the log is empty: expected rows of jobs"),
    ] {
        let said = refused(&text, sacct());
        assert!(said.starts_with(expected), "{said}\n{expected}");
    }
}

#[test]
fn what_cannot_be_told_of_a_job_is_counted_and_the_job_stays() {
    let text = "JobIDRaw|Submit|Start|End|State|AllocCPUS|ReqMem\n\
                1|1704110400|1704110390|1704110490|COMPLETED|4|4Gn\n\
                2|1704110400|1704110500|1704110510|COMPLETED|0|4G\n\
                3|1704110400|1704110500|1704110510|COMPLETED|4|4Gc\n";
    let (report, trace) = of_text(text, sacct()).unwrap();
    assert_eq!(report.lost["wait time below 0"], 1);
    assert_eq!(report.lost["memory of unknown nodes or processors"], 2);
    assert_eq!(
        jobs(&trace),
        [
            "1 0 -1 100 4 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
            "2 0 100 10 0 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
            "3 0 100 10 4 -1 -1 -1 -1 4194304 1 -1 -1 -1 -1 -1 -1 -1",
        ]
    );
}

/// A map of one's own for a table with commas.
fn own(more: &str) -> Map {
    let text = format!(
        "about = \"a test\"\n{more}\n[job]\nsubmit_time = \"at\"\nrun_time = {{ column = \"took\", \
         unit = \"min\" }}\nallocated_processors = {{ column = \"cores\", times_column = \"n\" }}\n"
    );
    Map::parse("own.toml", &text).unwrap()
}

#[test]
fn a_table_of_a_users_own_needs_no_code() {
    let text = "at,took,cores,n,\"a,b\"\n20,1.5,2,3,x\n\n10,1,\"4\",1,y\n";
    let (report, trace) = of_text(text, own("")).unwrap();
    assert_eq!((report.rows, report.unix_start), (2, None));
    assert_eq!(
        jobs(&trace),
        [
            "1 10 -1 60 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
            "2 20 -1 90 6 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1",
        ]
    );
    for (text, expected) in [
        (
            "1,2,3,4\n",
            "1: the first row (1, 2, 3, 4) names no column that the map reads: expected one of \
             at, took, cores, n, or --columns",
        ),
        (
            "at,took,cores,n\n1,1,9000000000000000000,2\n",
            "2: column cores = \"9000000000000000000\": expected a product below 2^63",
        ),
        (
            "at,took,cores,n\n1,1,4,\n",
            "2: column n = \"\": expected a number",
        ),
    ] {
        assert_eq!(refused(text, own("")), expected);
    }
    let skip = "skip = [{ reason = \"small\", of = \"cores\", below = 3 }]";
    let (report, _) = of_text(text, own(skip)).unwrap();
    assert_eq!((report.jobs, report.skipped["small"]), (1, 1));
}

#[test]
fn a_quotation_mark_without_its_other_ends_at_a_bound() {
    let text = format!(
        "at,took,cores,n\n1,\"2,3,4\n{}",
        "1,1,1,1\n".repeat(200_000)
    );
    let said = refused(&text, own(""));
    assert!(
        said.starts_with("2: the row is longer than 1048576 bytes"),
        "{said}"
    );
}

#[test]
fn a_map_that_is_none_is_refused_with_its_line() {
    let job = "[job]\nsubmit_time = \"a\"\nrun_time = \"b\"\n";
    for (text, expected) in [
        (
            "about = \"x\"\nabuot = 1\n",
            "m.toml:2: unknown field `abuot`",
        ),
        (
            "about = \"x\"\n[job]\nsubmit = \"a\"\n",
            "m.toml:3: unknown variant `submit`",
        ),
        (
            "about = \"x\"\n[job]\nrun_time = 3\n",
            "m.toml:3: invalid type: integer `3`",
        ),
        (
            "about = \"x\"\n[job]\nrun_time = \"b\"\n",
            "m.toml: job.submit_time is not there",
        ),
        (
            "about = \"x\"\n[job]\nsubmit_time = \"a\"\n",
            "m.toml: job.run_time is not there: expected it, or start_time and end_time",
        ),
        (
            &format!("about = \"x\"\n{job}end_time = {{ column = \"c\", unit = \"date\" }}\n"),
            "m.toml: job.end_time: unit: expected \"date\" for all of submit_time",
        ),
        (
            &format!("about = \"x\"\n{job}user = {{ column = \"c\", unit = \"h\" }}\n"),
            "m.toml: job.user: unit = \"h\": expected no unit",
        ),
        (
            &format!("about = \"x\"\nskip = [{{ reason = \"r\", of = \"c\" }}]\n{job}"),
            "m.toml: skip \"r\": expected one of contains, one_of and below",
        ),
    ] {
        let said = Map::parse("m.toml", text).unwrap_err().to_string();
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn names_are_hidden_by_a_key_that_gives_the_same_names_again() {
    let folder = tempfile::tempdir().unwrap();
    let key = |text: &str| {
        let path = folder.path().join("key");
        fs::write(&path, text).unwrap();
        Hidden::read(&path)
    };
    let out = folder.path().join("out.gwf");
    let by = |map: &str, log: &str, text: &str| {
        let input = folder.path().join("log");
        fs::write(&input, log).unwrap();
        let mut request = request(&input, Map::load(map).unwrap(), out.clone());
        request.hidden = Some(key(text).unwrap());
        import(&request).unwrap();
        fs::read_to_string(&out).unwrap()
    };
    let hidden = |log: &str, text: &str| by("sacct", log, text);
    let column = |trace: &str, job: &str, at: usize| {
        let line = trace
            .lines()
            .find(|line| line.starts_with(&format!("{job}\t")))
            .unwrap();
        line.split('\t').nth(at).unwrap().to_owned()
    };
    let (ours, other) = ("0123456789abcdef", "0123456789abcdeg");
    let log = fs::read_to_string(fixture("sacct")).unwrap();
    let trace = hidden(&log, ours);
    for name in [
        "ada", "bob", "eve", "staff", "guest", "proj", "batch", "gpu\t", "alpha",
    ] {
        assert!(!trace.contains(name), "{name}: {trace}");
    }
    let user = column(&trace, "101", 11);
    assert!(user.starts_with('u') && user.len() == 17, "{user}");
    assert_eq!(column(&trace, "107", 11), user);
    assert_ne!(column(&trace, "102", 11), user);
    // By HMAC-SHA-256 of "user", a byte of zero and "ada", as Python's hmac has it.
    assert_eq!(user, "u3159b903de95cc04");
    // The same key gives the same names in another log, to other users and other fields not.
    let later = log
        .replace("|bob|staff|", "|staff|ada|")
        .replace("|eve|", "|1001|");
    let later = hidden(&later, &format!("{ours}\n"));
    assert_eq!(column(&later, "101", 11), user);
    let (staff_user, ada_group) = (column(&later, "102", 11), column(&later, "102", 12));
    assert_ne!(staff_user, column(&later, "101", 12));
    assert_ne!(ada_group[1..], user[1..]);
    assert!(column(&later, "104", 11).starts_with('u'));
    assert_ne!(column(&hidden(&log, other), "101", 11), user);
    // Comments of a log are not copied then.
    let swf = fs::read_to_string(fixture("swf21")).unwrap();
    assert!(!by("swf21", &swf, ours).contains("by hand"));
    let said = key("0123456789abcde\n").err().unwrap().to_string();
    assert!(
        said.contains("a key of 15 bytes: expected at least 16"),
        "{said}"
    );
}
