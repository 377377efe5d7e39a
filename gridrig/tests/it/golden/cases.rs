//! Which scenarios have golden results: those that ship, the random ones, and
//! some on logs of the archive.

use super::folder;
use crate::command::root;
use crate::need;
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario and how it is cut.
pub struct Case {
    pub name: String,
    /// From the root of the checkout.
    pub file: PathBuf,
    /// What `--set` says on every commit.
    pub short: Vec<String>,
    /// What it says at full size: 20,000 jobs at most.
    pub full: Vec<String>,
}

/// The first hours of each cluster, where processors are delegated in both ways, and another way.
const FIRST_HOURS: [&str; 2] = [
    "run.policies=[\"free-node(matchmaking=pull)\", \"free-node(matchmaking=flock)\", \
     \"free-node(matchmaking=delegate)\"]",
    "workload.*.window.length=4h",
];

/// Shipped scenarios with their cuts; the log of lsap-ctc does not ship.
const SHIPPED: [(&str, &[&str], &[&str]); 18] = [
    ("dmm-das-grid5000", &FIRST_HOURS, &[]),
    ("faulty-sites", &[], &[]),
    (
        "la-grid-27",
        &["workload.window.length=3min", "run.replicate.count=1"],
        &["workload.window.length=3h", "run.replicate.count=1"],
    ),
    (
        "la-grid-3",
        &["workload.window.length=30min", "run.replicate.count=1"],
        &["workload.window.length=33h", "run.replicate.count=1"],
    ),
    (
        "la-grid-3-wide",
        &["workload.window.length=30min", "run.replicate.count=1"],
        &["workload.window.length=33h", "run.replicate.count=1"],
    ),
    (
        "la-grid-9",
        &["workload.window.length=10min", "run.replicate.count=1"],
        &["workload.window.length=10h", "run.replicate.count=1"],
    ),
    (
        "koala-das2",
        &["run.replicate.count=1"],
        &["run.replicate.count=1"],
    ),
    ("la-grid-p2p", &[], &[]),
    ("la-grid-star", &[], &[]),
    ("la-grid-tree", &[], &[]),
    ("la-grid-wrf", &[], &[]),
    ("lrms-only", &[], &[]),
    ("one-site-225", &[], &[]),
    ("one-site-450", &[], &[]),
    (
        "realtime-smoke",
        &["run.clock=virtual"],
        &["run.clock=virtual"],
    ),
    (
        "reservations",
        &[
            "run.replicate.count=1",
            "measure.from=0s",
            "measure.until=1d",
            "workload.window.length=1d",
            "workload.draw.start_window.length=1h",
            "workload.draw.start_window.flexible=true",
        ],
        &["run.replicate.count=1"],
    ),
    ("two-lenders", &[], &[]),
    ("two-sites", &[], &[]),
];

/// Shipped scenarios on a log of the archive, and those without virtual time.
const ON_A_LOG: &str = "lsap-ctc";
const REAL: &str = "arc-brokers";

/// Scenarios of our own on logs of the archive.
const LOGS: [(&str, &str); 4] = [
    ("archive-das2", "DAS2-fs1-2003-1.swf.gz"),
    ("archive-hpc2n", "HPC2N-2002-2.2-cln.swf.gz"),
    ("archive-kth", "KTH-SP2-1996-2.1-cln.swf.gz"),
    ("archive-lpc", "LPC-EGEE-2004-1.2-cln.swf.gz"),
];

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What is compared on every commit.
pub fn short() -> Vec<Case> {
    let shipped = SHIPPED.iter().map(|(name, short, full)| Case {
        name: (*name).to_owned(),
        file: Path::new("resources/scenarios").join(format!("{name}.toml")),
        short: owned(short),
        full: owned(full),
    });
    let starter = Case {
        name: "starter".to_owned(),
        file: PathBuf::from("resources/starter.toml"),
        short: Vec::new(),
        full: Vec::new(),
    };
    let backfill = ["easy-backfill", "conservative-backfill", "slurm-backfill"].map(|discipline| {
        let sets = vec![format!("cluster.discipline={discipline}")];
        Case {
            name: format!("memory-{discipline}"),
            file: PathBuf::from("gridrig/tests/golden/backfill-memory.toml"),
            short: sets.clone(),
            full: sets,
        }
    });
    // The longest first, so that they do not end alone.
    let shipped = shipped.chain([starter]).chain(backfill);
    shipped.chain(random()).filter(is_asked_for).collect()
}

const ONLY: &str = "GRIDRIG_GOLDEN_ONLY";

/// Whether only some cases are asked for.
pub fn are_few() -> bool {
    std::env::var_os(ONLY).is_some()
}

/// `GRIDRIG_GOLDEN_ONLY` is a part of the names that are wanted.
fn is_asked_for(case: &Case) -> bool {
    let only = std::env::var(ONLY);
    only.map_or(true, |part| case.name.contains(&part))
}

fn random() -> Vec<Case> {
    let mut names: Vec<String> = Vec::new();
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        names.extend(
            name.strip_suffix(".toml")
                .filter(|name| name.starts_with("random-"))
                .map(str::to_owned),
        );
    }
    names.sort();
    let case = |name: String| Case {
        file: Path::new("gridrig/tests/golden").join(format!("{name}.toml")),
        name,
        short: Vec::new(),
        full: Vec::new(),
    };
    names.into_iter().map(case).collect()
}

/// What is compared at full size: needs the archive.
pub fn full() -> Vec<Case> {
    let archive = need::archive("golden results at full size").expect("the archive");
    let of = |name: &str, folder: &str, log: &str| Case {
        name: name.to_owned(),
        file: Path::new(folder).join(format!("{name}.toml")),
        short: Vec::new(),
        full: vec![format!("workload.trace={}", archive.join(log).display())],
    };
    let logs = LOGS.map(|(name, log)| of(name, "gridrig/tests/golden", log));
    let shipped = of(
        ON_A_LOG,
        "resources/scenarios",
        "CTC-SP2-1996-3.1-cln.swf.gz",
    );
    let mut cases = short();
    let on_logs = logs.into_iter().chain([shipped]).filter(is_asked_for);
    cases.splice(0..0, on_logs);
    cases
}

#[test]
fn every_scenario_that_ships_has_golden_results() {
    let mut known: Vec<&str> = SHIPPED.iter().map(|(name, ..)| *name).collect();
    known.extend([ON_A_LOG, REAL]);
    for file in fs::read_dir(root().join("resources/scenarios")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            known.contains(&name),
            "{name}: expected among the cases of the golden results"
        );
    }
    assert_eq!(random().len(), 300);
}
