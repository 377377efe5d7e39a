//! What varies between replications: that it can, and that it makes a difference.

use super::Context;
use crate::document::{self, Run};
use crate::value::{At, Whole, Written};
use crate::workload::{Keep, WorkloadSpec};
use crate::{Over, Replicate, Result, Scenario};
use std::ops::Range;

impl Context<'_> {
    pub(super) fn replicate(
        &self,
        run: &Run,
        workloads: &[WorkloadSpec],
        has_brokers: bool,
    ) -> Result<Option<Replicate>> {
        let Some(at) = &run.replicate else {
            return Ok(None);
        };
        let span = at.span();
        let document::Replicate { over, step, count } = at.get();
        let names = "\"window\", \"sample-phase\", \"seed\", \"broker-phase\" or \"shake\"";
        let over = self.required(over, &span, "over", names)?.value();
        let count = self.required(count, &span, "count", "the number of replications")?;
        if matches!(over, Over::Window | Over::Shake) {
            self.required(step, &span, "step", "a duration such as \"7d\"")?;
        } else if let Some(step) = step {
            let expected = "no step: only \"window\" and \"shake\" have one";
            return Err(self.refuse(&step.span(), expected));
        }
        self.check_replicate(over, count, &span, workloads, has_brokers)?;
        Ok(Some(Replicate {
            over,
            step: step.as_ref().map(Written::value),
            count: count.get().as_u32(),
        }))
    }

    /// Refuses several seeds where every run would be the same.
    pub(super) fn refuse_repeats(&self, scenario: Scenario, run: &Run) -> Result<Scenario> {
        let seeds = |it: &Replicate| it.over == Over::Seed && it.count > 1;
        let repeats = scenario.replicate.as_ref().is_some_and(seeds);
        let Some(at) = run.replicate.as_ref().filter(|_| repeats) else {
            return Ok(scenario);
        };
        let expected = "something that depends on the seed, which nothing here does: every repeat \
                        would be the same run; over = \"shake\" (with step = \"1min\") moves \
                        submissions, \"broker-phase\" the cycles of brokers, \"window\" takes \
                        other parts of the trace";
        let varies = !scenario.is_the_same_under_every_seed();
        self.check(varies, &at.span(), expected).map(|()| scenario)
    }

    /// Whether there is something that can vary like this, so often.
    fn check_replicate(
        &self,
        over: Over,
        count: &At<Whole<1, 100_000>>,
        span: &Range<usize>,
        workloads: &[WorkloadSpec],
        has_brokers: bool,
    ) -> Result<()> {
        match over {
            Over::Window => {
                let windows = workloads.iter().all(|workload| workload.window.is_some());
                let expected = "every workload to have a window with a start, which is what varies";
                self.check(windows, span, expected)
            }
            Over::BrokerPhase => self.check(
                has_brokers,
                span,
                "brokers ([[domain]]), whose phase varies",
            ),
            Over::SamplePhase => {
                let phases = workloads.iter().filter_map(|workload| match workload.keep {
                    Keep::Systematic { n, .. } => Some(n),
                    Keep::All | Keep::Share { .. } | Keep::Load { .. } => None,
                });
                let expected = "a workload with keep = \"m/n\", whose phase varies";
                let n = phases.min().ok_or_else(|| self.refuse(span, expected))?;
                let expected = format!("at most {n}, the number of phases that differ");
                self.check(count.get().0 <= n, &count.span(), expected)
            }
            Over::Seed | Over::Shake => Ok(()),
        }
    }
}
