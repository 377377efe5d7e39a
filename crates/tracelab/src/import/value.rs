//! The texts of a log as numbers.

use super::map::{Per, Unit};
use crate::format::Number;
use gridrig_core::time::NANOS_PER_SEC;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;

/// *Not available*.
pub(super) const ABSENT: i64 = -1;

const BILLION: i128 = 1_000_000_000;

/// A number of such units in all, rounded down; a number below zero is *not available*.
fn scaled(number: Number, unit: i128) -> Option<i64> {
    if number.negative {
        return Some(ABSENT);
    }
    let rest = i128::from(number.billionths) * unit / BILLION;
    i64::try_from(i128::from(number.whole) * unit + rest).ok()
}

/// A whole number; a fraction is rounded up.
pub(super) fn count(text: &[u8]) -> Option<i64> {
    let number = Number::parse(text)?;
    match number.negative {
        true => Some(ABSENT),
        false => i64::try_from(number.rounded_up()).ok(),
    }
}

/// A time in nanoseconds.
pub(super) fn length(text: &[u8], unit: Unit) -> Option<i64> {
    let second = i128::from(NANOS_PER_SEC);
    let unit = match unit {
        Unit::Clock => return clock(text),
        Unit::Millisecond => second / 1000,
        Unit::Minute => second * 60,
        Unit::Hour => second * 3600,
        _ => second,
    };
    scaled(Number::parse(text)?, unit)
}

/// `[days-][hours:]minutes:seconds`, the seconds with a fraction or not.
fn clock(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let mut parts = rest.rsplit(':');
    let seconds = Number::parse(parts.next()?.as_bytes())?;
    let minutes: u64 = parts.next()?.parse().ok()?;
    let hours: u64 = parts.next().unwrap_or("0").parse().ok()?;
    let days: u64 = days.parse().ok()?;
    if parts.next().is_some() || minutes > 59 || seconds.whole > 59 || days > 1 << 32 {
        return None;
    }
    let whole = ((days * 24).checked_add(hours)?.checked_mul(60)? + minutes).checked_mul(60)?;
    let whole = whole.checked_add(seconds.whole)?;
    scaled(Number { whole, ..seconds }, i128::from(NANOS_PER_SEC))
}

/// Dates of a log in its time zone.
pub(super) struct Dates {
    pub(super) zone: TimeZone,
    /// How many do not say their offset.
    pub(super) local: u64,
    /// How many of these lie in an hour that the zone has twice or not at all.
    pub(super) ambiguous: u64,
}

impl Dates {
    /// Nanoseconds since 1970. A number without anything else is Unix seconds, of which
    /// 0 is *not available*.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<i64> {
        if let Some(number) = Number::parse(text) {
            let at = scaled(number, i128::from(NANOS_PER_SEC))?;
            return Some(if at == 0 { ABSENT } else { at });
        }
        let pieces = Pieces::parse(text).ok()?;
        let time = pieces.time().unwrap_or(Time::midnight());
        let local = pieces.date().to_datetime(time);
        let at: Timestamp = match pieces.to_numeric_offset() {
            Some(offset) => offset.to_timestamp(local).ok()?,
            None => {
                self.local += 1;
                let found = self.zone.to_ambiguous_timestamp(local);
                self.ambiguous += u64::from(found.is_ambiguous());
                found.compatible().ok()?
            }
        };
        i64::try_from(at.as_nanosecond()).ok().filter(|at| *at >= 0)
    }
}

/// Bytes, and what they are for if the text says it: `4000M`, `4Gn` (a node), `4Gc` (a
/// processor). A number alone is in the unit.
pub(super) fn memory(text: &[u8], unit: Unit) -> Option<(i64, Option<Per>)> {
    let (text, per) = match text {
        [rest @ .., b'c'] => (rest, Some(Per::Processor)),
        [rest @ .., b'n'] => (rest, Some(Per::Node)),
        _ => (text, None),
    };
    let (digits, unit) = match (text, unit) {
        ([rest @ .., unit], _) if unit.is_ascii_alphabetic() => (rest, unit.to_ascii_uppercase()),
        (_, Unit::Byte) => (text, b'B'),
        (_, Unit::Megabyte) => (text, b'M'),
        (_, Unit::Gigabyte) => (text, b'G'),
        _ => (text, b'K'),
    };
    let power = b"BKMGTP".iter().position(|b| *b == unit)?;
    Some((scaled(Number::parse(digits)?, 1 << (10 * power))?, per))
}

