//! The second reading: the jobs of all inputs in the order of the output.

use super::header::Heading;
use super::ids::InputIds;
use super::survey::{FileReader, Survey, key, open_input};
use super::{Offsets, Request, Result};
use crate::error::ConvertError;
use crate::format::{Format, Record, field};
use crate::sanitize::Rules;
use crate::split::Split;
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;

/// A job as it is to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    pub(super) record: Record,
    /// What the field to split by is called in the output.
    pub(super) key: Option<Vec<u8>>,
}

/// The jobs of all inputs: of one in its own order, of several by submit time,
/// at one instant by the order of the inputs.
pub(super) struct Merged<'a> {
    sources: Vec<Source<'a>>,
    /// In a merge, the next job of each source.
    heads: Vec<Option<(SimDuration, Job)>>,
    current: Job,
}

impl<'a> Merged<'a> {
    pub(super) fn open(
        request: &'a Request,
        to: Format,
        surveys: &'a [Survey],
        plans: &'a [InputIds<'a>],
        offsets: &Offsets,
        heading: &Heading,
    ) -> Result<Self> {
        let by = match &request.split {
            Some(Split::By(field)) => Some(*field),
            _ => None,
        };
        let mut sources = Vec::with_capacity(surveys.len());
        for (index, (input, survey)) in request.inputs.iter().zip(surveys).enumerate() {
            sources.push(Source {
                reader: open_input(input)?,
                rules: &request.rules,
                survey,
                ids: &plans[index],
                to,
                by,
                offset: offsets.each[index],
                unix_start: SimDuration::from_secs(heading.unix_start),
                unnumbered: 0,
                kept: 0,
                latest: SimDuration::ZERO,
                held: BTreeMap::new(),
                ended: false,
            });
        }
        let mut merged = Merged {
            heads: Vec::new(),
            sources,
            current: Job::default(),
        };
        if merged.sources.len() > 1 {
            for source in &mut merged.sources {
                let head = source.next_in_order()?;
                merged.heads.push(head);
            }
        }
        Ok(merged)
    }

    /// The next job; it is overwritten by the one after it.
    pub(super) fn next_job(&mut self) -> Result<Option<&Job>> {
        if let [only] = self.sources.as_mut_slice() {
            let found = only.read(&mut self.current)?;
            return Ok(found.then_some(&self.current));
        }
        let times = self.heads.iter().enumerate();
        let first = times.filter_map(|(at, head)| Some((head.as_ref()?.0, at)));
        let Some((_, at)) = first.min() else {
            return Ok(None);
        };
        let next = self.sources[at].next_in_order()?;
        if let Some((_, job)) = std::mem::replace(&mut self.heads[at], next) {
            self.current = job;
        }
        Ok(Some(&self.current))
    }

    /// Whether every input was twice the same.
    pub(super) fn check_counts(&self) -> Result<()> {
        for source in &self.sources {
            if source.kept != source.survey.kept {
                return Err(ConvertError::Changed {
                    file: source.survey.file.clone(),
                    first: source.survey.kept,
                    second: source.kept,
                });
            }
        }
        Ok(())
    }
}

/// One input.
struct Source<'a> {
    reader: FileReader,
    rules: &'a Rules,
    survey: &'a Survey,
    ids: &'a InputIds<'a>,
    to: Format,
    by: Option<usize>,
    offset: SimDuration,
    unix_start: SimDuration,
    unnumbered: u64,
    kept: u64,
    /// The latest submit time read so far.
    latest: SimDuration,
    /// Jobs that an earlier one may still follow, by submit time, then place in
    /// the file.
    held: BTreeMap<(SimDuration, u64), Job>,
    ended: bool,
}

impl Source<'_> {
    /// Reads the next job that stays, as it is to be written.
    fn read(&mut self, job: &mut Job) -> Result<bool> {
        while let Some(record) = self.reader.next_record()? {
            if self.rules.verdict(&self.survey.numbered(record)).is_some() {
                continue;
            }
            let submit = self.survey.submit(record);
            self.kept += 1;
            job.record.clone_from(record);
            if let Some(field) = self.by {
                let key = key(&job.record, field);
                job.key = self.ids.final_key(field, key.as_deref())?;
            }
            self.ids.translate(&mut job.record, self.to)?;
            self.place_in_time(job, submit)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn place_in_time(&mut self, job: &mut Job, submit: Option<SimDuration>) -> Result<()> {
        let record = &mut job.record;
        if self.ids.origin.is_some() && record.count(field::JOB).is_none() {
            let number = self.ids.unnumbered_from.saturating_add(self.unnumbered);
            record.set(field::JOB, number);
            self.unnumbered += 1;
        }
        let base = match self.to {
            Format::Swf => SimDuration::ZERO,
            Format::Gwf => self.unix_start,
        };
        let submit = submit.map(|at| at + self.offset + base);
        record.set(field::SUBMIT, submit);
        match submit {
            Some(at) if at.as_nanos() == u64::MAX => {
                Err(ConvertError::too_large(&self.survey.file, "submit time"))
            }
            _ => Ok(()),
        }
    }

    /// The next job by submit time. A job is held back until the file can have
    /// no earlier one, which the longest step backwards tells.
    fn next_in_order(&mut self) -> Result<Option<(SimDuration, Job)>> {
        loop {
            if let Some(first) = self.held.first_entry() {
                let at = first.key().0;
                if self.ended || self.latest - at >= self.survey.disorder {
                    return Ok(Some((at, first.remove())));
                }
            } else if self.ended {
                return Ok(None);
            }
            let mut job = Job::default();
            if !self.read(&mut job)? {
                self.ended = true;
                continue;
            }
            // A job without a submit time follows the one before it.
            let at = job.record.time(field::SUBMIT).unwrap_or(self.latest);
            self.latest = self.latest.max(at);
            self.held.insert((at, self.kept), job);
        }
    }
}
