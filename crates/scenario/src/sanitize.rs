//! Rules that leave jobs out, each with its name, its count and its reason.
//!
//! A rule looks at one job at a time, so the same rules serve a stream and a
//! trace in memory, and applying them twice leaves out nothing more. A job is
//! counted under the first rule that holds, in the order of
//! [`Rules::iter`]; `docs/sanitize.md` lists them.

mod filter;

use crate::each_once;
pub use filter::{Filter, Quality};

/// Fields of time, as bits of [`Fields::below_zero`].
const TIME_FIELDS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 8;

/// Why a job is left out.
#[derive(
    Clone, Debug, PartialEq, Eq, strum::EnumDiscriminants, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[strum_discriminants(
    derive(PartialOrd, Ord),
    vis(),
    doc = "The rules in the order in which they are tried."
)]
pub enum Rule {
    /// It has no submit time.
    NoSubmitTime,
    /// Its run time is below 0, or 0 without allocated processors.
    NeverRan,
    /// Neither its allocated nor its requested processors are above 0.
    NoProcessors,
    /// Its submit, wait, run or requested time is below 0 and not -1.
    NegativeTimes,
    /// Status 0 (or 4, the last part of a job that failed).
    Failed,
    /// Status 5.
    Cancelled,
    /// It ran longer than it asked for.
    RunAboveRequested,
    /// It has more processors than this.
    WiderThan(u32),
    /// A flurry: this user's jobs of these numbers.
    Flurry(Filter),
    /// Whatever this filter finds.
    Remove(Filter),
}

impl Rule {
    /// Its name, the same in the command line, reports and files.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// What holds for the jobs that it leaves out, in words; flurries and
    /// filters in those of the archive's cleaned logs.
    pub fn reason(&self) -> String {
        match self {
            Rule::NoSubmitTime => "submit time not available".to_owned(),
            Rule::NeverRan => "run time below 0, or 0 without allocated processors".to_owned(),
            Rule::NoProcessors => "neither allocated nor requested processors above 0".to_owned(),
            Rule::NegativeTimes => "a time below 0 that is not -1".to_owned(),
            Rule::Failed => "status 0 or 4".to_owned(),
            Rule::Cancelled => "status 5".to_owned(),
            Rule::RunAboveRequested => "run time above requested time".to_owned(),
            Rule::WiderThan(limit) => format!("more than {limit} processors"),
            Rule::Flurry(filter) | Rule::Remove(filter) => filter.to_string(),
        }
    }

    /// Whether it leaves this job out.
    pub fn holds(&self, job: &impl Fields) -> bool {
        match self {
            Rule::NoSubmitTime => job.field(2).is_none(),
            Rule::NeverRan => job
                .field(4)
                .is_none_or(|run| run == 0 && above_zero(job, 5).is_none()),
            Rule::NoProcessors => processors(job).is_none(),
            Rule::NegativeTimes => job.below_zero() & TIME_FIELDS != 0,
            Rule::Failed => matches!(job.field(11), Some(0 | 4)),
            Rule::Cancelled => job.field(11) == Some(5),
            Rule::RunAboveRequested => match (job.field(4), job.field(9)) {
                (Some(run), Some(requested)) => requested > 0 && run > requested,
                _ => false,
            },
            Rule::WiderThan(limit) => processors(job).is_some_and(|p| p > u64::from(*limit)),
            Rule::Flurry(filter) | Rule::Remove(filter) => filter.holds(job),
        }
    }
}

/// A job as rules look at it: a line of the Standard Workload Format.
pub trait Fields {
    /// A field by its number, from 1, those that say whose job it is by their
    /// columns of GWF, which up to 16 are the same; times in nanoseconds, the
    /// submit time from the log's time 0. `None` is *not available*.
    fn field(&self, number: usize) -> Option<u64>;

    /// Fields below zero that are not -1, bit 0 for field 1.
    fn below_zero(&self) -> u32;
}

