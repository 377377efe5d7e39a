//! The same script against Debian's real Slurm and against ours.

use crate::patience::Patience;
use crate::real_slurm::{self, RealSlurm, Setup};
use crate::slurm_bench::{Emulated, Said};
use gridrig_core::rng::stream;
use rand::RngExt;
use std::process::Command;

const SEED: u64 = 22_058;

/// A step of the script.
enum Step {
    /// A command, both outputs of which are compared.
    Call(Vec<String>),
    /// Until the real one has looked at every job.
    Settle,
}

fn call(words: &str) -> Step {
    Step::Call(
        words
            .split(' ')
            .map(|word| word.replace('~', " "))
            .collect(),
    )
}

/// Forty commands; blanks inside a word are written `~`.
fn script() -> Vec<Step> {
    let mut random = stream(SEED, "slurm-differential");
    let mut steps = vec![
        call("sbatch -n 8 -t 10 --wrap sleep~600"),
        Step::Settle,
        call("sbatch job.sh"),
        call("sbatch -H -J held --wrap sleep~4"),
        call("sbatch -d afterok:1 -J after --wrap sleep~1"),
    ];
    // Jobs 5 and later; whole nodes, so that placement has no choice.
    for index in 0..4 {
        let (size, minutes) = (random.random_range(1..5) * 2, random.random_range(1..2000));
        let task = random.random_range(0..20);
        let submission = match index {
            0 => format!(
                "sbatch --parsable -a {task}-{}:2%2 -J array --wrap sleep~5",
                task + 9
            ),
            1 => format!("sbatch -n {size} -t {minutes} --comment=a~b --wrap sleep~9"),
            2 => format!(
                "sbatch -n 2 -c 2 -t 1-{}:30 -J wide --nice={task} job.sh",
                task + 1
            ),
            _ => format!(
                "sbatch -N 2 --begin=now+{} -A acct --wrap sleep~9",
                600 + minutes
            ),
        };
        steps.push(call(&submission));
    }
    steps.push(Step::Settle);
    let every = "squeue -h -o %i|%j|%T|%t|%P|%l|%C|%D|%N|%R|%r|%u|%A|%F|%K|%a|%U|%L|%p|%Q|%B|%c\
        |%n|%o|%E|%k|%v|%x|%X|%Y|%z|%w|%W|%O|%I|%H|%G|%g|%f|%b|%J|%h|%s";
    for words in [
        "squeue",
        "squeue -r",
        "squeue -l",
        every,
        "squeue -O JobArrayID,StateCompact,Reason,Name:.6,NumCPUs:5,TimeLimit -t all --me",
        "squeue -j 1,99",
        "squeue -j 99",
        "squeue -t foo",
        "squeue -n held,wide -h -o %i",
        "squeue -t R -o JobId=%i:%T",
        "squeue --zonk",
        "scontrol show job 3",
        "scontrol -o show job 5",
        "scontrol show job 99",
        "scontrol show hostnames n[1-3,7],x[08-11]",
        "scontrol hold 2",
        "scontrol release 3",
        "sinfo",
        "sinfo -a -h -o PartitionName=%P~TotalCPUs=%C~TotalNodes=%D~MaxTime=%l~NodeNames=%N",
        "sinfo -N -l",
    ] {
        steps.push(call(words));
    }
    let refused = [
        "sbatch nofile",
        "sbatch -p nosuch --wrap true",
        "sbatch --foo job.sh",
        "sbatch -n 0 --wrap true",
        "sbatch -t foo --wrap true",
        "sbatch -a 5-1 --wrap true",
        "sbatch -d foo:1 --wrap true",
        "sbatch bad.sh",
        "sbatch --no",
        "sbatch -n 99 --wrap true",
        "sbatch -N 2-1 --wrap true",
        "scancel abc",
        "sacctmgr -n -s list user",
    ];
    let from = random.random_range(0..refused.len());
    let chosen = refused.iter().cycle().skip(from).take(7);
    steps.extend(chosen.map(|words| call(words)));
    steps.extend([
        Step::Settle,
        call("scancel -v 99"),
        call("scancel -n wide"),
        call("squeue -o %i~%j~%T~%r"),
        call("scancel --state=PENDING --user=root"),
        call("squeue -h -t all -o %t~%C~%D"),
    ]);
    steps
}

