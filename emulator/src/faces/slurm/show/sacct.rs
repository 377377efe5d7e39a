//! `sacct`: what the store knows, as a Slurm with accounts would answer.

use super::sshare::{Column, table};
use super::{Caller, Said, among, list, of_users, options, or_nothing, refuse, tres};
use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::store::{Job, JobStore, Record, State};
use crate::faces::slurm::users::group_name;
use crate::faces::slurm::wire::{Answer, Request};
use crate::slurm::times;
use gridrig_core::time::SimTime;

/// A field; it stands to the right, unless it is the name of a job.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    width: usize,
    shows: Shows,
}

#[derive(Clone, Copy)]
enum Shows {
    /// The same of every line, of jobs only, of steps only: jobs are emulated
    /// and no processor time is measured.
    Always(&'static str),
    OfJob(&'static str),
    OfStep(&'static str),
    /// Of every line, and of jobs only.
    Value(fn(&Line<'_>) -> String),
    Job(fn(&Line<'_>) -> String),
}

use Shows::{Always, Job as OnlyJob, OfJob, OfStep, Value};

const fn field(name: &'static str, width: usize, shows: Shows) -> Field {
    Field { name, width, shows }
}

#[rustfmt::skip]
static FIELDS: [Field; 54] = [
    field("Account", 10, Value(|l| l.job.batch.account.clone().unwrap_or_default())),
    field("AllocCPUS", 10, Value(|l| l.allocated(l.record.cpus))),
    field("AllocNodes", 10, Value(|l| l.allocated(l.record.nodes))),
    field("AllocTRES", 10, Value(|l| format!("cpu={},node={}", l.record.cpus, l.record.nodes))),
    field("AveCPU", 10, OfStep("00:00:00")),
    field("AveRSS", 10, OfStep("0")),
    field("AveVMSize", 10, OfStep("0")),
    field("Cluster", 10, Value(|l| l.store.site.cluster.clone())),
    field("Comment", 14, OnlyJob(|l| l.job.batch.comment.clone().unwrap_or_default())),
    field("CPUTime", 10, Value(|l| times::long(l.cpu_seconds()))),
    field("CPUTimeRAW", 10, Value(|l| l.cpu_seconds().to_string())),
    field("DBIndex", 10, Value(|l| (l.job.seq + 1).to_string())),
    field("DerivedExitCode", 15, OfJob("0:0")),
    field("Elapsed", 10, Value(|l| times::long(l.record.run_seconds(l.now)))),
    field("ElapsedRaw", 10, Value(|l| l.record.run_seconds(l.now).to_string())),
    field("Eligible", 19, Value(|l| l.stamp(l.job.eligible))),
    field("End", 19, Value(|l| l.stamp(l.job.end))),
    field("ExitCode", 8, Value(|l| format!("{}:{}", l.job.exit.0, l.job.exit.1))),
    field("GID", 6, OnlyJob(|l| l.job.batch.gid.to_string())),
    field("Group", 9, OnlyJob(|l| group_name(l.job.batch.gid).to_string())),
    field("JobID", 12, Value(|l| format!("{}{}", l.record.id(), l.step()))),
    field("JobIDRaw", 12, Value(|l| format!("{}{}", l.job.id, l.step()))),
    field("JobName", 10, Value(|l| l.name())),
    field("MaxRSS", 10, OfStep("0")),
    field("MaxVMSize", 10, OfStep("0")),
    field("NCPUS", 10, Value(|l| l.record.cpus.to_string())),
    field("NNodes", 8, Value(|l| l.record.nodes.to_string())),
    field("NodeList", 15, Value(|l| l.nodes())),
    field("NTasks", 8, OfStep("1")),
    field("Partition", 10, OnlyJob(|l| l.store.site.partition.clone())),
    field("Priority", 10, OnlyJob(|l| l.record.priority().to_string())),
    field("QOS", 10, OnlyJob(|l| l.job.batch.qos.clone().unwrap_or_default())),
    field("Reason", 22, OnlyJob(|l| l.record.reason.to_owned())),
    field("ReqCPUS", 8, Value(|l| l.record.cpus.to_string())),
    field("ReqMem", 10, OnlyJob(|l| memory(l.job))),
    field("ReqNodes", 8, Value(|l| l.record.nodes.to_string())),
    field("ReqTRES", 10, OnlyJob(|l| tres(&l.store.site, &l.record))),
    field("Reserved", 10, OnlyJob(|l| times::long(l.job.pending_seconds(l.now)))),
    field("ResvCPU", 10, OnlyJob(|l| times::long(l.pending_cpu_seconds()))),
    field("ResvCPURAW", 10, OnlyJob(|l| l.pending_cpu_seconds().to_string())),
    field("Start", 19, Value(|l| l.stamp(l.job.start))),
    field("State", 10, Value(|l| l.state())),
    field("Submit", 19, Value(|l| l.stamp(Some(l.job.submit)))),
    field("SubmitLine", 20, OnlyJob(|l| l.job.batch.submit_line.clone())),
    field("Suspended", 10, Always("00:00:00")),
    field("SystemCPU", 10, Always("00:00:00")),
    field("Timelimit", 10, OnlyJob(|l| l.job.limit_text(0, times::long))),
    field("TimelimitRaw", 10, OnlyJob(|l| l.job.limit_text(0, |s| (s / 60).to_string()))),
    field("TotalCPU", 10, Always("00:00:00")),
    field("UID", 6, OnlyJob(|l| l.job.batch.uid.to_string())),
    field("User", 9, OnlyJob(|l| l.job.batch.user.to_string())),
    field("UserCPU", 10, Always("00:00:00")),
    field("WCKey", 10, OnlyJob(|l| l.job.batch.wckey.clone().unwrap_or_default())),
    field("WorkDir", 20, OnlyJob(|l| l.job.batch.work_dir.clone())),
];

/// Further fields of 22.05 with their widths, which are empty here: no emulated job has
/// them, or nothing measures them.
const EMPTY: &str = "AdminComment:15 AssocID:7 AveCPUFreq:10 AveDiskRead:14 AveDiskWrite:14 \
    AvePages:10 BlockID:16 Constraints:19 ConsumedEnergy:14 ConsumedEnergyRaw:17 Container:19 \
    Flags:19 Layout:9 MaxDiskRead:12 MaxDiskReadNode:15 MaxDiskReadTask:15 MaxDiskWrite:12 \
    MaxDiskWriteNode:16 MaxDiskWriteTask:16 MaxPages:8 MaxPagesNode:12 MaxPagesTask:14 \
    MaxRSSNode:10 MaxRSSTask:10 MaxVMSizeNode:14 MaxVMSizeTask:14 McsLabel:12 MinCPU:10 \
    MinCPUNode:10 MinCPUTask:10 QOSRAW:6 ReqCPUFreq:10 ReqCPUFreqGov:13 ReqCPUFreqMax:13 \
    ReqCPUFreqMin:13 Reservation:20 ReservationId:8 SystemComment:15 TRESUsageInAve:14 \
    TRESUsageInMax:14 TRESUsageInMaxNode:18 TRESUsageInMaxTask:18 TRESUsageInMin:14 \
    TRESUsageInMinNode:18 TRESUsageInMinTask:18 TRESUsageInTot:14 TRESUsageOutAve:15 \
    TRESUsageOutMax:15 TRESUsageOutMaxNode:19 TRESUsageOutMaxTask:19 TRESUsageOutMin:15 \
    TRESUsageOutMinNode:19 TRESUsageOutMinTask:19 TRESUsageOutTot:15 WCKeyID:10";

/// All fields.
fn fields() -> impl Iterator<Item = Field> {
    let empty = EMPTY.split_ascii_whitespace().map(|row| {
        let (name, width) = row.split_once(':').unwrap_or((row, ""));
        field(name, width.parse().unwrap_or(10), Always(""))
    });
    FIELDS.iter().copied().chain(empty)
}

const DEFAULT: &str = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
const BRIEF: &str = "JobID,State,ExitCode";

/// A line: the job itself, or its batch step.
struct Line<'a> {
    job: &'a Job,
    batch_step: bool,
    record: Record<'a>,
    store: &'a JobStore,
    now: SimTime,
}

pub(super) fn sacct(store: &JobStore, request: &Request, caller: &Caller) -> Said {
    let parsed = options("sacct", request, &store.site)?;
    if parsed.has("helpformat") {
        let mut names: Vec<&str> = fields().map(|field| field.name).collect();
        names.sort_by_key(|name| name.to_ascii_lowercase());
        return Ok(Answer::said(format!("{}\n", names.join("\n"))));
    }
    let default = if parsed.has("brief") { BRIEF } else { DEFAULT };
    let columns = columns(parsed.last("format").unwrap_or(default))?;
    let lines = lines(store, &parsed, caller)?;
    let (fields, columns): (Vec<Field>, Vec<Column>) = columns.into_iter().unzip();
    let cells = |line: &Line<'_>| fields.iter().map(|field| line.value(field)).collect();
    Ok(Answer::said(table(
        &parsed,
        &columns,
        lines.iter().map(cells),
    )))
}

fn columns(format: &str) -> Result<Vec<(Field, Column)>, Answer> {
    let parts = format.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, width) = part.split_once('%').unwrap_or((part, ""));
            let field = fields().find(|field| field.name.eq_ignore_ascii_case(name));
            let Some(field) = field else {
                return refuse(format!(
                    "sacct: fatal: Invalid field requested: \"{name}\"\n"
                ));
            };
            let left = width.starts_with('-');
            let width = width.trim_start_matches('-').parse().unwrap_or(field.width);
            let column = Column {
                name: field.name,
                width,
                right: !left && !field.name.starts_with("JobID"),
            };
            Ok((field, column))
        })
        .collect()
}

fn lines<'a>(
    store: &'a JobStore,
    parsed: &Parsed,
    caller: &Caller,
) -> Result<Vec<Line<'a>>, Answer> {
    let now = caller.now;
    let steps = !parsed.has("allocations");
    let mut lines = Vec::new();
    let mut add = |job: &'a Job, whole: bool, step: bool| {
        // A job that never ran has no step; what another interface brought
        // is no batch job.
        let step = step && steps && !job.placement.is_empty() && !job.batch.foreign;
        for (_, batch_step) in [(whole, false), (step, true)].into_iter().filter(|of| of.0) {
            lines.push(Line {
                job,
                batch_step,
                record: store.record(job, now),
                store,
                now,
            });
        }
    };
    let span = Span::of(parsed, store, now)?;
    let keeps = |job: &Job| takes(parsed, job, store) && span.takes(job);
    if let Some(jobs) = list(parsed, "jobs") {
        for word in jobs {
            let (id, step) = word.split_once('.').unwrap_or((&word, ""));
            let Some(targets) = super::targets(id) else {
                return refuse(format!("sacct: fatal: Bad job/step specified: {word}\n"));
            };
            let found = targets.into_iter().flat_map(|target| store.find(target));
            let found = found.filter_map(|seq| store.job(seq));
            let found = found.filter(|job| keeps(job));
            found.for_each(|job| add(job, step.is_empty(), step.is_empty() || step == "batch"));
        }
        return Ok(lines);
    }
    let everyone = parsed.has("allusers") || caller.uid == 0;
    let own = |job: &&Job| {
        everyone || parsed.has("user") || parsed.has("uid") || job.batch.uid == caller.uid
    };
    let jobs = store.all().filter(own).filter(|job| keeps(job));
    jobs.for_each(|job| add(job, true, true));
    Ok(lines)
}