/// The first of these entries that a list of trackable resources has; `None` if the text
/// is no such list.
pub(super) fn tres(text: &[u8], wanted: &[String]) -> Option<Option<Vec<u8>>> {
    let mut entries = Vec::new();
    for part in text.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
        let at = part.iter().position(|b| *b == b'=')?;
        entries.push((&part[..at], &part[at + 1..]));
    }
    for name in wanted {
        if let Some(prefix) = name.strip_suffix('*') {
            let typed = entries
                .iter()
                .filter(|e| e.0.starts_with(prefix.as_bytes()));
            let counts: Vec<i64> = typed.map(|e| count(e.1)).collect::<Option<_>>()?;
            if !counts.is_empty() {
                let sum = counts.iter().fold(0_i64, |sum, n| sum.saturating_add(*n));
                return Some(Some(sum.to_string().into_bytes()));
            }
        } else if let Some(found) = entries.iter().find(|e| e.0 == name.as_bytes()) {
            return Some(Some(found.1.to_vec()));
        }
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(zone: &str) -> Dates {
        Dates {
            zone: TimeZone::get(zone).unwrap(),
            local: 0,
            ambiguous: 0,
        }
    }

    #[test]
    fn clocks_are_read_as_slurm_writes_them() {
        let seconds = |text: &str| length(text.as_bytes(), Unit::Clock).map(|n| n / 1_000_000_000);
        assert_eq!(seconds("00:00:10"), Some(10));
        assert_eq!(
            seconds("2-03:04:05"),
            Some(((2 * 24 + 3) * 60 + 4) * 60 + 5)
        );
        assert_eq!(seconds("04:05.250"), Some(245));
        for text in [
            "10",
            "1:2:3:4",
            "00:61:00",
            "00:00:61",
            "a-00:00:01",
            "-1:00",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_of_their_zone_their_offset_or_unix_seconds() {
        let mut utc = dates("UTC");
        let at = Some(1_704_110_400_000_000_000);
        for text in [
            "2024-01-01T12:00:00",
            "2024-01-01 12:00:00",
            "2024-01-01 12:00:00.000",
            "2024-01-01T20:00:00+08:00",
            "2024-01-01T12:00:00Z",
            "1704110400",
        ] {
            assert_eq!(utc.read(text.as_bytes()), at, "{text}");
        }
        assert_eq!(dates("Asia/Shanghai").read(b"2024-01-01T20:00:00"), at);
        assert_eq!(utc.read(b"0"), Some(ABSENT));
        for text in ["yesterday", "2024-13-01T00:00:00", "12:00:00", ""] {
            assert_eq!(utc.read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn an_hour_that_occurs_twice_is_counted() {
        let mut paris = dates("Europe/Paris");
        let first = paris.read(b"2024-10-27T02:30:00").unwrap() / 1_000_000_000;
        assert_eq!((first, paris.ambiguous), (1_729_989_000, 1));
        paris.read(b"2024-10-27T03:30:00").unwrap();
        assert_eq!(paris.ambiguous, 1);
    }

    #[test]
    fn memory_has_suffixes_old_and_new() {
        let read = |text: &str| memory(text.as_bytes(), Unit::Megabyte);
        assert_eq!(read("4000M"), Some((4000 << 20, None)));
        assert_eq!(read("4Gn"), Some((4 << 30, Some(Per::Node))));
        assert_eq!(read("2.5Gc"), Some((5 << 29, Some(Per::Processor))));
        assert_eq!(read("170000"), Some((170_000 << 20, None)));
        assert_eq!(read("0n"), Some((0, Some(Per::Node))));
        assert_eq!(read("4X"), None);
        assert_eq!(read("?"), None);
    }

    #[test]
    fn trackable_resources_are_found_by_word_number_and_type() {
        let find = |text: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            tres(text.as_bytes(), &names).map(|found| found.map(|v| String::from_utf8(v).unwrap()))
        };
        let words = "billing=4,cpu=4,gres/gpu:a100=2,gres/gpu:v100=1,mem=8G";
        assert_eq!(find(words, &["cpu", "1"]), Some(Some("4".to_owned())));
        let gpus = ["gres/gpu", "gres/gpu:*", "1001"];
        assert_eq!(find(words, &gpus), Some(Some("3".to_owned())));
        assert_eq!(
            find("1=20,2=170000,1001=2", &gpus),
            Some(Some("2".to_owned()))
        );
        assert_eq!(find("1=20", &gpus), Some(None));
        assert_eq!(find("20 cpus", &gpus), None);
    }
}
