//! Where an axis is marked, and what stands at the marks.

use crate::plot::axis::{Axis, Kind, Scale, Unit};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::format::{exponent, grouped, seconds, trim_zeros};
use crate::plot::text;

/// The size of tick labels in pixels.
const SIZE: f64 = 11.0;

/// A mark of an axis. Those without a label are minor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where, in the axis' unit.
    pub value: f64,
    /// What stands there; empty at a minor mark.
    pub label: String,
}

fn tick(value: f64, label: String) -> Tick {
    Tick { value, label }
}

/// Seconds per unit of time, and its name.
const UNITS: [(f64, &str); 4] = [(1.0, "s"), (60.0, "min"), (3600.0, "h"), (86_400.0, "d")];

/// About `want` marks for an axis with these ends; never more than some
/// dozens.
pub(super) fn ticks(axis: &Axis, (low, high): (f64, f64), want: usize) -> Vec<Tick> {
    let want = want.max(1);
    match &axis.kind {
        Kind::Categories(names) => category_ticks(names, want),
        Kind::Log => log_ticks(&axis.unit, low, high, want),
        Kind::Linear => linear_ticks(&axis.unit, low, high, want),
    }
}

/// The step between marks of a linear axis.
pub(super) fn step(unit: &Unit, span: f64, want: usize) -> f64 {
    let least = span / want as f64;
    match unit {
        Unit::Seconds if least > 0.5 => time_step(least),
        _ => nice(least),
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below this.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// The least customary step of time that is not below this.
fn time_step(least: f64) -> f64 {
    const STEPS: [f64; 20] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
        10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    ];
    let known = STEPS.into_iter().find(|step| *step >= least * (1.0 - 1e-9));
    // A fortnight, then decimal numbers of days.
    known.unwrap_or_else(|| match least <= 14.0 * 86_400.0 {
        true => 14.0 * 86_400.0,
        false => nice(least / 86_400.0) * 86_400.0,
    })
}

fn linear_ticks(unit: &Unit, low: f64, high: f64, want: usize) -> Vec<Tick> {
    let step = step(unit, high - low, want);
    if !(step > 0.0 && step.is_finite()) {
        return Vec::new();
    }
    let first = (low / step - 1e-6).ceil();
    let values: Vec<f64> = (0..=want + 2)
        .map(|index| (first + index as f64) * step)
        .take_while(|value| *value <= high + step * 1e-6)
        .collect();
    let most = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    values
        .into_iter()
        .map(|value| tick(value, linear_label(unit, value, step, most)))
        .collect()
}

/// The label of a mark, given the step to the next and the greatest value.
fn linear_label(unit: &Unit, value: f64, step: f64, most: f64) -> String {
    match unit {
        Unit::Fraction => format!("{} %", decimal(value * 100.0, step * 100.0, most * 100.0)),
        Unit::Seconds => {
            let by = UNITS
                .into_iter()
                .rev()
                .find(|(size, _)| step >= *size && (step / size).fract() == 0.0);
            match by {
                Some((size, name)) if most / size < 240.0 || name == "d" => {
                    format!("{} {name}", decimal(value / size, step / size, most / size))
                }
                // Within a day, a clock.
                Some((size, name)) if most < 86_400.0 => {
                    let text = composite(value + 86_400.0, size, name);
                    text.strip_prefix("1 d ")
                        .map_or_else(|| "0:00".to_owned(), str::to_owned)
                }
                Some((size, name)) => composite(value, size, name),
                None => seconds(value),
            }
        }
        _ => decimal(value, step, most),
    }
}

/// `87 d 2 h`: days and the rest in a smaller unit.
fn composite(value: f64, size: f64, name: &str) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let days = (value.abs() / 86_400.0 + 1e-9).floor();
    let rest = value.abs() - days * 86_400.0;
    let hours = (rest / 3600.0 + 1e-9).floor();
    let days_text = format!("{sign}{} d", grouped(&format!("{days:.0}")));
    match name {
        _ if rest < 0.5 => days_text,
        "h" => format!("{days_text} {hours:.0} h"),
        _ => {
            let minutes = ((rest - hours * 3600.0) / 60.0 + 1e-9).floor();
            let clock = format!("{hours:.0}:{minutes:02.0}");
            let shown = match size < 60.0 {
                true => format!("{clock}:{:02.0}", rest - hours * 3600.0 - minutes * 60.0),
                false => clock,
            };
            format!("{days_text} {shown}")
        }
    }
}

