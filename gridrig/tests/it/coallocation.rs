//! Jobs that several clusters run together.

use crate::coallocation_requests::{sums, wishes};
use crate::command::{gridrig, rows, run};
use gridrig_core::agent::Memory;
use gridrig_core::cluster::{ClusterConfig, Overrun, Reserving};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::faults::{Chance, FaultPlan, LinkFaults, Outage, Rates, Restart};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{
    Component, Components, Division, Entry, JobLabel, JobSpec, Reason, Requirements, StartWindow,
    Submission,
};
use gridrig_core::policy::CoAllocation;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use gridrig_drivers::faults::FaultCounts;
use gridrig_drivers::virtual_time::{self, Cancellation, Options};
use gridrig_results::jobs::{JobRow, JobState};
use gridrig_results::{AuditFacts, EventLog, JobTable, audit, rundir};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

const POLICIES: [&str; 9] = [
    "worst-fit",
    "worst-fit(tries=3)",
    "cluster-minimization",
    "cluster-minimization(quota=0.75)",
    "flexible-cluster-minimization",
    "flexible-cluster-minimization(least_component=2,most_components=3,tries=40)",
    "co-reservation",
    "co-reservation(deviation=1s,notice=1s)",
    "co-reservation(search=exact,deviation=10s,within=10min)",
];

/// Clusters of some sizes, speeds and disciplines, with a broker of this policy.
fn grid(random: &mut ChaCha8Rng, policy: &str) -> Grid {
    let number = random.random_range(2..=5);
    let ids = || (0..number).map(ClusterId);
    let cluster = |id: ClusterId| {
        let group = Resource {
            name: None,
            count: random.random_range(2..=10),
            cpu_count: random.random_range(1..=4),
            architecture: None,
            os: None,
            memory_mib: random.random_bool(0.5).then_some(8),
            disk_mib: None,
            speed: Decimal::parse(["1", "1", "1.5"][random.random_range(0..3)]).unwrap(),
            generic: Default::default(),
        };
        let kind = DisciplineKind::ALL[random.random_range(0..DisciplineKind::ALL.len())];
        let interval = [0, 0, 5][random.random_range(0..3)];
        GridCluster {
            name: format!("c{}", id.0),
            domain: Some(DomainId(0)),
            config: ClusterConfig {
                interval: SimDuration::from_millis(interval),
                reserving: policy.starts_with("co-reservation").then_some(Reserving {
                    overrun: Overrun::Kill,
                    most_share: Decimal::ONE,
                    longest: None,
                    most_ahead: None,
                }),
                ..ClusterConfig::new(id, Resources::new(vec![group]).unwrap(), kind)
            },
        }
    };
    let seconds = |list: &[u64]| list.iter().copied().map(SimDuration::from_secs).collect();
    Grid {
        clusters: ids().map(cluster).collect(),
        domains: vec![Domain {
            name: "d".to_owned(),
            broker: BrokerSettings {
                interval: SimDuration::from_secs(4),
                exchange: SimDuration::from_secs(7),
                policy: policy.parse().unwrap(),
                co_allocation: CoAllocation {
                    startup: seconds(&[0, 2, 3]),
                    wide_area: ["1", "1.25", "1.5"]
                        .map(|it| Decimal::parse(it).unwrap())
                        .into(),
                    ..CoAllocation::default()
                },
                ..BrokerSettings::default()
            },
            clusters: ids().collect(),
            topology: Default::default(),
        }],
        hours: Vec::new(),
        links: Vec::new(),
    }
}

fn jobs(random: &mut ChaCha8Rng, clusters: u16) -> Vec<Submission> {
    let mut at = 0;
    let job = |id| {
        at += random.random_range(0..12);
        let direct = random.random_bool(0.3);
        let components = if direct {
            1
        } else {
            random.random_range(1..=4)
        };
        let parts = (0..components).map(|_| Component {
            processors: random.random_range(1..=9),
            requirements: Requirements {
                memory_kib: random.random_range(0..3) * 1024,
                ..Requirements::default()
            },
            cluster: None,
        });
        let parts: Vec<Component> = parts.collect();
        let run_time = SimDuration::from_secs(random.random_range(0..60));
        Submission {
            spec: JobSpec {
                id: JobId(id),
                ..JobSpec::of(Components::new(parts).unwrap(), run_time)
            },
            at: SimTime::from_secs(at),
            entry: match direct {
                true => Entry::Cluster(ClusterId(random.random_range(0..clusters))),
                false => Entry::Domain(DomainId(0)),
            },
            label: JobLabel::default(),
        }
    };
    (0..80).map(job).collect()
}

