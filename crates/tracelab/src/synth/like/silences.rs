//! The longest silences of a trace, and the jobs that they lie between.
//!
//! Silences weigh most in how uneven arrivals are. So they are kept to the minute,
//! and with one job at each end, which is no part of what halvings spread.

use super::stretch::{MINUTE, MINUTES};
use super::weights::Weights;

/// Silences that a model keeps, the longest ones, and how many minutes they have
/// at least.
const SILENCES: usize = 100;
const SILENT_MINUTES: u64 = 2 * MINUTES;

/// The longest stretches of whole minutes without a submission, by minutes of
/// the span: from and until.
pub(super) fn longest(submits: &[u64], shift: u64) -> Vec<(u64, u64)> {
    let between = submits.windows(2).map(|pair| {
        let from = pair[0] / MINUTE + 1 + shift * MINUTES;
        (from, (pair[1] / MINUTE + shift * MINUTES).max(from))
    });
    let mut silences: Vec<(u64, u64)> = between
        .filter(|(from, until)| until - from >= SILENT_MINUTES)
        .collect();
    silences.sort_by_key(|(from, until)| std::cmp::Reverse(until - from));
    silences.truncate(SILENCES);
    silences.sort_unstable();
    silences
}

/// Whether the jobs at the ends of silences leave enough others to be spread:
/// nine in ten of so many.
pub(super) fn have_ends(silences: &[(u64, u64)], jobs: u64) -> bool {
    20 * silences.len() as u64 <= jobs
}

/// The submissions but for one at each end of a silence.
pub(super) fn without_ends(submits: &[u64], silences: &[(u64, u64)], shift: u64) -> Vec<u64> {
    let shift = shift * MINUTES;
    let mut ends: Vec<u64> = silences
        .iter()
        .flat_map(|(from, until)| [from - 1 - shift, until - shift])
        .collect();
    ends.dedup();
    let mut left = ends.into_iter().peekable();
    let mut rest = Vec::with_capacity(submits.len());
    for at in submits {
        while left.next_if(|end| *end < at / MINUTE).is_some() {}
        if left.next_if_eq(&(at / MINUTE)).is_none() {
            rest.push(*at);
        }
    }
    rest
}

/// When the jobs before and after each silence are submitted, by seconds of the
/// span.
pub(super) fn ends(weights: &Weights<'_>, jobs: u64) -> Vec<u64> {
    let span = weights.span;
    if !have_ends(&weights.silences, jobs) {
        return Vec::new();
    }
    let mut ends: Vec<u64> = weights
        .silences
        .iter()
        .flat_map(|(from, until)| [(from * MINUTE).saturating_sub(1), until * MINUTE])
        .filter(|at| (span.from..span.until).contains(at))
        .collect();
    // One job may lie between two silences.
    ends.dedup_by_key(|at| *at / MINUTE);
    ends
}

#[cfg(test)]
mod tests {
    use super::super::stretch::Span;
    use super::*;

    #[test]
    fn silences_come_back_with_a_job_at_each_end() {
        // A job every 10 s for ten minutes, five hours of nothing, one job, five
        // hours of nothing, and ten minutes again; time 0 is at 1:00.
        let busy = |from: u64| (0..60).map(move |i| from + 10 * i);
        let mut submits: Vec<u64> = busy(0).collect();
        submits.push(18_630);
        submits.extend(busy(36_005));
        let found = longest(&submits, 1);
        assert_eq!(found, [(70, 370), (371, 660)]);
        assert!(have_ends(&found, submits.len() as u64) && !have_ends(&found, 39));
        let rest = without_ends(&submits, &found, 1);
        assert_eq!(rest.len(), submits.len() - 3);
        assert!(!rest.contains(&18_630));
        let span = Span::new(0, 36_600, 1);
        let weights = Weights::new(span, &[1.0; 168], found);
        let ends = ends(&weights, submits.len() as u64);
        assert_eq!(ends, [70 * 60 - 1, 370 * 60, 660 * 60]);
    }
}
