//! Times as Slurm reads and writes them.

use gridrig_core::time::SimDuration;
use gridrig_protocol::calendar::utc;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A time limit; Slurm counts whole minutes and rounds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// None.
    Unlimited,
    /// So many seconds.
    Seconds(u64),
}

impl Limit {
    /// Reads `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`, `UNLIMITED`;
    /// 0 is no limit, as for Slurm.
    pub fn parse(text: &str) -> Option<Limit> {
        let lower = text.to_ascii_lowercase();
        if ["unlimited", "infinite", "-1"].contains(&lower.as_str()) {
            return Some(Limit::Unlimited);
        }
        let numbers = |text: &str| -> Option<Vec<u64>> {
            let number = |word: &str| {
                let short = !word.is_empty() && word.len() <= 9;
                (short && word.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
                word.parse().ok()
            };
            text.split(':').map(number).collect()
        };
        let seconds = match text.split_once('-') {
            Some((days, rest)) => {
                let days = numbers(days).filter(|days| days.len() == 1)?[0];
                let rest = match numbers(rest)?.as_slice() {
                    [h] => h * HOUR,
                    [h, m] => h * HOUR + m * MINUTE,
                    [h, m, s] => h * HOUR + m * MINUTE + s,
                    _ => return None,
                };
                days * DAY + rest
            }
            None => match numbers(text)?.as_slice() {
                [m] => m * MINUTE,
                [m, s] => m * MINUTE + s,
                [h, m, s] => h * HOUR + m * MINUTE + s,
                _ => return None,
            },
        };
        Some(match seconds.div_ceil(MINUTE) {
            0 => Limit::Unlimited,
            minutes => Limit::Seconds(minutes * MINUTE),
        })
    }

    /// As a length.
    pub fn length(self) -> Option<SimDuration> {
        match self {
            Limit::Unlimited => None,
            Limit::Seconds(seconds) => Some(SimDuration::from_secs(seconds)),
        }
    }
}

/// The whole seconds of a length of time.
pub(crate) fn seconds(length: SimDuration) -> u64 {
    length.as_nanos() / 1_000_000_000
}

/// `M:SS`, `H:MM:SS` or `D-HH:MM:SS`, as squeue writes lengths.
pub(crate) fn short(seconds: u64) -> String {
    let (days, hours) = (seconds / DAY, seconds % DAY / HOUR);
    let (minutes, seconds) = (seconds % HOUR / MINUTE, seconds % MINUTE);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, hours) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// `HH:MM:SS` or `D-HH:MM:SS`, as scontrol and sacct write lengths.
pub(crate) fn long(seconds: u64) -> String {
    let (days, hours) = (seconds / DAY, seconds % DAY / HOUR);
    let (minutes, seconds) = (seconds % HOUR / MINUTE, seconds % MINUTE);
    match days {
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// `2026-11-21T08:57:56` in UTC, of seconds since 1970.
pub(crate) fn stamp(unix: u64) -> String {
    utc(unix).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// `Sat Nov 21 08:58:01 2026` in UTC.
pub(crate) fn date(unix: u64) -> String {
    utc(unix).strftime("%a %b %d %H:%M:%S %Y").to_string()
}

/// Seconds since 1970 of `now`, `now+30`, `now+5minutes`, `YYYY-MM-DD[THH:MM[:SS]]`,
/// `HH:MM[:SS][am|pm]` or a word for a time of day (today, or
/// tomorrow if that has passed), `today` or `tomorrow`, in UTC.
pub(crate) fn moment(text: &str, now: u64) -> Option<u64> {
    if let Some(later) = text.strip_prefix("now") {
        if later.is_empty() {
            return Some(now);
        }
        let later = later.strip_prefix('+')?;
        let digits = later.bytes().take_while(u8::is_ascii_digit).count();
        let count: u64 = later[..digits].parse().ok()?;
        let unit = match &later[digits..] {
            "" | "s" | "seconds" | "second" => 1,
            "minutes" | "minute" => MINUTE,
            "hours" | "hour" => HOUR,
            "days" | "day" => DAY,
            "weeks" | "week" => 7 * DAY,
            _ => return None,
        };
        return now.checked_add(count.checked_mul(unit)?);
    }
    let today = now - now % DAY;
    let next = |clock: u64| {
        let at = today + clock;
        if at < now { at + DAY } else { at }
    };
    match text {
        "today" => return Some(now),
        "tomorrow" => return Some(today + DAY),
        "midnight" => return Some(next(0)),
        "elevenses" => return Some(next(11 * HOUR)),
        "noon" => return Some(next(12 * HOUR)),
        "fika" => return Some(next(15 * HOUR)),
        "teatime" => return Some(next(16 * HOUR)),
        _ => {}
    }
    if !text.contains('-') {
        return clock(text).map(next);
    }
    let (day, time) = text.split_once('T').unwrap_or((text, "00:00"));
    let day = Date::strptime("%Y-%m-%d", day).ok()?;
    let day = TimeZone::UTC.to_timestamp(day.into()).ok()?;
    Some(u64::try_from(day.as_second()).ok()? + clock(time)?)
}

/// Seconds since midnight of `HH:MM[:SS]`, with `am` or `pm` of half a day.
fn clock(text: &str) -> Option<u64> {
    let (text, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(text), _) => (text, Some(0)),
        (_, Some(text)) => (text, Some(12 * HOUR)),
        _ => (text, None),
    };
    let parts: Vec<u64> = text
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let at = match parts.as_slice() {
        [h, m] if *h < 24 && *m < 60 => h * HOUR + m * MINUTE,
        [h, m, s] if *h < 24 && *m < 60 && *s < 60 => h * HOUR + m * MINUTE + s,
        _ => return None,
    };
    match half {
        None => Some(at),
        Some(_) if at >= 13 * HOUR => None,
        Some(half) => Some(at % (12 * HOUR) + half),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_up_to_minutes() {
        let seconds = |text| Limit::parse(text).and_then(Limit::length);
        let s = |seconds| Some(SimDuration::from_secs(seconds));
        assert_eq!(seconds("10"), s(600));
        assert_eq!(seconds("1:01"), s(120));
        assert_eq!(seconds("1:00:00"), s(3600));
        assert_eq!(seconds("2-3"), s(2 * 86_400 + 3 * 3_600));
        assert_eq!(seconds("2-3:4:5"), s(2 * 86_400 + 3 * 3_600 + 300));
        assert_eq!(Limit::parse("UNLIMITED"), Some(Limit::Unlimited));
        assert_eq!(Limit::parse("0"), Some(Limit::Unlimited));
        for bad in ["foo", "", "1:2:3:4", "-5", "1-", "9999999999"] {
            assert_eq!(Limit::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn lengths_and_dates_are_written_as_slurm_writes_them() {
        assert_eq!((short(1), short(599)), ("0:01".into(), "9:59".into()));
        assert_eq!(
            (short(3_600), short(90_061)),
            ("1:00:00".into(), "1-01:01:01".into())
        );
        assert_eq!(
            (long(1), long(90_061)),
            ("00:00:01".into(), "1-01:01:01".into())
        );
        assert_eq!(stamp(0), "1970-01-01T00:00:00");
        assert_eq!(stamp(1_795_251_481), "2026-11-21T08:58:01");
        assert_eq!(date(1_795_251_481), "Sat Nov 21 08:58:01 2026");
        assert_eq!(stamp(951_782_400), "2000-02-29T00:00:00");
    }

    #[test]
    fn moments_are_read_relative_and_absolute() {
        let now = 1_795_251_481;
        assert_eq!(moment("now+60", now), Some(now + 60));
        assert_eq!(moment("now+2hours", now), Some(now + 7_200));
        assert_eq!(moment("2026-11-21T08:58:01", now), Some(now));
        assert_eq!(moment("08:58:02", now), Some(now + 1));
        assert_eq!(moment("08:58", now), Some(now - 1 + 86_400));
        let midnight = now - now % DAY;
        assert_eq!(moment("tomorrow", now), Some(midnight + DAY));
        assert_eq!(moment("midnight", now), Some(midnight + DAY));
        assert_eq!(moment("noon", now), Some(midnight + DAY / 2));
        assert_eq!(moment("4:30pm", now), Some(midnight + 16 * HOUR + 1_800));
        assert_eq!(moment("12:10am", now), Some(midnight + DAY + 600));
        for bad in ["later", "now-5", "2026-13-01", "25:00", "4pm", "13:00pm"] {
            assert_eq!(moment(bad, now), None, "{bad}");
        }
    }
}
