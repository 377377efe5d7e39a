//! How long a job takes that is never executed.
//!
//! In this order: a tag in its name or comment (`gridrig_17_30s`, which
//! brokers carry along), a `#GRIDRIG runtime=30s` line of its script, the
//! script itself if all it does is to sleep, the limit of `--time`, one
//! second. Its exit code is that of `#GRIDRIG exit=N`, or that of the script if
//! it is known what each of its commands does, else 0: a wrapper that a broker
//! writes ends with 1 on ways that its job never takes.

use super::batch::{Batch, words};
use gridrig_core::time::SimDuration;
use gridrig_protocol::tag::TAG_VARIABLE;

/// What becomes of a job that is not executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Run time on a node of speed 1.0.
    pub length: SimDuration,
    /// What it ends with.
    pub exit: u8,
}

/// Of a job about which nothing is known.
const UNKNOWN: SimDuration = SimDuration::from_secs(1);

/// A script that sleeps longer than this is taken to sleep so long.
const LONGEST_SLEEP: f64 = 10.0 * 365.0 * 86_400.0;

/// What this job would do.
pub(super) fn plan(batch: &Batch) -> Plan {
    let text = String::from_utf8_lossy(&batch.script);
    let (said, said_exit) = directive(&text);
    let seen = read_script(&text);
    let exit = said_exit.unwrap_or(if seen.understood { seen.exit } else { 0 });
    let tag = tag(&batch.name).or_else(|| batch.comment.as_deref().and_then(tag));
    let slept = (seen.understood || !seen.slept.is_zero()).then_some(seen.slept);
    let limit = batch.limit.and_then(crate::slurm::times::Limit::length);
    let length = tag.or(said).or(slept).or(limit).unwrap_or(UNKNOWN);
    Plan { length, exit }
}

/// The length in a tag `gridrig_ID_LENGTH`; `:`, `-` and `.` separate as well,
/// since brokers rewrite names.
fn tag(text: &str) -> Option<SimDuration> {
    let at = text.find("gridrig")?;
    let rest = &text[at + "gridrig".len()..];
    let mut parts = rest.split(['_', ':', '-', ' ']);
    if !parts.next()?.is_empty() || parts.next()?.is_empty() {
        return None;
    }
    SimDuration::parse(parts.next()?).ok()
}

/// What whoever submitted the job calls it: a `#GRIDRIG tag=NAME` line of its
/// script, the variable `GRIDRIG_TAG` of its environment, a comment with a tag
/// of ours, else its name.
pub(super) fn tag_of(batch: &Batch) -> String {
    let text = String::from_utf8_lossy(&batch.script);
    let said = directives(&text).filter_map(|(key, value)| (key == "tag").then_some(value));
    if let Some(said) = said.last() {
        return said.to_owned();
    }
    let mut variables = batch.env.iter();
    if let Some((_, value)) = variables.find(|(name, _)| name == TAG_VARIABLE) {
        return value.clone();
    }
    let comment = batch.comment.as_ref();
    let ours = comment.filter(|comment| comment.contains("gridrig_"));
    ours.unwrap_or(&batch.name).clone()
}

/// The words `KEY=VALUE` of the `#GRIDRIG` lines.
fn directives(script: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = script.lines();
    let said = lines.filter_map(|line| line.trim_start().strip_prefix("#GRIDRIG"));
    said.flat_map(str::split_whitespace)
        .filter_map(|word| word.split_once('='))
}

/// Run time and exit code of the `#GRIDRIG` lines.
fn directive(script: &str) -> (Option<SimDuration>, Option<u8>) {
    let (mut length, mut exit) = (None, None);
    for (key, value) in directives(script) {
        match key {
            "runtime" => length = SimDuration::parse(value).ok().or(length),
            "exit" => exit = value.parse().ok().or(exit),
            _ => {}
        }
    }
    (length, exit)
}

/// What reading a script shows.
struct Seen {
    slept: SimDuration,
    exit: u8,
    /// Whether every command in it is one whose effect on time is known.
    understood: bool,
}

