//! The jobs of a look-alike: users, classes and demand by day, then instants.

use super::deal::{Share, Slot, between, deal, to_hours};
use super::{DAY, LookAlike};
use crate::format::{Record, field};
use crate::synth::error::{Result, SynthError};
use crate::synth::unit::{below, holder};
use gridrig_core::rng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom as _;

/// More jobs are not dealt at once.
const MOST_JOBS: f64 = 2e8;

impl LookAlike {
    /// What is made: the days of the source in the order in which they are made,
    /// how many of them are dealt together, the seconds after which nothing is
    /// submitted, and the share of the jobs.
    fn plan(&self, random: &mut ChaCha8Rng) -> Result<(Vec<usize>, usize, f64, Share)> {
        let known = self.days.len();
        let all = self.jobs_in(0, known) as f64;
        let days = match (self.extent.days, self.extent.jobs) {
            (Some(days), _) => days,
            (None, jobs) => known as f64 * jobs.unwrap_or(0) as f64 / all,
        };
        let wanted = (days.ceil() as usize).max(1);
        // Another length begins again after whole weeks, with any of them.
        let (cycle, start) = match (wanted == known, known / 7) {
            (true, _) | (_, 0) => (known, 0),
            (false, weeks) => (weeks * 7, below(random, weeks as u64) as usize * 7),
        };
        let days_made: Vec<usize> = (0..wanted).map(|day| (start + day) % cycle).collect();
        let of = days_made.iter().map(|day| self.jobs_in(*day, 1)).sum();
        let jobs = self.extent.jobs.unwrap_or(of);
        let at_once = jobs as f64 * (cycle as f64 / wanted as f64).min(1.0);
        if at_once > MOST_JOBS {
            let expected = format!("at most {MOST_JOBS} jobs in the {cycle} days of the source");
            return Err(SynthError::parameter("extent.jobs", jobs, expected));
        }
        let share = Share {
            wanted: jobs,
            of,
            carry: below(random, of),
        };
        Ok((days_made, cycle, days * DAY as f64, share))
    }

    /// The jobs of this model, in order of submission.
    ///
    /// # Errors
    /// [`SynthError::Parameter`] when it makes no workload.
    pub fn jobs(&self) -> Result<impl Iterator<Item = Record> + '_> {
        self.check()?;
        let mut random = rng::stream(self.seed, "look-alike");
        let (days, pass, length, mut share) = self.plan(&mut random)?;
        let begin = self.first_day * DAY;
        let passes = days.len().div_ceil(pass);
        let made = (0..passes).flat_map(move |at| {
            let days = &days[at * pass..days.len().min((at + 1) * pass)];
            let first = begin + (at * pass) as u64 * DAY;
            let slots = deal(self, days, &mut share, &mut random);
            self.submitted(first, slots, &mut random)
        });
        let inside = move |job: &(u64, Record)| ((job.0 - begin) as f64) < length;
        let numbered = |(number, (_, job)): (u64, (u64, Record))| job.with(field::JOB, number);
        Ok((1..).zip(made.take_while(inside)).map(numbered))
    }

    /// The jobs of a pass in the order of their instants.
    fn submitted(
        &self,
        first: u64,
        mut slots: Vec<Slot>,
        random: &mut ChaCha8Rng,
    ) -> Vec<(u64, Record)> {
        let mut times = Vec::with_capacity(slots.len());
        slots.sort_by_key(|slot| (slot.day, slot.user));
        for jobs in slots.chunk_by_mut(|a, b| (a.day, a.user) == (b.day, b.user)) {
            jobs.shuffle(random);
            self.day_of_user(jobs.len(), &mut times, random);
        }
        to_hours(&mut times, &self.hours_of_day);
        let at = |(slot, time): (&Slot, u64)| first + u64::from(slot.day) * DAY + time;
        let mut made: Vec<(u64, Slot)> = slots
            .iter()
            .zip(times)
            .map(|(slot, time)| (at((slot, time)), *slot))
            .collect();
        made.sort_by_key(|(at, _)| *at);
        made.into_iter()
            .map(|(at, slot)| (at, self.record(at, &slot, random)))
            .collect()
    }

    /// When a user with so many jobs on one day submits them.
    fn day_of_user(&self, jobs: usize, times: &mut Vec<u64>, random: &mut ChaCha8Rng) {
        let hour = below(random, self.hours_of_day.iter().sum());
        let hour = holder(self.hours_of_day.iter().copied(), hour).unwrap_or(0) as u64;
        let anchor = hour * 3_600 + below(random, 3_600);
        // Those of as many jobs; the next fewer where there are none.
        let end = self
            .rhythms
            .partition_point(|rhythm| rhythm.jobs <= jobs as u64)
            .max(1);
        let least = self.rhythms[end - 1].jobs;
        let begin = self.rhythms[..end].partition_point(|rhythm| rhythm.jobs < least);
        let alike = &self.rhythms[begin..end];
        let days = alike.iter().map(|rhythm| rhythm.days);
        let which = holder(days.clone(), below(random, days.sum())).unwrap_or(0);
        let rhythm = &alike[which];
        let (mut at, mut gap) = (0, None);
        let mut offsets = vec![0; jobs];
        for offset in &mut offsets[1..] {
            let again = below(random, 1_000) < rhythm.repeats_permille;
            let new = between(&rhythm.gaps_s, below(random, 1 << 32));
            at += *gap.insert(gap.filter(|_| again).unwrap_or(new));
            *offset = at;
        }
        // One of them, any, is submitted at the anchor; what is beyond midnight
        // belongs to the other end of the day.
        let before = offsets[below(random, jobs as u64) as usize] % DAY;
        times.extend(
            offsets
                .into_iter()
                .map(|offset| (anchor + DAY - before + offset) % DAY),
        );
    }

    fn record(&self, at: u64, slot: &Slot, random: &mut ChaCha8Rng) -> Record {
        let user = &self.users[slot.user as usize];
        let failed = below(random, 1_000) < self.classes[slot.class as usize].failed_permille;
        let mut job = Record::made(1, at, slot.run_time, slot.size)
            .with(
                field::REQUESTED_TIME,
                Some(slot.requested).filter(|time| *time > 0),
            )
            .with(field::STATUS, u64::from(!failed));
        let counts = user
            .labels
            .iter()
            .skip(4)
            .step_by(5)
            .map(|jobs| jobs.cast_unsigned());
        let label = holder(counts.clone(), below(random, counts.sum())).unwrap_or(0);
        let label = user
            .labels
            .chunks_exact(5)
            .nth(label)
            .map_or(&[][..], |label| &label[..4]);
        for (at, id) in std::iter::once(&user.user).chain(label).enumerate() {
            job.set(field::USER + at, u64::try_from(*id).ok());
        }
        job
    }
}
