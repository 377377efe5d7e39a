//! Deals classes, users, sizes and run times to the days of a look-alike.

use super::{DAY, LookAlike};
use crate::synth::unit::below;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom as _;
use std::collections::HashMap;

/// Exchanges that are tried for each job until users crowd as they should, and
/// until days have their demand.
const TRIES: usize = 20;

/// A job before it has an instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Counted from the first day of the pass.
    pub(super) day: u32,
    pub(super) class: u32,
    /// Its place in the list of users.
    pub(super) user: u32,
    pub(super) size: u64,
    pub(super) run_time: u64,
    pub(super) requested: u64,
}

impl Slot {
    fn demand(&self) -> i128 {
        i128::from(self.size) * i128::from(self.run_time)
    }
}

/// The slots of a class, by day.
#[derive(Clone, Debug, Default)]
struct Members {
    slots: Vec<usize>,
    /// How many of them come before each day.
    before: Vec<usize>,
}

impl Members {
    fn on(&self, day: u32) -> &[usize] {
        let day = day as usize;
        let end = self
            .before
            .get(day + 1)
            .copied()
            .unwrap_or(self.slots.len());
        &self.slots[self.before[day]..end]
    }
}

/// One of these, any.
fn any(of: &[usize], random: &mut ChaCha8Rng) -> usize {
    of[below(random, of.len() as u64) as usize]
}

/// Takes `wanted` of `of` things, evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) wanted: u64,
    pub(super) of: u64,
    /// Less than `of`: where it begins.
    pub(super) carry: u64,
}

impl Share {
    fn exact(&self, of: u64) -> u128 {
        u128::from(of) * u128::from(self.wanted)
    }

    pub(super) fn take(&mut self, of: u64) -> u64 {
        let whole = u128::from(self.of.max(1));
        let sum = u128::from(self.carry) + self.exact(of);
        self.carry = (sum % whole) as u64;
        (sum / whole) as u64
    }
}

/// Where in `0..of` a part of 2^32 lies, and the part of the way to the next one.
fn place(part: u64, of: usize) -> (usize, u64) {
    let at = part * of as u64;
    ((at >> 32) as usize, at & 0xffff_ffff)
}

/// A value between quantiles.
pub(super) fn between(steps: &[u64], part: u64) -> u64 {
    let (at, rest) = place(part, steps.len() - 1);
    let (low, high) = (steps[at], steps[(at + 1).min(steps.len() - 1)]);
    low + (((high - low) * rest) >> 32)
}

/// The slots of these days of the source, by day.
pub(super) fn deal(
    model: &LookAlike,
    days: &[usize],
    share: &mut Share,
    random: &mut ChaCha8Rng,
) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut of_class = vec![Members::default(); model.classes.len()];
    let mut missing = Vec::new();
    for (day, source) in (0..).zip(days) {
        for members in &mut of_class {
            members.before.push(members.slots.len());
        }
        let source = &model.days[*source];
        missing.push((share.exact(source[0]) / u128::from(share.of.max(1))).cast_signed());
        for pair in source[1..].chunks_exact(2) {
            for _ in 0..share.take(pair[1]) {
                of_class[pair[0] as usize].slots.push(slots.len());
                let class = pair[0] as u32;
                slots.push(Slot {
                    day,
                    class,
                    ..Slot::default()
                });
            }
        }
    }
    for (class, members) in of_class.iter().enumerate() {
        fill(model, class, &members.slots, &mut slots, random);
    }
    let mut crowds = Crowds::new(model, days.len(), &slots);
    for _ in 0..slots.len() * TRIES {
        crowds.exchange(&mut slots, &of_class, random);
    }
    for slot in &slots {
        missing[slot.day as usize] -= slot.demand();
    }
    for _ in 0..slots.len() * TRIES {
        exchange_work(&mut slots, &of_class, &mut missing, random);
    }
    slots
}

