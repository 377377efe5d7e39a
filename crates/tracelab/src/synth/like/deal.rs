//! Tables of counts that are dealt out without being put back.

use super::daytime::DayWeights;
use super::{ALIKE, BATCH_WINDOW_S, Profile};
use crate::synth::unit::{below, holder, unit, weighted};
use rand::rngs::ChaCha8Rng;

/// A weighted choice whose weights are used up.
#[derive(Clone, Debug, Default)]
pub(super) struct Deck {
    /// What and how often it is left.
    pub(super) left: Vec<(u64, u64)>,
    pub(super) total: u64,
}

impl Deck {
    /// From pairs of a value and a count, scaled by the rounder.
    fn of(pairs: &[u64], rounder: &mut Rounder) -> Self {
        let scaled = |pair: &[u64]| (pair[0], rounder.scale(pair[1]));
        let left: Vec<(u64, u64)> = pairs.chunks_exact(2).map(scaled).collect();
        let total = left.iter().map(|l| l.1).sum();
        Deck { left, total }
    }

    /// One of what is left, not taken yet, as its place: among the values from `from` to below `to`, which
    /// stand together because tables rise.
    fn pick_within(
        &self,
        from: u64,
        to: u64,
        weights: &DayWeights<'_>,
        random: &mut ChaCha8Rng,
    ) -> Option<usize> {
        let start = self.left.partition_point(|l| l.0 < from);
        let end = self.left.partition_point(|l| l.0 < to);
        let range = self.left.get(start..end)?;
        let weight = |(cell, count): &(u64, u64)| match count {
            0 => 0.0,
            left => *left as f64 * weights.of(*cell),
        };
        let place = weighted(random, range.iter().map(weight))?;
        Some(start + place)
    }

    pub(super) fn take(&mut self, place: usize) -> u64 {
        let entry = &mut self.left[place];
        let taken = entry.1.min(1);
        entry.1 -= taken;
        self.total -= taken;
        entry.0
    }
}

/// Scales counts so that the sum of any number of them in a row is off by less
/// than one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounder {
    factor: f64,
    sum: f64,
}

impl Rounder {
    pub(super) fn new(factor: f64, random: &mut ChaCha8Rng) -> Self {
        Rounder {
            factor,
            sum: unit(random),
        }
    }

    fn scale(&mut self, count: u64) -> u64 {
        let before = self.sum.floor();
        self.sum += count as f64 * self.factor;
        let scaled = self.sum.floor() - before;
        // Keeps the sum small, and with it its fraction exact.
        self.sum -= self.sum.floor();
        scaled as u64
    }
}

/// A user with what is left to submit.
#[derive(Clone, Debug)]
pub(super) struct User {
    /// As SWF has it; -1 is none.
    pub(super) number: i64,
    pub(super) left: u64,
    last_cell: Option<u64>,
    last_label: Option<usize>,
}

/// A profile that is being dealt.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    pub(super) cells: Deck,
    pub(super) users: Vec<User>,
    /// Turns for each job of the source.
    pub(super) turns: f64,
    /// How much likelier than others its users go on.
    pub(super) stays: f64,
    labels: Vec<Label>,
    label_jobs: f64,
}

#[derive(Clone, Debug)]
struct Label {
    fields: [i64; 4],
    jobs: f64,
    credit: f64,
}

/// The scales of the two tables of a profile.
pub(super) struct Rounders {
    pub(super) cells: Rounder,
    pub(super) users: Rounder,
}

/// How long after the job before it of its user a job comes: 0 within a batch's
/// window, 1 within an hour, 2 later or the first one.
pub(super) fn closeness(age: Option<u64>) -> usize {
    match age {
        Some(0..=BATCH_WINDOW_S) => 0,
        Some(..=3_600) => 1,
        _ => 2,
    }
}

