//! A row as a job.

use super::columns::{Column, Row, bind};
use super::map::{Key, Kind, Lost, Map, Per, Skip, Status, has};
use super::names::Hidden;
use super::rows::Log;
use super::value::{ABSENT, Dates};
use crate::error::{Result, TraceError};
use crate::format::{ACCOUNT, FIELDS, NAMED, NameTables, Record, SITE, field};
use csv::ByteRecord;
use std::collections::BTreeMap;

/// The fields of SWF, times in nanoseconds, behind them site and account (names by their
/// numbers, from 1), and last what is lost of the job, a bit for each of [`Jobs::losses`].
pub(super) type Job = [i64; FIELDS + 3];

/// The place of what is lost.
pub(super) const LOST: usize = FIELDS + 2;

/// The place of a field of [`NAMED`] in a [`Job`].
pub(super) fn named(field: usize) -> usize {
    match field {
        SITE => FIELDS,
        ACCOUNT => FIELDS + 1,
        id => field::USER + id,
    }
}

/// Where a field stands in a [`Job`]; what a job is computed from does not.
fn place(key: Key) -> Option<usize> {
    Some(match key {
        Key::JobNumber => field::JOB,
        Key::AllocatedProcessors => field::ALLOCATED,
        Key::RequestedProcessors => field::REQUESTED,
        Key::AverageCpuTime => field::CPU_TIME,
        Key::RequestedTime => field::REQUESTED_TIME,
        Key::PrecedingJob => field::PRECEDING_JOB,
        Key::ThinkTime => field::THINK_TIME,
        Key::RunTime => field::RUN_TIME,
        Key::WaitTime => field::WAIT,
        _ => return None,
    })
}

/// What may be lost whatever the map says.
const OWN_LOSSES: [&str; 3] = [
    "time held before it was eligible",
    "wait time below 0",
    "memory of unknown nodes or processors",
];
const HELD: usize = 0;
const BELOW_ZERO: usize = 1;
const MEMORY: usize = 2;

/// The names of a job.
const NAMES: [Key; NAMED.len()] = [
    Key::User,
    Key::Group,
    Key::Executable,
    Key::Queue,
    Key::Partition,
    Key::Site,
    Key::Account,
];

/// Why a row is no job.
enum No<'a> {
    /// It is left out, for this reason.
    Skipped(&'a str),
    /// It cannot be right.
    Wrong(TraceError),
}

impl From<TraceError> for No<'_> {
    fn from(error: TraceError) -> Self {
        No::Wrong(error)
    }
}

/// Makes jobs of rows, and counts what becomes of the others.
pub(super) struct Jobs<'a> {
    file: &'a str,
    /// The columns of a row.
    columns: Vec<String>,
    fields: BTreeMap<Key, Vec<Column<'a>>>,
    status: Option<(&'a Status, Vec<Column<'a>>)>,
    skips: Vec<(&'a Skip, Vec<Column<'a>>)>,
    lost: Vec<(&'a Lost, Vec<Column<'a>>)>,
    hidden: Option<&'a Hidden>,
    pub(super) dates: Dates,
    pub(super) names: NameTables,
    record: Record,
    pub(super) skipped: BTreeMap<String, u64>,
    /// What may be lost: what the map says, and behind it [`OWN_LOSSES`].
    pub(super) losses: Vec<&'a str>,
}

