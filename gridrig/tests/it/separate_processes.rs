//! Emulators, brokers and the replayer, each a process of its own.

use crate::command::{
    ALONE, Bench, JOBS, PAIR, expect_code, expect_refused, gridrig, json, run, start,
    start_overheard,
};
use crate::patience::Patience;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::JobSubmission;
use gridrig_service::free_ports;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

#[test]
fn a_grid_of_processes_runs_a_workload_and_its_log_passes_the_audit() {
    let bench = Bench::new(PAIR, &JOBS);
    let scenario = bench.path("s.toml");
    let ports = free_ports(4).unwrap();
    let url = |index: usize| format!("http://127.0.0.1:{}", ports[index]);
    let now = std::process::Command::new("date")
        .arg("+%s%N")
        .output()
        .unwrap();
    let epoch = String::from_utf8(now.stdout).unwrap().trim().to_owned();
    let service = |kind: &str, name: &str, port: usize, rest: &[String]| {
        let listen = format!("127.0.0.1:{}", ports[port]);
        let mut words: Vec<String> = [
            kind,
            "--scenario",
            &scenario,
            "--name",
            name,
            "--listen",
            &listen,
            "--speed",
            "20",
            "--epoch",
            &epoch,
        ]
        .map(str::to_owned)
        .to_vec();
        words.extend_from_slice(rest);
        start(&words)
    };
    let flags = |pairs: &[(&str, String)]| -> Vec<String> {
        pairs
            .iter()
            .flat_map(|(flag, value)| [(*flag).to_owned(), value.clone()])
            .collect()
    };
    let services = [
        service("emulator", "a1", 0, &flags(&[("--broker", url(2))])),
        service("emulator", "b1", 1, &flags(&[("--broker", url(3))])),
        service(
            "broker",
            "a",
            2,
            &flags(&[
                ("--lrms", format!("a1={}", url(0))),
                ("--peer", format!("b={}", url(3))),
            ]),
        ),
        service(
            "broker",
            "b",
            3,
            &flags(&[
                ("--lrms", format!("b1={}", url(1))),
                ("--peer", format!("a={}", url(2))),
            ]),
        ),
    ];
    let mut replay = gridrig();
    replay.args([
        "replay",
        &scenario,
        "--json",
        "--to",
        &format!("a={}", url(2)),
    ]);
    for index in 0..4 {
        replay.args(["--collect", &url(index)]);
    }
    // The machine may be slow; what is looked at is that nothing is lost.
    replay.args(["--set", "run.lag_tolerance=1h"]);
    let output = replay.output().unwrap();
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert_eq!(run["jobs"]["completed"], 6, "{run}");
    assert_eq!(run["clock"], "real");
    assert!(run["forwarding_ratio"].as_f64() > Some(0.0), "{run}");
    for mut service in services {
        let id = service.child.id().to_string();
        std::process::Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap();
        assert_eq!(
            service.child.wait().unwrap().code(),
            Some(0),
            "a service shuts down gracefully"
        );
    }
}

#[test]
fn a_replay_waits_until_the_brokers_know_each_other() {
    let soap = "latency = \"50ms\"\nprotocol = \"soap\"";
    let bench = Bench::new(&PAIR.replace("latency = \"50ms\"", soap), &JOBS);
    let scenario = bench.path("s.toml");
    let ports = free_ports(4).unwrap();
    let url = |index: usize| format!("http://127.0.0.1:{}", ports[index]);
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(20));
    let epoch = clock.epoch_unix_ns().to_string();
    let service = |kind: &str, name: &str, port: usize, rest: &[(&str, String)]| {
        let listen = format!("127.0.0.1:{}", ports[port]);
        let mut words = vec![kind, "--scenario", &scenario, "--name", name];
        words.extend(["--listen", &listen, "--speed", "20", "--epoch", &epoch]);
        for (flag, value) in rest {
            words.extend([*flag, value.as_str()]);
        }
        start(&words)
    };
    let _lrms = [
        service("emulator", "a1", 0, &[("--broker", url(2))]),
        service("emulator", "b1", 1, &[("--broker", url(3))]),
    ];
    let ends = |lrms: &str, at: usize, peer: &str, there: usize| {
        [
            ("--lrms", format!("{lrms}={}", url(at))),
            ("--peer", format!("{peer}={}", url(there))),
        ]
    };
    let _a = service("broker", "a", 2, &ends("a1", 0, "b", 3));
    let mut replay = gridrig();
    replay.args([
        "replay",
        &scenario,
        "--json",
        "--set",
        "run.lag_tolerance=1h",
    ]);
    replay.args(["--to", &format!("a={}", url(2))]);
    for index in 0..3 {
        replay.args(["--collect", &url(index)]);
    }
    let replay = replay.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut replay = replay.spawn().unwrap();
    // Before anything is submitted it is said whose log will be missing: nobody listens there
    // yet.
    let said = BufReader::new(replay.stderr.take().unwrap());
    let mut said = said.lines().map_while(Result::ok);
    let named = said.find(|line| line.starts_with("not-collected: "));
    let said = thread::spawn(move || said.for_each(drop));
    let named = named.unwrap();
    assert!(
        named.starts_with("not-collected: broker b: the run lacks their events"),
        "{named}"
    );
    // Long enough for the first jobs to be decided, if they were submitted.
    thread::sleep(Duration::from_secs(2));
    let _b = service("broker", "b", 3, &ends("b1", 1, "a", 2));
    let output = replay.wait_with_output().unwrap();
    said.join().unwrap();
    let run = &json(&output)["runs"][0];
    assert!(run["warnings"].to_string().contains(&named), "{run}");
    assert_eq!(run["jobs"]["submitted"], 6, "{run}");
    // Every other job goes to b, from the first one on.
    assert_eq!(run["forwarding_ratio"], 0.5, "{run}");
}

