//! What hours weigh: the rates of a week, the edges of the trace, silences.

use super::stretch::{HOUR, MINUTE, MINUTES, Span, Stretch};

/// What is submitted at an hour of the week at least, as a share of the mean
/// hour: what never happened may happen.
const LEAST: f64 = 0.01;

/// The seconds of an hour that lie in a span and outside its silences, which
/// leave one stretch of it at most, being longer than an hour.
pub(super) fn open(span: Span, silences: &[(u64, u64)], hour: u64) -> (u64, u64) {
    let mut from = (hour * HOUR).max(span.from);
    let mut until = ((hour + 1) * HOUR).min(span.until);
    let first = silences.partition_point(|silence| silence.1 <= hour * MINUTES);
    for silence in &silences[first..] {
        if silence.0 >= (hour + 1) * MINUTES {
            break;
        }
        match silence.0 <= hour * MINUTES {
            true => from = from.max(silence.1 * MINUTE),
            false => until = until.min(silence.0 * MINUTE),
        }
    }
    (from, until)
}

/// What hours weigh among those of their day.
pub(super) struct Weights<'a> {
    pub(super) span: Span,
    pub(super) rates: &'a [f64],
    least: f64,
    /// Silent minutes: from and until, in order.
    pub(super) silences: Vec<(u64, u64)>,
}

impl<'a> Weights<'a> {
    pub(super) fn new(span: Span, rates: &'a [f64], silences: Vec<(u64, u64)>) -> Self {
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        Weights {
            span,
            rates,
            least: LEAST * mean,
            silences,
        }
    }

    fn of(&self, hour: u64) -> f64 {
        let (from, until) = open(self.span, &self.silences, hour);
        if until <= from {
            return 0.0;
        }
        let rate = self
            .rates
            .get((hour % 168) as usize)
            .copied()
            .unwrap_or(0.0);
        rate.max(self.least) * (until - from) as f64 / HOUR as f64
    }

    pub(super) fn sum(&self, hours: std::ops::Range<u64>) -> f64 {
        hours.map(|hour| self.of(hour)).sum()
    }

    /// The share of a stretch's weight that its left half has.
    pub(super) fn left_share(&self, stretch: &Stretch) -> f64 {
        let middle = stretch.at + stretch.length / 2;
        let left = self.sum(stretch.at..middle);
        let all = left + self.sum(middle..stretch.at + stretch.length);
        if all > 0.0 { left / all } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silences_leave_the_hours_they_begin_and_end_in_open_in_part() {
        let span = Span::new(600, 20 * HOUR, 0);
        // From 2:10 to 5:50, and from 5:55 on.
        let silences = vec![(130, 350), (355, 900)];
        let hours = [(0, 600, 3_600), (2, 7_200, 7_800), (5, 21_000, 21_300)];
        for (hour, from, until) in hours {
            assert_eq!(open(span, &silences, hour), (from, until), "{hour}");
        }
        let rates = [6.0; 168];
        let weights = Weights::new(span, &rates, silences);
        assert_eq!((weights.of(3), weights.of(1)), (0.0, 6.0));
        assert!(
            (weights.sum(0..10) - 6.0 * (5.0 / 6.0 + 1.0 + 1.0 / 6.0 + 1.0 / 12.0)).abs() < 1e-12
        );
    }
}
