//! `sacct`: what the book knows, as a Slurm with accounts would answer.

use super::format::pad;
use super::{list, options};
use crate::faces::slurm::book::{Book, Job, State};
use crate::faces::slurm::depend::Target;
use crate::faces::slurm::desk::{Caller, group_name};
use crate::faces::slurm::options::{Opt, Parsed, flag, value};
use crate::faces::slurm::times;
use crate::faces::slurm::wire::{Answer, Request};
use gridrig_core::time::SimTime;

const OPTIONS: [Opt; 40] = [
    value("accounts", Some('A')),
    flag("allocations", Some('X')),
    flag("allusers", Some('a')),
    flag("array", None),
    flag("brief", Some('b')),
    value("cluster", None),
    value("clusters", Some('M')),
    flag("completion", Some('c')),
    value("constraints", Some('C')),
    value("delimiter", None),
    flag("duplicates", Some('D')),
    value("endtime", Some('E')),
    flag("federation", None),
    value("file", Some('f')),
    value("flags", Some('F')),
    value("format", Some('o')),
    value("gid", Some('g')),
    value("group", None),
    flag("help", Some('h')),
    flag("helpformat", Some('e')),
    value("jobs", Some('j')),
    flag("local", None),
    flag("long", Some('l')),
    value("name", None),
    value("ncpus", Some('i')),
    flag("noconvert", None),
    value("nodelist", Some('N')),
    flag("noheader", Some('n')),
    value("nnodes", Some('I')),
    flag("parsable", Some('p')),
    flag("parsable2", Some('P')),
    value("partition", Some('r')),
    value("qos", Some('q')),
    value("starttime", Some('S')),
    value("state", Some('s')),
    flag("truncate", Some('T')),
    value("uid", Some('u')),
    value("user", None),
    flag("version", Some('V')),
    value("wckeys", Some('W')),
];

/// Name, width and whether it stands to the right.
const FIELDS: [(&str, usize, bool); 47] = [
    ("Account", 10, true),
    ("AllocCPUS", 10, true),
    ("AllocNodes", 10, true),
    ("AllocTRES", 10, true),
    ("AveCPU", 10, true),
    ("AveRSS", 10, true),
    ("AveVMSize", 10, true),
    ("Cluster", 10, true),
    ("Comment", 14, true),
    ("CPUTime", 10, true),
    ("CPUTimeRAW", 10, true),
    ("DerivedExitCode", 15, true),
    ("Elapsed", 10, true),
    ("ElapsedRaw", 10, true),
    ("Eligible", 19, true),
    ("End", 19, true),
    ("ExitCode", 8, true),
    ("GID", 6, true),
    ("Group", 9, true),
    ("JobID", 12, false),
    ("JobIDRaw", 12, false),
    ("JobName", 10, true),
    ("MaxRSS", 10, true),
    ("MaxVMSize", 10, true),
    ("NCPUS", 10, true),
    ("NNodes", 8, true),
    ("NodeList", 15, true),
    ("NTasks", 8, true),
    ("Partition", 10, true),
    ("Planned", 10, true),
    ("Priority", 10, true),
    ("QOS", 10, true),
    ("Reason", 22, true),
    ("ReqCPUS", 8, true),
    ("ReqMem", 10, true),
    ("ReqNodes", 8, true),
    ("Start", 19, true),
    ("State", 10, true),
    ("Submit", 19, true),
    ("SystemCPU", 10, true),
    ("Timelimit", 10, true),
    ("TimelimitRaw", 10, true),
    ("TotalCPU", 10, true),
    ("UID", 6, true),
    ("User", 9, true),
    ("UserCPU", 10, true),
    ("WorkDir", 20, true),
];

const DEFAULT: &str = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
const BRIEF: &str = "JobID,State,ExitCode";

/// A column as it was asked for.
struct Column {
    field: &'static str,
    width: usize,
    right: bool,
}

/// A line: the job itself, or its batch step.
struct Row<'a> {
    job: &'a Job,
    batch_step: bool,
}

pub(super) fn sacct(book: &Book, request: &Request, caller: &Caller, now: SimTime) -> Answer {
    match run(book, request, caller, now) {
        Ok(answer) | Err(answer) => answer,
    }
}

