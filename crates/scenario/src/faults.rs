//! What goes wrong in a run: the plan of its faults, the same for both clocks.

use super::Scenario;
use crate::document::{self, Distribution};
use crate::value::{Written as _, or};
use gridrig_core::faults::{FaultPlan, LinkFaults, Outage, Restart};
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use statrs::function::gamma::gamma;

/// What a scenario says of faults: instants are of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How long the client waits for a service that is away.
    pub patience: Option<SimDuration>,
    /// What happens to messages.
    pub links: Vec<LinkFaults>,
    /// Services that cannot be reached, with how they fail in that time.
    pub outages: Vec<(Outage, Option<Failures>)>,
    /// Brokers that crash, the same.
    pub restarts: Vec<(Restart, Option<Failures>)>,
}

/// Failures and repairs that are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    /// Mean time to the next failure, above 0.
    pub mtbf: SimDuration,
    /// Mean time to repair, above 0.
    pub mttr: SimDuration,
    /// The shape of the Weibull distribution of times to failure, 1 being that
    /// of the exponential one, above 0; `None`: all times are the mean.
    pub shape: Option<f64>,
}

impl Failures {
    /// What is written, which has been looked at.
    pub(crate) fn of(raw: &document::Failures) -> Self {
        let shape = raw
            .shape
            .as_ref()
            .map_or(1.0, |shape| shape.value().as_f64());
        let distribution = or(&raw.distribution, Distribution::Exponential);
        Failures {
            mtbf: or(&raw.mtbf, SimDuration::ZERO),
            mttr: or(&raw.mttr, SimDuration::ZERO),
            shape: (distribution != Distribution::Constant).then_some(shape),
        }
    }

    /// When what is well at `from` fails before `until`, and is repaired.
    pub(crate) fn spans(
        self,
        from: SimTime,
        until: SimTime,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(SimTime, SimTime)> {
        let mut draw = |mean: SimDuration, shape: f64| match self.shape {
            None => mean,
            Some(_) => {
                // The Weibull distribution by its inverse; 1 - u is never 0.
                let times = (-(1.0 - rng.random::<f64>()).ln()).powf(1.0 / shape);
                let scale = mean.as_nanos() as f64 / gamma(1.0 + 1.0 / shape);
                SimDuration::from_nanos((scale * times) as u64)
            }
        };
        let (mut spans, mut well) = (Vec::new(), from);
        loop {
            let fails = well + draw(self.mtbf, self.shape.unwrap_or(1.0));
            if fails >= until {
                return spans;
            }
            // Whatever is drawn, it is away for a moment.
            well = (fails + draw(self.mttr, 1.0)).after();
            spans.push((fails, well));
        }
    }
}

impl Scenario {
    /// The plan of the faults of this scenario, by its seed; `None` where nothing
    /// goes wrong.
    pub fn fault_plan(&self) -> Option<FaultPlan> {
        let faults = self.faults.as_ref()?;
        let spans = |what: &str, index: usize, (from, until), failures: &Option<Failures>| {
            let mut rng = rng::stream(self.seed, &format!("faults.{what}.{index}"));
            match failures {
                None => vec![(from, until)],
                Some(failures) => failures.spans(from, until, &mut rng),
            }
        };
        let mut plan = FaultPlan {
            links: faults.links.clone(),
            speed: self.speed,
            ..FaultPlan::default()
        };
        if let Some(patience) = faults.patience {
            let wall = self.speed.divide(patience.as_nanos());
            plan.patience.comes_back = SimDuration::from_nanos(wall);
        }
        for (index, (outage, failures)) in faults.outages.iter().enumerate() {
            let spans = spans("outage", index, (outage.from, outage.until), failures);
            let spans = spans.into_iter();
            plan.outages.extend(spans.map(|(from, until)| Outage {
                from,
                until,
                ..*outage
            }));
        }
        for (index, (restart, failures)) in faults.restarts.iter().enumerate() {
            let spans = spans("restart", index, (restart.at, restart.back), failures);
            let spans = spans.into_iter();
            plan.restarts.extend(spans.map(|(at, back)| Restart {
                at,
                back,
                ..*restart
            }));
        }
        (!plan.is_empty()).then_some(plan)
    }
}