/// The random run of this seed, of services under a plan of faults if there is one; its jobs,
/// once the audit has looked at them, and what went wrong.
fn ran(seed: u64, plan: Option<&FaultPlan>) -> (JobTable, FaultCounts) {
    let mut random = rng::stream(seed, "co-allocation");
    let policy = POLICIES[seed as usize % POLICIES.len()];
    let grid = grid(&mut random, policy);
    let mut jobs = jobs(&mut random, grid.clusters.len() as u16);
    for job in jobs
        .iter_mut()
        .filter(|_| policy.starts_with("co-reservation"))
    {
        let earliest = job.at + SimDuration::from_secs(random.random_range(0..600));
        let length = SimDuration::from_secs(random.random_range(0..300));
        job.spec.start_window = random.random_bool(0.3).then(|| {
            Box::new(StartWindow {
                earliest,
                latest: earliest + length,
                flexible: random.random_bool(0.5),
            })
        });
    }
    wishes(seed, &mut jobs, grid.clusters.len() as u16);
    let cancellations: Vec<Cancellation> = (0..80)
        .step_by(7)
        .map(|job| Cancellation {
            at: jobs[job].at + SimDuration::from_millis(random.random_range(0..20_000)),
            job: JobId(job as u32),
        })
        .collect();
    let options = Options {
        seed,
        cancellations: &cancellations,
        stop_at: Some(SimTime::from_secs(50_000)),
        ..Options::default()
    };
    let mut log = EventLog::default();
    let go_on = |_, _| ControlFlow::Continue(());
    let (outcome, counts) = match plan {
        None => {
            let outcome = virtual_time::run(&grid, &jobs, &options, &mut log, go_on);
            (outcome, FaultCounts::default())
        }
        Some(plan) => {
            virtual_time::run_with_faults(&grid, &jobs, &options, plan, &mut log, go_on).unwrap()
        }
    };
    let found = audit(&log, &AuditFacts::new(&grid, &jobs));
    let found = found.map_err(|found| found[0].to_string());
    let found =
        found.unwrap_or_else(|first| panic!("seed {seed}: {policy}: {first} under {plan:?}"));
    // A client that removes a job which it could not submit knows no more of it.
    let lost = found.jobs.unfinished as usize;
    let all = outcome.ended + lost == jobs.len() && lost <= plan.map_or(0, |_| 12);
    assert!(all, "seed {seed}: {policy}: {outcome:?} {lost} {plan:?}");
    let table = JobTable::build(&log, &jobs, &grid, &["w".to_owned()]);
    let rows = table.rows().iter();
    for row in rows.filter(|row| row.start.is_some() && !row.direct) {
        let parts: u32 = row.parts().map(|part| part.processors).sum();
        assert_eq!(parts, row.processors, "seed {seed}: {policy}: {}", row.job);
        let parts: Vec<u32> = row.parts().map(|part| part.processors).collect();
        let spec = &jobs[row.job.0 as usize].spec;
        let wanted = match spec.division.as_deref() {
            Some(Division::Splits(splits)) if !policy.starts_with("co-reservation") => {
                splits.iter().any(|sizes| sums(sizes, &mut parts.clone()))
            }
            _ => true,
        };
        assert!(wanted, "seed {seed}: {policy}: {}: {parts:?}", row.job);
    }
    (table, counts)
}

#[test]
fn random_jobs_run_on_several_clusters_at_once_or_not_at_all() {
    let (mut divided, mut tried, mut cancelled, mut reserved) = (0, 0, 0, 0);
    for seed in 0..225 {
        let (table, _) = ran(seed, None);
        let rows = || table.rows().iter();
        divided += rows().filter(|row| row.clusters() > Some(1)).count();
        tried += rows()
            .filter(|row| row.reason == Some(Reason::TriesExhausted))
            .count();
        let ended = |row: &&JobRow| row.state == JobState::Cancelled && !row.claims.is_empty();
        cancelled += rows().filter(ended).count();
        // The audit holds their starts against their windows.
        let within =
            |row: &&JobRow| row.reserves && row.start.is_some() && row.clusters() > Some(1);
        reserved += rows().filter(within).count();
    }
    let counts = (divided, tried, cancelled, reserved);
    let enough = divided > 500 && tried > 30 && cancelled > 50 && reserved > 200;
    assert!(enough, "{counts:?}");
}