fn read_script(script: &str) -> Seen {
    let mut seen = Seen {
        slept: SimDuration::ZERO,
        exit: 0,
        understood: !script.is_empty(),
    };
    for line in script.lines() {
        for command in line.split([';', '&', '|']) {
            let args = words(command);
            let mut args = args.iter().map(String::as_str).peekable();
            while args
                .next_if(|word| ["exec", "srun", "time"].contains(word))
                .is_some()
            {}
            let Some(name) = args.next() else { continue };
            match name.rsplit('/').next().unwrap_or(name) {
                "sleep" => {
                    let slept = args
                        .map(|arg| sleep_seconds(arg).unwrap_or(0.0))
                        .sum::<f64>();
                    let nanos = (slept.min(LONGEST_SLEEP) * 1e9) as u64;
                    let total = seen.slept.as_nanos().saturating_add(nanos);
                    seen.slept = SimDuration::from_nanos(total);
                }
                "exit" if seen.understood => {
                    seen.exit = args.next().and_then(|code| code.parse().ok()).unwrap_or(0);
                    return seen;
                }
                "false" => seen.exit = 1,
                "true" | ":" | "echo" | "hostname" | "date" | "pwd" => seen.exit = 0,
                "cd" | "export" | "set" | "umask" => {}
                _ => seen.understood = false,
            }
        }
    }
    seen
}

/// Seconds of an argument of `sleep`.
fn sleep_seconds(text: &str) -> Option<f64> {
    let unit = match text.bytes().last()? {
        b's' => 1.0,
        b'm' => 60.0,
        b'h' => 3_600.0,
        b'd' => 86_400.0,
        _ => {
            return text
                .parse()
                .ok()
                .filter(|s: &f64| s.is_finite() && *s >= 0.0);
        }
    };
    let count: f64 = text[..text.len() - 1].parse().ok()?;
    (count.is_finite() && count >= 0.0).then_some(count * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::times::Limit;

    fn of(name: &str, script: &str, limit: Option<u64>) -> (f64, u8) {
        let batch = Batch {
            name: name.to_owned(),
            script: script.as_bytes().to_vec(),
            limit: limit.map(Limit::Seconds),
            ..Batch::default()
        };
        let plan = plan(&batch);
        (plan.length.as_secs_f64(), plan.exit)
    }

    #[test]
    fn the_sources_of_a_length_have_an_order() {
        let script = "#!/bin/sh\n#GRIDRIG runtime=20s exit=3\nsleep 10\n";
        assert_eq!(of("gridrig_17_30s", script, Some(60)), (30.0, 3));
        assert_eq!(of("other", script, Some(60)), (20.0, 3));
        assert_eq!(of("other", "#!/bin/sh\nsleep 10\n", Some(60)), (10.0, 0));
        assert_eq!(of("other", "#!/bin/sh\n./simulate\n", Some(60)), (60.0, 0));
        assert_eq!(of("other", "#!/bin/sh\n./simulate\n", None), (1.0, 0));
        assert_eq!(of("gridrig", "#!/bin/sh\nhostname\n", Some(60)), (0.0, 0));
    }

    #[test]
    fn a_job_is_called_by_its_tag_or_else_by_its_name() {
        let mut batch = Batch {
            name: "name".to_owned(),
            ..Batch::default()
        };
        assert_eq!(tag_of(&batch), "name");
        batch.comment = Some("a remark".to_owned());
        assert_eq!(tag_of(&batch), "name");
        batch.comment = Some("gridrig_1j2_3s".to_owned());
        assert_eq!(tag_of(&batch), "gridrig_1j2_3s");
        batch.env = vec![("GRIDRIG_TAG".to_owned(), "variable".to_owned())];
        assert_eq!(tag_of(&batch), "variable");
        batch.script = b"#!/bin/sh\n#GRIDRIG runtime=5s tag=line\nsleep 1\n".to_vec();
        assert_eq!(tag_of(&batch), "line");
    }

    #[test]
    fn sleeping_is_added_up_until_the_script_leaves() {
        let (slept, code) = of(
            "",
            "#!/bin/sh\nsleep 1m; /bin/sleep 0.5\nexit 4\nsleep 9\n",
            None,
        );
        assert_eq!((slept, code), (60.5, 4));
        assert_eq!(of("", "#!/bin/sh\nsleep 1 && false\n", None), (1.0, 1));
        assert_eq!(of("", "#!/bin/sh\nsleep 1e300\n", None).0, LONGEST_SLEEP);
        assert_eq!(of("", "#!/bin/sh\nsleep nan -5\n", None), (0.0, 0));
    }
}
