//! Descriptions in the languages of others.

mod random;

use crate::jsdl::table;
use gridrig_protocol::description::{
    Descriptions, Language, MAX_ATTRIBUTES, MAX_DEPTH, MAX_JOBS, TABLE, read, write,
};
use gridrig_protocol::jsdl::{JobDefinition, Limit, Program, ProgramKind, Quantity, RangeValue};

// As the manuals have them, with their quirks; the fuzz target begins with them.
const XRSL: &str = include_str!("../../../../fuzz/seeds/description/job.xrsl");
const RSL: &str = include_str!("../../../../fuzz/seeds/description/job.rsl");
const JDL: &str = include_str!("../../../../fuzz/seeds/description/job.jdl");

fn one(text: &str) -> Descriptions {
    read("t", text, None).unwrap()
}

fn lost(all: &Descriptions, job: usize) -> Vec<(usize, &str)> {
    let lost = all.jobs[job].lost.iter();
    lost.map(|lost| (lost.line, &*lost.attribute)).collect()
}

fn program(job: &JobDefinition) -> &Program {
    job.application.as_ref().unwrap().program.as_ref().unwrap()
}

fn arguments(job: &JobDefinition) -> Vec<&str> {
    let arguments = program(job).arguments.iter();
    arguments.map(|argument| &*argument.value).collect()
}

/// Files as (name, source, target), where the client's own are "-".
fn files(job: &JobDefinition) -> Vec<(&str, Option<&str>, Option<&str>)> {
    fn place(place: &Option<Option<String>>) -> Option<&str> {
        place.as_ref().map(|place| place.as_deref().unwrap_or("-"))
    }
    let files = job.staging.iter();
    files
        .map(|file| (&*file.file, place(&file.source), place(&file.target)))
        .collect()
}

#[test]
fn xrsl_is_read_with_all_its_quirks() {
    let all = one(XRSL);
    assert_eq!(
        (all.language, all.jobs.len(), all.together),
        (Language::Xrsl, 1, false)
    );
    let job = &all.jobs[0].job;
    let expected = [
        "90",
        "it's",
        "a \"b\"",
        "50%",
        "$(HOST)",
        "se.example.org-x",
        "nobody",
    ];
    assert_eq!(arguments(job), expected);
    assert_eq!(job.identification.name.as_deref(), Some("first run"));
    let program = program(job);
    assert_eq!(program.limits[&Limit::WallTime], 5400);
    assert_eq!(program.error, program.output, "joined");
    let variables: Vec<_> = program
        .environment
        .iter()
        .map(|it| (&*it.name, &*it.value.value))
        .collect();
    assert_eq!(variables, [("LANG", "C"), ("EMPTY", "")]);
    let quantities = &job.resources.quantities;
    let mib = 1_048_576.0;
    // That of a host: two processors each.
    assert_eq!(
        quantities[&Quantity::IndividualPhysicalMemory],
        RangeValue::at_least(1000.0 * mib)
    );
    assert_eq!(
        quantities[&Quantity::IndividualDiskSpace],
        RangeValue::at_least(1001.0 * mib)
    );
    assert_eq!(
        quantities[&Quantity::TotalCpuCount],
        RangeValue::exactly(4.0)
    );
    assert!(
        quantities[&Quantity::TotalCpuTime]
            .upper
            .is_some_and(|it| it.value == 14_400.0)
    );
    assert_eq!(job.resources.queue.as_deref(), Some("long"));
    let expected = [
        ("a", Some("-"), None),
        ("b", Some("gsiftp://se.example.org/data/b"), None),
        ("c", Some("https://h/c"), None),
        ("d", Some("-"), None),
        ("r", None, Some("-")),
        ("s", None, Some("gsiftp://h/s")),
    ];
    assert_eq!(files(job), expected);
    assert_eq!(job.staging[3].size, Some(1024));
    let expected = [
        (8, "gmlog"),
        (10, "inputFiles"),
        (12, "|"),
        (13, "runTimeEnvironment"),
        (13, "colour"),
        (13, "cluster"),
    ];
    assert_eq!(lost(&all, 0), expected);
}

