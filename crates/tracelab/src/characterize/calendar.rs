//! What the clock on the wall showed: hour of day and day of week of a job.
//!
//! A log's times count from an instant whose Unix time the header gives; the
//! hour that users lived by needs the distance from UTC as well. Most headers
//! give it twice, and the key made for it (`TimeZone`) is the worse source:
//! two logs of the archive have it wrong and none follows daylight saving
//! time. `StartTime` is the local date of the same instant as `UnixStartTime`,
//! so the difference of the two is the distance at the log's beginning.

use crate::format::Header;
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::Serialize;

const DAY: i64 = 86_400;
const WEEK: i64 = 7 * DAY;

/// Unix time 0 was a Thursday; weeks begin on Monday.
const EPOCH_WEEKDAY: i64 = 3;

/// No clock on earth is farther from UTC.
const FARTHEST_OFFSET: i64 = 14 * 3_600;

/// The days of a week, in the order of every daily profile.
pub const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// What a profile's hours and days are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockSource {
    /// Local time, from the header keys `StartTime` and `UnixStartTime`.
    StartTime,
    /// Local time, from the header keys `TimeZone` and `UnixStartTime`.
    TimeZone,
    /// UTC: the header has `UnixStartTime` and no usable time zone.
    Utc,
    /// Hours and days since the log's time 0: the header has no
    /// `UnixStartTime`.
    Trace,
}

/// Turns submit times into hours and weekdays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Where it was taken from.
    pub source: ClockSource,
    /// Unix seconds of the log's time 0.
    pub unix_start: Option<u64>,
    /// Local time minus UTC at the log's time 0, in seconds.
    pub utc_offset_s: i64,
    /// Whether `TimeZone` contradicts `StartTime` by more than daylight saving
    /// time explains.
    pub contradiction: bool,
    /// Seconds from Monday 0:00 to the log's time 0.
    shift: u64,
}

impl Clock {
    /// The clock of a log with this header.
    pub fn of(header: &Header) -> Self {
        let zone = header
            .values("TimeZone")
            .iter()
            .find_map(|value| value.split_whitespace().next()?.parse::<i64>().ok())
            .filter(|offset| offset.abs() <= FARTHEST_OFFSET);
        let Some(unix) = header.unix_start_time().filter(|unix| *unix > 0) else {
            return Clock::new(ClockSource::Trace, None, 0, false);
        };
        let local = header
            .values("StartTime")
            .iter()
            .find_map(|value| parse_date(value));
        let signed = i64::try_from(unix).unwrap_or(i64::MAX);
        let measured = local
            .and_then(|local| local.checked_sub(signed))
            .filter(|offset| offset.abs() <= FARTHEST_OFFSET);
        match (measured, zone) {
            (Some(offset), zone) => {
                // Daylight saving time puts the clock an hour before the zone.
                let contradiction =
                    zone.is_some_and(|zone| !(-60..=3_660).contains(&(offset - zone)));
                Clock::new(ClockSource::StartTime, Some(unix), offset, contradiction)
            }
            (None, Some(offset)) => Clock::new(ClockSource::TimeZone, Some(unix), offset, false),
            (None, None) => Clock::new(ClockSource::Utc, Some(unix), 0, false),
        }
    }

    fn new(
        source: ClockSource,
        unix_start: Option<u64>,
        utc_offset_s: i64,
        contradiction: bool,
    ) -> Self {
        let monday = |unix: u64| {
            let week = unix % WEEK.unsigned_abs();
            week.cast_signed() + utc_offset_s + EPOCH_WEEKDAY * DAY
        };
        let shift = unix_start.map_or(0, |unix| monday(unix).rem_euclid(WEEK));
        Clock {
            source,
            unix_start,
            utc_offset_s,
            contradiction,
            shift: shift.unsigned_abs(),
        }
    }

    /// Hour of the week, 0 to 167, counted from Monday 0:00 (from the log's
    /// time 0 where no calendar is known).
    pub fn hour_of_week(&self, submit: SimDuration) -> usize {
        (self.second_of_week(submit) / 3_600) as usize
    }

    /// Seconds since Monday 0:00.
    pub fn second_of_week(&self, submit: SimDuration) -> u64 {
        (submit.as_nanos() / NANOS_PER_SEC + self.shift) % WEEK.unsigned_abs()
    }

    /// Days each weekday is covered by `[from, until)`, Monday first.
    pub fn coverage_days(&self, from: SimDuration, until: SimDuration) -> [f64; 7] {
        let begin = from.as_secs_f64() + self.shift as f64;
        let span = (until - from).as_secs_f64();
        let weeks = (span / WEEK as f64).floor();
        let rest = span - weeks * WEEK as f64;
        let mut days = [weeks; 7];
        let mut at = begin % WEEK as f64;
        let mut left = rest;
        // Seven days and a bit touch at most eight calendar days.
        for _ in 0..8 {
            let day = (at / DAY as f64).floor();
            let part = ((day + 1.0) * DAY as f64 - at).min(left);
            days[(day as usize) % 7] += part / DAY as f64;
            left -= part;
            at = (at + part) % WEEK as f64;
            if left <= 0.0 {
                break;
            }
        }
        days
    }

    /// An instant of the log as a date, such as `Wed 1996-06-26 17:06 UTC-4`;
    /// `None` where no calendar is known.
    pub fn date(&self, at: SimDuration) -> Option<String> {
        let unix = i64::try_from(self.unix_start?).ok()?;
        let nanos = i64::try_from(at.as_nanos() / NANOS_PER_SEC).ok()?;
        let local = unix.checked_add(nanos)?.checked_add(self.utc_offset_s)?;
        let date = Timestamp::from_second(local).ok()?;
        let date = date.strftime("%a %Y-%m-%d %H:%M");
        Some(format!("{date} {}", self.zone_name()))
    }

