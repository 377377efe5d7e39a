//! The resolved scenario as TOML, replications, and what ships.

use super::scenario::{ALONE, PAIR, parse, parse_with};
use gridrig::scenario::{Replication, Scenario, ScenarioText};
use gridrig_core::ids::{DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_tracelab::spec::Keep;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All shipped scenarios: file and text.
fn shipped() -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("resources/scenarios"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.push(root().join("resources/starter.toml"));
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    };
    files.into_iter().map(read).collect()
}

fn parse_file(file: &Path, text: &str, sets: &[String]) -> Scenario {
    let parsed = Scenario::parse(&ScenarioText {
        file,
        text,
        sets,
        directory: Path::new(""),
        traces_may_be_missing: true,
    });
    parsed.unwrap_or_else(|error| panic!("{error}"))
}

/// The same scenario, as far as two of them can be told apart.
fn assert_same(first: &Scenario, second: &Scenario) {
    assert_eq!(format!("{first:#?}"), format!("{second:#?}"));
}

#[test]
fn the_resolved_text_is_the_same_scenario() {
    let full = PAIR.replace(
        "domain = \"a\"",
        "domain = \"a\"\nkeep = \"2/5\"\nphase = 1\nscale = { arrival = 60, run_time = 2.5 }\nwindow = { length = \"7d\" }",
    );
    let many = format!(
        "{PAIR}tie = \"random\"\nreplicate = {{ over = \"seed\", count = 3 }}\nrequire = [\"delay_s.p95 < 60.5\"]\nprimary = [\"wait_s.p95\", \"delay_s.mean\"]\nseed = 7\n\
         [[domain]]\nname = \"c\"\n[[link]]\nbetween = [\"c\", \"a\"]\nroles = {{ consumer = \"c\", provider = \"a\" }}\n"
    );
    let shared = PAIR.replace(
        "domain = \"a\"",
        "cluster = \"b1\"\nshare = 0.25\nzero_run_time = \"keep\"",
    );
    let backfilled = ALONE.replace(
        "[cluster]",
        "[cluster]\ndiscipline = \"slurm-backfill\"\nslurm = { bf_interval = \"7s\", bf_resolution = \"0s\", bf_window = \"2d\", bf_max_job_test = 9 }",
    );
    let reduced = [
        "window = { start = \"0s\", length = \"604800s\" }",
        "keep = \"2/5\"",
        "phase = 1",
        "scale = { arrival = 60, run_time = 2.5 }",
    ];
    let several = [
        "tie = \"random\"",
        "seed = 7",
        "require = [\"delay_s.p95 < 60.5\"]",
        "primary = [\"wait_s.p95\", \"delay_s.mean\"]",
    ];
    let slurm = "slurm = { bf_interval = \"7s\", bf_resolution = \"0s\", bf_window = \"172800s\", bf_max_job_test = 9 }";
    let kept = "zero_run_time = \"keep\"";
    let cases: [(&str, &[&str]); 6] = [
        (PAIR, &["keep = \"all\"", "latency = \"50ms\""]),
        (ALONE, &["cluster = \"cluster\"", "processors = 4"]),
        (&full, &reduced),
        (&many, &several),
        (&shared, &["cluster = \"b1\"", "share = 0.25", kept]),
        (&backfilled, &["discipline = \"slurm-backfill\"", slurm]),
    ];
    for (text, lines) in cases {
        let first = parse(text);
        let resolved = first.to_resolved_toml();
        for line in lines {
            let found = resolved.lines().any(|other| other == *line);
            assert!(found, "{line}: {resolved}");
        }
        let second = parse(&resolved);
        assert_same(&first, &second);
        assert_eq!(resolved, second.to_resolved_toml());
    }
}

#[test]
fn every_shipped_scenario_is_read_and_survives_its_resolved_text() {
    let names: Vec<String> = shipped()
        .into_iter()
        .map(|(path, text)| {
            let first = parse_file(&path, &text, &[]);
            let second = parse_file(&path, &first.to_resolved_toml(), &[]);
            assert_same(&first, &second);
            first.name
        })
        .collect();
    let expected = [
        "lrms-only",
        "lsap-ctc",
        "one-site-225",
        "one-site-450",
        "realtime-smoke",
        "two-sites",
        "starter",
    ];
    for name in expected {
        assert!(names.iter().any(|found| found == name), "{name}");
    }
}

#[test]
fn every_shipped_scenario_takes_a_trace_and_a_window() {
    for (path, text) in shipped() {
        if !text.contains("\ntrace = ") {
            // Its workload is generated.
            continue;
        }
        // Several workloads are named by their positions.
        let several = text.matches("[[workload]]").count();
        let names = match several {
            0 | 1 => vec!["workload".to_owned()],
            _ => (0..several).map(|k| format!("workload.{k}")).collect(),
        };
        let set = |name: &String| {
            let trace = format!("{name}.trace=mine.swf");
            [trace, format!("{name}.window.start=92.5d")]
        };
        let sets: Vec<String> = names.iter().flat_map(set).collect();
        let scenario = parse_file(&path, &text, &sets);
        for workload in &scenario.workloads {
            let path = path.display();
            assert_eq!(workload.trace, PathBuf::from("mine.swf"), "{path}");
            let start = workload.window.unwrap().start;
            assert_eq!(start, SimDuration::parse("92.5d").unwrap(), "{path}");
        }
    }
}

