//! What the Live page is told.

use super::http::{self, Stream};
use super::{Dashboard, draft, shipped};
use crate::command::{Bench, expect_code, gridrig, json, ok, run, split, token};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// A real-time run of some seconds.
pub fn real() -> Value {
    let text = shipped("realtime-smoke.toml").replace("speed = 5", "speed = 40");
    draft("realtime-smoke.toml", &text)
}

fn close(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

#[test]
fn a_stream_begins_with_the_whole_state_and_goes_on_with_what_is_new() {
    let dashboard = Dashboard::start(&[], &[]);
    let mut stream = dashboard.events();
    let first = stream.next();
    assert_eq!(first.name, "snapshot");
    assert_eq!(first.data["session"], Value::Null);
    dashboard.post("/api/control/start", &real()).expect(202);
    let (mut rows, mut deltas, mut seq) = (0, 0, None);
    loop {
        let event = stream.next();
        let data = &event.data;
        let now = data["seq"].as_u64().unwrap();
        assert!(seq.is_none_or(|last| now == last + 1), "{seq:?} then {now}");
        seq = Some(now);
        let (from, new) = (
            &data["course"]["from"],
            data["course"]["rows"].as_array().unwrap(),
        );
        if event.name == "snapshot" {
            assert!(data["grid"]["clusters"].is_array());
            assert_eq!(from, 0);
        } else {
            deltas += 1;
            assert!(data.get("grid").is_none(), "only what is new: {data}");
            assert!(from.as_u64().unwrap() <= rows, "no row is left out");
        }
        rows = from.as_u64().unwrap() + new.len() as u64;
        if data["session"]["state"] == "done" {
            break;
        }
        assert_ne!(data["session"]["state"], "stopped");
        if data["session"]["state"] == "failed" {
            // Late submissions make it invalid on a busy machine; the run is
            // shown all the same.
            assert!(
                data["session"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("submission-lag"),
                "{data}"
            );
            break;
        }
    }
    assert!(deltas > 0, "nothing but snapshots");
    // Whoever comes again is given all of it.
    let again = dashboard.events().next();
    assert_eq!(again.name, "snapshot");
    assert_eq!(
        again.data["course"]["rows"].as_array().unwrap().len() as u64,
        rows
    );
    assert_eq!(again.data["now"]["finished"], 16);
}

#[test]
fn a_job_in_real_time_has_its_life_and_its_raw_exchanges() {
    let dashboard = Dashboard::start(&[], &[]);
    dashboard.post("/api/control/start", &real()).expect(202);
    dashboard.until(|state| state["now"]["finished"].as_u64() >= Some(2));
    // The log knows of an end before the news of it have been sent on.
    let told = |life: &Value| {
        let sent = lines_of(life).contains(&"POST /v1/notifications".to_owned());
        sent && life["delay_s"].is_f64()
    };
    let look = |_| {
        thread::sleep(Duration::from_millis(50));
        let life = dashboard.get("/api/live/jobs/0").expect(200).json();
        told(&life).then_some(life)
    };
    let life = (0..2_400).find_map(look).expect("the news of its end");
    assert_eq!(life["state"], "completed");
    let lines = lines_of(&life);
    assert!(lines.contains(&"POST /v1/jobs".to_owned()), "{lines:?}");
    let request = life["exchanges"][0]["request"].as_str().unwrap();
    assert!(request.contains("\"processors\""), "{request}");
    dashboard.until(|state| state["session"]["state"] != "running");
    let after = dashboard.get("/api/live/jobs/0").expect(200).json();
    assert_eq!(after["delay_s"], life["delay_s"]);
    let kept = after["exchanges"].as_array().unwrap();
    assert!(kept.starts_with(life["exchanges"].as_array().unwrap()));
}

/// What was asked for in the exchanges about a job.
fn lines_of(life: &Value) -> Vec<String> {
    let exchanges = life["exchanges"].as_array().unwrap().iter();
    let lines = exchanges.map(|one| one["request_line"].as_str().unwrap().to_owned());
    lines.collect()
}

fn ages(state: &Value) -> Vec<Value> {
    state["now"]["ages"].as_array().expect("ages").clone()
}

#[test]
fn what_is_shown_at_the_end_is_what_the_results_say() {
    let dashboard = Dashboard::start(&[], &[]);
    let text = shipped("two-sites.toml").replace("[run]\n", "[run]\nbounds = false\n");
    let two_sites = draft("two-sites.toml", &text);
    dashboard.post("/api/control/start", &two_sites).expect(202);
    let state = dashboard.until(|state| state["session"]["state"] == "done");
    assert_eq!(state["runs"].as_array().unwrap().len(), 4);
    let last = &state["runs"][3];
    let dir = last["dir"].as_str().unwrap();
    let manifest =
        std::fs::read_to_string(dashboard.runs().join(dir).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let (now, summary) = (&state["now"], &manifest["summary"]);
    assert!(close(&now["delay_mean_s"], &summary["delay_s"]["mean"]));
    assert!(close(&now["waited_share"], &summary["waited_share"]));
    assert_eq!(now["finished"], summary["jobs"]["completed"]);
    assert_eq!(last["delay_p95_s"], summary["delay_s"]["p95"]);
    let ratio = now["forwarded"].as_f64().unwrap() / now["submitted"].as_f64().unwrap();
    assert!(close(&ratio.into(), &summary["forwarding_ratio"]));
    let p95 = now["delay_p95_s"].as_f64().unwrap() / summary["delay_s"]["p95"].as_f64().unwrap();
    assert!((p95 - 1.0).abs() < 0.03, "{p95}");
    assert_eq!(state["session"]["warnings"], manifest["warnings"]);
    // The same from the directory alone.
    let again = dashboard
        .get(&format!("/api/live/run/{dir}"))
        .expect(200)
        .json();
    let figures = "submitted finished forwarded forwards delay_mean_s waited_share clusters events";
    for field in split(figures) {
        assert_eq!(again["now"][field], now[field], "{field}");
    }
    // How old information is at the end, and how old it was over the run: from
    // the latency of 1 ms or 50 ms on for the 15 s between two samples.
    for (age, live) in ages(&again).iter().zip(ages(&state)) {
        for field in ["own_s", "peers", "oldest_s"] {
            assert_eq!(age[field], live[field], "{field}");
        }
        assert!(live["run"].is_null(), "{live}");
        let near = |at: &str, expected: f64| {
            let got = age["run"].pointer(at).and_then(Value::as_f64).expect(at);
            assert!((got - expected).abs() < 0.02, "{at}: {got}");
        };
        near("/own_s/0", 7.501);
        near("/own_s/1", 14.251);
        near("/peers_s/0/0", 7.55);
        near("/peers_s/0/1", 14.3);
        near("/oldest_s/1", 14.3);
    }
    assert!(
        again["course"]["rows"] == state["course"]["rows"],
        "the same course"
    );
    assert!(
        dashboard
            .get(&format!("/live/{dir}"))
            .expect(200)
            .body
            .contains(dir)
    );
    let jobs = dashboard
        .get(&format!("/api/live/jobs/7?run={dir}"))
        .expect(200)
        .json();
    let kinds: Vec<&str> = jobs["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        (kinds[0], *kinds.last().unwrap()),
        ("submitted", "finish-seen")
    );
    assert!(kinds.contains(&"queued") && kinds.contains(&"started") && kinds.contains(&"finished"));
    assert!(!jobs["placement"].as_array().unwrap().is_empty());
}

#[test]
fn a_run_or_job_that_is_not_there_is_a_problem() {
    let dashboard = Dashboard::start(&[], &[]);
    assert_eq!(
        dashboard.get("/api/live/jobs/1").expect(404).code(),
        "no-run"
    );
    assert_eq!(
        dashboard.get("/api/live/jobs/x").expect(422).code(),
        "invalid"
    );
    for run in ["no/such/run", "..%2f..%2f..%2fetc", "%2fetc", "."] {
        let refused = dashboard.get(&format!("/api/live/run/{run}"));
        assert_eq!(refused.expect(404).code(), "no-such-run", "{run}");
    }
    let damaged = dashboard.runs().join("bad/run");
    std::fs::create_dir_all(&damaged).unwrap();
    std::fs::write(damaged.join("manifest.json"), "{\"format\": 1").unwrap();
    let refused = dashboard.get("/api/live/run/bad/run").expect(422);
    assert_eq!(refused.code(), "unreadable-run");
    assert!(refused.body.contains("manifest.json"), "{}", refused.body);
}

#[test]
fn a_hostile_name_is_text() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("runs");
    let done = run(&[
        "run",
        "resources/scenarios/two-sites.toml",
        "--set",
        "run.policies=[\"random\"]",
        "--out",
        out.to_str().unwrap(),
        "--json",
    ]);
    expect_code(&done, 0);
    let hostile = "<img src=x onerror=alert(1)>&\"'";
    std::fs::rename(out.join("two-sites-1"), out.join(hostile)).unwrap();
    let dashboard = Dashboard::start_over(dir, &[], &[]);
    let target = "%3Cimg%20src=x%20onerror=alert(1)%3E&%22'/random/r000";
    let page = dashboard.get(&format!("/live/{target}")).expect(200);
    assert!(
        !page.body.contains("<img src=x") && page.body.contains("onerror=alert(1)"),
        "{}",
        page.body
    );
    let data = dashboard
        .get(&format!("/api/live/run/{target}"))
        .expect(200);
    assert_eq!(data.headers["content-type"], "application/json");
    assert_eq!(
        data.json()["runs"][0]["dir"],
        format!("{hostile}/random/r000")
    );
}

#[test]
fn the_number_of_readers_is_bounded() {
    let dashboard = Dashboard::start(&[], &[]);
    let mut readers: Vec<Stream> = Vec::new();
    for _ in 0..64 {
        let mut reader = dashboard.events();
        assert_eq!(reader.next().name, "snapshot");
        readers.push(reader);
    }
    assert_eq!(
        dashboard.get("/api/live/events").expect(503).code(),
        "too-many-readers"
    );
    dashboard.get("/api/live").expect(200);
}

#[test]
fn a_run_on_the_command_line_shows_itself_and_prints_what_it_always_does() {
    let words = split("run resources/scenarios/two-sites.toml --no-out --json");
    let mut child = gridrig()
        .args(&words)
        .args(["--dashboard", "--keep-dashboard"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let url = line
        .trim()
        .strip_prefix("dashboard: ")
        .expect(&line)
        .to_owned();
    // Said when the run is over.
    while !line.contains("until Ctrl-C") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let bearer = format!("Bearer {}", token());
    let known = ("authorization", &*bearer);
    http::send(&url, "GET", "/api/live", &[], "").expect(401);
    let state = http::send(&url, "GET", "/api/live", &[known], "").json();
    assert_eq!(state["session"]["state"], "done");
    assert_eq!(state["now"]["finished"], 480);
    let start = [("content-type", "application/json"), known];
    let body = draft("two-sites.toml", &shipped("two-sites.toml")).to_string();
    let refused = http::send(&url, "POST", "/api/control/start", &start, &body);
    assert_eq!(refused.expect(409).code(), "watches-only");
    let not_kept = http::send(&url, "GET", "/api/live/jobs/1", &[known], "");
    assert_eq!(not_kept.expect(404).code(), "not-kept");
    interrupt(child.id());
    let output = ok(child.wait_with_output().unwrap());
    assert_eq!(
        json(&output),
        json(&run(&words)),
        "watching changes no figure"
    );
}

/// A process that ends with the test.
struct Ending(std::process::Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn jobs_behind_a_broker_that_is_not_ours_are_seen_to_be_placed_and_to_end() {
    let scenario = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [ { name = "a1", processors = 4 }, { name = "a2", processors = 4 } ]

[domain.broker]
kind = "external"
start = ["sh", "-c", "printf '#!/bin/sh\nsleep 1\n' | {a2.slurm}/sbatch -J other"]
outlet = "slurm:{a2.slurm}"

[run]
clock = "real"
lag_tolerance = "1h"
"#;
    // The second runs long enough for the first to be seen to have ended.
    let bench = Bench::new(scenario, &[(0, 1, 1), (0, 15, 2)]);
    let mut child = gridrig()
        .args(["run", &bench.path("s.toml"), "--out", &bench.path("runs")])
        .args(["--dashboard", "--keep-dashboard"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let _child = Ending(child);
    let mut line = String::new();
    let url = loop {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
        if let Some(url) = line.trim().strip_prefix("dashboard: ") {
            break url.to_owned();
        }
    };
    let bearer = format!("Bearer {}", token());
    let known = ("authorization", &*bearer);
    let now = || http::send(&url, "GET", "/api/live", &[known], "").json();
    let patience = crate::patience::Patience::seconds(180);
    let state = loop {
        let state = now();
        if state["now"]["finished"] == 1 {
            break state;
        }
        patience.wait(format_args!("no end is seen: {}", state["now"]));
    };
    assert_eq!(state["now"]["submitted"], 2, "{}", state["now"]);
    assert_eq!(state["now"]["running"], 1, "{}", state["now"]);
    // Queued, running, busy, finished; the other job is in no figure.
    assert_eq!(state["now"]["clusters"][0], serde_json::json!([0, 0, 0, 0]));
    assert_eq!(state["now"]["clusters"][1], serde_json::json!([0, 1, 2, 1]));
    // The LRMS knows of an end before whoever submitted the job.
    let life = loop {
        let life = http::send(&url, "GET", "/api/live/jobs/0", &[known], "").json();
        let last = life["steps"].as_array().unwrap().last();
        if last.is_some_and(|step| step["kind"] == "finish-seen") {
            break life;
        }
        patience.wait(format_args!("the end is not seen: {life}"));
    };
    let steps = life["steps"].as_array().unwrap().iter();
    let kinds: Vec<&str> = steps.filter_map(|step| step["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        ["submitted", "queued", "started", "finished", "finish-seen"]
    );
    while !line.contains("until Ctrl-C") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let state = now();
    assert_eq!(state["session"]["state"], "done", "{}", state["session"]);
    assert_eq!(state["now"]["finished"], 2);
    assert_eq!(state["now"]["clusters"][1], serde_json::json!([0, 0, 0, 2]));
}

/// Ctrl-C for a process.
pub fn interrupt(pid: u32) {
    let sent = std::process::Command::new("kill")
        .args(["-INT", &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}
