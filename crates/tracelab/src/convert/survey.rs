//! The first reading: what has to be known before a line can be written.

use super::Input;
use crate::error::{ConvertError, Result};
use crate::format::{
    COLUMN_NAMES, COLUMNS, FIELD_NAMES, Format, Header, NAMED, NameTables, PARTITION, Record, SITE,
    TraceFile, TraceReader, canonical_number, field, from_header, open, open_as, place,
};
use crate::load::time_zero;
use crate::sanitize::{Fields, Sanitizer};
use crate::split::MAX_STREAMS;
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;
use std::io::BufReader;

/// What is known of an input once it has been read.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) file: String,
    pub(super) format: Format,
    pub(super) header: Header,
    pub(super) read: u64,
    /// Jobs that no rule leaves out.
    pub(super) kept: u64,
    pub(super) truncated: u64,
    pub(super) warnings: Vec<String>,
    /// Where its submit times count from: 0 in SWF, Unix seconds in GWF.
    pub(super) zero: SimDuration,
    /// Unix second of its time 0.
    pub(super) unix_start: Option<u64>,
    /// The longest step backwards of the submit times of what is kept.
    pub(super) disorder: SimDuration,
    pub(super) jobs: Range,
    /// Jobs without a number.
    pub(super) unnumbered: u64,
    /// User, group, executable and so on, as [`NAMED`].
    pub(super) ids: [Range; NAMED.len()],
    /// Names and their numbers, of a GWF trace.
    pub(super) tables: Option<Box<NameTables>>,
    /// Names by number, of an SWF log that a conversion from GWF has written.
    pub(super) names: BTreeMap<&'static str, Vec<String>>,
    /// Values of the field to split by, with their jobs; `None` is *not
    /// available*.
    pub(super) keys: BTreeMap<Option<Vec<u8>>, u64>,
    /// What the output cannot hold, in jobs.
    pub(super) lost: BTreeMap<&'static str, u64>,
}

/// Smallest and largest of the numbers of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range(Option<(u64, u64)>);

impl Range {
    fn take(&mut self, number: Option<u64>) {
        let Some(n) = number else { return };
        self.0 = Some(match self.0 {
            Some((low, high)) => (low.min(n), high.max(n)),
            None => (n, n),
        });
    }

    pub(super) fn has_zero(self) -> bool {
        self.0.is_some_and(|(low, _)| low == 0)
    }

    pub(super) fn largest(self) -> Option<u64> {
        self.0.map(|(_, high)| high)
    }
}

pub(super) type FileReader = TraceReader<BufReader<TraceFile>>;

/// Opens an input as what it is, or as what it is said to be.
pub(super) fn open_input(input: &Input) -> Result<FileReader> {
    input
        .from
        .map_or_else(|| open(&input.path), |format| open_as(&input.path, format))
}

/// Reads an input to its end. `by` is the field to split by.
pub(super) fn survey(
    input: &Input,
    to: Format,
    by: Option<usize>,
    merging: bool,
    sanitizer: &mut Sanitizer<'_>,
) -> Result<Survey, ConvertError> {
    let mut reader = open_input(input)?;
    let mut survey = Survey::begin(input, &reader)?;
    let mut latest = SimDuration::ZERO;
    while let Some(record) = reader.next_record()? {
        survey.read += 1;
        if !sanitizer.keeps(&survey.numbered(record)) {
            continue;
        }
        survey.kept += 1;
        survey.count_ids(record);
        survey.count_lost(record, to, merging);
        if let Some(submit) = survey.submit(record) {
            latest = latest.max(submit);
            survey.disorder = survey.disorder.max(latest - submit);
        }
        if let Some(field) = by {
            survey.count_key(record, field, merging, input)?;
        }
    }
    survey.header = reader.header().clone();
    survey.truncated = reader.truncated_last_line();
    survey.warnings.extend(reader.warnings());
    if survey.truncated > 0 {
        survey.warnings.push(format!(
            "{}: the last line is cut short and was left out",
            survey.file
        ));
    }
    Ok(survey)
}

