//! What jobs say of their clusters: components that name theirs, and how they may be divided.

use crate::calm::same_when_calm;
use crate::coallocation_real::told;
use crate::command::{Bench, expect_audited, expect_code, json, run, stderr, stdout};
use crate::real_time::alone;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::{Division, Entry, Submission};
use gridrig_core::rng;
use gridrig_results::jobs::JobRow;
use rand::RngExt as _;
use std::fs;

/// Some jobs say where a component is to be, or how they may be divided.
pub fn wishes(seed: u64, jobs: &mut [Submission], clusters: u16) {
    let mut random = rng::stream(seed, "co-allocation/wishes");
    for job in jobs {
        if matches!(job.entry, Entry::Cluster(_)) {
            continue;
        }
        if job.spec.components.only().is_some() && random.random_bool(0.7) {
            let whole = job.spec.processors();
            let halves = [whole / 2, whole - whole / 2];
            let splits: [&[u32]; 3] = [&[whole], &halves, &vec![1; whole as usize]];
            let splits = splits.iter().filter(|sizes| !sizes.contains(&0));
            job.spec.division = Some(Box::new(match random.random_bool(0.5) {
                true => Division::Splits(splits.map(|sizes| (*sizes).into()).collect()),
                false => Division::Bounds {
                    least_component: random.random_range(0..4),
                    most_components: random.random_range(0..4),
                },
            }));
            continue;
        }
        for component in job.spec.components.iter_mut() {
            if random.random_bool(0.15) {
                component.cluster = Some(ClusterId(random.random_range(0..clusters)));
            }
        }
    }
}

/// Whether these sizes make up all of the parts.
pub fn sums(sizes: &[u32], parts: &mut [u32]) -> bool {
    let Some((size, others)) = sizes.split_first() else {
        return parts.iter().all(|left| *left == 0);
    };
    (0..parts.len()).any(|at| {
        let fits = parts[at] >= *size;
        if fits {
            parts[at] -= size;
        }
        let found = fits && sums(others, parts);
        if fits && !found {
            parts[at] += size;
        }
        found
    })
}

const SCENARIO: &str = r#"
[[workload]]
trace = "t.swf"
domain = "d"
[[domain]]
name = "d"
clusters = [
    { name = "c1", processors = 18 },
    { name = "c2", processors = 15 },
    { name = "c3", processors = 12 },
]
[domain.broker]
interval = "10s"
phase = "0s"
exchange = "10s"
[domain.broker.co_allocation]
startup = ["10s"]
[run]
policies = ["worst-fit", "cluster-minimization", "flexible-cluster-minimization"]
bounds = false
speed = 20
lag_tolerance = "1h"
"#;

/// One after the other on empty clusters, as in Figures 2 and 4 of the paper.
const JOBS: [(u64, i64, u32); 7] = [
    (2, 5, 24),
    (32, 5, 24),
    (62, 5, 24),
    (92, 5, 24),
    (122, 5, 24),
    (152, 5, 12),
    (182, 5, 20),
];

const COMMENTS: [&str; 7] = [
    "JobComponents: 1 8 8 8",
    "JobComponents: 2 8@3 8 8",
    "JobDivision: 3 24 12+12 8+8+8",
    "JobDivision: 4 least=10",
    "JobDivision: 5 8+8+8",
    "JobComponents: 6 12@3",
    "JobComponents: 7 10@2 10@1",
];

fn bench() -> Bench {
    let bench = Bench::new(SCENARIO, &JOBS);
    let path = bench.path("t.swf");
    let comments = COMMENTS.map(|line| format!("; {line}\n")).concat();
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, comments + &trace).unwrap();
    bench
}

/// What each job got of each cluster.
fn parts(bench: &Bench, words: &[&str]) -> Vec<Vec<Vec<u32>>> {
    told(bench, words, |_, row| {
        let mut given = vec![0; 3];
        for part in row.parts() {
            given[part.cluster.index()] += part.processors;
        }
        given
    })
}

/// What may be divided within bounds is under FCM only: no cluster has room for all of it.
#[test]
fn both_clocks_place_what_jobs_ask_for() {
    let _alone = alone();
    let bench = bench();
    let none = vec![0, 0, 0];
    let expected = vec![
        vec![
            vec![8, 8, 8],
            vec![8, 8, 8],
            vec![12, 12, 0],
            none.clone(),
            vec![8, 8, 8],
            vec![0, 0, 12],
            vec![10, 10, 0],
        ],
        vec![
            vec![16, 8, 0],
            vec![16, 0, 8],
            vec![12, 12, 0],
            none,
            vec![16, 8, 0],
            vec![0, 0, 12],
            vec![10, 10, 0],
        ],
        vec![
            vec![18, 6, 0],
            vec![16, 0, 8],
            vec![12, 12, 0],
            vec![14, 10, 0],
            vec![16, 8, 0],
            vec![0, 0, 12],
            vec![10, 10, 0],
        ],
    ];
    assert_eq!(parts(&bench, &[]), expected);
    same_when_calm("what jobs ask for", || {
        let only = "--set=run.policies=[\"flexible-cluster-minimization\"]";
        let real = parts(&bench, &["--clock", "real", only]);
        (real != expected[2..]).then(|| format!("{real:?}"))
    });
}

