//! What the reference broker believes about a candidate.

use crate::reference::cluster::{RefLoad, RefMean};
use gridrig_core::ids::ClusterId;
use gridrig_core::job::JobSpec;
use gridrig_core::load::Window;
use gridrig_core::message::Target;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::cmp::Ordering;

/// What the broker believes about one candidate.
pub struct RefView {
    pub(super) target: Target,
    pub(super) latency: SimDuration,
    /// MiB of data a second.
    pub(super) bandwidth: Option<Decimal>,
    /// The last load received of each of its clusters.
    pub(super) loads: Vec<(ClusterId, RefLoad)>,
    /// What was sent there and is in no received sample: arrival instant and job.
    pub(super) sent: Vec<(SimTime, JobSpec)>,
    /// What waits in the peer's broker; the full-information bound only.
    pub(super) waiting: Vec<JobSpec>,
}

/// `over / under`, `under` above 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio(i128, i128);

impl Ratio {
    fn whole(value: i128) -> Self {
        Ratio(value, 1)
    }

    fn of(mean: RefMean) -> Self {
        Ratio(mean.sum.cast_signed(), mean.weight.cast_signed())
    }

    fn plus(self, Ratio(other_over, other_under): Ratio) -> Self {
        let Ratio(over, under) = self;
        if under == other_under {
            return Ratio(over + other_over, under);
        }
        // As small as it gets.
        let (mut a, mut b) = (under, other_under);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        let over = over * (other_under / a) + other_over * (under / a);
        Ratio(over, under / a * other_under)
    }

    fn divided_by(self, divisor: i128) -> Self {
        Ratio(self.0, self.1 * divisor)
    }

    pub(super) fn compare(self, other: Ratio) -> Ordering {
        (self.0 * other.1).cmp(&(other.0 * self.1))
    }
}

impl RefView {
    pub(super) fn processors(&self) -> i128 {
        let loads = self.loads.iter();
        loads.map(|(_, load)| i128::from(load.processors)).sum()
    }

    fn processors_sent(&self) -> i128 {
        let sent = self.sent.iter();
        sent.map(|(_, job)| i128::from(job.processors())).sum()
    }

    /// Sum of the queue lengths; a job that was sent is one more.
    pub(super) fn queued(&self, window: Window, debited: bool) -> Ratio {
        let means = self.loads.iter();
        let means = means.map(|(_, load)| Ratio::of(load.queued_means[window as usize]));
        let known = means.reduce(Ratio::plus).unwrap_or(Ratio::whole(0));
        if !debited {
            return known;
        }
        Ratio(known.0 + self.sent.len() as i128 * known.1, known.1)
    }

    /// Busy sum over processor sum; what was sent is busy.
    pub(super) fn utilization(&self, window: Window, debited: bool) -> Ratio {
        let means = self.loads.iter();
        if !self.loads.is_empty() && self.processors() == 0 {
            let sent = if debited { self.processors_sent() } else { 0 };
            return Ratio::whole(1 + sent);
        }
        let means = means.map(|(_, load)| Ratio::of(load.busy_means[window as usize]));
        let mut busy = means.reduce(Ratio::plus).unwrap_or(Ratio::whole(0));
        if debited {
            busy.0 += self.processors_sent() * busy.1;
        }
        busy.divided_by(self.processors().max(1))
    }

    /// The most free processors in one cluster, less what was sent.
    pub(super) fn free(&self, debited: bool) -> i128 {
        let free = |load: &RefLoad| i128::from(load.processors) - i128::from(load.busy);
        let most = self.loads.iter().map(|(_, load)| free(load)).max();
        most.unwrap_or(0) - if debited { self.processors_sent() } else { 0 }
    }

    /// The same, less what queued jobs are waiting for.
    pub(super) fn free_beyond_queue(&self) -> i128 {
        let beyond = |load: &RefLoad| {
            i128::from(load.processors) - i128::from(load.busy) - i128::from(load.queued_processors)
        };
        let most = self.loads.iter().map(|(_, load)| beyond(load)).max();
        let waiting = self.waiting.iter().map(|job| i128::from(job.processors()));
        most.unwrap_or(0) - self.processors_sent() - waiting.sum::<i128>()
    }

    /// Processor-nanoseconds left there, on the way and waiting, per processor.
    pub(super) fn work_per_processor(&self) -> Ratio {
        let work = |it: &JobSpec| i128::from(it.processors()) * i128::from(it.run_time.as_nanos());
        let known = self.loads.iter();
        let known: i128 = known.map(|(_, load)| load.work_left.cast_signed()).sum();
        let sent: i128 = self.sent.iter().map(|(_, job)| work(job)).sum();
        let waiting: i128 = self.waiting.iter().map(work).sum();
        Ratio::whole(known + sent + waiting).divided_by(self.processors().max(1))
    }
}