fn above_zero(job: &impl Fields, number: usize) -> Option<u64> {
    job.field(number).filter(|count| *count > 0)
}

/// Its size: allocated, else requested processors.
fn processors(job: &impl Fields) -> Option<u64> {
    above_zero(job, 5).or_else(|| above_zero(job, 8))
}

/// Rules in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// A rule and what it left out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RuleReport {
    /// [`Rule::name`].
    pub rule: &'static str,
    /// [`Rule::reason`].
    pub reason: String,
    /// Jobs left out.
    pub removed: u64,
}

/// A text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sanitizing rule = \"{text}\": expected {expected}")]
pub struct RuleError {
    /// The text.
    pub text: String,
    /// What would have been right.
    pub expected: String,
}

impl Rules {
    /// Reads a list such as `failed,wider-than=64,flurry=135@47421-50307`.
    /// The order given does not matter, except among flurries and filters.
    ///
    /// # Errors
    /// [`RuleError`] names the rule and what was expected.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let words = text.split(',').map(str::trim).filter(|t| !t.is_empty());
        let rules = words.map(parse_rule).collect::<Result<Vec<_>, _>>()?;
        Ok(Rules::new(rules))
    }

    /// These rules in their order; what is said twice is asked once.
    pub fn new(mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(|rule| RuleDiscriminants::from(rule));
        Rules(each_once(rules))
    }

    /// The rules in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule that leaves this job out.
    pub fn verdict(&self, job: &impl Fields) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.holds(job))
    }

    /// The same as its place among the rules.
    fn place_of_verdict(&self, job: &impl Fields) -> Option<usize> {
        self.0.iter().position(|rule| rule.holds(job))
    }
}

/// Rules at work on a stream of jobs.
#[derive(Clone, Debug)]
pub struct Sanitizer<'a> {
    rules: &'a Rules,
    removed: Vec<u64>,
}

impl<'a> Sanitizer<'a> {
    /// Nothing left out yet.
    pub fn new(rules: &'a Rules) -> Self {
        Sanitizer {
            rules,
            removed: vec![0; rules.0.len()],
        }
    }

    /// Whether a job stays; one that does not is counted.
    pub fn keeps(&mut self, job: &impl Fields) -> bool {
        let place = self.rules.place_of_verdict(job);
        if let Some(place) = place {
            self.removed[place] += 1;
        }
        place.is_none()
    }

    /// What every rule has left out so far, in their order.
    pub fn reports(&self) -> Vec<RuleReport> {
        let counted = self.rules.0.iter().zip(&self.removed);
        counted
            .map(|(rule, removed)| RuleReport {
                rule: rule.name(),
                reason: rule.reason(),
                removed: *removed,
            })
            .collect()
    }
}

