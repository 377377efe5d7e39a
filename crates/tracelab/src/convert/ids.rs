//! Numbers and names of the output.

use super::survey::Survey;
use super::{Input, Result};
use crate::error::ConvertError;
use crate::format::{
    COLUMN_NAMES, Format, NAMED, PARTITION, QUEUE, Record, SITE, canonical_number, field, table_key,
};

/// Names of the inputs of a merge, none for a single input: file names without
/// their endings, numbered where they are equal.
pub(super) fn origins(inputs: &[Input]) -> Vec<String> {
    let stem = |input: &Input| {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy();
        let mut stem = &*name;
        for end in [".gz", ".swf", ".gwf"] {
            stem = stem.strip_suffix(end).unwrap_or(stem);
        }
        stem.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
    };
    match inputs {
        [] | [_] => Vec::new(),
        several => distinct(several.iter().map(stem)),
    }
}

/// These names, numbered where they are equal.
pub(super) fn distinct(stems: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for stem in stems {
        let mut name = stem.clone();
        let mut number = 2;
        while names.contains(&name) {
            name = format!("{stem}-{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}

/// How the numbers and names of one input become those of the output.
pub(super) struct InputIds<'a> {
    pub(super) survey: &'a Survey,
    /// Its name in a merge.
    pub(super) origin: Option<&'a str>,
    /// Its number in a merge, from 1.
    pub(super) index: u64,
    /// Added to job numbers.
    pub(super) job_base: u64,
    /// In a merge, the number of its first job without one.
    pub(super) unnumbered_from: u64,
    /// Added to the numbers of the fields of [`NAMED`].
    pub(super) bases: [u64; NAMED.len()],
}

/// Numbers of a merge run on from input to input, so that none occurs in two.
pub(super) fn plan_ids<'a>(
    surveys: &'a [Survey],
    origins: &'a [String],
) -> Result<Vec<InputIds<'a>>> {
    let mut plans: Vec<InputIds<'a>> = Vec::with_capacity(surveys.len());
    let mut job_end = 0;
    let mut ends = [0; NAMED.len()];
    for (index, survey) in surveys.iter().enumerate() {
        let too_large = |what| ConvertError::too_large(&survey.file, what);
        let next = |end: &mut u64, has_zero: bool, largest: u64, what| {
            let base = match index {
                0 => Some(0),
                _ => end.checked_add(u64::from(has_zero)),
            };
            let base = base.ok_or_else(|| too_large(what))?;
            *end = base.checked_add(largest).ok_or_else(|| too_large(what))?;
            Ok::<u64, ConvertError>(base)
        };
        let jobs = survey.jobs;
        let largest = jobs.largest().unwrap_or(0);
        let job_base = next(&mut job_end, jobs.has_zero(), largest, "job number")?;
        let mut bases = [0; NAMED.len()];
        for field in 0..NAMED.len() {
            let range = survey.ids[field];
            // Queue 0 is interactive by convention and stays what it is.
            let has_zero = range.has_zero() && field != QUEUE;
            let largest = range.largest().unwrap_or(0);
            bases[field] = next(&mut ends[field], has_zero, largest, NAMED[field].0)?;
        }
        plans.push(InputIds {
            survey,
            origin: origins.get(index).map(String::as_str),
            index: index as u64 + 1,
            job_base,
            unnumbered_from: 0,
            bases,
        });
    }
    for plan in &mut plans {
        plan.unnumbered_from = job_end.saturating_add(1);
        job_end = job_end.saturating_add(plan.survey.unnumbered);
    }
    Ok(plans)
}

impl InputIds<'_> {
    /// Puts numbers and names of the output into a job of this input.
    pub(super) fn translate(&self, record: &mut Record, to: Format) -> Result<()> {
        for field in [field::JOB, field::PRECEDING_JOB] {
            let number = self.shifted(record.count(field), self.job_base, "job number")?;
            record.set(field, number);
        }
        match to {
            Format::Swf => self.to_numbers(record),
            Format::Gwf => self.to_names(record),
        }
    }

    fn to_numbers(&self, record: &mut Record) -> Result<()> {
        let mut numbers = [None; SITE];
        for (field, number) in numbers.iter_mut().enumerate() {
            let own = self.survey.number(record, field);
            *number = self.shifted_id(own, field)?;
        }
        if self.origin.is_some() {
            numbers[PARTITION] = Some(self.index);
        }
        record.set_ids(numbers);
        Ok(())
    }

    fn to_names(&self, record: &mut Record) -> Result<()> {
        if self.origin.is_none() && self.survey.format == Format::Gwf {
            return Ok(());
        }
        for (field, (_, column)) in NAMED.iter().enumerate() {
            let key = super::survey::key(record, field);
            if let Some(name) = self.final_key(field, key.as_deref())? {
                record.set_column(*column, name);
            }
        }
        if let Some(origin) = self.origin
            && let Some(site) = record.column(LAST_RUN_SITE)
        {
            record.set_column(LAST_RUN_SITE, prefixed(origin, site));
        }
        Ok(())
    }

    /// What a value of a field is called in the output; `None` stays *not
    /// available*.
    pub(super) fn final_key(&self, field: usize, key: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        if let (PARTITION, Some(origin)) = (field, self.origin) {
            return Ok(Some(origin.as_bytes().to_vec()));
        }
        let Some(key) = key else { return Ok(None) };
        let names = &self.survey.names;
        let name = match &self.survey.tables {
            Some(tables) => (field == SITE || tables.of(field).any_text).then(|| key.to_vec()),
            None => canonical_number(key)
                .and_then(|id| names.get(NAMED[field].0)?.get(usize::try_from(id).ok()?))
                .filter(|name| !name.is_empty())
                .map(|name| name.clone().into_bytes()),
        };
        if let Some(name) = name {
            return Ok(Some(match self.origin {
                Some(origin) => prefixed(origin, &name),
                None => name,
            }));
        }
        let number = self.shifted_id(canonical_number(key), field)?;
        Ok(number.map(|n| n.to_string().into_bytes()))
    }

    fn shifted_id(&self, own: Option<u64>, field: usize) -> Result<Option<u64>> {
        if field == QUEUE && own == Some(0) {
            return Ok(own);
        }
        self.shifted(own, self.bases[field], NAMED[field].0)
    }

    fn shifted(&self, own: Option<u64>, base: u64, what: &'static str) -> Result<Option<u64>> {
        own.map(|n| {
            n.checked_add(base)
                .ok_or_else(|| ConvertError::too_large(&self.survey.file, what))
        })
        .transpose()
    }

    /// The lines of an SWF header that restore the names of this input.
    pub(super) fn table_lines(&self, lines: &mut Vec<(String, String)>) {
        let origin = self.origin;
        for (field, (_, column)) in NAMED[..SITE].iter().enumerate() {
            let mut push = |number: usize, name: &[u8]| {
                let name = origin.map_or_else(|| name.to_vec(), |origin| prefixed(origin, name));
                let number = number as u64 + self.bases[field];
                let name = String::from_utf8_lossy(&name);
                let key = table_key(*column);
                lines.push((key, format!("{number} {name}")));
            };
            match (&self.survey.tables, origin) {
                (_, Some(_)) if field == PARTITION => {}
                (Some(tables), _) if tables.of(field).any_text => {
                    for (name, number) in tables.of(field).in_order.iter().zip(1..) {
                        push(number, name);
                    }
                }
                (None, Some(_)) => {
                    let names = self.survey.names.get(NAMED[field].0).into_iter().flatten();
                    for (number, name) in names.enumerate().filter(|(_, n)| !n.is_empty()) {
                        push(number, name.as_bytes());
                    }
                }
                // A single SWF log keeps the lines that it has.
                _ => {}
            }
        }
        if let Some(origin) = origin {
            let key = table_key(NAMED[PARTITION].1);
            lines.push((key, format!("{} {origin}", self.index)));
        }
    }

    /// What was added to the numbers of this input, in words.
    pub(super) fn shifts(&self) -> String {
        let mut parts = vec![format!("job numbers +{}", self.job_base)];
        for (field, (name, _)) in NAMED[..PARTITION].iter().enumerate() {
            parts.push(format!("{name} +{}", self.bases[field]));
        }
        parts.join(", ")
    }
}

const LAST_RUN_SITE: usize = 18;

/// A name that could mean somebody else in another trace.
fn prefixed(origin: &str, name: &[u8]) -> Vec<u8> {
    let mut prefixed = format!("{origin}/").into_bytes();
    prefixed.extend_from_slice(name);
    prefixed
}

const _: () = {
    assert!(COLUMN_NAMES[LAST_RUN_SITE - 1].len() == "LastRunSiteID".len());
    assert!(NAMED[SITE].1 == LAST_RUN_SITE - 1);
};