fn run(book: &Book, request: &Request, caller: &Caller, now: SimTime) -> Result<Answer, Answer> {
    let parsed = options("sacct", &OPTIONS, request)?;
    if parsed.has("helpformat") {
        let names: Vec<&str> = FIELDS.iter().map(|(name, _, _)| *name).collect();
        return Ok(Answer::said(format!("{}\n", names.join("\n"))));
    }
    let default = if parsed.has("brief") { BRIEF } else { DEFAULT };
    let columns = columns(parsed.last("format").unwrap_or(default))?;
    let rows = rows(book, &parsed, caller, now)?;
    let parsable = parsed.has("parsable") || parsed.has("parsable2");
    let delimiter = parsed.last("delimiter").unwrap_or("|");
    let mut out = String::new();
    let mut line = |cells: Vec<String>| match parsable {
        true => {
            out.push_str(&cells.join(delimiter));
            out.push_str(if parsed.has("parsable") {
                delimiter
            } else {
                ""
            });
            out.push('\n');
        }
        false => {
            for (cell, column) in cells.iter().zip(&columns) {
                let mut cell = cell.clone();
                if cell.chars().count() > column.width {
                    // Slurm marks what it cuts.
                    cell = cell.chars().take(column.width.saturating_sub(1)).collect();
                    cell.push('+');
                }
                pad(&mut out, &cell, column.width, column.right);
                out.push(' ');
            }
            out.push('\n');
        }
    };
    if !parsed.has("noheader") {
        line(
            columns
                .iter()
                .map(|column| column.field.to_owned())
                .collect(),
        );
        if !parsable {
            line(
                columns
                    .iter()
                    .map(|column| "-".repeat(column.width))
                    .collect(),
            );
        }
    }
    for row in &rows {
        let cells = columns
            .iter()
            .map(|column| row.value(column.field, book, now));
        line(cells.collect());
    }
    Ok(Answer::said(out))
}

fn columns(format: &str) -> Result<Vec<Column>, Answer> {
    let parts = format
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, width) = part.split_once('%').unwrap_or((part, ""));
            let field = FIELDS
                .iter()
                .find(|(known, _, _)| known.eq_ignore_ascii_case(name));
            let Some((field, usual, right)) = field else {
                let what = format!("sacct: fatal: Invalid field requested: \"{name}\"\n");
                return Err(Answer::failed(1, what));
            };
            let left = width.starts_with('-');
            let width = width.trim_start_matches('-').parse().unwrap_or(*usual);
            Ok(Column {
                field,
                width,
                right: *right && !left,
            })
        })
        .collect()
}

fn rows<'a>(
    book: &'a Book,
    parsed: &Parsed,
    caller: &Caller,
    now: SimTime,
) -> Result<Vec<Row<'a>>, Answer> {
    let steps = !parsed.has("allocations");
    let mut rows = Vec::new();
    let mut add = |job: &'a Job, whole: bool, step: bool| {
        if whole {
            rows.push(Row {
                job,
                batch_step: false,
            });
        }
        // A job that never ran has no step; what another interface brought
        // is no batch job.
        if step && steps && !job.placement.is_empty() && !job.batch.foreign {
            rows.push(Row {
                job,
                batch_step: true,
            });
        }
    };
    let span = Span::of(parsed, book, now)?;
    let keeps = |job: &Job| takes(parsed, job, book) && span.takes(job);
    if let Some(jobs) = list(parsed, "jobs") {
        for word in jobs {
            let (id, step) = word.split_once('.').unwrap_or((&word, ""));
            let targets = super::targets(id);
            let Some(targets) = targets else {
                let what = format!("sacct: fatal: Bad job/step specified: {word}\n");
                return Err(Answer::failed(1, what));
            };
            let found = targets
                .iter()
                .flat_map(|target: &Target| book.find(*target));
            let found = found
                .filter_map(|seq| book.job(seq))
                .filter(|job| keeps(job));
            found.for_each(|job| add(job, step.is_empty(), step.is_empty() || step == "batch"));
        }
        return Ok(rows);
    }
    let everyone = parsed.has("allusers") || caller.uid == 0;
    let own = |job: &&Job| {
        everyone || parsed.has("user") || parsed.has("uid") || job.batch.uid == caller.uid
    };
    let jobs = book.all().filter(own).filter(|job| keeps(job));
    jobs.for_each(|job| add(job, true, true));
    Ok(rows)
}

fn takes(parsed: &Parsed, job: &Job, book: &Book) -> bool {
    let among = |name: &str, text: &str| {
        list(parsed, name).is_none_or(|list| list.iter().any(|one| one == text))
    };
    let uid = job.batch.uid.to_string();
    let user = |name: &str| among(name, &job.batch.user) || among(name, &uid);
    let by_state = list(parsed, "state").is_none_or(|states| {
        let (long, short) = job.state.names();
        let is = |s: &String| s.eq_ignore_ascii_case(long) || s.eq_ignore_ascii_case(short);
        states.iter().any(is)
    });
    among("name", &job.batch.name)
        && user("user")
        && user("uid")
        && by_state
        && among("partition", &book.site.partition)
        && among("clusters", &book.site.cluster)
        && among("accounts", job.batch.account.as_deref().unwrap_or(""))
}

