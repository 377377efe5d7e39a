//! Deals the jobs of a look-alike, hour by hour.

use super::deal::{Hand, Rounder, Rounders};
use super::leaning::{self, Leaning, PARTS};
use super::rhythm::Cascade;
use super::week::{HOUR, Slot, slots};
use super::{BATCH_WINDOW_S, BatchLevel, LookAlike};
use crate::swf::Record;
use crate::synth::error::SynthError;
use crate::synth::unit::{below, unit};
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use rand::rngs::ChaCha8Rng;
use std::collections::VecDeque;

/// A step of the golden ratio: multiples of it spread evenly in [0, 1) however
/// many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Batches of one user begin so many seconds apart, or they would be one.
const APART: u64 = BATCH_WINDOW_S + 1;

/// Tries to find a user who has not just begun a batch.
const TRIES: u32 = 16;

/// The jobs of a [`LookAlike`], in order of submission.
pub struct LookAlikeJobs<'a> {
    model: &'a LookAlike,
    slots: Box<dyn Iterator<Item = Slot> + 'a>,
    hands: Vec<Hand>,
    /// How much each hand leans towards each part of the day.
    leanings: Vec<[f64; PARTS]>,
    /// Jobs that each hour of the day is behind its share.
    behind: [f64; 24],
    left: u64,
    /// Second at which the submissions end.
    end: u64,
    last: Option<(usize, usize)>,
    sizes: Spread,
    run_times: Spread,
    batch_sizes: Spread,
    durations: Spread,
    users: ChaCha8Rng,
    times: ChaCha8Rng,
    mixes: ChaCha8Rng,
    fields: ChaCha8Rng,
    /// Jobs that may still be followed by earlier ones, and those that may not.
    open: Vec<Record>,
    ready: VecDeque<Record>,
    made: u64,
}

impl std::fmt::Debug for LookAlikeJobs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookAlikeJobs")
            .field("made", &self.made)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// For each of some ranges, parts from 0 to below 1 that spread evenly.
#[derive(Debug)]
struct Spread(Vec<f64>);

impl Spread {
    fn new(ranges: usize, random: &mut ChaCha8Rng) -> Self {
        Spread((0..ranges).map(|_| unit(random)).collect())
    }

    fn next(&mut self, range: usize) -> f64 {
        let at = &mut self.0[range];
        *at = (*at + GOLDEN) % 1.0;
        *at
    }
}

/// A batch that may be submitted.
struct Wanted {
    hand: usize,
    user: usize,
    /// Its place in the table of batches.
    place: usize,
    level: usize,
    jobs: u64,
}

/// A batch before its instant is known.
struct Draft {
    hand: usize,
    user: usize,
    level: usize,
    cells: Vec<u64>,
    start: u64,
}

impl LookAlike {
    /// The jobs of this model.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when it makes no workload.
    pub fn jobs(&self) -> Result<LookAlikeJobs<'_>, SynthError> {
        self.check()?;
        let (jobs, length) = self.wanted();
        let stream = |what: &str| rng::stream(self.seed, &format!("look-alike/{what}"));
        let mut random = stream("deal");
        let total: u64 = self
            .profiles
            .iter()
            .flat_map(|profile| profile.cells.iter().skip(1).step_by(2))
            .sum();
        let factor = jobs as f64 / total.max(1) as f64;
        let mut rounders = Rounders {
            batches: Rounder::new(factor, &mut random),
            cells: Rounder::new(factor, &mut random),
            users: Rounder::new(factor, &mut random),
        };
        let hand = |profile| Hand::of(profile, &mut rounders);
        let hands = self.profiles.iter().map(hand).collect();
        Ok(LookAlikeJobs {
            model: self,
            slots: Box::new(slots(self, jobs, length)),
            hands,
            leanings: leaning::of_profiles(&self.profiles),
            behind: [-self.overshoot(); 24],
            left: jobs,
            end: self.first_submit_s + length as u64,
            last: None,
            sizes: Spread::new(self.sizes.len(), &mut random),
            run_times: Spread::new(self.run_times.len(), &mut random),
            batch_sizes: Spread::new(self.batches.len(), &mut random),
            durations: Spread::new(self.batches.len(), &mut random),
            users: stream("users"),
            times: stream("times"),
            mixes: stream("mixes"),
            fields: stream("fields"),
            open: Vec::new(),
            ready: VecDeque::new(),
            made: 0,
        })
    }
}

