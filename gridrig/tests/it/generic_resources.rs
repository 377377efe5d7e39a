//! GPUs, and whatever else nodes have, from the cluster file to the results: the
//! program knows no resource by its name.

use crate::command::{Bench, expect_code, expect_refused, expect_stderr, run};
use crate::slurm_bench::Emulated;
use gridrig_results::rundir;
use std::path::Path;

const CLUSTER: &str = "<EmulatedResources xmlns=\"http://cs.fiu.edu/emulator/resources\"><Resource>
  <Count>1</Count><Architecture>x86</Architecture><CPUCount>8</CPUCount><OS>Linux</OS>
  <PhysicalMemory>1000</PhysicalMemory><GenericResources>gpu:4</GenericResources>
</Resource></EmulatedResources>";

const SCENARIO: &str = "[workload]
trace = \"t.swf\"
draw = { generic_resources = { \"gpu:2\" = 1 } }
[cluster]
resources = \"c.xml\"
discipline = \"easy-backfill\"
";

#[test]
fn jobs_wait_for_gpus_where_processors_are_free() {
    jobs_wait_for("gpu");
}

#[test]
fn jobs_wait_for_a_resource_that_no_source_file_names() {
    jobs_wait_for("fpga");
}

#[test]
fn jobs_wait_for_gpus_of_a_type() {
    jobs_wait_for("gpu:a100");
}

#[test]
fn a_job_that_names_no_type_takes_any_and_one_of_another_type_fits_nowhere() {
    let run_with = |wish: &str| {
        let bench = Bench::new(&SCENARIO.replace("gpu:2", wish), &[(0, 10, 1)]);
        let cluster = CLUSTER.replace("gpu:4", "gpu:a100:4");
        std::fs::write(bench.path("c.xml"), cluster).unwrap();
        bench.run(&[])
    };
    expect_code(&run_with("gpu:2"), 0);
    expect_refused(&run_with("gpu:v100:2"), "no job can run anywhere");
}

/// Nodes have four of this resource, and each job asks for two.
fn jobs_wait_for(name: &str) {
    let scenario = SCENARIO.replace("gpu", name);
    let bench = Bench::new(&scenario, &[(0, 10, 1), (0, 10, 1), (0, 10, 1)]);
    std::fs::write(bench.path("c.xml"), CLUSTER.replace("gpu", name)).unwrap();
    expect_code(&bench.run(&[]), 0);
    let directory = Path::new(&bench.path("runs/s-1")).join("no-broker/r000");
    expect_code(&run(&["audit", &directory.display().to_string()]), 0);
    let read = rundir::read(&directory).unwrap();
    let wanted = read
        .submissions
        .iter()
        .map(|job| job.spec.components.first.requirements.generic.to_string());
    let two = format!("{name}:2");
    assert_eq!(wanted.collect::<Vec<_>>(), vec![two.clone(); 3]);
    let group = &read.grid.clusters[0].config.resources.groups()[0];
    assert_eq!(group.generic.count(name), 4);
    let table = rundir::TableColumns::open(&directory, "jobs.parquet").unwrap();
    let column = table.codes("generic_resources").unwrap();
    assert_eq!(column.name(2), Some(two.as_str()));
    let starts = read.log.records();
    let starts = starts.filter(|(_, event)| event.kind.name() == "started");
    let seconds = starts.map(|(at, _)| at.as_nanos() / 1_000_000_000);
    assert_eq!(seconds.collect::<Vec<_>>(), [0, 0, 10]);
}

#[test]
fn a_wish_that_is_none_is_refused_with_its_line() {
    let bench = Bench::new(&SCENARIO.replace("gpu:2", "gpu:0"), &[(0, 10, 1)]);
    std::fs::write(bench.path("c.xml"), CLUSTER).unwrap();
    let output = bench.run(&[]);
    expect_refused(&output, "s.toml:3");
    expect_stderr(&output, "generic resources such as");
}

#[test]
fn sbatch_takes_gpus_of_nodes_that_show_them() {
    sbatch_takes("gpu");
}

#[test]
fn sbatch_takes_a_resource_that_no_source_file_names() {
    sbatch_takes("fpga");
}

#[test]
fn sbatch_takes_gpus_of_a_type_and_of_any() {
    sbatch_takes("gpu:a100");
}

fn sbatch_takes(name: &str) {
    let base = name.split(':').next().unwrap();
    let two = format!("{name}:2");
    let cluster = Emulated::start_with(&two, 1, 4, &[]);
    let submit = |gres: &str| {
        let gres = format!("--gres={gres}");
        cluster.run("sbatch", &[gres.as_str(), "-n1", "--wrap", "sleep 600"])
    };
    let state = |id: &str| cluster.run("squeue", &["-h", "-j", id, "-o", "%T"]).stdout;
    let one = format!("{name}:1");
    for gres in [one.as_str(), base, one.as_str(), "none"] {
        assert_eq!(submit(gres).code, 0, "{gres}");
    }
    assert_eq!(state("1"), "RUNNING\n");
    assert_eq!(state("2"), "RUNNING\n");
    assert_eq!(state("3"), "PENDING\n");
    let taken = cluster.run("squeue", &["-h", "-j", "1,4", "-o", "%b"]);
    assert_eq!(taken.stdout, format!("N/A\ngres:{one}\n"));
    // A type that no node has.
    assert_ne!(submit(&format!("{base}:v100:1")).code, 0);
    let twice = submit(&format!("{one},{base}:1"));
    assert_eq!(twice.code, 1);
    assert!(
        twice
            .stderr
            .contains("Invalid generic resource (gres) specification"),
        "{}",
        twice.stderr
    );
    assert_ne!(submit(&format!("{name}:3")).code, 0);
    let shown = cluster.run("sinfo", &["-h", "-o", "%G"]).stdout;
    assert_eq!(shown, format!("{two}\n"));
    let nodes = cluster.run("scontrol", &["show", "node"]).stdout;
    assert!(nodes.contains(&format!("Gres={two}\n")), "{nodes}");
}
