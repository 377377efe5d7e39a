//! How long a job runs: nothing is executed here, so that its length has to
//! be said.

use super::{JobDefinition, JsdlError, Limit, Result};
use gridrig_core::time::SimDuration;

/// The environment variable that says how long a job runs.
const VARIABLE: &str = "GRIDRIG_RUN_TIME";
const EXPECTED: &str = "a length of time such as \"60s\"";

impl JobDefinition {
    /// How long the job runs on a node of speed 1.0, from the first place that
    /// says so; `None` where none does. What it executes is not looked at,
    /// unless it is `sleep`: clients send a wrapper.
    ///
    /// # Errors
    /// When a place says so in words that are no length of time.
    pub fn virtual_length(&self) -> Result<Option<SimDuration>> {
        if self.run_time.is_some() {
            return Ok(self.run_time);
        }
        let name = self.identification.name.as_deref().unwrap_or_default();
        if let Some(length) = annotated(name) {
            let path = "JobDefinition/JobDescription/JobIdentification/JobName";
            return said(path, name, length);
        }
        let Some(program) = self.program() else {
            return Ok(None);
        };
        let inner = |part: &str| {
            let (_, application) = program.kind.element();
            format!("JobDefinition/JobDescription/Application/{application}/{part}")
        };
        for argument in &program.arguments {
            if let Some(length) = annotated(&argument.value) {
                return said(&inner("Argument"), &argument.value, length);
            }
        }
        if let (Some(executable), Some(argument)) = (&program.executable, program.arguments.first())
            && let Some(length) = sleep_length(&executable.value, &argument.value)
        {
            return said(&inner("Argument"), &argument.value, length);
        }
        let variable = program.environment.iter().find(|v| v.name == VARIABLE);
        if let Some(variable) = variable {
            let text = variable.value.value.trim();
            return said(&inner("Environment"), text, SimDuration::parse(text).ok());
        }
        let limit = program.limits.get(&Limit::WallTime);
        limit.map(|seconds| wall_time(*seconds)).transpose()
    }
}

/// A wall-time limit as a length of time.
pub(super) fn wall_time(seconds: u64) -> Result<SimDuration> {
    let nanos = seconds.checked_mul(1_000_000_000).ok_or_else(|| {
        let path = "JobDefinition/JobDescription/Application/POSIXApplication/WallTimeLimit";
        JsdlError::value(path, &seconds.to_string(), "at most 584 years in seconds")
    })?;
    Ok(SimDuration::from_nanos(nanos))
}

fn said(path: &str, text: &str, length: Option<SimDuration>) -> Result<Option<SimDuration>> {
    let wrong = || JsdlError::value(path, text, EXPECTED);
    length.map(Some).ok_or_else(wrong)
}

/// The length in a text such as `sweep-7 runtime=60s`: a word `runtime`, an
/// equals sign, a decimal number and its unit. `None` where there is no such
/// word, `Some(None)` where no length follows it.
///
/// ```
/// use gridrig_protocol::jsdl::annotated;
/// use gridrig_core::time::SimDuration;
///
/// assert_eq!(annotated("k;runtime=1.5min.jt"), Some(Some(SimDuration::from_secs(90))));
/// assert_eq!(annotated("a job"), None);
/// assert_eq!(annotated("runtime=long"), Some(None));
/// ```
pub fn annotated(text: &str) -> Option<Option<SimDuration>> {
    const WORD: &str = "runtime=";
    let begins = |at: usize| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    let (at, _) = text.match_indices(WORD).find(|(at, _)| begins(*at))?;
    let value = &text[at + WORD.len()..];
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(value);
    if let Some(fraction) = value[end..].strip_prefix('.') {
        let more = digits(fraction);
        end += if more > 0 { more + 1 } else { 0 };
    }
    let letters = value[end..].bytes().take_while(u8::is_ascii_alphabetic);
    end += letters.count();
    Some(SimDuration::parse(&value[..end]).ok())
}

/// The length of a job that executes `sleep`, whose argument counts seconds
/// unless it has one of the units s, m, h and d. `None` for another program,
/// `Some(None)` where the argument is no length.
pub fn sleep_length(executable: &str, argument: &str) -> Option<Option<SimDuration>> {
    let program = executable.rsplit('/').next().unwrap_or_default();
    if program != "sleep" {
        return None;
    }
    let argument = argument.trim();
    let bare = argument.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    let text = match bare {
        true => format!("{argument}s"),
        false => argument.to_owned(),
    };
    Some(SimDuration::parse(&text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsdl::{Application, FileName, Program, Variable};

    fn job(change: impl FnOnce(&mut JobDefinition, &mut Program)) -> JobDefinition {
        let (mut job, mut program) = (JobDefinition::default(), Program::default());
        change(&mut job, &mut program);
        job.application = Some(Application {
            program: Some(program),
            ..Application::default()
        });
        job
    }

    #[test]
    fn the_first_place_that_says_the_length_counts() {
        let mut all = job(|job, program| {
            job.run_time = Some(SimDuration::from_secs(1));
            job.identification.name = Some("x runtime=2s".to_owned());
            program.arguments = vec![FileName::of("-v"), FileName::of("--runtime=3s")];
            program.environment = vec![Variable {
                name: "GRIDRIG_RUN_TIME".to_owned(),
                value: FileName::of(" 4s "),
            }];
            program.limits.insert(Limit::WallTime, 5);
        });
        let mut seen = Vec::new();
        for round in 0..6 {
            seen.push(all.virtual_length().unwrap());
            let program = all.application.as_mut().unwrap().program.as_mut().unwrap();
            match round {
                0 => all.run_time = None,
                1 => all.identification.name = None,
                2 => program.arguments.clear(),
                3 => program.environment.clear(),
                _ => program.limits.clear(),
            }
        }
        let expected = (1..=5).map(|seconds| Some(SimDuration::from_secs(seconds)));
        assert_eq!(seen, expected.chain([None]).collect::<Vec<_>>());
    }

    #[test]
    fn a_place_that_says_nonsense_is_refused_by_its_path() {
        let nonsense = job(|job, _| job.identification.name = Some("runtime=soon".to_owned()));
        let error = nonsense.virtual_length().unwrap_err();
        assert!(error.path().unwrap().ends_with("JobName"), "{error}");
    }

    #[test]
    fn sleep_is_the_one_program_whose_length_is_known() {
        let seconds = |n| Some(Some(SimDuration::from_secs(n)));
        assert_eq!(sleep_length("/bin/sleep", "60"), seconds(60));
        assert_eq!(sleep_length("sleep", "2m"), seconds(120));
        assert_eq!(sleep_length("sleep", "infinity"), Some(None));
        assert_eq!(sleep_length("/bin/sleepy", "60"), None);
    }

    #[test]
    fn only_a_word_of_its_own_annotates() {
        assert_eq!(annotated("myruntime=5s"), None);
        assert_eq!(
            annotated("myruntime=5s,runtime=6s"),
            Some(Some(SimDuration::from_secs(6)))
        );
        assert_eq!(annotated("runtime=5"), Some(None));
    }
}
