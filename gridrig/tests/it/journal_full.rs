//! A disk that is full: of a broker with a journal, and when results are written.

use crate::command::{ALONE, Bench, expect_code, gridrig, stderr};
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::JobSubmission;
use gridrig_service::free_ports;
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;

const SCENARIO: &str = "[[workload]]\ntrace = \"t.swf\"\ndomain = \"a\"\n\
    [[domain]]\nname = \"a\"\nbroker = { interval = \"10h\", phase = \"5h\" }\nclusters = [ { name = \"a1\", processors = 4 } ]\n\
    [run]\npolicies = [\"round-robin\"]\n";

/// The words that start the broker, in a shell in which no file gets longer than so
/// many kilobytes.
fn broker(bench: &Bench, port: u16, epoch: u64, limit: &str) -> Command {
    let line = "trap '' XFSZ; ulimit -f $0; exec \"$@\"";
    let mut command = Command::new("bash");
    command
        .args(["-c", line, limit, env!("CARGO_BIN_EXE_gridrig"), "broker"])
        .args(["--scenario", &bench.path("s.toml"), "--name", "a"])
        .args([
            "--listen",
            &format!("127.0.0.1:{port}"),
            "--epoch",
            &epoch.to_string(),
        ])
        .args(["--lrms", "a1=http://127.0.0.1:1"])
        .args(["--journal", &bench.path("a.journal")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_broker_that_cannot_write_its_journal_ends_and_what_it_has_written_is_read_again() {
    let bench = Bench::new(SCENARIO, &[(0, 1, 1)]);
    let epoch = RunClock::starting_in(Duration::ZERO, Decimal::ONE).epoch_unix_ns();
    let port = free_ports(1).unwrap()[0];
    let url = format!("http://127.0.0.1:{port}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let is_there = |client: &Client| {
        runtime.block_on(async {
            while client.healthy(&url).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    };
    let small = broker(&bench, port, epoch, "16").spawn().unwrap();
    is_there(&client);
    let mut taken = Vec::new();
    for id in 0.. {
        assert!(id < 10_000, "it goes on without a journal");
        let job =
            json!({"key": format!("run/0/{id}/0"), "id": id, "processors": 1, "run_time": "60s"});
        let job: JobSubmission = serde_json::from_value(job).unwrap();
        if runtime.block_on(client.submit(&url, &job)).is_err() {
            break;
        }
        taken.push(id);
    }
    let ended = small.wait_with_output().unwrap();
    expect_code(&ended, 1);
    let said = stderr(&ended);
    assert_eq!(said.matches("a.journal").count(), 1, "{said}");
    assert!(
        said.contains("journal ") && said.contains("File too large"),
        "{said}"
    );
    assert!(!taken.is_empty());
    let journal = std::fs::read_to_string(bench.path("a.journal")).unwrap();
    assert!(journal.ends_with('\n'), "{journal}");
    let mut large = broker(&bench, port, epoch, "unlimited").spawn().unwrap();
    is_there(&client);
    for id in taken {
        let job = runtime.block_on(client.job(&url, id)).unwrap();
        assert_eq!(job.state, "queued");
    }
    large.kill().unwrap();
    large.wait().unwrap();
}

#[test]
fn results_that_cannot_be_written_are_none_and_are_written_when_there_is_room() {
    let jobs: Vec<(u64, i64, u32)> = (0_u64..3000)
        .map(|job| (job, 1 + job as i64 % 91, 1))
        .collect();
    let bench = Bench::new(ALONE, &jobs);
    let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
    let words = ["run", &scenario, "--out", &out];
    // A tenth of what its jobs take.
    let line = "trap '' XFSZ; ulimit -f 12; exec \"$@\"";
    let full = Command::new("bash")
        .args(["-c", line, "bash", env!("CARGO_BIN_EXE_gridrig")])
        .args(words)
        .output()
        .unwrap();
    expect_code(&full, 1);
    let said = stderr(&full);
    let refused = "r000/jobs.parquet: cannot write: File too large";
    assert!(said.contains(refused), "{said}");
    assert_eq!(said.matches("File too large").count(), 1, "{said}");
    let manifest = bench.path("runs/s-1/no-broker/r000/manifest.json");
    let manifest = std::path::Path::new(&manifest);
    assert!(!manifest.exists());
    expect_code(&gridrig().args(words).output().unwrap(), 0);
    assert!(manifest.exists());
}
