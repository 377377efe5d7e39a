//! When a provider takes the jobs of others: "provider only from 18:00 to
//! 08:00" (LA Grid, section 2).

use crate::time::{SimDuration, SimTime};

/// The hours in which a provider is open, the same every day. All of it is
/// time of the run: days may be shorter than 24 h where a trace is compressed,
/// and time 0 of the run may be any time of day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timetable {
    day: SimDuration,
    /// Time of day at time 0 of the run.
    starts_at: SimDuration,
    /// Sorted and apart from each other, within the day.
    open: Vec<Hours>,
}

/// A part of the day: `from` belongs to it, `until` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hours {
    /// When it begins, below the length of the day.
    pub from: SimDuration,
    /// When it ends. At or before `from`, it is on the next day.
    pub until: SimDuration,
}

impl Timetable {
    /// The timetable of days of this length, open in these hours (which may
    /// overlap), time 0 of the run being `starts_at` of a day.
    ///
    /// `None` if a day has no length, nothing is open, or an hour is not of
    /// the day.
    pub fn new(day: SimDuration, starts_at: SimDuration, open: &[Hours]) -> Option<Self> {
        let outside = |hours: &Hours| hours.from >= day || hours.until > day;
        if day.is_zero() || open.is_empty() || open.iter().any(outside) {
            return None;
        }
        let mut parts = Vec::new();
        for hours in open {
            if hours.from < hours.until {
                parts.push(*hours);
                continue;
            }
            // Over midnight: the evening of one day, the morning of the next.
            let (from, until) = (hours.from, hours.until);
            parts.push(Hours { from, until: day });
            parts.push(Hours {
                from: SimDuration::ZERO,
                until,
            });
        }
        parts.retain(|hours| hours.from < hours.until);
        parts.sort_unstable();
        let mut apart: Vec<Hours> = Vec::new();
        for hours in parts {
            match apart.last_mut() {
                Some(last) if hours.from <= last.until => last.until = last.until.max(hours.until),
                _ => apart.push(hours),
            }
        }
        let starts_at = SimDuration::from_nanos(starts_at.as_nanos() % day.as_nanos());
        Some(Timetable {
            day,
            starts_at,
            open: apart,
        })
    }

    /// Length of a day.
    pub fn day(&self) -> SimDuration {
        self.day
    }

    /// Time of day at time 0 of the run.
    pub fn starts_at(&self) -> SimDuration {
        self.starts_at
    }

    /// The hours in which it is open, in order and apart from each other; those
    /// over midnight are two.
    pub fn open(&self) -> &[Hours] {
        &self.open
    }

    /// The longest time that it is open without a break; at most a day.
    pub fn longest(&self) -> SimDuration {
        let length = |hours: &Hours| hours.until - hours.from;
        let within = self.open.iter().map(length).max().unwrap_or_default();
        match (self.open.first(), self.open.last()) {
            (Some(morning), Some(evening))
                if morning.from.is_zero()
                    && evening.until == self.day
                    && morning.until < self.day =>
            {
                within.max(length(morning) + length(evening))
            }
            _ => within,
        }
    }

    /// Whether the provider takes jobs at this instant.
    pub fn is_open(&self, at: SimTime) -> bool {
        let now = self.time_of_day(at);
        let mut open = self.open.iter();
        open.any(|hours| hours.from <= now && now < hours.until)
    }

    /// The first instant from this one on at which it is open.
    pub fn next_open(&self, at: SimTime) -> SimTime {
        if self.is_open(at) {
            return at;
        }
        let now = self.time_of_day(at);
        let today = self.open.iter().find(|hours| hours.from > now);
        let wait = match (today, self.open.first()) {
            (Some(hours), _) => hours.from - now,
            (None, Some(first)) => self.day - now + first.from,
            // A timetable is open some time of the day.
            (None, None) => return SimTime::MAX,
        };
        at + wait
    }

    fn time_of_day(&self, at: SimTime) -> SimDuration {
        let day = u128::from(self.day.as_nanos());
        let passed = u128::from(at.as_nanos()) + u128::from(self.starts_at.as_nanos());
        SimDuration::from_nanos(u64::try_from(passed % day).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: u64) -> SimDuration {
        SimDuration::from_secs(hour * 3600)
    }

    fn hours(from: u64, until: u64) -> Hours {
        Hours {
            from: hour(from),
            until: hour(until),
        }
    }

    fn at(hour: u64) -> SimTime {
        SimTime::from_secs(hour * 3600)
    }

    #[test]
    fn hours_over_midnight_are_open_on_both_sides_of_it() {
        let night = Timetable::new(hour(24), SimDuration::ZERO, &[hours(18, 8)]).unwrap();
        for (when, open) in [(0, true), (7, true), (8, false), (17, false), (18, true)] {
            assert_eq!(night.is_open(at(when)), open, "{when}");
            assert_eq!(night.is_open(at(when + 240)), open, "{when}");
        }
        assert_eq!(night.next_open(at(7)), at(7));
        assert_eq!(night.next_open(at(8)), at(18));
        assert_eq!(night.next_open(at(32)), at(42));
        assert_eq!(night.longest(), hour(14));
        let last = SimTime::from_nanos(at(8).as_nanos() - 1);
        assert!(night.is_open(last));
    }

    #[test]
    fn the_run_may_begin_at_any_time_of_a_day_of_any_length() {
        // A day in 24 minutes, the run begins at 06:00.
        let minute = SimDuration::from_secs(60);
        let minutes = |n: u64| SimDuration::from_nanos(n * minute.as_nanos());
        let open = Hours {
            from: minutes(9),
            until: minutes(17),
        };
        let table = Timetable::new(minutes(24), minutes(6), &[open]).unwrap();
        let at = |n: u64| SimTime::ZERO + minutes(n);
        assert_eq!(table.next_open(at(0)), at(3));
        assert!(table.is_open(at(10)) && !table.is_open(at(11)));
        assert_eq!(table.next_open(at(11)), at(27));
    }

    #[test]
    fn overlapping_hours_are_one() {
        let open = [hours(10, 14), hours(12, 16), hours(16, 18), hours(20, 21)];
        let table = Timetable::new(hour(24), SimDuration::ZERO, &open).unwrap();
        assert_eq!(table.open(), [hours(10, 18), hours(20, 21)]);
        assert_eq!(table.longest(), hour(8));
        let all_day = Timetable::new(hour(24), SimDuration::ZERO, &[hours(8, 8)]).unwrap();
        assert_eq!(all_day.longest(), hour(24));
        assert_eq!(all_day.open(), [hours(0, 24)]);
    }

    #[test]
    fn what_is_no_timetable_is_none() {
        let none = |day, open: &[Hours]| Timetable::new(day, SimDuration::ZERO, open);
        assert_eq!(none(hour(24), &[]), None);
        assert_eq!(none(SimDuration::ZERO, &[hours(0, 1)]), None);
        assert_eq!(none(hour(24), &[hours(24, 1)]), None);
        assert_eq!(none(hour(24), &[hours(1, 25)]), None);
    }
}
