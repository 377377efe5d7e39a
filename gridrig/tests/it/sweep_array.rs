//! `gridrig sweep` by arrays of Slurm, of which tasks are killed.

use crate::command::{Bench, expect_code, json, ok, stdout};
use crate::real_slurm;
use crate::slurm_bench::Emulated;
use crate::sweep::{AXES, merged, plan, planned, sweep};
use std::fs;
use std::process::Command;

/// A sweep of so many points by an array of so many tasks, of which these are killed, and
/// then run again. `path` is where the commands of its Slurm are.
fn by_array(
    bench: &Bench,
    (points, tasks, killed): (usize, usize, &[usize]),
    path: &str,
    mut sbatch: impl FnMut(&[&str]),
) {
    let (count, each) = (tasks.to_string(), points / tasks);
    let names: Vec<String> = killed.iter().map(usize::to_string).collect();
    let dir = "of many";
    expect_code(&plan(bench, "one"), 0);
    expect_code(&plan(bench, dir), 0);
    expect_code(&sweep(bench, "run", "one", &[]), 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridrig"));
    command.args([
        "sweep",
        "script",
        "slurm",
        &bench.path(dir),
        "--slices",
        &count,
    ]);
    let script = ok(command.env("PATH", path).output().unwrap());
    let script = stdout(&script);
    let array = format!("#SBATCH --array=1-{tasks}\n");
    assert!(script.contains(&array), "{script}");
    assert!(script.contains("below MaxArraySize (1001)"), "{script}");
    // The system ends it in the middle of a file that is longer than 4 KiB.
    let (again, some) = (bench.path("again"), names.join("|"));
    let limit =
        format!("[ -e {again} ] || case $SLURM_ARRAY_TASK_ID in {some}) ulimit -f 8;; esac");
    let script = script.replace("\nexec ", &format!("\n{limit}\nexec "));
    let file = bench.path("sweep.sh");
    fs::write(&file, script).unwrap();
    sbatch(&["--wait", &file]);
    let status = sweep(bench, "status", dir, &["--json"]);
    expect_code(&status, 1);
    let done = points - killed.len() * each;
    assert_eq!(json(&status)["points_done"], done, "{}", stdout(&status));
    fs::write(bench.path("again"), "").unwrap();
    sbatch(&["--wait", &format!("--array={}", names.join(",")), &file]);
    let log = fs::read_to_string(bench.path("of many/slice-3.log")).unwrap();
    let told = format!("slice 3/{tasks}: {each} of {points} points");
    assert!(log.contains(&told), "{log}");
    assert!(
        merged(bench, "one") == merged(bench, dir),
        "the merged bytes differ"
    );
}

#[test]
fn tasks_of_an_emulated_slurm_run_a_sweep() {
    let bench = planned(AXES);
    let cluster = Emulated::start(4, 1, &["--slurm-execute"]);
    let path = format!("{}:/usr/bin:/bin", cluster.bin().display());
    let array = (12, 4, &[2, 3][..]);
    by_array(&bench, array, &path, |words| {
        drop(cluster.run("sbatch", words));
    });
}

#[test]
fn tasks_of_a_real_slurm_run_a_sweep() {
    let setup = real_slurm::builtin(1, 4);
    let Some(slurm) = real_slurm::start("tasks_of_a_real_slurm_run_a_sweep", &setup) else {
        return;
    };
    // 2,000 runs in 40 tasks, of which a tenth is killed.
    let seeds: Vec<String> = (1..=500).map(|seed| seed.to_string()).collect();
    let seeds = seeds.join(", ");
    let bench = planned(&format!(
        "[grid]\n\"domain.*.broker.exchange\" = [\"5s\", \"1m\"]\n\"run.seed\" = [{seeds}]\n"
    ));
    let array = (1000, 40, &[3, 13, 23, 33][..]);
    by_array(&bench, array, "/usr/bin:/bin", |words| {
        drop(slurm.run("sbatch", words));
    });
}