impl<'a> Jobs<'a> {
    pub(super) fn new(
        map: &'a Map,
        log: &Log,
        file: &'a str,
        dates: Dates,
        hidden: Option<&'a Hidden>,
    ) -> Result<Self> {
        let mut fields = BTreeMap::new();
        for (key, sources) in &map.job {
            let place = format!("job.{}", key.name());
            let columns = bind(map, log, file, &place, sources, false)?;
            if !columns.is_empty() {
                fields.insert(*key, columns);
            }
        }
        let mut status = None;
        if let Some(words) = &map.status {
            let columns = bind(map, log, file, "status.of", &words.of, false)?;
            status = Some((words, columns));
        }
        let mut skips = Vec::new();
        for skip in &map.skip {
            let place = format!("skip \"{}\"", skip.reason);
            skips.push((skip, bind(map, log, file, &place, &skip.of, false)?));
        }
        let mut lost = Vec::new();
        for one in &map.lost {
            lost.push((one, bind(map, log, file, "", &one.of, true)?));
        }
        let losses = map.lost.iter().map(|lost| lost.what.as_str());
        Ok(Jobs {
            file,
            columns: log.read.clone(),
            fields,
            status,
            skips,
            lost,
            hidden,
            dates,
            names: NameTables::default(),
            record: Record::default(),
            skipped: BTreeMap::new(),
            losses: losses.chain(OWN_LOSSES).collect(),
        })
    }

    /// Marks what is lost of a job, one of [`OWN_LOSSES`].
    fn lose(&self, job: &mut Job, what: usize) {
        job[LOST] |= 1 << (self.lost.len() + what);
    }

    /// The job of a row; `None` if it is left out, which is counted.
    pub(super) fn job(&mut self, line: u64, cells: &ByteRecord) -> Result<Option<Job>> {
        let row = Row {
            file: self.file,
            line,
            cells,
        };
        match self.of_row(&row) {
            Ok(job) => Ok(Some(job)),
            Err(No::Skipped(reason)) => {
                *self.skipped.entry(reason.to_owned()).or_default() += 1;
                Ok(None)
            }
            Err(No::Wrong(error)) => Err(error),
        }
    }

