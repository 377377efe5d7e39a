//! Options of `sbatch` one by one, taken or refused as by Debian's real Slurm.

use crate::slurm_differential::settle;
use crate::slurm_fields::{JOBS, Pair};

#[test]
fn every_option_of_sbatch_is_taken_or_refused_as_by_debians_slurm() {
    let test = "every_option_of_sbatch_is_taken_or_refused_as_by_debians_slurm";
    let Some(mut pair) = Pair::start(test) else {
        return;
    };
    pair.ask(JOBS[0], None);
    settle(&pair.real);
    for options in SBATCH.lines() {
        pair.ask(&format!("sbatch {options}"), None);
    }
    for (script, options) in SCRIPTS {
        pair.ask(&format!("sbatch{options}"), Some(script));
    }
    settle(&pair.real);
    let kept = "%j|%T|%l|%D|%r|%R|%y|%m|%a|%E|%S|%e|%n|%x|%o|%k|%w|%Z";
    pair.ask(&format!("squeue -h -S V,i -o {kept}"), None);
    pair.end(148);
}

#[test]
fn jobs_are_requeued_and_shares_are_shown_as_by_debians_slurm() {
    let test = "jobs_are_requeued_and_shares_are_shown_as_by_debians_slurm";
    let Some(mut pair) = Pair::start(test) else {
        return;
    };
    pair.ask("sbatch --wrap sleep~600", None);
    pair.ask("sbatch --no-requeue --wrap sleep~600", None);
    pair.ask("sbatch -H --wrap true", None);
    pair.ask("sbatch -a 0-2 --wrap sleep~600", None);
    settle(&pair.real);
    for words in REQUEUES.lines().filter(|words| !words.is_empty()) {
        pair.ask(&format!("scontrol {words}"), None);
    }
    for words in SHARES.lines() {
        pair.ask(format!("sshare {words}").trim_end(), None);
    }
    pair.end(35);
}

const REQUEUES: &str = "\
requeue
requeuehold
requeue 99
requeue abc
requeue name=wrap
requeue 99_1
requeue 2
requeuehold 2
requeue 3
requeue 1
requeue 1
requeue JobId=1,3
requeue 4_1
requeue 4
requeue 4_1
-Q requeue 99";

const SHARES: &str = "

-l
-m
-l -m
-n
-p
-P
-e
-a
-u root
-A foo -U
-o Account,User%5,FairShare%-12,ID
-o Account%3,Cluster
-o fair,norm
-o zonk
-p -o User%30
-V
--zonk
-n foo";

/// Scripts on standard input, and the words after `sbatch`.
const SCRIPTS: [(&str, &str); 9] = [
    ("#!/bin/sh\nsleep 1\n", ""),
    ("echo hi\n", ""),
    ("", ""),
    (
        "#!/bin/sh\n#SBATCH -n 2 --time=5 # note\n#SBATCH --job-name=\"a b\"\n#SBATCH\nsleep 1\n\
         #SBATCH -n 4\n",
        "",
    ),
    ("#!/bin/sh\n#SBATCH -n 2 --zonk\nsleep 1\n", ""),
    ("#!/bin/sh\n#SBATCH -n x\nsleep 1\n", ""),
    ("#!/bin/sh\r\nsleep 1\r\n", ""),
    ("#!/bin/sh\n#SBATCH -n 2\n#SBATCH --job-name=quo\"te\n", ""),
    ("#!/bin/sh\n##SBATCH -n 3\n # SBATCH -n 4\n#SBATCH -n\n", ""),
];

