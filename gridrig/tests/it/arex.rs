//! ARC's client and two real A-REX computing elements, unmodified, over the
//! Slurm commands of two emulated clusters.

use crate::{command, need};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

const JOBS: usize = 60;

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_default()
}

#[test]
fn arcsub_spreads_60_jobs_over_two_real_a_rex_on_our_slurm_commands() {
    if !need::arex("arcsub_spreads_60_jobs_over_two_real_a_rex") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let dir = home.path();
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_gridrig"), dir.join("gridrig")).unwrap();
    let script = command::root().join("gridrig/tests/arex/two-ces");
    std::fs::copy(script, dir.join("two-ces")).unwrap();
    let mut own = Command::new("chown");
    own.args(["-R", "nobody:nogroup"]).arg(dir);
    assert!(own.status().unwrap().success());
    // A-REX listens on every address: of a network that nobody else is in.
    let inside = "ip link set lo up && exec setpriv --reuid nobody --regid nogroup --clear-groups \
                  bash \"$0/two-ces\" \"$0\" \"$1\"";
    let output = Command::new("timeout")
        .args([
            "--signal=KILL",
            "900",
            "unshare",
            "--net",
            "--pid",
            "--fork",
        ])
        .args(["--mount-proc", "--kill-child", "sh", "-c", inside])
        .arg(dir)
        .arg(JOBS.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = command::stdout(&output) + &command::stderr(&output);
    let states = read(dir, "states");
    assert!(output.status.success(), "{said}\n{states}");
    let submitted = read(dir, "submitted");
    let ids: BTreeSet<&str> = submitted
        .lines()
        .filter_map(|line| line.strip_prefix("Job submitted with jobid: "))
        .collect();
    assert_eq!(ids.len(), JOBS, "{submitted}");
    assert_eq!(states.matches("State: Finished").count(), JOBS, "{states}");
    let mut names = BTreeSet::new();
    for (ce, port) in [(1, 8441), (2, 8442)] {
        let here = format!("https://localhost:{port}/");
        let sent = ids.iter().filter(|id| id.starts_with(&here)).count();
        assert!(sent > 0, "no job was sent to ce{ce}");
        let ended = read(dir, &format!("ce{ce}.sacct"));
        for line in ended.lines() {
            let (name, rest) = line.split_once('|').expect(line);
            assert_eq!(rest, "COMPLETED|0:0", "{line}");
            assert!(names.insert(name.to_owned()), "{name} ran twice");
        }
        assert_eq!(ended.lines().count(), sent, "{ended}");
        // Each was queued, started and finished once, by the cluster's log.
        let events: Value = serde_json::from_str(&read(dir, &format!("ce{ce}.events"))).unwrap();
        let mut lives: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for event in events["events"].as_array().unwrap() {
            let Some(job) = event["job"].as_u64() else {
                continue;
            };
            let kind = event["event"].as_str().unwrap();
            if [
                "queued",
                "started",
                "finished",
                "failed",
                "cancelled",
                "rejected",
            ]
            .contains(&kind)
            {
                lives.entry(job).or_default().push(kind);
            }
        }
        assert_eq!(lives.len(), sent);
        for (job, life) in lives {
            assert_eq!(
                life,
                ["queued", "started", "finished"],
                "job {job} of ce{ce}"
            );
        }
    }
    let wanted = (1..=JOBS).map(|job| format!("gridrig_{job}_5s"));
    assert_eq!(names, wanted.collect());
}
