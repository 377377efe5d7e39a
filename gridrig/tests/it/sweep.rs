//! `gridrig sweep`: a scenario at many points, in slices.

use crate::command::{Bench, JOBS, PAIR, expect_code, json, run, stderr, stdout};
use crate::need;
use crate::patience::Patience;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Twelve points of two runs each.
pub const AXES: &str = r#"
[grid]
"domain.*.broker.exchange" = ["5s", "15s", "1m"]
"run.tie" = ["local", "first"]

[zipped]
"workload.scale.arrival" = [1, 2]
"workload.scale.run_time" = [1, 2]
"#;

/// A study of the pair of domains with these axes.
pub fn planned(axes: &str) -> Bench {
    let bench = Bench::new(PAIR, &JOBS);
    let scenario = bench.path("s.toml");
    let study = format!("scenario = \"{scenario}\"\n{axes}");
    fs::write(bench.dir.path().join("study.toml"), study).unwrap();
    bench
}

pub fn plan(bench: &Bench, out: &str) -> std::process::Output {
    let (study, out) = (bench.path("study.toml"), bench.path(out));
    run(&["sweep", "plan", &study, "--out", &out])
}

/// `gridrig sweep COMMAND DIR` with more words.
pub fn sweep(bench: &Bench, command: &str, dir: &str, words: &[&str]) -> std::process::Output {
    let dir = bench.path(dir);
    let mut all = vec!["sweep", command, dir.as_str()];
    all.extend(words);
    run(&all)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => {
                let below = files(&path).into_iter();
                found.extend(below.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
            }
            false => drop(found.insert(name, fs::read(&path).unwrap())),
        }
    }
    found
}

/// What a sweep is merged to.
pub fn merged(bench: &Bench, dir: &str) -> BTreeMap<String, Vec<u8>> {
    expect_code(&sweep(bench, "status", dir, &[]), 0);
    expect_code(&sweep(bench, "merge", dir, &[]), 0);
    files(&bench.dir.path().join(dir).join("results"))
}