fn takes(parsed: &Parsed, job: &Job, store: &JobStore) -> bool {
    let among = |name: &str, text: &str| among(&list(parsed, name), text);
    let by_state = list(parsed, "state").is_none_or(|states| {
        let (long, short) = job.state.names();
        let is = |s: &String| s.eq_ignore_ascii_case(long) || s.eq_ignore_ascii_case(short);
        states.iter().any(is)
    });
    let clusters = parsed.last("clusters");
    among("name", &job.batch.name)
        && of_users(&list(parsed, "user"), job)
        && of_users(&list(parsed, "uid"), job)
        && by_state
        && among("partition", &store.site.partition)
        && clusters.is_none_or(|asked| store.site.names(asked))
        && among("accounts", or_nothing(&job.batch.account))
        && among("wckeys", or_nothing(&job.batch.wckey))
}

/// The time that `--starttime` and `--endtime` ask for.
struct Span {
    from: Option<SimTime>,
    until: Option<SimTime>,
}

impl Span {
    fn of(parsed: &Parsed, store: &JobStore, now: SimTime) -> Result<Self, Answer> {
        let moment = |text: &str| match times::moment(text, store.site.unix(now)) {
            // Slurm counts from the past where times come without a date.
            Some(unix) => Ok(store.site.instant(unix)),
            None => refuse(format!(
                "sacct: error: Invalid time specification (pos=0): {text}\n"
            )),
        };
        let read = |name: &str| parsed.last(name).map(moment).transpose();
        Ok(Span {
            from: read("starttime")?,
            until: read("endtime")?,
        })
    }

