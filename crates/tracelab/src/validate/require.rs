//! Bounds that a user sets: `processors.ks < 0.02`.

use super::statistics::STATISTICS;
use std::fmt;
use std::str::FromStr;

/// A bound on one statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Name of the statistic.
    pub name: &'static str,
    relation: Relation,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Relations as they are written, longer ones first.
const RELATIONS: [(&str, Relation); 4] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Less),
    (">", Relation::More),
];

/// What is wrong with a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// No relation.
    #[error("requirement \"{0}\": expected STATISTIC < NUMBER, or <=, >, >=")]
    Form(String),
    /// An unknown name.
    #[error("requirement \"{text}\": statistic = \"{name}\": expected one of {known}")]
    Name {
        /// The requirement.
        text: String,
        /// The name in it.
        name: String,
        /// All names.
        known: String,
    },
    /// No number.
    #[error("requirement \"{text}\": bound = \"{bound}\": expected a finite number")]
    Bound {
        /// The requirement.
        text: String,
        /// The bound in it.
        bound: String,
    },
}

impl Requirement {
    /// Whether a value is within the bound.
    #[must_use]
    pub fn met_by(&self, value: f64) -> bool {
        match self.relation {
            Relation::Less => value < self.bound,
            Relation::AtMost => value <= self.bound,
            Relation::More => value > self.bound,
            Relation::AtLeast => value >= self.bound,
        }
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let parts = RELATIONS
            .iter()
            .find_map(|(sign, relation)| Some((text.split_once(sign)?, *relation)));
        let ((name, bound), relation) =
            parts.ok_or_else(|| RequirementError::Form(text.to_owned()))?;
        let (name, bound) = (name.trim(), bound.trim());
        let found = STATISTICS.iter().find(|s| s.name == name);
        let statistic = found.ok_or_else(|| RequirementError::Name {
            text: text.to_owned(),
            name: name.to_owned(),
            known: STATISTICS.map(|s| s.name).join(", "),
        })?;
        let number = bound.parse().ok().filter(|n: &f64| n.is_finite());
        Ok(Requirement {
            name: statistic.name,
            relation,
            bound: number.ok_or_else(|| RequirementError::Bound {
                text: text.to_owned(),
                bound: bound.to_owned(),
            })?,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = RELATIONS.iter().find(|r| r.1 == self.relation);
        let sign = sign.map_or("", |r| r.0);
        write!(f, "{} {sign} {}", self.name, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_read_as_it_is_written() {
        let parse = |text: &str| text.parse::<Requirement>().unwrap();
        let bound = parse("processors.ks<0.02");
        assert_eq!(bound.to_string(), "processors.ks < 0.02");
        assert!(bound.met_by(0.019) && !bound.met_by(0.02));
        let least = parse(" clusters.ari >= 0.5 ");
        assert!(least.met_by(0.5) && !least.met_by(0.49));
    }

    #[test]
    fn what_is_no_requirement_is_refused_by_name() {
        let refuse = |text: &str| text.parse::<Requirement>().unwrap_err().to_string();
        assert!(refuse("processors.ks").contains("expected STATISTIC < NUMBER"));
        assert!(refuse("cpus < 1").contains("statistic = \"cpus\": expected one of processors.ks"));
        assert!(refuse("users.tv < lots").contains("bound = \"lots\""));
        assert!(refuse("users.tv < inf").contains("finite"));
    }
}
