//! Small studies on disk: runs of a few jobs on two sites, with the waits that
//! a test asks for.

use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::{Event, EventKind, EventSink, Party};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::Resources;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::compare::{self, CompareError, Comparison, Options};
use gridrig_results::rundir::{self, Manifest, RunDirError, RunFiles, StudyDoc, VariesDoc};
use gridrig_results::{EventLog, JobTable, RunSummary};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A study in a directory of its own.
pub struct Study {
    pub dir: TempDir,
}

/// A run before it is written.
pub struct Draft {
    pub info: Manifest,
    pub grid: Grid,
    /// Wait of each job in ms; a job without one never starts.
    pub waits: Vec<Option<u64>>,
    /// After how many ms such a job is cancelled.
    pub cancelled: Option<u64>,
    /// Number of its first job in the trace.
    pub first_trace_job: u64,
}

impl Draft {
    pub fn new(policy: &str, replication: u32, waits: &[u64]) -> Self {
        let text = |text: &str| text.to_owned();
        Draft {
            info: Manifest {
                policy: Some(text(policy)),
                seed: 1,
                replication,
                clock: text("virtual"),
                workload_hashes: BTreeMap::from([
                    (text("all"), format!("all {replication}")),
                    (text("jobs"), format!("jobs {replication}")),
                ]),
                trace_sha256: BTreeMap::from([(text("t.swf"), text("abc"))]),
                study: StudyDoc {
                    key: format!("window+{replication}w"),
                    varies: Some(VariesDoc {
                        over: text("window"),
                        count: 40,
                        overlap: None,
                        step: None,
                    }),
                    ..StudyDoc::default()
                },
                ..Manifest::default()
            },
            grid: two_sites(4),
            waits: waits.iter().copied().map(Some).collect(),
            cancelled: None,
            first_trace_job: 0,
        }
    }
}

pub fn two_sites(processors: u32) -> Grid {
    let cluster = |id: u16, name: &str| GridCluster {
        name: name.to_owned(),
        domain: Some(DomainId(id)),
        config: ClusterConfig::new(
            ClusterId(id),
            Resources::homogeneous(processors),
            DisciplineKind::FirstInFirstFit,
        ),
    };
    let domain = |id: u16, name: &str| Domain {
        name: name.to_owned(),
        broker: BrokerSettings::default(),
        clusters: vec![ClusterId(id)],
        topology: Default::default(),
    };
    Grid {
        domains: vec![domain(0, "a"), domain(1, "b")],
        clusters: vec![cluster(0, "a1"), cluster(1, "b1")],
        hours: Vec::new(),
        links: vec![Link {
            consumer: DomainId(0),
            provider: DomainId(1),
            latency: SimDuration::from_millis(50),
            bandwidth: None,
        }],
    }
}

/// One cluster without a broker.
pub fn pooled(processors: u32) -> Grid {
    let mut grid = two_sites(processors);
    grid.clusters.truncate(1);
    grid.clusters[0].domain = None;
    grid.clusters[0].name = "pool".to_owned();
    grid.domains.clear();
    grid.links.clear();
    grid
}

/// Job i comes at 10 i s, wants 1 + i % 4 processors for 5 + i s, belongs to
/// user i % 3 and the account of that number but for 0, runs the program 1 if i is odd,
/// and runs at the site i % 2.
fn submissions(jobs: usize, grid: &Grid) -> Vec<Submission> {
    let entry = match grid.domains.is_empty() {
        true => Entry::Cluster(ClusterId(0)),
        false => Entry::Domain(DomainId(0)),
    };
    let job = |id: usize| Submission {
        spec: JobSpec {
            account: NonZeroU32::new(id as u32 % 3),
            executable: NonZeroU32::new(id as u32 % 2),
            ..JobSpec::rigid(
                JobId(id as u32),
                1 + id as u32 % 4,
                SimDuration::from_secs(5 + id as u64),
            )
        },
        at: SimTime::from_secs(10 * id as u64),
        entry,
        label: JobLabel {
            trace_id: id as u64,
            workload: 0,
            user: Some(id as u32 % 3),
            failed_in_trace: false,
        },
    };
    (0..jobs).map(job).collect()
}

