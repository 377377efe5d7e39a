//! Range values (JSDL 1.0, section 5.2.3): a set of numbers as the union of
//! exact values, intervals and half-open intervals.

use super::language::Jsdl;
use crate::xml::JSDL;
use crate::xml::record::structs;

structs! { Jsdl in JSDL:
    /// A set of numbers; without any member it says nothing.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RangeValue [some "Exact, Range, LowerBoundedRange or UpperBoundedRange"] {
        /// `UpperBoundedRange`: everything up to a bound.
        pub upper: Option<Bound> = "UpperBoundedRange",
        /// `LowerBoundedRange`: everything from a bound on.
        pub lower: Option<Bound> = "LowerBoundedRange",
        /// `Exact`, any number.
        pub exact: Vec<Exact> = "Exact",
        /// `Range`, any number.
        pub ranges: Vec<Range> = "Range",
    }

    /// An interval.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Range {
        /// Where it begins.
        pub lower: Bound = "LowerBound",
        /// Where it ends.
        pub upper: Bound = "UpperBound",
    }
}

/// The end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Where it ends.
    pub value: f64,
    /// Whether the end itself is out of it (`exclusiveBound`).
    pub exclusive: bool,
}

/// One number, or those close to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// The number.
    pub value: f64,
    /// How far from it is near enough.
    pub epsilon: Option<f64>,
}

impl Bound {
    /// A bound that is itself within.
    pub fn inclusive(value: f64) -> Self {
        Bound {
            value,
            exclusive: false,
        }
    }

    fn above(self, value: f64) -> bool {
        value < self.value || (!self.exclusive && value == self.value)
    }

    fn below(self, value: f64) -> bool {
        value > self.value || (!self.exclusive && value == self.value)
    }

    /// The least whole number from here on.
    fn least(self) -> f64 {
        let up = self.value.ceil();
        if self.exclusive && up == self.value {
            up + 1.0
        } else {
            up
        }
    }
}

impl RangeValue {
    /// This number and no other.
    pub fn exactly(value: f64) -> Self {
        RangeValue {
            exact: vec![Exact {
                value,
                epsilon: None,
            }],
            ..RangeValue::default()
        }
    }

    /// This number and all above it.
    pub fn at_least(value: f64) -> Self {
        RangeValue {
            lower: Some(Bound::inclusive(value)),
            ..RangeValue::default()
        }
    }

    /// Whether a number is in the set.
    pub fn contains(&self, value: f64) -> bool {
        let near = |exact: &Exact| (value - exact.value).abs() <= exact.epsilon.unwrap_or(0.0);
        let within = |range: &Range| range.lower.below(value) && range.upper.above(value);
        self.upper.is_some_and(|bound| bound.above(value))
            || self.lower.is_some_and(|bound| bound.below(value))
            || self.exact.iter().any(near)
            || self.ranges.iter().any(within)
    }

    /// The least whole number from `from` on that is in the set; `None` where
    /// there is none below 2^53, up to which every whole number is told apart.
    pub fn least_whole(&self, from: u32) -> Option<u64> {
        let from = f64::from(from);
        let nearest = |it: &Exact| Bound::inclusive(it.value - it.epsilon.unwrap_or(0.0));
        let starts = self.exact.iter().map(nearest);
        let starts = starts
            .chain(self.ranges.iter().map(|range| range.lower))
            .chain(self.lower)
            .chain(self.upper.map(|_| Bound::inclusive(from)));
        let least = starts
            .map(|bound| bound.least().max(from))
            .filter(|least| *least < EXACT_WHOLES && self.contains(*least))
            .min_by(f64::total_cmp)?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number from 0 to 2^53"
        )]
        Some(least as u64)
    }
}

/// 2^53.
const EXACT_WHOLES: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: f64, upper: f64) -> Range {
        Range {
            lower: Bound::inclusive(lower),
            upper: Bound::inclusive(upper),
        }
    }

    #[test]
    fn the_least_whole_number_of_a_union_is_that_of_its_lowest_part() {
        let mut value = RangeValue::exactly(9.0);
        assert_eq!(value.least_whole(0), Some(9));
        value.ranges.push(range(3.5, 3.9));
        assert_eq!(
            value.least_whole(0),
            Some(9),
            "no whole number in the range"
        );
        value.ranges.push(range(6.2, 8.0));
        assert_eq!(value.least_whole(0), Some(7));
        value.lower = Some(Bound {
            value: 5.0,
            exclusive: true,
        });
        assert_eq!(value.least_whole(0), Some(6));
        value.upper = Some(Bound::inclusive(2.0));
        assert_eq!(value.least_whole(0), Some(0));
        assert_eq!(value.least_whole(1), Some(1));
        assert_eq!(value.least_whole(3), Some(6));
    }

    #[test]
    fn a_set_without_whole_numbers_has_no_least_one() {
        assert_eq!(RangeValue::default().least_whole(0), None);
        assert_eq!(RangeValue::exactly(2.5).least_whole(0), None);
        assert_eq!(RangeValue::exactly(-1.0).least_whole(0), None);
        assert_eq!(RangeValue::at_least(1e300).least_whole(0), None);
        let mut near = RangeValue::exactly(2.5);
        near.exact[0].epsilon = Some(0.5);
        assert_eq!(near.least_whole(0), Some(2));
    }
}
