//! A broker that stands still for a while, without being restarted: its peer
//! loses it, and finds it again with everything as it was. A peer that is away for
//! so long that it is given up is a matter of agents (`given_up` in
//! `crates/simtest/tests/it`).

use crate::command::{Bench, Service, gridrig, json, ok, split, start, start_overheard};
use crate::overheard::{Overheard, served_wsdl};
use crate::patience::Patience;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_service::free_ports;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

const JOBS: u64 = 24;
/// Seconds of the run per second on the wall.
const SPEED: u64 = 10;

/// Jobs enter at a, which forwards every other one to b.
const GRID: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [ { name = "a1", processors = 8 } ]

[[domain]]
name = "b"
clusters = [ { name = "b1", processors = 8 } ]

[[link]]
between = ["a", "b"]
latency = "50ms"
protocol = "soap"

[run]
policies = ["round-robin"]
lag_tolerance = "1h"
bounds = false
"#;

/// Two emulators and two brokers, each a process of its own.
struct Rig {
    bench: Bench,
    urls: BTreeMap<&'static str, String>,
    services: BTreeMap<&'static str, Service>,
}

impl Rig {
    fn start() -> Self {
        let jobs = (0..JOBS).map(|job| (job * 3, [6, 11, 31][(job % 3) as usize], 1));
        let bench = Bench::new(GRID, &jobs.collect::<Vec<_>>());
        let ports = free_ports(4).unwrap();
        let names = ["a1", "b1", "a", "b"].into_iter();
        let urls = names.zip(ports);
        let urls = urls.map(|(name, port)| (name, format!("http://127.0.0.1:{port}")));
        let urls: BTreeMap<&str, String> = urls.collect();
        let clock = RunClock::starting_in(std::time::Duration::ZERO, Decimal::from_whole(SPEED));
        let (epoch, speed) = (clock.epoch_unix_ns().to_string(), SPEED.to_string());
        let service = |kind: &str, name: &str, more: &[String]| {
            let listen = urls[name].replace("http://", "");
            let scenario = bench.path("s.toml");
            let mut words = vec![kind, "--scenario", &scenario, "--name", name];
            words.extend(["--listen", &listen, "--speed", &speed, "--epoch", &epoch]);
            words.extend(more.iter().map(String::as_str));
            match kind {
                "broker" => start_overheard(&words, &bench.path(&format!("{name}.wire"))),
                _ => start(&words),
            }
        };
        let broker = |name: &str, peer: &str| {
            let lrms = format!("{name}1");
            let words = [
                ("--lrms", format!("{lrms}={}", urls[lrms.as_str()])),
                ("--peer", format!("{peer}={}", urls[peer])),
                ("--heartbeat", "300ms".to_owned()),
                ("--give-up", "10min".to_owned()),
            ];
            let words = words.map(|(flag, value)| [flag.to_owned(), value]);
            service("broker", name, &words.concat())
        };
        let emulator = |name: &str, site: &str| {
            service(
                "emulator",
                name,
                &["--broker".to_owned(), urls[site].clone()],
            )
        };
        let services = BTreeMap::from([
            ("a1", emulator("a1", "a")),
            ("b1", emulator("b1", "b")),
            ("a", broker("a", "b")),
            ("b", broker("b", "a")),
        ]);
        Rig {
            bench,
            urls,
            services,
        }
    }

    fn signal(&self, name: &str, signal: &str) {
        let id = self.services[name].child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    fn asked(&self, name: &str, path: &str) -> Value {
        let url = format!("{}{path}", self.urls[name]);
        let output = Command::new("curl").args(["-s", "-m", "60", &url]).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap_or_default()
    }

    /// How the session of a with b stands.
    fn session(&self) -> String {
        let peers = self.asked("a", "/v1/peers");
        let state = &peers["peers"][0]["session"]["state"];
        state.as_str().unwrap_or_default().to_owned()
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let patience = Patience::seconds(240).every(100);
        while !is_so(self) {
            patience.wait(what);
        }
    }

    /// Jobs of broker a in this state.
    fn jobs(&self, state: &str) -> usize {
        let jobs = self.asked("a", "/v1/jobs?limit=1000");
        let jobs = jobs["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().filter(|job| job["state"] == state).count()
    }

    /// How often each event of a job is in the logs of both LRMSs.
    fn most(&self, kind: &str) -> (usize, usize) {
        let mut times = BTreeMap::new();
        for lrms in ["a1", "b1"] {
            let page = self.asked(lrms, "/v1/events?after=0");
            for event in page["events"].as_array().unwrap() {
                if event["event"] == kind {
                    *times.entry(event["job"].as_u64()).or_insert(0) += 1;
                }
            }
        }
        (times.len(), times.values().copied().max().unwrap_or(0))
    }

    fn replay(&self) -> Child {
        let mut replay = gridrig();
        replay.args(["replay", &self.bench.path("s.toml"), "--json"]);
        replay.args(["--to", &format!("a={}", self.urls["a"])]);
        for url in self.urls.values() {
            replay.args(["--collect", url]);
        }
        let replay = replay.stdout(Stdio::piped()).stderr(Stdio::piped());
        replay.spawn().unwrap()
    }

    /// Holds what both brokers have said against the schema that one serves.
    fn check_messages(&self, test: &str) {
        let logs = ["a", "b"].map(|name| self.bench.path(&format!("{name}.wire")));
        let expected = split("openConn heartbeat sendResourceData submitJob notifyJob");
        Overheard::in_files(logs).holds(test, &served_wsdl(&self.urls["a"]), &expected);
    }

    /// Stops b while jobs are with it, until a has lost it.
    fn lose_b(&self) {
        let at_b = |rig: &Rig| rig.asked("b1", "/v1/jobs?limit=1000")["jobs"].to_string();
        self.wait("a job that runs at b", |rig| at_b(rig).contains("running"));
        self.signal("b", "-STOP");
        self.wait("b to be lost", |rig| rig.session() == "lost");
    }
}

#[test]
fn a_peer_that_stands_still_is_lost_and_found_with_its_jobs_by_heartbeats_alone() {
    let rig = Rig::start();
    rig.wait("a session", |rig| rig.session() == "open");
    let replay = rig.replay();
    rig.lose_b();
    // What is with it is neither failed nor sent elsewhere.
    assert_eq!(rig.jobs("failed"), 0);
    rig.signal("b", "-CONT");
    rig.wait("b to be found", |rig| rig.session() == "open");
    let run = &json(&ok(replay.wait_with_output().unwrap()))["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert_eq!(run["jobs"]["completed"], JOBS, "{run}");
    assert_eq!(rig.asked("b", "/v1/events?after=0")["lives"], 1);
    for kind in ["queued", "started", "finished"] {
        assert_eq!(rig.most(kind), (JOBS as usize, 1), "{kind}");
    }
    rig.check_messages("a_peer_that_stands_still_is_lost_and_found_with_its_jobs");
}
