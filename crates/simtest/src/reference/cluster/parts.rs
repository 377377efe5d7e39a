//! Processors that are reserved for parts of jobs which several clusters run together, until
//! it is known when these begin (docs/coallocation.md).

use super::RefCluster;
use super::reserved::{Kept, SHORTEST};
use gridrig_core::agent::ClaimAnswer;
use gridrig_core::ids::JobId;
use gridrig_core::job::{JobSpec, StartWindow};
use gridrig_core::time::{Decimal, SimDuration, SimTime};

/// A part is reserved for so much longer, whatever is rounded.
const ROUNDING: SimDuration = SimDuration::from_nanos(1_000);

impl RefCluster {
    /// Reserves for a part, which takes as long as it says whatever it runs on, from an instant
    /// within a window on, in place of what is reserved for it.
    pub fn reserve_part(
        &mut self,
        now: SimTime,
        part: &JobSpec,
        confirm_by: SimTime,
        (earliest, latest): (SimTime, SimTime),
    ) -> ClaimAnswer {
        let empty = RefCluster::new(self.config.clone());
        let fits = empty.place(part).is_some();
        if self.config.reserving.is_none() || latest < now || !fits {
            return ClaimAnswer::No;
        }
        let place = self.kept.iter().position(|kept| kept.spec.id == part.id);
        let before = place.map(|place| self.kept.remove(place));
        self.loosened |= before.is_some();
        self.unplanned |= before.is_some();
        self.make_way(now);
        let window = StartWindow {
            earliest,
            latest,
            flexible: false,
        };
        let mut new = Kept {
            length: part.run_time.max(SHORTEST) + ROUNDING,
            confirm_by: Some(confirm_by),
            is_part: true,
            ..Kept::new(now, part.clone(), window)
        };
        if let Some(found) = self.find(now, &new) {
            let (start, speed) = (found.start, self.slowest_of(&found));
            self.kept.push(found);
            return ClaimAnswer::Reserved { start, speed };
        }
        new.window.latest = SimTime::MAX;
        let next = self.earliest(now, &new, latest.max(now));
        self.kept.extend(before);
        next.map_or(ClaimAnswer::No, |next| ClaimAnswer::NotBefore(next.start))
    }

    /// The least speed of what is reserved.
    fn slowest_of(&self, kept: &Kept) -> Decimal {
        let groups = self.config.resources.groups();
        let places = self.places();
        let shares = kept.shares.iter().flat_map(|own| own.iter().zip(&places));
        let taken = shares.filter(|(share, _)| **share > 0);
        let speeds = taken.map(|(_, place)| groups[place.resource].speed);
        speeds.min().unwrap_or(Decimal::ONE)
    }

    /// What is reserved for a part is kept from then on for so long; `false` if it would not
    /// do.
    pub fn confirm_part(&mut self, job: JobId, at: SimTime, length: SimDuration) -> bool {
        let place = self.kept.iter().position(|kept| kept.spec.id == job);
        let Some(place) = place else { return false };
        let speed = self.slowest_of(&self.kept[place]);
        // At speed 1.0, and no less when it is turned into a time here again.
        let estimate = speed.multiply(length.max(SHORTEST).as_nanos()) + 1;
        let planned = SimDuration::from_nanos(speed.divide(estimate));
        let kept = &mut self.kept[place];
        let holds = at >= kept.start && at + planned <= kept.start + kept.length;
        if holds {
            (kept.start, kept.length, kept.confirm_by) = (at, planned, None);
            kept.spec.run_time = SimDuration::ZERO;
            kept.spec.requested_time = Some(SimDuration::from_nanos(estimate));
        }
        (self.loosened, self.unplanned) = (true, true);
        holds
    }

    /// Reservations of parts that nobody has confirmed in time are lost.
    pub fn end_unconfirmed(&mut self, now: SimTime) {
        let is_over = |kept: &mut Kept| kept.confirm_by.is_some_and(|by| by <= now);
        let over: Vec<Kept> = self.kept.extract_if(.., is_over).collect();
        self.loosened |= !over.is_empty();
        self.unplanned |= !over.is_empty();
        self.lost.extend(over.iter().map(|kept| kept.spec.id));
    }

    /// Jobs of which parts have lost what was reserved.
    pub fn take_lost(&mut self) -> Vec<JobId> {
        std::mem::take(&mut self.lost)
    }
}
