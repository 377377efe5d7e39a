//! Times of day, by which domains take the jobs of others.

use super::value::Text;
use gridrig_core::time::SimDuration;
use std::fmt;

/// Seconds since midnight, at most 86,400.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u32);

/// Seconds of a day.
const DAY: u32 = 86_400;

/// Hours of a day, over midnight if they end before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayHours {
    /// They begin here,
    pub from: TimeOfDay,
    /// and end before this.
    pub until: TimeOfDay,
}

impl TimeOfDay {
    fn parse(text: &str) -> Option<Self> {
        let two = |part: &str| {
            let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        };
        let mut parts = text.split(':');
        let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
        let second = parts.next().map_or(Some(0), two)?;
        let total = hour * 3_600 + minute * 60 + second;
        let fits = minute < 60 && second < 60 && total <= DAY && parts.next().is_none();
        fits.then_some(TimeOfDay(total))
    }

    /// The same part of a day of this length, rounded down to a nanosecond.
    pub fn of_day(self, day: SimDuration) -> SimDuration {
        let part = u128::from(day.as_nanos()) * u128::from(self.0) / u128::from(DAY);
        SimDuration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = (self.0 / 3_600, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{hour:02}:{minute:02}")?;
        match second {
            0 => Ok(()),
            second => write!(f, ":{second:02}"),
        }
    }
}

impl fmt::Display for DayHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.until)
    }
}

impl Text for TimeOfDay {
    const EXPECTED: &'static str = "a time of day such as \"06:30\"";

    fn read(text: &str) -> Result<Self, String> {
        let time = TimeOfDay::parse(text).filter(|time| time.0 < DAY);
        time.ok_or_else(|| Self::EXPECTED.to_owned())
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$" })
    }
}

impl Text for DayHours {
    const EXPECTED: &'static str = "hours of a day such as \"18:00-08:00\"";

    fn read(text: &str) -> Result<Self, String> {
        let hours = text.split_once('-').and_then(|(from, until)| {
            let (from, until) = (TimeOfDay::parse(from)?, TimeOfDay::parse(until)?);
            (from.0 < DAY).then_some(DayHours { from, until })
        });
        hours.ok_or_else(|| Self::EXPECTED.to_owned())
    }

    fn write(&self) -> String {
        self.to_string()
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        let time = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?";
        let pattern = format!("^{time}-({time}|24:00(:00)?)$");
        schemars::json_schema!({ "type": "string", "pattern": pattern, "examples": ["18:00-08:00"] })
    }
}
