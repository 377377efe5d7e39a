//! Bounds that a user sets: `processors.ks < 0.02`.

use super::statistics::STATISTICS;
use gridrig_scenario::threshold::Comparison;
use std::fmt;
use std::str::FromStr;

/// A bound on one statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Name of the statistic.
    pub name: &'static str,
    relation: Comparison,
    bound: f64,
}

/// What is wrong with a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requirement \"{text}\": {problem}")]
pub struct RequirementError {
    text: String,
    problem: String,
}

impl Requirement {
    /// Whether a value is within the bound.
    pub fn met_by(&self, value: f64) -> bool {
        self.relation.holds(&value, &self.bound)
    }
}

/// Relations as they are written, longer ones first.
fn relations() -> impl Iterator<Item = (&'static str, Comparison)> {
    let signs = Comparison::SIGNS.into_iter();
    signs.filter(|sign| sign.1 != Comparison::Equal)
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let refuse = |problem: String| RequirementError {
            text: text.to_owned(),
            problem,
        };
        let parts = relations().find_map(|(sign, it)| Some((text.split_once(sign)?, it)));
        let form = || refuse("expected STATISTIC < NUMBER, or <=, >, >=".to_owned());
        let ((name, bound), relation) = parts.ok_or_else(form)?;
        let (name, bound) = (name.trim(), bound.trim());
        let found = STATISTICS.iter().find(|s| s.name == name);
        let statistic = found.ok_or_else(|| {
            let known = STATISTICS.map(|s| s.name).join(", ");
            refuse(format!("statistic = \"{name}\": expected one of {known}"))
        })?;
        let number = bound.parse().ok().filter(|n: &f64| n.is_finite());
        let expected = || refuse(format!("bound = \"{bound}\": expected a finite number"));
        Ok(Requirement {
            name: statistic.name,
            relation,
            bound: number.ok_or_else(expected)?,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = relations().find(|sign| sign.1 == self.relation);
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
