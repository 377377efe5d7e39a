//! Axes: what a direction of a picture means, and where values lie on it.

use crate::plot::format;
use crate::plot::table::Cell;
use std::borrow::Cow;

/// What the numbers of an axis are.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Unit {
    /// Numbers without a unit, or counts whose noun is the axis label.
    #[default]
    Plain,
    /// Seconds, shown in s, min, h or d.
    Seconds,
    /// Shares from 0 to 1, shown in per cent.
    Fraction,
    /// Any other unit, shown behind the axis label.
    Named(Cow<'static, str>),
}

impl Unit {
    /// A value with its unit, as tables and tool tips show it.
    pub fn show(&self, value: f64) -> String {
        match self {
            Unit::Plain => format::number(value),
            Unit::Seconds => format::seconds(value),
            Unit::Fraction => format::percent(value),
            Unit::Named(unit) if value.is_finite() => {
                format!("{} {unit}", format::number(value))
            }
            Unit::Named(_) => format::number(value),
        }
    }

    /// A cell of a table.
    pub(super) fn cell(&self, value: impl Into<Option<f64>>) -> Cell {
        Cell::shown(value.into().unwrap_or(f64::NAN), |value| self.show(value))
    }
}

/// How values are laid out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Kind {
    #[default]
    Linear,
    Log,
    Categories(Vec<String>),
}

/// One axis of a picture.
///
/// Without a range it spans what is drawn; a linear axis under bars or areas
/// always includes 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Axis {
    pub(super) label: String,
    pub(super) unit: Unit,
    pub(super) kind: Kind,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) include: Vec<f64>,
}

impl Axis {
    /// An axis of equal steps.
    pub fn linear(label: impl Into<String>, unit: Unit) -> Self {
        Axis::of(label.into(), unit, Kind::Linear)
    }

    /// A logarithmic axis. Values that are not positive cannot be shown on it:
    /// they are left out and counted (in a CDF they count as lying left of the
    /// axis, so that its shares stay right).
    pub fn log(label: impl Into<String>, unit: Unit) -> Self {
        Axis::of(label.into(), unit, Kind::Log)
    }

    /// An axis of names, for [`crate::plot::Series::bars`]; the value `i` is
    /// the middle of the i-th name.
    pub fn categories<T: Into<String>>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = T>,
    ) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Axis::of(label.into(), Unit::Plain, Kind::Categories(names))
    }

    /// Fixes both ends; what lies outside is cut. Ends that are not finite,
    /// not apart, or not positive on a log axis are ignored.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        let drawable = low.is_finite() && high.is_finite() && low < high;
        if drawable && (self.kind != Kind::Log || low > 0.0) {
            (self.low, self.high) = (Some(low), Some(high));
        }
        self
    }

    /// Extends the axis so that this value can be seen.
    pub fn include(mut self, value: f64) -> Self {
        self.include.push(value);
        self
    }

    /// Label with the unit behind it, where ticks do not carry the unit.
    pub(super) fn title(&self) -> String {
        match &self.unit {
            Unit::Named(unit) if !self.label.is_empty() => format!("{} ({unit})", self.label),
            Unit::Named(unit) => unit.to_string(),
            _ => self.label.clone(),
        }
    }

    /// Whether a value has a place on this axis.
    pub(super) fn can_show(&self, value: f64) -> bool {
        // Beyond this, the span of an axis could not be computed.
        value.is_finite() && value.abs() <= 1e300 && (self.kind != Kind::Log || value >= 1e-300)
    }

    fn of(label: String, unit: Unit, kind: Kind) -> Self {
        Axis {
            label,
            unit,
            kind,
            ..Axis::default()
        }
    }

    /// The ends of the axis for data between these values.
    pub(super) fn ends(&self, data: Option<(f64, f64)>) -> Option<(f64, f64)> {
        if let Kind::Categories(names) = &self.kind {
            return (!names.is_empty()).then(|| (-0.5, names.len() as f64 - 0.5));
        }
        if let (Some(low), Some(high)) = (self.low, self.high) {
            return Some((low, high));
        }
        let (mut low, mut high) = data?;
        for value in self.include.iter().filter(|value| self.can_show(**value)) {
            (low, high) = (low.min(*value), high.max(*value));
        }
        Some(match self.kind {
            Kind::Log if high / low < 1.0 + 1e-9 => (low / 2.0, high * 2.0),
            Kind::Log => (low, high),
            _ => apart(low, high),
        })
    }
}

