//! A workload that leaves over the peer protocol of LA Grid: the replayer is a
//! consumer in a session with a real broker.

use crate::command::{
    Bench, PAIR, Service, expect_code, gridrig, json, start, start_overheard, stderr,
};
use crate::overheard::{Overheard, heard_of, overheard, served_wsdl};
use crate::patience::Patience;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::soap::Version;
use gridrig_service::free_ports;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Jobs that fill both sites, and one that fits nowhere.
const JOBS: [(u64, i64, u32); 9] = [
    (0, 11, 4),
    (1, 6, 2),
    (2, 6, 2),
    (3, 16, 3),
    (4, 6, 8),
    (5, 6, 1),
    (20, 6, 4),
    (22, 6, 1),
    (23, 6, 4),
];

/// The same clusters behind a broker of which nothing is known.
const WHOLE: &str = r#"
[workload]
trace = "t.swf"
domain = "grid"

[[domain]]
name = "grid"
clusters = [ { name = "a1", processors = 4 }, { name = "b1", processors = 4 } ]

[run]
bounds = false
lag_tolerance = "1h"
"#;

/// Two sites of processes whose brokers talk in sessions; a knows a client.
struct Rig {
    bench: Bench,
    urls: Vec<String>,
    _services: Vec<Service>,
}

impl Rig {
    fn start(jobs: &[(u64, i64, u32)]) -> Self {
        let scenario = PAIR.replace(
            "latency = \"50ms\"",
            "latency = \"50ms\"\nprotocol = \"soap\"",
        );
        let bench = Bench::new(&scenario, jobs);
        std::fs::write(bench.path("whole.toml"), WHOLE).unwrap();
        let ports = free_ports(4).unwrap();
        let urls: Vec<String> = ports
            .iter()
            .map(|port| format!("http://127.0.0.1:{port}"))
            .collect();
        let clock = RunClock::starting_in(std::time::Duration::ZERO, Decimal::from_whole(20));
        let epoch = clock.epoch_unix_ns().to_string();
        let service = |kind: &str, name: &str, at: usize, more: &[String]| {
            let (scenario, listen) = (bench.path("s.toml"), format!("127.0.0.1:{}", ports[at]));
            let mut words = vec![kind, "--scenario", &scenario, "--name", name];
            words.extend(["--listen", &listen, "--speed", "20", "--epoch", &epoch]);
            words.extend(more.iter().map(String::as_str));
            match kind {
                "broker" => start_overheard(&words, &bench.path(&format!("{name}.wire"))),
                _ => start(&words),
            }
        };
        let text = str::to_owned;
        let services = vec![
            service("emulator", "a1", 0, &[text("--broker"), urls[2].clone()]),
            service("emulator", "b1", 1, &[text("--broker"), urls[3].clone()]),
            service(
                "broker",
                "a",
                2,
                &[
                    text("--lrms"),
                    format!("a1={}", urls[0]),
                    text("--peer"),
                    format!("b={}", urls[3]),
                    text("--client"),
                    text("tester"),
                    text("--map-identity"),
                    text("tester=grid-users"),
                ],
            ),
            service(
                "broker",
                "b",
                3,
                &[
                    text("--lrms"),
                    format!("b1={}", urls[1]),
                    text("--peer"),
                    format!("a={}", urls[2]),
                    text("--map-identity"),
                    text("a=grid-a"),
                ],
            ),
        ];
        let rig = Rig {
            bench,
            urls,
            _services: services,
        };
        // Jobs are forwarded once there is a session.
        let patience = Patience::seconds(180);
        while !rig.asked(2, "/v1/peers").contains("\"state\":\"open\"") {
            patience.wait("a session between the brokers");
        }
        rig
    }

