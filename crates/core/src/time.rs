//! Time as integer nanoseconds from the start of the run.
//!
//! Never a float: two implementations have to agree on every instant. Scaled
//! times are `floor(t / factor)`, and durations are read as exact decimals.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};

pub use crate::decimal::Decimal;

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;

/// An instant, in nanoseconds since the run's start.
///
/// Kept one higher than it is, so that an `Option` of it is no larger: tables
/// of a million jobs hold eight of those a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimTime(NonZeroU64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimDuration(u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(NonZeroU64::MIN);
    /// Later than everything that happens: 2^64 - 2 nanoseconds.
    pub const MAX: SimTime = SimTime(NonZeroU64::MAX);

    /// An instant from nanoseconds since the start (saturating).
    pub const fn from_nanos(nanos: u64) -> Self {
        SimTime(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// An instant from whole seconds since the start (saturating).
    pub const fn from_secs(secs: u64) -> Self {
        SimTime::from_nanos(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the start, for display and statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / NANOS_PER_SEC as f64
    }

    /// The time since `earlier`, zero if that lies ahead.
    pub const fn since(self, earlier: SimTime) -> SimDuration {
        SimDuration(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// The instant right after this one.
    pub fn after(self) -> SimTime {
        self + SimDuration(1)
    }

    /// The first instant of the grid `phase + k * step` that is not before
    /// `self`. A zero step gives `self`.
    pub fn next_on_grid(self, phase: SimDuration, step: SimDuration) -> SimTime {
        if step.0 == 0 {
            return self;
        }
        if self.as_nanos() <= phase.0 {
            return SimTime::from_nanos(phase.0);
        }
        let past = self.as_nanos() - phase.0;
        let steps = past.div_ceil(step.0).saturating_mul(step.0);
        SimTime::from_nanos(phase.0.saturating_add(steps))
    }
}

/// An instant of the wall clock, in nanoseconds since whoever reads it began.
///
/// How fast the clock of a run goes does not change how fast a process dies:
/// what watches over processes counts on this one, and neither can be taken for
/// the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WallTime(u64);

impl WallTime {
    /// The start.
    pub const ZERO: WallTime = WallTime(0);

    /// An instant from nanoseconds since the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        WallTime(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

impl Add<SimDuration> for WallTime {
    type Output = WallTime;

    fn add(self, by: SimDuration) -> WallTime {
        WallTime(self.0.saturating_add(by.0))
    }
}

impl Default for SimTime {
    fn default() -> Self {
        SimTime::ZERO
    }
}

impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimTime({})", self.as_nanos())
    }
}

impl SimDuration {
    /// No time at all.
    pub const ZERO: SimDuration = SimDuration(0);

    /// A duration from nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        SimDuration(nanos)
    }

    /// A duration from milliseconds (saturating).
    pub const fn from_millis(millis: u64) -> Self {
        SimDuration(millis.saturating_mul(1_000_000))
    }

    /// A duration from whole seconds (saturating).
    pub const fn from_secs(secs: u64) -> Self {
        SimDuration(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds, for display and statistics.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The exact number of seconds.
    pub const fn seconds(self) -> Decimal {
        Decimal::from_billionths(self.0)
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Reads a decimal number with its unit: `"5s"`, `"87.08d"`, `"50ms"`.
    /// Units are `ns`, `us`, `ms`, `s`, `m` or `min`, `h`, `d` and `w`.
    ///
    /// # Errors
    /// Says what is wrong when the text has no unit, is no number, is
    /// negative, is finer than a nanosecond or does not fit 584 years.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let text = text.trim();
        let split = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
            .ok_or(DurationError::NoUnit)?;
        let (number, unit) = text.split_at(split);
        let nanos_per_unit: u64 = match unit.trim() {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => NANOS_PER_SEC,
            "m" | "min" => 60 * NANOS_PER_SEC,
            "h" => 3_600 * NANOS_PER_SEC,
            "d" => 86_400 * NANOS_PER_SEC,
            "w" => 604_800 * NANOS_PER_SEC,
            _ => return Err(DurationError::BadUnit),
        };
        if number.starts_with('-') {
            return Err(DurationError::Negative);
        }
        let (over, under) = Decimal::parse(number)
            .ok_or(DurationError::NotANumber)?
            .ratio();
        let scaled = u128::from(over) * u128::from(nanos_per_unit);
        if scaled % u128::from(under) != 0 {
            return Err(DurationError::TooFine);
        }
        u64::try_from(scaled / u128::from(under))
            .map(SimDuration)
            .map_err(|_| DurationError::TooLong)
    }
}

/// Why a text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A bare number.
    #[error("it has no unit")]
    NoUnit,
    /// A unit that is not one of ours.
    #[error("its unit is not one of ns, us, ms, s, min, h, d, w")]
    BadUnit,
    /// The part before the unit is no decimal number.
    #[error("it does not begin with a decimal number")]
    NotANumber,
    /// Below zero.
    #[error("it is below zero")]
    Negative,
    /// Not a whole number of nanoseconds.
    #[error("it is finer than a nanosecond")]
    TooFine,
    /// More than 584 years.
    #[error("it is longer than 584 years")]
    TooLong,
}

impl Add<SimDuration> for SimTime {
    type Output = SimTime;

    fn add(self, by: SimDuration) -> SimTime {
        SimTime(self.0.saturating_add(by.0))
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, by: SimDuration) {
        *self = *self + by;
    }
}

impl Add for SimDuration {
    type Output = SimDuration;

    fn add(self, by: SimDuration) -> SimDuration {
        SimDuration(self.0.saturating_add(by.0))
    }
}

impl Sub for SimDuration {
    type Output = SimDuration;

    fn sub(self, by: SimDuration) -> SimDuration {
        SimDuration(self.0.saturating_sub(by.0))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SimDuration(self.as_nanos()).fmt(f)
    }
}

/// Prints the longest unit that keeps the value whole: `5s`, `50ms`, `2.5s`.
impl fmt::Display for SimDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nanos, unit) = match self.0 {
            0 => return f.write_str("0s"),
            n if n >= NANOS_PER_SEC => (n, "s"),
            n if n >= 1_000_000 => (n * 1_000, "ms"),
            n if n >= 1_000 => (n * 1_000_000, "us"),
            n => (n * NANOS_PER_SEC, "ns"),
        };
        write!(f, "{}{unit}", Decimal::from_billionths(nanos))
    }
}

