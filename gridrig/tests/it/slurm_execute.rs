//! Scripts that are really executed under an emulated allocation.

use crate::patience::Patience;
use crate::slurm_bench::Emulated;

fn cluster(nodes: u32, cpus: u32) -> Emulated {
    Emulated::start(nodes, cpus, &["--slurm-execute"])
}

fn write(cluster: &Emulated, name: &str, text: &str) {
    std::fs::write(cluster.dir.path().join(name), text).unwrap();
}

fn read(cluster: &Emulated, name: &str) -> String {
    let path = cluster.dir.path().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_script_finds_what_slurm_promises_it() {
    let cluster = cluster(2, 2);
    let script = "#!/bin/bash\n#SBATCH -n 3 -J sim -o %x-%A_%a.%N\n\
        echo $SLURM_JOB_ID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_JOB_NODELIST\n\
        echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE $WORD $1 secret=$SECRET\n\
        scontrol show hostnames\npwd\n";
    write(&cluster, "job.sh", script);
    let said = cluster
        .command("sbatch")
        .args([
            "--wait",
            "-a",
            "5",
            "--export=WORD=hello",
            "job.sh",
            "argument",
        ])
        .env("SECRET", "of the caller")
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
    let dir = cluster.dir.path().display().to_string();
    let expected = format!("1 1 5 n[1-2]\n3 2,1 2,1 hello argument secret=\nn1\nn2\n{dir}\n");
    assert_eq!(read(&cluster, "sim-1_5.n1"), expected);
}

#[test]
fn tasks_are_spread_over_the_nodes_that_they_ask_for() {
    let cluster = cluster(2, 2);
    let script = "echo $SLURM_JOB_NODELIST $SLURM_TASKS_PER_NODE";
    for wish in ["-N2", "--ntasks-per-node=1", "-n2"] {
        cluster.ok(
            "sbatch",
            &["--wait", "-n2", wish, "-o", "out", "--wrap", script],
        );
        let expected = if wish == "-n2" {
            "n1 2\n"
        } else {
            "n[1-2] 1(x2)\n"
        };
        assert_eq!(read(&cluster, "out"), expected, "{wish}");
    }
}

#[test]
fn srun_starts_the_tasks_of_a_step() {
    let cluster = cluster(2, 2);
    let script = "#!/bin/bash\n#SBATCH -n 4 -o out\n\
        srun --mpi=none --cpu-bind=none --output=task.%t bash -c \
        'echo $SLURM_PROCID $SLURM_LOCALID $SLURMD_NODENAME'\n\
        srun -n1 -l echo labelled\nsrun -n1 bash -c 'exit 5'; echo $?\nsrun nosuch; echo $?\n";
    write(&cluster, "job.sh", script);
    cluster.ok("sbatch", &["--wait", "job.sh"]);
    let tasks: Vec<String> = (0..4)
        .map(|t| read(&cluster, &format!("task.{t}")))
        .collect();
    assert_eq!(tasks.concat(), "0 0 n1\n1 1 n1\n2 0 n2\n3 1 n2\n");
    let expected = "0: labelled\nsrun: error: n1: task 0: Exited with exit code 5\n5\n\
        slurmstepd-n1: error: execve(): nosuch: No such file or directory\n\
        srun: error: n1: task 0: Exited with exit code 2\n2\n";
    assert_eq!(read(&cluster, "out"), expected);
}

#[test]
fn an_exit_code_a_signal_and_a_file_that_cannot_be_written_are_told_apart() {
    let cluster = cluster(4, 1);
    let wait = |args: &[&str]| {
        let mut all = vec!["--wait"];
        all.extend(args);
        cluster.run("sbatch", &all).code
    };
    assert_eq!(wait(&["--wrap", "exit 3"]), 3);
    wait(&["--wrap", "kill -9 $$"]);
    wait(&["-o", "/nosuch/out", "--wrap", "true"]);
    let said = cluster.ok("squeue", &["-h", "-t", "all", "-S", "i", "-o", "%i %T %r"]);
    let expected = "1 FAILED NonZeroExitCode\n2 FAILED RaisedSignal\n3 FAILED JobLaunchFailure\n";
    assert_eq!(said, expected);
    let said = cluster.ok("sacct", &["-X", "-n", "-P", "-o", "ExitCode"]);
    assert_eq!(said, "3:0\n0:9\n0:53\n");
}

#[test]
fn signals_reach_the_steps_or_the_shell_or_all_as_with_debians_slurm() {
    let cluster = cluster(1, 8);
    // A shell, and one below it in a step or beside it, each says what it hears.
    let script = |below: &str| {
        let loops = "for i in 1 2 3 4 5 6 7 8 9; do read -t 1 < pipe; done";
        format!(
            "#!/bin/bash\ntrap 'echo shell' USR1\n{below} bash -c \"trap 'echo below' USR1; touch \
             ready.\\$SLURM_JOB_ID; {loops}\" &\n{loops}\nwait\n"
        )
    };
    let made = std::process::Command::new("mkfifo")
        .arg(cluster.dir.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    // Open for both, so that nobody waits for somebody to open it.
    let _pipe = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(cluster.dir.path().join("pipe"))
        .unwrap();
    write(&cluster, "step.sh", &script("srun"));
    write(&cluster, "beside.sh", &script(""));
    let cases = [
        (&["-s", "USR1"][..], "step.sh", "below\n"),
        (&["-s", "USR1"], "beside.sh", ""),
        (&["-b", "-s", "USR1"], "step.sh", "shell\n"),
        (&["-f", "-s", "USR1"], "beside.sh", "below\nshell\n"),
    ];
    for (number, (_, file, _)) in (1..).zip(cases) {
        cluster.ok("sbatch", &["-n1", "-o", &format!("out.{number}"), file]);
    }
    let late = ["--signal=B:USR1@56", "-t", "1", "-n1", "-o", "out.5"];
    cluster.ok("sbatch", &[&late[..], &["step.sh"]].concat());
    let patience = Patience::seconds(180);
    for (number, (words, _, _)) in (1..).zip(cases) {
        while !cluster.dir.path().join(format!("ready.{number}")).exists() {
            patience.wait("a script");
        }
        cluster.ok("scancel", &[words, &[&number.to_string()]].concat());
    }
    let ended = |number: usize| cluster.wait_for(&number.to_string(), "%T", "COMPLETED");
    (1..=5).for_each(ended);
    for (number, (_, _, expected)) in (1..).zip(cases) {
        let said = read(&cluster, &format!("out.{number}"));
        let mut said: Vec<&str> = said.lines().filter(|it| it.len() == 5).collect();
        said.sort_unstable();
        assert_eq!(said.join("\n"), expected.trim_end(), "{number}");
    }
    assert!(
        read(&cluster, "out.5").contains("shell"),
        "before the limit"
    );
}

/// Whether a process of this id is there and no zombie.
fn lives(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[test]
fn cancelling_ends_the_processes_and_gives_the_processors_back() {
    let cluster = cluster(1, 2);
    let script =
        "#!/bin/bash\nsleep 300 &\necho $! > child\ntrap 'echo asked > asked; exit 0' TERM\nwait\n";
    write(&cluster, "job.sh", script);
    cluster.ok("sbatch", &["-n", "2", "job.sh"]);
    cluster.ok("sbatch", &["--wrap", "true"]);
    let patience = Patience::seconds(180);
    let child = loop {
        let path = cluster.dir.path().join("child");
        let child = std::fs::read_to_string(path).unwrap_or_default();
        if child.ends_with('\n') {
            break child;
        }
        patience.wait("a process");
    };
    assert!(lives(&child));
    assert_eq!(
        cluster.ok("squeue", &["-h", "-j", "2", "-o", "%T %r"]),
        "PENDING Resources\n"
    );
    cluster.ok("scancel", &["1"]);
    cluster.wait_for("1", "%T", "CANCELLED");
    cluster.wait_for("2", "%T", "COMPLETED");
    assert!(!lives(&child), "what a script leaves behind ends with it");
    assert_eq!(read(&cluster, "asked"), "asked\n");
}

#[test]
fn scripts_end_with_their_emulator() {
    let cluster = cluster(1, 1);
    cluster.ok("sbatch", &["--wrap", "echo $$ > shell; sleep 300"]);
    let patience = Patience::seconds(180);
    let path = cluster.dir.path().join("shell");
    let shell = loop {
        let shell = std::fs::read_to_string(&path).unwrap_or_default();
        if shell.ends_with('\n') {
            break shell;
        }
        patience.wait("a process");
    };
    assert!(lives(&shell));
    cluster.interrupt();
    while lives(&shell) {
        patience.wait("a process");
    }
}
