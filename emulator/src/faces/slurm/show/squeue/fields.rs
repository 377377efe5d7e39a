//! The fields of squeue: letter and name, header, value.

use crate::faces::slurm::show::format::{
    Field, NONE,
    Shows::{Always, Length, Value},
    field,
};
use crate::faces::slurm::show::{in_directory, or_nothing, or_null, tres};
use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::{Record, State};
use crate::faces::slurm::users::group_name;
use crate::slurm::times::short;
use gridrig_core::time::SimTime;

/// What values are computed from besides the job.
pub(super) struct View<'a> {
    pub site: &'a Site,
    pub now: SimTime,
}

pub(super) type Show = fn(&Record<'_>, &View<'_>) -> String;

#[rustfmt::skip]
pub(super) static FIELDS: [Field<Show>; 112] = [
    field('a', "account", "ACCOUNT", Value(|r, _| or_null(&r.job.batch.account))),
    field(NONE, "accruetime", "ACCRUE_TIME", Value(eligible)),
    field(NONE, "admin_comment", "ADMIN_COMMENT", Always("(null)")),
    field(NONE, "allocnodes", "ALLOC_NODES", Always("localhost")),
    field(NONE, "allocsid", "ALLOC_SID", Always("0")),
    field('F', "arrayjobid", "ARRAY_JOB_ID", Value(|r, _| r.array_id().to_string())),
    field('K', "arraytaskid", "ARRAY_TASK_ID", Value(|r, _| r.task_ids())),
    field(NONE, "associd", "ASSOC_ID", Always("0")),
    field(NONE, "batchflag", "BATCH_FLAG", Always("1")),
    field('B', "batchhost", "EXEC_HOST", Value(host)),
    field(NONE, "boardspernode", "BOARDS_PER_NODE", Always("0")),
    field(NONE, "burstbuffer", "BURST_BUFFER", Always("(null)")),
    field(NONE, "burstbufferstate", "BURST_BUFFER_STATE", Always("(null)")),
    field(NONE, "cluster", "CLUSTER", Value(|_, view| view.site.cluster.clone())),
    field(NONE, "clusterfeature", "CLUSTER_FEATURES", Always("(null)")),
    field('o', "command", "COMMAND", Value(|r, _| r.job.batch.called())),
    field('k', "comment", "COMMENT", Value(|r, _| or_null(&r.job.batch.comment))),
    field(NONE, "container", "CONTAINER", Always("(null)")),
    field('O', "contiguous", "CONTIGUOUS", Always("0")),
    field('I', "cores", "CORES_PER_SOCKET", Always("*")),
    field('X', "corespec", "CORE_SPEC", Always("N/A")),
    field(NONE, "cpus-per-task", "CPUS_PER_TASK", Value(|r, _| r.job.batch.cpus_per_task.to_string())),
    field(NONE, "cpus-per-tres", "CPUS_PER_TRES", Always("N/A")),
    field(NONE, "deadline", "DEADLINE", Always("N/A")),
    field(NONE, "delayboot", "DELAY_BOOT", Always("0:00")),
    field('E', "dependency", "DEPENDENCY", Value(|r, _| r.dependency())),
    field(NONE, "derivedec", "DERIVED_EC", Always("0")),
    field(NONE, "eligibletime", "ELIGIBLE_TIME", Value(eligible)),
    field('e', "endtime", "END_TIME", Value(end)),
    field(NONE, "exit_code", "EXIT_CODE", Value(|r, _| r.job.exit.0.to_string())),
    field('f', "feature", "FEATURES", Always("(null)")),
    field('G', "groupid", "GROUP", Value(|r, _| r.job.batch.gid.to_string())),
    field('g', "groupname", "GROUP", Value(|r, _| group_name(r.job.batch.gid).to_string())),
    field(NONE, "hetjobid", "HET_JOB_ID", Always("N/A")),
    field(NONE, "hetjobidset", "HET_JOB_ID_SET", Always("N/A")),
    field(NONE, "hetjoboffset", "HET_JOB_OFFSET", Always("N/A")),
    field('i', "jobarrayid", "JOBID", Value(|r, _| r.id())),
    field('A', "jobid", "JOBID", Value(|r, _| r.job.id.to_string())),
    field(NONE, "lastschedeval", "LAST_SCHED_EVAL", Value(last_look)),
    field('W', "licenses", "LICENSES", Always("(null)")),
    field(NONE, "maxcpus", "MAX_CPUS", Value(|r, _| r.cpus.to_string())),
    field(NONE, "maxnodes", "MAX_NODES", Value(|r, _| r.nodes.to_string())),
    field(NONE, "mcslabel", "MCSLABEL", Always("(null)")),
    field(NONE, "mem-per-tres", "MEM_PER_TRES", Always("N/A")),
    field('c', "mincpus", "MIN_CPUS", Value(|r, _| r.job.batch.cpus_on_node().to_string())),
    field('m', "minmemory", "MIN_MEMORY", Value(memory)),
    field(NONE, "mintime", "TIME_MIN", Always("0:00")),
    field('d', "mintmpdisk", "MIN_TMP_DISK", Always("0")),
    field('j', "name", "NAME", Value(|r, _| r.job.batch.name.clone())),
    field(NONE, "network", "NETWORK", Always("(null)")),
    field('y', "nice", "NICE", Value(|r, _| r.job.batch.nice.to_string())),
    field('N', "nodelist", "NODELIST", Value(|r, _| r.node_list.clone())),
    field(NONE, "ntperboard", "NTASKS_PER_BOARD", Always("0")),
    field(NONE, "ntpercore", "NTASKS_PER_CORE", Always("N/A")),
    field(NONE, "ntpernode", "NTASKS_PER_NODE", Value(|r, _| r.job.batch.tasks_per_node.unwrap_or(0).to_string())),
    field(NONE, "ntpersocket", "NTASKS_PER_SOCKET", Always("N/A")),
    field('C', "numcpus", "CPUS", Value(|r, _| r.cpus.to_string())),
    field('D', "numnodes", "NODES", Value(|r, _| r.nodes.to_string())),
    field(NONE, "numtasks", "TASKS", Value(|r, _| r.job.batch.tasks.to_string())),
    field(NONE, "origin", "ORIGIN", Always("NA")),
    field(NONE, "originraw", "ORIGIN_RAW", Always("NA")),
    field('h', "oversubscribe", "OVER_SUBSCRIBE", Value(|r, _| r.job.batch.shares().to_owned())),
    field('P', "partition", "PARTITION", Value(|_, view| view.site.partition.clone())),
    field(NONE, "pendingtime", "PENDING_TIME", Value(|r, view| r.job.pending_seconds(view.now).to_string())),
    field(NONE, "preempttime", "PREEMPT_TIME", Always("N/A")),
    field('p', "priority", "PRIORITY", Value(priority)),
    field('Q', "prioritylong", "PRIORITY", Value(|r, _| r.priority().to_string())),
    field(NONE, "profile", "PROFILE", Always("NotSet")),
    field('q', "qos", "QOS", Value(|r, _| or_null(&r.job.batch.qos))),
    field('r', "reason", "REASON", Value(|r, _| r.reason.to_owned())),
    field('R', "reasonlist", "NODELIST(REASON)", Value(place)),
    field(NONE, "reboot", "REBOOT", Always("0")),
    field('n', "reqnodes", "REQ_NODES", Value(|r, _| or_nothing(&r.job.batch.wanted_nodes).to_owned())),
    field(NONE, "reqswitch", "REQ_SWITCH", Always("0")),
    field(NONE, "requeue", "REQUEUE", Value(|r, _| u8::from(r.job.batch.requeue).to_string())),
    field('v', "reservation", "RESERVATION", Value(|r, _| or_null(&r.job.batch.reservation))),
    field(NONE, "resizetime", "RESIZE_TIME", Always("N/A")),
    field(NONE, "restartcnt", "RESTART_COUNT", Always("0")),
    field('Y', "schednodes", "SCHEDNODES", Always("(null)")),
    field('z', "sct", "S:C:T", Always("*:*:*")),
    field(NONE, "siblingsactive", "ACTIVE_SIBLINGS", Always("NA")),
    field(NONE, "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", Always("NA")),
    field(NONE, "siblingsviable", "VIABLE_SIBLINGS", Always("NA")),
    // Slurm's own spelling.
    field(NONE, "siblingsviableraw", "VIALBLE_SIBLINGS_RAW", Always("NA")),
    field('H', "sockets", "SOCKETS_PER_NODE", Always("*")),
    field(NONE, "sperboard", "SOCKETS_PER_BOARD", Always("0")),
    field('S', "starttime", "START_TIME", Value(|r, view| view.site.stamp_or(r.start(view.now), "N/A"))),
    field('T', "state", "STATE", Value(|r, _| r.job.state.names().0.to_owned())),
    field('t', "statecompact", "ST", Value(|r, _| r.job.state.names().1.to_owned())),
    field(NONE, "stderr", "STDERR", Value(error)),
    field(NONE, "stdin", "STDIN", Value(input)),
    field(NONE, "stdout", "STDOUT", Value(output)),
    field('V', "submittime", "SUBMIT_TIME", Value(|r, view| view.site.stamp(r.job.submit))),
    field(NONE, "system_comment", "SYSTEM_COMMENT", Always("(null)")),
    field('J', "threads", "THREADS_PER_CORE", Always("*")),
    field('L', "timeleft", "TIME_LEFT", Length(|r, view| r.job.limit_text(r.run_seconds(view.now), short))),
    field('l', "timelimit", "TIME_LIMIT", Length(|r, _| r.job.limit_text(0, short))),
    field('M', "timeused", "TIME", Length(|r, view| short(r.run_seconds(view.now)))),
    field(NONE, "tres-alloc", "TRES_ALLOC", Value(|r, view| tres(view.site, r))),
    field(NONE, "tres-bind", "TRES_BIND", Always("N/A")),
    field(NONE, "tres-freq", "TRES_FREQ", Always("N/A")),
    field(NONE, "tres-per-job", "TRES_PER_JOB", Always("N/A")),
    field('b', "tres-per-node", "TRES_PER_NODE", Value(gres)),
    field(NONE, "tres-per-socket", "TRES_PER_SOCKET", Always("N/A")),
    field(NONE, "tres-per-task", "TRES_PER_TASK", Always("N/A")),
    field('U', "userid", "UID", Value(|r, _| r.job.batch.uid.to_string())),
    field('u', "username", "USER", Value(|r, _| r.job.batch.user.to_string())),
    field(NONE, "wait4switch", "WAIT4SWITCH", Always("0:00")),
    field('w', "wckey", "WCKEY", Value(|r, _| or_null(&r.job.batch.wckey))),
    field('Z', "workdir", "WORK_DIR", Value(|r, _| r.job.batch.work_dir.clone())),
    field('s', "", "", Always("")),
    field('x', "", "EXC_NODES", Value(|r, _| or_nothing(&r.job.batch.unwanted_nodes).to_owned())),
];