impl LookAlike {
    /// How far an hour is ahead of its share on average once it is filled batch
    /// by batch: half the batch that a job is in (renewal theory). Hours begin
    /// so far ahead, or the jobs would run out before the time does.
    fn overshoot(&self) -> f64 {
        let (mut jobs, mut squares) = (0.0, 0.0);
        for pair in self.profiles.iter().flat_map(|p| p.batches.chunks_exact(2)) {
            let size = self.batches[pair[0] as usize].jobs.at(0.5) as f64;
            jobs += pair[1] as f64 * size;
            squares += pair[1] as f64 * size * size;
        }
        squares / jobs.max(1.0) / 2.0
    }
}

impl LookAlikeJobs<'_> {
    /// Fills one hour up to its share: batches are drawn whole, and what an
    /// hour got too much its next ones get less.
    fn fill(&mut self, slot: Slot) {
        let behind = &mut self.behind[slot.hour_of_day];
        *behind += slot.jobs;
        let mut drafts: Vec<Draft> = Vec::new();
        while self.left > 0 && self.behind[slot.hour_of_day] > 0.0 {
            let Some(draft) = self.draft(&drafts, slot) else {
                break;
            };
            let jobs = draft.cells.len() as u64;
            self.behind[slot.hour_of_day] -= jobs as f64;
            self.left -= jobs;
            drafts.push(draft);
        }
        self.place(&mut drafts, slot);
        for draft in drafts {
            self.write(&draft);
        }
        self.open.sort_by_key(|job| job.submit_time);
        let end = SimDuration::from_secs(slot.until);
        let done = self.open.partition_point(|job| job.submit_time < Some(end));
        self.ready.extend(self.open.drain(..done));
    }

    /// Draws who submits how many jobs of which cells.
    fn draft(&mut self, drafts: &[Draft], slot: Slot) -> Option<Draft> {
        let mut wanted = self.pick_batch(drafts, slot)?;
        // A batch that is far larger than what the hour lacks is put off with
        // the odds that keep its hour to its share.
        for _ in 0..TRIES {
            let lacks = self.behind[slot.hour_of_day].max(slot.jobs);
            if unit(&mut self.users) * (wanted.jobs as f64) < lacks {
                break;
            }
            wanted = self.pick_batch(drafts, slot)?;
        }
        let Wanted {
            hand,
            user,
            place,
            level,
            jobs,
        } = wanted;
        let leaning = Leaning {
            model: self.model,
            part: leaning::part(slot.hour_of_day),
        };
        let this = &mut self.hands[hand];
        this.batches.take(place);
        let alike = unit(&mut self.mixes) < self.model.batches[level].alike;
        let cells = this.deal_cells(user, jobs, alike, &leaning, &mut self.mixes);
        if cells.is_empty() {
            return None;
        }
        self.last = Some((hand, user));
        Some(Draft {
            hand,
            user,
            level,
            cells,
            start: slot.from,
        })
    }

    /// One of the batches that are left, which is not taken yet.
    fn pick_batch(&mut self, drafts: &[Draft], slot: Slot) -> Option<Wanted> {
        let (hand, user) = self.pick_user(drafts, slot)?;
        let place = self.hands[hand].batches.pick(&mut self.users)?;
        let level = self.hands[hand].batches.left[place].0 as usize;
        let part = self.batch_sizes.next(level);
        let jobs = self.model.batches[level].jobs.at(part).clamp(1, self.left);
        Some(Wanted {
            hand,
            user,
            place,
            level,
            jobs,
        })
    }

    fn pick_user(&mut self, drafts: &[Draft], slot: Slot) -> Option<(usize, usize)> {
        self.settle();
        let busiest = self
            .busiest(slot)
            .filter(|at| self.has_room(*at, drafts, slot));
        if busiest.is_some() {
            return busiest;
        }
        let part = leaning::part(slot.hour_of_day);
        let mut found = None;
        for attempt in 0..TRIES {
            let again = self
                .last
                .filter(|(hand, _)| self.hands[*hand].batches.total > 0);
            // Whoever submitted last stays less likely at an hour that is not
            // theirs.
            let lean = again.map_or(1.0, |last| self.leanings[last.0][part].min(1.0));
            let stays = unit(&mut self.users) < self.model.likeness.same_user * lean;
            let at = match again {
                Some(last) if stays && attempt == 0 => last,
                _ => {
                    let hand = self.pick_hand(slot)?;
                    (hand, self.hands[hand].pick_user(&mut self.users))
                }
            };
            found = Some(at);
            if self.has_room(at, drafts, slot) {
                break;
            }
        }
        found
    }

    /// Whether a user can begin one more batch in an hour, far enough from the
    /// others.
    fn has_room(&self, (hand, user): (usize, usize), drafts: &[Draft], slot: Slot) -> bool {
        let of_user = |d: &&Draft| d.hand == hand && d.user == user;
        let begun = drafts.iter().filter(of_user).count() as u64;
        let last = self.hands[hand].users[user].last_start;
        let earliest = last.map_or(slot.from, |start| slot.from.max(start + APART));
        earliest + begun * APART < slot.until
    }

    /// A user who has so many batches left that there is hardly time for them:
    /// who submits around the clock in the source has to do so here, and not
    /// make up for it after the end.
    fn busiest(&self, slot: Slot) -> Option<(usize, usize)> {
        /// Part of the time that is left and may be needed.
        const FULL: f64 = 0.8;
        let left = self.end.saturating_sub(slot.from) as f64;
        let needed = |hand: &Hand| (hand.batches.total * APART) as f64 / hand.users.len() as f64;
        let full = |hand: &Hand| hand.cells.total > 0 && needed(hand) > FULL * left;
        let hand = self
            .hands
            .iter()
            .position(|hand| hand.users.len() == 1 && full(hand))?;
        Some((hand, 0))
    }

    fn settle(&mut self) {
        if self.hands.iter().all(|hand| hand.batches.total == 0) {
            self.hands.iter_mut().for_each(Hand::settle);
        }
        // The user of the last batch may have nothing left but batches.
        if let Some((hand, _)) = self.last {
            let hand = &mut self.hands[hand];
            if hand.cells.total == 0 {
                hand.settle();
            }
        }
    }

    fn pick_hand(&mut self, slot: Slot) -> Option<usize> {
        let part = leaning::part(slot.hour_of_day);
        for _ in 0..2 * self.hands.len() {
            let weigh = |(hand, lean): (&Hand, &[f64; PARTS])| match hand.batches.total {
                0 => 0.0,
                left => left as f64 * lean[part],
            };
            let hands = || self.hands.iter().zip(&self.leanings);
            let mut at = unit(&mut self.users) * hands().map(weigh).sum::<f64>();
            let found = hands().position(|hand| {
                at -= weigh(hand);
                at < 0.0 && hand.0.batches.total > 0
            });
            // What rounding leaves over is the last one's.
            let last = || self.hands.iter().rposition(|hand| hand.batches.total > 0);
            let hand = found.or_else(last)?;
            if self.hands[hand].cells.total > 0 {
                return Some(hand);
            }
            // Out of jobs: its batches are void.
            self.hands[hand].settle();
            if self.hands.iter().all(|hand| hand.batches.total == 0) {
                self.hands.iter_mut().for_each(Hand::settle);
            }
        }
        None
    }

    /// Gives the batches of an hour their instants: where its cascade
    /// crowds them, those of
    /// one user so far apart that they stay batches of their own.
    fn place(&mut self, drafts: &mut [Draft], slot: Slot) {
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        order.sort_by_key(|at| (drafts[*at].hand, drafts[*at].user));
        let same = |a: &usize, b: &usize| {
            (drafts[*a].hand, drafts[*a].user) == (drafts[*b].hand, drafts[*b].user)
        };
        let cascade = Cascade::new(&self.model.bunching, &mut self.times);
        let length = (slot.until - slot.from) as f64;
        let groups: Vec<Vec<usize>> = order.chunk_by(same).map(<[usize]>::to_vec).collect();
        for group in groups {
            let (hand, user) = (drafts[group[0]].hand, drafts[group[0]].user);
            let last = &mut self.hands[hand].users[user].last_start;
            let earliest = last.map_or(slot.from, |start| slot.from.max(start + APART));
            let mut starts: Vec<u64> = Vec::with_capacity(group.len());
            let any = || slot.from + (cascade.place(&mut self.times) * length) as u64;
            starts.resize_with(group.len(), any);
            starts.sort_unstable();
            let mut free = earliest;
            for ((at, start), later) in group.iter().zip(starts).zip((0..group.len() as u64).rev())
            {
                // As late as leaves room for those behind it.
                let latest = slot.until.saturating_sub(1 + later * APART);
                let start = start.min(latest).max(free);
                free = start + APART;
                drafts[*at].start = start;
                *last = Some(start);
            }
        }
    }

    /// Writes the jobs of a batch.
    fn write(&mut self, draft: &Draft) {
        let level = &self.model.batches[draft.level];
        let part = self.durations.next(draft.level);
        let offsets = offsets(level, draft.cells.len(), part, &mut self.times);
        let runs = self.model.run_times.len() as u64;
        let labels = self.hands[draft.hand].deal_label(draft.cells.len() as u64);
        let user = self.hands[draft.hand].users[draft.user].number;
        for (cell, offset) in draft.cells.iter().zip(offsets) {
            let (size, run) = ((cell / runs) as usize, (cell % runs) as usize);
            let processors = self.model.sizes[size].at(self.sizes.next(size));
            let run_time = self.model.run_times[run].at(self.run_times.next(run));
            let failed = below(&mut self.fields, 1_000) < self.model.failed_permille[run];
            let requested = self.request(run);
            let label = |at: usize| u64::try_from(labels[at]).ok();
            self.open.push(Record {
                submit_time: Some(SimDuration::from_secs(draft.start + offset)),
                run_time: Some(SimDuration::from_secs(run_time)),
                allocated_processors: Some(processors),
                requested_processors: Some(processors),
                requested_time: requested.map(SimDuration::from_secs),
                status: Some(u64::from(!failed)),
                user: u64::try_from(user).ok(),
                group: label(0),
                executable: label(1),
                queue: label(2),
                partition: label(3),
                ..Record::default()
            });
        }
    }

    fn request(&mut self, run: usize) -> Option<u64> {
        let pairs = &self.model.requests[run];
        let total = pairs.iter().skip(1).step_by(2).sum();
        let mut at = below(&mut self.fields, total);
        for pair in pairs.chunks_exact(2) {
            if at < pair[1] {
                return self.model.requested_times_s.get(pair[0] as usize).copied();
            }
            at -= pair[1];
        }
        None
    }
}