#[test]
fn where_nothing_fails_services_hold_parts_as_brokers_and_lrmss_do_by_themselves() {
    for seed in 0..90 {
        let run = |plan: Option<&FaultPlan>| {
            let (table, _) = ran(seed, plan);
            let told = |row: &JobRow| {
                let parts: Vec<_> = row
                    .parts()
                    .map(|part| (part.cluster, part.from, part.until))
                    .collect();
                (row.job, row.state, row.reason, row.start, row.end, parts)
            };
            table.rows().iter().map(told).collect::<Vec<_>>()
        };
        let by_services = run(Some(&FaultPlan::default()));
        for (own, expected) in by_services.iter().zip(&run(None)) {
            assert_eq!(own, expected, "seed {seed}");
        }
    }
}

#[test]
fn whatever_is_lost_on_the_way_all_parts_run_or_none() {
    let (mut all, mut divided) = (FaultCounts::default(), 0);
    for seed in 0..225 {
        let mut random = rng::stream(seed, "co-allocation.faults");
        let mut often = || Chance::once_in([0, 3, 8][random.random_range(0..3)]);
        let (lost, repeated, overtaken) = (often(), often(), often());
        let mut millis = || SimDuration::from_millis([0, 20, 3_000][random.random_range(0..3)]);
        let rates = Rates {
            delay: millis(),
            jitter: millis(),
            lost,
            repeated,
            overtaken,
        };
        let mut span = || {
            let from = random.random_range(0..500_000);
            let until = from + random.random_range(1..90_000);
            [from, until].map(|at| SimTime::ZERO + SimDuration::from_millis(at))
        };
        let (stop, cut) = (span(), span());
        let plan = FaultPlan {
            links: vec![LinkFaults::everywhere(rates)],
            outages: vec![Outage {
                of: [ClusterId(0).into(), DomainId(0).into()][seed as usize % 2],
                towards: None,
                from: cut[0],
                until: cut[1],
                silent: random.random_bool(0.5),
                information: false,
            }],
            restarts: vec![Restart {
                broker: DomainId(0),
                at: stop[0],
                back: stop[1],
                anew: Some(Memory::Journal),
            }],
            ..FaultPlan::default()
        };
        let (table, counts) = ran(seed, Some(&plan));
        let rows = table.rows().iter();
        divided += rows.filter(|row| row.clusters() > Some(1)).count();
        all.lost += counts.lost;
        all.repeated += counts.repeated;
        all.overtaken += counts.overtaken;
        all.cut += counts.cut;
        all.restarted += counts.restarted;
    }
    let least = [all.lost, all.repeated, all.overtaken, all.cut];
    assert!(least.iter().all(|count| *count > 1_000), "{all:?}");
    assert!(divided > 500 && all.restarted > 100, "{divided} {all:?}");
}

#[test]
fn a_job_that_finds_no_room_is_tried_so_often_and_then_rejected() {
    let mut random = rng::stream(1, "tries");
    let mut grid = grid(&mut random, "worst-fit(tries=3)");
    for cluster in &mut grid.clusters {
        let resources = Resources::homogeneous(4);
        cluster.config = ClusterConfig::new(cluster.config.id, resources, DisciplineKind::Fcfs);
    }
    // The first has one processor of every cluster for a long time.
    let all = grid.clusters.len();
    let job = |id, at, sizes: &[u32], run_time| Submission {
        spec: JobSpec {
            id: JobId(id),
            ..JobSpec::of(
                Components::new(sizes.iter().map(|processors| Component {
                    processors: *processors,
                    requirements: Requirements::default(),
                    cluster: None,
                }))
                .unwrap(),
                SimDuration::from_secs(run_time),
            )
        },
        at: SimTime::from_secs(at),
        entry: Entry::Domain(DomainId(0)),
        label: JobLabel::default(),
    };
    let jobs = [
        job(0, 0, &vec![3; all], 1000),
        job(1, 9, &[2], 10),
        job(2, 9, &[1], 10),
    ];
    let mut log = EventLog::default();
    let go_on = |_, _| ControlFlow::Continue(());
    virtual_time::run(&grid, &jobs, &Options::default(), &mut log, go_on);
    let table = JobTable::build(&log, &jobs, &grid, &["w".to_owned()]);
    // Tried as it came, at 12 s and at 16 s.
    let [_, tried, placed] = table.rows() else {
        panic!("three jobs")
    };
    assert_eq!(tried.reason, Some(Reason::TriesExhausted));
    assert_eq!(tried.end, Some(SimTime::from_secs(16)));
    assert_eq!(placed.state, JobState::Completed);
    audit(&log, &AuditFacts::new(&grid, &jobs)).unwrap();
}