    /// What a service answers to a GET.
    fn asked(&self, service: usize, path: &str) -> String {
        let url = format!("{}{path}", self.urls[service]);
        let output = Command::new("curl").args(["-s", "-m", "60", &url]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    /// What the brokers have said, to each other and to the replayer.
    fn overheard(&self) -> Overheard {
        Overheard::in_files(["a", "b"].map(|name| self.bench.path(&format!("{name}.wire"))))
    }

    fn replay(&self, outlet: &str) -> Command {
        let mut replay = gridrig();
        replay.args(["replay", &self.bench.path("whole.toml"), "--json"]);
        replay.args(["--outlet", &format!("grid={outlet}")]);
        replay.args(["--collect", &self.urls[0], "--collect", &self.urls[1]]);
        replay
    }
}

#[test]
fn a_trace_leaves_over_soap_and_json_and_is_found_again_in_the_lrmss() {
    let rig = Rig::start(&JOBS);
    for kind in ["lagrid", "lagrid-soap12", "lagrid-json"] {
        let outlet = format!("{kind}:{}#tester", rig.urls[2]);
        let out = rig.bench.path(kind);
        let mut replay = rig.replay(&outlet);
        let output = overheard(&mut replay).args(["--out", &out]).output();
        let output = output.unwrap();
        expect_code(&output, 0);
        match kind {
            "lagrid" => heard_of(&output).spoke(Version::Soap11),
            "lagrid-soap12" => heard_of(&output).spoke(Version::Soap12),
            _ => {}
        }
        let run = &json(&output)["runs"][0];
        assert_eq!(run["audit"], "ok", "{kind}: {run}");
        assert_eq!(run["jobs"]["submitted"], 9, "{kind}: {run}");
        assert_eq!(run["jobs"]["completed"], 8, "{kind}: {run}");
        // No LRMS has had it: the broker says what became of it.
        assert_eq!(run["jobs"]["rejected"], 1, "{kind}: {run}");
        let warnings = run["warnings"].to_string();
        assert!(warnings.contains("8 found in the logs"), "{warnings}");
        let (a, b) = (
            rig.asked(0, "/v1/jobs?limit=100"),
            rig.asked(1, "/v1/jobs?limit=100"),
        );
        assert!(a.contains("gridrig_") && b.contains("gridrig_"), "{a}\n{b}");
    }
    // A broker has each job under the local identity of whoever sent it.
    for (broker, identity) in [(2, "grid-users"), (3, "grid-a")] {
        let list = rig.asked(broker, "/v1/jobs?limit=1000");
        let list: Value = serde_json::from_str(&list).unwrap();
        let jobs = list["jobs"].as_array().unwrap();
        let mapped = jobs.iter().all(|job| job["identity"] == identity);
        assert!(mapped && !jobs.is_empty(), "{list}");
    }
    // Who is not known there gets no session, and learns why.
    let outlet = format!("lagrid:{}#mallory", rig.urls[2]);
    let mut replay = rig.replay(&outlet);
    let output = overheard(&mut replay).output().unwrap();
    expect_code(&output, 1);
    let said = stderr(&output);
    let last = said.lines().rfind(|line| !line.starts_with('{'));
    assert!(
        last.is_some_and(|line| line.contains("not-authorized")),
        "{said}"
    );
    let mut heard = rig.overheard();
    heard.listen(&said);
    heard.holds(
        "a_trace_leaves_over_soap_and_json_and_is_found_again_in_the_lrmss",
        &served_wsdl(&rig.urls[2]),
        &[
            "openConn",
            "submitJob",
            "queryJob",
            "sendResourceData",
            "notifyJob",
        ],
    );
}

#[test]
fn a_replay_that_is_broken_off_removes_what_it_has_submitted() {
    // Hours of the run, for half a minute of the wall.
    let rig = Rig::start(&[(0, 90_000, 4), (1, 90_000, 4), (2, 90_000, 4)]);
    let outlet = format!("lagrid:{}#tester", rig.urls[2]);
    let replay = rig.replay(&outlet);
    let mut replay = replay_quietly(replay);
    let running = |service| {
        rig.asked(service, "/v1/jobs")
            .contains("\"state\":\"running\"")
    };
    let patience = Patience::seconds(180);
    while !(running(0) && running(1)) {
        patience.wait("a job at both sites");
    }
    let id = replay.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    replay.wait().unwrap();
    let cancelled = |service: usize| {
        let jobs = rig.asked(service, "/v1/jobs");
        jobs.contains("\"state\":\"cancelled\"") && !jobs.contains("\"state\":\"running\"")
    };
    let patience = Patience::seconds(180);
    while !(cancelled(0) && cancelled(1)) {
        patience.wait("every job to be cancelled");
    }
    rig.overheard().holds(
        "a_replay_that_is_broken_off_removes_what_it_has_submitted",
        &served_wsdl(&rig.urls[2]),
        &["openConn", "submitJob", "cancelJob"],
    );
}

fn replay_quietly(mut replay: Command) -> std::process::Child {
    let replay = replay.stdout(Stdio::null()).stderr(Stdio::null());
    replay.spawn().unwrap()
}