/// Times and what passes with them, masked; the rest as it is.
fn mask(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        // Sat Nov 21 08:58:01 2026
        let is_date = line.len() == 24
            && line.bytes().rev().take(4).all(|byte| byte.is_ascii_digit())
            && line.bytes().filter(|byte| *byte == b':').count() == 2;
        if is_date {
            lines.push("DATE".to_owned());
            continue;
        }
        let words = line.split_inclusive([' ', '=', '|']);
        let words = words.map(|word| {
            let end = word.len() - word.trim_end_matches([' ', '=', '|']).len();
            let (bare, tail) = word.split_at(word.len() - end);
            let masked = match bare.as_bytes() {
                // 2026-11-21T08:57:56
                [b'2', b'0', _, _, b'-', .., b':', _, _] if bare.len() == 19 => "STAMP",
                // Run times of seconds.
                [_, b':', _, _] => "M:SS",
                [b'0', b'0', b':', b'0', b'0', b':', _, _] => "00:00:SS",
                _ => bare,
            };
            format!("{masked}{tail}")
        });
        let line: String = words.collect();
        // The session of who submitted, and when it was last looked at.
        let line = match line.split_once("AllocNode:Sid=localhost:") {
            Some((head, tail)) => {
                let tail = tail.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{head}AllocNode:Sid=localhost:SID{tail}")
            }
            None => line,
        };
        // When a job became eligible to wait is kept differently.
        let line = line.replace("AccrueTime=Unknown", "AccrueTime=STAMP");
        lines.push(line);
    }
    lines.join("\n")
}

/// What a command said, with times masked.
pub fn masked(said: Said) -> Said {
    Said {
        code: said.code,
        stdout: mask(&said.stdout),
        stderr: mask(&said.stderr),
    }
}

/// Until no job waits for a reason that is still to be found.
pub fn settle(real: &RealSlurm) {
    let patience = Patience::seconds(180).every(1200);
    loop {
        patience.wait("jobs that wait for a known reason");
        let said: Said = real.run("squeue", &["-h", "-o", "%T%r"]).into();
        let new = said.stdout.lines().any(|line| line == "PENDINGNone");
        let runs = said.stdout.contains("RUNNING");
        if !new && runs {
            return;
        }
    }
}

