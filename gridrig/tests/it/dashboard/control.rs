//! Starting and stopping from the page.

use super::live::{interrupt, real};
use super::{Dashboard, draft, shipped};
use crate::command::{Bench, JOBS, PAIR, expect_code, run, stdout};
use crate::patience::Patience;
use serde_json::json;

/// A run that takes a minute unless it is stopped.
fn slow() -> serde_json::Value {
    draft("realtime-smoke.toml", &shipped("realtime-smoke.toml"))
}

#[test]
fn shipped_scenarios_and_those_beside_the_runs_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("own.toml");
    std::fs::write(&own, "# Mine <b>.\n[workload]\ntrace = \"x\"\n").unwrap();
    std::fs::write(dir.path().join("other.toml"), "[package]\n").unwrap();
    let dashboard = Dashboard::start_over(dir, &[], &[]);
    let listed = dashboard.get("/api/scenarios").expect(200).json();
    let files: Vec<&str> = listed["scenarios"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    assert!(
        files.contains(&"resources/scenarios/two-sites.toml"),
        "{files:?}"
    );
    assert!(files.contains(&own.to_str().unwrap()), "{files:?}");
    assert!(
        !files.iter().any(|file| file.ends_with("other.toml")),
        "{files:?}"
    );
    let text = dashboard.get("/api/scenarios/text?file=resources/scenarios/two-sites.toml");
    assert_eq!(text.expect(200).json()["text"], shipped("two-sites.toml"));
    for file in [
        "/etc/passwd",
        "Cargo.toml",
        "resources/scenarios/../scenarios/two-sites.toml",
    ] {
        let refused = dashboard.get(&format!("/api/scenarios/text?file={file}"));
        assert_eq!(refused.expect(404).code(), "no-such-scenario", "{file}");
    }
}

#[test]
fn check_says_what_the_command_says() {
    let dashboard = Dashboard::start(&[], &[]);
    let text = shipped("two-sites.toml");
    let checked = dashboard.post("/api/control/check", &draft("two-sites.toml", &text));
    let command = run(&["check", "resources/scenarios/two-sites.toml"]);
    assert_eq!(checked.expect(200).json()["text"], stdout(&command));
}

#[test]
fn a_mistake_is_shown_with_its_line() {
    let dashboard = Dashboard::start(&[], &[]);
    let text = shipped("two-sites.toml").replace("tie = \"rotate\"", "tie = \"toss\"");
    let line = 1 + text.lines().position(|line| line.contains("toss")).unwrap();
    for action in ["check", "start"] {
        let page = dashboard.post(
            &format!("/api/control/{action}"),
            &draft("two-sites.toml", &text),
        );
        let mistake = page.expect(422).json();
        assert_eq!(
            (&mistake["code"], &mistake["line"]),
            (&json!("bad-scenario"), &json!(line))
        );
        let detail = mistake["detail"].as_str().unwrap();
        assert!(
            detail.starts_with(&format!("resources/scenarios/two-sites.toml:{line}:")),
            "{detail}"
        );
    }
    let bad = |body: serde_json::Value| dashboard.post("/api/control/start", &body);
    assert_eq!(
        bad(json!({"file": "/etc/passwd", "text": ""}))
            .expect(422)
            .json()["code"],
        "bad-scenario"
    );
    assert_eq!(bad(json!({"text": ""})).expect(422).code(), "bad-body");
    for name in ["../up", ".hidden", "a/b", "\"", &"x".repeat(81)] {
        let mut named = draft("two-sites.toml", &shipped("two-sites.toml"));
        named["name"] = json!(name);
        let refused = bad(named).expect(422).json();
        assert!(
            refused["detail"].as_str().unwrap().contains("run.name"),
            "{refused}"
        );
    }
    assert!(!dashboard.runs().exists());
}

#[test]
fn an_edited_run_has_a_folder_of_its_own_unless_it_is_to_overwrite() {
    let dashboard = Dashboard::start(&[], &[]);
    let start = |body: &serde_json::Value| dashboard.post("/api/control/start", body);
    let done = |id: u64| {
        dashboard.until(|state| state["session"]["id"] == id && state["session"]["state"] == "done")
    };
    let id = |page: super::Page| page.expect(202).json()["id"].as_u64().unwrap();
    let text = shipped("two-sites.toml").replace(
        "[\"round-robin\", \"queue-length\", \"free-node\", \"utilization\"]",
        "[\"random\"]",
    );
    done(id(start(&draft("two-sites.toml", &text))));
    let mut edited = draft("two-sites.toml", &text.replace("7d", "3d"));
    let found = dashboard
        .post("/api/control/check", &edited)
        .expect(200)
        .json();
    assert_eq!(found["folder"], "two-sites-1-2", "{found}");
    assert!(found["taken"].is_null(), "{found}");
    done(id(start(&edited)));
    assert!(
        dashboard
            .runs()
            .join("two-sites-1-2/random/r000/manifest.json")
            .is_file()
    );
    edited["name"] = json!("three-days");
    done(id(start(&edited)));
    assert!(
        dashboard
            .runs()
            .join("three-days-1/random/r000/manifest.json")
            .is_file()
    );
    edited["name"] = json!("two-sites");
    edited["force"] = json!(true);
    let state = done(id(start(&edited)));
    assert!(state["runs"][0]["jobs"].as_u64() < Some(480), "{state}");
}

