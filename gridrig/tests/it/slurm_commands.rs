//! The commands of Slurm on an emulated cluster, in virtual mode.

use crate::command::{
    self, Bench, expect_code, expect_part, expect_refused, expect_stderr, gridrig, ok, split,
};
use crate::patience::Patience;
use crate::slurm_bench::{Emulated, Said};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_exact_calls_of_arc_work_with_an_empty_environment() {
    let cluster = Emulated::start(4, 2, &[]);
    let script = "#!/bin/bash -l\n#SBATCH --no-requeue\n#SBATCH --export=NONE\n#SBATCH -e /dev/null\n\
        #SBATCH -o /dev/null\n\n#SBATCH -p compute\n#SBATCH --nice=50\n#SBATCH -A grid\n\
        #SBATCH -J 'gridrig_1_1h'\n#SBATCH --get-user-env=10L\n#SBATCH -n 2\n\
        #SBATCH --ntasks-per-node 2\n#SBATCH \n#SBATCH -t 10:0\n#SBATCH --mem-per-cpu=100\n./run\n";
    let file = cluster.dir.path().join("job");
    std::fs::write(&file, script).unwrap();
    let empty = |name: &str, args: &[&str]| -> Said {
        let output = cluster.command(name).env_clear().args(args).output();
        output.unwrap().into()
    };
    let ok = |name: &str, args: &[&str]| {
        let said = empty(name, args);
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (0, ""),
            "{name} {args:?}"
        );
        said.stdout
    };
    assert_eq!(
        ok("sbatch", &[file.to_str().unwrap()]),
        "Submitted batch job 1\n"
    );
    let config = ok("scontrol", &["show", "config"]);
    expect_part(&config, "\nSLURM_VERSION           = 22.05.8\n");
    assert!(config.contains("\nMaxJobCount             = "), "{config}");
    let partition =
        "PartitionName=%P TotalCPUs=%C TotalNodes=%D MaxTime=%l DefTime=%L NodeNames=%N";
    let said = ok("sinfo", &["-a", "-h", "-o", partition]);
    let shown = "PartitionName=compute* TotalCPUs=2/6/0/8 TotalNodes=4 MaxTime=infinite DefTime=n/a \
        NodeNames=n[1-4]\n";
    assert_eq!(said, shown);
    assert_eq!(
        ok("sinfo", &["-a", "-h", "-o", "cpuinfo=%C"]),
        "cpuinfo=2/6/0/8\n"
    );
    let jobs = "JobId=%i TimeUsed=%M Partition=%P JobState=%T ReqNodes=%D ReqCPUs=%C TimeLimit=%l \
        Name=%j NodeList=%N";
    let said = ok("squeue", &["-a", "-h", "-t", "all", "-o", jobs]);
    let shown = "JobId=1 TimeUsed=0:00 Partition=compute JobState=RUNNING ReqNodes=1 ReqCPUs=2 \
        TimeLimit=10:00 Name=gridrig_1_1h NodeList=n1\n";
    assert_eq!(said, shown);
    let nodes = ok("scontrol", &["show", "node", "--oneliner"]);
    assert_eq!(nodes.lines().count(), 4);
    let first = nodes.lines().next().unwrap();
    for word in split("NodeName=n1 CPUTot=2 RealMemory=1000 State=ALLOCATED Sockets=2") {
        assert!(first.split(' ').any(|w| w == word), "{word}: {first}");
    }
    let short = format!("-J gridrig_2_100ms -A grid -n 2 {}", file.display());
    assert_eq!(ok("sbatch", &split(&short)), "Submitted batch job 2\n");
    cluster.wait_for("2", "%i:%T", "2:COMPLETED");
    let many: Vec<String> = (1..=4000).map(|id| id.to_string()).collect();
    let listing = format!("-a -h -o %i:%T -t all -j {}", many.join(","));
    let said = ok("squeue", &split(&listing));
    assert_eq!(said, "2:COMPLETED\n1:RUNNING\n");
    let fields = "-j 2.batch -o NCPUS,Start,End,UserCPU,SystemCPU -P -n";
    let said = ok("sacct", &split(fields));
    let fields: Vec<&str> = said.trim_end().split('|').collect();
    assert_eq!((fields[0], fields[3], fields.len()), ("2", "00:00:00", 5));
    assert_eq!(
        ok("sacct", &["-j", "2", "-o", "ExitCode", "-P", "-n"]),
        "0:0\n0:0\n"
    );
    let job = ok("scontrol", &["-o", "show", "job", "2"]);
    for word in split("JobState=COMPLETED NumCPUs=2 ExitCode=0:0 Account=grid") {
        assert!(job.split(' ').any(|w| w == word), "{word}: {job}");
    }
    assert_eq!(ok("scancel", &["1"]), "");
}

