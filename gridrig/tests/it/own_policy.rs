//! A forwarding policy of the user's own: a program that is asked in every cycle.

use crate::command::{
    Bench, JOBS, PAIR, expect_code, expect_part, expect_refused, expect_stderr, expect_stdout,
    gridrig, json, ok, root, rows, run, split, stderr,
};
use gridrig::scenario::{Scenario, ScenarioText};
use gridrig_results::jobs::JobState;
use gridrig_results::{JobTable, rundir};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Output;

/// What every program of these tests begins with; `answers` is theirs.
const BEGIN: &str = r#"
import json, os, sys, time
def say(message):
    print(json.dumps(message), flush=True)
hello = json.loads(sys.stdin.readline())
say({"protocol": "gridrig.policy.1"})
for line in sys.stdin:
    cycle = json.loads(line)
    requests = cycle["requests"]
    answers = [it["candidates"][0] for it in requests]
"#;

/// The pair under a program that changes `answers`, and as many policies more.
fn bench(program: &str, run: &str) -> Bench {
    let exec = r#"{ name = "mine", exec = ["python3", "mine.py"] }"#;
    let policies = format!("policies = [{exec}]\n{run}");
    let bench = Bench::new(
        &PAIR.replace(r#"policies = ["round-robin", "free-node"]"#, &policies),
        &JOBS,
    );
    fs::write(bench.path("mine.py"), whole(program)).unwrap();
    bench
}

fn whole(program: &str) -> String {
    let lines = program.lines().map(|line| format!("    {line}\n"));
    let lines: String = lines.collect();
    format!("{BEGIN}{lines}    say({{\"answers\": answers}})\n")
}

fn dir(bench: &Bench) -> String {
    bench.path("runs/s-1/mine/r000")
}

fn manifest(dir: &str) -> Value {
    let text = fs::read(Path::new(dir).join("manifest.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// State, reason and wait of every job.
fn jobs(dir: &str) -> Vec<(JobState, Option<&'static str>)> {
    let read = rundir::read(Path::new(dir)).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let rows = table.rows().iter();
    rows.map(|row| (row.state, row.reason.map(|it| it.name())))
        .collect()
}

/// The one message of a run that failed, of which the partial run is there.
fn failed(bench: &Bench, output: &Output) -> String {
    expect_code(output, 1);
    let told = stderr(output);
    let mut errors = told.lines().filter(|line| line.starts_with("error: "));
    let error = errors.next().unwrap().to_owned();
    assert_eq!(errors.next(), None, "{told}");
    assert_eq!(manifest(&dir(bench))["partial"], true);
    expect_code(&run(&["audit", &dir(bench)]), 0);
    error
}

#[test]
fn the_shipped_programs_write_the_very_files_of_the_policies_that_decide_alike() {
    let out = tempfile::tempdir().unwrap();
    let policies = r#"run.policies=[
        "queue-length(tie=first)", "local-only(tie=first)",
        { name = "mine", exec = ["python3", "resources/policies/queue_length.py"] },
        { name = "first", exec = ["sh", "resources/policies/first.sh"] }]"#;
    for folder in ["once", "again"] {
        let mut command = gridrig();
        command.args(["run", "resources/scenarios/two-sites.toml", "--out"]);
        command.arg(out.path().join(folder));
        command.args(["--check-determinism", "--set", policies]);
        expect_code(
            &command
                .args(["--set", "run.bounds=false"])
                .output()
                .unwrap(),
            0,
        );
    }
    let of = |folder: &str, policy: &str, file: &str| {
        let runs = out.path().join(folder).join("two-sites-1");
        fs::read(runs.join(policy).join("r000").join(file)).unwrap()
    };
    for file in ["jobs.parquet", "hops.parquet", "events.parquet"] {
        let built_in = of("once", "queue-length-tie-first-", file);
        assert!(of("once", "mine", file) == built_in, "{file}");
        assert!(of("again", "mine", file) == built_in, "{file}");
        let built_in = of("once", "local-only-tie-first-", file);
        assert!(of("once", "first", file) == built_in, "{file}");
        assert!(of("once", "mine", file) != built_in, "{file}");
    }
    let own = manifest(
        out.path()
            .join("once/two-sites-1/mine/r000")
            .to_str()
            .unwrap(),
    );
    let hash = &own["policy_sha256"]["resources/policies/queue_length.py"];
    assert_eq!(hash.as_str().unwrap().len(), 64, "{own}");
    assert!(own["host"]["policy_wall_s"].as_f64().unwrap() > 0.0);
    assert!(own["host"]["policy_lines"].as_u64().unwrap() > 100);
    let compared = run(&[
        "compare",
        out.path().join("once/two-sites-1").to_str().unwrap(),
    ]);
    expect_code(&compared, 0);
    expect_stdout(&compared, "  mine  ");
}

#[test]
fn a_program_is_told_what_users_tell_and_what_has_ended_and_no_secrets() {
    let bench = bench(
        r#"
with open(sys.argv[1] + "-" + hello["domain"], "a") as log:
    log.write((json.dumps(hello) + "\n" if cycle["cycle"] == 1 else "") + line)
if "SECRET" in os.environ: answers = []
"#,
        "",
    );
    let log = bench.path("log");
    let text = fs::read_to_string(bench.path("s.toml")).unwrap();
    let text = text.replace("\"mine.py\"", &format!("\"mine.py\", \"{log}\""));
    fs::write(bench.path("s.toml"), text).unwrap();
    let mut command = gridrig();
    command.args(["run", &bench.path("s.toml"), "--out", &bench.path("runs")]);
    expect_code(&command.env("SECRET", "x").output().unwrap(), 0);
    let lines = fs::read_to_string(format!("{log}-a")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let (hello, cycles) = lines.split_first().unwrap();
    let node = json!([{ "count": 4, "processors": 1, "speed": 1.0 }]);
    let b1 = json!({ "name": "b1", "kind": "cluster", "processors": 4, "nodes": node });
    assert_eq!(hello["seed"], 1);
    assert_eq!(
        hello["candidates"],
        json!([
            { "name": "a1", "kind": "cluster", "processors": 4, "nodes": node },
            { "name": "b", "kind": "peer", "processors": 4, "clusters": [b1] },
        ])
    );
    let first = &cycles[0];
    assert_eq!(first["cycle"], 1);
    assert_eq!(first["now_s"], 0.0);
    assert_eq!(first["candidates"]["free"], json!([4, 4]));
    assert_eq!(
        first["requests"],
        json!([{ "job": 0, "processors": 4, "estimate_s": 30.0, "candidates": [0, 1] }])
    );
    let ended = cycles
        .iter()
        .flat_map(|cycle| cycle["ended"].as_array().unwrap());
    let ended: Vec<&Value> = ended.collect();
    assert_eq!(ended[0]["job"], 0);
    assert_eq!(ended[0]["state"], "completed");
    assert_eq!(ended[0]["candidate"], 0);
    let length = ended[0]["finish_s"].as_f64().unwrap() - ended[0]["start_s"].as_f64().unwrap();
    assert!((length - 30.0).abs() < 1e-9, "{length}");
}

#[test]
fn jobs_are_held_and_turned_away_as_the_program_says() {
    let bench = bench(
        r#"
for place, it in enumerate(requests):
    if it["processors"] == 3: answers[place] = {"reject": "three is a crowd"}
    elif cycle["now_s"] < 100: answers[place] = "hold"
    elif it["job"] % 2 and hello["domain"] == "a": answers[place] = "b"
"#,
        "decisions = 1",
    );
    expect_code(&bench.run(&[]), 0);
    let found = jobs(&dir(&bench));
    let rejected = (JobState::Rejected, Some("policy-rejected"));
    let mut expected = [(JobState::Completed, None); 6];
    expected[3] = rejected;
    assert_eq!(found, expected);
    let notes = manifest(&dir(&bench))["warnings"].to_string();
    assert!(notes.contains("1 job turned away by the policy with the words: three is a crowd"));
    let explained = ok(run(&["explain", &dir(&bench), "1", "--json"]));
    let explained = json(&explained).to_string();
    for told in ["\"held\"", "\"sent\"", "broker:b"] {
        assert!(explained.contains(told), "{told}: {explained}");
    }
    let table = rundir::read(Path::new(&dir(&bench))).unwrap();
    let first = JobTable::build(&table.log, &table.submissions, &table.grid, &[]);
    let start = first.rows()[0].start.unwrap();
    assert!(start.as_secs_f64() >= 100.0, "{start:?}");
}

#[test]
fn decisions_that_were_not_recorded_are_not_asked_for_again() {
    let bench = bench("", "");
    expect_code(&bench.run(&[]), 0);
    expect_refused(&run(&["explain", &dir(&bench), "1"]), "run.decisions = 1");
}

/// What a program does in the second cycle or later, and what is said of it.
const BAD: &str = r#"
sys.exit(3) => it ended (exit status: 3) without an answer
os.kill(os.getpid(), 9) => it ended (signal: 9
time.sleep(600) => it gave no answer within 1s (timeout)
print('hello') => it answered `hello` to the line `{"cycle":2,
answers = [] => it gave 0 answers, once `{"answers": []}`
answers = [7 for _ in answers] => its answer 1 is no candidate of job
answers = ['c1' for _ in answers] => its answer 1 is no candidate of job
answers = [{'refuse': 'x'} for _ in answers] => it answered `{"answers": [{"refuse"
"#;

#[test]
fn a_program_that_fails_ends_the_run_with_one_message_and_what_there_was_is_kept() {
    for (fault, said) in rows(BAD) {
        let bench = bench(&format!("if cycle['cycle'] > 1:\n    {fault}"), "");
        let text = fs::read_to_string(bench.path("s.toml")).unwrap();
        let timeout = "\"mine.py\"], timeout = \"1s\"";
        fs::write(bench.path("s.toml"), text.replace("\"mine.py\"]", timeout)).unwrap();
        let output = bench.run(&[]);
        let error = failed(&bench, &output);
        assert!(error.contains(said), "{fault}: {error}");
        let parts = [
            "policy mine of domain a",
            "{\"cycle\":2,",
            "(expected {\"answers\":[...]} with ",
        ];
        for part in parts {
            assert!(error.contains(part), "{fault}: {error}");
        }
        // What the first cycle has sent stays there.
        let read = rundir::read(Path::new(&dir(&bench))).unwrap();
        assert!(!read.log.records().collect::<Vec<_>>().is_empty());
    }
}

#[test]
fn a_program_that_begins_badly_is_told_apart_from_one_that_is_not_there() {
    let bench = bench("", "");
    fs::write(
        bench.path("mine.py"),
        "print('{\"protocol\": \"gridrig.policy.2\"}')",
    )
    .unwrap();
    let output = bench.run(&[]);
    expect_code(&output, 1);
    expect_stderr(&output, "expected {\"protocol\":\"gridrig.policy.1\"}");
    let text = whole("").replace("policy.1\"", "policy.1\", \"columns\": [\"fre\"]");
    fs::write(bench.path("mine.py"), text).unwrap();
    let output = bench.run(&[]);
    expect_code(&output, 1);
    expect_stderr(&output, "\"columns\" out of free, queued");
    let set = r#"run.policies=[{ name = "mine", exec = ["./no-such-program"] }]"#;
    let output = bench.run(&["--set", set]);
    expect_refused(
        &output,
        "`./no-such-program` cannot be started (expected a program)",
    );
}

#[test]
fn answers_that_differ_when_asked_twice_end_the_run_if_that_is_looked_at() {
    let bench = bench(
        "answers = [it['candidates'][os.path.exists(sys.argv[0] + '.mark')] for it in requests]\n\
         open(sys.argv[0] + '.mark', 'w').close()",
        "",
    );
    let error = failed(&bench, &bench.run(&["--check-determinism"]));
    expect_part(&error, "asked twice (--check-determinism)");
    let output = run(&split(
        "run resources/scenarios/two-sites.toml --no-out --check-determinism",
    ));
    expect_refused(
        &output,
        "expected a policy or a discipline with exec or lua",
    );
}

#[test]
fn a_program_is_asked_in_real_time_too_and_its_failure_ends_the_run() {
    let real = "clock = \"real\"\nspeed = 20\nlag_tolerance = \"1h\"";
    let bench = bench(
        "answers = ['b' if it['job'] == 5 else 'a1' for it in requests]",
        real,
    );
    let text = fs::read_to_string(bench.path("s.toml")).unwrap();
    // Broker b has a cluster of another name.
    let program = fs::read_to_string(bench.path("mine.py")).unwrap();
    let program = program.replace(
        "answers = ['b'",
        "answers = [0 if hello['domain'] == 'b' else 'b'",
    );
    fs::write(bench.path("mine.py"), &program).unwrap();
    assert_eq!(
        json(&ok(bench.run(&["--json"])))["runs"][0]["jobs"]["completed"],
        6
    );
    let read = rundir::read(Path::new(&dir(&bench))).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let clusters = table.rows().iter().map(|row| row.cluster.unwrap().0);
    assert_eq!(clusters.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1]);
    expect_refused(
        &bench.run(&["--processes"]),
        "no policy or discipline of one's own",
    );
    let dying = program.replace(
        "    requests = ",
        "    if cycle['cycle'] == 2: sys.exit(3)\n    requests = ",
    );
    fs::write(bench.path("mine.py"), dying).unwrap();
    fs::write(bench.path("s.toml"), text).unwrap();
    let error = failed(&bench, &bench.run(&["--force"]));
    expect_part(&error, "it ended (exit status: 3) without an answer");
}

#[test]
fn what_a_program_cannot_be_asked_about_is_refused_before_the_run() {
    let exec = r#"policies = [{ name = "mine", exec = ["python3", "mine.py"] }]"#;
    let pair = PAIR.replace(r#"policies = ["round-robin", "free-node"]"#, exec);
    let restart = "[[faults.restarts]]\nbroker = \"a\"\nfrom = \"10s\"\nuntil = \"20s\"\n";
    let independent = "broker = { matchmaking = \"independent\" }\nclusters";
    let late = "name = \"a\"\nbroker = { commit = \"late\" }";
    let all = [
        (
            format!("{pair}{restart}"),
            "expected no [[faults.restarts]]",
        ),
        (
            pair.replace("clusters", independent),
            "expected matchmaking = \"route\"",
        ),
        (
            pair.replace("name = \"a\"\n", &format!("{late}\n")),
            "expected \"early\" with mine",
        ),
        (
            pair.replace("\"mine\"", "\"random\""),
            "expected a name of its own, which random is not",
        ),
        (
            pair.replace("\"mine\"", "\"my own\""),
            "a name of 1 to 64 letters",
        ),
        (
            pair.replace("\"mine.py\"]", "\"mine.py\"], window = \"30s\""),
            "unknown field `window`",
        ),
        (
            pair.replace("[\"python3\", \"mine.py\"]", "[]"),
            "expected { name = \"mine\", exec =",
        ),
    ];
    for (text, expected) in all {
        let bench = Bench::new(&text, &JOBS);
        for command in ["check", "run"] {
            let output = run(&[command, &bench.path("s.toml")]);
            expect_code(&output, 2);
            let why = stderr(&output);
            assert!(why.contains(expected), "{text}\n{why}");
            assert!(why.contains("policies") || why.contains("commit"), "{why}");
        }
    }
}

#[test]
fn who_may_name_no_program_may_name_none_as_a_policy() {
    let bench = bench("", "");
    let text = fs::read_to_string(bench.path("s.toml")).unwrap();
    let parse = |text: &str| {
        let file = bench.path("s.toml");
        let text = ScenarioText {
            file: Path::new(&file),
            text,
            sets: &[],
            directory: Path::new(""),
            traces_may_be_missing: false,
        };
        Scenario::parse_confined(&text, Some(&|_| true)).map_err(|why| why.to_string())
    };
    let why = parse(&text).unwrap_err();
    expect_part(&why, "exec");
    expect_part(&why, "expected no program");
    assert!(why.contains("--allow-commands"), "{why}");
    let (name, rest) = text.split_once("{ name = \"mine\"").unwrap();
    let (_, rest) = rest.split_once('}').unwrap();
    assert!(parse(&format!("{name}\"random\"{rest}")).is_ok());
}

#[test]
fn the_page_shows_the_programs_that_are_shipped_and_every_column() {
    let page = fs::read_to_string(root().join("docs/own-policy.md")).unwrap();
    for name in ["queue_length.py", "first.sh"] {
        let program = fs::read_to_string(root().join("resources/policies").join(name)).unwrap();
        assert!(page.contains(&program), "{name}");
    }
    let bench = bench(
        "open(sys.argv[0] + '.hello', 'w').write(json.dumps(hello))",
        "",
    );
    expect_code(&bench.run(&[]), 0);
    let hello = fs::read(bench.path("mine.py.hello")).unwrap();
    let hello: Value = serde_json::from_slice(&hello).unwrap();
    let columns = hello["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 10, "{columns:?}");
    for column in columns {
        let shown = format!("`{}`", column.as_str().unwrap());
        assert!(page.contains(&shown), "{shown}");
    }
    let schema = json(&run(&["schema", "policy"]));
    for message in ["hello", "hello_answer", "cycle", "cycle_answer"] {
        assert!(schema["properties"][message].is_object(), "{schema}");
    }
}
