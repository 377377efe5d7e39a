//! Stretches of the window that have too many jobs, or too few: a burst that is gone.

use super::encode::{Encoded, Row, SUBMIT};
use serde::Serialize;

/// The statistic of stretches.
pub(super) const STRETCHES: &str = "stretches.worst";

/// Jobs of the reference in half of the shortest stretch.
const HALF: usize = 8;

/// A stretch of the window, of 16, 32, 64, ... jobs of the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stretch {
    /// Its first submit, in seconds from the log's time 0.
    pub from_s: f64,
    /// Its last submit.
    pub to_s: f64,
    /// Jobs of the original in it.
    pub original_jobs: u64,
    /// Jobs that a sample is expected to have of it.
    pub expected: f64,
    /// Jobs of the reduced trace in it.
    pub found: u64,
    /// 2 abs(sqrt(found) - sqrt(expected)).
    pub score: f64,
}

impl Encoded {
    /// Jobs by half of a shortest stretch.
    fn halves<'a>(&self, jobs: impl Iterator<Item = &'a Row>) -> Vec<u64> {
        let count = self.reference.len();
        let mut halves = vec![0; count.div_ceil(HALF)];
        for row in jobs {
            let up_to = self.cdf[SUBMIT][row.slots[SUBMIT] as usize] * count as f64;
            halves[(up_to.round() as usize).saturating_sub(1) / HALF] += 1;
        }
        halves
    }

    /// The stretch whose number of jobs is furthest from the expected one, each
    /// beginning in the middle of the one before; `None` for fewer than 16 jobs.
    pub(super) fn worst_stretch(&self, jobs: &[&Row]) -> Option<Stretch> {
        let share = jobs.len() as f64 / self.reference.len() as f64;
        let mut reference = self.halves(self.reference.iter());
        let mut found = self.halves(jobs.iter().copied());
        let (mut worst, mut half) = (None::<Stretch>, HALF);
        let seconds = |place: usize| self.reference[place].submit_ns as f64 / 1e9;
        while found.len() > 2 {
            let both = reference.windows(2).zip(found.windows(2));
            for (at, (reference, found)) in both.enumerate() {
                let (original_jobs, found) = (reference[0] + reference[1], found[0] + found[1]);
                let expected = share * original_jobs as f64;
                let score = 2.0 * ((found as f64).sqrt() - expected.sqrt()).abs();
                if worst.is_none_or(|worst| score > worst.score) {
                    let last = ((at + 2) * half).min(self.reference.len()) - 1;
                    worst = Some(Stretch {
                        from_s: seconds(at * half),
                        to_s: seconds(last),
                        original_jobs,
                        expected,
                        found,
                        score,
                    });
                }
            }
            let twice = |halves: &[u64]| halves.chunks(2).map(|pair| pair.iter().sum()).collect();
            (reference, found, half) = (twice(&reference), twice(&found), 2 * half);
        }
        worst
    }
}
