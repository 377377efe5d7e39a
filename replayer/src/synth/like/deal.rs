//! Tables of counts that are dealt out without being put back.

use super::{LookAlike, Profile};
use crate::synth::unit::{below, unit};
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

    /// One of what is left, not taken yet, as its place.
    pub(super) fn pick(&self, random: &mut ChaCha8Rng) -> Option<usize> {
        let mut at = below(random, self.total);
        self.left.iter().position(|(_, count)| {
            let here = at < *count;
            at = at.saturating_sub(*count);
            here
        })
    }

    /// As [`Deck::pick`], among the values from `from` to below `to`, which
    /// stand together because tables rise.
    fn pick_within(&self, from: u64, to: u64, random: &mut ChaCha8Rng) -> Option<usize> {
        let start = self.left.partition_point(|l| l.0 < from);
        let end = self.left.partition_point(|l| l.0 < to);
        let range = self.left.get(start..end)?;
        let mut at = below(random, range.iter().map(|l| l.1).sum());
        let found = range.iter().position(|(_, count)| {
            let here = at < *count;
            at = at.saturating_sub(*count);
            here
        });
        found.map(|place| start + place)
    }

    pub(super) fn take(&mut self, place: usize) -> u64 {
        let entry = &mut self.left[place];
        let taken = entry.1.min(1);
        entry.1 -= taken;
        self.total -= taken;
        entry.0
    }

    fn clear(&mut self) {
        self.left.iter_mut().for_each(|l| l.1 = 0);
        self.total = 0;
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
    pub(super) number: u64,
    left: u64,
    /// Start of the last batch.
    pub(super) last_start: Option<u64>,
    last_cell: Option<u64>,
}

/// A profile that is being dealt.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    pub(super) batches: Deck,
    refill: Deck,
    pub(super) cells: Deck,
    pub(super) users: Vec<User>,
    labels: Vec<Label>,
    label_jobs: f64,
}

#[derive(Clone, Debug)]
struct Label {
    fields: [i64; 5],
    credit: f64,
}

/// The scales of the three tables of a profile.
pub(super) struct Rounders {
    pub(super) batches: Rounder,
    pub(super) cells: Rounder,
    pub(super) users: Rounder,
}

impl Hand {
    pub(super) fn of(profile: &Profile, first_user: u64, rounders: &mut Rounders) -> Self {
        let user = |(number, jobs): (u64, &u64)| User {
            number,
            left: rounders.users.scale(*jobs),
            last_start: None,
            last_cell: None,
        };
        let batches = Deck::of(&profile.batches, &mut rounders.batches);
        let label = |fields: &[i64; 5]| Label {
            fields: *fields,
            credit: 0.0,
        };
        Hand {
            refill: Deck {
                left: profile
                    .batches
                    .chunks_exact(2)
                    .map(|p| (p[0], p[1]))
                    .collect(),
                total: profile.batches.iter().skip(1).step_by(2).sum(),
            },
            batches,
            cells: Deck::of(&profile.cells, &mut rounders.cells),
            users: (first_user..).zip(&profile.users).map(user).collect(),
            labels: profile.labels.iter().map(label).collect(),
            label_jobs: profile.labels.iter().map(|l| l[4] as f64).sum(),
        }
    }

    /// Jobs that are left keep their batches: the counts of both tables never
    /// run out together, since batches differ within their ranges.
    pub(super) fn settle(&mut self) {
        if self.cells.total == 0 {
            self.batches.clear();
        } else if self.batches.total == 0 {
            self.batches = self.refill.clone();
        }
    }

    /// A user by what is left for each.
    pub(super) fn pick_user(&self, random: &mut ChaCha8Rng) -> usize {
        let total: u64 = self.users.iter().map(|user| user.left).sum();
        if total == 0 {
            return below(random, self.users.len() as u64) as usize;
        }
        let mut at = below(random, total);
        let found = self.users.iter().position(|user| {
            let here = at < user.left;
            at = at.saturating_sub(user.left);
            here
        });
        found.unwrap_or(0)
    }

    /// The cells of a batch of at most so many jobs.
    pub(super) fn deal_cells(
        &mut self,
        user: usize,
        jobs: u64,
        model: &LookAlike,
        random: &mut ChaCha8Rng,
    ) -> Vec<u64> {
        let likeness = &model.likeness;
        let runs = model.run_times.len() as u64;
        let mut cells: Vec<u64> = Vec::with_capacity(jobs as usize);
        for at in 0..jobs {
            let last = match at {
                0 => self.users[user].last_cell,
                _ => cells.last().copied(),
            };
            let kept = if at == 0 {
                likeness.next_batch
            } else {
                likeness.same_cell
            };
            let mut place = None;
            if let Some(cell) = last {
                if unit(random) < kept {
                    place = self.cells.pick_within(cell, cell + 1, random);
                } else if at > 0 && unit(random) < likeness.same_size {
                    let size = cell / runs * runs;
                    place = self.cells.pick_within(size, size + runs, random);
                }
            }
            let Some(place) = place.or_else(|| self.cells.pick(random)) else {
                break;
            };
            cells.push(self.cells.take(place));
        }
        let left = &mut self.users[user];
        left.left = left.left.saturating_sub(cells.len() as u64);
        left.last_cell = cells.last().copied();
        cells
    }

    /// Group, executable, queue and partition of a batch: those that are
    /// furthest behind their share.
    pub(super) fn deal_label(&mut self, jobs: u64) -> [i64; 4] {
        let total = self.label_jobs.max(1.0);
        for label in &mut self.labels {
            label.credit += jobs as f64 * label.fields[4] as f64 / total;
        }
        let ahead = self
            .labels
            .iter_mut()
            .max_by(|a, b| a.credit.total_cmp(&b.credit));
        ahead.map_or([-1; 4], |label| {
            label.credit -= jobs as f64;
            let [group, executable, queue, partition, _] = label.fields;
            [group, executable, queue, partition]
        })
    }
}
