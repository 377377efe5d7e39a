//! Units of time, the span of a trace, and stretches of it.

pub(super) const HOUR: u64 = 3_600;
pub(super) const DAY: u64 = 24 * HOUR;
pub(super) const WEEK: u64 = 7 * DAY;
pub(super) const MINUTE: u64 = 60;

/// Minutes of an hour.
pub(super) const MINUTES: u64 = HOUR / MINUTE;

/// The seconds from the beginning of the submissions to their end, in hours
/// since a Monday 0:00.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) until: u64,
}

impl Span {
    /// All time there is.
    pub(super) const ALL: Span = Span {
        from: 0,
        until: u64::MAX / 2,
    };

    /// Seconds since time 0, and the hours that time 0 is after Monday.
    pub(super) fn new(from: u64, until: u64, shift: u64) -> Self {
        Span {
            from: from + shift * HOUR,
            until: until + shift * HOUR,
        }
    }

    pub(super) fn hours(&self) -> std::ops::Range<u64> {
        self.from / HOUR..self.until.div_ceil(HOUR)
    }

    pub(super) fn first_day(&self) -> u64 {
        self.from / DAY
    }

    /// A day of the span, in hours.
    pub(super) fn day(&self, at: usize, jobs: u64) -> Stretch {
        Stretch {
            at: (self.first_day() + at as u64) * 24,
            length: 24,
            jobs,
        }
    }

    pub(super) fn days(&self) -> usize {
        (self.until.div_ceil(DAY) - self.first_day()) as usize
    }

    /// The part of an hour that lies in the span.
    pub(super) fn covered(&self, hour: u64) -> f64 {
        let from = (hour * HOUR).max(self.from);
        let until = ((hour + 1) * HOUR).min(self.until);
        until.saturating_sub(from) as f64 / HOUR as f64
    }
}

/// A stretch of time with jobs in it; seconds or hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) at: u64,
    pub(super) length: u64,
    pub(super) jobs: u64,
}

impl Stretch {
    /// A second with one job.
    pub(super) fn second(at: u64) -> Self {
        Stretch {
            at,
            length: 1,
            jobs: 1,
        }
    }

    /// The left half's part of its length.
    pub(super) fn even(&self) -> f64 {
        (self.length / 2) as f64 / self.length as f64
    }

    /// The two halves; the left one is the shorter of two that differ.
    pub(super) fn halves(&self, left: u64) -> [Stretch; 2] {
        let middle = self.length / 2;
        [
            Stretch {
                at: self.at,
                length: middle,
                jobs: left,
            },
            Stretch {
                at: self.at + middle,
                length: self.length - middle,
                jobs: self.jobs - left,
            },
        ]
    }
}