#[test]
fn a_job_takes_its_virtual_length_and_may_fail_or_run_out_of_time() {
    let cluster = Emulated::start(4, 1, &["--speed", "60"]);
    let script = "#!/bin/sh\n#GRIDRIG runtime=30s exit=7\n./simulate\n";
    std::fs::write(cluster.dir.path().join("job.sh"), script).unwrap();
    cluster.ok("sbatch", &["job.sh"]);
    cluster.ok("sbatch", &["--wrap", "sleep 20"]);
    cluster.ok("sbatch", &["-t", "1", "--wrap", "sleep 300"]);
    cluster.wait_for("1", "%T %r %M", "FAILED NonZeroExitCode 0:30");
    cluster.wait_for("2", "%T %r %M", "COMPLETED None 0:20");
    cluster.wait_for("3", "%T %r", "TIMEOUT TimeLimit");
    let said = cluster.ok(
        "sacct",
        &["-X", "-n", "-P", "-o", "JobID,State,ExitCode,Elapsed"],
    );
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..2],
        ["1|FAILED|7:0|00:00:30", "2|COMPLETED|0:0|00:00:20"]
    );
    // The limit is noticed when it comes, at sixty times the wall's pace.
    assert!(lines[2].starts_with("3|TIMEOUT|0:0|00:01:0"), "{said}");
}

#[test]
fn what_comes_by_other_interfaces_is_listed_and_can_be_cancelled() {
    let cluster = Emulated::start(2, 2, &[]);
    let script = format!(
        "curl -sf -X POST {}/v1/jobs -H 'content-type: application/json' \
         -d '{{\"processors\": 3, \"run_time\": \"600s\"}}'",
        cluster.url()
    );
    let posted = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(posted.status.success(), "{posted:?}");
    let said = cluster.ok("squeue", &["-h", "-o", "%i %j %t %C %N"]);
    assert_eq!(said, "1 job-0 R 3 n[1-2]\n");
    cluster.ok("scancel", &["1"]);
    cluster.wait_for("1", "%t", "CA");
}

#[test]
fn ten_thousand_jobs_are_listed_whole() {
    let cluster = Emulated::start(1, 1, &[]);
    for _ in 0..10 {
        cluster.ok("sbatch", &["-a", "0-999", "--wrap", "sleep 600"]);
    }
    let said = cluster.ok("squeue", &["-h", "-r", "-o", "%i"]);
    assert_eq!(said.lines().count(), 10_000);
    assert_eq!(cluster.ok("squeue", &["-h"]).lines().count(), 11);
}

#[test]
fn a_command_without_its_cluster_says_so_in_the_words_of_slurm() {
    let cluster = Emulated::start(1, 1, &[]);
    let bin = cluster.bin();
    let copy = tempfile::tempdir().unwrap();
    let link = copy.path().join("sinfo");
    // A link to the link finds the cluster; a command of its own does not.
    std::os::unix::fs::symlink(bin.join("sinfo"), &link).unwrap();
    let said: Said = Command::new(&link).arg("-h").output().unwrap().into();
    assert_eq!(said.code, 0, "{said:?}");
    let lost = copy.path().join("squeue");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gridrig"), &lost).unwrap();
    let said: Said = Command::new(&lost).output().unwrap().into();
    assert_eq!(said.code, 1);
    let words = "Unable to contact slurm controller (connect failure)";
    assert!(said.stderr.contains(words), "{said:?}");
    // By the search path, as shells call it.
    let said: Said = Command::new("sh")
        .args(["-c", "squeue --version"])
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .output()
        .unwrap()
        .into();
    assert_eq!(said.stdout, "slurm-wlm 22.05.8\n");
}

