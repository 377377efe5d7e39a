//! The fields of squeue: letter and name, header, value.

use super::names::{NAMED, Named, OF_LETTERS};
use crate::faces::slurm::batch::Batch;
use crate::faces::slurm::book::{Record, State};
use crate::faces::slurm::desk::group_name;
use crate::faces::slurm::site::Site;
use crate::faces::slurm::times::{self, short};
use gridrig_core::time::{SimDuration, SimTime};

/// What values are computed from besides the job.
pub(super) struct View<'a> {
    pub site: &'a Site,
    pub now: SimTime,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// By its letter.
    Letter(char),
    /// One that only `-O` knows.
    Named(&'static Named),
}

/// Letter and header.
const LETTERS: [(char, &str); 52] = [
    ('A', "JOBID"),
    ('B', "EXEC_HOST"),
    ('C', "CPUS"),
    ('D', "NODES"),
    ('E', "DEPENDENCY"),
    ('F', "ARRAY_JOB_ID"),
    ('G', "GROUP"),
    ('H', "SOCKETS_PER_NODE"),
    ('I', "CORES_PER_SOCKET"),
    ('J', "THREADS_PER_CORE"),
    ('K', "ARRAY_TASK_ID"),
    ('L', "TIME_LEFT"),
    ('M', "TIME"),
    ('N', "NODELIST"),
    ('O', "CONTIGUOUS"),
    ('P', "PARTITION"),
    ('Q', "PRIORITY"),
    ('R', "NODELIST(REASON)"),
    ('S', "START_TIME"),
    ('T', "STATE"),
    ('U', "UID"),
    ('V', "SUBMIT_TIME"),
    ('W', "LICENSES"),
    ('X', "CORE_SPEC"),
    ('Y', "SCHEDNODES"),
    ('Z', "WORK_DIR"),
    ('a', "ACCOUNT"),
    ('b', "TRES_PER_NODE"),
    ('c', "MIN_CPUS"),
    ('d', "MIN_TMP_DISK"),
    ('e', "END_TIME"),
    ('f', "FEATURES"),
    ('g', "GROUP"),
    ('h', "OVER_SUBSCRIBE"),
    ('i', "JOBID"),
    ('j', "NAME"),
    ('k', "COMMENT"),
    ('l', "TIME_LIMIT"),
    ('m', "MIN_MEMORY"),
    ('n', "REQ_NODES"),
    ('o', "COMMAND"),
    ('p', "PRIORITY"),
    ('q', "QOS"),
    ('r', "REASON"),
    ('s', ""),
    ('t', "ST"),
    ('u', "USER"),
    ('v', "RESERVATION"),
    ('w', "WCKEY"),
    ('x', "EXC_NODES"),
    ('y', "NICE"),
    ('z', "S:C:T"),
];

impl Field {
    pub fn of_letter(letter: char) -> Option<Field> {
        let known = LETTERS.iter().any(|(known, _)| *known == letter);
        known.then_some(Field::Letter(letter))
    }

    pub fn of_name(name: &str) -> Option<Field> {
        if let Some((_, letter)) = OF_LETTERS.iter().find(|(known, _)| *known == name) {
            return Some(Field::Letter(*letter));
        }
        let found = NAMED.iter().find(|field| field.name == name)?;
        Some(Field::Named(found))
    }

    pub fn header(&self) -> &'static str {
        match self {
            Field::Named(named) => named.header,
            Field::Letter(letter) => LETTERS
                .iter()
                .find(|(known, _)| known == letter)
                .map_or("", |f| f.1),
        }
    }

    /// The value, and whether it may be cut to the field's width: squeue
    /// shows lengths whole.
    pub fn value(&self, record: &Record<'_>, view: &View<'_>) -> (String, bool) {
        let letter = match self {
            Field::Letter(letter) => *letter,
            Field::Named(named) => return (named.value(record, view), true),
        };
        let text = whole_value(letter, record, view);
        let is_length = matches!(letter, 'L' | 'M' | 'l');
        let cut = !is_length || !text.starts_with(|c: char| c.is_ascii_digit());
        (text, cut)
    }
}