/// A decimal number with as many places as the step needs, in millions (and
/// so on) where the greatest value is that large.
fn decimal(value: f64, step: f64, most: f64) -> String {
    let (size, suffix) = match most {
        m if !(1e-4..1e15).contains(&m) && value == 0.0 => return "0".to_owned(),
        m if !(1e-4..1e15).contains(&m) => return exponent(value),
        m if m >= 1e12 => (1e12, " T"),
        m if m >= 1e9 => (1e9, " G"),
        m if m >= 1e6 => (1e6, " M"),
        _ => (1.0, ""),
    };
    let places = (-(step / size).log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize;
    let text = format!("{:.*}", places, value / size);
    match trim_zeros(&text) {
        "0" => "0".to_owned(),
        _ => format!("{}{suffix}", grouped(&text)),
    }
}

fn category_ticks(names: &[String], want: usize) -> Vec<Tick> {
    let every = (names.len().div_ceil(want)).max(1);
    // Strides that readers can count with.
    let mut all = [1, 2, 3, 4, 5, 6, 10, 12, 20, 24, 50, 100].into_iter();
    let every = all.find(|stride| *stride >= every).unwrap_or(every);
    let shown = names.iter().enumerate().step_by(every);
    shown
        .map(|(index, name)| tick(index as f64, name.clone()))
        .collect()
}

/// Marks of a log axis: whole decades (for times 1 s, 10 s, 1 min, 10 min,
/// 1 h, 10 h, 1 d ...) with minor marks between; where the axis holds fewer
/// than two of those, 1-2-5 marks; else as on a linear axis.
fn log_ticks(unit: &Unit, low: f64, high: f64, want: usize) -> Vec<Tick> {
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let all = decades(unit, low, high).into_iter();
    let majors: Vec<f64> = all.filter(inside).collect();
    let fine = |factors: &[f64]| -> Vec<f64> {
        let powers = powers(low, high).map(|power| 10f64.powi(power));
        powers
            .flat_map(|power| factors.iter().map(move |factor| factor * power))
            .filter(inside)
            .collect()
    };
    let labelled = |value: f64| tick(value, log_label(unit, value));
    if majors.len() >= 2 {
        let every = majors.len().div_ceil(want);
        let minors: Vec<f64> = match every {
            1 => minor_decades(unit, &majors)
                .into_iter()
                .filter(inside)
                .collect(),
            _ => Vec::new(),
        };
        let labelled = majors.iter().step_by(every).copied().map(labelled);
        let quiet = minors.into_iter().map(|value| tick(value, String::new()));
        return labelled.chain(quiet).collect();
    }
    let marks = match high / low < 1000.0 {
        true => fine(&[1.0, 2.0, 5.0]),
        false => Vec::new(),
    };
    if marks.len() < 3 || matches!(unit, Unit::Seconds) {
        let positive = linear_ticks(unit, low, high, want).into_iter();
        return positive.filter(|tick| tick.value > 0.0).collect();
    }
    let every = marks.len().div_ceil(want);
    let marks = marks.into_iter().step_by(every);
    marks.map(labelled).collect()
}

/// The powers of ten around two values.
fn powers(low: f64, high: f64) -> std::ops::RangeInclusive<i32> {
    // No float lies outside these but 0 and infinity, whose logarithms are the
    // ends of the integers.
    let power = |log: f64| (log as i32).clamp(-330, 310);
    power(low.log10().floor())..=power(high.log10().ceil())
}

/// The labelled decades of an axis.
fn decades(unit: &Unit, low: f64, high: f64) -> Vec<f64> {
    let powers = powers(low, high);
    let (first, last) = (*powers.start(), *powers.end());
    if !matches!(unit, Unit::Seconds) {
        return powers.map(|power| 10f64.powi(power)).collect();
    }
    let below = (first..0).map(|power| 10f64.powi(power));
    let clock = [1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0];
    let days = (0..=(last - 4).max(0)).map(|power| 86_400.0 * 10f64.powi(power));
    below.chain(clock).chain(days).collect()
}

/// Minor marks after each labelled one: 2 to 9 times it, up to the next.
fn minor_decades(unit: &Unit, majors: &[f64]) -> Vec<f64> {
    let first = majors.first().map(|value| value / 10.0);
    let mut out = Vec::new();
    let starts: Vec<f64> = first.into_iter().chain(majors.iter().copied()).collect();
    for (index, start) in starts.iter().enumerate() {
        let next = starts.get(index + 1).copied().unwrap_or(f64::INFINITY);
        // Below a unit of time its marks are those of the smaller unit.
        let base = match unit {
            Unit::Seconds if index == 0 => continue,
            _ => *start,
        };
        out.extend(
            (2..10)
                .map(|n| f64::from(n) * base)
                .filter(|value| *value < next * 0.999),
        );
    }
    out
}

fn log_label(unit: &Unit, value: f64) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Fraction => crate::plot::format::percent(value),
        _ if (1e6..1e15).contains(&value) => decimal(value, value, value),
        _ => crate::plot::format::number(value),
    }
}

