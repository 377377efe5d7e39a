//! Fields and filters one by one, against Debian's real Slurm and ours.

use crate::real_slurm::{self, RealSlurm};
use crate::slurm_bench::{Emulated, Said};
use crate::slurm_differential::{masked, settle};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Both, with the same nodes and the same directory.
pub struct Pair {
    pub real: RealSlurm,
    ours: Emulated,
    compared: usize,
    differences: Vec<String>,
}

impl Pair {
    pub fn start(test: &str) -> Option<Self> {
        let real = real_slurm::start(test, &real_slurm::builtin(4, 2))?;
        let ours = Emulated::start(4, 2, &[]);
        let batch = "#!/bin/bash\n#SBATCH -J hello\n#SBATCH\n#SBATCH -n 4 -t 10\nsleep 60\n";
        std::fs::write(ours.dir.path().join("job.sh"), batch).unwrap();
        Some(Pair {
            real,
            ours,
            compared: 0,
            differences: Vec::new(),
        })
    }

    /// Says the same to both; blanks inside a word are written `~`.
    pub fn ask(&mut self, words: &str, input: Option<&str>) {
        let split: Vec<String> = words
            .split(' ')
            .map(|word| word.replace('~', " "))
            .collect();
        let bins = [
            "/usr/bin/".to_owned(),
            format!("{}/", self.ours.bin().display()),
        ];
        let dir = self.ours.dir.path();
        let said = |command: &mut Command| -> Said {
            command.args(&split[1..]).current_dir(dir);
            let mut said = masked(output(command, input));
            for bin in &bins {
                said.stderr = said.stderr.replace(bin, "");
            }
            // A real one counts some of the jobs that it refuses.
            if let Some((_, id)) = said.stdout.split_once("Submitted batch job ") {
                assert!(id.trim_end().parse::<u32>().is_ok(), "{id}");
                said.stdout = "Submitted batch job ID\n".to_owned();
            }
            said
        };
        let theirs = said(&mut self.real.command(&split[0]));
        let mine = said(&mut self.ours.command(&split[0]));
        self.compared += 1;
        if theirs != mine {
            let show = |said: &Said| format!("{}\n{}{}", said.code, said.stdout, said.stderr);
            let (theirs, mine) = (show(&theirs), show(&mine));
            let difference = format!("$ {words}\nSlurm: {theirs}\nours: {mine}\n");
            self.differences.push(difference);
        }
    }

    fn all(&mut self, commands: &[&str]) {
        for words in commands {
            self.ask(words, None);
        }
    }