#[test]
fn a_log_of_a_run_says_of_its_jobs_what_the_trace_did() {
    let bench = bench();
    let placed = parts(&bench, &[]);
    let log = bench.path("again.swf");
    let run_dir = bench.path("runs/s-1/flexible-cluster-minimization/r000");
    expect_code(
        &run(&["export", &run_dir, "--format", "swf", "--out", &log]),
        0,
    );
    let exported = fs::read_to_string(&log).unwrap();
    let said: Vec<&str> = exported
        .lines()
        .filter_map(|line| line.strip_prefix("; Job"))
        .collect();
    assert_eq!(said, COMMENTS.map(|line| &line[3..]));
    // And it is a workload again, with the run times that the jobs had.
    let again = parts(&bench, &[&format!("--set=workload.0.trace={log}")]);
    assert_eq!(again[2], placed[2]);
    let one = parts(&bench, &["--set=workload.0.components_from=one"]);
    assert_eq!(one[1][0], [0, 0, 0], "24 processors in one component");
}

#[test]
fn what_nobody_would_keep_to_is_refused_with_the_job() {
    let bench = bench();
    let refused = |words: &[&str], why: &str| {
        for command in ["run", "check"] {
            let scenario = bench.path("s.toml");
            let out = bench.path("refused");
            let mut all = vec![command, &scenario];
            all.extend(words);
            if command == "run" {
                all.extend(["--out", &out]);
            }
            let output = run(&all);
            expect_code(&output, 2);
            assert!(
                stderr(&output).contains(why),
                "{}{}",
                stdout(&output),
                stderr(&output)
            );
        }
    };
    refused(
        &["--set=run.policies=[\"round-robin\"]"],
        "job 2 names its cluster, or what it reads there (expected run.policies that all place",
    );
    let path = bench.path("t.swf");
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, trace.replace("12@3", "12@4")).unwrap();
    refused(&[], "job 6 names cluster 4 (expected one of the domain");
    fs::write(&path, trace.replace("24 12+12", "24 12+11")).unwrap();
    refused(
        &[],
        "JobDivision of job 3: expected sizes that sum up to its 24 processors",
    );
}

/// The first has begun when the fourth is placed.
#[test]
fn startup_grows_with_the_jobs_that_are_being_started() {
    let _alone = alone();
    let jobs = [(2, 5, 4), (2, 5, 4), (2, 5, 4), (16, 5, 4)];
    let bench = Bench::new(SCENARIO, &jobs);
    let words = [
        "--set=run.policies=[\"worst-fit\"]",
        "--set=domain.d.broker.co_allocation.startup_contention=0.5",
    ];
    let startup = |_: &str, row: &JobRow| {
        let (placed, start) = row.dispatch.zip(row.start).unwrap();
        start.since(placed).as_nanos() / 1_000_000_000
    };
    // Which of the first three is told first that its processors are held is no matter.
    let startups = |words: &[&str]| {
        let mut all = told(&bench, words, startup);
        all[0][..3].sort_unstable();
        all
    };
    let expected = [[10, 15, 20, 20]];
    assert_eq!(startups(&words), expected);
    let alone = words[1].replace("0.5", "0");
    assert_eq!(startups(&[words[0], &alone]), [[10; 4]]);
    same_when_calm("startup under contention", || {
        let real = startups(&[&["--clock", "real"], &words[..]].concat());
        (real != expected).then(|| format!("{real:?}"))
    });
}

