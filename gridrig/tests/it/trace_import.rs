//! `gridrig trace import` as a user meets it.

use crate::command::{
    expect_code, expect_part, expect_refused, json, ok, root, run, split, stderr, stdout,
};
use crate::slurm_bench::Emulated;
use gridrig_tracelab::import::Map;
use std::fs;
use std::process::{Command, Stdio};

fn log(name: &str) -> String {
    let fixtures = root().join("crates/tracelab/tests/fixtures/import");
    fixtures.join(name).display().to_string()
}

#[test]
fn what_is_left_out_and_lost_is_told_by_count() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("jobs.swf").display().to_string();
    let line = format!("trace import {} --map sacct -o {out}", log("sacct.txt"));
    let arguments = split(&line);
    let output = ok(run(&arguments));
    let told = stdout(&output);
    expect_part(
        &told,
        "(sacct): 13 rows\nleft out: federation-sibling, 1 rows\n",
    );
    assert!(told.ends_with("jobs.swf (swf): 6 jobs\n"), "{told}");
    let warned = stderr(&output);
    expect_part(&warned, "lost on the way to swf: GPUs, of 2 jobs");
    expect_refused(&run(&arguments), "exists already");
    let output = ok(run(&[
        &arguments[..],
        &["--force", "--json", "--processors", "64"],
    ]
    .concat()));
    let told = json(&output);
    assert_eq!(
        (&told["jobs"], &told["skipped"]["job-step"]),
        (&6.into(), &3.into())
    );
    let info = run(&["trace", "info", &out, "--json"]);
    assert_eq!(json(&info)["max_processors"], 64);
}

#[test]
fn a_pipe_is_read_and_what_cannot_be_done_is_a_mistake_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("jobs.gwf").display().to_string();
    let piped = Command::new(env!("CARGO_BIN_EXE_gridrig"))
        .args([
            "trace",
            "import",
            "/dev/stdin",
            "--map",
            "sacct",
            "-o",
            &out,
        ])
        .stdin(Stdio::from(fs::File::open(log("sacct.txt")).unwrap()))
        .output()
        .unwrap();
    expect_code(&piped, 0);
    assert!(
        fs::read_to_string(&out)
            .unwrap()
            .contains("\tada\tstaff\t-1\tbatch\talpha\t")
    );
    let (nowhere, none) = (
        folder.path().join("x.swf").display().to_string(),
        log("none"),
    );
    let sacct = log("sacct.txt");
    for (arguments, expected) in [
        (
            vec![&*none, "--map", "sacct"],
            "none: the file cannot be opened",
        ),
        (
            vec![&sacct, "--map", "nope"],
            "nope: no map of this name: expected sacct, ",
        ),
        (
            vec![&sacct, "--map", "sacct", "--zone", "Mars"],
            "zone = \"Mars\": expected a name such as Europe/Paris, or an offset such as +08:00",
        ),
        (
            vec![&sacct, "--map", "sacct", "--to", "xml"],
            "possible values: swf, gwf",
        ),
    ] {
        let output = run(&[&["trace", "import", "-o", &nowhere], &arguments[..]].concat());
        expect_refused(&output, expected);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_map_that_is_shown_is_one_that_can_be_given() {
    let shown = ok(run(&["trace", "import", "--show-map", "sacct"]));
    let folder = tempfile::tempdir().unwrap();
    let (map, out) = (
        folder.path().join("mine.toml"),
        folder.path().join("mine.swf"),
    );
    fs::write(&map, &shown.stdout).unwrap();
    let (map, out) = (map.display().to_string(), out.display().to_string());
    let output = run(&split(&format!(
        "trace import {} --map {map} -o {out}",
        log("sacct.txt")
    )));
    expect_code(&output, 0);
    let output = run(&["trace", "import", "--show-map", "mine"]);
    expect_refused(&output, "--show-map mine: expected one of sacct");
}

#[test]
fn a_trace_becomes_a_workload_of_batsim() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("jobs.json").display().to_string();
    let trace = root().join("traces/ctc-like.swf.gz").display().to_string();
    let arguments = ["trace", "export", &trace, "--format", "batsim", "-o", &out];
    let told = json(&ok(run(&[&arguments[..], &["--json"]].concat())));
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let jobs = document["jobs"].as_array().unwrap().len();
    assert_eq!(told["jobs"], jobs);
    assert!(jobs > 400, "{jobs}");
    expect_code(&run(&arguments), 2);
}

/// The columns of the command that is recommended, by the map.
fn recommended() -> String {
    Map::load("sacct").unwrap().table.columns.join(",")
}

#[test]
fn the_recommended_command_has_the_columns_of_the_map_wherever_it_stands() {
    let help = stdout(&run(&["trace", "import", "--help"]));
    assert!(help.replace("\\\n", "").contains(&recommended()), "{help}");
    for file in ["docs/import.md", "resources/maps/sacct.toml"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&recommended()), "{file}");
    }
}

#[test]
fn what_an_emulated_slurm_accounts_and_its_nodes_are_imported() {
    let cluster = Emulated::start_with("gpu:a100:2", 4, 2, &[]);
    for name in ["gridrig_1_100ms", "gridrig_2_100ms", "gridrig_3_1h"] {
        cluster.ok(
            "sbatch",
            &["-J", name, "-n", "2", "-t", "90", "--wrap", "run"],
        );
    }
    cluster.wait_for("2", "%T", "COMPLETED");
    cluster.wait_for("3", "%T", "RUNNING");
    cluster.ok("scancel", &["3"]);
    cluster.wait_for("3", "%T", "CANCELLED");
    let (log, nodes) = (
        cluster.dir.path().join("jobs.txt"),
        cluster.dir.path().join("nodes.txt"),
    );
    let asked = ["-a", "-X", "-D", "-P", "--noconvert", "-o", &recommended()];
    fs::write(&log, cluster.ok("sacct", &asked)).unwrap();
    let out = cluster.dir.path().join("jobs.swf").display().to_string();
    let log = log.display().to_string();
    expect_code(
        &run(&["trace", "import", &log, "--map", "sacct", "-o", &out]),
        0,
    );
    let trace = fs::read_to_string(&out).unwrap();
    let jobs = trace.lines().filter(|line| !line.starts_with(';'));
    let jobs = jobs.map(|line| line.split(' ').collect::<Vec<_>>());
    // Number, processors, requested time and status.
    let told: Vec<_> = jobs
        .map(|job| [job[0], job[4], job[8], job[10]].join(" "))
        .collect();
    assert_eq!(told, ["1 2 5400 1", "2 2 5400 1", "3 2 5400 5"], "{trace}");
    for words in [
        ["scontrol", "show", "node", "-a"],
        ["sinfo", "-N", "-o", "%N|%c|%m|%d|%G|%T"],
    ] {
        fs::write(&nodes, cluster.ok(words[0], &words[1..])).unwrap();
        let site = ok(run(&["resources", "import", &nodes.display().to_string()]));
        let given = fs::read(cluster.dir.path().join("cluster.xml")).unwrap();
        let given = gridrig_protocol::resources::parse("a", &String::from_utf8(given).unwrap());
        let read = gridrig_protocol::resources::parse("b", &stdout(&site));
        assert_eq!(read.unwrap(), given.unwrap(), "{words:?}");
    }
}