/// Seconds from the start of a batch at which its jobs are submitted, rising.
fn offsets(level: &BatchLevel, jobs: usize, part: f64, random: &mut ChaCha8Rng) -> Vec<u64> {
    let steps = level.duration_s.len().saturating_sub(1).max(1);
    let place = part * steps as f64;
    let at = |step: usize| level.duration_s.get(step).copied().unwrap_or(0) as f64;
    let (low, high) = (at(place as usize), at((place as usize + 1).min(steps)));
    let duration = (low + (high - low) * place.fract()).round() as u64;
    let mut offsets = vec![0; jobs];
    if jobs < 2 || duration == 0 {
        return offsets;
    }
    offsets[jobs - 1] = duration;
    // Instants at which something is submitted, and jobs that share one.
    let mut instants = vec![0, duration];
    for offset in &mut offsets[1..jobs - 1] {
        if unit(random) < level.same_second {
            *offset = instants[below(random, instants.len() as u64) as usize];
        } else {
            *offset = below(random, duration + 1);
            instants.push(*offset);
        }
    }
    offsets.sort_unstable();
    offsets
}

impl Iterator for LookAlikeJobs<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.ready.is_empty() {
            match self.slots.next() {
                Some(slot) => self.fill(slot),
                None if self.open.is_empty() => return None,
                None => self.ready.extend(self.open.drain(..)),
            }
        }
        self.made += 1;
        let job = self.ready.pop_front()?;
        Some(Record {
            job: Some(self.made),
            ..job
        })
    }
}

/// Slots are whole hours or less.
const _: () = assert!(HOUR > 2 * BATCH_WINDOW_S);