/// Only gridrig's own interface has words for all that a submission can say.
#[test]
fn what_no_description_says_of_a_submission_is_told() {
    let said = [
        (r#""division": {"least_component": 2}"#, "division"),
        (r#""notify": "http://h/n""#, "notify"),
        (
            r#""more_components": [{"processors": 1, "cluster": 2}]"#,
            "more_components[0].cluster",
        ),
    ];
    for (said, told) in said {
        let text = format!(r#"{{"processors": 6, "run_time": "3s", "tag": "t", {said}}}"#);
        assert_eq!(lost(&one(&text), 0), [(0, told)], "{text}");
    }
    let all = one(r#"{"processors": 6, "run_time": "3s", "tag": "t", "data_kib": 3}"#);
    assert_eq!(lost(&all, 0), []);
}

#[test]
fn requests_of_rsl_that_start_together_are_parts_of_one_job() {
    let all = one(RSL);
    assert_eq!(
        (all.language, all.jobs.len(), all.together),
        (Language::Rsl, 2, true)
    );
    let program = program(&all.jobs[0].job);
    assert_eq!(
        (program.kind, program.environment[1].value.value.as_str()),
        (ProgramKind::Spmd, "$(HOME)/lib")
    );
    assert_eq!(
        lost(&all, 0),
        [(2, "resourceManagerContact"), (3, "label"), (4, "$(HOME)")]
    );
    assert_eq!(lost(&all, 1), [(9, "save_state")]);
    let (json, _) = write(Language::Json, &all).unwrap();
    let job: gridrig_protocol::rest::JobSubmission = serde_json::from_str(&json).unwrap();
    let spec = job.spec().unwrap();
    let parts: Vec<u32> = spec.components.iter().map(|part| part.processors).collect();
    assert_eq!((parts, &*job.run_time), (vec![5, 2], "1800s"));
    let again = read("t", &json, None).unwrap();
    assert_eq!((again.jobs.len(), again.together), (2, true));
    let (rsl, lost) = write(Language::Rsl, &all).unwrap();
    assert_eq!(lost, [], "{rsl}");
    let (_, lost) = write(Language::Xrsl, &all).unwrap();
    assert_eq!(
        (&*lost[0].attribute, &*lost[0].why),
        ("+", "here each is a job of its own")
    );
    for language in [Language::Jsdl, Language::Jdl] {
        let error = write(language, &all).unwrap_err().to_string();
        assert!(error.starts_with("2 jobs: expected one"), "{error}");
    }
}

#[test]
fn jdl_is_read_with_comparisons_of_its_requirements() {
    let all = one(JDL);
    assert_eq!(all.language, Language::Jdl);
    let job = &all.jobs[0].job;
    assert_eq!(arguments(job), ["90", "two words", "three \"words\""]);
    let program = program(job);
    assert_eq!(
        program.limits[&Limit::WallTime],
        61 * 60,
        "more than 60 minutes"
    );
    let memory = &job.resources.quantities[&Quantity::IndividualPhysicalMemory];
    assert_eq!(*memory, RangeValue::at_least(512.0 * 1_048_576.0));
    assert_eq!(job.resources.candidate_hosts, ["ce.example.org"]);
    assert_eq!(job.resources.exclusive, Some(true));
    let expected = [
        ("start.sh", Some("/home/u/start.sh"), None),
        ("data", Some("https://ui.example.org/in/data"), None),
        ("big", Some("gsiftp://se.example.org/big"), None),
        ("std.out", None, Some("-")),
        ("r", None, Some("gsiftp://se.example.org/r")),
    ];
    assert_eq!(files(job), expected);
    let expected = [
        (13, "Requirements"),
        (13, "Requirements"),
        (13, "other.GlueCEUniqueID"),
        (17, "Rank"),
        (18, "RetryCount"),
    ];
    assert_eq!(lost(&all, 0), expected);
    assert_eq!(
        all.jobs[0].lost[0].value,
        "Member(\"VO-x; && y\", other.GlueHostApplicationSoftwareRunTimeEnvironment)"
    );
    let comment = one("CpuNumber = 3 /* of 4 */; Rank = a[1].b is undefined ? -1 : f({1, 2});");
    assert_eq!(lost(&comment, 0), [(1, "Rank")]);
    let cpu = one("Requirements = other.GlueCEPolicyMaxCPUTime > 59;");
    let cpu = &cpu.jobs[0].job.resources.quantities[&Quantity::TotalCpuTime];
    assert!(cpu.upper.is_some_and(|it| it.value == 3600.0), "{cpu:?}");
    let choice = one("Requirements = x ?other.GlueCEName : y && other.GlueCEName == \"a\";");
    assert_eq!(
        (
            lost(&choice, 0).len(),
            choice.jobs[0].job.resources.queue.as_deref()
        ),
        (1, None)
    );
    // A file has its place wherever it is on the node.
    let places = "{\"x://h/1\", \"x://h/2\"}";
    let each = format!("OutputSandbox = {{\"/tmp/a\", \"b\"}}; OutputSandboxDestURI = {places};");
    let expected = [
        ("/tmp/a", None, Some("x://h/1")),
        ("b", None, Some("x://h/2")),
    ];
    assert_eq!(files(&one(&each).jobs[0].job), expected);
    let base = one("OutputSandbox = {\"/tmp/a\"}; OutputSandboxBaseDestURI = \"x://h/d/\";");
    let expected = [("/tmp/a", None, Some("x://h/d/a"))];
    assert_eq!(files(&base.jobs[0].job), expected);
    // Without brackets, too, and a text is a number.
    let bare = one("Executable = \"a\";\nCpuNumber = \"3\"");
    assert_eq!(
        bare.jobs[0].job.resources.quantities[&Quantity::TotalCpuCount],
        RangeValue::exactly(3.0)
    );
}

#[test]
fn what_a_language_says_is_read_back_and_the_rest_is_listed() {
    // Of the seeds, by hand: variables are replaced, and each unit is that of the language.
    let xrsl = [
        "(walltime=\"5400 seconds\")",
        "(cputime=\"14400 seconds\")",
        "(disk=\"1001\")",
        "(inputfiles=(\"a\" \"\") (\"b\" \"gsiftp://se.example.org/data/b\") (\"c\" ",
    ];
    let jdl = [
        "Arguments = \"90 'two words' 'three \\\"words\\\"'\";",
        "InputSandbox = {\"/home/u/start.sh\", \"https://ui.example.org/in/data\", ",
        "CpuNumber = 8;",
        "other.GlueCEPolicyMaxWallClockTime >= 61",
    ];
    for (text, expected) in [(XRSL, xrsl), (JDL, jdl)] {
        let all = one(text);
        let (again, lost) = write(all.language, &all).unwrap();
        for part in expected {
            assert!(again.contains(part), "{part}: {again}");
        }
        assert_eq!(
            read("t", &again, Some(all.language)).unwrap().jobs[0].job,
            all.jobs[0].job,
            "{lost:?}"
        );
        assert_eq!(lost, []);
    }
    let (rsl, lost) = write(Language::Rsl, &one(XRSL)).unwrap();
    assert!(
        rsl.contains("(maxWallTime=\"90\")") && !rsl.contains("jobname"),
        "{rsl}"
    );
    let lost: Vec<_> = lost.iter().map(|it| (&*it.attribute, &*it.why)).collect();
    let expected = [
        ("JobIdentification/JobName", "no counterpart"),
        ("Resources/IndividualCPUCount/Exact", "no counterpart"),
        (
            "Resources/IndividualPhysicalMemory/LowerBoundedRange",
            "becomes 524288000",
        ),
        (
            "Resources/IndividualDiskSpace/LowerBoundedRange",
            "no counterpart",
        ),
        ("Resources/TotalCPUTime/UpperBoundedRange", "no counterpart"),
        ("DataStaging[a]/Source", "no counterpart"),
        ("DataStaging[d]/Source", "no counterpart"),
        ("DataStaging[d]/Size", "no counterpart"),
        ("DataStaging[r]/Target", "no counterpart"),
    ];
    assert_eq!(lost, expected);
    let seconds = one("&(executable=a)(walltime=\"90 seconds\")");
    let (rsl, lost) = write(Language::Rsl, &seconds).unwrap();
    assert!(rsl.contains("(maxWallTime=\"2\")"), "{rsl}");
    assert_eq!(
        (lost.len(), &*lost[0].value, &*lost[0].why),
        (1, "90", "becomes 120")
    );
}

#[test]
fn times_of_xrsl_are_minutes_words_or_iso() {
    let wall = |time: &str| {
        let all = read("t", &format!("&(executable=a)(walltime=\"{time}\")"), None);
        let program = all.ok()?.jobs.remove(0).job.application?.program?;
        program.limits.get(&Limit::WallTime).copied()
    };
    let cases = [
        ("5", 300),
        ("1 day 2 hours", 93_600),
        ("1w 1d 1h 1m 1s", 694_861),
        ("90 seconds", 90),
        ("PT1H30M", 5400),
        ("P1DT2H", 93_600),
        ("P2W", 1_209_600),
    ];
    for (time, seconds) in cases {
        assert_eq!(wall(time), Some(seconds), "{time}");
    }
    for time in [
        "",
        "P",
        "-5",
        "+5",
        "1.5 h",
        "1 month",
        "P1M",
        "h",
        "5 5",
        "1 fortnight",
        "99999999999999999999",
    ] {
        assert_eq!(wall(time), None, "{time}");
    }
}

/// Documents, `\n` for the end of a line, and what is said of them.
const WRONG: &str = r#"
&(executable=a)\n(count=four) => t:2: attribute count = "four": expected a whole number
&(count=0) => t:1: attribute count = "0": expected a whole number from 1
&(count=1)(count=2) => attribute count = "2": expected it once
&(walltime=soon) => expected minutes, or a time such as
&(memory=1.5) => attribute memory = "1.5": expected a whole number of MB
&(memory=99999999999999) => expected a whole number of MB
&(executable=a b) => attribute executable = "a b": expected one value
&(environment=(a)) => attribute environment = "(a)": expected names, each with its value
&(inputfiles=a) => expected pairs of the name of a file and a URL
&(join=maybe) => expected yes, true, no or false
&(join=yes) => attribute join = "yes": expected stdout as well
&(executable='a) => t:1: at "'a)": expected a text that ends with '
&(executable a) => expected =, !=, <, <=, > or >=
&(executable=a => t:1: at "": expected )
&(executable=a)) => at ")": expected the end
&(a=(*b) => expected a comment that ends with *)
+ => expected (
&(+(a=b)) => expected & or |
&(jobtype=dance)(maxtime=1) => expected a kind of one job
Executable "a"; => t:1: at "\"a\";": expected =
[ Executable = "a"; => expected ]
[ A = {"a" "b"}; ] => at "\"b\"}; ]": expected ; or , or an operator
A = (1 + 2; => expected )
A = ; => expected a value
A = "a => expected a text that ends with "
A = "\q"; => expected ", \, n, r or t after \
Type = "DAG"; => attribute Type = "DAG": expected "Job"
JobType = "Parametric"; => expected a kind of one job
CpuNumber = -1; => attribute CpuNumber
Arguments = "'a"; => expected a command line whose ' is closed
Environment = {"A"}; => expected names, each with its value
OutputSandbox = {""}; => expected names of files
{"processors": 1} => t:1: missing field `run_time`
<ActivityDescription/> => expected 1 to 1000 ActivityDescription in namespace
<a/> => expected the element JobDefinition
"#;

fn refused(text: &str, expected: &str) {
    let error = read("t", text, None).expect_err(expected).to_string();
    let is_told = error.starts_with("t:") && error.len() < 400 && error.contains(expected);
    assert!(is_told, "{error}\nnot {expected}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in table(WRONG) {
        refused(&text.replace("\\n", "\n"), expected);
    }
    refused("\nExecutable = \"a\u{1}\";", "t:2: a control character");
}

#[test]
fn what_is_too_much_is_refused() {
    let deep = "(".repeat(MAX_DEPTH + 1);
    refused(
        &format!("&(a={deep}"),
        "expected at most 32 levels of brackets",
    );
    refused(
        &format!("A = {deep}"),
        "expected at most 32 levels of brackets",
    );
    let many = "(a=b)".repeat(MAX_ATTRIBUTES + 1);
    refused(&format!("&{many}"), "expected at most 10000 attributes");
    let many = "A = 1;".repeat(MAX_ATTRIBUTES + 1);
    refused(&many, "expected at most 10000 attributes");
    let jobs = "(&(executable=a))".repeat(MAX_JOBS + 1);
    refused(&format!("+{jobs}"), "expected at most 1000 requests");
    let twice = "(rslsubstitution=(a $(a)$(a)))".repeat(40);
    let bomb = format!("&(rslsubstitution=(a x)){twice}(executable=a)");
    refused(&bomb, "expected values of at most 1048576 bytes");
    let long = format!("&(architecture={})", "x".repeat(201));
    refused(&long, "expected at most 200 characters, not 201");
    refused(
        &"x".repeat(1 << 21),
        "2097152 bytes: expected at most 1048576",
    );
}

#[test]
fn nothing_makes_a_reader_panic() {
    for (text, language) in [
        (XRSL, Language::Xrsl),
        (RSL, Language::Rsl),
        (JDL, Language::Jdl),
    ] {
        for end in 0..text.len() {
            let _ = read("t", &text[..end], None);
            let _ = read("t", &text[end..], Some(language));
            for put in ["(", "\"", "$", "=", "}", "\\", "/*", "ü"] {
                let changed = format!("{}{put}{}", &text[..end], &text[end + 1..]);
                if let Ok(all) = read("t", &changed, Some(language)) {
                    let _ = gridrig_protocol::description::text(Language::Adl, &all);
                }
            }
        }
    }
}

#[test]
fn the_page_has_the_table_by_which_attributes_are_read() {
    let page = include_str!("../../../../docs/descriptions.md");
    assert!(
        page.contains(TABLE),
        "docs/descriptions.md does not have the lines of table.md"
    );
}