const SBATCH: &str = "\
--parsable --wrap true
-Q --wrap true
--wrap
--wrap=true foo
-n abc --wrap true
-n -1 --wrap true
-n 1.5 --wrap true
-c 0 --wrap true
-c x --wrap true
-N 0 --wrap true
-N x --wrap true
-N 5 --wrap true
-N 1-2 --wrap true
-N 4 --wrap true
-N 2k --wrap true
--ntasks-per-node=0 --wrap true
--ntasks-per-node=2 -n 4 --wrap true
-t 0 --wrap true
-t 1:2:3:4 --wrap true
-t 1-0 --wrap true
-t UNLIMITED --wrap true
-t infinite --wrap true
-t 90 --wrap true
-t 0:30 --wrap true
-t 1-1 --wrap true
-t 10-0:0:0 --wrap true
--mem=0 --wrap true
--mem=500 --wrap true
--mem=2G --wrap true
--mem=x --wrap true
--mem=1K --wrap true
--mem-per-cpu=600 -n 2 --wrap true
--mem-per-cpu=600 -n 2 -c 2 --wrap true
--mem-per-cpu=2G --wrap true
--mem=1 --mem-per-cpu=1 --wrap true
-a 0 --wrap true
-a 0-3 --wrap true
-a 1,3,5 --wrap true
-a 1-10%3 --wrap true
-a 0-1001 --wrap true
-a 2000 --wrap true
-a x --wrap true
-a 1-2-3 --wrap true
-a 3,1,2,2 --wrap true
-a 1-9:4 --wrap true
-a 1-3%0 --wrap true
-d afterok:999 --wrap true
-d afterok:x --wrap true
-d singleton -J s --wrap true
-d afterany:1:2 --wrap true
-d afterok:1,afterany:2 --wrap true
-d afterok:1?afterany:2 --wrap true
-d aftercorr:1 --wrap true
-d afternotok:1 --wrap true
-d foo --wrap true
--begin=foo --wrap true
--begin=now+1hour --wrap true
--begin=tomorrow --wrap true
--begin=16:00 --wrap true
--begin=2030-01-01 --wrap true
--begin=2030-01-01T10:00 --wrap true
--begin=midnight --wrap true
-p compute,compute --wrap true
-p nosuch --wrap true
-A x --wrap true
--nice --wrap true
--nice=-5 --wrap true
--nice=x --wrap true
--export=NONE --wrap true
--export=A=1,ALL --wrap true
--get-user-env=10L --wrap true
--get-user-env --wrap true
--exclusive=foo --wrap true
--signal=B:USR1@60 --wrap true
--signal=foo --wrap true
--open-mode=append --wrap true
--open-mode=foo --wrap true
--mail-type=ALL --wrap true
--mail-type=foo --wrap true
-w n1 --wrap true
-x n1 --wrap true
-W --zonk
-J a~b --wrap true
nofile
job.sh a b
-H job.sh
--hold --wrap true
--requeue --wrap true
--no-requeue --wrap true
-m block --wrap true
--spread-job --wrap true
--contiguous --wrap true
--deadline=foo --wrap true
--time-min=5 -t 10 --wrap true
--time-min=20 -t 10 --wrap true
--comment=x~y --wrap true
--wckey=foo --wrap true
--version
-V
--chdir=/nosuch --wrap true
-D relative --wrap true
-o /nosuch/x --wrap true
--threads-per-core=1 --wrap true
--cores-per-socket=1 --wrap true
-B 1:1:1 --wrap true
--hint=nomultithread --wrap true
--kill-on-invalid-dep=yes --wrap true
--kill-on-invalid-dep=foo --wrap true
--propagate --wrap true
--profile=none --wrap true
--acctg-freq=30 --wrap true
--switches=1 --wrap true
--power=level --wrap true
--priority=5 --wrap true
--ignore-pbs job.sh
--bb=x --wrap true
--cluster-constraint=x --wrap true
--container=x --wrap true
--cpu-freq=high --wrap true
--delay-boot=5 --wrap true
--extra-node-info=1 --wrap true
--gid=0 --wrap true
--mcs-label=x --wrap true
--network=x --wrap true
-k --wrap true
--no-kill=off --wrap true
--ntasks-per-core=1 --wrap true
--ntasks-per-socket=1 --wrap true
--use-min-nodes --wrap true
--wait-all-nodes=1 --wrap true
--x11 --wrap true
-E --wrap true
-n2 -N2 --wrap true
-n 3 -N 2 --wrap true
-n 1 -N 2 --wrap true
--distribution=foo --wrap true
--mail-user=x --wrap true
";