/// As Slurm puts the kind of resource before each.
fn gres(record: &Record<'_>, _: &View<'_>) -> String {
    match record.job.batch.gres.to_string() {
        none if none.is_empty() => "N/A".to_owned(),
        all => format!("gres:{}", all.replace(',', ",gres:")),
    }
}

fn priority(record: &Record<'_>, _: &View<'_>) -> String {
    format!("{:.14}", f64::from(record.priority()) / f64::from(u32::MAX))
}

fn eligible(record: &Record<'_>, view: &View<'_>) -> String {
    let at = record.job.eligible.or(record.job.begin);
    view.site.stamp_or(at, "N/A")
}

fn last_look(record: &Record<'_>, view: &View<'_>) -> String {
    let at = record.job.start.unwrap_or(record.job.submit);
    view.site.stamp(at)
}

fn end(record: &Record<'_>, view: &View<'_>) -> String {
    let job = record.job;
    match (job.end, record.start(view.now), job.limit) {
        (Some(end), _, _) => view.site.stamp(end),
        (None, Some(start), Some(limit)) => view.site.stamp(start + limit),
        (None, Some(_), None) => "NONE".to_owned(),
        (None, None, _) => "N/A".to_owned(),
    }
}

fn memory(record: &Record<'_>, _: &View<'_>) -> String {
    match (record.job.batch.mem, record.job.batch.mem_per_cpu) {
        (Some(0), _) | (None, None) => "0".to_owned(),
        (Some(mib), _) | (None, Some(mib)) => format!("{mib}M"),
    }
}

