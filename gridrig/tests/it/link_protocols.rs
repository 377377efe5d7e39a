//! A whole grid in real time whose brokers talk in different ways.

use crate::command::{Bench, gridrig, json, ok};
use crate::overheard::{heard_of, overheard};
use gridrig_core::event::EventKind;
use gridrig_protocol::lagrid::wsdl;
use gridrig_protocol::soap::Version;
use gridrig_results::rundir;
use std::collections::BTreeMap;
use std::path::Path;

const SITES: [&str; 4] = ["a", "b", "c", "d"];
/// Jobs that enter at each site.
const JOBS: u32 = 9;
/// How the sites talk, each with the next one.
const PROTOCOLS: [&str; 4] = ["json", "soap", "soap12", "native"];

/// Four sites in a ring, each of which forwards to both its neighbours; jobs enter
/// at all of them, and all at once: whatever the machine does meanwhile, each
/// broker has three jobs in a row to decide, and so turns to every site it knows.
fn grid() -> Bench {
    let workloads =
        SITES.map(|site| format!("[[workload]]\ntrace = \"t.swf\"\ndomain = \"{site}\"\n"));
    let sites = SITES.map(|site| {
        let clusters = format!("[ {{ name = \"{site}1\", processors = 4 }} ]");
        format!("[[domain]]\nname = \"{site}\"\nclusters = {clusters}\n")
    });
    let links = PROTOCOLS.iter().enumerate().map(|(at, protocol)| {
        let (one, other) = (SITES[at], SITES[(at + 1) % SITES.len()]);
        format!(
            "[[link]]\nbetween = [\"{one}\", \"{other}\"]\nlatency = \"50ms\"\nprotocol = \"{protocol}\"\n"
        )
    });
    let links: String = links.collect();
    let run = "[run]\nclock = \"real\"\nspeed = 20.0\npolicies = [\"round-robin\"]\nbounds = false\nlag_tolerance = \"1h\"\n";
    let jobs: Vec<(u64, i64, u32)> = (0..u64::from(JOBS))
        .map(|job| (20, [6, 11, 21][(job % 3) as usize], 1 + (job % 2) as u32))
        .collect();
    Bench::new(
        &(workloads.concat() + &sites.concat() + &links + run),
        &jobs,
    )
}

#[test]
fn every_protocol_in_one_grid_carries_a_whole_run() {
    let bench = grid();
    let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
    let mut command = gridrig();
    let command = overheard(&mut command);
    let output = command.args(["run", &scenario, "--out", &out, "--json"]);
    let output = ok(output.output().unwrap());
    let run = &json(&output)["runs"][0];
    assert_eq!(run["audit"], "ok", "{run}");
    assert_eq!(run["jobs"]["submitted"], 4 * JOBS, "{run}");
    assert_eq!(run["jobs"]["completed"], 4 * JOBS, "{run}");
    // Jobs and information went over every link, both ways.
    let dir = bench.path("runs/s-1/round-robin/r000");
    let log = rundir::read(Path::new(&dir)).unwrap().log;
    let mut jobs = BTreeMap::new();
    for (_, event) in log.records() {
        if event.kind == EventKind::Forwarded {
            *jobs.entry((event.by, event.to)).or_insert(0) += 1;
        }
    }
    assert_eq!(jobs.len(), 2 * PROTOCOLS.len(), "{jobs:?}");
    // Four LRMSs and eight ends of links tell of themselves.
    assert_eq!(log.info_messages().count(), 12);
    let heard = heard_of(&output);
    heard.spoke(Version::Soap11);
    heard.spoke(Version::Soap12);
    heard.holds(
        "every_protocol_in_one_grid_carries_a_whole_run",
        &wsdl::document("http://127.0.0.1/lagrid"),
        &["openConn", "sendResourceData", "submitJob", "notifyJob"],
    );
}