/// The marks of a horizontal axis with as many labels as fit without touching,
/// and where each label's middle stands.
pub(super) fn horizontal(
    axis: &Axis,
    ends: (f64, f64),
    scale: &Scale,
    bounds: (f64, f64),
) -> Vec<(Tick, f64)> {
    if let Kind::Categories(names) = &axis.kind
        && let Some(short) = shortened(names, scale, bounds)
    {
        return short;
    }
    let mut placed = Vec::new();
    for want in [10, 8, 7, 6, 5, 4, 3, 2, 1] {
        placed = place(ticks(axis, ends, want), scale, bounds);
        if !collides(&placed) {
            return placed;
        }
    }
    // Nothing regular fits: labels give way from the left.
    let mut end = f64::NEG_INFINITY;
    for (tick, at) in &mut placed {
        let half = text::width(&tick.label, SIZE) / 2.0;
        match *at - half >= end + 8.0 {
            true => end = *at + half,
            false => tick.label.clear(),
        }
    }
    placed
}

/// Draws an axis below rows that reach from `top` to `bottom`: lines across the
/// rows, labels, and what the axis means.
pub(super) fn below(
    canvas: &mut Canvas,
    (axis, scale): (&Axis, &Scale),
    ends: (f64, f64),
    (top, bottom): (f64, f64),
) {
    let mut lines = Path::default();
    let bounds = (2.0, canvas.width - 2.0);
    for (tick, middle) in horizontal(axis, ends, scale, bounds) {
        if let (Some(at), false) = (scale.inside(tick.value), tick.label.is_empty()) {
            lines.line((at, top), (at, bottom + 4.0));
            canvas.text(middle, bottom + 17.0, "k m", &tick.label);
        }
    }
    canvas.path("g", &lines);
    let title = axis.title();
    if !title.is_empty() {
        let (from, to) = (scale.from, scale.to);
        let middle = ((from + to) / 2.0, bottom + 36.0);
        canvas.fitted_text(middle, "h m", &title, to - from);
    }
}

/// A few long names are cut to their places rather than left out.
fn shortened(names: &[String], scale: &Scale, bounds: (f64, f64)) -> Option<Vec<(Tick, f64)>> {
    let room = scale.at(1.0)? - scale.at(0.0)? - 8.0;
    let labels = names.iter().map(|name| text::fit(name, SIZE, room));
    let all = labels.enumerate();
    let all = all.map(|(index, label)| tick(index as f64, label));
    let wide_enough = room >= 34.0 || names.iter().all(|name| text::width(name, SIZE) <= room);
    (names.len() <= 40 && wide_enough).then(|| place(all.collect(), scale, bounds))
}

fn place(ticks: Vec<Tick>, scale: &Scale, (left, right): (f64, f64)) -> Vec<(Tick, f64)> {
    let placed = ticks.into_iter().filter_map(|tick| {
        let at = scale.inside(tick.value)?;
        let half = text::width(&tick.label, SIZE) / 2.0;
        Some((tick, at.min(right - half).max(left + half)))
    });
    placed.collect()
}