    fn takes(&self, job: &Job) -> bool {
        let over_before = |from: SimTime| job.end.is_some_and(|end| end < from);
        !self.from.is_some_and(over_before) && self.until.is_none_or(|until| job.submit <= until)
    }
}

impl Line<'_> {
    fn value(&self, field: &Field) -> String {
        match (&field.shows, self.batch_step) {
            (Always(text), _) | (OfJob(text), false) | (OfStep(text), true) => (*text).to_owned(),
            (Value(value), _) | (OnlyJob(value), false) => value(self),
            (OfJob(_) | OnlyJob(_), true) | (OfStep(_), false) => String::new(),
        }
    }

    fn step(&self) -> &'static str {
        if self.batch_step { ".batch" } else { "" }
    }

    fn name(&self) -> String {
        match self.batch_step {
            true => "batch".to_owned(),
            false => self.job.batch.name.clone(),
        }
    }

    fn allocated(&self, number: u32) -> String {
        let has_run = !self.job.placement.is_empty();
        let number = if has_run { number } else { 0 };
        number.to_string()
    }

    fn nodes(&self) -> String {
        match self.job.placement.is_empty() {
            true => "None assigned".to_owned(),
            false => self.record.node_list.clone(),
        }
    }

    fn cpu_seconds(&self) -> u64 {
        self.record.run_seconds(self.now) * u64::from(self.record.cpus)
    }

    fn pending_cpu_seconds(&self) -> u64 {
        self.job.pending_seconds(self.now) * u64::from(self.record.cpus)
    }

    fn stamp(&self, at: Option<SimTime>) -> String {
        self.store.site.stamp_or(at, "Unknown")
    }

    fn state(&self) -> String {
        match (self.job.state, self.batch_step) {
            (State::Cancelled, false) => format!("CANCELLED by {}", self.job.cancelled_by),
            (State::Completing, _) => "RUNNING".to_owned(),
            (State::Timeout, true) => "CANCELLED".to_owned(),
            (state, _) => state.names().0.to_owned(),
        }
    }
}

fn memory(job: &Job) -> String {
    let mib = match (job.batch.mem, job.batch.mem_per_cpu) {
        (Some(mib), _) => mib,
        (None, Some(mib)) => mib.saturating_mul(u64::from(job.batch.processors())),
        (None, None) => 0,
    };
    format!("{mib}M")
}
