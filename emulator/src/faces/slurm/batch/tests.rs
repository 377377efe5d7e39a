use super::*;

fn ask(args: &[&str], script: &str) -> Result<Order, Refusal> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    read("sbatch", &args, &[], script.as_bytes())
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_script() {
    let script = "#!/bin/sh\n#SBATCH -J one -p p1 --time=5\n#SBATCH\n\n# note\n\
        #SBATCH --comment=\"a b\" -n 2 # why\ntrue\n#SBATCH -n 9\n";
    let env = [
        ("SBATCH_JOB_NAME".to_owned(), "two".to_owned()),
        ("SBATCH_PARTITION".to_owned(), "p2".to_owned()),
    ];
    let args = ["-p".to_owned(), "p3".to_owned(), "job.sh".to_owned()];
    let order = read("sbatch", &args, &env, script.as_bytes()).unwrap();
    let batch = order.batch;
    assert_eq!(
        (batch.name.as_str(), batch.partition.as_deref()),
        ("two", Some("p3"))
    );
    assert_eq!((batch.tasks, batch.comment.as_deref()), (2, Some("a b")));
    assert_eq!(batch.limit, Some(Limit::Seconds(300)));
    assert_eq!(batch.command.as_deref(), Some("job.sh"));
}

#[test]
fn a_heterogeneous_job_is_refused_wherever_it_is_asked_for() {
    let plain = "#!/bin/sh\n#SBATCH -n 2\nsleep 1 : hetjob\n";
    let divided = "#!/bin/sh\n#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH -n 4\nsleep 1\n";
    for (args, script) in [
        (&["-n1", ":", "-n2", "--gres=gpu:1", "job.sh"][..], plain),
        (&["-n1", "--wrap=true", ":", "-n2"], ""),
        (&["job.sh"], divided),
    ] {
        let Refusal(code, said) = ask(args, script).unwrap_err();
        assert_eq!(code, 1, "{args:?}");
        let said: Vec<&str> = said.lines().collect();
        assert!(said[0].starts_with("sbatch: error: Heterogeneous jobs are not emulated"));
        let last = "sbatch: error: Batch job submission failed: Requested operation not supported \
                    on this system";
        assert_eq!(said[1], last);
    }
    // A script's own arguments, and a script of that name.
    for args in [&["job.sh", ":", "x"][..], &["hetjob"]] {
        assert!(ask(args, plain).is_ok(), "{args:?}");
    }
}

#[test]
fn the_lines_that_arc_writes_are_taken() {
    let script = "#!/bin/bash -l\n#SBATCH --no-requeue\n#SBATCH --export=NONE\n\
        #SBATCH -e /tmp/x.comment\n#SBATCH -o /tmp/x.comment\n\n#SBATCH -p compute\n\
        #SBATCH --nice=50\n#SBATCH -J 'gridrig'\n#SBATCH --get-user-env=10L\n#SBATCH -n 4\n\
        #SBATCH --ntasks-per-node 2\n#SBATCH \n#SBATCH --exclusive\n#SBATCH -t 10:0\n\
        #SBATCH --mem-per-cpu=1000\nsleep 1\n";
    let batch = ask(&["job"], script).unwrap().batch;
    assert_eq!(
        (batch.tasks, batch.tasks_per_node, batch.nice),
        (4, Some(2), 50)
    );
    assert_eq!((batch.mem_per_cpu, batch.requeue), (Some(1000), false));
    assert_eq!(batch.limit, Some(Limit::Seconds(600)));
}

#[test]
fn sizes_multiply() {
    let size = |args: &[&str]| ask(args, "#!/bin/sh\n").unwrap().batch.processors();
    assert_eq!(size(&[]), 1);
    assert_eq!(size(&["-n", "3", "-c2"]), 6);
    assert_eq!(size(&["-N", "2", "--ntasks-per-node=4"]), 8);
    assert_eq!(size(&["-N", "2-4"]), 2);
    let order = ask(&["-n1", "-N9"], "#!/bin/sh\n").unwrap();
    assert_eq!(order.batch.processors(), 1);
    assert!(order.warnings.contains("can't run 1 processes on 9 nodes"));
}

#[test]
fn mistakes_are_told_in_the_words_of_sbatch() {
    let said = |args: &[&str]| ask(args, "#!/bin/sh\n").unwrap_err();
    let bad = |code, what: &str| Refusal(code, format!("sbatch: error: {what}\n"));
    let zero = "Invalid numeric value \"0\" for --ntasks.";
    assert_eq!(said(&["-n", "0"]), bad(1, zero));
    assert_eq!(
        said(&["-t", "foo"]),
        bad(255, "Invalid --time specification")
    );
    let few = "Maximum node count 1 is less than minimum node count 2";
    assert_eq!(said(&["-N", "2-1"]), bad(255, few));
    let array = "Batch job submission failed: Invalid job array specification";
    assert_eq!(said(&["-a", "5-1"]), bad(1, array));
    let depend = "Batch job submission failed: Job dependency problem";
    assert_eq!(said(&["-d", "foo:1"]), bad(1, depend));
    assert_eq!(ask(&[], "").unwrap_err(), bad(1, "Batch script is empty!"));
    assert_eq!(ask(&[], "echo hi\n").unwrap_err().0, 1);
}

#[test]
fn an_interpreter_takes_one_argument() {
    let of = |script: &str| Interpreter::of(script.as_bytes());
    assert_eq!(of("#!/bin/bash -l\n").argument.as_deref(), Some("-l"));
    let env = of("#! /usr/bin/env python3 -u\n");
    assert_eq!(env.path, "/usr/bin/env");
    assert_eq!(env.argument.as_deref(), Some("python3 -u"));
}
