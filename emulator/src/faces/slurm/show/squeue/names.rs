//! The names of squeue's `-O`: those of its letters, and others.

use super::View;
use crate::faces::slurm::book::{Record, State};
use crate::faces::slurm::show::tres;
use crate::faces::slurm::times;

/// Names in small letters, with the letter of the same field.
pub(super) const OF_LETTERS: [(&str, char); 49] = [
    ("account", 'a'),
    ("arrayjobid", 'F'),
    ("arraytaskid", 'K'),
    ("batchhost", 'B'),
    ("command", 'o'),
    ("comment", 'k'),
    ("contiguous", 'O'),
    ("cores", 'I'),
    ("corespec", 'X'),
    ("dependency", 'E'),
    ("endtime", 'e'),
    ("feature", 'f'),
    ("groupid", 'G'),
    ("groupname", 'g'),
    ("jobarrayid", 'i'),
    ("jobid", 'A'),
    ("licenses", 'W'),
    ("mincpus", 'c'),
    ("minmemory", 'm'),
    ("mintmpdisk", 'd'),
    ("name", 'j'),
    ("nice", 'y'),
    ("nodelist", 'N'),
    ("numcpus", 'C'),
    ("numnodes", 'D'),
    ("oversubscribe", 'h'),
    ("partition", 'P'),
    ("priority", 'p'),
    ("prioritylong", 'Q'),
    ("qos", 'q'),
    ("reason", 'r'),
    ("reasonlist", 'R'),
    ("reqnodes", 'n'),
    ("reservation", 'v'),
    ("schednodes", 'Y'),
    ("sct", 'z'),
    ("sockets", 'H'),
    ("starttime", 'S'),
    ("state", 'T'),
    ("statecompact", 't'),
    ("submittime", 'V'),
    ("threads", 'J'),
    ("timeleft", 'L'),
    ("timelimit", 'l'),
    ("timeused", 'M'),
    ("userid", 'U'),
    ("username", 'u'),
    ("wckey", 'w'),
    ("workdir", 'Z'),
];

/// A field that has no letter.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::faces::slurm::show) struct Named {
    /// In small letters.
    pub name: &'static str,
    pub header: &'static str,
    shows: Shows,
}