fn parse_rule(text: &str) -> Result<Rule, RuleError> {
    let refuse = |expected: &str| {
        Err(RuleError {
            text: text.to_owned(),
            expected: expected.to_owned(),
        })
    };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    };
    let rule = match (name.parse(), value) {
        (Ok(Rule::WiderThan(_)), value) => match value.and_then(|v| v.parse().ok()) {
            Some(limit) if limit > 0 => Rule::WiderThan(limit),
            _ => return refuse("wider-than=N with N processors, at least 1"),
        },
        (Ok(Rule::Flurry(_)), value) => match value.and_then(Filter::of_flurry) {
            Some(filter) => Rule::Flurry(filter),
            None => return refuse("flurry=USER@FROM-TO with a user and two job numbers"),
        },
        (Ok(Rule::Remove(_)), Some(value)) => match Filter::parse(value) {
            Ok(filter) => Rule::Remove(filter),
            Err(expected) => return refuse(&expected),
        },
        (Ok(rule), None) if !matches!(rule, Rule::Remove(_)) => rule,
        _ => {
            return refuse(
                "one of no-submit-time, never-ran, no-processors, negative-times, failed, \
                 cancelled, run-above-requested, wider-than=N, flurry=USER@FROM-TO, remove=FILTER",
            );
        }
    };
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields by number, and those below zero.
    #[derive(Clone, Copy, Default)]
    pub(super) struct Line(pub [Option<u64>; 19], pub u32);

    impl Fields for Line {
        fn field(&self, number: usize) -> Option<u64> {
            self.0[number]
        }

        fn below_zero(&self) -> u32 {
            self.1
        }
    }

    impl Line {
        pub(super) fn with(mut self, number: usize, value: impl Into<Option<u64>>) -> Self {
            self.0[number] = value.into();
            self
        }
    }

    fn line() -> Line {
        let fields = [(1, 5), (2, 0), (4, 90), (5, 4), (9, 90), (11, 1), (12, 7)];
        let set = |line: Line, (number, value)| line.with(number, value);
        fields.into_iter().fold(Line::default(), set)
    }

    /// Which of all rules hold for a job.
    fn verdicts(job: Line) -> Vec<&'static str> {
        let all = "no-submit-time,never-ran,no-processors,negative-times,failed,cancelled,\
                   run-above-requested,wider-than=4,flurry=7@10-20,remove=user=9";
        let rules = Rules::parse(all).unwrap();
        assert_eq!(rules.iter().count(), 10);
        let holding = rules.iter().filter(|rule| rule.holds(&job));
        holding.map(Rule::name).collect()
    }

    #[test]
    fn every_rule_holds_for_what_it_says_and_for_nothing_else() {
        let with = |number, value| verdicts(line().with(number, value));
        assert!(verdicts(line()).is_empty());
        assert_eq!(with(2, None), ["no-submit-time"]);
        assert_eq!(with(4, None), ["never-ran"]);
        assert_eq!(with(5, None), ["no-processors"]);
        assert!(verdicts(line().with(5, None).with(8, 3)).is_empty());
        assert_eq!(verdicts(Line(line().0, 1 << 2)), ["negative-times"]);
        assert!(verdicts(Line(line().0, 1 << 10)).is_empty());
        assert_eq!(with(11, Some(0)), ["failed"]);
        assert_eq!(with(11, Some(4)), ["failed"]);
        assert_eq!(with(11, Some(5)), ["cancelled"]);
        assert_eq!(with(4, Some(91)), ["run-above-requested"]);
        assert!(with(9, Some(0)).is_empty());
        assert_eq!(with(5, Some(5)), ["wider-than"]);
        assert_eq!(with(1, Some(10)), ["flurry"]);
        assert_eq!(with(12, Some(9)), ["remove"]);
        let nothing = verdicts(line().with(4, 0).with(5, None));
        assert_eq!(nothing, ["never-ran", "no-processors"]);
    }

    #[test]
    fn a_job_counts_under_the_first_rule_whatever_the_order_given() {
        for text in ["failed,never-ran", "never-ran, failed ,failed,"] {
            let rules = Rules::parse(text).unwrap();
            let mut sanitizer = Sanitizer::new(&rules);
            assert!(!sanitizer.keeps(&line().with(4, None).with(11, 0)));
            assert!(sanitizer.keeps(&line()));
            let counts: Vec<_> = sanitizer
                .reports()
                .into_iter()
                .map(|r| (r.rule, r.removed))
                .collect();
            assert_eq!(counts, [("never-ran", 1), ("failed", 0)]);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_by_name() {
        for text in [
            "falied",
            "failed=1",
            "wider-than",
            "wider-than=0",
            "wider-than=many",
            "flurry=7",
            "flurry=7@20-10",
            "remove",
            "remove=user~7",
        ] {
            let error = Rules::parse(text).unwrap_err();
            assert_eq!(error.text, text);
            assert!(error.to_string().starts_with("sanitizing rule = "));
        }
        assert!(Rules::parse("").unwrap().is_empty());
    }
}
