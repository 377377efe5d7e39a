//! Run times that depend on where a program runs, and on how many processors.

use super::ClusterConfig;
use crate::decimal::narrow;
use crate::job::JobSpec;
use crate::time::SimDuration;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// How long programs run on a cluster, by their number (SWF field 14) and by the
/// processors of the job, as in Tables 4 and 5 of Rodero et al. (LA Grid) and in
/// Figure 5 of Sonmez et al. (KOALA). Such a job runs so long whatever its own run
/// time is. Between two sizes times are interpolated linearly; beyond them a job runs
/// as long as at the nearest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTimes(pub BTreeMap<NonZeroU32, BTreeMap<NonZeroU32, SimDuration>>);

impl RunTimes {
    /// Of this program on so many processors; `None` where nothing is known of it.
    pub fn of(&self, executable: NonZeroU32, processors: NonZeroU32) -> Option<SimDuration> {
        let times = self.0.get(&executable)?;
        let below = times.range(..=processors).next_back();
        let above = times.range(processors..).next();
        let (Some((low, from)), Some((high, to))) = (below, above) else {
            return Some(*below.or(above)?.1);
        };
        let between = |of: NonZeroU32| u128::from(of.get() - low.get());
        let (place, width) = (between(processors), between(*high).max(1));
        let weighed = |time: &SimDuration, by: u128| u128::from(time.as_nanos()) * by;
        let nanos = (weighed(from, width - place) + weighed(to, place)) / width;
        Some(SimDuration::from_nanos(narrow(nanos)))
    }
}

impl ClusterConfig {
    /// Run time of a job at speed 1.0 if it runs here: its own, but for programs whose
    /// run times are known, which it has on the nodes as they are. These are of one
    /// speed.
    pub fn length_of(&self, job: &JobSpec) -> SimDuration {
        self.known_length(job).unwrap_or(job.run_time)
    }

    /// The same; `None` where nothing is known of its program.
    pub(super) fn known_length(&self, job: &JobSpec) -> Option<SimDuration> {
        let processors = NonZeroU32::new(job.processors())?;
        let time = self.run_times.of(job.executable?, processors)?.as_nanos();
        let speed = self.resources.groups().first()?.speed;
        let length = speed.multiply(time);
        // The speed divides it again, and rounds down.
        let short = speed.divide(length) < time;
        Some(SimDuration::from_nanos(length.saturating_add(short.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_interpolated_between_sizes_and_not_beyond() {
        let number = |of: u32| NonZeroU32::new(of).unwrap();
        let times = [(2, 100), (4, 60), (16, 30)];
        let times = times.map(|(size, secs)| (number(size), SimDuration::from_secs(secs)));
        let table = RunTimes([(number(7), times.into())].into());
        let of = |size: u32| {
            table
                .of(number(7), number(size))
                .map(SimDuration::as_secs_f64)
        };
        let found = [1, 2, 3, 4, 10, 16, 99].map(|size| of(size).unwrap());
        assert_eq!(found, [100.0, 100.0, 80.0, 60.0, 45.0, 30.0, 30.0]);
        assert_eq!(table.of(number(8), number(2)), None);
    }
}