#[test]
fn the_paper_s_scenarios_are_set_up_as_the_design_says() {
    let path = root().join("resources/scenarios/lsap-ctc.toml");
    let scenario = parse_file(&path, &std::fs::read_to_string(&path).unwrap(), &[]);
    let workload = &scenario.workloads[0];
    assert_eq!(
        workload.window.unwrap().start,
        SimDuration::parse("87.08d").unwrap()
    );
    assert_eq!(
        workload.keep,
        Keep::Systematic {
            m: 2,
            n: 5,
            phase: 2
        }
    );
    assert_eq!(
        (workload.max_processors, workload.entry),
        (Some(225), Entry::Domain(DomainId(0)))
    );
    for domain in &scenario.grid.domains {
        assert!(domain.broker.phase.is_zero());
    }
    for link in &scenario.grid.links {
        assert_eq!(link.latency, SimDuration::from_millis(50));
    }
    // Not every 5 ms: queue-length would take those milliseconds for load.
    for cluster in &scenario.grid.clusters {
        assert!(cluster.config.interval.is_zero());
    }
}

#[test]
fn the_starter_is_what_init_writes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new.toml");
    gridrig::init::write_new(&file, gridrig::init::STARTER, false).unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        gridrig::init::STARTER
    );
    assert!(gridrig::init::write_new(&file, gridrig::init::STARTER, false).is_err());
    gridrig::init::write_new(&file, gridrig::init::STARTER, true).unwrap();
    // It can be run where it stands.
    assert!(Scenario::load(&file, &[]).is_err());
    let sample = gridrig::init::write_sample(&file).unwrap();
    assert_eq!(
        sample,
        Some(directory.path().join("traces/ctc-like.swf.gz"))
    );
    Scenario::load(&file, &[]).unwrap();
    assert_eq!(gridrig::init::write_sample(&file).unwrap(), None);
}

#[test]
fn the_canonical_text_names_no_directory() {
    let scenario = parse(&PAIR.replace("t.swf", "some/where/t.swf"));
    assert!(scenario.to_resolved_toml().contains("\"some/where/t.swf\""));
    assert!(scenario.to_canonical_toml().contains("trace = \"t.swf\""));
}

fn replications(replicate: &str) -> Vec<Replication> {
    let workload = "domain = \"a\"\nkeep = \"2/5\"\nwindow = { start = \"1d\", length = \"7d\" }";
    let text = PAIR.replace("domain = \"a\"", workload);
    let set = format!("run.replicate={{ {replicate} }}");
    parse_with(&text, &[&set, "run.tie=random"])
        .unwrap()
        .replications()
}

#[test]
fn one_run_is_one_replication() {
    let replications = parse(PAIR).replications();
    assert_eq!(replications.len(), 1);
    assert_eq!(
        (replications[0].key.as_str(), replications[0].seed),
        ("single", 1)
    );
}

#[test]
fn each_replication_varies_what_it_says_and_nothing_else() {
    let windows = replications("over = \"window\", step = \"7d\", count = 3");
    let start = |r: &Replication| r.scenario.workloads[0].window.unwrap().start;
    assert_eq!(start(&windows[2]), SimDuration::parse("15d").unwrap());
    assert!(
        windows
            .iter()
            .all(|r| r.seed == 1 && r.scenario.replicate.is_none())
    );
    let phases = replications("over = \"sample-phase\", count = 5");
    assert_eq!(
        phases[4].scenario.workloads[0].keep,
        Keep::Systematic {
            m: 2,
            n: 5,
            phase: 4
        }
    );
    let seeds = replications("over = \"seed\", count = 2");
    assert_eq!((seeds[1].seed, seeds[1].key.as_str()), (2, "seed=2"));
    let brokers = replications("over = \"broker-phase\", count = 2");
    let phase = |r: &Replication, domain: usize| r.scenario.grid.domains[domain].broker.phase;
    let half = SimDuration::from_millis(2500);
    assert_eq!(
        (phase(&brokers[0], 0), phase(&brokers[0], 1)),
        (SimDuration::ZERO, half)
    );
    assert_eq!(
        (phase(&brokers[1], 0), phase(&brokers[1], 1)),
        (half, SimDuration::ZERO)
    );
    let keys: Vec<&str> = windows.iter().map(|r| r.key.as_str()).collect();
    assert_eq!(keys, ["window+0s", "window+604800s", "window+1209600s"]);
}

#[test]
fn a_shaken_replication_moves_each_job_within_its_step() {
    let submissions: Vec<Submission> = (0..200)
        .map(|id| Submission {
            spec: JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(1)),
            at: SimTime::from_secs(u64::from(id)),
            entry: Entry::Domain(DomainId(0)),
            label: JobLabel {
                trace_id: u64::from(id),
                ..JobLabel::default()
            },
        })
        .collect();
    let shaken = |index: usize| {
        let mut moved = submissions.clone();
        replications("over = \"shake\", step = \"10s\", count = 2")[index].shake(&mut moved);
        moved
    };
    let (first, second) = (shaken(0), shaken(1));
    assert_eq!(first, shaken(0));
    assert_ne!(first, second);
    assert!(first.is_sorted_by_key(|s| (s.at, s.spec.id)));
    assert!((0u32..).zip(&first).all(|(id, s)| s.spec.id == JobId(id)));
    for job in &first {
        let from = SimTime::from_secs(job.label.trace_id);
        assert!(job.at >= from && job.at < from + SimDuration::from_secs(10));
    }
    let mut unshaken = submissions.clone();
    replications("over = \"seed\", count = 2")[1].shake(&mut unshaken);
    assert_eq!(unshaken, submissions);
}
