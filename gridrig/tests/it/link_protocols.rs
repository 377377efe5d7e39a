//! Whole grids in real time whose brokers talk in different ways.

use crate::command::{Bench, expect_code, gridrig, json};
use crate::overheard::{heard_of, overheard};
use crate::real_time::alone;
use gridrig_core::event::EventKind;
use gridrig_protocol::lagrid::wsdl;
use gridrig_protocol::soap::Version;
use gridrig_results::rundir;
use std::collections::BTreeMap;
use std::path::Path;

const SITES: [&str; 3] = ["a", "b", "c"];
const JOBS: u32 = 18;

/// Three sites, each of which forwards to the others over these links; jobs
/// enter at all of them, and all at once: whatever the machine does meanwhile,
/// each broker has three jobs in a row to decide, and so turns to every site.
fn grid(protocols: [&str; 3]) -> Bench {
    let workloads =
        SITES.map(|site| format!("[[workload]]\ntrace = \"t.swf\"\ndomain = \"{site}\"\n"));
    let sites = SITES.map(|site| {
        let clusters = format!("[ {{ name = \"{site}1\", processors = 4 }} ]");
        format!("[[domain]]\nname = \"{site}\"\nclusters = {clusters}\n")
    });
    let ends = [("a", "b"), ("a", "c"), ("b", "c")];
    let links = ends.iter().zip(protocols).map(|((one, other), protocol)| {
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
fn every_protocol_and_all_of_them_in_one_grid_carry_a_whole_run() {
    let _alone = alone();
    for protocols in [["json"; 3], ["soap", "soap12", "native"]] {
        let bench = grid(protocols);
        let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
        let mut command = gridrig();
        let command = overheard(&mut command);
        let output = command.args(["run", &scenario, "--out", &out, "--json"]);
        let output = output.output().unwrap();
        expect_code(&output, 0);
        let run = &json(&output)["runs"][0];
        assert_eq!(run["audit"], "ok", "{protocols:?}: {run}");
        assert_eq!(run["jobs"]["submitted"], 3 * JOBS, "{protocols:?}: {run}");
        assert_eq!(run["jobs"]["completed"], 3 * JOBS, "{protocols:?}: {run}");
        // Jobs and information went over every link, both ways.
        let dir = bench.path("runs/s-1/round-robin/r000");
        let log = rundir::read(Path::new(&dir)).unwrap().log;
        let mut jobs = BTreeMap::new();
        for (_, event) in log.records() {
            if event.kind == EventKind::Forwarded {
                *jobs.entry((event.by, event.to)).or_insert(0) += 1;
            }
        }
        assert_eq!(jobs.len(), 6, "{protocols:?}: {jobs:?}");
        // Three LRMSs and six ends of links tell of themselves.
        assert_eq!(log.info_messages().count(), 9, "{protocols:?}");
        if !protocols.contains(&"soap12") {
            continue;
        }
        let heard = heard_of(&output);
        heard.spoke(Version::Soap11);
        heard.spoke(Version::Soap12);
        heard.holds(
            "every_protocol_and_all_of_them_in_one_grid_carry_a_whole_run",
            &wsdl::document("http://127.0.0.1/lagrid"),
            &["openConn", "sendResourceData", "submitJob", "notifyJob"],
        );
    }
}
