//! What attributes say: a single value, a range or a list, and statistics.

use crate::time::Decimal;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One value: a number if it reads as one, else a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A number.
    Number(Decimal),
    /// A text.
    Text(Arc<str>),
}

impl Value {
    /// The value that is written like this. Only the shortest way to write a
    /// number is one, so that the version `5.10` stays a text and every value
    /// is read as it was written.
    pub fn read(text: &str) -> Self {
        match Decimal::parse_long(text) {
            Some(number) if number.to_string() == text => Value::Number(number),
            _ => Value::Text(Arc::from(text)),
        }
    }

    /// A text; one that reads as a number is that number.
    pub fn text(text: &str) -> Self {
        Self::read(text)
    }

    /// A number.
    pub fn number(number: impl Into<Decimal>) -> Self {
        Value::Number(number.into())
    }

    /// The number, if it is one.
    pub const fn as_number(&self) -> Option<Decimal> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// The values that an attribute has in the resources of a record (LA Grid
/// 2.2: "either a single value, a range value, or a list of values").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// All have this one.
    Single(Value),
    /// The smallest and the greatest are these; nothing is said of the others.
    Range(Decimal, Decimal),
    /// These occur and no others. More than one, sorted, each once.
    List(Vec<Value>),
}

impl Values {
    /// The values that occur, as a list or, if that is wanted and all are
    /// numbers, as a range. `None` if there are none.
    pub fn of(values: BTreeSet<Value>, as_range: bool) -> Option<Self> {
        let numbers: Option<Vec<Decimal>> = values.iter().map(Value::as_number).collect();
        if let (true, [min, .., max]) = (as_range, numbers.as_deref().unwrap_or_default()) {
            return Some(Values::Range(*min, *max));
        }
        let mut values: Vec<Value> = values.into_iter().collect();
        match values.len() {
            0 => None,
            1 => values.pop().map(Values::Single),
            _ => Some(Values::List(values)),
        }
    }

    /// The smallest number; `None` if a text is among the values.
    pub fn min(&self) -> Option<Decimal> {
        self.ends().map(|(min, _)| min)
    }

    /// The greatest number; `None` if a text is among the values.
    pub fn max(&self) -> Option<Decimal> {
        self.ends().map(|(_, max)| max)
    }

    fn ends(&self) -> Option<(Decimal, Decimal)> {
        match self {
            Values::Single(value) => value.as_number().map(|number| (number, number)),
            Values::Range(min, max) => Some((*min, *max)),
            Values::List(values) => {
                let numbers: Option<Vec<Decimal>> = values.iter().map(Value::as_number).collect();
                let numbers = numbers?;
                Some((*numbers.iter().min()?, *numbers.iter().max()?))
            }
        }
    }
}

/// For people: `x86`, `2000..3200` or `{LINUX, WINDOWS}`.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Single(value) => value.fmt(f),
            Values::Range(min, max) => write!(f, "{min}..{max}"),
            Values::List(values) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "{{{}}}", values.join(", "))
            }
        }
    }
}

/// An attribute of a record.
///
/// Its statistics are told where values differ and the schema keeps them: of
/// a single value they follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its values.
    pub values: Values,
    /// How many of the record's resources have it: at least 1, at most all.
    pub count: u64,
    /// Their sum as told; see [`Attribute::total`].
    pub told_total: Option<Decimal>,
    /// Their mean, rounded down to nine places, as told; see
    /// [`Attribute::mean`].
    pub told_mean: Option<Decimal>,
    /// Their median (the mean of the two in the middle, rounded down to nine
    /// places) as told; see [`Attribute::median`].
    pub told_median: Option<Decimal>,
}

impl Attribute {
    /// The value that all `count` resources of a record have.
    pub fn single(value: Value, count: u64) -> Self {
        Attribute {
            values: Values::Single(value),
            count,
            told_total: None,
            told_mean: None,
            told_median: None,
        }
    }

    fn number(&self) -> Option<Decimal> {
        match &self.values {
            Values::Single(value) => value.as_number(),
            Values::Range(..) | Values::List(_) => None,
        }
    }

    /// The sum of the numbers, if it is known.
    pub fn total(&self) -> Option<Decimal> {
        let single = || Some(self.number()?.times(self.count));
        self.told_total.or_else(single)
    }

    /// The mean of the numbers, rounded down to nine places, if it is known.
    pub fn mean(&self) -> Option<Decimal> {
        let by_total = || self.told_total?.over(self.count);
        self.told_mean.or_else(by_total).or_else(|| self.number())
    }

    /// The median of the numbers, if it is known.
    pub fn median(&self) -> Option<Decimal> {
        self.told_median.or_else(|| self.number())
    }

    /// The smallest number.
    pub fn min(&self) -> Option<Decimal> {
        self.values.min()
    }

    /// The greatest number.
    pub fn max(&self) -> Option<Decimal> {
        self.values.max()
    }
}