/// Nodes, or in parentheses why there are none or it failed.
fn place(record: &Record<'_>, _: &View<'_>) -> String {
    let explained = [State::Pending, State::Failed, State::Timeout];
    match explained.contains(&record.job.state) {
        true => format!("({})", record.reason),
        false => record.node_list.clone(),
    }
}

fn host(record: &Record<'_>, view: &View<'_>) -> String {
    match record.job.placement.is_empty() {
        true => "n/a".to_owned(),
        false => first_node(record, view),
    }
}

fn first_node(record: &Record<'_>, view: &View<'_>) -> String {
    view.site.first_node(&record.job.placement)
}

fn input(record: &Record<'_>, _: &View<'_>) -> String {
    let name = record.job.batch.input.as_deref();
    in_directory(record, name.unwrap_or("/dev/null"))
}

/// Where its output goes. A pattern of its own is shown as it was given.
fn output(record: &Record<'_>, _: &View<'_>) -> String {
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

fn error(record: &Record<'_>, view: &View<'_>) -> String {
    match &record.job.batch.error {
        Some(error) => in_directory(record, error),
        None => output(record, view),
    }
}

/// The fields of `squeue --steps`: a running job has one step, its batch script.
pub(super) static STEP_FIELDS: [Field<Show>; 6] = [
    field('i', "", "STEPID", Value(|r, _| format!("{}.batch", r.id()))),
    field('j', "", "NAME", Always("batch")),
    field('P', "", "PARTITION", Value(|_, v| v.site.partition.clone())),
    field('u', "", "USER", Value(|r, _| r.job.batch.user.to_string())),
    field('M', "", "TIME", Value(|r, v| short(r.run_seconds(v.now)))),
    field('N', "", "NODELIST", Value(first_node)),
];
