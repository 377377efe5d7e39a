//! One stream of jobs into several: by what a job says, or dealt out to
//! submission points.
//!
//! ```
//! use gridrig_tracelab::split::{Dealer, Split};
//!
//! let split = Split::parse("share=a:2,b:1").unwrap();
//! let Split::Points(points) = &split else { unreachable!() };
//! let mut dealer = Dealer::new(points, 1);
//! let dealt: Vec<usize> = (0..6).map(|_| dealer.next_point()).collect();
//! assert_eq!(dealt, [0, 1, 0, 0, 1, 0]);
//! ```

use crate::format::NAMED;
use crate::synth::unit::{below, holder};
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;

/// No more streams than this: each is an open file.
pub const MAX_STREAMS: usize = 512;

/// The stream of jobs that do not say.
pub const NONE: &str = "none";

/// How a stream is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// One stream per value of a field, by its place in [`NAMED`].
    By(usize),
    /// Dealt out to submission points.
    Points(Points),
}

/// Submission points and how jobs are dealt out to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// The way.
    pub deal: Deal,
    /// Their names, all different, and weights, all above 0.
    pub points: Vec<(String, u64)>,
}

/// How jobs are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Deal {
    /// One after the other, to points of equal weight.
    RoundRobin,
    /// By lot from the stream `"split"` of a seed, in proportion to the
    /// weights.
    Random,
    /// Each job to the point that is furthest behind its share of the jobs.
    Share,
}

/// A text that is no way to split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("split = \"{text}\": expected {}", ways())]
pub struct SplitError {
    /// The text.
    pub text: String,
}

/// What a way to split may be, for messages and help.
pub fn ways() -> String {
    format!(
        "by={}, round-robin=POINTS, random=POINTS or share=POINTS, where POINTS is a number (at \
         most {MAX_STREAMS}) or a list such as a:2,b:1 of different names of letters, digits, - \
         and _",
        NAMED.map(|(name, _)| name).join("|")
    )
}

impl Split {
    /// Reads `by=partition`, `round-robin=4`, `random=a:2,b:1` or
    /// `share=2:1`.
    ///
    /// # Errors
    /// [`SplitError`].
    pub fn parse(text: &str) -> Result<Self, SplitError> {
        let parsed = text
            .split_once('=')
            .and_then(|(how, what)| match how.trim() {
                "by" => field(what.trim()).map(Split::By),
                how => {
                    let deal: Deal = how.parse().ok()?;
                    let points = points(what)?;
                    let equal = points.iter().all(|point| point.1 == 1);
                    (equal || deal != Deal::RoundRobin)
                        .then_some(Split::Points(Points { deal, points }))
                }
            });
        parsed.ok_or_else(|| SplitError {
            text: text.to_owned(),
        })
    }

    /// In words, for reports and headers.
    pub fn describe(&self) -> String {
        match self {
            Split::By(field) => format!("by {}", NAMED[*field].0),
            Split::Points(points) => {
                let way: &str = points.deal.into();
                let weighted = points.points.iter().any(|p| p.1 != 1);
                let names = points.points.iter().map(|(name, weight)| match weighted {
                    true => format!("{name}:{weight}"),
                    false => name.clone(),
                });
                let names: Vec<String> = names.collect();
                format!("{way} to {}", names.join(","))
            }
        }
    }
}

fn field(name: &str) -> Option<usize> {
    NAMED.iter().position(|(n, _)| *n == name)
}

/// A number of points, weights between colons, or names with weights.
fn points(text: &str) -> Option<Vec<(String, u64)>> {
    let text = text.trim();
    let number = |text: &str| text.parse::<u64>().ok();
    let numbered = |weights: Vec<u64>| {
        let names = (1..).map(|n: usize| n.to_string());
        names.zip(weights).collect::<Vec<_>>()
    };
    let points = if let Some(count) = number(text) {
        let count = usize::try_from(count).ok().filter(|n| *n <= MAX_STREAMS)?;
        numbered(vec![1; count])
    } else if let Some(weights) = text.split(':').map(number).collect::<Option<Vec<_>>>() {
        numbered(weights)
    } else {
        let named = text.split(',').map(|point| match point.split_once(':') {
            Some((name, weight)) => Some((name.trim().to_owned(), number(weight)?)),
            None => Some((point.trim().to_owned(), 1)),
        });
        named.collect::<Option<Vec<_>>>()?
    };
    let mut names: Vec<&str> = points.iter().map(|p| p.0.as_str()).collect();
    names.sort_unstable();
    let different = names.windows(2).all(|w| w[0] != w[1]);
    let word = |name: &str| {
        let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        !name.is_empty() && name.bytes().all(ok)
    };
    let sound = points
        .iter()
        .all(|(name, weight)| word(name) && (1..=u64::from(u32::MAX)).contains(weight));
    (different && sound && (1..=MAX_STREAMS).contains(&points.len())).then_some(points)
}

