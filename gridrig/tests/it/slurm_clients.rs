//! Clients of Slurm's commands from PyPI, unmodified, on an emulated cluster
//! that executes.

use crate::slurm_bench::Emulated;
use std::path::Path;
use std::process::Command;

/// Runs a program of a client with the cluster's commands in its search path;
/// what it prints last. Half a dozen processes of Python each load hundreds of
/// modules, which takes tens of seconds on a busy machine: the bounds are there
/// against a hang alone.
fn run(python: &Path, cluster: &Emulated, program: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let file = cluster.dir.path().join("client.py");
    std::fs::write(&file, program).unwrap();
    let venv = python.parent().unwrap().display();
    let output = Command::new("timeout")
        .args(["-k", "5", "400"])
        .arg(python)
        .arg(&file)
        .current_dir(cluster.dir.path())
        .env("PATH", format!("{}:{venv}:{path}", cluster.bin().display()))
        .env("HOME", cluster.dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{error}");
    said.lines().last().unwrap_or_default().to_owned()
}

/// States of all jobs, each once.
fn states(cluster: &Emulated) -> Vec<String> {
    let said = cluster.ok("sacct", &["-X", "-n", "-P", "-o", "State"]);
    let mut states: Vec<String> = said.lines().map(str::to_owned).collect();
    states.sort();
    states.dedup();
    states
}

#[test]
fn psij_completes_its_jobs() {
    let test = "psij_completes_its_jobs";
    let Some(python) = crate::need::slurm_clients(test) else {
        return;
    };
    let cluster = Emulated::start(4, 2, &["--slurm-execute"]);
    let program = r#"
from datetime import timedelta
from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1
executor = JobExecutor.get_instance("slurm")
executor.config.queue_polling_interval = 1
executor.config.initial_queue_polling_delay = 1
jobs = []
for index in range(3):
    spec = JobSpec(executable="/bin/sh", arguments=["-c", f"echo {index} >> done"],
                   resources=ResourceSpecV1(process_count=2, processes_per_node=2),
                   launcher="multiple",
                   attributes=JobAttributes(duration=timedelta(minutes=15)))
    job = Job(spec)
    executor.submit(job)
    jobs.append(job)
states = [job.wait(timeout=timedelta(seconds=300)) for job in jobs]
print(" ".join(str(state.state) for state in states))
"#;
    let said = run(&python, &cluster, program);
    assert_eq!(said, "COMPLETED COMPLETED COMPLETED");
    let done = std::fs::read_to_string(cluster.dir.path().join("done")).unwrap();
    let mut done: Vec<&str> = done.lines().collect();
    done.sort_unstable();
    assert_eq!(done, ["0", "0", "1", "1", "2", "2"]);
    assert_eq!(states(&cluster), ["COMPLETED"]);
}

#[test]
fn parsl_completes_its_apps() {
    let Some(python) = crate::need::slurm_clients("parsl_completes_its_apps") else {
        return;
    };
    let cluster = Emulated::start(2, 2, &["--slurm-execute"]);
    let program = r#"
import parsl
from parsl import python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider
provider = SlurmProvider(partition="compute", nodes_per_block=1, init_blocks=1, max_blocks=1,
                         cores_per_node=2, walltime="00:15:00", launcher=SrunLauncher(),
                         exclusive=False, cmd_timeout=120)
executor = HighThroughputExecutor(label="rig", address="127.0.0.1", max_workers_per_node=2,
                                  cores_per_worker=1, provider=provider, encrypted=False)
with parsl.load(Config(executors=[executor], usage_tracking=0)):
    @python_app
    def square(x):
        import os
        return x * x, "SLURM_JOB_ID" in os.environ
    answers = [square(x) for x in range(8)]
    results = [answer.result(timeout=300) for answer in answers]
print(sum(value for value, _ in results), all(inside for _, inside in results))
"#;
    assert_eq!(run(&python, &cluster, program), "140 True");
    let said = cluster.ok("sacct", &["-X", "-n", "-P", "-o", "JobName,NCPUS"]);
    assert!(said.starts_with("parsl.rig.block-0"), "{said}");
}

#[test]
fn dask_jobqueue_computes_on_its_workers() {
    let test = "dask_jobqueue_computes_on_its_workers";
    let Some(python) = crate::need::slurm_clients(test) else {
        return;
    };
    let cluster = Emulated::start(4, 2, &["--slurm-execute"]);
    let program = r#"
from dask.distributed import Client
from dask_jobqueue import SLURMCluster
if __name__ == "__main__":
    with SLURMCluster(queue="compute", cores=1, processes=1, memory="400MB", walltime="00:15:00",
                      interface="lo", scheduler_options={"dashboard_address": None,
                                                         "interface": "lo"}) as cluster:
        cluster.scale(jobs=2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=300)
            print(sum(client.gather(client.map(lambda x: x * x, range(10)))))
"#;
    assert_eq!(run(&python, &cluster, program), "285");
    assert_eq!(
        cluster
            .ok("sacct", &["-X", "-n", "-o", "JobID"])
            .lines()
            .count(),
        2
    );
    // The clients have cancelled what they started.
    for job in ["1", "2"] {
        cluster.wait_for(job, "%T", "CANCELLED");
    }
}
