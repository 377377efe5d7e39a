//! Deals the jobs of a look-alike, one instant after the other.

use super::LookAlike;
use super::daytime::{self, DayWeights, PARTS};
use super::deal::{Hand, Rounder, Rounders};
use super::inside::{self, Spread};
use super::stretch::HOUR;
use super::turns::{Recents, shifted};
use super::week::Instants;
use crate::format::{Record, field};
use crate::synth::error::SynthError;
use crate::synth::unit::{below, holder, unit, weighted};
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;

/// Steps whose multiples spread evenly in [0, 1), and pairs of them in the
/// square, however many there are: powers of the plastic number (Roberts's R2
/// sequence). With one step for both, the jobs of a cell that has its ranges for
/// itself would lie on a line.
const STEPS: [f64; 2] = [0.754_877_666_246_692_8, 0.569_840_290_998_053_3];

/// A user: hand, and place in the hand.
type Who = (usize, usize);

/// The jobs of a [`LookAlike`], in order of submission.
pub struct LookAlikeJobs<'a> {
    model: &'a LookAlike,
    instants: Instants,
    hands: Vec<Hand>,
    /// The weight of each part of the day for each hand.
    day_weights: Vec<[f64; PARTS]>,
    /// Probabilities to go on, by class.
    odds: Vec<f64>,
    recents: Recents<Who>,
    sizes: Spread,
    run_times: Spread,
    /// Hours that time 0 is after a Monday 0:00.
    shift: u64,
    users: ChaCha8Rng,
    mixes: ChaCha8Rng,
    fields: ChaCha8Rng,
    places: ChaCha8Rng,
    made: u64,
}

impl std::fmt::Debug for LookAlikeJobs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LookAlikeJobs")
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
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
            cells: Rounder::new(factor, &mut random),
            users: Rounder::new(factor, &mut random),
        };
        let hand = |profile| Hand::of(profile, &mut rounders);
        let hands = self.profiles.iter().map(hand).collect();
        let instants = Instants::new(self, jobs, length);
        Ok(LookAlikeJobs {
            model: self,
            shift: instants.shift(),
            instants,
            hands,
            day_weights: daytime::of_profiles(&self.profiles),
            odds: self.turns.concat(),
            recents: Recents::new(),
            sizes: Spread::new(self.sizes.len(), STEPS[0], &mut random),
            run_times: Spread::new(self.run_times.len(), STEPS[1], &mut random),
            users: stream("users"),
            mixes: stream("mixes"),
            fields: stream("fields"),
            places: stream("places"),
            made: 0,
        })
    }
}

impl LookAlikeJobs<'_> {
    /// Whose job comes now, with the place in the list of recent users.
    fn pick_user(&mut self, now: u64, part: usize) -> Option<(Option<usize>, Who)> {
        for (place, recent, class) in self.recents.at(now) {
            let hand = &self.hands[recent.user.0];
            if hand.cells.total == 0 || hand.users[recent.user.1].left == 0 {
                continue;
            }
            let odds = self.odds[class];
            if odds > 0.0 && unit(&mut self.users) < shifted(odds, hand.stays) {
                return Some((Some(place), recent.user));
            }
        }
        let hand = self.pick_hand(part)?;
        let user = (hand, self.hands[hand].pick_user(&mut self.users));
        Some((self.recents.find(user), user))
    }

    /// A profile by the turns that it still has, and by the time of the day.
    fn pick_hand(&mut self, part: usize) -> Option<usize> {
        let hands = self.hands.iter().zip(&self.day_weights);
        let weigh = |(hand, weights): (&Hand, &[f64; PARTS])| {
            hand.cells.total as f64 * hand.turns * weights[part]
        };
        weighted(&mut self.users, hands.map(weigh))
    }

    /// The job that is submitted at an instant; `None` when all are dealt.
    fn deal(&mut self, now: u64) -> Option<Record> {
        let hour = (now / HOUR + self.shift) % 24;
        let weights = DayWeights {
            model: self.model,
            part: daytime::part(hour as usize),
        };
        let (place, who) = self.pick_user(now, weights.part)?;
        let age = self.recents.submit(place, who, now);
        let hand = &mut self.hands[who.0];
        let cell = hand.deal_cell(who.1, age, &weights, &mut self.mixes)?;
        let labels = hand.deal_label(who.1, age);
        let user = hand.users[who.1].number;
        let runs = self.model.run_times.len() as u64;
        let (size, run) = ((cell / runs) as usize, (cell % runs) as usize);
        let (run_place, size_place) = inside::of_cell(&self.model.inside, cell);
        let part = self.sizes.take(size, size_place, &mut self.places);
        let processors = self.model.sizes[size].at(part);
        let part = self.run_times.take(run, run_place, &mut self.places);
        let run_time = self.model.run_times[run].at(part);
        let failed = below(&mut self.fields, 1_000) < self.model.failed_permille[run];
        let requested = self.request(run);
        self.made += 1;
        let mut job = Record::made(self.made, now, run_time, processors)
            .with(field::REQUESTED_TIME, requested)
            .with(field::STATUS, u64::from(!failed));
        for (at, id) in [user].into_iter().chain(labels).enumerate() {
            job.set(field::USER + at, u64::try_from(id).ok());
        }
        Some(job)
    }

    fn request(&mut self, run: usize) -> Option<u64> {
        let pairs = &self.model.requests[run];
        let counts = pairs.iter().skip(1).step_by(2).copied();
        let at = below(&mut self.fields, counts.clone().sum());
        let time = pairs[2 * holder(counts, at)?];
        self.model.requested_times_s.get(time as usize).copied()
    }
}

impl Iterator for LookAlikeJobs<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let now = self.instants.next()?;
        self.deal(now)
    }
}