/// Deals jobs out to points, one after the other.
#[derive(Debug)]
pub struct Dealer {
    deal: Deal,
    weights: Vec<u64>,
    total: u64,
    /// Jobs each point has had.
    had: Vec<u64>,
    dealt: u64,
    stream: ChaCha8Rng,
}

impl Dealer {
    /// The seed matters for [`Deal::Random`] only.
    pub fn new(points: &Points, seed: u64) -> Self {
        let weights: Vec<u64> = points.points.iter().map(|p| p.1).collect();
        Dealer {
            deal: points.deal,
            total: weights.iter().sum(),
            had: vec![0; weights.len()],
            weights,
            dealt: 0,
            stream: rng::stream(seed, "split"),
        }
    }

    /// Where the next job goes.
    pub fn next_point(&mut self) -> usize {
        let point = match self.deal {
            Deal::RoundRobin => (self.dealt % self.weights.len() as u64) as usize,
            Deal::Random => self.drawn(),
            Deal::Share => self.furthest_behind(),
        };
        self.dealt += 1;
        self.had[point] += 1;
        point
    }

    fn drawn(&mut self) -> usize {
        let lot = below(&mut self.stream, self.total);
        holder(self.weights.iter().copied(), lot).unwrap_or(0)
    }

    /// The point whose jobs fall most short of its share of those dealt so
    /// far and the next one; of equals the first.
    fn furthest_behind(&self) -> usize {
        let mut best = (0, i128::MIN);
        for (point, weight) in self.weights.iter().enumerate() {
            let due = i128::from(*weight) * i128::from(self.dealt + 1);
            let behind = due - i128::from(self.had[point]) * i128::from(self.total);
            if behind > best.1 {
                best = (point, behind);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(text: &str, jobs: usize, seed: u64) -> Vec<usize> {
        let Split::Points(points) = Split::parse(text).unwrap() else {
            panic!("{text} has no points");
        };
        let mut dealer = Dealer::new(&points, seed);
        (0..jobs).map(|_| dealer.next_point()).collect()
    }

    #[test]
    fn round_robin_goes_round() {
        assert_eq!(dealt("round-robin=3", 7, 1), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(dealt("round-robin=x,y", 3, 1), [0, 1, 0]);
    }

    #[test]
    fn a_share_is_met_to_within_a_job_at_every_moment() {
        let weights = [5.0, 2.0, 1.0];
        let mut had = [0.0; 3];
        for (n, point) in (1u32..).zip(dealt("share=5:2:1", 800, 1)) {
            had[point] += 1.0;
            for (had, weight) in had.iter().zip(weights) {
                assert!((had - f64::from(n) * weight / 8.0).abs() < 1.0, "{n}");
            }
        }
        assert_eq!(had, [500.0, 200.0, 100.0]);
    }

    #[test]
    fn lots_fall_by_weight_and_by_seed() {
        let first = dealt("random=a:3,b:1", 8000, 7);
        let share = first.iter().filter(|p| **p == 0).count() as f64 / 8000.0;
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert_eq!(first, dealt("random=a:3,b:1", 8000, 7));
        assert_ne!(first, dealt("random=a:3,b:1", 8000, 8));
    }

    #[test]
    fn what_is_no_way_to_split_is_refused() {
        for text in [
            "",
            "by",
            "by=colour",
            "round-robin=0",
            "round-robin=513",
            "round-robin=a:2,b:1",
            "random=a,a",
            "random=a/b,c",
            "share=a:0,b:1",
            "share=1:x",
            "deal=2",
        ] {
            let error = Split::parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("\"{text}\"")));
        }
    }

    #[test]
    fn ways_are_described_as_they_are_given() {
        let told = |text| Split::parse(text).unwrap().describe();
        assert_eq!(told("by=queue"), "by queue");
        assert_eq!(told("round-robin=2"), "round-robin to 1,2");
        assert_eq!(told("share=a:2,b"), "share to a:2,b:1");
    }
}