#[derive(Debug, PartialEq, Eq)]
enum Shows {
    /// The same of every job, since an emulated cluster has no such thing.
    Always(&'static str),
    Cluster,
    CpusPerTask,
    Eligible,
    ExitCode,
    LastLook,
    MaxCpus,
    MaxNodes,
    Pending,
    Requeue,
    Stderr,
    Stdin,
    Stdout,
    Tasks,
    TasksPerNode,
    Tres,
}

const fn of(name: &'static str, header: &'static str, shows: Shows) -> Named {
    Named {
        name,
        header,
        shows,
    }
}

const fn same(name: &'static str, header: &'static str, value: &'static str) -> Named {
    of(name, header, Shows::Always(value))
}

pub(super) static NAMED: [Named; 61] = [
    of("accruetime", "ACCRUE_TIME", Shows::Eligible),
    same("admin_comment", "ADMIN_COMMENT", "(null)"),
    same("allocnodes", "ALLOC_NODES", "localhost"),
    same("allocsid", "ALLOC_SID", "0"),
    same("associd", "ASSOC_ID", "0"),
    same("batchflag", "BATCH_FLAG", "1"),
    same("boardspernode", "BOARDS_PER_NODE", "0"),
    same("burstbuffer", "BURST_BUFFER", "(null)"),
    same("burstbufferstate", "BURST_BUFFER_STATE", "(null)"),
    of("cluster", "CLUSTER", Shows::Cluster),
    same("clusterfeature", "CLUSTER_FEATURES", "(null)"),
    same("container", "CONTAINER", "(null)"),
    of("cpus-per-task", "CPUS_PER_TASK", Shows::CpusPerTask),
    same("cpus-per-tres", "CPUS_PER_TRES", "N/A"),
    same("deadline", "DEADLINE", "N/A"),
    same("delayboot", "DELAY_BOOT", "0:00"),
    same("derivedec", "DERIVED_EC", "0"),
    of("eligibletime", "ELIGIBLE_TIME", Shows::Eligible),
    of("exit_code", "EXIT_CODE", Shows::ExitCode),
    same("hetjobid", "HET_JOB_ID", "N/A"),
    same("hetjobidset", "HET_JOB_ID_SET", "N/A"),
    same("hetjoboffset", "HET_JOB_OFFSET", "N/A"),
    of("lastschedeval", "LAST_SCHED_EVAL", Shows::LastLook),
    of("maxcpus", "MAX_CPUS", Shows::MaxCpus),
    of("maxnodes", "MAX_NODES", Shows::MaxNodes),
    same("mcslabel", "MCSLABEL", "(null)"),
    same("mem-per-tres", "MEM_PER_TRES", "N/A"),
    same("mintime", "TIME_MIN", "0:00"),
    same("network", "NETWORK", "(null)"),
    same("ntperboard", "NTASKS_PER_BOARD", "0"),
    same("ntpercore", "NTASKS_PER_CORE", "N/A"),
    of("ntpernode", "NTASKS_PER_NODE", Shows::TasksPerNode),
    same("ntpersocket", "NTASKS_PER_SOCKET", "N/A"),
    of("numtasks", "TASKS", Shows::Tasks),
    same("origin", "ORIGIN", "NA"),
    same("originraw", "ORIGIN_RAW", "NA"),
    of("pendingtime", "PENDING_TIME", Shows::Pending),
    same("preempttime", "PREEMPT_TIME", "N/A"),
    same("profile", "PROFILE", "NotSet"),
    same("reboot", "REBOOT", "0"),
    same("reqswitch", "REQ_SWITCH", "0"),
    of("requeue", "REQUEUE", Shows::Requeue),
    same("resizetime", "RESIZE_TIME", "N/A"),
    same("restartcnt", "RESTART_COUNT", "0"),
    same("siblingsactive", "ACTIVE_SIBLINGS", "NA"),
    same("siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", "NA"),
    same("siblingsviable", "VIABLE_SIBLINGS", "NA"),
    // Slurm's own spelling.
    same("siblingsviableraw", "VIALBLE_SIBLINGS_RAW", "NA"),
    same("sperboard", "SOCKETS_PER_BOARD", "0"),
    of("stderr", "STDERR", Shows::Stderr),
    of("stdin", "STDIN", Shows::Stdin),
    of("stdout", "STDOUT", Shows::Stdout),
    same("system_comment", "SYSTEM_COMMENT", "(null)"),
    of("tres-alloc", "TRES_ALLOC", Shows::Tres),
    same("tres-bind", "TRES_BIND", "N/A"),
    same("tres-freq", "TRES_FREQ", "N/A"),
    same("tres-per-job", "TRES_PER_JOB", "N/A"),
    same("tres-per-node", "TRES_PER_NODE", "N/A"),
    same("tres-per-socket", "TRES_PER_SOCKET", "N/A"),
    same("tres-per-task", "TRES_PER_TASK", "N/A"),
    same("wait4switch", "WAIT4SWITCH", "0:00"),
];

impl Named {
    /// What it says of a job.
    pub fn value(&self, record: &Record<'_>, view: &View<'_>) -> String {
        let (job, site) = (record.job, view.site);
        let batch = &*job.batch;
        match self.shows {
            Shows::Always(value) => value.to_owned(),
            Shows::Cluster => site.cluster.clone(),
            Shows::CpusPerTask => batch.cpus_per_task.to_string(),
            Shows::Eligible => {
                let at = job.eligible.or(job.begin);
                at.map_or("N/A".to_owned(), |at| times::stamp(site.unix(at)))
            }
            Shows::ExitCode => job.exit.0.to_string(),
            Shows::LastLook => times::stamp(site.unix(job.start.unwrap_or(job.submit))),
            Shows::MaxCpus => record.cpus.to_string(),
            Shows::MaxNodes => record.nodes.to_string(),
            Shows::Pending => {
                let until = job.start.or(job.end).unwrap_or(view.now);
                (until.since(job.submit).as_nanos() / 1_000_000_000).to_string()
            }
            Shows::Requeue => u8::from(batch.requeue).to_string(),
            Shows::Stderr => match &batch.error {
                Some(error) => in_directory(record, error),
                None => output(record),
            },
            Shows::Stdin => in_directory(record, batch.input.as_deref().unwrap_or("/dev/null")),
            Shows::Stdout => output(record),
            Shows::Tasks => batch.tasks.to_string(),
            Shows::TasksPerNode => batch.tasks_per_node.unwrap_or(0).to_string(),
            Shows::Tres => tres(site, record),
        }
    }
}

/// Where its output goes. A pattern of its own is shown as it was given.
fn output(record: &Record<'_>) -> String {
    let job = record.job;
    let name = match (&job.batch.output, &job.task) {
        (Some(pattern), _) => pattern.clone(),
        (None, Some(task)) if job.state != State::Pending => {
            format!("slurm-{}_{}.out", task.array, task.index)
        }
        (None, _) => format!("slurm-{}.out", job.id),
    };
    in_directory(record, &name)
}

fn in_directory(record: &Record<'_>, name: &str) -> String {
    match name.starts_with('/') {
        true => name.to_owned(),
        false => format!("{}/{name}", record.job.batch.work_dir),
    }
}
