//! Three brokers in sessions over SOAP, one of which dies three times; and an LRMS that
//! dies and forgets its jobs, or goes on with its journal.

use crate::command::{
    Bench, Service, expect_code, expect_refused, gridrig, json, run, split, start, start_overheard,
    stdout,
};
use crate::overheard::{Overheard, served_wsdl};
use crate::patience::Patience;
use gridrig_core::event::Party;
use gridrig_core::ids::DomainId;
use gridrig_core::rng;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::{Client, ClientError};
use gridrig_protocol::rest::{EventPage, JobSubmission, Place};
use gridrig_service::free_ports;
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

const SITES: [&str; 3] = ["a", "b", "c"];
/// The broker that dies; jobs enter there, are forwarded from there, and come
/// there from the others.
const VICTIM: usize = 1;
const JOBS: u64 = 24;
/// Seconds of the run per second on the wall: the run has to last longer than it
/// takes a busy machine to restart a broker.
const SPEED: u64 = 10;

fn scenario() -> String {
    let workloads = "[[workload]]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
                     [[workload]]\ntrace = \"t.swf\"\ndomain = \"b\"\noffset = \"3s\"\n";
    let sites = SITES.map(|site| {
        let clusters = format!("[ {{ name = \"{site}1\", processors = 4 }} ]");
        format!("[[domain]]\nname = \"{site}\"\nclusters = {clusters}\n")
    });
    let links = [("a", "b"), ("a", "c"), ("b", "c")].map(|(one, other)| {
        format!(
            "[[link]]\nbetween = [\"{one}\", \"{other}\"]\nlatency = \"50ms\"\nprotocol = \"soap\"\n"
        )
    });
    let run = "[run]\npolicies = [\"round-robin\"]\nlag_tolerance = \"1h\"\n";
    workloads.to_owned() + &sites.concat() + &links.concat() + run
}

/// Three sites of processes, each service at a port of its own.
struct Rig {
    bench: Bench,
    epoch: u64,
    ports: BTreeMap<String, u16>,
    services: BTreeMap<String, Service>,
}

impl Rig {
    fn new() -> Self {
        let jobs: Vec<(u64, i64, u32)> = (0..JOBS)
            .map(|job| {
                (
                    job * 5,
                    [6, 11, 16, 31][(job % 4) as usize],
                    1 + (job % 2) as u32,
                )
            })
            .collect();
        let bench = Bench::new(&scenario(), &jobs);
        let names = SITES
            .iter()
            .flat_map(|site| [format!("{site}1"), (*site).to_owned()]);
        let ports = free_ports(2 * SITES.len()).unwrap();
        let clock = RunClock::starting_in(std::time::Duration::ZERO, Decimal::from_whole(SPEED));
        Rig {
            bench,
            epoch: clock.epoch_unix_ns(),
            ports: names.zip(ports).collect(),
            services: BTreeMap::new(),
        }
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}", self.ports[name])
    }

    /// `memory` is what a broker knows that is restarted.
    fn start(&mut self, kind: &str, name: &str, memory: &str) {
        let site = &name[..1];
        let listen = format!("127.0.0.1:{}", self.ports[name]);
        let (epoch, speed, scenario) = (
            self.epoch.to_string(),
            SPEED.to_string(),
            self.bench.path("s.toml"),
        );
        let mut words: Vec<String> = [
            kind,
            "--scenario",
            &scenario,
            "--name",
            name,
            "--listen",
            &listen,
            "--speed",
            &speed,
            "--epoch",
            &epoch,
        ]
        .map(str::to_owned)
        .to_vec();
        let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        if kind == "emulator" {
            add("--broker", self.url(site));
        } else {
            add(
                "--lrms",
                format!("{site}1={}", self.url(&format!("{site}1"))),
            );
            for peer in SITES.iter().filter(|peer| **peer != site) {
                add("--peer", format!("{peer}={}", self.url(peer)));
            }
            add("--journal", self.bench.path(&format!("{site}.jsonl")));
            add("--memory", memory.to_owned());
            add("--heartbeat", "500ms".to_owned());
        }
        let service = match kind {
            "broker" => start_overheard(&words, &self.bench.path(&format!("{name}.wire"))),
            _ => start(&words),
        };
        self.services.insert(name.to_owned(), service);
    }

    /// Holds every message that the brokers have sent or received against the
    /// schema in the WSDL that one of them serves.
    fn check_messages(&self, test: &str) {
        let logs = SITES.map(|site| self.bench.path(&format!("{site}.wire")));
        let expected = [
            "openConn",
            "heartbeat",
            "requestResourceData",
            "sendResourceData",
            "submitJob",
            "notifyJob",
        ];
        Overheard::in_files(logs).holds(test, &served_wsdl(&self.url("a")), &expected);
    }

    /// What a service tells of its events.
    fn events(&self, name: &str) -> EventPage {
        answered(async |client| client.events(&self.url(name), 0).await)
    }

    /// Jobs that have been queued at the LRMSs so far.
    fn queued(&self) -> usize {
        let count = |site: &&str| {
            let page = self.events(&format!("{site}1"));
            page.events
                .iter()
                .filter(|event| event.event == "queued")
                .count()
        };
        SITES.iter().map(count).sum()
    }

    /// Jobs that the victim has forwarded, or has been forwarded, and that have
    /// not ended, as the brokers tell.
    fn forwards_in_flight(&self) -> usize {
        let mut forwarded = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for site in SITES {
            for event in self.events(site).events {
                let victim = Party::Broker(DomainId(VICTIM as u16));
                let is_victim = |place: &Place| Party::from(*place) == victim;
                let victims = is_victim(&event.by) || event.to.as_ref().is_some_and(is_victim);
                match (event.event.as_str(), event.job) {
                    ("forwarded", Some(job)) if victims => drop(forwarded.insert(job)),
                    ("finish-seen", Some(job)) => drop(ended.insert(job)),
                    _ => {}
                }
            }
        }
        forwarded.difference(&ended).count()
    }
}