/// Users, sizes and run times for the jobs of a class: what the model has of them,
/// spread evenly and shuffled.
fn fill(
    model: &LookAlike,
    class: usize,
    members: &[usize],
    slots: &mut [Slot],
    random: &mut ChaCha8Rng,
) {
    let of_user = |(at, user): (usize, &super::User)| {
        let pairs = user.classes.chunks_exact(2);
        let jobs = pairs
            .filter(|pair| pair[0] == class as u64)
            .map(|pair| pair[1]);
        (at as u32, jobs.sum::<u64>())
    };
    let users: Vec<(u32, u64)> = model.users.iter().enumerate().map(of_user).collect();
    let all = users.iter().map(|user| user.1).sum();
    let mut share = Share {
        wanted: members.len() as u64,
        of: all,
        carry: below(random, all),
    };
    let mut users: Vec<u32> = users
        .into_iter()
        .flat_map(|(user, jobs)| std::iter::repeat_n(user, share.take(jobs) as usize))
        .collect();
    users.shuffle(random);
    for (slot, user) in members.iter().zip(users) {
        slots[*slot].user = user;
    }
    let mut order = members.to_vec();
    order.shuffle(random);
    let jobs: Vec<&[u64]> = model.classes[class].jobs.chunks_exact(3).collect();
    let phase = below(random, 1 << 32);
    for (at, slot) in order.into_iter().enumerate() {
        let part = (((at as u64) << 32) + phase) / members.len() as u64;
        let (at, rest) = place(part, jobs.len());
        let [size, run_time, requested] = [0, 1, 2].map(|field| jobs[at][field]);
        // Half of the way to the run times before and after it of this size.
        let half = |other: Option<&&[u64]>| {
            let other = other.filter(|job| job[0] == size);
            other.map_or(0, |job| job[1].abs_diff(run_time) / 2)
        };
        let below = half(at.checked_sub(1).and_then(|at| jobs.get(at)));
        let width = below + half(jobs.get(at + 1)) + 1;
        slots[slot].size = size;
        slots[slot].run_time = run_time - below + ((width * rest) >> 32);
        // Who asked for enough still does.
        let requested = match requested < run_time {
            true => requested,
            false => requested.max(slots[slot].run_time),
        };
        slots[slot].requested = requested;
    }
}

/// How users crowd on days.
#[derive(Default)]
struct Crowds {
    /// Jobs of a user on a day; only looked up.
    jobs: HashMap<(u32, u32), i64>,
    /// For each user: the sum of the squares of these, less what it should be.
    excess: Vec<f64>,
    /// For each user: the days on which the user has jobs, less what it should be.
    more_days: Vec<f64>,
    /// What each of the two counts.
    weights: Vec<[f64; 2]>,
    /// The slots of each user.
    of_user: Vec<Vec<usize>>,
    /// Where in that list a slot is.
    places: Vec<usize>,
}

impl Crowds {
    fn new(model: &LookAlike, days: usize, slots: &[Slot]) -> Self {
        let mut crowds = Crowds {
            of_user: vec![Vec::new(); model.users.len()],
            ..Crowds::default()
        };
        for (at, slot) in slots.iter().enumerate() {
            *crowds.jobs.entry((slot.user, slot.day)).or_default() += 1;
            let own = &mut crowds.of_user[slot.user as usize];
            crowds.places.push(own.len());
            own.push(at);
        }
        let mut sums = vec![(0, 0.0); model.users.len()];
        // Sums do not depend on the order.
        let by_day = crowds.jobs.iter().map(|((user, _), jobs)| (*user, *jobs));
        for (user, jobs) in by_day {
            let sum = &mut sums[user as usize];
            *sum = (sum.0 + jobs * jobs, sum.1 + 1.0);
        }
        let time = model.days.len() as f64 / days as f64;
        for ((user, own), (squares, active)) in model.users.iter().zip(&crowds.of_user).zip(sums) {
            let all: u64 = user.classes.iter().skip(1).step_by(2).sum();
            // As many days in proportion, and as much denser as the jobs are.
            let denser = own.len() as f64 * time / all.max(1) as f64;
            let wanted = [user.crowding as f64 * denser * denser, user.days as f64];
            let wanted = wanted.map(|wanted| wanted / time);
            crowds.excess.push(squares as f64 - wanted[0]);
            crowds.more_days.push(active - wanted[1]);
            crowds
                .weights
                .push(wanted.map(|wanted| 1.0 / wanted.max(1.0)));
        }
        crowds
    }

    fn on(&self, user: u32, day: u32) -> i64 {
        self.jobs.get(&(user, day)).copied().unwrap_or(0)
    }

