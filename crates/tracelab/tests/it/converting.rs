//! Conversion, merging and splitting, file to file.

use crate::archive::need;
use crate::{gwf_line, line};
use gridrig_core::time::SimDuration;
use gridrig_tracelab::convert::{Input, Report, Request, convert};
use gridrig_tracelab::error::ConvertError;
use gridrig_tracelab::format::{Format, QUEUE, Record, open, open_as};
use gridrig_tracelab::load::load;
use gridrig_tracelab::sanitize::Rules;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::split::Split;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder with files, and what is asked of them.
struct Files(tempfile::TempDir);

impl Files {
    fn new(texts: &[(&str, &str)]) -> Self {
        let files = Files(tempfile::tempdir().unwrap());
        for (name, text) in texts {
            fs::write(files.path(name), text).unwrap();
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn request(&self, inputs: &[&str], output: &str) -> Request {
        let input = |name: &&str| Input {
            path: self.path(name),
            from: None,
            offset: SimDuration::ZERO,
        };
        Request {
            inputs: inputs.iter().map(input).collect(),
            output: self.path(output),
            to: None,
            processors: None,
            rules: Rules::default(),
            split: None,
            calendar: false,
            seed: 1,
            force: false,
        }
    }

    fn convert(&self, input: &str, output: &str) -> Report {
        convert(&self.request(&[input], output)).unwrap()
    }

    /// The text of a file.
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Its job lines.
    fn jobs(&self, name: &str) -> String {
        let text = self.text(name);
        let jobs = text.lines().filter(|l| !l.starts_with([';', '#']));
        jobs.map(|l| format!("{l}\n")).collect()
    }
}

const HEADER: &str = "; Version: 2.2\n; UnixStartTime: 1000\n; MaxProcs: 64 (8, 56)\n; Note: two\n;    \
                      lines\n;\n; banner\n";

fn swf() -> String {
    format!(
        "{HEADER}{}{}3 90.25 -1 -1 -1 -1 -1 4 -1 -1 0 -1 -1 -1 0 -1 -1 -1\n",
        "1 0 5 10 4 3.5 2048.5 4 600 1024 1 7 8 9 1 2 -1 -1\n",
        "2 7 0 0 4 -1 -1 8 600 -1 5 7 8 9 1 2 -1 -1\n"
    )
}

fn gwf() -> String {
    let rest = ["-1"; 7].join("\t");
    "# Processors: 64\n# Grid: Grid'5000\n".to_owned()
        + &gwf_line(1, "1081771500", "5", "10", 4, ["U2004S1", "queue0", "S1"])
        + &gwf_line(2, "1081771501.5", "-60", "10", 4, ["U9S2", "queue7", "S2"])
        + &format!(
            "3\t1081771600\t-1\t-1\t1\t2.5\t7\t1\t3600\t-1\t0\tU2004S1\tG1\tX1\tqueue0\tP1\tS1\tS2\tBoT\tB1\t1\t2\t{rest}\n"
        )
}

#[test]
fn swf_through_gwf_and_back_is_the_same_log() {
    let files = Files::new(&[("a.swf", &swf())]);
    let there = files.convert("a.swf", "b.gwf");
    assert!(
        there.lost.is_empty() && there.warnings.is_empty(),
        "{there:?}"
    );
    assert_eq!(there.processors, Some(64));
    assert!(files.text("b.gwf").starts_with("# Processors: 64\n"));
    assert!(
        files
            .jobs("b.gwf")
            .starts_with("1\t1000\t5\t10\t4\t3.5\t2048.5\t4\t600\t1024\t1\t7\t8\t9\t1\t2\t-1\t")
    );
    files.convert("b.gwf", "c.swf");
    assert_eq!(files.jobs("c.swf"), files.jobs("a.swf"));
    files.convert("a.swf", "d.swf");
    assert_eq!(files.text("c.swf"), files.text("d.swf"));
    let header = open_as(&files.path("c.swf"), Format::Swf).unwrap();
    assert!(
        files.text("c.swf").contains("MaxProcs: 64 (8, 56)\n"),
        "{}",
        header.file()
    );
}

#[test]
fn a_log_that_does_not_say_when_it_began_says_nothing_on_the_way_back_either() {
    let text = swf()
        .replace("; UnixStartTime: 1000\n", "")
        .replace("1 0 5", "1 3 5");
    let files = Files::new(&[("a.swf", &text)]);
    files.convert("a.swf", "b.gwf");
    assert!(files.text("b.gwf").contains("# UnixStartTime: 0\n"));
    files.convert("b.gwf", "c.swf");
    assert!(!files.text("c.swf").contains("UnixStartTime"));
    assert_eq!(files.jobs("c.swf"), files.jobs("a.swf"));
}

#[test]
fn gwf_through_swf_and_back_keeps_its_names_and_names_what_is_lost() {
    let files = Files::new(&[("a.gwf", &gwf())]);
    let there = files.convert("a.gwf", "b.swf");
    let lost: Vec<(&str, u64)> = there.lost.into_iter().collect();
    assert_eq!(
        lost,
        [
            ("JobStructure", 3),
            ("JobStructureParams", 1),
            ("LastRunSiteID", 3),
            ("OrigSiteID", 3),
            ("UsedLocalDiskSpace", 1),
            ("UsedNetwork", 1),
            ("WaitTime below 0", 1),
        ]
    );
    let text = files.text("b.swf");
    for line in [
        "; MaxProcs: 64\n",
        "; UnixStartTime: 1081771500\n",
        "; GWF-UserID: 2 U9S2\n",
        "; Grid: Grid'5000\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(
        files
            .jobs("b.swf")
            .contains("\n2 1.5 -1 10 4 -1 -1 4 3600 -1 1 2 1 1 2 -1 -1 -1\n")
    );
    files.convert("b.swf", "c.gwf");
    let blank = |text: String, columns: &[usize]| -> String {
        let lines = text.lines().map(|line| {
            let fields = line.split('\t').enumerate();
            let kept = fields.map(|(at, f)| if columns.contains(&(at + 1)) { "-1" } else { f });
            kept.collect::<Vec<_>>().join("\t") + "\n"
        });
        lines.collect()
    };
    let cut: Vec<usize> = [3].into_iter().chain(17..=29).collect();
    assert_eq!(
        blank(files.jobs("c.gwf"), &cut),
        blank(files.jobs("a.gwf"), &cut)
    );
    // Both formats load to the same jobs, sites aside.
    let mut from_gwf = load(&files.path("a.gwf"), SizeFrom::Allocated).unwrap();
    let from_swf = load(&files.path("b.swf"), SizeFrom::Allocated).unwrap();
    from_gwf.names.remove("site");
    assert_eq!(from_swf.names, from_gwf.names);
    let shape = |loaded: &gridrig_tracelab::load::Loaded| -> Vec<_> {
        loaded
            .jobs
            .iter()
            .map(|j| (j.submit, j.run_time, j.user(), j.ids[QUEUE]))
            .collect()
    };
    assert_eq!(shape(&from_swf), shape(&from_gwf));
}

#[test]
fn gwf_to_gwf_changes_no_job() {
    let files = Files::new(&[("a.gwf", &gwf())]);
    let report = files.convert("a.gwf", "b.gwf");
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    assert_eq!(files.jobs("b.gwf"), files.jobs("a.gwf"));
    files.convert("b.gwf", "c.gwf");
    assert_eq!(files.text("c.gwf"), files.text("b.gwf"));
}

#[test]
fn what_sanitizing_left_out_stands_in_the_header_and_twice_is_once() {
    let files = Files::new(&[("a.swf", &swf())]);
    let mut request = files.request(&["a.swf"], "b.swf.gz");
    request.rules = Rules::parse("never-ran,cancelled,wider-than=100").unwrap();
    request.processors = Some(128);
    let report = convert(&request).unwrap();
    let removed: Vec<u64> = report.sanitized.iter().map(|r| r.removed).collect();
    assert_eq!(removed, [1, 1, 0]);
    let loaded = load(&files.path("b.swf.gz"), SizeFrom::Allocated).unwrap();
    assert_eq!(loaded.jobs.len(), 1);
    assert_eq!(loaded.known_processors(), Some(128));
    assert!(loaded.header.values("Note")[1].contains("cancelled - status 5 (1 jobs removed)"));
    request.inputs[0].path = files.path("b.swf.gz");
    request.output = files.path("c.swf.gz");
    convert(&request).unwrap();
    assert_eq!(
        fs::read(files.path("b.swf.gz")).unwrap(),
        fs::read(files.path("c.swf.gz")).unwrap()
    );
    request.rules = Rules::parse("remove=job>=0").unwrap();
    request.output = files.path("d.swf");
    let error = convert(&request).unwrap_err();
    assert!(matches!(error, ConvertError::Refused { .. }), "{error}");
    assert!(!files.path("d.swf").exists());
}

#[test]
fn a_merge_is_ordered_and_keeps_apart_what_is_not_the_same() {
    let a = "; MaxProcs: 8\n".to_owned()
        + &line(1, "0", "10", 1, 1, 1)
        + &line(2, "50", "10", 1, 1, 1)
        + &line(4, "20", "10", 1, 1, 1)
        + &line(3, "60", "10", 1, 1, 1);
    let b = "; MaxProcs: 16\n".to_owned()
        + &line(1, "20", "10", 1, 1, 1)
        + &line(2, "55", "10", 1, 1, 1).replace("-1 -1\n", "1 30\n");
    let files = Files::new(&[("a.swf", &a), ("b.swf", &b)]);
    let mut request = files.request(&["a.swf", "b.swf"], "both.swf");
    request.inputs[1].offset = SimDuration::from_secs(1);
    let report = convert(&request).unwrap();
    assert_eq!(report.processors, Some(24));
    let jobs = files.jobs("both.swf");
    let fields: Vec<Vec<&str>> = jobs.lines().map(|l| l.split(' ').collect()).collect();
    let of = |columns: [usize; 5]| -> Vec<String> {
        let row = |line: &Vec<&str>| columns.map(|c| line[c - 1]).join(" ");
        fields.iter().map(row).collect()
    };
    // Number, submit, user, partition, preceding job.
    assert_eq!(
        of([1, 2, 12, 16, 17]),
        [
            "1 0 3 1 -1",
            "4 20 3 1 -1",
            "5 21 6 2 -1",
            "2 50 3 1 -1",
            "6 56 6 2 5",
            "3 60 3 1 -1",
        ]
    );
    let loaded = load(&files.path("both.swf"), SizeFrom::Allocated).unwrap();
    assert_eq!(loaded.names["partition"], ["", "a", "b"]);
    assert_eq!(loaded.known_processors(), Some(24));
}

#[test]
fn a_merge_of_both_formats_keeps_the_names_of_each() {
    let files = Files::new(&[("a.swf", &swf()), ("b.gwf", &gwf())]);
    convert(&files.request(&["a.swf", "b.gwf"], "both.gwf")).unwrap();
    convert(&files.request(&["a.swf", "b.gwf"], "both.swf")).unwrap();
    let jobs = files.jobs("both.gwf");
    assert!(
        jobs.contains("\tb/U2004S1\tb/G1\tb/X1\tb/queue0\tb\tb/S1\tb/S1\tUNITARY\t"),
        "{jobs}"
    );
    assert!(jobs.contains("\t7\t8\t9\t1\ta\t-1\t"), "{jobs}");
    let loaded = load(&files.path("both.swf"), SizeFrom::Allocated).unwrap();
    // The largest user of the first is 7.
    assert_eq!(loaded.names["user"][8..], ["b/U2004S1", "b/U9S2"]);
    let mut users: Vec<Option<u32>> = loaded.jobs.iter().map(|j| j.user()).collect();
    users.sort_unstable();
    assert_eq!(users, [Some(7), Some(7), Some(8), Some(9)]);
}

#[test]
fn a_merge_by_the_calendar_keeps_the_times_apart() {
    let later = swf().replace("UnixStartTime: 1000", "UnixStartTime: 4600");
    let files = Files::new(&[
        ("a.swf", &later),
        ("b.swf", &swf()),
        ("c.swf", &line(1, "0", "1", 1, 1, 1)),
    ]);
    let mut request = files.request(&["a.swf", "b.swf"], "both.swf");
    request.calendar = true;
    convert(&request).unwrap();
    let jobs = files.jobs("both.swf");
    let first: Vec<&str> = jobs.lines().map(|l| l.split(' ').nth(1).unwrap()).collect();
    assert_eq!(first, ["0", "7", "90.25", "3600", "3607", "3690.25"]);
    assert!(files.text("both.swf").contains("; UnixStartTime: 1000\n"));
    request.inputs[1].path = files.path("c.swf");
    let error = convert(&request).unwrap_err();
    assert!(matches!(error, ConvertError::Refused { .. }), "{error}");
}

/// The names of the streams of a split.
fn streams(report: &Report) -> Vec<&str> {
    let outputs = report.outputs.iter();
    outputs.filter_map(|o| o.stream.as_deref()).collect()
}

#[test]
fn a_split_shares_out_every_job_and_a_merge_puts_them_together_again() {
    let text: String = (1..=30u32)
        .map(|n| {
            line(n, &(n * 10).to_string(), "5", 1, 1, 1)
                .replace(" 3 1 1 1 1 ", &format!(" 3 1 1 1 {} ", n % 3))
        })
        .collect();
    let files = Files::new(&[("a.swf", &text)]);
    for (way, expected) in [
        ("by=partition", &["0", "1", "2"][..]),
        ("round-robin=2", &["1", "2"]),
        ("random=x,y", &["x", "y"]),
        ("share=x:2,y:1", &["x", "y"]),
    ] {
        let mut request = files.request(&["a.swf"], "parts/{}.swf");
        request.split = Some(Split::parse(way).unwrap());
        request.force = true;
        let report = convert(&request).unwrap();
        assert_eq!(streams(&report), expected, "{way}");
        let mut lines: Vec<String> = Vec::new();
        for output in &report.outputs {
            let jobs = files.jobs(&format!("parts/{}.swf", output.stream.as_ref().unwrap()));
            assert_eq!(jobs.lines().count() as u64, output.jobs, "{way}");
            lines.extend(jobs.lines().map(str::to_owned));
        }
        lines.sort_by_key(|l| l.split(' ').next().unwrap().parse::<u32>().unwrap());
        assert_eq!(lines.join("\n") + "\n", text, "{way}");
        if way.starts_with("share") {
            assert_eq!([report.outputs[0].jobs, report.outputs[1].jobs], [20, 10]);
        }
    }
}

#[test]
fn a_gwf_trace_splits_by_site_into_files_with_safe_names() {
    let text = gwf_line(1, "1", "0", "5", 1, ["u", "q", "../S 1"])
        + &gwf_line(2, "1", "0", "5", 1, ["u", "q", "__/S 1"])
        + &gwf_line(3, "1", "0", "5", 1, ["u", "q", "-1"]);
    let files = Files::new(&[("a.gwf", &text)]);
    let mut request = files.request(&["a.gwf"], "{}.swf");
    request.split = Some(Split::parse("by=site").unwrap());
    let report = convert(&request).unwrap();
    assert_eq!(streams(&report), ["none", "_._S_1", "___S_1"]);
    assert!(
        files
            .text("_._S_1.swf")
            .contains("split by site by gridrig trace convert; here ../S 1")
    );
}

#[test]
fn streams_of_a_split_keep_the_format_where_their_name_tells_none() {
    let gwf = gwf_line(1, "1", "0", "5", 1, ["u", "q", "S1"])
        + &gwf_line(2, "2", "0", "5", 1, ["u", "q", "S2"]);
    let files = Files::new(&[("a.gwf", &gwf), ("b.swf", &swf())]);
    let split = |inputs: &[&str], output: &str| {
        let mut request = files.request(inputs, output);
        request.split = Some(Split::parse("round-robin=2").unwrap());
        convert(&request)
    };
    let kept = |name: &str| open(&files.path(name)).unwrap().format();
    assert_eq!(split(&["a.gwf"], "a-{}.gz").unwrap().format, Format::Gwf);
    assert_eq!(kept("a-1.gz"), Format::Gwf);
    assert_eq!(split(&["b.swf"], "b-{}").unwrap().format, Format::Swf);
    assert_eq!(kept("b-2"), Format::Swf);
    // What is merged from both formats has to be said.
    let told = split(&["a.gwf", "b.swf"], "c-{}").unwrap_err().to_string();
    assert!(told.contains("the name shows no format"), "{told}");
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let files = Files::new(&[("a.swf", &swf()), ("there.swf", "")]);
    let told = |request: &Request| convert(request).unwrap_err().to_string();
    assert!(
        told(&files.request(&["a.swf"], "there.swf")).ends_with("expected a new name, or --force")
    );
    assert!(told(&files.request(&["a.swf"], "b.txt")).contains("the name shows no format"));
    assert!(told(&files.request(&["a.swf"], "{}.swf")).contains("expected --split"));
    let mut same = files.request(&["a.swf"], "a.swf");
    same.force = true;
    assert!(told(&same).contains("the same file"));
    let mut split = files.request(&["a.swf"], "b.swf");
    split.split = Some(Split::parse("by=user").unwrap());
    assert!(told(&split).contains("with {} once"));
    let mut device = files.request(&["a.swf"], "b.swf");
    device.inputs[0].path = PathBuf::from("/dev/null");
    assert!(told(&device).contains("not a regular file"));
    let mut wrong = files.request(&["a.swf"], "b.swf");
    wrong.inputs[0].from = Some(Format::Gwf);
    assert!(told(&wrong).contains("field count = \"18\": expected 29"));
    assert!(!files.path("b.swf").exists());
}

#[test]
fn values_below_zero_that_are_not_minus_one_are_counted() {
    let text = line(1, "0", "10", 1, 1, 1).replace(" 600 ", " -600 ");
    let files = Files::new(&[("a.swf", &text)]);
    let report = files.convert("a.swf", "b.swf");
    assert_eq!(report.lost["values below 0 other than -1"], 1);
}

/// Number lines of a log, in the shortest spelling.
fn plain_lines(path: &Path) -> Vec<Record> {
    let mut reader = open_as(path, Format::Swf).unwrap();
    let mut lines = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        lines.push(Record {
            line: 0,
            ..record.clone()
        });
    }
    lines
}

#[test]
fn logs_of_the_archive_survive_the_way_there_and_back() {
    let Some(folder) = need() else { return };
    for name in [
        "KTH-SP2-1996-2.1-cln",
        "OSC-Clust-2000-3.1-cln",
        "DAS2-fs1-2003-1",
    ] {
        let files = Files::new(&[]);
        let original = folder.join(format!("{name}.swf.gz"));
        let mut request = files.request(&["x"], "a.gwf");
        request.inputs[0].path.clone_from(&original);
        let report = convert(&request).unwrap();
        assert!(report.lost.is_empty(), "{name}: {:?}", report.lost);
        files.convert("a.gwf", "b.swf");
        assert!(
            plain_lines(&files.path("b.swf")) == plain_lines(&original),
            "{name}"
        );
        let mut there = open_as(&files.path("b.swf"), Format::Swf).unwrap();
        assert!(there.next_record().unwrap().is_some());
    }
}