/// The time that `--starttime` and `--endtime` ask for.
struct Span {
    from: Option<SimTime>,
    until: Option<SimTime>,
}

impl Span {
    fn of(parsed: &Parsed, book: &Book, now: SimTime) -> Result<Self, Answer> {
        let read = |name: &str| match parsed.last(name) {
            None => Ok(None),
            Some(text) => {
                // Slurm counts from the past where times come without a date.
                let unix = times::moment(text, book.site.unix(now));
                let bad = || {
                    Answer::failed(
                        1,
                        format!("sacct: error: Invalid time specification (pos=0): {text}\n"),
                    )
                };
                unix.map(|unix| Some(book.site.instant(unix)))
                    .ok_or_else(bad)
            }
        };
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

impl Row<'_> {
    fn value(&self, field: &str, book: &Book, now: SimTime) -> String {
        let job = self.job;
        let record = book.record(job, now);
        let seconds = record.run_seconds(now);
        let cpu = seconds * u64::from(record.cpus);
        let whole = |text: String| if self.batch_step { String::new() } else { text };
        let stamp = |at: Option<SimTime>| match at {
            Some(at) => times::stamp(book.site.unix(at)),
            None => "Unknown".to_owned(),
        };
        let step = if self.batch_step { ".batch" } else { "" };
        match field {
            "JobID" => format!("{}{step}", record.id()),
            "JobIDRaw" => format!("{}{step}", job.id),
            "JobName" if self.batch_step => "batch".to_owned(),
            "JobName" => job.batch.name.clone(),
            "State" => self.state(),
            "ExitCode" => format!("{}:{}", job.exit.0, job.exit.1),
            "DerivedExitCode" => whole("0:0".to_owned()),
            "AllocCPUS" | "AllocNodes" if job.placement.is_empty() => "0".to_owned(),
            "AllocCPUS" | "NCPUS" | "ReqCPUS" => record.cpus.to_string(),
            "AllocNodes" | "NNodes" | "ReqNodes" => record.nodes.to_string(),
            "NodeList" if job.placement.is_empty() => "None assigned".to_owned(),
            "NodeList" => record.node_list,
            "Start" => stamp(job.start),
            "End" => stamp(job.end),
            "Submit" => stamp(Some(job.submit)),
            "Eligible" => stamp(job.eligible),
            "Elapsed" => times::long(seconds),
            "ElapsedRaw" => seconds.to_string(),
            "CPUTime" => times::long(cpu),
            "CPUTimeRAW" => cpu.to_string(),
            // Jobs are emulated: no processor time is measured.
            "UserCPU" | "SystemCPU" | "TotalCPU" => "00:00:00".to_owned(),
            "AveCPU" if self.batch_step => "00:00:00".to_owned(),
            "MaxRSS" | "AveRSS" | "MaxVMSize" | "AveVMSize" if self.batch_step => "0".to_owned(),
            "NTasks" if self.batch_step => "1".to_owned(),
            "Account" => job.batch.account.clone().unwrap_or_default(),
            "AllocTRES" => format!("cpu={},node={}", record.cpus, record.nodes),
            "Cluster" => book.site.cluster.clone(),
            "Partition" => whole(book.site.partition.clone()),
            "User" => whole(job.batch.user.to_string()),
            "UID" => whole(job.batch.uid.to_string()),
            "Group" => whole(group_name(job.batch.gid).to_string()),
            "GID" => whole(job.batch.gid.to_string()),
            "Comment" => whole(job.batch.comment.clone().unwrap_or_default()),
            "Priority" => whole(record.priority().to_string()),
            "QOS" => whole(job.batch.qos.clone().unwrap_or_default()),
            "Reason" => whole(record.reason.to_owned()),
            "WorkDir" => whole(job.batch.work_dir.clone()),
            "ReqMem" => whole(memory(job)),
            "Planned" => whole(times::long(planned(job, now))),
            "Timelimit" => whole(limit(job).map_or("UNLIMITED".to_owned(), times::long)),
            "TimelimitRaw" => {
                whole(limit(job).map_or("UNLIMITED".to_owned(), |s| (s / 60).to_string()))
            }
            _ => String::new(),
        }
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

fn limit(job: &Job) -> Option<u64> {
    job.limit.map(|limit| limit.as_nanos() / 1_000_000_000)
}

fn planned(job: &Job, now: SimTime) -> u64 {
    let start = job.start.or(job.end).unwrap_or(now);
    start.since(job.submit).as_nanos() / 1_000_000_000
}

fn memory(job: &Job) -> String {
    let mib = match (job.batch.mem, job.batch.mem_per_cpu) {
        (Some(mib), _) => mib,
        (None, Some(mib)) => mib.saturating_mul(u64::from(job.batch.processors())),
        (None, None) => 0,
    };
    format!("{mib}M")
}
