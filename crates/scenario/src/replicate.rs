//! What varies between the replications of a scenario.

use super::external::Contender;
use super::{Clock, Scenario};
use crate::workload::{Keep, SpreadBy, WorkloadSpec};
use gridrig_core::ids::JobId;
use gridrig_core::job::Submission;
use gridrig_core::policy::{PolicySpec, Tie};
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
use rand::RngExt;

/// What varies, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicate {
    /// What varies.
    pub over: Over,
    /// How far, of windows and shaken submissions.
    pub step: Option<SimDuration>,
    /// How many replications, at least 1.
    pub count: u32,
}

/// What varies between replications; `k` counts them from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Over {
    /// Each workload's window starts `k * step` later.
    Window,
    /// The phase of each systematic sample is `k`.
    SamplePhase,
    /// The seed is `k` higher.
    Seed,
    /// Each broker's first cycle is `k / count` of its interval later.
    BrokerPhase,
    /// Each submission is moved by a random time in `[0, step)`.
    Shake,
}

impl Over {
    pub(crate) const ALL: &'static [Over] = <Over as strum::VariantArray>::VARIANTS;

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One replication: a scenario of its own.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Position, from 0: directory `rNNN`.
    pub index: u32,
    /// What tells it from the others, such as `window+7d`; runs of different
    /// policies are paired by it.
    pub key: String,
    /// What varies between it and the others; `None` if it is the only one.
    pub varies: Option<Replicate>,
    /// The seed of its random streams.
    pub seed: u64,
    /// The seed the user gave, which names the directory of all replications.
    pub base_seed: u64,
    /// The scenario with its modification applied.
    pub scenario: Scenario,
    /// The bound of the random move of each submission, if there is one.
    pub shake: Option<SimDuration>,
    /// Whether its scenario is that of one pooled cluster, as a bound.
    pub pooled: bool,
}

impl Replication {
    /// The same with this policy of the brokers' own.
    pub fn under(&self, contender: &Contender) -> Self {
        let mut replication = self.clone();
        if let (None, Some(policy)) = (&contender.ours, &contender.name) {
            replication.scenario.external.policy.clone_from(policy);
        }
        replication
    }

    /// The name of what is run: this policy of ours, or the brokers' own; `None`
    /// without a broker.
    pub fn policy_name(&self, policy: Option<&PolicySpec>) -> Option<String> {
        let external = &self.scenario.external;
        match external.brokers.is_empty() || self.pooled {
            true => policy.map(PolicySpec::to_string),
            false => Some(external.policy.clone()),
        }
    }
}

impl Scenario {
    /// The replications, at least one.
    pub fn replications(&self) -> Vec<Replication> {
        let count = self.replicate.map_or(1, |replicate| replicate.count);
        (0..count).map(|index| self.replication(index)).collect()
    }

    fn replication(&self, index: u32) -> Replication {
        let mut scenario = self.clone();
        let mut shake = None;
        let k = u64::from(index);
        let varies = self.replicate;
        let step = varies.and_then(|varies| varies.step).unwrap_or_default();
        let key = match varies.map(|varies| varies.over) {
            None => "single".to_owned(),
            Some(Over::Window) => {
                let shift = SimDuration::from_nanos(step.as_nanos().saturating_mul(k));
                let workloads = scenario.workloads.iter_mut();
                for window in workloads.filter_map(|own| own.window.as_mut()) {
                    window.start = window.start + shift;
                }
                format!("window+{shift}")
            }
            Some(Over::SamplePhase) => {
                for workload in &mut scenario.workloads {
                    if let Keep::Systematic { phase, .. } = &mut workload.keep {
                        *phase = k;
                    }
                }
                format!("sample-phase={k}")
            }
            Some(Over::Seed) => {
                scenario.reseed(self.seed.wrapping_add(k));
                format!("seed={}", scenario.seed)
            }
            Some(Over::BrokerPhase) => {
                let count = varies.map_or(1, |varies| varies.count);
                scenario.shift_brokers(index, count);
                format!("broker-phase={k}/{count}")
            }
            Some(Over::Shake) => {
                shake = Some(step);
                format!("shake={k}")
            }
        };
        // The modification is part of the replication, which is itself one run.
        scenario.replicate = None;
        Replication {
            index,
            key,
            varies: self.replicate,
            seed: scenario.seed,
            base_seed: self.seed,
            scenario,
            shake,
            pooled: false,
        }
    }

