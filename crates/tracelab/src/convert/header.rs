//! Headers of the output.

use super::ids::InputIds;
use super::survey::Survey;
use super::{Offsets, Request};
use crate::format::{COLUMN_NAMES, Format, TABLE_KEY_PREFIX};
use crate::sanitize::RuleReport;
use gridrig_core::time::SimDuration;

/// Key of the line that names the columns of GWF.
const COLUMNS_KEY: &str = "Columns";

const UNIX_START: &str = "UnixStartTime";

/// What the headers of all streams say.
pub(super) struct Heading {
    lines: Vec<(String, String)>,
    /// Processors of the machine.
    pub(super) processors: Option<u64>,
    /// Unix second that the submit times of GWF are written from.
    pub(super) unix_start: u64,
    /// What the user should know.
    pub(super) warnings: Vec<String>,
}

impl Heading {
    pub(super) fn new(
        request: &Request,
        format: Format,
        surveys: &[Survey],
        plans: &[InputIds<'_>],
        offsets: &Offsets,
        sanitized: &[RuleReport],
    ) -> Self {
        let mut warnings = Vec::new();
        let known: Option<Vec<u64>> = surveys.iter().map(|s| s.header.max_processors()).collect();
        let told = request.processors.map(u64::from);
        let processors = told.or_else(|| Some(known?.iter().sum()));
        let mut lines = match surveys {
            [only] => own_lines(only, format),
            _ => merged_lines(surveys, plans, offsets, &mut warnings),
        };
        lines.retain(|(key, _)| key != "Processors");
        let has_max = lines.iter().any(|(key, _)| key == "MaxProcs");
        // What a header says of its processors stays as it was written, unless
        // the user says otherwise or there are several.
        if let Some(processors) = processors
            && (told.is_some() || !has_max)
        {
            lines.retain(|(key, _)| key != "MaxProcs");
            let at = usize::from(lines.first().is_some_and(|(key, _)| key == "Version"));
            lines.insert(at, ("MaxProcs".to_owned(), processors.to_string()));
        }
        set_start(&mut lines, offsets.unix_start, format);
        if format == Format::Swf {
            for plan in plans {
                plan.table_lines(&mut lines);
            }
        } else {
            let value = processors.map(|n| n.to_string());
            lines.splice(0..0, value.map(|n| ("Processors".to_owned(), n)));
            let columns = COLUMN_NAMES.join(" ");
            lines.push((COLUMNS_KEY.to_owned(), columns));
        }
        note_rules(&mut lines, sanitized);
        Heading {
            lines,
            processors,
            unix_start: offsets.unix_start.unwrap_or(0),
            warnings,
        }
    }

    /// The header of a stream, or of the only output.
    pub(super) fn of_stream(&self, note: Option<String>) -> Vec<(String, String)> {
        let mut lines = self.lines.clone();
        lines.extend(note.map(|note| ("Note".to_owned(), note)));
        lines
    }
}

/// The header of a single input, but for what the output says in its own way.
fn own_lines(survey: &Survey, to: Format) -> Vec<(String, String)> {
    let own = survey.header.lines().iter();
    let mut lines: Vec<(String, String)> = own
        .filter(|(key, _)| key != COLUMNS_KEY)
        // Names are in the jobs of GWF, in the header of SWF.
        .filter(|(key, _)| to == Format::Swf || !key.starts_with(TABLE_KEY_PREFIX))
        .cloned()
        .collect();
    if survey.format == Format::Gwf
        && to == Format::Swf
        && survey.header.values("Version").is_empty()
    {
        lines.insert(0, ("Version".to_owned(), "2.2".to_owned()));
    }
    lines
}

/// One header for several logs: the lines of each as notes that name it.
fn merged_lines(
    surveys: &[Survey],
    plans: &[InputIds<'_>],
    offsets: &Offsets,
    warnings: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut lines = vec![("Version".to_owned(), "2.2".to_owned())];
    let mut note = |text: String| lines.push(("Note".to_owned(), text));
    note("several traces merged by gridrig trace convert; the partition is the origin".to_owned());
    for ((survey, plan), offset) in surveys.iter().zip(plans).zip(&offsets.each) {
        let origin = plan.origin.unwrap_or_default();
        let shifts = plan.shifts();
        note(format!(
            "partition {} is {origin}, {} jobs, submit times +{}, {shifts}",
            plan.index,
            survey.kept,
            seconds(*offset),
        ));
        if survey.unnumbered > 0 {
            warnings.push(format!(
                "{}: {} jobs without a number were numbered from {}",
                survey.file, survey.unnumbered, plan.unnumbered_from
            ));
        }
        for (key, value) in survey.header.lines() {
            if key.starts_with(TABLE_KEY_PREFIX) || key == COLUMNS_KEY {
                continue;
            }
            let colon = if key.is_empty() { "" } else { ": " };
            note(format!("{origin} | {key}{colon}{value}"));
        }
    }
    lines
}

/// Seconds without the unit's usual changes.
fn seconds(time: SimDuration) -> String {
    let mut text = Vec::new();
    crate::format::push_number(&mut text, Some(time.into()));
    format!("{} s", String::from_utf8_lossy(&text))
}

/// The line that says when time 0 was. GWF needs a number: 0 stands for a log
/// that does not say, and is taken out again on the way back.
fn set_start(lines: &mut Vec<(String, String)>, unix_start: Option<u64>, to: Format) {
    let Some(value) = unix_start.or((to == Format::Gwf).then_some(0)) else {
        lines.retain(|(key, _)| key != UNIX_START);
        return;
    };
    let says = |line: &(String, String)| {
        line.0 == UNIX_START
            && line.1.split(|c: char| !c.is_ascii_digit()).next() == Some(&value.to_string())
    };
    let first = lines.iter().find(|line| line.0 == UNIX_START);
    if !first.is_some_and(says) {
        lines.retain(|(key, _)| key != UNIX_START);
        lines.push((UNIX_START.to_owned(), value.to_string()));
    }
}

/// What was left out, as the headers of the archive's cleaned logs say it.
fn note_rules(lines: &mut Vec<(String, String)>, sanitized: &[RuleReport]) {
    let removed = sanitized.iter().filter(|rule| rule.removed > 0);
    let filters: Vec<String> = removed
        .map(|rule| {
            format!(
                "\n{} - {} ({} jobs removed)",
                rule.rule, rule.reason, rule.removed
            )
        })
        .collect();
    if !filters.is_empty() {
        let text = format!(
            "sanitized by gridrig trace convert; the rules that found jobs were{}",
            filters.concat()
        );
        lines.push(("Note".to_owned(), text));
    }
}
