//! Rules that leave jobs out, each with its name, its count and its reason.
//!
//! A rule looks at one job at a time, so the same rules serve a stream and a
//! trace in memory, and applying them twice leaves out nothing more. A job is
//! counted under the first rule that holds, in the order of
//! [`Rules::iter`]; `docs/sanitize.md` lists them.

mod filter;

pub use filter::{Filter, Quality};

use gridrig_core::time::SimDuration;
use std::fmt;

/// Fields of time, as bits of [`Facts::below_zero`].
const TIME_FIELDS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 8;

/// Why a job is left out.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumDiscriminants)]
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
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// What holds for the jobs that it leaves out, in words; flurries and
    /// filters in those of the archive's cleaned logs.
    #[must_use]
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
    #[must_use]
    pub fn holds(&self, job: &Facts) -> bool {
        match self {
            Rule::NoSubmitTime => job.submit.is_none(),
            Rule::NeverRan => job
                .run_time
                .is_none_or(|run| run.is_zero() && job.allocated.is_none()),
            Rule::NoProcessors => job.processors().is_none(),
            Rule::NegativeTimes => job.below_zero & TIME_FIELDS != 0,
            Rule::Failed => matches!(job.status, Some(0 | 4)),
            Rule::Cancelled => job.status == Some(5),
            Rule::RunAboveRequested => match (job.run_time, job.requested_time) {
                (Some(run), Some(requested)) => !requested.is_zero() && run > requested,
                _ => false,
            },
            Rule::WiderThan(limit) => job.processors().is_some_and(|p| p > u64::from(*limit)),
            Rule::Flurry(filter) | Rule::Remove(filter) => filter.holds(job),
        }
    }
}

/// What rules look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Job number.
    pub job: Option<u64>,
    /// From the log's time 0.
    pub submit: Option<SimDuration>,
    /// Run time.
    pub run_time: Option<SimDuration>,
    /// Requested time.
    pub requested_time: Option<SimDuration>,
    /// Allocated processors, if above 0.
    pub allocated: Option<u64>,
    /// Requested processors, if above 0.
    pub requested: Option<u64>,
    /// Status.
    pub status: Option<u64>,
    /// User.
    pub user: Option<u64>,
    /// Group.
    pub group: Option<u64>,
    /// Executable.
    pub executable: Option<u64>,
    /// Queue.
    pub queue: Option<u64>,
    /// Partition.
    pub partition: Option<u64>,
    /// Fields below zero that are not -1, bit 0 for field 1.
    pub below_zero: u32,
}

impl Facts {
    /// Its size: allocated, else requested processors.
    #[must_use]
    pub fn processors(&self) -> Option<u64> {
        self.allocated.or(self.requested)
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The text.
    pub text: String,
    /// What would have been right.
    pub expected: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sanitizing rule = \"{}\": expected {}",
            self.text, self.expected
        )
    }
}

