//! ARC's own, unmodified client in front of three emulated clusters: `arcsub`
//! with each of its brokers, and the commands that manage jobs.

use crate::arc::{element, elements};
use crate::{door, need};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::EventKind;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::{Recorded, RunClock};
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_emulator::{Config, Handle, spawn};
use gridrig_service::tls::{ServerTls, TlsFiles};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Clusters as (name, processors, speed): the wider, the slower.
const CLUSTERS: [(&str, u32, &str); 3] =
    [("fast", 4, "2"), ("middle", 16, "1.5"), ("wide", 64, "1")];

/// A user with a test authority, credentials and a configuration, and the
/// clusters that it names.
struct Bench {
    home: tempfile::TempDir,
    clusters: Vec<Handle>,
}

impl Bench {
    /// Nothing where a test has no client.
    async fn new(test: &str) -> Option<Self> {
        Self::with(test, false).await
    }

    /// With TLS each cluster has a certificate of the test authority and asks
    /// clients for theirs.
    async fn with(test: &str, is_secure: bool) -> Option<Self> {
        if !need::arc(test) {
            return None;
        }
        let mut bench = Bench {
            home: tempfile::tempdir().unwrap(),
            clusters: Vec::new(),
        };
        bench.certify();
        let tls = is_secure.then(|| {
            let files = TlsFiles {
                cert: bench.path("host-localhost-cert.pem"),
                key: bench.path("host-localhost-key.pem"),
                client_ca: Some(bench.path("ca/ARC-TestCA-rig.pem")),
            };
            ServerTls::read(&files).unwrap()
        });
        for (name, processors, speed) in CLUSTERS {
            let group = Resource {
                speed: Decimal::parse(speed).unwrap(),
                ..Resources::homogeneous(processors).groups()[0].clone()
            };
            let nodes = Resources::new(vec![group]).unwrap();
            let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(20));
            let mut config = Config::new(name, nodes, DisciplineKind::FirstInFirstFit, clock);
            config.faces = Faces::of(&[FaceKind::Arc]);
            config.tls.clone_from(&tls);
            bench.clusters.push(spawn(config, door()).await.unwrap());
        }
        bench.configure();
        Some(bench)
    }

    /// Where the client finds a cluster: the certificate is for localhost.
    fn url(cluster: &Handle) -> String {
        cluster
            .url()
            .replace("https://127.0.0.1", "https://localhost")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A test authority, and certificates of a user and of this host.
    fn certify(&self) {
        let folder = self.text("ca");
        let arcctl = |rest: &[&str]| {
            let mut words = vec!["test-ca", "--ca-id", "rig", "--ca-dir", &folder];
            words.extend(rest);
            self.run("arcctl", &words);
        };
        arcctl(&["init"]);
        arcctl(&["usercert", "-n", "alice", "-f", "--no-auth"]);
        arcctl(&["hostcert", "-n", "localhost", "-f"]);
    }

    /// A client.conf and a proxy.
    fn configure(&self) {
        let mut conf = format!(
            "[common]\ncertificatepath={}\nkeypath={}\ncacertificatesdirectory={}\nproxypath={}\n",
            self.text("client-alice-cert.pem"),
            self.text("client-alice-key.pem"),
            self.text("ca"),
            self.text("proxy.pem"),
        );
        for ((name, ..), cluster) in CLUSTERS.iter().zip(&self.clusters) {
            conf += &format!("\n[computing/{name}]\nurl={}/arex\n", Self::url(cluster));
        }
        std::fs::write(self.path("client.conf"), conf).unwrap();
        let conf = self.text("client.conf");
        self.run("arcproxy", &["-z", &conf, "-c", "validityPeriod=1H"]);
    }

    /// Runs a program that has to do well; answers what it said on both streams.
    fn run(&self, program: &str, words: &[&str]) -> String {
        let (is_ok, said) = self.tried(program, words);
        assert!(is_ok, "{program} {words:?}: {said}");
        said
    }

    fn tried(&self, program: &str, words: &[&str]) -> (bool, String) {
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap());
        let output = Command::new("timeout")
            .args(["-k", "5", "300"])
            .arg(program)
            .args(words)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("PATH", path)
            .env("PYTHONPATH", self.home.path())
            .env_remove("X509_USER_PROXY")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said)
    }

    fn arc(&self, program: &str, words: &[&str]) -> String {
        let (conf, jobs) = (self.text("client.conf"), self.text("jobs.dat"));
        let all = [&["-z", &conf, "-j", &jobs][..], words].concat();
        self.run(program, &all)
    }

    /// Submits a description to this cluster.
    fn send(&self, cluster: &str, file: &str) -> String {
        let words = ["-S", "org.nordugrid.arcrest", "-c", cluster, file];
        self.arc("arcsub", &words)
    }

    /// So many descriptions of one processor each.
    fn many(&self, name: &str, jobs: usize, seconds: u32, more: &str) -> Vec<String> {
        let one = |job| self.describe(&format!("{name}{job}"), 1, seconds, more);
        (0..jobs).map(one).collect()
    }

    fn describe(&self, name: &str, slots: u32, seconds: u32, more: &str) -> String {
        let text = format!(
            "&(executable=/bin/sleep)(arguments=\"{seconds}\")(jobname=\"{name}\")(count={slots})(walltime=\"10 minutes\"){more}\n"
        );
        let file = format!("{name}.xrsl");
        std::fs::write(self.path(&file), text).unwrap();
        self.text(&file)
    }

    /// Submits these descriptions at once; answers the cluster of each job.
    fn submit(&self, broker: &str, files: &[String]) -> Vec<&'static str> {
        let mut words = vec!["-S", "org.nordugrid.arcrest", "-b", broker];
        for (name, ..) in &CLUSTERS {
            words.extend(["-c", name]);
        }
        words.extend(files.iter().map(String::as_str));
        let said = self.arc("arcsub", &words);
        let ids = said
            .lines()
            .filter_map(|line| line.strip_prefix("Job submitted with jobid: "));
        let chosen: Vec<&str> = ids.map(|id| self.cluster_of(id)).collect();
        assert_eq!(chosen.len(), files.len(), "{said}");
        chosen
    }

    fn cluster_of(&self, id: &str) -> &'static str {
        let mut all = self.clusters.iter();
        let of = all.position(|cluster| id.starts_with(&Self::url(cluster)));
        CLUSTERS[of.unwrap_or_else(|| panic!("no cluster of {id}"))].0
    }

    /// Waits for every job of every cluster to end, and checks from the event
    /// logs alone that each ended exactly once, there where it was queued.
    async fn audit(&self, chosen: &BTreeMap<&'static str, usize>) {
        for ((name, ..), cluster) in CLUSTERS.iter().zip(&self.clusters) {
            let wanted = chosen.get(name).copied().unwrap_or(0);
            until_finished(cluster, wanted).await;
            let log = cluster.recorder().page(0, usize::MAX).events;
            let mut story: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
            for event in log.iter().map(Recorded::event) {
                let (queued, started) = (EventKind::Queued, EventKind::Started);
                if [queued, started, EventKind::Finished].contains(&event.kind) {
                    let words = story.entry(event.job.unwrap().0).or_default();
                    words.push(event.kind.name());
                }
            }
            // What never ends within a test is no job of arcsub's.
            story.retain(|_, words| *words != ["queued", "started"]);
            assert_eq!(story.len(), wanted, "{name}: jobs that arcsub sent there");
            for (job, words) in story {
                assert_eq!(
                    words,
                    ["queued", "started", "finished"],
                    "{name}: job {job}"
                );
            }
        }
    }
}