fn whole_value(letter: char, record: &Record<'_>, view: &View<'_>) -> String {
    let (job, site) = (record.job, view.site);
    let batch = &*job.batch;
    match letter {
        'A' => job.id.to_string(),
        'F' => record.array_id().to_string(),
        'K' => record.task_ids(),
        'i' => record.id(),
        'j' => batch.name.clone(),
        't' => job.state.names().1.to_owned(),
        'T' => job.state.names().0.to_owned(),
        'P' => site.partition.clone(),
        'u' => batch.user.to_string(),
        'U' => batch.uid.to_string(),
        'g' => group_name(batch.gid).to_string(),
        'G' => batch.gid.to_string(),
        'C' => record.cpus.to_string(),
        'D' => record.nodes.to_string(),
        'N' => record.node_list.clone(),
        'R' => place(record),
        'r' => record.reason.to_owned(),
        'B' => host(record, site),
        'p' => format!("{:.14}", f64::from(record.priority()) / f64::from(u32::MAX)),
        'Q' => record.priority().to_string(),
        'E' => record.dependency(),
        'c' => batch.cpus_on_node().to_string(),
        'y' => batch.nice.to_string(),
        'M' | 'L' | 'l' | 'S' | 'e' | 'V' => time(letter, record, view),
        _ => text(letter, batch),
    }
}

/// Fields that are a time or a length.
fn time(letter: char, record: &Record<'_>, view: &View<'_>) -> String {
    let job = record.job;
    let stamp = |at: SimTime| times::stamp(view.site.unix(at));
    let seconds = |length: SimDuration| length.as_nanos() / 1_000_000_000;
    match letter {
        'M' => short(record.run_seconds(view.now)),
        'l' => job
            .limit
            .map_or("UNLIMITED".to_owned(), |limit| short(seconds(limit))),
        'L' => match job.limit.map(seconds) {
            None => "UNLIMITED".to_owned(),
            Some(limit) => short(limit.saturating_sub(record.run_seconds(view.now))),
        },
        'S' => record.start(view.now).map_or("N/A".to_owned(), stamp),
        'V' => stamp(job.submit),
        _ => match (job.end, record.start(view.now), job.limit) {
            (Some(end), _, _) => stamp(end),
            (None, Some(start), Some(limit)) => stamp(start + limit),
            (None, Some(_), None) => "NONE".to_owned(),
            (None, None, _) => "N/A".to_owned(),
        },
    }
}

/// Fields that are what was asked for, or the same for every job.
fn text(letter: char, batch: &Batch) -> String {
    let or_null = |text: &Option<String>| text.clone().unwrap_or("(null)".to_owned());
    match letter {
        'a' => or_null(&batch.account),
        'k' => or_null(&batch.comment),
        'q' => or_null(&batch.qos),
        'w' => or_null(&batch.wckey),
        'o' => batch.called(),
        'n' => batch.wanted_nodes.clone().unwrap_or_default(),
        'x' => batch.unwanted_nodes.clone().unwrap_or_default(),
        'Z' => batch.work_dir.clone(),
        'm' => match (batch.mem, batch.mem_per_cpu) {
            (Some(0), _) => "0".to_owned(),
            (Some(mib), _) | (None, Some(mib)) => format!("{mib}M"),
            (None, None) => "0".to_owned(),
        },
        'h' if batch.exclusive => "NO".to_owned(),
        'h' => "OK".to_owned(),
        's' => String::new(),
        'z' => "*:*:*".to_owned(),
        'H' | 'I' | 'J' => "*".to_owned(),
        'O' | 'd' => "0".to_owned(),
        'X' | 'b' => "N/A".to_owned(),
        _ => "(null)".to_owned(),
    }
}

/// Nodes, or in parentheses why there are none or it failed.
fn place(record: &Record<'_>) -> String {
    let explained = [State::Pending, State::Failed, State::Timeout];
    match explained.contains(&record.job.state) {
        true => format!("({})", record.reason),
        false => record.node_list.clone(),
    }
}

fn host(record: &Record<'_>, site: &Site) -> String {
    let nodes = site.nodes_of(&record.job.placement);
    let first = nodes.first().map(|(node, _)| format!("n{node}"));
    first.unwrap_or("n/a".to_owned())
}
