//! Tables of counts that are dealt out without being put back.

use super::leaning::Leaning;
use super::{ALIKE, Profile};
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
    fn pick_within(
        &self,
        from: u64,
        to: u64,
        leaning: &Leaning<'_>,
        random: &mut ChaCha8Rng,
    ) -> Option<usize> {
        let start = self.left.partition_point(|l| l.0 < from);
        let end = self.left.partition_point(|l| l.0 < to);
        let range = self.left.get(start..end)?;
        let weight = |(cell, count): &(u64, u64)| match count {
            0 => 0.0,
            left => *left as f64 * leaning.of(*cell),
        };
        let mut at = unit(random) * range.iter().map(weight).sum::<f64>();
        let found = range.iter().position(|entry| {
            at -= weight(entry);
            at < 0.0 && entry.1 > 0
        });
        // What rounding leaves over is the last one's.
        let last = || range.iter().rposition(|entry| entry.1 > 0);
        found.or_else(last).map(|place| start + place)
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
    /// As SWF has it; -1 is none.
    pub(super) number: i64,
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
    fields: [i64; 4],
    jobs: f64,
    credit: f64,
}

/// The scales of the three tables of a profile.
pub(super) struct Rounders {
    pub(super) batches: Rounder,
    pub(super) cells: Rounder,
    pub(super) users: Rounder,
}

impl Hand {
    pub(super) fn of(profile: &Profile, rounders: &mut Rounders) -> Self {
        let user = |pair: &[i64]| User {
            number: pair[0],
            left: rounders.users.scale(pair[1].unsigned_abs()),
            last_start: None,
            last_cell: None,
        };
        let users = profile.users.chunks_exact(2).map(user).collect();
        let batches = Deck::of(&profile.batches, &mut rounders.batches);
        let label = |fields: &[i64]| Label {
            fields: [fields[0], fields[1], fields[2], fields[3]],
            jobs: fields[4] as f64,
            credit: 0.0,
        };
        let labels: Vec<Label> = profile.labels.chunks_exact(5).map(label).collect();
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
            users,
            label_jobs: labels.iter().map(|label| label.jobs).sum(),
            labels,
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

    /// The cells of a batch of at most so many jobs, whose run times may all be
    /// alike.
    pub(super) fn deal_cells(
        &mut self,
        user: usize,
        jobs: u64,
        alike: bool,
        leaning: &Leaning<'_>,
        random: &mut ChaCha8Rng,
    ) -> Vec<u64> {
        let likeness = &leaning.model.likeness;
        let runs = leaning.model.run_times.len() as u64;
        let mut cells: Vec<u64> = Vec::with_capacity(jobs as usize);
        for _ in 0..jobs {
            let place = match (cells.first(), cells.last(), self.users[user].last_cell) {
                (Some(first), Some(last), _) if alike => {
                    let kept = unit(random) < likeness.same_cell;
                    let same =
                        kept.then(|| self.cells.pick_within(*last, *last + 1, leaning, random));
                    let same = same.flatten();
                    same.or_else(|| self.pick_alike(*first, runs, leaning, random))
                }
                (_, Some(last), _) if unit(random) < likeness.same_size => {
                    let size = last / runs * runs;
                    self.cells.pick_within(size, size + runs, leaning, random)
                }
                (_, None, Some(before))
                    if unit(random) < likeness.next_batch * leaning.of(before).min(1.0) =>
                {
                    self.cells.pick_within(before, before + 1, leaning, random)
                }
                _ => None,
            };
            let Some(place) =
                place.or_else(|| self.cells.pick_within(0, u64::MAX, leaning, random))
            else {
                break;
            };
            cells.push(self.cells.take(place));
        }
        let left = &mut self.users[user];
        left.left = left.left.saturating_sub(cells.len() as u64);
        left.last_cell = cells.last().copied();
        cells
    }

    /// A cell whose run times are like those of another one, of the same sizes
    /// where there is one.
    fn pick_alike(
        &self,
        cell: u64,
        runs: u64,
        leaning: &Leaning<'_>,
        random: &mut ChaCha8Rng,
    ) -> Option<usize> {
        let (size, run) = (cell / runs, cell % runs);
        let from = run.saturating_sub(ALIKE as u64);
        let until = (run + ALIKE as u64 + 1).min(runs);
        let in_size = |size: u64, random: &mut ChaCha8Rng| {
            self.cells
                .pick_within(size * runs + from, size * runs + until, leaning, random)
        };
        in_size(size, random).or_else(|| {
            let like =
                |entry: &&(u64, u64)| entry.1 > 0 && (from..until).contains(&(entry.0 % runs));
            let found = self.cells.left.iter().find(like)?;
            in_size(found.0 / runs, random)
        })
    }

    /// Group, executable, queue and partition of a batch: those that are
    /// furthest behind their share.
    pub(super) fn deal_label(&mut self, jobs: u64) -> [i64; 4] {
        let total = self.label_jobs.max(1.0);
        for label in &mut self.labels {
            label.credit += jobs as f64 * label.jobs / total;
        }
        let ahead = self
            .labels
            .iter_mut()
            .max_by(|a, b| a.credit.total_cmp(&b.credit));
        ahead.map_or([-1; 4], |label| {
            label.credit -= jobs as f64;
            label.fields
        })
    }
}