    pub fn end(self, least: usize) {
        let Pair {
            compared,
            differences,
            ..
        } = self;
        assert!(compared >= least, "{compared} commands");
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

fn output(command: &mut Command, input: Option<&str>) -> Said {
    let Some(input) = input else {
        return command.output().unwrap().into();
    };
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap().into()
}

/// Jobs of many kinds: one that has all nodes, and nine behind it.
pub const JOBS: [&str; 10] = [
    "sbatch -n 8 -t 10 --wrap sleep~600",
    "sbatch job.sh",
    "sbatch -H -J held --wrap sleep~4",
    "sbatch -d afterok:1 -J after --wrap sleep~1",
    "sbatch --parsable -a 3-9:2%2 -J array --wrap sleep~5",
    "sbatch -n 2 -c 2 -t 1-3:30 -J wide --nice=5 --mem=200 job.sh",
    "sbatch -n 2 -c 2 -t 1-3:30 --mem-per-cpu=100 --exclusive --comment=x -A acct --wckey=w1 \
     -o o%j.txt -e e.txt -i /dev/zero --signal=USR1@30 job.sh a b",
    "sbatch -N 2 --ntasks-per-node=2 --begin=now+900 -D /tmp --wrap sleep~9",
    "sbatch -N 1-3 --requeue --open-mode=append --wrap sleep~9",
    "sbatch --no-requeue -w n2 -x n3 -t 5 --wrap sleep~9",
];

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Without those that say how long or since when, in which session and where.
const SQUEUE_NAMES: &str = "Account admin_comment AllocNodes ArrayJobID ArrayTaskID AssocID BatchFlag BatchHost \
    BoardsPerNode BurstBuffer BurstBufferState ClusterFeature Command Comment \
    Contiguous Container Cores CoreSpec CPUFreq cpus-per-task cpus-per-tres Deadline \
    DelayBoot Dependency DerivedEC EligibleTime EndTime exit_code Feature GroupID GroupName \
    HetJobID HetJobIDSet HetJobOffset JobArrayID JobID LastSchedEval Licenses MaxCPUs \
    MaxNodes MCSLabel mem-per-tres MinCPUs MinMemory MinTime MinTmpDisk Name Network Nice \
    NodeList Nodes NTPerBoard NTPerCore NTPerNode NTPerSocket NumCPUs NumNodes NumTasks \
    Origin OriginRaw OverSubscribe Partition PreemptTime Priority PriorityLong Profile QOS \
    Reason ReasonList Reboot ReqNodes ReqSwitch Requeue Reservation ResizeTime RestartCnt \
    ResvPort SchedNodes SCT SiblingsActive SiblingsActiveRaw SiblingsViable \
    SiblingsViableRaw Sockets SPerBoard StartTime State StateCompact STDERR STDIN STDOUT \
    StepID StepName StepState SubmitTime system_comment Threads TimeLeft TimeLimit TimeUsed \
    tres-alloc tres-bind tres-freq tres-per-job tres-per-node tres-per-socket tres-per-step \
    tres-per-task UserID UserName Wait4Switch WCKey WorkDir";

/// Without those of the host's own load, memory and addresses.
const SINFO_NAMES: &str = "Allocable AllocMem AllocNodes Available Cluster Comment Cores CPUs CPUsState DefaultTime \
    Disk Extra Features features_act Gres GresUsed Groups MaxCPUsPerNode Memory NodeAI \
    NodeAIOT NodeList Nodes OverSubscribe Partition PartitionName PreemptMode \
    PriorityJobFactor PriorityTier Reason Root Size SocketCoreThread Sockets StateComplete \
    StateCompact StateLong Threads Time TimeStamp User UserLong Version Weight";

#[test]
fn every_field_and_filter_says_the_same_as_debians_slurm() {
    let test = "every_field_and_filter_says_the_same_as_debians_slurm";
    let Some(mut pair) = Pair::start(test) else {
        return;
    };
    pair.ask(JOBS[0], None);
    settle(&pair.real);
    pair.all(&JOBS[1..]);
    settle(&pair.real);
    for sign in LETTERS.chars() {
        pair.ask(&format!("squeue -S i -o %i|%{sign}|"), None);
        // Load, memory, addresses.
        if !"Oeno".contains(sign) {
            pair.ask(&format!("sinfo -o |%{sign}|"), None);
        }
    }
    for name in SQUEUE_NAMES.split_whitespace() {
        pair.ask(&format!("squeue -S i -O JobID:6,{name}:40"), None);
    }
    for name in SINFO_NAMES.split_whitespace() {
        pair.ask(&format!("sinfo -O {name}:30"), None);
    }
    pair.all(&SQUEUE);
    pair.all(&SINFO);
    pair.all(&SCONTROL);
    pair.all(&SCANCEL);
    pair.end(330);
}

const SQUEUE: [&str; 52] = [
    "squeue -h -t all",
    "squeue -t all,PD",
    "squeue -t PENDING,RUNNING -h -o %i",
    "squeue -t pd -h",
    "squeue -u root -h -o %i",
    "squeue -u nosuchuser",
    "squeue -u 0 -h -o %i",
    "squeue --me -h -o %i",
    "squeue -p compute -h -o %i",
    "squeue -p nosuch",
    "squeue -A acct -h -o %i",
    "squeue -q nosuch -h -o %i",
    "squeue -n held",
    "squeue --name=held,after -h",
    "squeue -w n1 -h",
    "squeue -w n9 -h",
    "squeue -j 1,2,3 -h",
    "squeue -j 5 -r -h",
    "squeue -j 5_3 -h",
    "squeue -j 5_99 -h",
    "squeue -j 1,5_3",
    "squeue -j abc",
    "squeue -j 0",
    "squeue -j 99,98",
    "squeue -j 1,",
    "squeue -S -i -h -o %i",
    "squeue -S t,i -h -o %t|%i",
    "squeue -S P,-p -h -o %i|%p",
    "squeue --sort=j -h -o %j",
    "squeue -l -h",
    "squeue -s",
    "squeue -s -h",
    "squeue --start",
    "squeue --start -h",
    "squeue -o foo -h",
    "squeue -o %i|%!",
    "squeue -O foo",
    "squeue -O JobID,foo",
    "squeue --noheader",
    "squeue -a -h -o %i",
    "squeue --array -h -o %i|%K|%F",
    "squeue -i",
    "squeue -V",
    "squeue --me -u root -h -o %i",
    "squeue --states=help",
    "squeue -L foo -h",
    "squeue -R foo -h",
    "squeue --hide -h -o %i",
    "squeue --local -h -o %i",
    "squeue --federation -h -o %i",
    "squeue --sibling -h -o %i",
    "squeue -h -o %5i|%.5i|%05i|%i%%",
];

const SINFO: [&str; 22] = [
    "sinfo -s",
    "sinfo -l",
    "sinfo -N",
    "sinfo -Nl",
    "sinfo -R",
    "sinfo -T",
    "sinfo -n n2",
    "sinfo -n n2 -N",
    "sinfo -t alloc",
    "sinfo -t idle -h",
    "sinfo -t foo",
    "sinfo -p nosuch",
    "sinfo -p compute -h",
    "sinfo -N -h -o %N|%t|%c|%m",
    "sinfo --version",
    "sinfo -r",
    "sinfo -d",
    "sinfo -h -o %20N|%-5t",
    "sinfo -i",
    "sinfo --zonk",
    "sinfo -S -P",
    "sinfo --noconvert",
];

const SCONTROL: [&str; 66] = [
    "scontrol show job 1",
    "scontrol show job 2",
    "scontrol show job 4",
    "scontrol show job 5",
    "scontrol show job 5_3",
    "scontrol show job 5_99",
    "scontrol show job 6",
    "scontrol show job 7",
    "scontrol show job 8",
    "scontrol show job 9",
    "scontrol show job 10",
    "scontrol -o show job 1",
    "scontrol show job -o 2",
    "scontrol --oneliner show job 3",
    "scontrol show job abc",
    "scontrol show jobs 3",
    "scontrol show JobId=3",
    "scontrol show job=3",
    "scontrol show job 1 2",
    "scontrol show job 1,2",
    "scontrol show node n9",
    "scontrol show partition",
    "scontrol show partition compute",
    "scontrol show partition nosuch",
    "scontrol -o show partition",
    "scontrol show hostnames n[1-3]",
    "scontrol show hostnames n[1-3],m5",
    "scontrol show hostname n[01-03]",
    "scontrol show hostlist n1,n2,n3",
    "scontrol show hostlist n3,n1,n2,n2",
    "scontrol show hostlistsorted n3,n1,n2",
    "scontrol show hostnames",
    "scontrol show foo",
    "scontrol show",
    "scontrol foo",
    "scontrol --version",
    "scontrol version",
    "scontrol show reservation",
    "scontrol show licenses",
    "scontrol show topology",
    "scontrol show daemons",
    "scontrol show aliases n1",
    "scontrol show federation",
    "scontrol show frontend",
    "scontrol show burst",
    "scontrol wait_job 1",
    "scontrol wait_job 99",
    "scontrol wait_job 1 foo",
    "scontrol -Q show job 99",
    "scontrol hold 3",
    "scontrol hold 99",
    "scontrol hold 2,4",
    "scontrol hold name=held",
    "scontrol hold name=nosuch",
    "scontrol hold jobid=99",
    "scontrol release 2 4",
    "scontrol release jobid=2",
    "scontrol release 5",
    "scontrol release 99",
    "scontrol release abc",
    "scontrol release name=nosuch",
    "scontrol hold",
    "scontrol uhold",
    "scontrol release",
    "scontrol uhold 2",
    "scontrol release 2",
];

const SCANCEL: [&str; 21] = [
    "scancel",
    "scancel 99",
    "scancel -Q 99",
    "scancel -v 99",
    "scancel abc",
    "scancel -n nosuch",
    "scancel -p nosuch",
    "scancel -u nosuchuser",
    "scancel -t foo 4",
    "scancel -t RUNNING 4",
    "scancel --signal=FOO 1",
    "scancel -i",
    "scancel --zonk",
    "scancel -V",
    "scancel -w n4 -t PENDING",
    "scancel -A nosuch",
    "scancel -q nosuch",
    "scancel -R nosuch",
    "scancel 5_3",
    "scancel 5_[5,7]",
    "scancel --name=held",
];
