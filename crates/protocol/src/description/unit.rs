//! Numbers in the units of the languages, and ranges of them.

use crate::jsdl::{Bound, JobDefinition, JsdlError, Quantity, Range, RangeValue};

/// 2^53, up to which numbers of a document are exact.
const MOST: u64 = 1 << 53;

/// What a unit is in that of JSDL: bytes, seconds and Hz.
fn factor(unit: &str) -> u64 {
    match unit {
        "min" | "time" => 60,
        "MB" => 1 << 20,
        "MHz" => 1_000_000,
        _ => 1,
    }
}

/// A number in the unit of JSDL; the next one where it has to be more.
///
/// # Errors
/// What was expected.
pub(super) fn read(text: &str, unit: &str, more: bool) -> Result<u64, String> {
    let text = text.trim();
    let number = text.parse::<u64>().ok().filter(|_| !text.starts_with('+'));
    let number = match number {
        Some(number) if more => number.saturating_add(1).checked_mul(factor(unit)),
        Some(number) => number.checked_mul(factor(unit)),
        None if unit == "time" => period(text),
        None => None,
    };
    let expected = || match unit {
        "time" => "minutes, or a time such as \"1 day 2 hours\" or \"PT90S\"".to_owned(),
        "" | "least" => "a whole number".to_owned(),
        unit => format!("a whole number of {unit}"),
    };
    number.filter(|number| *number <= MOST).ok_or_else(expected)
}

/// Rounded up: a limit that cuts a fraction off would end the job early.
pub(super) fn write(number: u64, unit: &str) -> String {
    match unit {
        "time" => format!("{number} seconds"),
        unit => number.div_ceil(factor(unit)).to_string(),
    }
}

const PERIODS: [(&str, u64); 5] = [
    ("seconds", 1),
    ("minutes", 60),
    ("hours", 3600),
    ("days", 86_400),
    ("weeks", 604_800),
];

/// Seconds of `1 week 3 days`, or of `P1DT2H` (ISO 8601).
fn period(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (date, time) = match lower.strip_prefix('p') {
        Some(iso) => iso.split_once('t').unwrap_or((iso, "")),
        None => ("", &*lower),
    };
    let mut sum = Some(0_u64);
    for (mut rest, least) in [(date, 3), (time, 0)] {
        while !rest.is_empty() {
            let (number, unit) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
            let unit = unit.trim_start();
            let end = unit.find(|c: char| !c.is_ascii_alphabetic());
            let end = end.unwrap_or(unit.len());
            let mut known = PERIODS[least..].iter();
            let (_, seconds) = known.find(|(name, _)| end > 0 && name.starts_with(&unit[..end]))?;
            let part = number.parse::<u64>().ok()?.checked_mul(*seconds);
            sum = sum.zip(part).and_then(|(sum, part)| sum.checked_add(part));
            rest = unit[end..].trim_start();
        }
    }
    sum.filter(|_| !(date.is_empty() && time.is_empty()))
}

/// Whether it is a number of things, of which there is at least one.
pub(super) fn is_count(quantity: Quantity) -> bool {
    quantity.name().ends_with("Count")
}

#[allow(clippy::cast_precision_loss, reason = "numbers up to 2^53 are exact")]
fn exact(number: u64) -> f64 {
    number as f64
}

/// Narrows a range by one more relation.
pub(super) fn narrow(range: &mut RangeValue, op: &str, value: u64) {
    let bound = Bound {
        value: exact(value),
        exclusive: op == "<",
    };
    match op {
        ">" | ">=" => range.lower = Some(bound),
        "<" | "<=" => range.upper = Some(bound),
        _ => *range = RangeValue::exactly(bound.value),
    }
    // A range of JSDL is the union of its parts.
    if let (Some(lower), Some(upper)) = (range.lower, range.upper) {
        (range.lower, range.upper) = (None, None);
        range.ranges.push(Range { lower, upper });
    }
}

/// The number that an attribute says of a range.
///
/// # Errors
/// For a job that contradicts itself.
pub(super) fn said(job: &JobDefinition, quantity: Quantity) -> Result<Option<u64>, JsdlError> {
    let quantities = &job.resources.quantities;
    let is_wide = job.spmd_processors().is_some() || quantities.keys().any(|it| is_count(*it));
    if quantity == Quantity::TotalCpuCount && is_wide {
        return job.processors().map(|number| Some(u64::from(number)));
    }
    let Some(range) = quantities.get(&quantity) else {
        return Ok(None);
    };
    let upper = range.upper.filter(|_| quantity == Quantity::TotalCpuTime);
    let upper = upper.map(|bound| RangeValue::exactly(bound.value.floor()));
    let range = upper.as_ref().unwrap_or(range);
    let least = range.least_whole(u32::from(is_count(quantity)));
    Ok(least.filter(|least| *least > 0))
}

/// Multiplies what is memory of a processor by the processors of a host, as JSDL has it,
/// or divides.
pub(super) fn by_host(job: &mut JobDefinition, times: bool) {
    let quantities = &mut job.resources.quantities;
    let each = quantities.get(&Quantity::IndividualCpuCount);
    let each = exact(each.and_then(|each| each.least_whole(1)).unwrap_or(1));
    let Some(memory) = quantities.get_mut(&Quantity::IndividualPhysicalMemory) else {
        return;
    };
    let ranges = memory.ranges.iter_mut();
    let ranges = ranges.flat_map(|range| [&mut range.lower.value, &mut range.upper.value]);
    let bounds = memory.lower.iter_mut().chain(&mut memory.upper);
    let bounds = bounds.map(|bound| &mut bound.value);
    let whole = memory.exact.iter_mut().map(|exact| &mut exact.value);
    for value in ranges.chain(bounds).chain(whole) {
        *value = if times { *value * each } else { *value / each };
    }
}