impl Hand {
    pub(super) fn of(profile: &Profile, rounders: &mut Rounders) -> Self {
        let user = |pair: &[i64]| User {
            number: pair[0],
            left: rounders.users.scale(pair[1].unsigned_abs()),
            last_cell: None,
            last_label: None,
        };
        let users = profile.users.chunks_exact(2).map(user).collect();
        let label = |fields: &[i64]| Label {
            fields: [fields[0], fields[1], fields[2], fields[3]],
            jobs: fields[4] as f64,
            credit: 0.0,
        };
        let labels: Vec<Label> = profile.labels.chunks_exact(5).map(label).collect();
        let jobs: u64 = profile.cells.iter().skip(1).step_by(2).sum();
        Hand {
            cells: Deck::of(&profile.cells, &mut rounders.cells),
            users,
            turns: profile.turns.max(1) as f64 / jobs.max(1) as f64,
            stays: profile.stays,
            label_jobs: labels.iter().map(|label| label.jobs).sum(),
            labels,
        }
    }

    /// A user by what is left for each.
    pub(super) fn pick_user(&self, random: &mut ChaCha8Rng) -> usize {
        let total: u64 = self.users.iter().map(|user| user.left).sum();
        if total == 0 {
            return below(random, self.users.len() as u64) as usize;
        }
        let left = self.users.iter().map(|user| user.left);
        holder(left, below(random, total)).unwrap_or(0)
    }

    /// The cell of a user's next job.
    pub(super) fn deal_cell(
        &mut self,
        user: usize,
        age: Option<u64>,
        weights: &DayWeights<'_>,
        random: &mut ChaCha8Rng,
    ) -> Option<u64> {
        let likeness = &weights.model.likeness;
        let close = closeness(age);
        let runs = weights.model.run_times.len() as u64;
        let before = self.users[user].last_cell;
        let place = before.and_then(|before| {
            // Hours apart, a job is repeated at the hours that suit it only.
            let suits = if close == 2 {
                weights.of(before).min(1.0)
            } else {
                1.0
            };
            let mut draw = unit(random) / suits;
            let same = likeness.same_cell[close];
            if draw < same {
                let same = self.cells.pick_within(before, before + 1, weights, random);
                return same.or_else(|| self.pick_alike(before, runs, weights, random));
            }
            draw -= same;
            if draw < likeness.alike[close] {
                return self.pick_alike(before, runs, weights, random);
            }
            let size = before / runs * runs;
            (draw - likeness.alike[close] < likeness.same_size[close])
                .then(|| self.cells.pick_within(size, size + runs, weights, random))
                .flatten()
        });
        let place = place.or_else(|| self.cells.pick_within(0, u64::MAX, weights, random))?;
        let cell = self.cells.take(place);
        let dealt = &mut self.users[user];
        dealt.left = dealt.left.saturating_sub(1);
        dealt.last_cell = Some(cell);
        Some(cell)
    }

    /// A cell whose run times are like those of another one, of the same sizes
    /// where there is one.
    fn pick_alike(
        &self,
        cell: u64,
        runs: u64,
        weights: &DayWeights<'_>,
        random: &mut ChaCha8Rng,
    ) -> Option<usize> {
        let (size, run) = (cell / runs, cell % runs);
        let from = run.saturating_sub(ALIKE as u64);
        let until = (run + ALIKE as u64 + 1).min(runs);
        let in_size = |size: u64, random: &mut ChaCha8Rng| {
            self.cells
                .pick_within(size * runs + from, size * runs + until, weights, random)
        };
        in_size(size, random).or_else(|| {
            let like =
                |entry: &&(u64, u64)| entry.1 > 0 && (from..until).contains(&(entry.0 % runs));
            let found = self.cells.left.iter().find(like)?;
            in_size(found.0 / runs, random)
        })
    }

    /// Group, executable, queue and partition of a user's next job: those of
    /// the job before in the same batch, else those that are furthest behind
    /// their share.
    pub(super) fn deal_label(&mut self, user: usize, age: Option<u64>) -> [i64; 4] {
        let total = self.label_jobs.max(1.0);
        for label in &mut self.labels {
            label.credit += label.jobs / total;
        }
        let kept = self.users[user].last_label.filter(|_| closeness(age) == 0);
        let behind = || {
            let credits = self.labels.iter().map(|label| label.credit).enumerate();
            credits
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .map(|most| most.0)
        };
        let chosen = kept.or_else(behind);
        self.users[user].last_label = chosen;
        chosen.map_or([-1; 4], |at| {
            self.labels[at].credit -= 1.0;
            self.labels[at].fields
        })
    }
}