#[test]
fn a_broker_without_peers_asks_its_clusters_what_they_are() {
    let ports = free_ports(2).unwrap();
    let (emulator, broker) = (ports[0], ports[1]);
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let now = std::process::Command::new("date")
        .arg("+%s%N")
        .output()
        .unwrap();
    let clock = format!(
        "--speed 20 --epoch {}",
        String::from_utf8(now.stdout).unwrap().trim()
    );
    let _lrms = start(&words(&format!(
        "emulator --processors 4 --listen 127.0.0.1:{emulator} --broker http://127.0.0.1:{broker} {clock}"
    )));
    let _broker = start(&words(&format!(
        "broker --name a --lrms a1=http://127.0.0.1:{emulator} --listen 127.0.0.1:{broker} {clock}"
    )));
    let alone = PAIR.split("[[domain]]").next().unwrap().to_owned()
        + "[[domain]]\nname = \"a\"\nclusters = [ { name = \"a1\", processors = 4 } ]\n";
    let bench = Bench::new(&alone, &JOBS);
    let output = gridrig()
        .args(["replay", &bench.path("s.toml"), "--json"])
        .args(["--to", &format!("a=http://127.0.0.1:{broker}")])
        .output()
        .unwrap();
    expect_code(&output, 0);
    let document = json(&output);
    assert_eq!(document["schema"], "gridrig.replay.1");
    assert_eq!(document["ends"]["completed"], 6);
}

/// An LRMS that was started without `--broker`: its broker tells it where it is, with each
/// job, and asks it how it stands.
#[test]
fn services_that_were_started_one_by_one_find_each_other() {
    let bench = Bench::new(PAIR, &JOBS);
    let log = bench.path("broker.log");
    let lrms = start(&["emulator", "--processors", "4", "--speed", "100"]);
    let lrms_at = format!("a1={}", lrms.url);
    let words = [
        "broker", "--name", "a", "--speed", "100", "--lrms", &lrms_at,
    ];
    let broker = start_overheard(&words, &log);
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let submit = |processors: u32| {
        let text = format!("{{\"processors\":{processors},\"run_time\":\"20s\"}}");
        let job: JobSubmission = serde_json::from_str(&text).unwrap();
        let receipt = runtime.block_on(client.submit(&broker.url, &job));
        receipt.unwrap().id
    };
    let jobs = [submit(4), submit(1)];
    let is_over = |job: u32| {
        let job = runtime.block_on(client.job(&broker.url, job));
        job.unwrap().is_over()
    };
    let patience = Patience::seconds(60);
    for job in jobs {
        while !is_over(job) {
            patience.wait(format_args!("job {job} is not known to have ended"));
        }
        let job = runtime.block_on(client.job(&broker.url, job)).unwrap();
        assert_eq!(job.state, "completed");
    }
    let asked = "the LRMS a1 does not report its load to this broker";
    while !std::fs::read_to_string(&log).unwrap().contains(asked) {
        patience.wait("a word about the load");
    }
    // What it says then is taken in: information is younger than the broker.
    let is_young = || {
        let known = runtime.block_on(client.broker(&broker.url)).unwrap();
        known.candidates[0].information_age_ns < known.clock.now_ns / 2
    };
    while !is_young() {
        patience.wait("a load that is taken in");
    }
}

/// Only the broker that it was told of has an LRMS hold processors.
#[test]
fn a_broker_says_which_lrms_holds_no_processors_for_it() {
    let bench = Bench::new(PAIR, &JOBS);
    let log = bench.path("broker.log");
    let lrms = start(&["emulator", "--processors", "4", "--speed", "100"]);
    let lrms_at = format!("a1={}", lrms.url);
    let mut words = vec!["broker", "--name", "a", "--policy", "worst-fit"];
    words.extend(["--speed", "100", "--lrms", &lrms_at]);
    let broker = start_overheard(&words, &log);
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..2 {
        let text = "{\"processors\":1,\"run_time\":\"20s\"}";
        let job: JobSubmission = serde_json::from_str(text).unwrap();
        runtime.block_on(client.submit(&broker.url, &job)).unwrap();
    }
    let refused = "the LRMS a1 holds no processors for this broker: field from = ";
    let said = || std::fs::read_to_string(&log).unwrap();
    let patience = Patience::seconds(60);
    while !said().contains(refused) {
        patience.wait("a word about the claims");
    }
    // They are tried again, and no more is said of it.
    thread::sleep(Duration::from_secs(2));
    let said = said();
    assert_eq!(said.matches(refused).count(), 1, "{said}");
    assert!(said.contains("expected the broker to which this LRMS reports"));
}

