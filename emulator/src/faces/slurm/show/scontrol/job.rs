//! `scontrol show job`

use super::layout;
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::file_names::{NO_TASK, default_output, facts, fill};
use crate::faces::slurm::show::{in_directory, or_null, targets, tres};
use crate::faces::slurm::store::{JobStore, Record, State};
use crate::faces::slurm::users::group_name;
use crate::faces::slurm::wire::Answer;
use crate::slurm::times;
use gridrig_core::time::SimTime;

pub(super) fn show(store: &JobStore, wanted: Option<&str>, one_line: bool, now: SimTime) -> Answer {
    let unknown = |of: &str| Answer::failed(1, format!("{of} error: Invalid job id specified\n"));
    let chosen = wanted.map(targets);
    if chosen == Some(None) {
        return unknown("scontrol_print_job");
    }
    let chosen = chosen.flatten();
    let mut records = store.records(now, chosen.as_deref(), false);
    if records.is_empty() {
        return match wanted {
            // The array is known, its task is not.
            Some(word) if is_array(store, chosen.as_deref()) => {
                Answer::missing(format!("Job {word} not found\n"))
            }
            Some(_) => unknown("slurm_load_jobs"),
            None => Answer::said("No jobs in the system\n".to_owned()),
        };
    }
    if chosen.is_some() {
        // Of an array: what is pending, then the latest task first.
        records.sort_by_key(|record| (record.tasks.is_none(), std::cmp::Reverse(record.job.seq)));
    }
    let mut out = String::new();
    for record in &records {
        let mut lines = lines(store, record, now);
        // The last of Slurm's lines is blank but for its indentation.
        lines.push(String::new());
        out.push_str(&layout(&lines, one_line));
    }
    Answer::said(out)
}

/// Whether the one job is a task of an array that is there.
fn is_array(store: &JobStore, chosen: Option<&[Target]>) -> bool {
    let Some([Target { id, task: Some(_) }]) = chosen else {
        return false;
    };
    !store.find(Target::whole(*id)).is_empty()
}

fn lines(store: &JobStore, record: &Record<'_>, now: SimTime) -> Vec<String> {
    let (job, partition) = (record.job, &store.site.partition);
    let batch = &*job.batch;
    let (user, uid, gid, nice) = (&batch.user, batch.uid, batch.gid, batch.nice);
    let (account, qos) = (or_null(&batch.account), or_null(&batch.qos));
    let group = group_name(gid);
    let (priority, state) = (record.priority(), job.state.names().0);
    let reason = record.reason.replace(' ', "_");
    let (dependency, requeue) = (record.dependency(), u8::from(batch.requeue));
    let (code, signal) = job.exit;
    let (wanted, unwanted) = (or_null(&batch.wanted_nodes), or_null(&batch.unwanted_nodes));
    let mut lines = vec![
        name_line(record),
        format!("UserId={user}({uid}) GroupId={group}({gid}) MCS_label=N/A"),
        format!("Priority={priority} Nice={nice} Account={account} QOS={qos}"),
        format!("JobState={state} Reason={reason} Dependency={dependency}"),
        format!(
            "Requeue={requeue} Restarts={} BatchFlag=1 Reboot=0 ExitCode={code}:{signal}",
            job.restarts
        ),
    ];
    lines.extend(time_lines(store, record, now));
    lines.push(format!("Partition={partition} AllocNode:Sid=localhost:0"));
    if let Some(name) = &batch.reservation {
        lines.push(format!("Reservation={name}"));
    }
    lines.push(format!("ReqNodeList={wanted} ExcNodeList={unwanted}"));
    lines.push(format!("NodeList={}", record.node_list));
    lines.extend(size_lines(store, record));
    lines.push(format!("Command={}", batch.called()));
    lines.push(format!("WorkDir={}", batch.work_dir));
    if let Some(comment) = &batch.comment {
        lines.push(format!("Comment={comment} "));
    }
    let mut facts = facts(job, &store.site);
    if record.tasks.is_some() {
        facts.insert('a', NO_TASK.to_string());
    }
    let file = |pattern: &str| in_directory(record, &fill(pattern, &facts));
    let output = file(batch.output.as_deref().unwrap_or(default_output(job)));
    let error = batch.error.as_deref().map_or(output.clone(), file);
    let input = batch.input.as_deref().unwrap_or("/dev/null");
    lines.push(format!("StdErr={error}"));
    lines.push(format!("StdIn={input}"));
    lines.push(format!("StdOut={output}"));
    lines.push("Power=".to_owned());
    lines
}