/// What somebody is answered who asks so.
fn answered<T>(ask: impl AsyncFnOnce(Client) -> Result<T, ClientError>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = Client::new(std::time::Duration::from_secs(30)).unwrap();
    runtime.block_on(ask(client)).unwrap()
}

#[test]
fn a_job_at_an_lrms_that_is_killed_and_forgets_it_has_an_end() {
    let _alone = crate::real_time::alone();
    let mut rig = Rig::new();
    rig.start("emulator", "a1", "");
    rig.start("broker", "a", "journal");
    let job = serde_json::json!({"processors": 1, "run_time": "5h"});
    let job: JobSubmission = serde_json::from_value(job).unwrap();
    let receipt = answered(async |client| client.submit(&rig.url("a"), &job).await);
    let patience = Patience::seconds(300).every(20);
    let has_started = |rig: &Rig| {
        let page = rig.events("a1");
        page.events.iter().any(|event| event.event == "started")
    };
    while !has_started(&rig) {
        patience.wait("the job runs");
    }
    // Its broker has been told that it was taken.
    std::thread::sleep(std::time::Duration::from_secs(1));
    // It is there again before it counts as lost.
    drop(rig.services.remove("a1").unwrap());
    rig.start("emulator", "a1", "");
    let look = |rig: &Rig| answered(async |client| client.job(&rig.url("a"), receipt.id).await);
    while look(&rig).state == "sent" {
        patience.wait("the job has an end");
    }
    let job = look(&rig);
    assert_eq!(job.state, "failed", "{job:?}");
    assert_eq!(job.reason.as_deref(), Some("lost"));
    assert!(!has_started(&rig));
}

#[test]
fn an_emulator_that_is_killed_goes_on_with_its_journal_and_each_job_ends_once() {
    let _alone = crate::real_time::alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.journal").display().to_string();
    let port = free_ports(1).unwrap()[0];
    let clock = RunClock::starting_in(std::time::Duration::ZERO, Decimal::from_whole(SPEED));
    let epoch = format!(" --epoch {}", clock.epoch_unix_ns());
    let same = format!(
        "emulator --face ws-agreement --listen 127.0.0.1:{port} --speed {SPEED} --journal {path}"
    );
    let line = format!("{same} --processors 1{epoch}");
    let first = start(&split(&line));
    let url = first.url.clone();
    let look = |id: u32| answered(async |client| client.job(&url, id).await);
    // One processor, so that one has ended, one runs and one waits.
    let ids = ["1s", "40s", "5s"].map(|run_time| {
        let job = serde_json::json!({"processors": 1, "run_time": run_time});
        let job: JobSubmission = serde_json::from_value(job).unwrap();
        answered(async |client| client.submit(&url, &job).await).id
    });
    let patience = Patience::seconds(300).every(20);
    while look(ids[1]).state == "queued" {
        patience.wait("the second job runs");
    }
    let ended = look(ids[0]);
    assert_eq!(ended.state, "completed");
    // SIGKILL, and the same command once more.
    drop(first);
    let second = start(&split(&line));
    assert_eq!(look(ids[0]), ended);
    while look(ids[2]).state != "completed" {
        patience.wait("the last job has an end");
    }
    // Time has gone on meanwhile, and what was due has happened at its instant.
    let [_, runs, waits] = ids.map(look);
    let millis = |from: Option<u64>, to: Option<u64>| (to.unwrap() - from.unwrap()) / 1_000_000;
    assert_eq!(millis(runs.start_ns, runs.finish_ns), 40_000, "{runs:?}");
    assert_eq!(waits.start_ns, runs.finish_ns);
    assert_eq!(millis(waits.start_ns, waits.finish_ns), 5_000, "{waits:?}");
    let page = answered(async |client| client.events(&url, 0).await);
    assert_eq!(page.lives, 2);
    for kind in ["queued", "started", "finished"] {
        let of_kind = page.events.iter().filter(|event| event.event == kind);
        let jobs: Vec<_> = of_kind.filter_map(|event| event.job).collect();
        assert_eq!(jobs, ids, "{kind}");
    }
    drop(second);
    for (more, said) in [
        (
            format!(" --processors 2{epoch}"),
            "c.journal: line 1: of = emulator cluster",
        ),
        (" --processors 1".to_owned(), "(expected --epoch "),
    ] {
        let output = run(&split(&format!("{same}{more}")));
        expect_refused(&output, said);
        assert_eq!(stdout(&output), "", "it does not listen");
    }
}

