#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used
)]
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::event::*;
use gridrig_core::grid::Grid;
use gridrig_core::ids::*;
use gridrig_core::job::*;
use gridrig_core::placement::PlacementRun;
use gridrig_core::resource::Resources;
use gridrig_core::time::*;
use gridrig_results::*;
use std::time::Instant;
fn main() {
    let n = 1_000_000u32;
    let grid = Grid::single_cluster(
        "c",
        ClusterConfig::new(
            ClusterId(0),
            Resources::homogeneous(1024),
            DisciplineKind::FirstInFirstFit,
        ),
    );
    let subs: Vec<Submission> = (0..n)
        .map(|i| Submission {
            spec: JobSpec::rigid(JobId(i), 16, SimDuration::from_secs(32)),
            at: SimTime::from_secs(u64::from(i)),
            entry: Entry::Cluster(ClusterId(0)),
            label: JobLabel::default(),
        })
        .collect();
    let t = Instant::now();
    let mut log = EventLog::default();
    let c = ClusterId(0);
    for i in 0..n + 32 {
        let at = SimTime::from_secs(u64::from(i));
        if i >= 32 {
            let job = JobId(i - 32);
            log.emit(at, Event::Finished { job, cluster: c });
            log.emit(
                at,
                Event::Notified {
                    job,
                    from: Party::Lrms(c),
                    to: Party::Client,
                },
            );
            log.emit(
                at,
                Event::FinishSeen {
                    job,
                    by: Party::Client,
                },
            );
        }
        if i < n {
            let job = JobId(i);
            log.emit(
                at,
                Event::Submitted {
                    job,
                    entry: Entry::Cluster(c),
                    intended: at,
                },
            );
            log.emit(at, Event::Queued { job, cluster: c });
            let p = [PlacementRun {
                resource: 0,
                node: (i % 64) * 16,
                nodes: 16,
                processors: 1,
            }];
            log.emit(
                at,
                Event::Started {
                    job,
                    cluster: c,
                    placement: &p,
                },
            );
        }
    }
    println!("emit {} events {:?}", log.len(), t.elapsed());
    let t = Instant::now();
    let mut l2 = log.clone();
    l2.sort();
    println!("clone+sort {:?}", t.elapsed());
    let t = Instant::now();
    let r = audit(&log, &AuditFacts::new(&grid, &subs));
    println!("audit {:?} {:?}", t.elapsed(), r.map_err(|v| v.len()));
    let t = Instant::now();
    let table = JobTable::build(&log, &subs, &grid, &["w".into()]);
    println!("table {:?} row {}", t.elapsed(), size_of::<jobs::JobRow>());
    let t = Instant::now();
    let s = RunSummary::compute(&table, &Measure::default(), &RunHeader::default());
    println!("summary {:?} {:?}", t.elapsed(), s.utilization);
    let t = Instant::now();
    let ser = table.series();
    println!("series {:?} {}", t.elapsed(), ser.len());
    let dir = std::env::temp_dir().join("bench_tmp_rundir");
    let t = Instant::now();
    let info = rundir::RunInfo {
        summary: Some(s),
        ..Default::default()
    };
    rundir::write(
        &dir,
        true,
        &rundir::RunFiles {
            info: &info,
            scenario: "",
            grid: &grid,
            submissions: &subs,
            log: &log,
            table: &table,
        },
    )
    .unwrap();
    println!("write {:?}", t.elapsed());
    let t = Instant::now();
    println!(
        "audit_run_dir {:?} {:?}",
        rundir::audit_run_dir(&dir).unwrap().map_err(|v| v.len()),
        t.elapsed()
    );
    let t = Instant::now();
    let csv = batsim::jobs_csv(&log, &table, &subs, &grid);
    println!("csv {} {:?}", csv.len(), t.elapsed());
    for e in std::fs::read_dir(&dir).unwrap() {
        let e = e.unwrap();
        println!("{:?} {}", e.file_name(), e.metadata().unwrap().len());
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