/// Moves ends that (nearly) coincide apart, since no step fits between them.
fn apart(low: f64, high: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low > size * 1e-9 && high - low > 1e-290 {
        return (low, high);
    }
    match size < 1e-280 {
        true => (low.min(0.0), 1.0),
        false if low >= 0.0 => (0.0, high * 1.25),
        false if high <= 0.0 => (low * 1.25, 0.0),
        false => (low - size, high + size),
    }
}

/// Where values of an axis lie, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    log: bool,
    /// Between which pixels it lies.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Half the lower end, and pixels per half a unit: the difference of two
    /// huge values would not be finite, that of their halves is.
    half_low: f64,
    per_half: f64,
}

impl Scale {
    /// The scale that puts the ends of the axis at these pixels.
    pub(super) fn new(axis: &Axis, ends: (f64, f64), from: f64, to: f64) -> Self {
        let log = axis.kind == Kind::Log;
        let (low, high) = match log {
            true => (ends.0.ln(), ends.1.ln()),
            false => ends,
        };
        Scale {
            log,
            from,
            to,
            half_low: low / 2.0,
            per_half: (to - from) / (high / 2.0 - low / 2.0),
        }
    }

    /// The place of a value; `None` if it has none. Far outside it is cut, to
    /// where no renderer minds.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.log && value <= 0.0) {
            return None;
        }
        let value = if self.log { value.ln() } else { value };
        Some((self.from + (value / 2.0 - self.half_low) * self.per_half).clamp(-1e5, 1e5))
    }

    /// Whether a place lies between the ends, with half a pixel of tolerance.
    pub(super) fn holds(&self, at: f64) -> bool {
        let (low, high) = (self.from.min(self.to) - 0.5, self.from.max(self.to) + 0.5);
        (low..=high).contains(&at)
    }

    /// The place of a value that lies between the ends; `None` elsewhere.
    pub(super) fn inside(&self, value: f64) -> Option<f64> {
        self.at(value).filter(|at| self.holds(*at))
    }

    /// The place of a value, moved to the nearer end if it lies outside.
    pub(super) fn clamped(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        match value {
            v if self.log && v <= 0.0 => Some(self.from),
            f64::INFINITY => Some(self.to),
            f64::NEG_INFINITY => Some(self.from),
            v => self.at(v).map(|at| at.clamp(low, high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_its_place_between_the_ends() {
        let linear = Axis::linear("x", Unit::Plain);
        let log = Axis::log("x", Unit::Plain);
        for (value, on_log, at) in [(0.0, 1.0, 0.0), (5.0, 10.0, 300.0), (10.0, 100.0, 600.0)] {
            let linear = Scale::new(&linear, (0.0, 10.0), 0.0, 600.0);
            let log = Scale::new(&log, (1.0, 100.0), 0.0, 600.0);
            assert!((linear.at(value).unwrap() - at).abs() < 1e-9);
            assert!((log.at(on_log).unwrap() - at).abs() < 1e-9);
        }
        assert_eq!(Scale::new(&log, (1.0, 10.0), 0.0, 1.0).at(0.0), None);
    }

    #[test]
    fn ends_are_always_apart_and_finite() {
        let axis = Axis::linear("x", Unit::Plain);
        for (low, high) in [
            (0.0, 0.0),
            (5.0, 5.0),
            (-5.0, -5.0),
            (1e300, 1e300),
            (-1e300, 1e300),
            (5e-324, 1e-323),
            (1.0, 1.0 + f64::EPSILON),
        ] {
            let (a, b) = axis.ends(Some((low, high))).unwrap();
            assert!(a < b && (b - a).is_finite(), "{low} {high}");
            assert!(a <= low && high <= b, "{low} {high} in {a} {b}");
        }
        assert_eq!(axis.ends(None), None);
    }

    #[test]
    fn a_senseless_range_is_ignored() {
        let axis = Axis::log("x", Unit::Plain)
            .range(0.0, 10.0)
            .range(f64::NAN, 1.0);
        assert_eq!((axis.low, axis.high), (None, None));
        let axis = Axis::linear("x", Unit::Plain)
            .range(3.0, 3.0)
            .range(0.0, 2.0);
        assert_eq!((axis.low, axis.high), (Some(0.0), Some(2.0)));
    }
}