#[test]
fn a_plan_has_a_line_for_each_point_and_stays_as_it_is() {
    let bench = planned(AXES);
    expect_code(&plan(&bench, "a"), 0);
    let text = fs::read_to_string(bench.path("a/plan.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let points: Vec<serde_json::Value> = lines.collect();
    assert_eq!(points.len(), 12);
    let mut ids: Vec<&str> = points.iter().map(|it| it["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 12);
    let first = &points[0];
    assert_eq!(first["set"]["domain.*.broker.exchange"], "5s");
    assert_eq!(first["set"]["workload.scale.run_time"], 1);
    assert_eq!(points[1]["set"]["workload.scale.run_time"], 2);
    assert_eq!(first["runs"], 2);
    assert!(first["predicted_s"].as_f64().unwrap() > 0.0);
    // The same study again is the same plan; another one has to go elsewhere.
    let before = files(&bench.dir.path().join("a"));
    let again = plan(&bench, "a");
    expect_code(&again, 0);
    assert!(
        stderr(&again).contains("there already: "),
        "{}",
        stderr(&again)
    );
    let study = bench.path("study.toml");
    let other = fs::read_to_string(&study).unwrap().replace("15s", "16s");
    fs::write(&study, other).unwrap();
    let refused = plan(&bench, "a");
    expect_code(&refused, 2);
    assert!(
        stderr(&refused).contains("holds another plan"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(before, files(&bench.dir.path().join("a")));
}

#[test]
fn slices_in_any_order_killed_and_run_again_merge_to_the_bytes_of_one_process() {
    let bench = planned(AXES);
    expect_code(&plan(&bench, "one"), 0);
    expect_code(&plan(&bench, "many"), 0);
    expect_code(&sweep(&bench, "run", "one", &[]), 0);
    let begun = sweep(&bench, "status", "many", &["--json"]);
    expect_code(&begun, 1);
    assert_eq!(json(&begun)["schema"], "gridrig.sweep-status.1");
    assert_eq!(json(&begun)["runs_done"], 0);
    // One is killed with nothing said to it, at whatever it was doing.
    let mut killed = crate::command::gridrig()
        .args(["sweep", "run", &bench.path("many"), "--slice", "1/5"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let runs = bench.dir.path().join("many/runs");
    let patience = Patience::seconds(60);
    while fs::read_dir(&runs).map_or(0, Iterator::count) < 2 {
        patience.wait("a second point");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    for slice in ["4/5", "2/5", "5/5", "3/5"] {
        let ran = sweep(&bench, "run", "many", &["--slice", slice, "-j", "3"]);
        expect_code(&ran, 0);
    }
    // A run that was killed half way has no manifest, and may have pieces of files.
    let mut points = fs::read_dir(&runs)
        .unwrap()
        .map(|point| point.unwrap().path());
    let half = points.find_map(|point| {
        let run = point.join("s-1/free-node/r000");
        run.join("manifest.json").exists().then_some(run)
    });
    let half = half.unwrap();
    fs::remove_file(half.join("manifest.json")).unwrap();
    fs::write(half.join("jobs.parquet"), "half").unwrap();
    let unfinished = sweep(&bench, "merge", "many", &[]);
    expect_code(&unfinished, 1);
    assert!(
        stderr(&unfinished).contains("is not whole"),
        "{}",
        stderr(&unfinished)
    );
    expect_code(&sweep(&bench, "run", "many", &[]), 0);
    let again = sweep(&bench, "run", "many", &[]);
    assert!(
        stderr(&again).contains("12 of 12 points, 12 done"),
        "{}",
        stderr(&again)
    );
    let (one, many) = (merged(&bench, "one"), merged(&bench, "many"));
    assert_eq!(one.len(), 3);
    assert!(
        one.contains_key("exchange=1m/cells.parquet"),
        "{:?}",
        one.keys()
    );
    assert!(one == many, "the merged bytes differ");
    let status = sweep(&bench, "status", "many", &[]);
    assert!(
        stdout(&status).contains("runs    24 of 24 done"),
        "{}",
        stdout(&status)
    );
}

#[test]
fn a_sweep_that_is_interrupted_goes_on_where_it_was() {
    let seeds: Vec<u32> = (1..=300).collect();
    let bench = planned(&format!(
        "[grid]\n\"run.seed\" = {seeds:?}\n\"run.tie\" = [\"random\"]\n"
    ));
    expect_code(&plan(&bench, "a"), 0);
    let mut command = crate::command::gridrig();
    command.args(["sweep", "run", &bench.path("a"), "-j", "2"]);
    let process = command.stderr(Stdio::piped()).spawn().unwrap();
    let runs = bench.dir.path().join("a/runs");
    let patience = Patience::seconds(60);
    while fs::read_dir(&runs).map_or(0, Iterator::count) < 3 {
        patience.wait("a third point");
    }
    let asked = Command::new("kill")
        .args(["-INT", &process.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    expect_code(&process.wait_with_output().unwrap(), 130);
    let status = sweep(&bench, "status", "a", &["--json"]);
    let done = json(&status)["points_done"].as_u64().unwrap();
    assert!((1..300).contains(&done), "{done}");
    assert_eq!(json(&status)["failed"].as_array().unwrap().len(), 0);
    // A slice of what is left.
    let ran = sweep(&bench, "run", "a", &["--slice", "1/100"]);
    expect_code(&ran, 0);
    assert!(stderr(&ran).contains("3 of 300 points"), "{}", stderr(&ran));
}

/// What was broken off is run again; what breaks a rule has failed.
#[test]
fn a_point_whose_run_was_broken_off_has_not_failed() {
    let bench = planned(AXES);
    expect_code(&plan(&bench, "a"), 0);
    expect_code(&sweep(&bench, "run", "a", &[]), 0);
    let first = |dir: PathBuf| {
        let mut below = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        below.find(|path| path.is_dir()).unwrap()
    };
    // POINT/SCENARIO-SEED/POLICY/rNNN
    let run = first(first(first(first(bench.dir.path().join("a/runs")))));
    let path = run.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (audit, failed) in [("ok", 0), ("2 violations", 1)] {
        (manifest["partial"], manifest["summary"]["valid"]) = (true.into(), false.into());
        manifest["summary"]["audit"] = audit.into();
        fs::write(&path, manifest.to_string()).unwrap();
        let status = json(&sweep(&bench, "status", "a", &["--json"]));
        assert_eq!(
            status["failed"].as_array().unwrap().len(),
            failed,
            "{status}"
        );
        let all = status["points"].as_u64().unwrap();
        assert_eq!(status["points_done"], all - 1);
    }
}

#[test]
fn two_processes_at_once_leave_each_other_what_they_run() {
    let bench = planned(AXES);
    expect_code(&plan(&bench, "a"), 0);
    let start = || {
        let mut command = crate::command::gridrig();
        command.args(["sweep", "run", &bench.path("a"), "-j", "2"]);
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    for process in [start(), start()] {
        expect_code(&process.wait_with_output().unwrap(), 0);
    }
    expect_code(&sweep(&bench, "run", "a", &[]), 0);
    assert_eq!(merged(&bench, "a").len(), 3);
}

#[test]
fn the_merged_table_has_axes_and_figures_that_duckdb_reads() {
    let Some(python) = need::duckdb("the_merged_table_has_axes_and_figures_that_duckdb_reads")
    else {
        return;
    };
    let range = "{ from = \"2s\", to = \"2m\", log = true }";
    let bench = planned(&format!(
        "[grid]\n\"run.tie\" = [\"local\", \"first\"]\n\"run.seed\" = [7]\n\
         [latin-hypercube]\npoints = 3\n[latin-hypercube.ranges]\n\
         \"domain.*.broker.exchange\" = {range}\n"
    ));
    expect_code(&plan(&bench, "a"), 0);
    expect_code(&sweep(&bench, "run", "a", &[]), 0);
    merged(&bench, "a");
    let query = format!(
        "import duckdb; print(duckdb.sql(\"select tie, policy, count(*), min(seed), \
         min(jobs_completed), bool_and(exchange_s between 2 and 120), \
         count(distinct exchange_s), bool_and(delay_s_mean > 0) from \
         '{}/results/*/*.parquet' group by all order by all\").fetchall())",
        bench.path("a")
    );
    let said = Command::new(python).args(["-c", &query]).output().unwrap();
    let rows = [
        "first', 'free-node",
        "first', 'round-robin",
        "local', 'free-node",
        "local', 'round-robin",
    ];
    let rows = rows.map(|row| format!("('{row}', 3, 7.0, 6.0, True, 3, True)"));
    assert_eq!(
        stdout(&said).trim(),
        format!("[{}]", rows.join(", ")),
        "{}",
        stderr(&said)
    );
}

#[test]
fn scripts_have_as_many_slices_as_take_ten_minutes_and_their_engine_allows() {
    let bench = planned(AXES);
    expect_code(&plan(&bench, "a"), 0);
    let scontrol = bench.dir.path().join("scontrol");
    fs::write(&scontrol, "#!/bin/sh\necho 'MaxArraySize            = 5'\n").unwrap();
    fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755)).unwrap();
    let script = |engine: &str, words: &[&str]| {
        let mut command = crate::command::gridrig();
        command
            .args(["sweep", "script", engine, &bench.path("a")])
            .args(words);
        let path = format!("{}:/usr/bin:/bin", bench.dir.path().display());
        let said = command.env("PATH", path).output().unwrap();
        expect_code(&said, 0);
        stdout(&said)
    };
    let slurm = script("slurm", &["--slices", "9", "-j", "3"]);
    assert!(
        slurm.contains("--array=1-4\n") && slurm.contains("MaxArraySize (5)"),
        "{slurm}"
    );
    assert!(
        slurm.contains(" -j 3 --slice \"$SLURM_ARRAY_TASK_ID/4\""),
        "{slurm}"
    );
    // Twelve points take a second.
    assert!(script("hyperqueue", &[]).contains("--array 1-1 "));
    assert!(script("parallel", &["--slices", "99"]).starts_with("#!/bin/sh\n# 12 slices, each"));
    assert!(script("snakemake", &["--slices", "9"]).contains("SLICES = range(1, 9 + 1)"));
    let long = "[[list]]\n\"run.replicate\" = { over = \"shake\", step = \"9s\", count = 4000 }\n";
    let bench = planned(&format!("{AXES}{long}"));
    expect_code(&plan(&bench, "a"), 0);
    let said = stdout(&run(&["sweep", "script", "hyperqueue", &bench.path("a")]));
    assert!(
        said.contains("--array 1-7 ") && said.contains("each about 10 min"),
        "{said}"
    );
}

#[test]
fn a_study_that_makes_no_sweep_is_refused_before_a_run() {
    let grid = |lines: &str| format!("[grid]\n{lines}\n");
    let refused = [
        (
            grid("\"run.seed\" = [1, 2]\n\"domain.*.broker.exchange\" = [\"60s\", \"1m\"]"),
            "study.toml:4: axis domain.*.broker.exchange: changes nothing: ",
        ),
        (
            grid("\"domain.*.broker.exchang\" = [\"5s\"]"),
            "study.toml:3: axis domain.*.broker.exchang: --set domain.*.broker.exchang=\"5s\": \
             unknown key `exchang`, did you mean `exchange`?",
        ),
        (
            grid("\"domain.*.broker.exchange\" = [\"5s\", \"5\"]"),
            "field domain.a.broker.exchange = \"5\": expected a duration",
        ),
        (grid("run.seed = [1]"), "study.toml:3: "),
        (
            "[gird]\n\"run.seed\" = [1]\n".to_owned(),
            "study.toml:2: unknown field `gird`",
        ),
        (
            grid("\"run.clock\" = [\"real\"]"),
            "expected clock = \"virtual\"",
        ),
        (
            "[zipped]\n\"run.seed\" = [1, 2]\n\"run.tie\" = [\"local\"]\n".to_owned(),
            "has 1 values: expected 2, as run.seed has",
        ),
        (
            grid("\"run.seed\" = [1]\n[[list]]\n\"run.seed\" = 2"),
            "axis run.seed: is varied twice",
        ),
        (
            "[latin-hypercube]\npoints = 3\n[latin-hypercube.ranges]\n\
             \"run.speed\" = { from = 0, to = 3, log = true }\n"
                .to_owned(),
            "study.toml:5: axis run.speed: from = 0, to = 3: expected two numbers",
        ),
        (grid("\"run.seed\" = []"), "expected 1 to 100000"),
        (grid(""), "study.toml: expected an axis"),
        (
            "[latin-hypercube]\npoints = 2\nranges = {}\n".to_owned(),
            "study.toml: expected an axis",
        ),
        (
            "[latin-hypercube]\npoints = 200000\n[latin-hypercube.ranges]\n\
             \"run.speed\" = { from = 1, to = 3 }\n"
                .to_owned(),
            "makes 100001 points or more",
        ),
        (
            grid("\"workload.max_processors\" = [0]"),
            "expected a whole number",
        ),
        (grid("\"run.policies\" = [[\"randem\"]]"), "random"),
    ];
    for (axes, expected) in refused {
        let bench = planned(&axes);
        let output = plan(&bench, "a");
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains(expected),
            "{axes}: {}",
            stderr(&output)
        );
        assert!(!bench.dir.path().join("a").exists(), "{axes}");
    }
}

#[test]
fn a_plan_that_was_changed_is_refused() {
    for changed in ["a/plan.jsonl", "a/scenario.toml", "t.swf"] {
        let bench = planned(AXES);
        expect_code(&plan(&bench, "a"), 0);
        let path = bench.path(changed);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
        let output = sweep(&bench, "run", "a", &["--slice", "1/3"]);
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(
            said.contains(&format!("{changed}: was changed since")),
            "{said}"
        );
        assert!(!bench.dir.path().join("a/runs").exists());
    }
    let bench = planned(AXES);
    // Nor is one made among other files.
    let output = plan(&bench, ".");
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("or something else"),
        "{}",
        stderr(&output)
    );
    let output = sweep(&bench, "run", ".", &[]);
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("expected a plan"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_point_that_fails_is_told_of_and_the_others_are_run() {
    let bench = planned("[grid]\n\"run.seed\" = [1, 2, 3]\n\"run.tie\" = [\"random\"]\n");
    expect_code(&plan(&bench, "a"), 0);
    let text = fs::read_to_string(bench.path("a/plan.jsonl")).unwrap();
    let point: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    // Where its runs are to go, there is a file.
    let dir = format!("a/runs/{}", point["id"].as_str().unwrap());
    fs::create_dir_all(bench.path(&dir)).unwrap();
    let in_the_way = bench.path(&format!("{dir}/s-2"));
    fs::write(&in_the_way, "").unwrap();
    let ran = sweep(&bench, "run", "a", &["-j", "2"]);
    expect_code(&ran, 1);
    assert!(
        stderr(&ran).contains("1 of 3 points failed"),
        "{}",
        stderr(&ran)
    );
    let status = sweep(&bench, "status", "a", &["--json"]);
    expect_code(&status, 1);
    let said = json(&status);
    assert_eq!(
        (&said["points_done"], &said["runs_done"]),
        (&2.into(), &4.into())
    );
    assert!(said["failed"][0].as_str().unwrap().contains(&dir), "{said}");
    fs::remove_file(&in_the_way).unwrap();
    expect_code(&sweep(&bench, "run", "a", &[]), 0);
    let status = sweep(&bench, "status", "a", &["--json"]);
    expect_code(&status, 0);
    assert_eq!(json(&status)["failed"].as_array().unwrap().len(), 0);
}
