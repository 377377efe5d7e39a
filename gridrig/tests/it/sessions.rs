//! Sessions of brokers that are processes of their own.

use crate::command::{
    Bench, PAIR, Service, expect_code, gridrig, json, run, start, start_overheard, stderr,
};
use crate::patience::Patience;
use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_core::time::SimTime;
use gridrig_protocol::rest::LoadReport;
use gridrig_service::free_ports;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

const SECRET: &str = "correct-horse-battery-staple-31415";

struct Pair {
    bench: Bench,
    ports: Vec<u16>,
    brokers: Vec<Service>,
}

/// A file for its owner alone.
fn secret(path: &str, text: &str) {
    std::fs::write(path, format!("{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Two brokers that speak JSON and share a token, and write down all they can.
/// Their clusters are not there: nobody submits anything.
fn pair(tokens: [&str; 2]) -> Pair {
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    let ports = free_ports(2).unwrap();
    let names = ["a", "b"];
    let brokers = (0..2).map(|index| {
        let (name, peer) = (names[index], names[1 - index]);
        let token = bench.path(&format!("{name}.token"));
        secret(&token, tokens[index]);
        let log = File::create(bench.path(&format!("{name}.log"))).unwrap();
        let mut child = gridrig()
            .env("GRIDRIG_LOG", "trace")
            .args([
                "broker",
                "--scenario",
                &bench.path("s.toml"),
                "--name",
                name,
            ])
            .args(["--listen", &format!("127.0.0.1:{}", ports[index])])
            .args(["--lrms", &format!("{name}1=http://127.0.0.1:9")])
            .args([
                "--peer",
                &format!("{peer}=http://127.0.0.1:{}", ports[1 - index]),
            ])
            .args([
                "--protocol",
                "json",
                "--auth",
                "bearer",
                "--heartbeat",
                "300ms",
            ])
            .args(["--peer-token", &format!("{peer}={token}")])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = format!("http://127.0.0.1:{}", ports[index]);
        Service { child, url }
    });
    let brokers = brokers.collect();
    Pair {
        bench,
        ports,
        brokers,
    }
}

impl Pair {
    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.bench.path(&format!("{name}.log"))).unwrap()
    }

    fn wait_for(&self, name: &str, texts: &[&str]) {
        let patience = Patience::seconds(180);
        while !texts.iter().any(|text| self.log(name).contains(text)) {
            patience.wait(format!("one of {texts:?} in the log of {name}"));
        }
    }
}

#[test]
fn a_role_changes_at_run_time_and_no_log_has_the_secret() {
    let pair = pair([SECRET, SECRET]);
    // Either of them may have been the first to speak.
    for name in ["a", "b"] {
        pair.wait_for(name, &["a session is open", "a peer has opened a session"]);
    }
    let url = &pair.brokers[0].url;
    let said = run(&["broker", "role", url, "b", "provider", "--json"]);
    expect_code(&said, 0);
    let said = json(&said);
    assert_eq!(
        (&said["role"], &said["state"]),
        (&"provider".into(), &"open".into())
    );
    assert_eq!(said["authentication"], "bearer");
    // The other side is the consumer now.
    let said = run(&[
        "broker",
        "role",
        &pair.brokers[1].url,
        "a",
        "consumer",
        "--json",
    ]);
    expect_code(&said, 0);
    assert_eq!(json(&said)["role"], "consumer");
    let back = run(&["broker", "role", url, "b", "both", "--json"]);
    // It agrees to no more than it wants itself.
    expect_code(&back, 0);
    assert_eq!(json(&back)["role"], "provider");
    let wrong = run(&["broker", "role", url, "b", "boss"]);
    expect_code(&wrong, 2);
    assert!(stderr(&wrong).contains("'boss' for '<ROLE>': expected one of provider"));
    let nobody = run(&["broker", "role", url, "zoe", "both"]);
    expect_code(&nobody, 2);
    for name in ["a", "b"] {
        let log = pair.log(name);
        assert!(log.contains("TRACE") && log.contains("session"), "{log}");
        assert!(!log.contains(SECRET), "a log has the secret");
        assert!(!log.contains(&SECRET[..12]), "a log has a part of it");
    }
    assert_eq!(pair.ports.len(), 2);
}

#[test]
fn brokers_with_different_tokens_get_no_session_and_say_why() {
    let other = "another-secret-of-the-same-length-";
    let pair = pair([SECRET, other]);
    for name in ["a", "b"] {
        pair.wait_for(name, &["not-authenticated"]);
        let log = pair.log(name);
        assert!(!log.contains("a session is open"), "{log}");
        assert!(
            !log.contains(SECRET) && !log.contains(other),
            "a log has a secret"
        );
    }
}

/// The busy processors of which this log of messages says that a peer was told as of a change.
fn changes_told(log: &str) -> BTreeSet<u64> {
    let log = std::fs::read_to_string(log).unwrap();
    let entries = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let pushes = entries.filter(|it: &Value| it["fields"]["operation"] == "sendResourceData");
    let said = pushes.filter_map(|it| serde_json::from_str(it["fields"]["message"].as_str()?).ok());
    let changes = said.filter(|it: &Value| it["update"]["kind"] == "incremental");
    changes
        .filter_map(|it| it["update"]["clusters"][0]["load"]["busy"].as_u64())
        .collect()
}

#[test]
fn a_peer_is_told_of_a_load_that_has_moved_past_the_share_and_of_no_other() {
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    let (scenario, log) = (bench.path("s.toml"), bench.path("a.wire"));
    let ports = free_ports(2).unwrap();
    let words = |name: &str, peer: &str, [own, other]: [u16; 2]| -> Vec<String> {
        let (listen, lrms) = (
            format!("127.0.0.1:{own}"),
            format!("{name}1=http://127.0.0.1:9"),
        );
        let peer = format!("{peer}=http://127.0.0.1:{other}");
        let words = ["broker", "--scenario", &scenario, "--protocol", "json"];
        let more = [
            "--name", name, "--listen", &listen, "--lrms", &lrms, "--peer", &peer,
        ];
        words.into_iter().chain(more).map(str::to_owned).collect()
    };
    let mut a = words("a", "b", [ports[0], ports[1]]);
    a.extend(["--push-past", "0.5"].map(str::to_owned));
    let a = start_overheard(&a, &log);
    let _b = start(&words("b", "a", [ports[1], ports[0]]));
    let (mut at, patience) = (0, Patience::seconds(180));
    // Of 4 processors, from 0 to 4 and from 4 to 0 are more than half, and from 4 to 3 is less.
    while changes_told(&log) != BTreeSet::from([0, 4]) {
        for busy in [4, 3, 0] {
            at += 1;
            let mut sample = LoadSample::idle(ClusterId(0), 4);
            (sample.at, sample.busy) = (SimTime::from_nanos(at), busy);
            let from = serde_json::json!({ "kind": "lrms", "id": 0 });
            let report =
                serde_json::json!({ "from": from, "samples": [LoadReport::from(&sample)] });
            let mut curl = Command::new("curl");
            curl.args(["-sSf", "-H", "content-type: application/json", "-d"]);
            curl.args([&report.to_string(), &format!("{}/v1/info", a.url)]);
            expect_code(&curl.output().unwrap(), 0);
        }
        patience.wait(format!("both changes: {:?}", changes_told(&log)));
    }
}

#[test]
fn what_sessions_need_and_do_not_have_is_said_before_anything_starts() {
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    let scenario = bench.path("s.toml");
    secret(&bench.path("short"), "hunter2");
    secret(&bench.path("good"), "hunter2-hunter2-hunter2");
    std::fs::copy(bench.path("good"), bench.path("open")).unwrap();
    let everybody = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(bench.path("open"), everybody).unwrap();
    let [short, good, open] = ["short", "good", "open"].map(|one| format!("b={}", bench.path(one)));
    let check = |words: &[&str], wanted: &str| {
        let mut all = vec![
            "broker",
            "--scenario",
            &scenario,
            "--name",
            "a",
            "--lrms",
            "a1=http://127.0.0.1:9",
            "--peer",
            "b=http://127.0.0.1:9",
        ];
        all.extend(words);
        let output = run(&all);
        expect_code(&output, 2);
        assert!(stderr(&output).contains(wanted), "{}", stderr(&output));
        assert!(!stderr(&output).contains("hunter2"), "the secret is said");
    };
    check(
        &["--protocol", "smtp"],
        "'smtp' for '--protocol <PROTOCOL>': expected one of native, json, soap, soap12",
    );
    check(
        &["--protocol", "soap", "--auth", "password"],
        "'password' for '--auth <METHOD>': expected one of mutual-tls, bearer, none",
    );
    check(
        &["--protocol", "soap", "--auth", "bearer"],
        "expected --peer-token b=...",
    );
    check(
        &["--protocol", "soap", "--auth", "mutual-tls"],
        "expected --peer-identity b=...",
    );
    check(
        &["--protocol", "soap", "--peer-token", &short],
        "expected a token of 16 to 512",
    );
    check(
        &["--protocol", "soap", "--peer-token", "hunter2"],
        "expected NAME=VALUE",
    );
    check(&["--peer-identity", "b=/CN=b"], "has the native protocol");
    check(&["--heartbeat", "0s"], "expected a duration above 0");
    check(
        &["--protocol", "soap", "--peer-token", &open],
        "open: others than its owner may read or write the file (expected",
    );
    check(
        &["--listen", "0.0.0.0:0"],
        "--listen 0.0.0.0:0: whoever is on the network could read and send everything",
    );
    check(
        &["--peer-listen", "0.0.0.0:0"],
        "--peer-listen 0.0.0.0:0: whoever is on the network",
    );
    // Nobody sends a token off the machine as it is.
    let words = ["--protocol", "soap", "--peer-token", &good];
    let far = ["--peer", "b=http://192.0.2.7:9"];
    let near = ["broker", "--scenario", &scenario, "--name", "a"];
    let near = near.into_iter().chain(["--lrms", "a1=http://127.0.0.1:9"]);
    let all: Vec<&str> = near.chain(far).chain(words).collect();
    let output = run(&all);
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("--peer b=http://192.0.2.7:9: its token would go over"),
        "{said}"
    );
}