#[test]
fn a_run_can_be_stopped_and_what_it_wrote_is_valid_and_partial() {
    let dashboard = Dashboard::start(&[], &[]);
    let id = dashboard
        .post("/api/control/start", &slow())
        .expect(202)
        .json()["id"]
        .clone();
    dashboard.until(|state| state["now"]["submitted"].as_u64() >= Some(1));
    dashboard
        .post("/api/control/stop", &json!({ "id": id }))
        .expect(202);
    let state = dashboard.until(|state| state["session"]["state"] == "stopped");
    assert_eq!(state["runs"][0]["state"], "stopped");
    assert_eq!(state["runs"][0]["audit"], "ok");
    let dir = dashboard
        .runs()
        .join(state["runs"][0]["dir"].as_str().unwrap());
    let manifest = std::fs::read_to_string(dir.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["partial"], true);
    expect_code(&run(&["audit", dir.to_str().unwrap()]), 0);
    let nothing = dashboard.post("/api/control/stop", &json!({ "id": id }));
    assert_eq!(nothing.expect(404).code(), "no-such-scenario");
}

#[test]
fn one_scenario_runs_and_a_bounded_number_wait() {
    let dashboard = Dashboard::start(&[], &[]);
    // Each has a name of its own: a run that is there already is refused.
    let start = |number: u32| {
        let mut draft = slow();
        draft["name"] = format!("one-of-many-{number}").into();
        dashboard.post("/api/control/start", &draft)
    };
    let first = start(0).expect(202).json()["id"].clone();
    dashboard.until(|state| state["session"]["id"] == first);
    let waiting: Vec<_> = (1..9)
        .map(|number| start(number).expect(202).json()["id"].clone())
        .collect();
    assert_eq!(start(9).expect(503).code(), "queue-full");
    let list = dashboard.get("/api/control").expect(200).json();
    assert_eq!(
        (
            &list["running"]["id"],
            list["queue"].as_array().unwrap().len()
        ),
        (&first, 8)
    );
    dashboard
        .post("/api/control/stop", &json!({ "id": waiting[3] }))
        .expect(202);
    let list = dashboard.get("/api/control").expect(200).json();
    let ids: Vec<_> = list["queue"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids.len(), 7);
    assert!(!ids.contains(&waiting[3]));
}

#[test]
fn ctrl_c_writes_the_run_that_goes_on_and_ends_the_dashboard() {
    let mut dashboard = Dashboard::start(&[], &[]);
    dashboard.post("/api/control/start", &slow()).expect(202);
    dashboard.until(|state| state["now"]["submitted"].as_u64() >= Some(1));
    interrupt(dashboard.child.id());
    assert_eq!(dashboard.child.wait().unwrap().code(), Some(130));
    let manifest = dashboard
        .runs()
        .join("realtime-smoke-1/round-robin/r000/manifest.json");
    assert!(
        std::fs::read_to_string(manifest)
            .unwrap()
            .contains("\"partial\": true")
    );
}