#[test]
fn nothing_is_left_of_a_killed_replay_and_a_killed_emulator_knows_none_of_its_jobs() {
    let alone = "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n[[domain]]\nname = \"a\"\n\
                 clusters = [ { name = \"a1\", processors = 4 } ]\n\
                 [run]\npolicies = [\"round-robin\"]\n";
    // Nobody waits for the end of this job.
    let bench = Bench::new(alone, &[(0, 90_000, 1)]);
    let ports = free_ports(2).unwrap();
    let url = |index: usize| format!("http://127.0.0.1:{}", ports[index]);
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(20));
    let epoch = clock.epoch_unix_ns().to_string();
    let service = |kind: &str, port: usize, rest: &[&str]| {
        let listen = format!("127.0.0.1:{}", ports[port]);
        let mut words = vec![kind, "--listen", &listen, "--speed", "20"];
        words.extend(["--epoch", &epoch]);
        words.extend(rest);
        start(&words)
    };
    let (lrms_at, to) = (format!("a1={}", url(0)), format!("a={}", url(1)));
    let emulator = || service("emulator", 0, &["--processors", "4", "--broker", &url(1)]);
    let lrms = emulator();
    let _broker = service("broker", 1, &["--name", "a", "--lrms", &lrms_at]);
    let mut replay = gridrig();
    replay.args(["replay", &bench.path("s.toml"), "--to", &to]);
    replay.args(["--collect", &url(0), "--collect", &url(1)]);
    replay.args(["--out", &bench.path("runs")]);
    let mut replay = replay.stderr(Stdio::null()).spawn().unwrap();
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = |index: usize| runtime.block_on(client.job(&url(index), 0));
    let patience = Patience::seconds(60);
    while !job(0).is_ok_and(|job| job.state == "running") {
        patience.wait("a job that runs");
    }
    replay.kill().unwrap();
    replay.wait().unwrap();
    // But an empty directory.
    let left = std::fs::read_dir(bench.path("runs/s-1/round-robin/r000"));
    assert_eq!(left.unwrap().count(), 0);
    assert_eq!(job(0).unwrap().state, "running");
    // SIGKILL.
    drop(lrms);
    while job(1).unwrap().reason.as_deref() != Some("lost") {
        patience.wait("a broker that has lost touch with the job");
    }
    let _lrms = emulator();
    let unknown = job(0).unwrap_err().to_string();
    assert!(unknown.contains("unknown-job"), "{unknown}");
    let lives = runtime.block_on(client.events(&url(0), 0)).unwrap().lives;
    assert_eq!(lives, 1);
}

#[test]
fn where_a_replay_goes_on_nobody_else_writes() {
    // Nobody waits for the end of this job.
    let bench = Bench::new(ALONE, &[(0, 90_000, 1)]);
    let lrms = start(&["emulator", "--name", "cluster", "--processors", "4"]);
    let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
    let to = format!("cluster={}", lrms.url);
    let mut words = vec!["replay", &scenario, "--to", &to, "--collect", &lrms.url];
    words.extend(["--out", &out, "--set", "run.lag_tolerance=1h"]);
    let mut first = gridrig();
    let first = first.args(&words).stdout(Stdio::null());
    let mut first = first.stderr(Stdio::null()).spawn().unwrap();
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let jobs = |id: u32| runtime.block_on(client.job(&lrms.url, id));
    let patience = Patience::seconds(60);
    while !jobs(0).is_ok_and(|job| job.state == "running") {
        patience.wait("a job that runs");
    }
    for force in [None, Some("--force")] {
        let replayed = run(&[&words[..], force.as_slice()].concat());
        let simulated = bench.run(force.as_slice());
        for refused in [replayed, simulated] {
            expect_refused(&refused, "another process is running it");
        }
    }
    assert!(jobs(1).is_err(), "a second replay has submitted a job");
    let id = first.id().to_string();
    let mut stop = std::process::Command::new("kill");
    assert!(stop.args(["-INT", &id]).status().unwrap().success());
    assert_eq!(first.wait().unwrap().code(), Some(130));
    let manifest = bench.path("runs/s-1/no-broker/r000/manifest.json");
    assert!(std::path::Path::new(&manifest).exists());
    // It is over.
    expect_code(&bench.run(&["--force"]), 0);
}

#[test]
fn a_domain_without_an_address_is_named_before_a_job_is_submitted() {
    let bench = Bench::new(PAIR, &JOBS);
    let lrms = start(&["emulator", "--processors", "4"]);
    let to = format!("b={}", lrms.url);
    let refused = run(&["replay", &bench.path("s.toml"), "--to", &to]);
    let expected = format!(
        "domain a: no address, but 6 of 6 jobs enter there (given: --to {to}; expected also \
         --to a=URL or --outlet a=OUTLET)"
    );
    expect_refused(&refused, &expected);
}
