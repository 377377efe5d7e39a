//! Filters as the headers of the archive's cleaned logs spell them.

use super::{Fields, processors};
use crate::threshold::Comparison;
use gridrig_core::time::NANOS_PER_SEC;
use std::fmt;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Conditions that all hold: `user=135 and (job>=47421 and job<=50307)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<Condition>);

/// What a condition looks at, by the archive's names and the number of its
/// field, as [`Fields::field`] takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Quality {
    /// Job number.
    Job = 1,
    /// User.
    User = 12,
    /// Group.
    Group = 13,
    /// Executable.
    App = 14,
    /// Queue.
    Queue = 15,
    /// Partition.
    Partition = 16,
    /// Account: the project of GWF.
    Account = 29,
    /// Processors: allocated, else requested.
    Proc = 5,
    /// Run time in whole seconds, cut off.
    Run = 4,
    /// Submit time in whole seconds from the log's time 0, cut off.
    Submit = 2,
    /// Status.
    Status = 11,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Condition {
    quality: Quality,
    relation: Comparison,
    value: u64,
}

/// The longer signs first: `<=` begins with `<`.
const RELATIONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
    ("=", Comparison::Equal),
];

/// The jobs of a user from one number to another.
const FLURRY: [(Quality, Comparison); 3] = [
    (Quality::User, Comparison::Equal),
    (Quality::Job, Comparison::AtLeast),
    (Quality::Job, Comparison::AtMost),
];

impl Filter {
    /// Reads conditions joined by `and`; parentheses change nothing.
    ///
    /// # Errors
    /// What would have been right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare: String = text
            .chars()
            .map(|c| if matches!(c, '(' | ')') { ' ' } else { c })
            .collect();
        let mut conditions = Vec::new();
        for part in bare.split(" and ") {
            conditions.push(Condition::parse(part).ok_or_else(|| {
                let names = <Quality as VariantNames>::VARIANTS;
                format!(
                    "conditions such as user=135 and job>=47421, with one of {} and a whole \
                     number",
                    names.join(", ")
                )
            })?);
        }
        Ok(Filter(conditions))
    }

    /// Reads `USER@FROM-TO`.
    pub(super) fn of_flurry(text: &str) -> Option<Self> {
        let (user, jobs) = text.split_once('@')?;
        let (from, to) = jobs.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let (user, from, to) = (number(user)?, number(from)?, number(to)?);
        let condition = |((quality, relation), value)| Condition {
            quality,
            relation,
            value,
        };
        let conditions = FLURRY.into_iter().zip([user, from, to]).map(condition);
        (from <= to).then(|| Filter(conditions.collect()))
    }

    /// Whether all conditions hold; a field that is not available meets none.
    pub fn holds(&self, job: &impl Fields) -> bool {
        self.0.iter().all(|condition| condition.holds(job))
    }

    /// As `user=U and (job>=A and job<=B)`, the archive's way for a flurry.
    fn as_flurry(&self) -> Option<String> {
        let [user, from, to] = self.0.as_slice() else {
            return None;
        };
        let shape = [user, from, to].map(|c| (c.quality, c.relation));
        (shape == FLURRY).then(|| format!("{user} and ({from} and {to})"))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(flurry) = self.as_flurry() {
            return f.write_str(&flurry);
        }
        for (at, condition) in self.0.iter().enumerate() {
            let and = if at == 0 { "" } else { " and " };
            write!(f, "{and}{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: &str = self.quality.into();
        let sign = RELATIONS.iter().find(|r| r.1 == self.relation);
        let sign = sign.map_or("", |r| r.0);
        write!(f, "{name}{sign}{}", self.value)
    }
}

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        let at = text.find(['<', '>', '='])?;
        let (name, rest) = text.split_at(at);
        let quality = name.trim().parse().ok()?;
        let (sign, relation) = RELATIONS.into_iter().find(|r| rest.starts_with(r.0))?;
        let value = rest[sign.len()..].trim().parse().ok()?;
        Some(Condition {
            quality,
            relation,
            value,
        })
    }

    fn holds(&self, job: &impl Fields) -> bool {
        let field = job.field(self.quality as usize);
        let found = match self.quality {
            Quality::Proc => processors(job),
            Quality::Run | Quality::Submit => field.map(|nanos| nanos / NANOS_PER_SEC),
            _ => field,
        };
        found.is_some_and(|found| self.relation.holds(&found, &self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Line;
    use super::*;

    #[test]
    fn filters_are_read_and_written_as_cleaned_logs_have_them() {
        for text in [
            "user=135 and (job>=47421 and job<=50307)",
            "user=2",
            "job<=10",
            "user=3 and proc=1 and app=1",
        ] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(filter.to_string(), text);
        }
        let flurry = Filter::of_flurry("135@47421-50307").unwrap();
        assert_eq!(
            flurry.to_string(),
            "user=135 and (job>=47421 and job<=50307)"
        );
        let spaced = Filter::parse(" run > 5 and  queue < 2 ").unwrap();
        assert_eq!(spaced.to_string(), "run>5 and queue<2");
        for bad in [
            "",
            "user",
            "user=",
            "user=x",
            "or=1",
            "user=1 or job=2",
            "user==1",
        ] {
            assert!(Filter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_field_that_is_not_available_meets_no_condition() {
        let filter = Filter::parse("user>=0").unwrap();
        let job = Line::default();
        assert!(!filter.holds(&job));
        assert!(filter.holds(&job.with(12, 0)));
    }
}