/// What each job waits for: a second of startup beside the files of the cluster that gets the
/// most, at 8 MiB/s; and how much all get. Under reservations, as if all came to one.
#[test]
fn components_start_when_what_they_read_is_at_their_clusters() {
    let bench = Bench::new(SCENARIO, &[(2, 5, 22), (502, 5, 24)]);
    let path = bench.path("t.swf");
    let comments = "; JobComponents: 1 10 6 6\n; JobInputs: 1 1:320@3 2:80@2+3 3:800@3\n\
                    ; JobInputs: 2 1:240@1\n";
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, comments.to_owned() + &trace).unwrap();
    let policies = "run.policies=['worst-fit', 'close-to-files', 'cluster-minimization', \
                    'flexible-cluster-minimization', 'co-reservation']";
    let words = [
        "--set=domain.0.broker.co_allocation.bandwidth_mib_s=8",
        "--set=domain.0.broker.co_allocation.startup=['1s']",
        "--set=domain.d.clusters.*.reservations={}",
        "--set",
        policies,
    ];
    let of_first = told(&bench, &words, |policy, row| {
        let wait = row.wait_s().map(|wait| wait as u64);
        (policy.to_owned(), wait, row.moved_mib)
    });
    let of_first: Vec<_> = of_first.into_iter().map(|jobs| jobs[0].clone()).collect();
    let expected = [
        // 10 on the first, 6 on the second, 6 on the third.
        ("worst-fit", 41, 320),
        // 10 on the third, 6 on the second, 6 on the first.
        ("close-to-files", 101, 800),
        // 16 on the first, and 6 on the second.
        ("cluster-minimization", 101, 1200),
        // 18 and 4: 262, 66 and 655 MiB, and 59 and 146.
        ("flexible-cluster-minimization", 123, 1188),
    ];
    for (found, (policy, wait, mib)) in of_first.iter().zip(expected) {
        let expected = (policy.to_owned(), Some(wait), Some(mib));
        assert_eq!(*found, expected);
    }
    assert!(of_first[4].1 >= Some(151), "{of_first:?}");
    let output = bench.run(&["--force", "--set", "run.policies=['free-node']"]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("job 1 names its cluster, or what it reads there"));
}

/// What `gridrig check` says of jobs that are never placed.
fn never_together(bench: &Bench, words: &[&str]) -> Vec<String> {
    let path = bench.path("s.toml");
    let output = run(&[&["check", path.as_str(), "--json"], words].concat());
    expect_code(&output, 0);
    let report = json(&output);
    let warnings = report["warnings"].as_array().unwrap().iter();
    let never = warnings.filter(|warning| warning["code"] == "never-together");
    never
        .map(|it| it["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn jobs_whose_components_never_fit_together_are_known_before_the_run() {
    let expect = |told: &[String], expected: &[&str]| {
        let alike = told.len() == expected.len()
            && told
                .iter()
                .zip(expected)
                .all(|(told, it)| told.contains(it));
        assert!(alike, "{told:?} {expected:?}");
    };
    let bench = bench();
    let told = never_together(&bench, &[]);
    expect(
        &told,
        &[
            "under worst-fit 1 of 7 jobs",
            "under cluster-minimization 1 of 7 jobs",
        ],
    );
    assert!(told[0].contains("the first is job 4 of "), "{told:?}");
    // It divides nothing.
    let words = [
        "--set=domain.d.clusters.*.reservations={}",
        "--set=run.policies=['co-reservation']",
    ];
    let told = never_together(&bench, &words);
    expect(&told, &["under co-reservation 3 of 7 jobs"]);
    assert!(told[0].contains("the first is job 3 of "), "{told:?}");
    // One that reserves half of its processors has less room, one that reserves for a second none.
    for rules in ["most_share=0.5", "longest='1s'"] {
        let reserves = format!("--set=domain.d.clusters.*.reservations={{{rules}}}");
        let told = never_together(&bench, &[reserves.as_str(), words[1]]);
        let never = "jobs can never be reserved for";
        expect(
            &told,
            &[
                never,
                "under co-reservation 3 of 7 jobs can never be placed",
            ],
        );
    }
    // They run for 5 s, and reserve for `deviation` more.
    let policy = "--set=run.policies=['co-reservation(deviation=1s)']";
    for (longest, told) in [("6s", 1), ("5.9s", 2)] {
        let rules = format!("--set=domain.d.clusters.*.reservations={{longest='{longest}'}}");
        let found = never_together(&bench, &[rules.as_str(), policy]);
        assert_eq!(found.len(), told, "{longest}: {found:?}");
    }
}

#[test]
fn check_and_explain_name_the_most_components_that_are_placed() {
    let bench = Bench::new(SCENARIO, &[(2, 5, 64), (62, 5, 4)]);
    let path = bench.path("t.swf");
    let comment = format!("; JobComponents: 1{}\n", " 1".repeat(64));
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, comment + &trace).unwrap();
    let larger = "--set=domain.d.clusters.*.processors=40";
    let told = never_together(&bench, &[larger]);
    let limit = "1 of them have more than 63 components";
    assert!(
        told.len() == 2 && told.iter().all(|told| told.contains(limit)),
        "{told:?}"
    );
    expect_code(&bench.run(&[larger]), 0);
    let output = run(&["explain", &bench.path("runs/s-1/worst-fit/r000"), "0"]);
    expect_code(&output, 0);
    let limit = "no-candidate: the job has 64 components, and worst-fit places at most 63";
    assert!(stdout(&output).contains(limit), "{}", stdout(&output));
}

/// Most nodes of the first cluster have less memory than the jobs ask for: eleven such processors
/// there are not.
#[test]
fn jobs_that_ask_something_of_nodes_are_not_tried_where_too_few_have_it() {
    let named = "{ name = \"c1\", processors = 18 },\n    { name = \"c2\", processors = 15 },\n    \
                 { name = \"c3\", processors = 12 }";
    let other = "{ name = \"c1\", resources = \"c1.xml\" },\n    { name = \"c2\", processors = 8 }";
    let bench = Bench::new(&SCENARIO.replace(named, other), &[(2, 5, 5), (62, 5, 11)]);
    let group = |count: u32, mib: u32| {
        format!(
            "<Resource><Count>{count}</Count><Architecture>x86</Architecture><CPUCount>1</CPUCount>\
             <OS>LINUX</OS><PhysicalMemory>{mib}</PhysicalMemory></Resource>"
        )
    };
    let file = format!(
        "<EmulatedResources xmlns=\"http://cs.fiu.edu/emulator/resources\">{}{}</EmulatedResources>",
        group(100, 1024),
        group(2, 8192)
    );
    fs::write(bench.path("c1.xml"), file).unwrap();
    let policies = "run.policies=['worst-fit(tries=20)', 'cluster-minimization(tries=20)', \
                    'flexible-cluster-minimization(tries=20)']";
    let memory = "workload.0.draw={ memory_mib = { 4096 = 1 } }";
    let output = bench.run(&["--json", "--set", policies, "--set", memory]);
    expect_code(&output, 0);
    let runs = json(&output)["runs"].as_array().unwrap().clone();
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert_eq!(run["jobs"]["completed"], 1, "{run}");
        assert_eq!(
            run["reasons"],
            serde_json::json!({"no-candidate": 1}),
            "{run}"
        );
    }
}

