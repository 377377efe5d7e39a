//! The columns of a log that a map names, and their values in a row.

use super::map::{Key, Kind, Map, NONE, Per, Skip, Source, Sources, Unit, has};
use super::rows::Log;
use super::value::{self, ABSENT, Dates};
use crate::error::{Result, TraceError, excerpt};
use csv::ByteRecord;
use gridrig_scenario::each_once;
use std::borrow::Cow;
use std::iter;

/// A source whose column is there.
pub(super) struct Column<'a> {
    source: &'a Source,
    at: usize,
    /// The column of the factor.
    times: Option<usize>,
    none: &'a [String],
}

/// What a row has under a field.
pub(super) struct Cell<'a> {
    pub(super) source: &'a Source,
    pub(super) text: Cow<'a, [u8]>,
}

/// All columns that a map reads.
pub(super) fn wanted(map: &Map) -> Vec<&str> {
    let fields = map.job.values();
    let status = map.status.iter().map(|status| &status.of);
    let skips = map.skip.iter().map(|skip| &skip.of);
    let lost = map.lost.iter().map(|lost| &lost.of);
    let sources = fields.chain(status).chain(skips).chain(lost);
    let sources = sources.flat_map(|sources| &sources.0);
    let names = sources.flat_map(|it| iter::once(&it.column).chain(&it.times_column));
    each_once(names.map(String::as_str))
}

/// Finds the columns of some sources; `place` says where in the map they stand.
pub(super) fn bind<'a>(
    map: &'a Map,
    log: &Log,
    file: &str,
    place: &str,
    sources: &'a Sources,
    optional: bool,
) -> Result<Vec<Column<'a>>> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for source in &sources.0 {
        let find = |name: &String| log.read.iter().position(|column| column == name);
        let times = source.times_column.as_ref();
        match (find(&source.column), times.map(|name| (name, find(name)))) {
            (Some(at), None) => found.push((source, at, None)),
            (Some(at), Some((_, Some(times)))) => found.push((source, at, Some(times))),
            (Some(_), Some((name, None))) => missing.push((name, source.optional)),
            (None, _) => missing.push((&source.column, source.optional)),
        }
    }
    if found.is_empty()
        && !optional
        && let Some((name, _)) = missing.iter().find(|(_, optional)| !optional)
    {
        let (map, columns) = (&map.name, log.columns.join(", "));
        let problem =
            format!("no column \"{name}\" ({place} of map {map}): expected one of {columns}");
        return Err(TraceError::file(file, problem));
    }
    let none = &map.table.none;
    let column = |(source, at, times)| Column {
        source,
        at,
        times,
        none,
    };
    Ok(found.into_iter().map(column).collect())
}

/// A row that is being looked at.
pub(super) struct Row<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) cells: &'a ByteRecord,
}