fn name_line(record: &Record<'_>) -> String {
    let (id, name) = (record.job.id, &record.job.batch.name);
    let Some(task) = &record.job.task else {
        return format!("JobId={id} JobName={name}");
    };
    let (array, tasks) = (task.array, record.task_ids());
    let most = task.at_a_time;
    let throttle = most.map_or_else(String::new, |most| format!(" ArrayTaskThrottle={most}"));
    format!("JobId={id} ArrayJobId={array} ArrayTaskId={tasks}{throttle} JobName={name}")
}

fn time_lines(store: &JobStore, record: &Record<'_>, now: SimTime) -> [String; 5] {
    let job = record.job;
    let known = |at: Option<SimTime>| store.site.stamp_or(at, "Unknown");
    let limit = job.limit_text(0, times::long);
    let start = record.start(now);
    let end = match (job.end, start, job.limit) {
        (None, Some(start), Some(limit)) => Some(start + limit),
        (end, _, _) => end,
    };
    let run = times::long(record.run_seconds(now));
    let (start, end, eligible) = (known(start), known(end), known(job.eligible.or(job.begin)));
    let submitted = store.site.stamp(job.submit);
    let looked = store.site.stamp(job.start.unwrap_or(job.submit));
    [
        format!("RunTime={run} TimeLimit={limit} TimeMin=N/A"),
        format!("SubmitTime={submitted} EligibleTime={eligible}"),
        format!("AccrueTime={eligible}"),
        format!("StartTime={start} EndTime={end} Deadline=N/A"),
        format!("SuspendTime=None SecsPreSuspend=0 LastSchedEval={looked} Scheduler=Main"),
    ]
}

fn size_lines(store: &JobStore, record: &Record<'_>) -> Vec<String> {
    let batch = &*record.job.batch;
    let (nodes, cpus, tasks) = (record.nodes, record.cpus, batch.tasks);
    let (per_task, on_node) = (batch.cpus_per_task, batch.cpus_on_node());
    let pending = record.job.state == State::Pending;
    let nodes = match batch.most_nodes.filter(|_| pending) {
        Some(_) => format!("{nodes}-{nodes}"),
        None => nodes.to_string(),
    };
    let per_node = batch.tasks_per_node.unwrap_or(0);
    let memory = match (batch.mem, batch.mem_per_cpu) {
        (Some(mib), _) => format!("MinMemoryNode={}", mebibytes(mib)),
        (None, Some(mib)) => format!("MinMemoryCPU={}", mebibytes(mib)),
        (None, None) => "MinMemoryNode=0".to_owned(),
    };
    let shared = batch.shares();
    let mut lines = Vec::new();
    let host = store.site.first_node(&record.job.placement);
    if !host.is_empty() {
        lines.push(format!("BatchHost={host}"));
    }
    lines.extend([
        format!(
            "NumNodes={nodes} NumCPUs={cpus} NumTasks={tasks} CPUs/Task={per_task} \
             ReqB:S:C:T=0:0:*:*"
        ),
        format!("TRES={}", tres(&store.site, record)),
        format!("Socks/Node=* NtasksPerN:B:S:C={per_node}:0:*:* CoreSpec=*"),
        format!("MinCPUsNode={on_node} {memory} MinTmpDiskNode=0"),
        "Features=(null) DelayBoot=00:00:00".to_owned(),
        format!("OverSubscribe={shared} Contiguous=0 Licenses=(null) Network=(null)"),
    ]);
    lines
}

fn mebibytes(mib: u64) -> String {
    match mib % 1024 {
        0 if mib > 0 => format!("{}G", mib / 1024),
        _ => format!("{mib}M"),
    }
}
