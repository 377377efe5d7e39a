//! Values of options that have no effect here, and that sbatch refuses all the
//! same when they are mistaken.

use super::{BAD_OPTION, Parsed, Refusal};
use crate::slurm::times::Limit;
use gridrig_core::time::SimDuration;

/// Refuses what sbatch refuses, in its words.
pub(super) fn check(all: &Parsed) -> Result<(), Refusal> {
    for (option, is_known) in CHECKS {
        if all.last(option).is_some_and(|value| !is_known(value)) {
            let what = format!("Invalid --{option} specification");
            return Err(Refusal::error(BAD_OPTION, &what));
        }
    }
    let length = |option: &str| all.last(option).and_then(Limit::parse)?.length();
    match (length("time-min"), length("time")) {
        (Some(least), Some(most)) if least > most => Err(Refusal::submission(
            "Invalid time-min specification (exceeds job's time or other limits)",
        )),
        _ => Ok(()),
    }
}

type Check = (&'static str, fn(&str) -> bool);

const CHECKS: [Check; 7] = [
    ("distribution", is_distribution),
    ("exclusive", |value| ["", "user", "mcs"].contains(&value)),
    ("kill-on-invalid-dep", |value| {
        value.eq_ignore_ascii_case("yes") || value.eq_ignore_ascii_case("no")
    }),
    ("mail-type", is_mail),
    ("open-mode", |value| value.starts_with(['a', 'A', 't', 'T'])),
    ("signal", |value| Warning::parse(value).is_some()),
    ("time-min", |value| Limit::parse(value).is_some()),
];

/// `block`, `cyclic`, `plane=N`, `arbitrary`, for nodes, sockets and cores.
fn is_distribution(value: &str) -> bool {
    let levels = value.split(',').next().unwrap_or(value);
    if let Some(size) = levels.strip_prefix("plane=") {
        return size.parse::<u32>().is_ok_and(|size| size > 0);
    }
    let known = ["*", "arbitrary", "block", "cyclic", "fcyclic"];
    levels.split(':').all(|level| known.contains(&level))
}

/// One word that sbatch knows is enough.
fn is_mail(value: &str) -> bool {
    const KNOWN: &str = "ALL ARRAY_TASKS BEGIN END FAIL INVALID_DEPEND NONE REQUEUE STAGE_OUT \
        TIME_LIMIT TIME_LIMIT_50 TIME_LIMIT_80 TIME_LIMIT_90 TIMELIMIT REVOKED";
    let known = |word: &str| {
        KNOWN
            .split(' ')
            .any(|known| known.eq_ignore_ascii_case(word))
    };
    value.split(',').any(known)
}

/// Which processes of a script a signal goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::faces::slurm) enum Reach {
    /// The tasks of its steps.
    Steps,
    /// The shell that runs it.
    Batch,
    All,
}

/// A signal some time before the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::faces::slurm) struct Warning {
    pub number: i32,
    before: SimDuration,
    pub reach: Reach,
}

impl Warning {
    /// How far into a run with this limit it comes.
    pub fn into_run(self, limit: SimDuration) -> SimDuration {
        SimDuration::from_nanos(limit.as_nanos().saturating_sub(self.before.as_nanos()))
    }

    /// Reads `[R][B][:]SIGNAL[@SECONDS]`, with a number or a name.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (flags, value) = match value.split_once(':') {
            Some((flags, rest)) if flags.chars().all(|flag| "RrBb".contains(flag)) => (flags, rest),
            _ => ("", value),
        };
        let (signal, seconds) = value.split_once('@').unwrap_or((value, "60"));
        let of_batch = flags.contains(['B', 'b']);
        Some(Warning {
            number: signal_number(signal)?,
            before: SimDuration::from_secs(seconds.parse::<u16>().ok()?.into()),
            reach: if of_batch { Reach::Batch } else { Reach::Steps },
        })
    }
}

/// Signals by name and number on Linux, as far as jobs are sent them.
const SIGNALS: [(&str, i32); 15] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("ALRM", 14),
    ("TERM", 15),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
];

/// The number of a signal that is given by name or number.
pub(in crate::faces::slurm) fn signal_number(text: &str) -> Option<i32> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = SIGNALS.iter().find(|(known, _)| *known == name);
    let number = || text.parse::<u16>().ok().filter(|number| *number > 0);
    named
        .map(|(_, number)| *number)
        .or_else(|| number().map(i32::from))
}

/// The number that a text begins with, 0 if with none, as C's `strtol`.
pub(super) fn leading_number(text: &str) -> i64 {
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    text[..sign + digits].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_apart_as_sbatch_does() {
        for signal in ["USR1", "B:USR1@60", "R:10@5", "SIGTERM", "99"] {
            assert!(Warning::parse(signal).is_some(), "{signal}");
        }
        for signal in ["foo", "USR1@99999", "", "B:", "0"] {
            assert_eq!(Warning::parse(signal), None, "{signal}");
        }
        assert!(is_mail("foo,END") && is_mail("begin,TIME_LIMIT_80") && !is_mail("foo"));
        assert!(is_distribution("cyclic:block,NoPack") && is_distribution("plane=4"));
        assert!(!is_distribution("plane") && !is_distribution("foo"));
        assert_eq!(leading_number("-5"), -5);
        assert_eq!((leading_number("x"), leading_number("12x")), (0, 12));
    }
}