/// A reservation that lapses before its cluster hears that it is wanted would leave the job
/// with some of its processors.
#[test]
fn reservations_that_would_lapse_before_they_are_confirmed_are_given_up() {
    let scenario = r#"
[workload]
trace = "t.swf"
domain = "d"
[[domain]]
name = "d"
clusters = [
  { name = "c1", processors = 6, reservations = {} },
  { name = "c2", processors = 6, reservations = {} },
]
broker = { lrms_latency = "2s", co_allocation = { claim_timeout = "11s" } }
[run]
policies = ["co-reservation(notice=13s)", "co-reservation(notice=14s)"]
bounds = false
"#;
    let bench = Bench::new(scenario, &[(0, 60, 10)]);
    let path = bench.path("t.swf");
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("; JobComponents: 1 4@1 3@2 3@2\n{trace}")).unwrap();
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    for run in json(&output)["runs"].as_array().unwrap() {
        expect_audited(run, 1);
    }
}

/// Requests for processors come late and out of turn: which of them a claim answers is not told.
#[test]
fn the_audit_knows_that_any_of_several_requests_may_have_been_answered() {
    let scenario = r#"
[workload]
trace = "t.swf"
domain = "d"
[[domain]]
name = "d"
clusters = [
  { name = "c1", processors = 6, interval = "3s" },
  { name = "c2", processors = 6, interval = "3s" },
]
broker = { interval = "2s", exchange = "1s", co_allocation = { claim_timeout = "12s" } }
[[faults.links]]
jitter = "15s"
[run]
policies = ["worst-fit", "cluster-minimization"]
bounds = false
"#;
    let sizes = |job: u64| (1 + job * 5 % 4, 1 + job * 3 % 5);
    let jobs = (1..=40).map(|job| {
        let (first, second) = sizes(job);
        (
            job * 12,
            (30 + job * 7 % 30).cast_signed(),
            (first + second) as u32,
        )
    });
    let bench = Bench::new(scenario, &jobs.collect::<Vec<_>>());
    let path = bench.path("t.swf");
    let comments = (1..=40).map(|job| {
        let (first, second) = sizes(job);
        format!("; JobComponents: {job} {first} {second}\n")
    });
    let trace = fs::read_to_string(&path).unwrap();
    fs::write(&path, comments.collect::<String>() + &trace).unwrap();
    let output = bench.run(&["--json"]);
    expect_code(&output, 0);
    for run in json(&output)["runs"].as_array().unwrap() {
        assert_eq!(run["audit"], "ok", "{run}");
    }
}
