//! A real Slurm in the place of an emulated LRMS.

use crate::command::{Bench, Service, expect_code, expect_refused, json, ok, run, split, start};
use crate::patience::Patience;
use crate::real_slurm::{self, RealSlurm};
use gridrig_core::event::EventKind;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::{JobStatus, JobSubmission};
use gridrig_results::rundir;
use std::path::Path;
use std::time::Duration;

fn slurm(test: &str) -> Option<RealSlurm> {
    real_slurm::start(test, &real_slurm::builtin(2, 4))
}

/// A broker with a real cluster of eight processors and an emulated one.
fn mixed(conf: &Path) -> String {
    let conf = conf.display();
    format!(
        r#"
[workload]
trace = "t.swf"

[[domain]]
name = "a"
broker = {{ interval = "500ms", exchange = "1s", lrms_latency = "10ms" }}
clusters = [
    {{ name = "real", processors = 8, lrms = "slurm", lrms_settings = {{ conf = "{conf}", poll = "200ms" }} }},
    {{ name = "model", processors = 8 }},
]

[run]
clock = "real"
policies = ["round-robin"]
"#
    )
}

#[test]
fn a_broker_mixes_a_real_and_an_emulated_cluster_and_the_run_is_audited() {
    let Some(slurm) = slurm("a_broker_mixes_a_real_and_an_emulated_cluster") else {
        return;
    };
    let jobs = (0..20).map(|n: u32| (u64::from(n / 2), i64::from(1 + n % 3), 1 + n % 4));
    let bench = Bench::new(&mixed(&slurm.conf()), &jobs.collect::<Vec<_>>());
    let document = json(&ok(bench.run(&["--json"])));
    let jobs = &document["runs"][0]["jobs"];
    assert_eq!(document["runs"][0]["audit"], "ok");
    assert_eq!(
        (jobs["submitted"].as_u64(), jobs["completed"].as_u64()),
        (Some(20), Some(20))
    );
    let read = rundir::read(Path::new(&bench.path("runs/s-1/round-robin/r000"))).unwrap();
    let mut started = [0, 0];
    for (_, event) in read.log.records() {
        if event.kind == EventKind::Started {
            started[event.by.cluster().unwrap().index()] += 1;
            assert!(!event.placement.is_empty());
        }
    }
    assert_eq!(started, [10, 10]);
    // Slurm has run them, and nothing is left with it.
    let ran = slurm.run("squeue", &["-h", "-t", "CD", "-o", "%i"]);
    assert_eq!(String::from_utf8_lossy(&ran.stdout).lines().count(), 10);
    expect_code(
        &run(&["audit", &bench.path("runs/s-1/round-robin/r000")]),
        0,
    );
}

#[test]
fn a_real_lrms_is_refused_where_it_cannot_be() {
    // A file that names no cluster. For one that is not there Slurm looks for a
    // minute.
    let conf = tempfile::NamedTempFile::new().unwrap();
    let virtually = Bench::new(&mixed(conf.path()), &[(0, 1, 1)]);
    expect_refused(
        &virtually.run(&["--clock", "virtual"]),
        "a real Slurm knows no virtual time",
    );
    expect_refused(&virtually.run(&[]), "cluster real: ");
    let set = ["--set", "domain.a.clusters.real.lrms=emulated"];
    expect_refused(&virtually.run(&set), "expected no lrms_settings");
    let unknown = run(&["emulator", "--processors", "4", "--lrms", "pbs"]);
    expect_refused(&unknown, "expected one of emulated, slurm");
}