/// The greatest common divisor.
pub const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// How long the data of a job is on its way over a link that carries so many
/// MiB a second; each job has the link to itself. Rounded down to nanoseconds.
pub fn transfer_time(data_kib: u64, bandwidth: Option<Decimal>) -> SimDuration {
    match bandwidth {
        Some(bandwidth) if data_kib > 0 => {
            let nanos = u128::from(data_kib) * u128::from(NANOS_PER_SEC) / 1024;
            let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
            SimDuration::from_nanos(bandwidth.divide(nanos))
        }
        _ => SimDuration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_exact_decimals() {
        let check = |text: &str, nanos: u64| {
            assert_eq!(SimDuration::parse(text), Ok(SimDuration(nanos)), "{text}");
        };
        check("5s", 5_000_000_000);
        check("87.08d", 7_523_712 * NANOS_PER_SEC);
        check("50ms", 50_000_000);
        check("0s", 0);
        check("1.5 h", 5_400 * NANOS_PER_SEC);
    }

    #[test]
    fn a_text_that_is_no_duration_says_why() {
        let check = |text: &str, error| assert_eq!(SimDuration::parse(text), Err(error), "{text}");
        check("5", DurationError::NoUnit);
        check("5 parsecs", DurationError::BadUnit);
        check("s", DurationError::NotANumber);
        check("1.2.3s", DurationError::NotANumber);
        check("-1s", DurationError::Negative);
        check("0.1ns", DurationError::TooFine);
        check("600000d", DurationError::TooLong);
    }

    #[test]
    fn durations_print_what_they_were_read_from() {
        for text in ["5s", "50ms", "2.5s", "1us", "7ns", "0s", "7523712s"] {
            assert_eq!(SimDuration::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn seconds_are_exact() {
        let check = |nanos, text| assert_eq!(SimDuration(nanos).seconds().to_string(), text);
        check(1_500_000_000, "1.5");
        check(1, "0.000000001");
        check(20_000_000_000, "20");
        check(0, "0");
    }

    #[test]
    fn the_grid_starts_at_its_phase() {
        let step = SimDuration::from_secs(5);
        let phase = SimDuration::from_secs(2);
        let check = |at, next| {
            assert_eq!(
                SimTime::from_secs(at).next_on_grid(phase, step),
                SimTime::from_secs(next)
            );
        };
        check(0, 2);
        check(2, 2);
        check(3, 7);
        check(7, 7);
    }
}