fn collides(placed: &[(Tick, f64)]) -> bool {
    let labelled: Vec<_> = placed
        .iter()
        .filter(|(tick, _)| !tick.label.is_empty())
        .collect();
    labelled.windows(2).any(|pair| {
        let half = |tick: &Tick| text::width(&tick.label, SIZE) / 2.0;
        pair[1].1 - half(&pair[1].0) < pair[0].1 + half(&pair[0].0) + 10.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of an axis, with bars between them.
    fn labels(axis: &Axis, ends: (f64, f64), want: usize) -> String {
        let all = ticks(axis, ends, want).into_iter();
        let labels = all.map(|tick| tick.label).filter(|it| !it.is_empty());
        labels.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn linear_marks_are_round_numbers() {
        let plain = Axis::linear("x", Unit::Plain);
        assert_eq!(labels(&plain, (0.0, 1655.0), 5), "0 | 500 | 1,000 | 1,500");
        assert_eq!(labels(&plain, (0.0, 0.3), 3), "0 | 0.1 | 0.2 | 0.3");
        assert_eq!(
            labels(&plain, (0.0, 2e6), 4),
            "0 | 0.5 M | 1.0 M | 1.5 M | 2.0 M"
        );
        assert_eq!(labels(&plain, (-1.0, 1.0), 2), "-1 | 0 | 1");
        let share = Axis::linear("x", Unit::Fraction);
        assert_eq!(
            labels(&share, (0.0, 1.0), 5),
            "0 % | 20 % | 40 % | 60 % | 80 % | 100 %"
        );
    }

    #[test]
    fn time_marks_are_those_of_clocks_and_calendars() {
        let time = Axis::linear("t", Unit::Seconds);
        assert_eq!(labels(&time, (0.0, 10_080.0), 4), "0 h | 1 h | 2 h");
        assert_eq!(
            labels(&time, (0.0, 604_800.0), 8),
            "0 d | 1 d | 2 d | 3 d | 4 d | 5 d | 6 d | 7 d"
        );
        assert_eq!(
            labels(&time, (0.0, 90.0), 6),
            "0 s | 15 s | 30 s | 45 s | 60 s | 75 s | 90 s"
        );
        assert_eq!(
            labels(&time, (7_516_800.0, 7_538_400.0), 3),
            "87 d | 87 d 2 h | 87 d 4 h | 87 d 6 h"
        );
        assert_eq!(labels(&time, (0.0, 0.02), 2), "0 s | 10 ms | 20 ms");
    }

    #[test]
    fn log_marks_are_decades_and_times_have_their_own() {
        let plain = Axis::log("x", Unit::Plain);
        assert_eq!(labels(&plain, (1.0, 512.0), 8), "1 | 10 | 100");
        assert!(labels(&plain, (0.5, 5e6), 8).starts_with("1 | 10 | 100 | "));
        assert_eq!(labels(&plain, (3.0, 30.0), 8), "5 | 10 | 20");
        let time = Axis::log("x", Unit::Seconds);
        assert_eq!(
            labels(&time, (1.0, 100_000.0), 10),
            "1 s | 10 s | 1 min | 10 min | 1 h | 10 h | 1 d"
        );
        assert_eq!(
            labels(&time, (0.001, 2.0), 10),
            "1 ms | 10 ms | 100 ms | 1 s"
        );
        // Minor marks lie between.
        let all = ticks(&time, (1.0, 100.0), 10);
        assert!(
            all.iter()
                .any(|tick| tick.value == 50.0 && tick.label.is_empty())
        );
        assert!(!all.iter().any(|tick| tick.value == 70.0));
    }

    #[test]
    fn any_axis_has_few_marks_and_finite_ones() {
        for axis in [
            Axis::linear("x", Unit::Plain),
            Axis::linear("x", Unit::Seconds),
            Axis::log("x", Unit::Seconds),
            Axis::log("x", Unit::Plain),
        ] {
            for ends in [
                (1e-300, 1e300),
                (1e-5, 2e-5),
                (1.0, 1.1),
                (86_399.0, 86_401.0),
            ] {
                let all = ticks(&axis, ends, 6);
                assert!(all.len() < 120, "{axis:?} {ends:?}: {}", all.len());
                assert!(all.iter().all(|tick| tick.value.is_finite()));
            }
        }
    }

    #[test]
    fn labels_never_touch() {
        let axis = Axis::linear("x", Unit::Seconds);
        for width in [60.0, 120.0, 300.0, 700.0] {
            for ends in [(0.0, 7e5), (7.5e6, 7.6e6), (0.0, 1e-7)] {
                let scale = Scale::new(&axis, ends, 40.0, 40.0 + width);
                let placed = horizontal(&axis, ends, &scale, (0.0, width + 60.0));
                assert!(!collides(&placed), "{width} {ends:?}");
            }
        }
    }
}
