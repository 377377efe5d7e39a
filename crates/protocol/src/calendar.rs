//! Dates of the calendar.

use jiff::Timestamp;

/// The instant so many seconds after 1970, in UTC, which `strftime` and
/// `to_string` write; what lies past the year 9999 is its last instant.
pub fn utc(unix_s: u64) -> Timestamp {
    let unix_s = i64::try_from(unix_s).unwrap_or(i64::MAX);
    Timestamp::from_second(unix_s).unwrap_or(Timestamp::MAX)
}
