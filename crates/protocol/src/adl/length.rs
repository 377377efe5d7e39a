//! How long an emulated job runs: nothing is executed, so its description has
//! to say.

use super::Activity;
use crate::xml::excerpt;
use gridrig_core::time::{Decimal, SimDuration};

/// The environment variable that gives a job's virtual length.
pub const RUN_TIME_VARIABLE: &str = "GRIDRIG_RUN_TIME";

/// The environment variable that says how long the LRMS holds a job before it
/// queues.
pub const HELD_VARIABLE: &str = "GRIDRIG_HELD";

/// Where a job's virtual length was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum LengthFrom {
    /// [`RUN_TIME_VARIABLE`].
    #[strum(to_string = "GRIDRIG_RUN_TIME")]
    Variable,
    /// The argument of `sleep`.
    #[strum(to_string = "sleep")]
    Sleep,
    /// The requested wall time.
    WallTime,
    /// Nowhere: the default of the cluster.
    #[strum(to_string = "default")]
    Default,
}

impl Activity {
    /// The virtual length of the job, in this order: the environment variable
    /// `GRIDRIG_RUN_TIME` (a duration such as `90s`, or seconds); `sleep N` as
    /// the program with its argument or within an argument of a shell; the
    /// requested wall time; `default`. A variable that is no duration counts as
    /// none and is named in the error.
    ///
    /// # Errors
    /// The variable's value where it is no duration.
    pub fn run_time(&self, default: SimDuration) -> Result<(SimDuration, LengthFrom), String> {
        if let Some(length) = self.variable(RUN_TIME_VARIABLE)? {
            return Ok((length, LengthFrom::Variable));
        }
        if let Some(length) = self.slept() {
            return Ok((length, LengthFrom::Sleep));
        }
        match self.wall_time_s {
            Some(wall) if wall > 0 => {
                let wall = wall.min(u64::MAX / 1_000_000_000);
                Ok((SimDuration::from_secs(wall), LengthFrom::WallTime))
            }
            _ => Ok((default, LengthFrom::Default)),
        }
    }

    /// How long the LRMS holds the job before it may queue, as the environment
    /// variable `GRIDRIG_HELD` says; not at all where there is none.
    ///
    /// # Errors
    /// The variable's value where it is no duration.
    pub fn held(&self) -> Result<SimDuration, String> {
        let held = self.variable(HELD_VARIABLE)?;
        Ok(held.unwrap_or(SimDuration::ZERO))
    }

    /// The duration in an environment variable; the value itself, cut to 80
    /// characters, where it is none.
    fn variable(&self, wanted: &str) -> Result<Option<SimDuration>, String> {
        let mut named = self.environment.iter();
        let found = named.find(|(name, _)| name == wanted);
        let length = found.map(|(_, value)| seconds(value).ok_or_else(|| excerpt(value)));
        length.transpose()
    }

    fn slept(&self) -> Option<SimDuration> {
        let executable = self.executable.as_ref()?;
        if executable.path.rsplit('/').next() == Some("sleep") {
            return seconds(executable.arguments.first()?);
        }
        executable.arguments.iter().find_map(|argument| {
            let mut words = argument.split(|c: char| c.is_whitespace() || c == ';');
            words.find(|word| word.rsplit('/').next() == Some("sleep"))?;
            words.find(|word| !word.is_empty()).and_then(seconds)
        })
    }
}

/// A duration with a unit, or a number of seconds.
fn seconds(text: &str) -> Option<SimDuration> {
    let text = text.trim();
    if Decimal::parse(text).is_some() {
        return SimDuration::parse(&format!("{text}s")).ok();
    }
    SimDuration::parse(text).ok()
}
