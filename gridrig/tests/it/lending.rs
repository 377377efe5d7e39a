//! Processors that brokers lend each other as services, over HTTP.

use crate::command::{Bench, expect_audited, expect_code, gridrig, json, ok, run, split, start};
use crate::real_time::alone;
use gridrig_service::free_ports;

/// Two sites, each the sibling of the other. What does not fit at `a` runs at `b`.
const SITES: &str = "[workload]
trace = \"t.swf\"
domain = \"a\"

[[domain]]
name = \"a\"
siblings = [\"b\"]
grid = \"g\"
broker = { matchmaking_interval = \"20s\", delegation_interval = \"5s\", max_hops = 4 }
clusters = [ { name = \"a1\", processors = 2 } ]

[[domain]]
name = \"b\"
grid = \"g\"
central = true
broker = { matchmaking_interval = \"20s\", delegation_interval = \"5s\", max_hops = 4 }
clusters = [ { name = \"b1\", processors = 4 } ]

[mesh]
latency = \"1ms\"

[run]
policies = [\"free-node(matchmaking=delegate)\"]
speed = 50
lag_tolerance = \"1h\"
";

/// The second and the third find no room at `a`.
const JOBS: [(u64, i64, u32); 3] = [(1, 300, 2), (13, 100, 2), (21, 50, 1)];

#[test]
fn in_real_time_processors_are_lent_as_in_virtual_time() {
    let _alone = alone();
    let bench = Bench::new(SITES, &JOBS);
    let scenario = bench.path("s.toml");
    for matchmaking in ["delegate", "flock", "pull"] {
        let policy = format!("--set=run.policies=[\"free-node(matchmaking={matchmaking})\"]");
        let [virtually, really] = ["virtual", "real"].map(|clock| {
            let out = bench.path(&format!("{matchmaking}-{clock}"));
            let words = [
                "run", &scenario, "--json", "--clock", clock, "--out", &out, &policy,
            ];
            json(&ok(run(&words)))["runs"][0].clone()
        });
        for run in [&virtually, &really] {
            expect_audited(run, 3);
        }
        for figure in ["delegations", "releases", "intra_grid_processor_s"] {
            let figure = |run: &serde_json::Value| run["lending"][figure].clone();
            assert_eq!(
                figure(&really),
                figure(&virtually),
                "{matchmaking}: {really}"
            );
        }
    }
}

#[test]
fn a_lender_that_dies_is_not_waited_for() {
    let _alone = alone();
    let bench = Bench::new(SITES, &JOBS);
    let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
    // Between the request at 15 s and the cycle at 200 s, with seconds of the wall to both.
    let late = "--set=domain.*.broker.matchmaking_interval=200s";
    let output = run(&split(&format!(
        "run {scenario} --json --clock real --out {out} --no-journal --kill b@100s {late}"
    )));
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    expect_audited(run, 3);
    assert_eq!(run["lending"]["delegations"], 0, "{run}");
    assert_ne!(run["lending"]["requests"], 0, "{run}");
}

#[test]
fn two_broker_processes_lend_each_other_processors() {
    let _alone = alone();
    let bench = Bench::new(SITES, &JOBS);
    let scenario = bench.path("s.toml");
    let ports = free_ports(4).unwrap();
    let url = |index: usize| format!("http://127.0.0.1:{}", ports[index]);
    let now = std::process::Command::new("date").arg("+%s%N").output();
    let epoch = String::from_utf8(now.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned();
    let service = |kind: &str, name: &str, port: usize, rest: &[String]| {
        let listen = format!("127.0.0.1:{}", ports[port]);
        let common = format!("{kind} --scenario {scenario} --name {name} --listen {listen}");
        let mut words = split(&common);
        words.extend(["--speed", "50", "--epoch", &epoch]);
        words.extend(rest.iter().map(String::as_str));
        start(&words)
    };
    let broker = |name: &str, port: usize, peer: (&str, usize)| {
        let lrms = [("a1", 0), ("b1", 1)].map(|(name, at)| format!("--lrms={name}={}", url(at)));
        let peer = format!("--peer={}={}", peer.0, url(peer.1));
        service("broker", name, port, &[&lrms[..], &[peer]].concat())
    };
    let _services = [
        service("emulator", "a1", 0, &[format!("--broker={}", url(2))]),
        service("emulator", "b1", 1, &[format!("--broker={}", url(3))]),
        broker("a", 2, ("b", 3)),
        broker("b", 3, ("a", 2)),
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
    let run = &json(&ok(replay.output().unwrap()))["runs"][0];
    expect_audited(run, 3);
    assert_eq!(run["lending"]["delegations"], 2, "{run}");
}

#[test]
fn what_cannot_be_said_over_a_link_is_refused_before_it_runs() {
    let link = "[[link]]\nbetween = [\"a\", \"b\"]\nprotocol = \"soap\"";
    let soap = SITES.replace("[mesh]\nlatency = \"1ms\"", link);
    let bench = Bench::new(&soap, &JOBS);
    let output = run(&["check", &bench.path("s.toml"), "--clock", "real"]);
    expect_code(&output, 2);
    let said = crate::command::stderr(&output);
    let expected = "expected protocol = \"native\" on all links with matchmaking delegate";
    assert!(said.contains(expected), "{said}");
}