#[test]
fn garbage_on_the_socket_harms_nobody() {
    use std::io::{Read as _, Write as _};
    let cluster = Emulated::start(1, 1, &[]);
    let socket = cluster.bin().join(".gridrig/slurm.sock");
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"GRS1\xff\xff\xff\xff\0\0\0\0",
        b"GRS1\0\0\0\x02\xff\xff\xff\xffxx",
    ] {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(180)))
            .unwrap();
        // The other end may hang up while this is written.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty());
    }
    assert_eq!(
        cluster.ok("sbatch", &["--wrap", "true"]),
        "Submitted batch job 1\n"
    );
}

#[test]
fn a_client_that_vanishes_leaves_no_job_or_a_whole_one() {
    use std::io::Write as _;
    let cluster = Emulated::start(1, 1, &[]);
    let socket = cluster.bin().join(".gridrig/slurm.sock");
    let header = r#"{"command":"sbatch","called":"sbatch","args":["-H"],"cwd":"/","env":[]}"#;
    let script = "#!/bin/sh\nsleep 600\n";
    let mut request = b"GRS1".to_vec();
    for length in [header.len(), script.len()] {
        request.extend(u32::try_from(length).unwrap().to_be_bytes());
    }
    request.extend(header.as_bytes());
    request.extend(script.as_bytes());
    for sent in [8, 12, 20, 12 + header.len(), request.len() - 1] {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        stream.write_all(&request[..sent]).unwrap();
    }
    assert_eq!(cluster.ok("squeue", &["-h", "-t", "all"]), "");
    // It has said everything, and does not wait for the answer.
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    stream.write_all(&request).unwrap();
    drop(stream);
    cluster.wait_for("1", "%T %r", "PENDING JobHeldUser");
    assert_eq!(
        cluster.ok("squeue", &["-h", "-t", "all", "-o", "%i"]),
        "1\n"
    );
}

#[test]
fn a_directory_with_a_file_of_somebody_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("sbatch"), "mine").unwrap();
    let bin = dir.path().display().to_string();
    let output = command::run(&["emulator", "--processors", "1", "--slurm-bin", &bin]);
    expect_refused(&output, "sbatch: expected a directory");
    let output = command::run(&["emulator", "--processors", "1", "--slurm-execute"]);
    expect_code(&output, 2);
}

