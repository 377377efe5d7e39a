//! `scontrol show job`

use super::layout;
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::file_names::fill_for;
use crate::faces::slurm::show::{targets, tres};
use crate::faces::slurm::store::{JobStore, Record, State};
use crate::faces::slurm::users::group_name;
use crate::faces::slurm::wire::Answer;
use crate::slurm::times;
use gridrig_core::time::SimTime;

pub(super) fn show(store: &JobStore, wanted: Option<&str>, one_line: bool, now: SimTime) -> Answer {
    let unknown = |of: &str| Answer::failed(1, format!("{of} error: Invalid job id specified\n"));
    let chosen = match wanted {
        None => None,
        Some(word) => match targets(word) {
            Some(targets) => Some(targets),
            None => return unknown("scontrol_print_job"),
        },
    };
    let mut records = store.records(now, chosen.as_deref(), false);
    if records.is_empty() {
        return match wanted {
            // The array is known, its task is not.
            Some(word) if is_array(store, chosen.as_deref()) => Answer {
                code: 1,
                ..Answer::said(format!("Job {word} not found\n"))
            },
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
        let lines = lines(store, record, now);
        let text = layout(&lines, one_line);
        // The last of Slurm's lines is blank but for its indentation.
        out.push_str(&text);
        out.push_str(if one_line { " \n" } else { "\n   \n\n" });
    }
    Answer::said(out)
}

/// Whether the one job is a task of an array that is there.
fn is_array(store: &JobStore, chosen: Option<&[Target]>) -> bool {
    let Some([Target { id, task: Some(_) }]) = chosen else {
        return false;
    };
    let (id, task) = (*id, None);
    !store.find(Target { id, task }).is_empty()
}

fn lines(store: &JobStore, record: &Record<'_>, now: SimTime) -> Vec<String> {
    let job = record.job;
    let batch = &*job.batch;
    let null = |text: &Option<String>| text.clone().unwrap_or("(null)".to_owned());
    let mut lines = vec![name_line(record)];
    lines.push(format!(
        "UserId={}({}) GroupId={}({}) MCS_label=N/A",
        batch.user,
        batch.uid,
        group_name(batch.gid),
        batch.gid
    ));
    lines.push(format!(
        "Priority={} Nice={} Account={} QOS={}",
        record.priority(),
        batch.nice,
        null(&batch.account),
        null(&batch.qos)
    ));
    lines.push(format!(
        "JobState={} Reason={} Dependency={}",
        job.state.names().0,
        record.reason,
        record.dependency()
    ));
    lines.push(format!(
        "Requeue={} Restarts=0 BatchFlag=1 Reboot=0 ExitCode={}:{}",
        u8::from(batch.requeue),
        job.exit.0,
        job.exit.1
    ));
    lines.extend(time_lines(store, record, now));
    lines.push(format!(
        "Partition={} AllocNode:Sid=localhost:0",
        store.site.partition
    ));
    lines.push(format!(
        "ReqNodeList={} ExcNodeList={}",
        null(&batch.wanted_nodes),
        null(&batch.unwanted_nodes)
    ));
    lines.push(format!("NodeList={}", record.node_list));
    lines.extend(size_lines(store, record));
    lines.push(format!("Command={}", batch.called()));
    lines.push(format!("WorkDir={}", batch.work_dir));
    if batch.comment.is_some() {
        lines.push(format!("Comment={} ", null(&batch.comment)));
    }
    let output = file(store, record, batch.output.as_deref(), None);
    let error = file(store, record, batch.error.as_deref(), Some(&output));
    lines.push(format!("StdErr={error}"));
    let input = batch.input.as_deref().unwrap_or("/dev/null");
    lines.push(format!("StdIn={input}"));
    lines.push(format!("StdOut={output}"));
    lines.push("Power=".to_owned());
    lines
}

fn name_line(record: &Record<'_>) -> String {
    let job = record.job;
    let name = &job.batch.name;
    let Some(task) = &job.task else {
        return format!("JobId={} JobName={name}", job.id);
    };
    let throttle = task
        .at_a_time
        .map(|most| format!(" ArrayTaskThrottle={most}"));
    format!(
        "JobId={} ArrayJobId={} ArrayTaskId={}{} JobName={name}",
        job.id,
        task.array,
        record.task_ids(),
        throttle.unwrap_or_default()
    )
}

fn time_lines(store: &JobStore, record: &Record<'_>, now: SimTime) -> [String; 5] {
    let job = record.job;
    let stamp = |at: Option<SimTime>| match at {
        Some(at) => times::stamp(store.site.unix(at)),
        None => "Unknown".to_owned(),
    };
    let limit = job.limit.map(|limit| limit.as_nanos() / 1_000_000_000);
    let limit_text = limit.map_or("UNLIMITED".to_owned(), times::long);
    let (start, eligible) = (record.start(now), job.eligible.or(job.begin));
    let end = match (job.end, start, job.limit) {
        (None, Some(start), Some(limit)) => Some(start + limit),
        (end, _, _) => end,
    };
    [
        format!(
            "RunTime={} TimeLimit={limit_text} TimeMin=N/A",
            times::long(record.run_seconds(now))
        ),
        format!(
            "SubmitTime={} EligibleTime={}",
            stamp(Some(job.submit)),
            stamp(eligible)
        ),
        format!("AccrueTime={}", stamp(eligible)),
        format!(
            "StartTime={} EndTime={} Deadline=N/A",
            stamp(start),
            stamp(end)
        ),
        format!(
            "SuspendTime=None SecsPreSuspend=0 LastSchedEval={} Scheduler=Main",
            stamp(job.start.or(Some(job.submit)))
        ),
    ]
}

fn size_lines(store: &JobStore, record: &Record<'_>) -> Vec<String> {
    let batch = &*record.job.batch;
    let (nodes, cpus) = (record.nodes, record.cpus);
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
    let shared = if batch.exclusive { "NO" } else { "OK" };
    let mut lines = Vec::new();
    let host = store.site.nodes_of(&record.job.placement);
    if let Some((first, _)) = host.first() {
        lines.push(format!("BatchHost=n{first}"));
    }
    lines.extend([
        format!(
            "NumNodes={nodes} NumCPUs={cpus} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*",
            batch.tasks, batch.cpus_per_task
        ),
        format!("TRES={}", tres(&store.site, record)),
        format!("Socks/Node=* NtasksPerN:B:S:C={per_node}:0:*:* CoreSpec=*"),
        format!(
            "MinCPUsNode={} {memory} MinTmpDiskNode=0",
            batch.cpus_on_node()
        ),
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

/// Where an output goes: the pattern's file in the working directory.
fn file(
    store: &JobStore,
    record: &Record<'_>,
    pattern: Option<&str>,
    other: Option<&str>,
) -> String {
    let name = match (pattern, other) {
        (Some(pattern), _) => fill_for(pattern, record.job, record.tasks.is_some(), &store.site),
        (None, Some(other)) => return other.to_owned(),
        (None, None) => {
            let default = match record.job.task {
                Some(_) => "slurm-%A_%a.out",
                None => "slurm-%j.out",
            };
            fill_for(default, record.job, record.tasks.is_some(), &store.site)
        }
    };
    match name.starts_with('/') {
        true => name,
        false => format!("{}/{name}", record.job.batch.work_dir),
    }
}