#[test]
fn forty_commands_say_the_same_as_debians_slurm() {
    let setup = real_slurm::builtin(4, 2);
    let test = "forty_commands_say_the_same_as_debians_slurm";
    let Some(real) = real_slurm::start(test, &setup) else {
        return;
    };
    let ours = Emulated::start(4, 2, &[]);
    let dir = ours.dir.path();
    let batch = "#!/bin/bash\n#SBATCH -J hello\n#SBATCH\n#SBATCH -n 4 -t 10\nsleep 60\n";
    std::fs::write(dir.join("job.sh"), batch).unwrap();
    std::fs::write(dir.join("bad.sh"), "echo hi\n").unwrap();
    let (mut compared, mut differences) = (0, Vec::new());
    for step in script() {
        let words = match step {
            Step::Settle => {
                settle(&real);
                continue;
            }
            Step::Call(words) => words,
        };
        let said = |command: &mut Command| -> Said {
            let output = command.args(&words[1..]).current_dir(dir).output();
            let mut said = masked(output.unwrap().into());
            // getopt names a program as it was called.
            for bin in ["/usr/bin", ours.bin().to_str().unwrap()] {
                said.stderr = said.stderr.replace(&format!("{bin}/"), "");
            }
            said
        };
        let theirs = said(&mut real.command(&words[0]));
        let mine = said(&mut ours.command(&words[0]));
        compared += 1;
        if theirs != mine {
            differences.push(format!(
                "$ {}\nSlurm: {} \n{}{}\nours: {}\n{}{}\n",
                words.join(" "),
                theirs.code,
                theirs.stdout,
                theirs.stderr,
                mine.code,
                mine.stdout,
                mine.stderr
            ));
        }
    }
    assert_eq!(compared, 40);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn ended_jobs_say_the_same_as_those_of_debians_slurm() {
    let setup = real_slurm::builtin(2, 2);
    let test = "ended_jobs_say_the_same_as_those_of_debians_slurm";
    let Some(real) = real_slurm::start(test, &setup) else {
        return;
    };
    let ours = Emulated::start(2, 2, &[]);
    let dir = ours.dir.path();
    let each = |words: &[&str]| -> [Said; 2] {
        let said = |command: &mut Command| -> Said {
            let output = command.args(&words[1..]).current_dir(dir).output();
            masked(output.unwrap().into())
        };
        [
            said(&mut real.command(words[0])),
            said(&mut ours.command(words[0])),
        ]
    };
    let same = |words: &[&str]| {
        let [theirs, mine] = each(words);
        assert_eq!(theirs, mine);
    };
    for wrapped in ["true", "exit 3", "sleep 600"] {
        same(&["sbatch", "-n", "4", "-o", "/dev/null", "--wrap", wrapped]);
    }
    same(&["sbatch", "-a", "1-2", "-n", "4", "--wrap", "true"]);
    let patience = Patience::seconds(180).every(300);
    let listing = [
        "squeue",
        "-h",
        "-t",
        "all",
        "-S",
        "i",
        "-o",
        "%i %T %r %R %C %D %N",
    ];
    let wanted = "1 COMPLETED None n[1-2] 4 2 n[1-2]\n2 FAILED NonZeroExitCode (NonZeroExitCode)";
    loop {
        let [theirs, mine] = each(&listing);
        let done =
            |said: &Said| said.stdout.starts_with(wanted) && said.stdout.contains("3 RUNNING");
        if done(&theirs) && done(&mine) {
            break;
        }
        patience.wait(format_args!("{}\n{}", theirs.stdout, mine.stdout));
    }
    same(&["scancel", "3", "4"]);
    let patience = Patience::seconds(180).every(300);
    loop {
        let [theirs, mine] = each(&listing[..]);
        let settled = !theirs.stdout.contains("COMPLETING") && !theirs.stdout.contains("RUNNING");
        if settled
            && theirs
                .stdout
                .lines()
                .take(3)
                .eq(mine.stdout.lines().take(3))
        {
            break;
        }
        patience.wait(format_args!("{}\n{}", theirs.stdout, mine.stdout));
    }
    for job in ["1", "2"] {
        same(&["scontrol", "show", "job", job]);
    }
}

#[test]
fn nodes_are_taken_down_as_debians_slurm_does() {
    let setup = real_slurm::builtin(4, 2);
    let test = "nodes_are_taken_down_as_debians_slurm_does";
    let Some(real) = real_slurm::start(test, &setup) else {
        return;
    };
    let ours = Emulated::start(4, 2, &[]);
    let mut differences = Vec::new();
    let every = "sinfo -h -o %D|%t|%T|%C|%A|%F|%E|%u|%U|%N";
    for words in [
        "scontrol update NodeName=n4 State=DOWN",
        "scontrol update NodeName=n4 State=DRAIN",
        "scontrol update NodeName=n9 State=DOWN Reason=x",
        "scontrol update NodeName=n4 State=FOO Reason=x",
        "scontrol update NodeName=n4 State=DOWN Reason=burnt~out",
        "scontrol update nodename=n[2-3] state=drain reason=cleaning",
        "sinfo",
        "sinfo -N",
        "sinfo -N -l",
        "sinfo -s",
        "sinfo -t down",
        "sinfo -t drain",
        "sinfo -t idle",
        "sinfo -d",
        every,
        "sinfo -R",
        "sinfo -R -h -o %E|%u|%U|%N|%t",
        "sinfo -l -R",
        "scontrol -o show node n4",
        "scontrol -o show node n2",
        "scontrol update NodeName=n[2-4] State=RESUME",
        "sinfo -R",
        "scontrol update NodeName=n2 State=RESUME",
    ] {
        let words = spaced(words);
        let said = |command: &mut Command| -> Said {
            let mut said = say(command, &words, &ours);
            if words.contains(&"node".to_owned()) {
                // The rest is of the host.
                let of_state =
                    |word: &&str| word.starts_with("State=") || word.starts_with("Reason=");
                said.stdout = said.stdout.split(' ').filter(of_state).collect();
            }
            said
        };
        let theirs = said(&mut real.command(&words[0]));
        let mine = said(&mut ours.command(&words[0]));
        if theirs != mine {
            differences.push(format!("{words:?}\n  Slurm: {theirs:?}\n  ours:  {mine:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The words of a command line, in which `~` is a blank.
fn spaced(line: &str) -> Vec<String> {
    let words = line.split(' ').map(|word| word.replace('~', " "));
    words.collect()
}

/// What a command says to these words but its name, with times masked.
fn say(command: &mut Command, words: &[String], ours: &Emulated) -> Said {
    let output = command
        .args(&words[1..])
        .current_dir(ours.dir.path())
        .output();
    masked(output.unwrap().into())
}

/// Which nodes are reserved a cluster of alike nodes does not say; Slurm marks a reservation of
/// all of them by flags, and leaves its partition out. All that is not compared.
fn without_nodes(text: &str) -> String {
    let word = |word: &str| {
        let nodes = ["Nodes=", "Flags=", "PartitionName="];
        let of_nodes = nodes.iter().any(|key| word.starts_with(key)) || word.starts_with("n[");
        !of_nodes && word != "n1" && word != "(null)"
    };
    let lines = text.lines();
    let lines = lines.map(|line| line.split(' ').filter(|it| word(it)).collect::<Vec<_>>());
    lines.map(|line| line.join(" ") + "\n").collect()
}

#[test]
fn reservations_are_made_and_used_as_with_debians_slurm() {
    let setup = Setup {
        nodes: 4,
        cpus: 2,
        scheduler: "sched/backfill",
        parameters: String::new(),
    };
    let test = "reservations_are_made_and_used_as_with_debians_slurm";
    let Some(real) = real_slurm::start(test, &setup) else {
        return;
    };
    let ours = Emulated::start(4, 2, &["--reservations", "kill"]);
    let mut differences = Vec::new();
    for words in [
        "scontrol show reservation",
        "sinfo -T",
        "scontrol create reservation",
        "scontrol create reservation starttime=now+600 duration=60 users=root",
        "scontrol create reservation starttime=now+600 duration=60 nodecnt=2",
        "scontrol create reservation starttime=now+600 duration=60 users=root nodecnt=2",
        "scontrol show reservation",
        "scontrol -o show reservation",
        "scontrol create reservationname=whole starttime=now+2hours duration=1:00:00 users=root nodes=ALL",
        "scontrol create reservationname=cores starttime=now+4hours duration=30 users=root corecnt=3",
        "scontrol create reservationname=tres starttime=now+5hours endtime=now+6hours users=root tres=cpu=3",
        "scontrol create reservationname=x starttime=now+12hours duration=120 user=nosuchuser nodecnt=1",
        "scontrol create reservationname=x starttime=foo duration=120 user=root nodecnt=1",
        "scontrol create reservationname=x starttime=now duration=foo user=root nodecnt=1",
        "scontrol create reservationname=x starttime=now duration=60 user=root nodecnt=1 foo=bar",
        "scontrol create reservationname=x starttime=now duration=60 user=root nodecnt=1 foo",
        "scontrol create reservationname=x starttime=2020-01-01 duration=60 user=root nodecnt=1",
        "scontrol create reservationname=x starttime=now+20hours duration=60 user=root nodecnt=1 partitionname=nosuch",
        "scontrol create reservationname=x starttime=now+20hours user=root nodecnt=1",
        "scontrol create reservationname=x starttime=now+20hours endtime=now+19hours user=root nodecnt=1",
        "scontrol show reservation whole",
        "scontrol show res=cores",
        "scontrol show reservation nosuch",
        "sinfo -T",
        "sinfo -T -h",
        "scontrol update reservationname=whole duration=90",
        "scontrol update reservation=whole starttime=now+140minutes",
        "scontrol update reservationname=whole endtime=now+60",
        "scontrol update reservationname=nosuch duration=90",
        "scontrol update reservationname=root_1 nodecnt=3",
        "scontrol update reservationname=root_1 nodecnt=4 duration=1-0",
        "scontrol update reservationname=root_1 users=-root",
        "scontrol update reservationname=root_1",
        "scontrol show reservation root_1",
        "scontrol delete reservation=nosuch",
        "scontrol delete reservation cores",
        "scontrol delete foo",
        "scontrol delete",
        "scontrol delete reservationname=tres",
        "sbatch --reservation=whole -t 10 --wrap true",
        "sbatch --reservation=root_1 -t 5 -N 2 --wrap true",
        "squeue -o %i~%j~%T~%r~%v",
        "squeue -R whole -h -o %i",
        "squeue -R nosuch -h -o %i",
        "scontrol delete reservationname=whole",
        "scancel -R whole",
        "scontrol delete reservationname=whole",
        "scontrol create reservationname=now1 starttime=now duration=5 users=root nodecnt=1",
        "scontrol create reservationname=now1 starttime=now+900 duration=1 users=root nodecnt=1",
        "sbatch --reservation=now1 -t 1 --wrap sleep~600",
        "squeue -t R -o %i~%j~%T~%r~%v",
        "scontrol show reservation now1",
        "scontrol update reservationname=now1 starttime=now+60",
        "scontrol delete reservationname=now1",
        "sbatch --reservation=nosuch --wrap true",
    ] {
        let words = spaced(words);
        let said = |command: &mut Command| -> Said {
            let mut said = say(command, &words, &ours);
            if words.contains(&"show".to_owned()) || words[0] == "sinfo" {
                said.stdout = without_nodes(&said.stdout);
            }
            said
        };
        // What is asked alone may be asked again, until both have got so far.
        let only_asks = words[0] == "squeue" || words[1] == "show";
        for again in 0..100 {
            let theirs = said(&mut real.command(&words[0]));
            let mine = said(&mut ours.command(&words[0]));
            if theirs == mine {
                break;
            } else if !only_asks || again == 99 {
                differences.push(format!("{words:?}\n  Slurm: {theirs:?}\n  ours:  {mine:?}"));
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