#[test]
fn a_cluster_of_a_scenario_answers_during_a_run_in_real_time() {
    let place = tempfile::tempdir().unwrap();
    let bin = place.path().join("bin").display().to_string();
    let scenario = format!(
        "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\nslurm_bin = \"{bin}\"\n\
         [run]\nclock = \"real\"\nlag_tolerance = \"1h\"\n"
    );
    // The second is there long enough to be seen on a machine that stands still
    // for some seconds.
    let bench = Bench::new(&scenario, &[(0, 1, 2), (1, 20, 2)]);
    let (file, out) = (bench.path("s.toml"), bench.path("runs"));
    let mut run = gridrig();
    run.args(["run", &file, "--out", &out, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    let squeue = place.path().join("bin/squeue");
    let patience = Patience::seconds(180).every(50);
    let listed = loop {
        let output = Command::new(&squeue)
            .args(["-h", "-o", "%j %t %C"])
            .output();
        let text = output
            .map(|output| command::stdout(&output))
            .unwrap_or_default();
        if text.contains("job-1 R 2") {
            let submit = Command::new(place.path().join("bin/sbatch"));
            let mut submit = submit;
            let said: Said = submit.args(["--wrap", "sleep 1"]).output().unwrap().into();
            break said;
        }
        patience.wait(text);
    };
    assert_eq!(listed.code, 0, "{listed:?}");
    for state in [&["State=DOWN", "Reason=x"][..], &["State=RESUME"]] {
        let mut update = Command::new(place.path().join("bin/scontrol"));
        update.args(["update", "NodeName=n[1-4]"]).args(state);
        let said: Said = update.output().unwrap().into();
        assert_eq!((said.code, &*said.stderr), (0, ""));
    }
    let output = ok(child.wait_with_output().unwrap());
    let report = command::json(&output);
    assert_eq!(report["runs"][0]["audit"], "ok");
    assert_eq!(report["runs"][0]["jobs"]["completed"], 2);
    // The second job may have run there, too.
    let requeues = report["runs"][0]["node_failures"]["requeues"].as_u64();
    assert!(requeues.is_some_and(|n| n >= 1), "{report}");
    expect_stderr(&output, "jobs of others");
}

#[test]
fn sacct_shows_the_keys_of_jobs_and_chooses_by_them() {
    let cluster = Emulated::start(4, 1, &[]);
    let keyed = ["-A", "31", "--wckey=4", "--wrap", "sleep 600"];
    cluster.ok("sbatch", &keyed);
    cluster.ok("sbatch", &["--wrap", "sleep 600"]);
    let fields = ["-X", "-n", "-P", "-o", "JobID,Account,WCKey"];
    assert_eq!(cluster.ok("sacct", &fields), "1|31|4\n2||\n");
    let chosen = [fields.as_slice(), &["-W", "4"]].concat();
    assert_eq!(cluster.ok("sacct", &chosen), "1|31|4\n");
}

#[test]
fn a_job_waits_again_when_its_node_is_taken_down() {
    let cluster = Emulated::start(2, 2, &[]);
    let ok = |name: &str, args: &[&str]| cluster.ok(name, args);
    ok("sbatch", &["-n", "4", "--wrap", "sleep 600"]);
    let seen = || ok("squeue", &["-h", "-o", "%t|%r|%N"]);
    assert_eq!(seen(), "R|None|n[1-2]\n");
    let update = |words: &[&str]| ok("scontrol", &[&["update", "NodeName=n2"], words].concat());
    update(&["State=DOWN", "Reason=burnt out"]);
    assert_eq!(seen(), "PD|Resources|\n");
    let job = ok("scontrol", &["show", "job", "1"]);
    assert!(job.contains(" Restarts=1 "), "{job}");
    let shown = ok("sinfo", &["-h", "-o", "%t|%C|%E|%N"]);
    assert_eq!(shown, "idle|0/2/0/2|none|n1\ndown|0/0/2/2|burnt out|n2\n");
    update(&["State=RESUME"]);
    assert_eq!(seen(), "R|None|n[1-2]\n");
    let drain = ["update", "NodeName=n1", "State=DRAIN", "Reason=x"];
    let said: Said = cluster
        .command("scontrol")
        .args(drain)
        .output()
        .unwrap()
        .into();
    let refused = "slurm_update error: Requested operation not supported on this system\n";
    assert_eq!((said.code, said.stderr.as_str()), (1, refused));
    ok("scancel", &["1"]);
    assert_eq!(
        ok("sacct", &["-X", "-n", "-P", "-o", "State"]),
        "CANCELLED by 0\n"
    );
}

#[test]
fn a_command_that_names_another_cluster_changes_nothing_here() {
    let cluster = Emulated::start(2, 1, &[]);
    cluster.ok("sbatch", &["--wrap", "sleep 600"]);
    let name = cluster.ok("sacct", &["-n", "-X", "-P", "-o", "Cluster"]);
    let here = name.trim();
    let others = ["-M", "other"];
    for (command, words) in [
        ("sbatch", &["--wrap", "true"][..]),
        ("scancel", &["1"]),
        ("squeue", &[]),
        ("sinfo", &[]),
        ("scontrol", &["hold", "1"]),
    ] {
        let said = cluster.run(command, &[&others, words].concat());
        let refused = format!(
            "{command}: error: 'other' can't be reached now, or it is an invalid entry for \
             --cluster.  Use 'sacctmgr list clusters' to see available clusters.\n"
        );
        assert_eq!((said.code, said.stderr), (1, refused), "{command}");
    }
    assert_eq!(
        cluster
            .ok("squeue", &["-h", "-o", "%i %t %p"])
            .split(' ')
            .nth(1),
        Some("R")
    );
    let listed = |asked: &str| cluster.ok("sacct", &["-n", "-X", "-P", "-o", "JobID", "-M", asked]);
    assert_eq!(
        (listed("all"), listed(here)),
        ("1\n".to_owned(), "1\n".to_owned())
    );
    assert_eq!(listed("other"), "");
    let placed = cluster.ok("sbatch", &["-M", here, "--wrap", "true"]);
    assert_eq!(placed, format!("Submitted batch job 2 on cluster {here}\n"));
    let placed = cluster.ok("sbatch", &["-M", here, "--parsable", "--wrap", "true"]);
    assert_eq!(placed, format!("3;{here}\n"));
}