impl std::error::Error for RuleError {}

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
    #[must_use]
    pub fn new(mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(|rule| RuleDiscriminants::from(rule));
        let mut kept: Vec<Rule> = Vec::with_capacity(rules.len());
        for rule in rules {
            if !kept.contains(&rule) {
                kept.push(rule);
            }
        }
        Rules(kept)
    }

    /// The rules in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rule that leaves this job out.
    #[must_use]
    pub fn verdict(&self, job: &Facts) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.holds(job))
    }

    /// The same as its place among the rules.
    fn place_of_verdict(&self, job: &Facts) -> Option<usize> {
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
    #[must_use]
    pub fn new(rules: &'a Rules) -> Self {
        Sanitizer {
            rules,
            removed: vec![0; rules.0.len()],
        }
    }

    /// Whether a job stays; one that does not is counted.
    pub fn keeps(&mut self, job: &Facts) -> bool {
        match self.rules.place_of_verdict(job) {
            Some(place) => {
                self.removed[place] += 1;
                false
            }
            None => true,
        }
    }

    /// What every rule has left out so far, in their order.
    #[must_use]
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
    let rule = match (name, value) {
        ("no-submit-time", None) => Rule::NoSubmitTime,
        ("never-ran", None) => Rule::NeverRan,
        ("no-processors", None) => Rule::NoProcessors,
        ("negative-times", None) => Rule::NegativeTimes,
        ("failed", None) => Rule::Failed,
        ("cancelled", None) => Rule::Cancelled,
        ("run-above-requested", None) => Rule::RunAboveRequested,
        ("wider-than", value) => match value.and_then(|v| v.parse().ok()) {
            Some(limit) if limit > 0 => Rule::WiderThan(limit),
            _ => return refuse("wider-than=N with N processors, at least 1"),
        },
        ("flurry", value) => match value.and_then(Filter::of_flurry) {
            Some(filter) => Rule::Flurry(filter),
            None => return refuse("flurry=USER@FROM-TO with a user and two job numbers"),
        },
        ("remove", Some(value)) => match Filter::parse(value) {
            Ok(filter) => Rule::Remove(filter),
            Err(expected) => return refuse(&expected),
        },
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

    fn facts() -> Facts {
        Facts {
            job: Some(5),
            submit: Some(SimDuration::ZERO),
            run_time: Some(SimDuration::from_secs(90)),
            requested_time: Some(SimDuration::from_secs(90)),
            allocated: Some(4),
            status: Some(1),
            user: Some(7),
            ..Facts::default()
        }
    }

    /// Which of all rules hold for a job.
    fn verdicts(job: Facts) -> Vec<&'static str> {
        let all = "no-submit-time,never-ran,no-processors,negative-times,failed,cancelled,\
                   run-above-requested,wider-than=4,flurry=7@10-20,remove=user=9";
        let rules = Rules::parse(all).unwrap();
        assert_eq!(rules.iter().count(), 10);
        let holding = rules.iter().filter(|rule| rule.holds(&job));
        holding.map(Rule::name).collect()
    }

    #[test]
    fn every_rule_holds_for_what_it_says_and_for_nothing_else() {
        let with = |change: fn(&mut Facts)| {
            let mut job = facts();
            change(&mut job);
            verdicts(job)
        };
        assert!(verdicts(facts()).is_empty());
        assert_eq!(with(|j| j.submit = None), ["no-submit-time"]);
        assert_eq!(with(|j| j.run_time = None), ["never-ran"]);
        assert_eq!(with(|j| j.allocated = None), ["no-processors"]);
        assert!(with(|j| (j.allocated, j.requested) = (None, Some(3))).is_empty());
        assert_eq!(with(|j| j.below_zero = 1 << 2), ["negative-times"]);
        assert!(with(|j| j.below_zero = 1 << 10).is_empty());
        assert_eq!(with(|j| j.status = Some(0)), ["failed"]);
        assert_eq!(with(|j| j.status = Some(4)), ["failed"]);
        assert_eq!(with(|j| j.status = Some(5)), ["cancelled"]);
        let longer = with(|j| j.run_time = Some(SimDuration::from_secs(91)));
        assert_eq!(longer, ["run-above-requested"]);
        assert!(with(|j| j.requested_time = Some(SimDuration::ZERO)).is_empty());
        assert_eq!(with(|j| j.allocated = Some(5)), ["wider-than"]);
        assert_eq!(with(|j| j.job = Some(10)), ["flurry"]);
        assert_eq!(with(|j| j.user = Some(9)), ["remove"]);
        let nothing = with(|j| (j.run_time, j.allocated) = (Some(SimDuration::ZERO), None));
        assert_eq!(nothing, ["never-ran", "no-processors"]);
    }

    #[test]
    fn a_job_counts_under_the_first_rule_whatever_the_order_given() {
        for text in ["failed,never-ran", "never-ran, failed ,failed,"] {
            let rules = Rules::parse(text).unwrap();
            let mut sanitizer = Sanitizer::new(&rules);
            let job = Facts {
                run_time: None,
                status: Some(0),
                ..facts()
            };
            assert!(!sanitizer.keeps(&job));
            assert!(sanitizer.keeps(&facts()));
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