    /// Why the samples of the replications share jobs, if they do: then they
    /// are no repeats of one experiment, and no interval may be drawn from
    /// them. Seeds, phases of brokers and shakes replay the same jobs by
    /// intention; there it is not the jobs that vary.
    pub fn overlap(&self, varies: Replicate) -> Option<String> {
        match varies.over {
            Over::Window => {
                let step = varies.step?;
                let windows = self.workloads.iter().filter_map(|w| w.window);
                let longest = windows.map(|window| window.length).max()?;
                (varies.count > 1 && step < longest)
                    .then(|| format!("windows of {longest} begin {step} apart and share jobs"))
            }
            Over::SamplePhase => self.workloads.iter().find_map(|w| match w.keep {
                Keep::Systematic { m, n, .. } if phases_share(m, n, varies.count) => Some(format!(
                    "{} phases of keep = \"{m}/{n}\" share jobs",
                    varies.count
                )),
                _ => None,
            }),
            Over::Seed | Over::BrokerPhase | Over::Shake => None,
        }
    }

    /// Whether no stream of the seed is drawn from, so that runs of other seeds are the
    /// same. Runs on the real clock and external brokers are never alike.
    pub(crate) fn is_the_same_under_every_seed(&self) -> bool {
        let drawn = |workload: &WorkloadSpec| {
            let sampled = matches!(workload.keep, Keep::Share { .. } | Keep::Load { .. });
            let spread = workload.spread.map(|spread| spread.by);
            let chosen = workload.choose.is_some() || workload.draw.is_some();
            workload.is_model || chosen || sampled || spread == Some(SpreadBy::Random)
        };
        let draws = |policy: &Option<PolicySpec>| {
            let grid = self.grid_for(policy.as_ref());
            let mut brokers = grid.domains.iter().map(|domain| &domain.broker);
            brokers.any(|it| it.policy.entry().draws || Tie::of(it) == Tie::Random)
        };
        let mut clusters = self.clusters();
        let fail = clusters.any(|one| one.node_failures.is_some() || one.outages.is_some());
        self.clock == Clock::Virtual
            && self.external.brokers.is_empty()
            && self.faults.is_none()
            && !self.workloads.iter().any(drawn)
            && !fail
            && !self.policies.iter().any(draws)
    }

    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for workload in &mut self.workloads {
            workload.seed = seed;
            match &mut workload.keep {
                Keep::Share { seed: sample, .. } | Keep::Load { seed: sample, .. } => {
                    *sample = seed;
                }
                Keep::All | Keep::Systematic { .. } => {}
            }
        }
    }

    /// Moves the first cycle of each broker by `index / count` of its
    /// interval. A first cycle within the first interval stays there: a later
    /// one would only make the run start late.
    fn shift_brokers(&mut self, index: u32, count: u32) {
        for domain in &mut self.grid.domains {
            let interval = u128::from(domain.broker.interval.as_nanos());
            let shift = interval * u128::from(index) / u128::from(count.max(1));
            let phase = u128::from(domain.broker.phase.as_nanos());
            let mut moved = phase + shift;
            if phase < interval {
                moved %= interval;
            }
            let nanos = u64::try_from(moved).unwrap_or(u64::MAX);
            domain.broker.phase = SimDuration::from_nanos(nanos);
        }
    }
}

/// Whether two of the first `count` phases of a systematic sample keep a job
/// in common: phase p keeps what phase 0 keeps, p places earlier.
fn phases_share(m: u64, n: u64, count: u32) -> bool {
    if m.saturating_mul(u64::from(count)) > n {
        return count > 1;
    }
    // With one of n the phases are disjoint; a pattern too long to look
    // through is taken for one that overlaps.
    if m < 2 || n > 1 << 20 {
        return m >= 2;
    }
    let rank = |i: u64| u128::from(i) * u128::from(m) / u128::from(n.max(1));
    let kept = |i: u64| rank(i + 1) > rank(i);
    let mut own = (0..n).filter(|i| kept(*i));
    own.any(|i| (1..u64::from(count)).any(|shift| kept((i + shift) % n)))
}

impl Replication {
    /// Moves the submissions of a shaken replication, each by a random time
    /// in `[0, step)` of the stream `shake-K`, then sorts them by their new
    /// time and numbers them again, as drivers want them. The trace ids in
    /// their labels follow a job through all replications. Does nothing to
    /// the submissions of others.
    pub fn shake(&self, submissions: &mut [Submission]) {
        let Some(step) = self.shake else {
            return;
        };
        let mut stream = rng::stream(self.seed, &format!("shake-{}", self.index));
        for submission in submissions.iter_mut() {
            let by = stream.random_range(0..step.as_nanos().max(1));
            submission.at += SimDuration::from_nanos(by);
        }
        submissions.sort_by_key(|submission| (submission.at, submission.spec.id));
        for (id, submission) in (0u32..).zip(submissions) {
            submission.spec.id = JobId(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_a_sample_share_jobs_where_their_patterns_meet() {
        // 2/5 keeps places 2 and 4: shifted by one it keeps 1 and 3.
        assert!(!phases_share(2, 5, 2));
        assert!(phases_share(2, 5, 3));
        assert!(phases_share(2, 5, 5));
        assert!(!phases_share(1, 5, 5));
        assert!(!phases_share(2, 6, 3));
        assert!(!phases_share(4, 5, 1));
    }
}