fn log(submissions: &[Submission], draft: &Draft) -> EventLog {
    let (waits, grid) = (&draft.waits, &draft.grid);
    const PLACE: &[PlacementRun] = &[PlacementRun {
        resource: 0,
        node: 0,
        nodes: 1,
        processors: 1,
    }];
    let mut events: Vec<(SimTime, Event<'static>)> = Vec::new();
    for (submission, wait) in submissions.iter().zip(waits) {
        let job = submission.spec.id;
        let site = job.0 as usize % grid.clusters.len();
        let cluster = ClusterId(site as u16);
        let (intended, entry) = (submission.at, submission.entry);
        let submitted = Event::new(EventKind::Submitted, job, Party::Client);
        events.push((intended, submitted.to(entry).at(intended)));
        events.push((intended, Event::new(EventKind::Queued, job, cluster)));
        let Some(wait) = wait else {
            events.extend(draft.cancelled.map(|ms| {
                let end = intended + SimDuration::from_millis(ms);
                (end, Event::new(EventKind::Cancelled, job, cluster))
            }));
            continue;
        };
        let start = intended + SimDuration::from_millis(*wait);
        let finish = start + submission.spec.run_time;
        let by = match grid.domains.is_empty() {
            true => Party::Client,
            false => Party::Broker(DomainId(0)),
        };
        let started = Event::new(EventKind::Started, job, cluster).on(PLACE);
        events.push((start, started));
        events.push((finish, Event::new(EventKind::Finished, job, cluster)));
        events.push((finish, Event::new(EventKind::FinishSeen, job, by)));
    }
    events.sort_by_key(|(at, _)| *at);
    let mut log = EventLog::default();
    events.iter().for_each(|(at, event)| log.emit(*at, *event));
    log
}

impl Study {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        Study { dir }
    }

    /// One run per policy and replication; `waits(policy, replication)` is the
    /// wait of each of three jobs, in ms.
    pub fn of(policies: &[&str], replications: u32, waits: impl Fn(&str, u32) -> [u64; 3]) -> Self {
        let study = Study::new();
        for policy in policies {
            for replication in 0..replications {
                let waits = waits(policy, replication);
                study.write(Draft::new(policy, replication, &waits));
            }
        }
        study
    }

    /// One run of the usual story per policy and replication, changed.
    pub fn changed(policies: &[&str], replications: u32, change: impl Fn(&mut Draft)) -> Self {
        let study = Study::new();
        for policy in policies {
            for replication in 0..replications {
                let mut draft = Draft::new(policy, replication, &usual(policy, replication));
                change(&mut draft);
                study.write(draft);
            }
        }
        study
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn run_dir(&self, policy: &str, replication: u32) -> PathBuf {
        self.path().join(policy).join(format!("r{replication:03}"))
    }

    pub fn write(&self, draft: Draft) -> PathBuf {
        let policy = draft.info.policy.as_deref().unwrap_or("no-broker");
        let dir = self.run_dir(policy, draft.info.replication);
        Self::write_to(&dir, draft);
        dir
    }

    pub fn write_to(dir: &Path, draft: Draft) {
        Self::write_by(draft, |files| rundir::write(dir, false, files));
    }

    /// Hands what the files of a run are made of to who writes them.
    pub fn write_by(
        mut draft: Draft,
        write: impl FnOnce(&RunFiles<'_>) -> Result<(), RunDirError>,
    ) {
        let mut submissions = submissions(draft.waits.len(), &draft.grid);
        for job in &mut submissions {
            job.label.trace_id += draft.first_trace_job;
        }
        let log = log(&submissions, &draft);
        let table = JobTable::build(&log, &submissions, &draft.grid, &["t.swf".to_owned()]);
        if draft.info.summary.is_null() {
            let known = RunSummary {
                valid: true,
                ..RunSummary::default()
            };
            let measure = draft.info.measure.read();
            let summary = RunSummary::compute(&table, &measure, SimDuration::ZERO, known);
            draft.info.summary = serde_json::to_value(summary).unwrap();
        }
        let files = RunFiles {
            document: None,
            info: &draft.info,
            scenario: "",
            grid: &draft.grid,
            submissions: &submissions,
            log: &log,
            table: &table,
        };
        write(&files).unwrap();
    }

    pub fn compare(&self) -> Comparison {
        self.try_compare(&Options::default()).unwrap()
    }

    /// The comparison with a baseline.
    pub fn compare_with(&self, baseline: &str) -> Result<Comparison, CompareError> {
        self.try_compare(&Options {
            baseline: Some(baseline.to_owned()),
            ..Options::default()
        })
    }

    pub fn try_compare(&self, options: &Options) -> Result<Comparison, CompareError> {
        compare::compare(&[self.path().to_owned()], options)
    }

    /// Why it cannot be compared.
    pub fn refusal(&self) -> String {
        self.try_compare(&Options::default())
            .unwrap_err()
            .to_string()
    }
}

/// This is a part of a text.
#[track_caller]
pub fn says(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text}");
}

/// What `policy` waits in the usual story: free-node is better than
/// round-robin by about a second, more or less in each replication.
pub fn usual(policy: &str, replication: u32) -> [u64; 3] {
    let base = 4_000 + 100 * u64::from(replication);
    match policy {
        "round-robin" => [base, 2 * base, 3 * base],
        "free-node" => {
            let gain = 800 + 90 * u64::from(replication % 5);
            [base - gain, 2 * base - gain, 3 * base - gain]
        }
        _ => [base + 500, 2 * base, 3 * base + 500],
    }
}