impl Survey {
    /// What the header says, and of a GWF trace what all its lines say about
    /// names and times: without it no rule could look at them.
    fn begin(input: &Input, reader: &FileReader) -> Result<Survey, ConvertError> {
        let mut survey = Survey {
            file: reader.file().to_owned(),
            format: reader.format(),
            header: reader.header().clone(),
            ..Survey::default()
        };
        match survey.format {
            Format::Swf => {
                survey.names = from_header(&survey.header);
                survey.unix_start = survey.header.unix_start_time();
            }
            Format::Gwf => {
                let mut first_reader = open_input(input)?;
                let mut tables = NameTables::default();
                let mut first: Option<SimDuration> = None;
                while let Some(record) = first_reader.next_record()? {
                    tables.take(record, &survey.file)?;
                    first = first.into_iter().chain(record.time(field::SUBMIT)).min();
                }
                survey.header = first_reader.header().clone();
                let zero = time_zero(&survey.header, first.unwrap_or_default());
                survey.zero = SimDuration::from_secs(zero);
                survey.unix_start = Some(zero).filter(|zero| *zero > 0);
                survey.tables = Some(Box::new(tables));
            }
        }
        Ok(survey)
    }

    /// A record as the rules look at it.
    pub(super) fn numbered<'a>(&'a self, record: &'a Record) -> Numbered<'a> {
        Numbered {
            survey: self,
            record,
        }
    }

    /// When a job was submitted, from time 0.
    pub(super) fn submit(&self, record: &Record) -> Option<SimDuration> {
        record.time(field::SUBMIT).map(|at| at - self.zero)
    }

    /// The number of a field of [`NAMED`]: that of its name where the field
    /// has names.
    pub(super) fn number(&self, record: &Record, field: usize) -> Option<u64> {
        match &self.tables {
            Some(tables) if tables.of(field).any_text => {
                let name = record.column(NAMED[field].1)?;
                tables.of(field).find(name).map(u64::from)
            }
            _ => own_number(record, field),
        }
    }

    fn count_ids(&mut self, record: &Record) {
        let job = record.count(field::JOB);
        self.jobs.take(job);
        self.unnumbered += u64::from(job.is_none());
        for field in 0..NAMED.len() {
            let number = self.number(record, field);
            self.ids[field].take(number);
        }
    }

    /// What the other format has no field for.
    fn count_lost(&mut self, record: &Record, to: Format, merging: bool) {
        let mut lose = |what: &'static str| *self.lost.entry(what).or_default() += 1;
        let mut below_zero = record.below_zero();
        if record.early.is_some() {
            below_zero &= !(1 << field::WAIT);
            if to == Format::Swf {
                lose("WaitTime below 0");
            }
        }
        if below_zero != 0 {
            lose("values below 0 other than -1");
        }
        let partition = key(record, PARTITION).is_some();
        if merging && partition {
            lose("partition (the origin stands there)");
        }
        match (self.format, to) {
            (Format::Gwf, Format::Swf) => {
                for column in NAMED[SITE].1..=COLUMNS {
                    if record.column(column).is_some() {
                        lose(COLUMN_NAMES[column - 1]);
                    }
                }
            }
            (Format::Swf, Format::Gwf) => {
                for field in [field::PRECEDING_JOB, field::THINK_TIME] {
                    if record.number(field).is_some() {
                        lose(FIELD_NAMES[field]);
                    }
                }
            }
            _ => {}
        }
    }

    fn count_key(
        &mut self,
        record: &Record,
        field: usize,
        merging: bool,
        input: &Input,
    ) -> Result<(), ConvertError> {
        // In a merge the partition is the origin, the same for all jobs.
        let key = match merging && field == PARTITION {
            true => None,
            false => key(record, field),
        };
        *self.keys.entry(key).or_default() += 1;
        if self.keys.len() > MAX_STREAMS {
            let (file, name) = (input.path.display(), NAMED[field].0);
            return Err(ConvertError::too_many_streams(file, name, MAX_STREAMS));
        }
        Ok(())
    }
}

/// A record with names as their numbers and times from time 0.
pub(super) struct Numbered<'a> {
    survey: &'a Survey,
    record: &'a Record,
}

impl Fields for Numbered<'_> {
    fn field(&self, number: usize) -> Option<u64> {
        match (number - 1, place(number)) {
            (field::SUBMIT, _) => self.survey.submit(self.record).map(SimDuration::as_nanos),
            (_, Some(named)) => self.survey.number(self.record, named),
            _ => self.record.field(number),
        }
    }

    fn below_zero(&self) -> u32 {
        self.record.below_zero()
    }
}

/// A field of [`NAMED`] as it stands: a name of GWF, or a number as text.
pub(super) fn key(record: &Record, field: usize) -> Option<Vec<u8>> {
    match record.column(NAMED[field].1) {
        Some(text) => Some(text.to_vec()),
        None => own_number(record, field).map(|n| n.to_string().into_bytes()),
    }
}

/// The number of a field of [`NAMED`] if it is one.
pub(super) fn own_number(record: &Record, field: usize) -> Option<u64> {
    match record.ids().get(field) {
        Some(id) => *id,
        None => canonical_number(record.column(NAMED[field].1)?),
    }
}