#[test]
fn an_emulator_whose_journal_cannot_be_written_does_not_say_that_it_listens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing/c.journal").display().to_string();
    let output = run(&["emulator", "--processors", "1", "--journal", &path]);
    expect_refused(&output, &path);
    assert_eq!(stdout(&output), "");
}

#[test]
fn an_emulator_keeps_no_journal_if_others_know_more_of_its_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let [path, bin] = ["c.journal", "bin"].map(|name| dir.path().join(name));
    let slurm = format!("--slurm-bin {}", bin.display());
    for (more, said) in [
        ("--face arc", "expected no face arc at cluster cluster"),
        ("--face bes", "expected no face bes"),
        (slurm.as_str(), "expected no commands of Slurm"),
        ("--lrms slurm", "expected no real LRMS"),
    ] {
        let line = format!(
            "emulator --processors 1 --journal {} {more}",
            path.display()
        );
        expect_refused(&run(&split(&line)), said);
    }
    assert!(!path.exists() && !bin.exists());
}

#[test]
fn a_broker_that_is_killed_three_times_loses_no_job_and_runs_none_twice() {
    let _alone = crate::real_time::alone();
    let mut rig = Rig::new();
    for site in SITES {
        rig.start("emulator", &format!("{site}1"), "");
    }
    for site in SITES {
        rig.start("broker", site, "journal");
    }
    let out = rig.bench.path("runs");
    let mut replay = gridrig();
    replay.args(["replay", &rig.bench.path("s.toml"), "--json", "--out", &out]);
    replay.args(["--patience", "10min"]);
    for site in ["a", "b"] {
        replay.args(["--to", &format!("{site}={}", rig.url(site))]);
    }
    for site in SITES {
        replay.args(["--collect", &rig.url(site)]);
    }
    for site in SITES {
        replay.args(["--collect", &rig.url(&format!("{site}1"))]);
    }
    let replay = replay
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Three seeded instants, by how far the run has come, so that a slow
    // machine sees the same story: early, in the middle and late.
    let mut random = rng::stream(9, "kill");
    let all = 2 * JOBS as usize;
    for (third, memory) in (0..).zip(["journal", "none", "journal"]) {
        let instant = third * all / 4 + random.random_range(all / 20..all / 5);
        let patience = Patience::seconds(300).every(20);
        while rig.queued() < instant || rig.forwards_in_flight() == 0 {
            patience.wait(format!(
                "{instant} of {all} jobs queued, and a forward in flight"
            ));
        }
        // SIGKILL: it says goodbye to nobody.
        drop(rig.services.remove(SITES[VICTIM]).unwrap());
        rig.start("broker", SITES[VICTIM], memory);
    }
    let output = replay.wait_with_output().unwrap();
    expect_code(&output, 0);
    let run = &json(&output)["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert_eq!(run["jobs"]["submitted"], all, "{run}");
    assert_eq!(run["jobs"]["completed"], all, "{run}");
    assert!(run["forwarding_ratio"].as_f64() > Some(0.1), "{run}");
    assert_eq!(rig.events(SITES[VICTIM]).lives, 4);
    // Exactly once, from the LRMSs' own logs: each knows only what it ran.
    let mut times: BTreeMap<(String, u32), Vec<String>> = BTreeMap::new();
    for site in SITES {
        let page = rig.events(&format!("{site}1"));
        assert_eq!(page.lives, 1);
        for event in page.events {
            if let Some(job) = event.job {
                let seen = times.entry((event.event, job)).or_default();
                seen.push(format!("{site}1"));
            }
        }
    }
    for kind in ["queued", "started", "finished"] {
        let of_kind = times.iter().filter(|((event, _), _)| event == kind);
        let often: Vec<_> = of_kind.clone().filter(|(_, at)| at.len() != 1).collect();
        assert!(often.is_empty(), "{often:?}");
        assert_eq!(of_kind.count(), all, "{kind}");
    }
    rig.check_messages("a_broker_that_is_killed_three_times_loses_no_job_and_runs_none_twice");
}