    fn of_row(&mut self, row: &Row<'_>) -> Result<Job, No<'a>> {
        // Dumps that were put together have a header each.
        if row
            .cells
            .iter()
            .eq(self.columns.iter().map(String::as_bytes))
        {
            return Err(No::Skipped("repeated-header"));
        }
        for (skip, columns) in &self.skips {
            let skip: &'a Skip = skip;
            if row.is_skipped(skip, columns)? {
                return Err(No::Skipped(&skip.reason));
            }
        }
        let mut job = [ABSENT; FIELDS + 3];
        job[LOST] = 0;
        job[field::STATUS] = self.status_of(row)?;
        for (key, columns) in &self.fields {
            if let Some(at) = place(*key) {
                job[at] = row.number(*key, columns, &mut self.dates)?;
            }
        }
        self.times(row, &mut job)?;
        self.memory(row, &mut job)?;
        self.mark_lost(row, &mut job)?;
        self.name(row, &mut job)?;
        Ok(job)
    }

    fn status_of(&self, row: &Row<'_>) -> Result<i64, No<'a>> {
        let Some((words, columns)) = &self.status else {
            return Ok(ABSENT);
        };
        let Some(cell) = row.text(columns)? else {
            return Ok(ABSENT);
        };
        let text = String::from_utf8_lossy(&cell.text);
        let known = [
            (&words.completed, 1),
            (&words.failed, 0),
            (&words.cancelled, 5),
        ];
        if let Some((_, status)) = known.iter().find(|(list, _)| has(list, &text)) {
            return Ok(*status);
        }
        if let Some((reason, _)) = words.skip.iter().find(|(_, list)| has(list, &text)) {
            return Err(No::Skipped(reason));
        }
        let all = known
            .iter()
            .map(|(list, _)| *list)
            .chain(words.skip.values());
        let all: Vec<&str> = all.flatten().map(String::as_str).collect();
        let expected = format!("one of {} (or more words in the map)", all.join(", "));
        Err(row.refuse(cell.source, &cell.text, &expected).into())
    }

    /// Submit, wait and run time; why there is no job if they are impossible.
    fn times(&mut self, row: &Row<'_>, job: &mut Job) -> Result<(), No<'a>> {
        let mut instant = |key| match self.fields.get(&key) {
            Some(columns) => row.number(key, columns, &mut self.dates),
            None => Ok(ABSENT),
        };
        let (submit, eligible) = (instant(Key::SubmitTime)?, instant(Key::EligibleTime)?);
        let (start, end) = (instant(Key::StartTime)?, instant(Key::EndTime)?);
        if submit == ABSENT {
            return Err(No::Skipped("no-submit-time"));
        }
        if eligible > submit {
            self.lose(job, HELD);
        }
        job[field::SUBMIT] = submit.max(eligible);
        let tells_start = self.fields.contains_key(&Key::StartTime);
        if start == ABSENT && tells_start {
            // It never ran: what stands for its run time is the 0 of a table.
            job[field::RUN_TIME] = ABSENT;
            return Ok(());
        }
        if start != ABSENT && end != ABSENT && end < start {
            return Err(No::Skipped("ends-before-start"));
        }
        if job[field::RUN_TIME] == ABSENT && start != ABSENT && end != ABSENT {
            job[field::RUN_TIME] = end - start;
        }
        if job[field::RUN_TIME] == ABSENT && start != ABSENT {
            return Err(No::Skipped("no-end-time"));
        }
        if start != ABSENT {
            job[field::WAIT] = start - job[field::SUBMIT];
            if job[field::WAIT] < 0 {
                job[field::WAIT] = ABSENT;
                self.lose(job, BELOW_ZERO);
            }
        }
        Ok(())
    }

    /// Memory in KB per processor, rounded up.
    fn memory(&mut self, row: &Row<'_>, job: &mut Job) -> Result<()> {
        let (allocated, requested) = (job[field::ALLOCATED], job[field::REQUESTED]);
        let first = |a: i64, b: i64| i128::from(if a > 0 { a } else { b });
        let (used_by, asked_by) = (first(allocated, requested), first(requested, allocated));
        for (key, at, processors) in [
            (Key::UsedMemory, field::USED_MEMORY, used_by),
            (Key::RequestedMemory, field::REQUESTED_MEMORY, asked_by),
        ] {
            let Some(columns) = self.fields.get(&key) else {
                continue;
            };
            let Some((bytes, per)) = row.memory(columns)? else {
                continue;
            };
            let nodes = match self.fields.get(&Key::Nodes) {
                Some(columns) => row.number(Key::Nodes, columns, &mut self.dates)?,
                None => ABSENT,
            };
            let (times, among) = match per {
                Per::Processor => (1, 1),
                Per::Node => (i128::from(nodes), processors),
                Per::Job => (1, processors),
            };
            if times < 1 || among < 1 {
                self.lose(job, MEMORY);
                continue;
            }
            let (total, unit) = (i128::from(bytes) * times, among * 1024);
            job[at] = i64::try_from((total + unit - 1) / unit).unwrap_or(ABSENT);
        }
        Ok(())
    }

    /// Marks what the map says is lost.
    fn mark_lost(&self, row: &Row<'_>, job: &mut Job) -> Result<()> {
        for (at, (lost, columns)) in self.lost.iter().enumerate() {
            let Some(cell) = row.text(columns)? else {
                continue;
            };
            let had = match lost.below {
                Some(below) => row.is_below(columns, below)?.unwrap_or(false),
                None => true,
            };
            // A number says that there is some if it is above 0.
            let zero = super::value::count(&cell.text).is_some_and(|number| number <= 0);
            job[LOST] |= i64::from(had && !zero) << at;
        }
        Ok(())
    }

    fn name(&mut self, row: &Row<'_>, job: &mut Job) -> Result<()> {
        debug_assert!(NAMES.iter().all(|key| key.kind() == Kind::Name));
        self.record.line = row.line;
        for (key, (field, column)) in NAMES.iter().zip(NAMED) {
            let columns = self.fields.get(key).map_or(&[][..], Vec::as_slice);
            let text = match (row.text(columns)?, self.hidden) {
                (None, _) => Vec::new(),
                (Some(cell), None) => cell.text.into_owned(),
                (Some(cell), Some(hidden)) => hidden.name(field, &cell.text),
            };
            self.record.set_column(column, text);
        }
        let ids = self.names.take(&self.record, self.file)?;
        for (at, id) in ids.into_iter().enumerate() {
            job[named(at)] = id.map_or(ABSENT, i64::from);
        }
        Ok(())
    }
}
