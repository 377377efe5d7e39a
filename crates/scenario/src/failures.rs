//! When nodes fail and are repaired: what a scenario says of it, drawn from the
//! seed of a run.

use crate::Scenario;
use crate::document::{Distribution, NodeFailures};
use crate::value::{Written, or};
use gridrig_core::cluster::{NodeChange, PlannedChange};
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::resource::Resources;
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;

impl Scenario {
    /// Gives the clusters of a grid the failures of their nodes: outages as they
    /// are written, and failures drawn up to twice the time at which the last of
    /// these jobs would end if none had to wait, so that every run comes to an
    /// end. Times are those of the trace, as arrivals are.
    pub fn fail_nodes<'a>(&self, grid: &mut Grid, jobs: impl Iterator<Item = &'a Submission>) {
        let last = jobs.map(|job| job.at + job.spec.run_time).max();
        let last = last.map_or(0, SimTime::as_nanos);
        let until = SimTime::from_nanos(last.saturating_mul(2));
        let scale = self.compression();
        for (cluster, of_grid) in self.clusters().zip(&mut grid.clusters) {
            let (config, mut plan) = (&mut of_grid.config, Vec::new());
            for outage in cluster.outages.iter().flatten() {
                let at = |instant: &Option<_>| {
                    SimTime::ZERO + scaled(or(instant, SimDuration::ZERO), scale)
                };
                let span = (at(&outage.from), at(&outage.until));
                for (group, resource) in config.resources.groups().iter().zip(0..) {
                    push(&mut plan, span, (resource, 0, group.count));
                }
            }
            if let Some(failures) = &cluster.node_failures {
                let mut rng = rng::stream(self.seed, &format!("failures.{}", of_grid.name));
                draw(
                    &mut rng,
                    failures,
                    scale,
                    (&config.resources, until),
                    &mut plan,
                );
            }
            // Of one instant, repairs come first.
            plan.sort_by_key(|planned| (planned.at, !planned.change.up, planned.change));
            config.node_plan = plan.into();
        }
    }
}

/// Failures of each node by itself.
fn draw(
    rng: &mut ChaCha8Rng,
    failures: &NodeFailures,
    scale: Decimal,
    (resources, until): (&Resources, SimTime),
    plan: &mut Vec<PlannedChange>,
) {
    let mean = |time: &Option<_>| scaled(or(time, SimDuration::ZERO), scale).as_nanos() as f64;
    let (mtbf, mttr) = (mean(&failures.mtbf), mean(&failures.mttr));
    let distribution = or(&failures.distribution, Distribution::Exponential);
    let shape = match distribution {
        Distribution::Exponential => 1.0,
        Distribution::Weibull => failures
            .shape
            .as_ref()
            .map_or(1.0, |shape| shape.value().as_f64()),
    };
    let stretch = mtbf / ln_gamma(1.0 + 1.0 / shape).exp();
    for (group, resource) in resources.groups().iter().zip(0..) {
        for node in 0..group.count {
            let mut at = SimTime::ZERO;
            loop {
                let mut exponential = || -(1.0 - rng.random::<f64>()).ln();
                let (up, down) = (exponential().powf(1.0 / shape), exponential());
                // For an instant at least: else an end might never come.
                let fails = at + SimDuration::from_nanos((stretch * up) as u64);
                let repaired = fails + SimDuration::from_nanos((mttr * down) as u64 + 1);
                if fails > until {
                    break;
                }
                push(plan, (fails, repaired), (resource, node, 1));
                at = repaired;
            }
        }
    }
}

fn push(
    plan: &mut Vec<PlannedChange>,
    (from, until): (SimTime, SimTime),
    (resource, node, nodes): (u16, u32, u32),
) {
    for (at, up) in [(from, false), (until, true)] {
        let change = NodeChange {
            resource,
            node,
            nodes,
            up,
        };
        plan.push(PlannedChange { at, change });
    }
}

fn scaled(time: SimDuration, scale: Decimal) -> SimDuration {
    SimDuration::from_nanos(scale.divide(time.as_nanos()))
}

/// The logarithm of the gamma function of a number from 1, by Lanczos (SIAM J.
/// Numer. Anal. B 1, 1964) with g = 5 and 6 terms; to 2e-10.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let terms = (1..).map(f64::from).zip(TERMS);
    let series: f64 = terms.map(|(n, term)| term / (x + n)).sum();
    let tail = (x + 5.5).mul_add(-1.0, (x + 0.5) * (x + 5.5).ln());
    tail + (2.506_628_274_631_000_5 * (1.000_000_000_190_015 + series) / x).ln()
}

#[cfg(test)]
mod tests {
    use super::ln_gamma;

    #[test]
    fn the_gamma_function_is_that_of_the_tables() {
        for (x, gamma) in [(1.0, 1.0), (1.5, 0.886_226_925), (2.0, 1.0), (5.0, 24.0)] {
            let found: f64 = ln_gamma(x).exp();
            assert!((found / gamma - 1.0).abs() < 1e-8, "{x}: {found}");
        }
    }
}