/// An emulator whose jobs a real Slurm runs, and a client of it.
struct Face {
    service: Service,
    client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Face {
    fn start(words: &[&str]) -> Self {
        let mut all = vec!["emulator"];
        all.extend(words);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        gridrig_protocol::tls::init();
        Face {
            service: start(&all),
            client: Client::new(Duration::from_secs(20)).unwrap(),
            runtime: runtime.unwrap(),
        }
    }

    fn submit(&self, processors: u32, run_time: &str, key: &str) -> u32 {
        self.submit_as(serde_json::json!({
            "processors": processors, "run_time": run_time, "key": key
        }))
    }

    fn submit_as(&self, job: serde_json::Value) -> u32 {
        let job: JobSubmission = serde_json::from_value(job).unwrap();
        let url = &self.service.url;
        let receipt = self.runtime.block_on(self.client.submit(url, &job));
        receipt.unwrap().id
    }

    fn job(&self, id: u32) -> JobStatus {
        let url = &self.service.url;
        self.runtime.block_on(self.client.job(url, id)).unwrap()
    }

    fn wait_for(&self, id: u32, state: &str) -> JobStatus {
        self.wait_long_for(id, state, Patience::seconds(180).every(100))
    }

    fn wait_long_for(&self, id: u32, state: &str, patience: Patience) -> JobStatus {
        loop {
            let job = self.job(id);
            if job.state == state {
                return job;
            }
            patience.wait(format_args!("{job:?}, not {state}"));
        }
    }
}

fn listed(slurm: &RealSlurm, states: &str) -> Vec<String> {
    let said = slurm.run("squeue", &["-h", "-t", states, "-o", "%i"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    said.lines().map(str::to_owned).collect()
}

#[test]
fn the_jobs_of_a_real_lrms_end_once_however_they_end() {
    let Some(slurm) = slurm("the_jobs_of_a_real_lrms_end_once_however_they_end") else {
        return;
    };
    let conf = slurm.conf().display().to_string();
    let face = Face::start(&["--lrms", "slurm", "--lrms-conf", &conf]);
    let url = face.service.url.clone();
    // The nodes are Slurm's.
    let info = face.runtime.block_on(face.client.cluster(&url)).unwrap();
    assert_eq!((info.processors, info.nodes), (8, 2));
    let first = face.submit(6, "600s", "a");
    assert_eq!(face.submit(6, "600s", "a"), first, "one job under one key");
    let second = face.submit(4, "600s", "b");
    let third = face.submit(2, "1s", "c");
    let running = face.wait_for(first, "running");
    let held: u32 = running
        .placement
        .iter()
        .map(|run| run.nodes * run.processors)
        .sum();
    assert_eq!(held, 6);
    // Cancelled here, it is cancelled there too, and the next may start.
    let cancelled = face.runtime.block_on(face.client.cancel(&url, first, None));
    assert_eq!(cancelled.unwrap().state, "cancelled");
    face.wait_for(second, "running");
    face.wait_for(third, "completed");
    // Cancelled there, it is cancelled here.
    let patience = Patience::seconds(180);
    while listed(&slurm, "RUNNING").len() != 1 {
        patience.wait("the first job is not cancelled");
    }
    slurm.run("scancel", &[&listed(&slurm, "RUNNING")[0]]);
    face.wait_for(second, "cancelled");
    // Its controller crashes: what is there is lost, and said to be.
    drop(face);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.toml");
    let short = "poll = \"200ms\", patience = \"2s\"";
    let scenario = mixed(&slurm.conf()).replace("poll = \"200ms\"", short);
    std::fs::write(&file, scenario).unwrap();
    std::fs::write(
        dir.path().join("t.swf"),
        "1 0 -1 1 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n",
    )
    .unwrap();
    let file = file.display().to_string();
    let face = Face::start(&["--scenario", &file, "--name", "real"]);
    let last = face.submit(1, "600s", "d");
    face.wait_for(last, "running");
    slurm.crash_controller();
    let waits = face.submit(1, "600s", "e");
    for job in [last, waits] {
        let lost = face.wait_for(job, "failed");
        assert_eq!(lost.reason.as_deref(), Some("service-lost"));
    }
    // Nothing goes on of the job that nobody could cancel.
    let left = slurm.end();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_script_that_fails_is_a_failed_job_and_what_slurm_refuses_is_refused() {
    let Some(slurm) = slurm("a_script_that_fails_is_a_failed_job") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("job.sh");
    std::fs::write(&script, "#!/bin/sh\nsleep {seconds}\nexit {processors}\n").unwrap();
    let (conf, file) = (
        slurm.conf().display().to_string(),
        script.display().to_string(),
    );
    let line = format!("--lrms slurm --lrms-conf {conf} --lrms-template {file}");
    let words = split(&line);
    let face = Face::start(&words);
    let failed = face.wait_for(face.submit(3, "1s", "a"), "failed");
    assert_eq!(failed.reason.as_deref(), Some("lrms-failed"));
    let times = failed.start_ns.zip(failed.finish_ns);
    assert!(
        times.is_some_and(|(start, finish)| start <= finish),
        "{failed:?}"
    );
    // A partition that takes nobody in.
    let down = ["update", "PartitionName=compute", "State=INACTIVE"];
    slurm.run("scontrol", &down);
    let refused = face.wait_for(face.submit(1, "1s", "b"), "failed");
    assert_eq!(refused.reason.as_deref(), Some("lrms-refused"));
}

/// Slurm's limits are whole minutes, and it looks for jobs past theirs twice a
/// minute.
#[test]
fn a_job_that_slurm_ends_at_its_limit_has_failed() {
    let Some(slurm) = slurm("a_job_that_slurm_ends_at_its_limit_has_failed") else {
        return;
    };
    let conf = slurm.conf().display().to_string();
    let face = Face::start(&["--lrms", "slurm", "--lrms-conf", &conf]);
    let long = face.submit_as(serde_json::json!({
        "processors": 2, "run_time": "900s", "requested_time": "60s", "key": "a"
    }));
    let running = face.wait_for(long, "running");
    assert!(running.start_ns.is_some(), "{running:?}");
    let patience = Patience::seconds(300).every(500);
    let failed = face.wait_long_for(long, "failed", patience);
    assert_eq!(failed.reason.as_deref(), Some("lrms-failed"));
    assert_eq!(failed.start_ns, running.start_ns);
    let said = slurm.run("squeue", &["-h", "-t", "all", "-o", "%T %l %C"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.trim(), "TIMEOUT 1:00 2");
    // Its processors are free again.
    let next = face.submit(8, "1s", "b");
    face.wait_for(next, "completed");
}