/// How many jobs have finished there.
fn finished(cluster: &Handle) -> usize {
    let log = cluster.recorder().page(0, usize::MAX).events;
    let ends = log.iter().map(Recorded::event);
    ends.filter(|event| event.kind == EventKind::Finished)
        .count()
}

/// Waits for so many jobs to finish there, for minutes at most.
async fn until_finished(cluster: &Handle, wanted: usize) {
    for _ in 0..3_600 {
        if finished(cluster) >= wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn count(chosen: &[&'static str]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for name in chosen {
        *counts.entry(*name).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn arcsub_spreads_60_jobs_at_random() {
    let test = "arcsub_spreads_60_jobs_at_random";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let files = bench.many("r", 60, 10, "");
    let chosen = count(&bench.submit("Random", &files));
    // 60 draws among three: that one gets fewer than 5 has odds of a million
    // to one.
    assert!(
        chosen.len() == 3 && chosen.values().all(|jobs| *jobs >= 5),
        "{chosen:?}"
    );
    bench.audit(&chosen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arcsub_sends_60_jobs_to_the_best_benchmark_that_is_wide_enough() {
    let test = "arcsub_sends_60_jobs_to_the_best_benchmark_that_is_wide_enough";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let widths = [2, 4, 5, 16, 17, 40];
    let expected = ["fast", "fast", "middle", "middle", "wide", "wide"];
    let mut files = Vec::new();
    for job in 0..60 {
        files.push(bench.describe(&format!("b{job}"), widths[job % 6], 4, ""));
    }
    let chosen = bench.submit("Benchmark", &files);
    for (job, chosen) in chosen.iter().enumerate() {
        assert_eq!(*chosen, expected[job % 6], "width {}", widths[job % 6]);
    }
    bench.audit(&count(&chosen)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arcsub_sends_60_jobs_where_their_input_already_is() {
    let test = "arcsub_sends_60_jobs_where_their_input_already_is";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let input = |of: &str| format!("(inputfiles=(\"data\" \"http://data.invalid/{of}\"))");
    let mut sent = Vec::new();
    for (name, ..) in CLUSTERS {
        let first = bench.describe(&format!("first-{name}"), 1, 4, &input(name));
        bench.send(name, &first);
        sent.push(name);
    }
    // One call for each input: the broker of 6.17 adds up what it finds over
    // all jobs of a call.
    for (name, ..) in CLUSTERS {
        let files = bench.many(&format!("d-{name}-"), 19, 4, &input(name));
        let chosen = bench.submit("Data", &files);
        assert_eq!(chosen, [name; 19]);
        sent.extend(chosen);
    }
    bench.audit(&count(&sent)).await;
}

/// Sorts by free processors, most first.
const MOST_FREE: &str = "
class MostFree:
    def __init__(self, usercfg):
        pass
    def match(self, target):
        return target.ComputingShare.FreeSlots >= 0
    def set(self, job):
        pass
    def lessthan(self, left, right):
        return left.ComputingShare.FreeSlots > right.ComputingShare.FreeSlots
";

#[tokio::test(flavor = "multi_thread")]
async fn arcsub_follows_a_broker_that_its_user_wrote() {
    let test = "arcsub_follows_a_broker_that_its_user_wrote";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    std::fs::write(bench.path("mostfree.py"), MOST_FREE).unwrap();
    // With 50 of the wide cluster's processors taken, 14, 16 and 4 are free.
    // That job is nobody's who is looked at here: it stays until the end.
    let load = r#"{"processors": 50, "run_time": "1d"}"#;
    let (status, _) = crate::submit(&bench.clusters[2], load).await;
    assert_eq!(status, 201);
    let mut sent = Vec::new();
    for round in 0..2 {
        let files = bench.many(&format!("p{round}-"), 30, 10, "");
        let chosen = bench.submit("PythonBroker:mostfree.MostFree", &files);
        // The client takes off what it has sent itself in this call.
        let mut free = BTreeMap::from([("fast", 4), ("middle", 16), ("wide", 14)]);
        for name in &chosen {
            let most = free.values().max().copied();
            assert_eq!(free.get(name).copied(), most, "{free:?}: {chosen:?}");
            free.entry(name).and_modify(|free| *free -= 1);
        }
        assert!(count(&chosen).len() == 3, "{chosen:?}");
        sent.extend(chosen);
        for (cluster, (name, ..)) in bench.clusters.iter().zip(CLUSTERS) {
            until_finished(cluster, count(&sent)[name]).await;
        }
    }
    assert_eq!(sent.len(), 60);
    bench.audit(&count(&sent)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fastest_queue_of_6_17_finds_no_waiting_jobs_through_rest() {
    let test = "fastest_queue_of_6_17_finds_no_waiting_jobs_through_rest";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    let file = bench.describe("q", 1, 4, "");
    // The client does not read WaitingJobs from any GLUE2 in XML, so that this
    // broker drops every target, those of a real A-REX as well.
    let (conf, jobs) = (bench.text("client.conf"), bench.text("jobs.dat"));
    let words = [
        ["-z", &conf, "-j", &jobs],
        ["-b", "FastestQueue", "-S", "org.nordugrid.arcrest"],
        ["-d", "VERBOSE", "-c", "fast"],
    ];
    let (is_ok, said) = bench.tried("arcsub", &[words.as_flattened(), &[file.as_str()]].concat());
    assert!(!is_ok, "{said}");
    assert!(
        said.contains("doesn't report number of waiting jobs"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_that_manage_jobs_work() {
    let test = "the_commands_that_manage_jobs_work";
    let Some(bench) = Bench::new(test).await else {
        return;
    };
    std::fs::write(bench.path("input.dat"), vec![b'x'; 3_000_000]).unwrap();
    let staged = "(inputfiles=(\"input.dat\" \"input.dat\"))(stdout=out.txt)(stderr=err.txt)";
    let file = bench.describe("done", 2, 10, staged);
    bench.send("fast", &file);
    let long = bench.describe("long", 1, 600, "(stdout=out.txt)");
    bench.send("fast", &long);
    let mut said = String::new();
    for _ in 0..600 {
        said = bench.arc("arcstat", &["-a"]);
        if said.contains("Finished") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(
        said.contains("State: Finished") && said.contains("State: Running"),
        "{said}"
    );
    let ids: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("Job: "))
        .collect();
    let (done, long) = match said.find("done") < said.find("long") {
        true => (ids[0], ids[1]),
        false => (ids[1], ids[0]),
    };
    let listed = bench.run(
        "arcls",
        &["-z", &bench.text("client.conf"), &format!("{done}/session")],
    );
    assert!(
        listed.contains("out.txt") && listed.contains("err.txt"),
        "{listed}"
    );
    let killed = bench.arc("arckill", &["--keep", long]);
    assert!(killed.contains("successfully killed: 1"), "{killed}");
    let said = bench.arc("arcstat", &[long]);
    assert!(said.contains("State: Killed"), "{said}");
    let got = bench.arc("arcget", &[done]);
    assert!(got.contains("successfully retrieved: 1"), "{got}");
    let folder = bench.path(done.rsplit('/').next().unwrap());
    let out = std::fs::read_to_string(folder.join("out.txt")).unwrap();
    assert!(
        out.contains("on 2 processors of emulated cluster fast"),
        "{out}"
    );
    let cleaned = bench.arc("arcclean", &[long]);
    assert!(cleaned.contains("deleted: 1"), "{cleaned}");
    let list = format!("{}/arex/rest/1.0/jobs", bench.clusters[0].url());
    let list = reqwest::get(list).await.unwrap().text().await.unwrap();
    assert!(elements(&list, "id").is_empty(), "both are gone: {list}");
    let info = format!("{}/arex/rest/1.0/info", bench.clusters[0].url());
    let info = reqwest::get(info).await.unwrap().text().await.unwrap();
    assert_eq!(element(&info, "TotalJobs"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn arcsub_submits_over_tls_and_its_jobs_are_its_users_alone() {
    let test = "arcsub_submits_over_tls_and_its_jobs_are_its_users_alone";
    let Some(bench) = Bench::with(test, true).await else {
        return;
    };
    let files = bench.many("t", 6, 10, "");
    let chosen = count(&bench.submit("Random", &files));
    bench.audit(&chosen).await;
    let name = *chosen.keys().next().unwrap();
    let said = bench.arc("arcstat", &["-c", name, "-a", "-l"]);
    assert!(said.contains("State: Finished"), "{said}");
    assert!(
        said.contains("/CN=alice"),
        "the owner is who the certificate says: {said}"
    );
    // Somebody without a certificate sees none of it.
    let authority = std::fs::read(bench.path("ca/ARC-TestCA-rig.pem")).unwrap();
    let authority = reqwest::Certificate::from_pem(&authority).unwrap();
    let unknown = reqwest::Client::builder()
        .tls_certs_only([authority])
        .build();
    let place = CLUSTERS.iter().position(|(other, ..)| *other == name);
    let cluster = &bench.clusters[place.unwrap()];
    let url = format!("{}/arex/rest/1.0/jobs", Bench::url(cluster));
    let list = unknown.unwrap().get(url).send().await.unwrap();
    let list = list.text().await.unwrap();
    assert!(elements(&list, "id").is_empty(), "{list}");
}
