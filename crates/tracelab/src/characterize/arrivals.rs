//! When jobs arrive: by hour and by day, how far apart, and whether a short
//! gap follows a short one.

use super::calendar::{Clock, ClockSource};
use gridrig_core::time::SimDuration;
use serde::Serialize;

/// Arrivals over the day and over the week.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrivalProfile {
    /// What hours and days are counted by.
    pub clock: ClockSource,
    /// Local time minus UTC in seconds, as it is at the log's time 0 and used
    /// throughout; null with the trace's own clock.
    pub utc_offset_s: Option<i64>,
    /// Jobs by hour of the day, from 0:00.
    pub hourly: [u64; 24],
    /// Jobs by day of the week, Monday first; by day of the log modulo 7 with
    /// the trace's own clock.
    pub daily: [u64; 7],
    /// How many of each day lie between the first and the last submission.
    pub daily_days: [f64; 7],
}

impl ArrivalProfile {
    /// Of these jobs.
    pub fn of(submits: &[SimDuration], clock: &Clock) -> Self {
        let mut hourly = [0; 24];
        let mut daily = [0; 7];
        for submit in submits {
            let hour = clock.hour_of_week(*submit);
            hourly[hour % 24] += 1;
            daily[hour / 24] += 1;
        }
        let first = submits.iter().min().copied().unwrap_or_default();
        let last = submits.iter().max().copied().unwrap_or_default();
        let calendar = clock.source != ClockSource::Trace;
        ArrivalProfile {
            clock: clock.source,
            utc_offset_s: calendar.then_some(clock.utc_offset_s),
            hourly,
            daily,
            daily_days: clock.coverage_days(first, last),
        }
    }

    /// Jobs per day by day of the week; 0 for a day that is not covered.
    pub fn per_day(&self) -> [f64; 7] {
        std::array::from_fn(|at| match self.daily_days[at] {
            days if days > 0.0 => self.daily[at] as f64 / days,
            _ => 0.0,
        })
    }
}

/// The gaps between neighbours in seconds, for jobs in order of submission.
pub fn interarrival_s(submits: &[SimDuration]) -> Vec<f64> {
    let gap = |pair: &[SimDuration]| (pair[1] - pair[0]).as_secs_f64();
    submits.windows(2).map(gap).collect()
}

/// The correlation of a sequence with itself, shifted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Autocorrelation {
    /// The shift in jobs.
    pub lag: usize,
    /// The coefficient, between -1 and 1; null where there are no more values
    /// than the lag, or all are equal.
    pub r: Option<f64>,
}

/// The autocorrelation of these values at these lags, with the divisors that
/// keep it between -1 and 1: sum of (x\[i\] - m)(x\[i+lag\] - m) over the sum
/// of (x\[i\] - m)^2 (Box and Jenkins).
pub fn autocorrelation(values: &[f64], lags: &[usize]) -> Vec<Autocorrelation> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let variance = dot(&centred, &centred);
    let at = |lag: usize| {
        let shifted = centred.get(lag..).filter(|rest| !rest.is_empty())?;
        (variance > 0.0).then(|| dot(&centred[..shifted.len()], shifted) / variance)
    };
    lags.iter()
        .map(|&lag| Autocorrelation { lag, r: at(lag) })
        .collect()
}

/// Sum of the products, in four partial sums that the processor can do side
/// by side; always the same four, so the same bytes everywhere.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    for (a, b) in a4.iter().zip(b4) {
        for at in 0..4 {
            sums[at] += a[at] * b[at];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autocorrelation_is_that_of_the_definition() {
        let values: Vec<f64> = (0..37).map(|i| f64::from((i * i * 7) % 23)).collect();
        let mean = values.iter().sum::<f64>() / 37.0;
        let all: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        for lag in [0, 1, 2, 5, 36] {
            let sum: f64 = (lag..37)
                .map(|i| (values[i] - mean) * (values[i - lag] - mean))
                .sum();
            let got = autocorrelation(&values, &[lag])[0].r.unwrap();
            assert!((got - sum / all).abs() < 1e-12, "lag {lag}");
        }
    }

    #[test]
    fn a_lag_without_pairs_and_a_constant_have_none() {
        assert_eq!(autocorrelation(&[1.0, 2.0], &[2])[0].r, None);
        assert_eq!(autocorrelation(&[3.0; 9], &[1])[0].r, None);
        assert_eq!(autocorrelation(&[], &[1])[0].r, None);
    }
}