#[test]
fn a_run_whose_dashboard_is_killed_is_shown_by_the_next_one_when_it_has_gone_on() {
    let dashboard = Dashboard::start(&[], &[]);
    dashboard.post("/api/control/start", &real()).expect(202);
    dashboard.until(|state| state["now"]["submitted"].as_u64() >= Some(5));
    let pid = dashboard.child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &pid])
        .status();
    assert!(killed.unwrap().success());
    let runs = dashboard.runs();
    expect_code(&run(&["run", "--resume", runs.to_str().unwrap()]), 0);
    let dir = runs.join("realtime-smoke-1/round-robin/r000");
    let manifest = gridrig_results::rundir::read_manifest(&dir).unwrap();
    assert!(!manifest.partial);
    assert_eq!(manifest.summary["audit"], "ok");
    assert_eq!(manifest.host["gaps"].as_array().unwrap().len(), 1);
    let moved = tempfile::tempdir().unwrap();
    std::fs::rename(runs, moved.path().join("runs")).unwrap();
    let next = Dashboard::start_over(moved, &[], &[]);
    assert_eq!(next.get("/api/runs").expect(200).json()["runs"], 1);
    // One that is started in the shell is listed from its beginning on.
    let state = |wanted: &str| {
        let found = next.get(&format!("/api/runs?filter=state:{wanted}"));
        found.expect(200).json()["rows"].as_array().unwrap().len()
    };
    let out = next.runs().join("shell");
    let file = crate::command::root().join("resources/scenarios/realtime-smoke.toml");
    let mut child = crate::command::gridrig()
        .args([
            "run",
            file.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let patience = Patience::seconds(120);
    while state("running") == 0 {
        patience.wait("the run to be listed");
    }
    let shown = "shell/realtime-smoke-1/round-robin/r000";
    follows(&next, shown);
    child.kill().unwrap();
    child.wait().unwrap();
    let broken_off = next.get(&format!("/api/live/run/{shown}"));
    let broken_off = broken_off.expect(200).json()["session"].clone();
    assert_eq!(broken_off["state"], "stopped");
    let message = broken_off["message"].as_str().unwrap();
    assert!(message.contains("It can be continued"), "{message}");
    // Whoever sees a page may have no shell.
    assert!(!message.contains("gridrig"), "{message}");
    while (state("running"), state("half-written")) != (0, 1) {
        patience.wait("the run to be listed as broken off");
    }
}

#[test]
fn a_run_that_is_resumed_beside_its_partial_results_is_shown_as_it_goes() {
    let dashboard = Dashboard::start(&[], &[]);
    let out = dashboard.runs().join("shell");
    let file = crate::command::root().join("resources/scenarios/realtime-smoke.toml");
    let begin = |words: &[&str]| {
        let mut command = crate::command::gridrig();
        command.arg("run").args(words);
        let command = command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let run = "shell/realtime-smoke-1/round-robin/r000";
    let state = || {
        let answer = dashboard.get(&format!("/api/live/run/{run}"));
        answer.expect(200).json()["session"]["state"].clone()
    };
    let patience = Patience::seconds(240);
    let mut child = begin(&[file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    while dashboard.get("/api/runs?filter=state:running").json()["rows"] == json!([]) {
        patience.wait("the run to be listed");
    }
    follows(&dashboard, run);
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let dir = dashboard.runs().join(run);
    let manifest = gridrig_results::rundir::read_manifest(&dir);
    assert!(manifest.unwrap().partial);
    assert_eq!(state(), "stopped");
    let mut child = begin(&["--resume", dir.to_str().unwrap()]);
    while state() != "running" {
        patience.wait("the run to be shown as one that goes on");
    }
    follows(&dashboard, run);
    assert!(dir.join("manifest.json").exists());
    let decisions = dashboard.get(&format!("/api/live/jobs/0/decisions?run={run}"));
    assert_eq!(decisions.expect(422).code(), "no-decisions");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(), "stopped");
}

#[test]
fn a_run_in_virtual_time_is_listed_while_it_goes_on_and_not_deleted() {
    // Its policy never answers, and ends with it.
    let waits = r#"[{ name = "mine", timeout = "10min", exec = ["sh", "-c", '''
        read -r hello; echo '{"protocol":"gridrig.policy.1","columns":[]}'; read -r cycle
        read -r never'''] }]"#;
    let bench = Bench::new(
        &PAIR.replace(r#"["round-robin", "free-node"]"#, waits),
        &JOBS,
    );
    let dashboard = Dashboard::start(&[], &[]);
    let state = |wanted: &str| {
        let found = dashboard.get(&format!("/api/runs?filter=state:{wanted}"));
        found.expect(200).json()["rows"].clone()
    };
    let mut child = crate::command::gridrig()
        .args(["run", &bench.path("s.toml"), "--out"])
        .arg(dashboard.runs())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let patience = Patience::seconds(120);
    while state("running") == json!([]) {
        patience.wait("the run to be listed");
    }
    let row = &state("running")[0];
    assert_eq!(
        (&row["path"], &row["clock"]),
        (&json!("s-1/mine/r000"), &json!("virtual"))
    );
    assert_eq!(
        (&row["scenario"], &row["policy"]),
        (&json!("s"), &json!("mine"))
    );
    // There is nothing of it to follow yet.
    let page = |target: &str| dashboard.get(target).expect(200).body;
    assert!(!page("/runs").contains(">live</a>") && !page("/").contains("started elsewhere"));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let delete = || dashboard.send("POST", "/runs/delete", &[form], "run=s-1&sure=1");
    delete().expect(409);
    child.kill().unwrap();
    child.wait().unwrap();
    while state("half-written") == json!([]) {
        patience.wait("the run to be listed as broken off");
    }
    delete().expect(303);
    assert_eq!(dashboard.get("/api/runs").expect(200).json()["runs"], 0);
}

/// A run that was started in a shell is followed by its journals.
fn follows(dashboard: &Dashboard, run: &str) {
    let look = || {
        let answer = dashboard.get(&format!("/api/live/run/{run}"));
        answer.expect(200).json()
    };
    let patience = Patience::seconds(120);
    while look()["now"]["submitted"].as_u64() < Some(3) {
        patience.wait("jobs of a run that is followed");
    }
    let now = look();
    assert_eq!(now["session"]["state"], "running");
    assert_eq!(now["runs"][0]["state"], "running");
    assert!(!now["feed"].as_array().unwrap().is_empty());
    let job = dashboard.get(&format!("/api/live/jobs/0?run={run}"));
    let job = job.expect(200).json();
    assert_eq!(job["is_over"], json!(false));
    assert_eq!(job["steps"][0]["kind"], "submitted");
    let links = |page: &str| dashboard.get(page).expect(200).body.matches(run).count();
    // On the page of what goes on, and beside the row of the run.
    assert!(links("/") > 0 && links("/runs?each=1") > 1);
}