    /// `UTC`, `UTC-4`, `UTC+5:30`.
    pub fn zone_name(&self) -> String {
        let minutes = self.utc_offset_s.abs() / 60;
        let sign = if self.utc_offset_s < 0 { '-' } else { '+' };
        match (minutes / 60, minutes % 60) {
            (0, 0) => "UTC".to_owned(),
            (hours, 0) => format!("UTC{sign}{hours}"),
            (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
        }
    }
}

/// Seconds since 1970 of a date in the spellings that headers use: `Wed Jun
/// 26 17:06:00 EDT 1996`, `Wed, 26 Jun 1996 17:06:00`, `1996-06-26T17:06:00-04:00`,
/// with the zone ignored.
fn parse_date(value: &str) -> Option<i64> {
    if let Ok(iso) = value
        .trim()
        .trim_end_matches(['Z', 'z'])
        .parse::<DateTime>()
    {
        return TimeZone::UTC
            .to_timestamp(iso)
            .ok()
            .map(|at| at.as_second());
    }
    let (mut month, mut day, mut year, mut time) = (None, None, None, None);
    let words = value.split(|c: char| c.is_whitespace() || c == ',');
    for word in words.filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        let named = (1i8..)
            .zip(MONTHS)
            .find(|(_, name)| lower.starts_with(name));
        if word.contains(':') {
            time = time.or_else(|| parse_time(word));
        } else if let Ok(number) = word.parse::<i16>() {
            match number {
                1..=31 if day.is_none() => day = i8::try_from(number).ok(),
                1_970..=2_999 => year = year.or(Some(number)),
                _ => {}
            }
        } else if let Some((found, _)) = named {
            month = month.or(Some(found));
        }
    }
    let day = Date::new(year?, month?, day?).ok()?;
    let day = TimeZone::UTC.to_timestamp(day.into()).ok()?;
    Some(day.as_second() + time?)
}

/// `17:06:00` in seconds.
fn parse_time(word: &str) -> Option<i64> {
    let mut parts = word.split(':').map(str::parse::<u32>);
    let hour = parts.next()?.ok().filter(|hour| *hour < 24)?;
    let minute = parts.next()?.ok().filter(|minute| *minute < 60)?;
    let second = parts.next().unwrap_or(Ok(0)).ok().filter(|s| *s < 61)?;
    Some(i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(lines: &str) -> Clock {
        let mut header = Header::default();
        for line in lines.lines() {
            header.add(1, line.as_bytes());
        }
        Clock::of(&header)
    }

    #[test]
    fn start_time_beside_unix_start_time_gives_the_local_clock() {
        let clock = clock(
            "; UnixStartTime: 835823160\n; TimeZone: -18000\n\
             ; StartTime: Wed Jun 26 17:06:00 EDT 1996",
        );
        assert_eq!(clock.source, ClockSource::StartTime);
        assert_eq!((clock.utc_offset_s, clock.contradiction), (-14_400, false));
        assert_eq!(clock.hour_of_week(SimDuration::ZERO) % 24, 17);
        assert_eq!(clock.hour_of_week(SimDuration::ZERO) / 24, 2);
        assert_eq!(
            clock.hour_of_week(SimDuration::from_secs(7 * 3_600)) / 24,
            3
        );
        assert_eq!(
            clock.date(SimDuration::from_secs(86_400)).unwrap(),
            "Thu 1996-06-27 17:06 UTC-4"
        );
    }

    #[test]
    fn a_time_zone_that_contradicts_the_start_time_is_told() {
        let clock = clock(
            ";UnixStartTime: 1163199901\n;TimeZone: 3600\n;StartTime: Fri, 10 Nov 2006 15:05:01",
        );
        assert_eq!(clock.utc_offset_s, -28_800);
        assert!(clock.contradiction);
    }

    #[test]
    fn what_the_header_lacks_is_done_without() {
        let zone = clock("; UnixStartTime: 1041377305\n; TimeZone: 3600  # DEPRECATED");
        assert_eq!(
            (zone.source, zone.utc_offset_s),
            (ClockSource::TimeZone, 3_600)
        );
        let utc = clock("; UnixStartTime: 1041377305\n; TimeZone: soon\n; StartTime: unknown");
        assert_eq!(utc.source, ClockSource::Utc);
        let trace = clock("; StartTime: Wed Jun 26 17:06:00 EDT 1996");
        assert_eq!(trace.source, ClockSource::Trace);
        let next_day = SimDuration::from_secs(90_000);
        assert_eq!(trace.hour_of_week(next_day) % 24, 1);
        assert_eq!(
            trace.hour_of_week(SimDuration::from_secs(8 * 86_400)) / 24,
            1
        );
        assert_eq!(trace.date(SimDuration::ZERO), None);
    }

    #[test]
    fn coverage_counts_parts_of_days() {
        // Time 0 is a Wednesday, 17:06.
        let clock = clock("; UnixStartTime: 835823160\n; StartTime: Wed Jun 26 17:06:00 EDT 1996");
        let span = SimDuration::from_secs(9 * 86_400);
        let days = clock.coverage_days(SimDuration::ZERO, span);
        assert!((days.iter().sum::<f64>() - 9.0).abs() < 1e-9);
        let rest_of_wednesday = 1.0 - (17.0 * 3_600.0 + 360.0) / 86_400.0;
        assert!((days[2] - 1.0 - rest_of_wednesday).abs() < 1e-9, "{days:?}");
        assert!((days[3] - 2.0).abs() < 1e-9);
        assert!((days[4] - 2.0 + rest_of_wednesday).abs() < 1e-9);
        assert_eq!(days[0], 1.0);
    }
}