#[test]
fn the_policies_of_koala_come_in_the_order_of_the_paper() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("runs");
    let (out, set) = (
        out.to_str().unwrap(),
        "run.replicate={over=\"seed\",count=2}",
    );
    let scenario = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../resources/scenarios/koala-das2.toml"
    );
    let ran = run(&["run", scenario, "--out", out, "--set", set, "--json"]);
    assert!(ran.status.success(), "{ran:?}");
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mean = |policy: &str, figure: &str| {
        let runs = document["runs"].as_array().unwrap().iter();
        let own = runs.filter(|run| run["policy"] == policy);
        let own: Vec<f64> = own
            .map(|run| run.pointer(figure).unwrap().as_f64().unwrap())
            .collect();
        assert_eq!(own.len(), 2);
        own.iter().sum::<f64>() / 2.0
    };
    let [wf, cm, fcm] = [
        "worst-fit",
        "cluster-minimization",
        "flexible-cluster-minimization",
    ];
    for figure in ["/response_s/mean", "/wait_s/mean"] {
        assert!(mean(fcm, figure) < mean(cm, figure), "{figure}");
        assert!(mean(cm, figure) < mean(wf, figure), "{figure}");
    }
    for figure in ["/clusters_mean", "/run_time_s_mean"] {
        assert!(mean(fcm, figure) < mean(wf, figure), "{figure}");
        assert!(mean(cm, figure) < mean(wf, figure), "{figure}");
    }
    // Local users are not measured, and are in the load.
    assert_eq!(document["runs"][0]["measured"]["submitted"], 200);
    every_part_is_shown(&dir.path().join("runs/koala-das2-1/worst-fit/r000"));
}

/// Charts and other programs get all processors of a job, wherever they are.
fn every_part_is_shown(run_dir: &Path) {
    let manifest = rundir::read_manifest(run_dir).unwrap();
    let placements = rundir::read_placements(run_dir, &manifest.grid).unwrap();
    let table = rundir::TableColumns::open(run_dir, "jobs.parquet").unwrap();
    let ran = rundir::Ran::read(&table, &manifest).unwrap();
    let mut together = 0;
    for (row, processors) in ran.processors.iter().enumerate() {
        let parts: Vec<_> = placements.by_cluster(row, ran.on[row]).collect();
        let runs = parts.iter().flat_map(|(_, runs)| *runs);
        let taken: u32 = runs.map(|run| run.nodes * run.processors).sum();
        assert_eq!(taken, *processors, "row {row}");
        together += usize::from(parts.len() > 1);
    }
    assert!(together > 100, "{together}");
    let out = run_dir.join("batsim_jobs.csv");
    let exported = run(&[
        "export",
        run_dir.to_str().unwrap(),
        "--format",
        "batsim",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(exported.status.success(), "{exported:?}");
    let jobs = fs::read_to_string(out).unwrap();
    let mut lines = jobs.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|own| *own == name).unwrap();
    let (wanted, given) = (
        column("requested_number_of_resources"),
        column("allocated_resources"),
    );
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let sets = cells[given]
            .split(' ')
            .map(|set| match set.split_once('-') {
                Some((first, last)) => {
                    last.parse::<u32>().unwrap() - first.parse::<u32>().unwrap() + 1
                }
                None => 1,
            });
        assert_eq!(sets.sum::<u32>().to_string(), cells[wanted], "{line}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    for (set, expected) in rows(
        r#"
            faults.restarts=[{broker="koala",from="1h",until="2h",memory="none"}] => memory = "journal" or "kept" with worst-fit
            run.policies=["co-reservation"] => clusters with reservations = { overrun = "kill" } for co-reservation
            run.policies=["co-reservation(search=best)"] => one of augmenting-paths, exact
            run.policies=["free-node(matchmaking=co-allocate)"] => a parameter of free-node
            domain.0.broker.matchmaking=co-allocate => co-allocate
            run.policies=["cluster-minimization(quota=2)"] => quota (a number above 0 and up to 1)
            workload.0.draw={components={2=1}} => either components_from or draw.components
            domain.0.broker.co_allocation.claim_timeout=2ms => co_allocation.claim_timeout above 2ms in domain koala
            domain.0.clusters.0.outages=[{from="1h",until="2h"}] => clusters whose nodes do not fail for worst-fit
            "#,
    ) {
        let scenario = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../resources/scenarios/koala-das2.toml"
        );
        let checked = gridrig()
            .current_dir(&dir)
            .args(["check", scenario, "--set", set])
            .output();
        let checked = checked.unwrap();
        let said = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(checked.status.code(), Some(2), "{set}: {said}");
        assert!(said.contains(expected), "{set}: {said}");
    }
}