impl Row<'_> {
    /// The first text that is available.
    pub(super) fn text<'s>(&'s self, columns: &'s [Column<'_>]) -> Result<Option<Cell<'s>>> {
        for column in columns {
            if let Some(text) = self.text_of(column)? {
                let source = column.source;
                return Ok(Some(Cell { source, text }));
            }
        }
        Ok(None)
    }

    fn text_of(&self, column: &Column<'_>) -> Result<Option<Cow<'_, [u8]>>> {
        let source = column.source;
        let whole = self.cells.get(column.at).unwrap_or_default().trim_ascii();
        let absent = |text: &[u8]| {
            let is = |none: &str| none.as_bytes() == text;
            NONE.into_iter().any(is) || column.none.iter().chain(&source.none).any(|none| is(none))
        };
        if absent(whole) {
            return Ok(None);
        }
        if !source.tres.is_empty() {
            let found = value::tres(whole, &source.tres).ok_or_else(|| {
                let expected = "resources such as cpu=4,gres/gpu=2 or 1=4,1001=2";
                self.refuse(source, whole, expected)
            })?;
            return Ok(found.map(Cow::Owned));
        }
        let mut text = whole;
        let within = |set: &Option<String>, byte: u8| {
            set.as_ref()
                .is_some_and(|set| set.as_bytes().contains(&byte))
        };
        if source.after.is_some() {
            let Some(at) = text.iter().rposition(|b| within(&source.after, *b)) else {
                return Ok(None);
            };
            text = &text[at + 1..];
        }
        if let Some(at) = text.iter().position(|b| within(&source.before, *b)) {
            text = &text[..at];
        }
        Ok((!absent(text)).then_some(Cow::Borrowed(text)))
    }

    /// The first value that is available of a field that is a number.
    pub(super) fn number(
        &self,
        key: Key,
        columns: &[Column<'_>],
        dates: &mut Dates,
    ) -> Result<i64> {
        for column in columns {
            let Some(text) = self.text_of(column)? else {
                continue;
            };
            let unit = column.source.unit.unwrap_or(Unit::Second);
            let (read, expected) = match key.kind() {
                Kind::Instant if unit == Unit::Date => (
                    dates.read(&text),
                    "a date such as 2024-01-31T12:00:00, or Unix seconds",
                ),
                Kind::Instant | Kind::Length => (value::length(&text, unit), expected(unit)),
                Kind::Count | Kind::Memory | Kind::Name => (value::count(&text), "a number"),
            };
            let read = read.ok_or_else(|| self.refuse(column.source, &text, expected))?;
            if read != ABSENT {
                return self.in_proportion(column, read);
            }
        }
        Ok(ABSENT)
    }

    /// Bytes, and what they are for.
    pub(super) fn memory(&self, columns: &[Column<'_>]) -> Result<Option<(i64, Per)>> {
        for column in columns {
            let Some(text) = self.text_of(column)? else {
                continue;
            };
            let source = column.source;
            let unit = source.unit.unwrap_or(Unit::Kilobyte);
            let (bytes, per) = value::memory(&text, unit)
                .ok_or_else(|| self.refuse(source, &text, "an amount of memory such as 4000M"))?;
            if bytes > 0 {
                let per = per.or(source.per).unwrap_or(Per::Job);
                return Ok(Some((self.in_proportion(column, bytes)?, per)));
            }
        }
        Ok(None)
    }

    /// A number with the factors of its source.
    fn in_proportion(&self, column: &Column<'_>, number: i64) -> Result<i64> {
        let source = column.source;
        let mut factor = 1;
        if let Some(at) = column.times {
            let text = self.cells.get(at).unwrap_or_default().trim_ascii();
            let read = value::count(text).filter(|factor| *factor != ABSENT);
            factor = read.ok_or_else(|| {
                let name = source.times_column.as_deref().unwrap_or_default();
                self.refuse_column(name, text, "a number")
            })?;
        }
        let factor = i128::from(factor) * i128::from(source.times.unwrap_or(1));
        let product = i128::from(number).checked_mul(factor);
        let divided = product.map(|product| {
            let divisor = i128::from(source.divided_by.unwrap_or(1));
            product / divisor + i128::from(product % divisor > 0)
        });
        let whole = divided.and_then(|divided| i64::try_from(divided).ok());
        whole.ok_or_else(|| {
            let text = self.cells.get(column.at).unwrap_or_default();
            self.refuse(source, text, "a product below 2^63")
        })
    }

    /// Whether the row is left out.
    pub(super) fn is_skipped(&self, skip: &Skip, columns: &[Column<'_>]) -> Result<bool> {
        // What no column tells is no reason.
        if columns.is_empty() {
            return Ok(false);
        }
        if let Some(below) = skip.below {
            return Ok(self.is_below(columns, below)?.unwrap_or(true));
        }
        let Some(cell) = self.text(columns)? else {
            return Ok(false);
        };
        let text = String::from_utf8_lossy(&cell.text);
        let contains = skip.contains.as_deref();
        Ok(contains.is_some_and(|part| text.contains(part)) || has(&skip.one_of, &text))
    }

    /// Whether a number is below another; `None` if there is none.
    pub(super) fn is_below(&self, columns: &[Column<'_>], below: u64) -> Result<Option<bool>> {
        let Some(cell) = self.text(columns)? else {
            return Ok(None);
        };
        let number = value::count(&cell.text);
        let number = number.ok_or_else(|| self.refuse(cell.source, &cell.text, "a number"))?;
        Ok(Some(u64::try_from(number).unwrap_or(0) < below))
    }

    pub(super) fn refuse(&self, source: &Source, text: &[u8], expected: &str) -> TraceError {
        self.refuse_column(&source.column, text, expected)
    }

    fn refuse_column(&self, column: &str, text: &[u8], expected: &str) -> TraceError {
        let value = excerpt(text);
        let problem = format!("column {column} = \"{value}\": expected {expected}");
        TraceError::line(self.file, self.line, problem)
    }
}

fn expected(unit: Unit) -> &'static str {
    match unit {
        Unit::Clock => "a time such as 1-02:03:04",
        Unit::Minute => "a number of minutes",
        Unit::Hour => "a number of hours",
        Unit::Millisecond => "a number of milliseconds",
        _ => "a number of seconds",
    }
}