    /// Exchanges the users of two jobs of a class if users crowd more as they
    /// should then.
    fn exchange(&mut self, slots: &mut [Slot], of_class: &[Members], random: &mut ChaCha8Rng) {
        let one = below(random, slots.len() as u64) as usize;
        let Slot {
            day, class, user, ..
        } = slots[one];
        let peers = &of_class[class as usize];
        let own = &self.of_user[user as usize];
        // Where the user is, half of the time.
        let from = match below(random, 2) {
            0 => own,
            _ => &peers.slots,
        };
        let there = slots[any(from, random)].day;
        if there == day || peers.on(there).is_empty() {
            return;
        }
        let two = any(peers.on(there), random);
        let other = slots[two].user;
        if other == user {
            return;
        }
        let moved = |user: u32, from: u32, to: u32| {
            let (here, there) = (self.on(user, from), self.on(user, to));
            let before = [self.excess[user as usize], self.more_days[user as usize]];
            let more_days = f64::from(u8::from(there == 0)) - f64::from(u8::from(here == 1));
            let after = [
                before[0] + (2 * (there - here + 1)) as f64,
                before[1] + more_days,
            ];
            let weights = self.weights[user as usize];
            let worse = |at: usize| (after[at].abs() - before[at].abs()) * weights[at];
            (after, worse(0) + worse(1))
        };
        let (of_one, of_two) = (moved(user, day, there), moved(other, there, day));
        if of_one.1 + of_two.1 >= 0.0 {
            return;
        }
        for (user, from, to, after) in [(user, day, there, of_one.0), (other, there, day, of_two.0)]
        {
            *self.jobs.entry((user, from)).or_default() -= 1;
            *self.jobs.entry((user, to)).or_default() += 1;
            [self.excess[user as usize], self.more_days[user as usize]] = after;
        }
        self.of_user[user as usize][self.places[one]] = two;
        self.of_user[other as usize][self.places[two]] = one;
        self.places.swap(one, two);
        (slots[one].user, slots[two].user) = (other, user);
    }
}

/// Exchanges size and run time of two jobs of a class if that brings two days
/// nearer to their demand.
fn exchange_work(
    slots: &mut [Slot],
    of_class: &[Members],
    missing: &mut [i128],
    random: &mut ChaCha8Rng,
) {
    let one = below(random, slots.len() as u64) as usize;
    let two = any(&of_class[slots[one].class as usize].slots, random);
    let (a, b) = (slots[one], slots[two]);
    let more = b.demand() - a.demand();
    let (before, after) = (missing[a.day as usize], missing[b.day as usize]);
    let squares = |a: i128, b: i128| a * a + b * b;
    if a.day == b.day || squares(before - more, after + more) >= squares(before, after) {
        return;
    }
    missing[a.day as usize] -= more;
    missing[b.day as usize] += more;
    let with = |slot: Slot, of: Slot| Slot {
        size: of.size,
        run_time: of.run_time,
        requested: of.requested,
        ..slot
    };
    (slots[one], slots[two]) = (with(a, b), with(b, a));
}

/// Instants of a day that follow the hours: the order of `times` is kept, and as
/// many of them fall on each hour of the day as `hours` has jobs, in proportion.
pub(super) fn to_hours(times: &mut [u64], hours: &[u64]) {
    let mut counts = vec![0u64; DAY as usize + 1];
    times
        .iter()
        .for_each(|time| counts[*time as usize + 1] += 1);
    for at in 1..counts.len() {
        counts[at] += counts[at - 1];
    }
    let all: u64 = hours.iter().sum();
    let (mut hour, mut before) = (0, 0);
    let mut places = vec![0; DAY as usize];
    for (at, place) in places.iter_mut().enumerate() {
        // The middle of those at this second, in jobs of the source, doubled.
        let middle = u128::from(counts[at] + counts[at + 1]) * u128::from(all);
        let middle = (middle / times.len().max(1) as u128) as u64;
        while hour < 23 && middle >= 2 * (before + hours[hour]) {
            before += hours[hour];
            hour += 1;
        }
        let inside = middle.saturating_sub(2 * before) * 3_600 / (2 * hours[hour]).max(1);
        *place = hour as u64 * 3_600 + inside.min(3_599);
    }
    times
        .iter_mut()
        .for_each(|time| *time = places[*time as usize]);
}
