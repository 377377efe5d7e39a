//! The smallest run that fails as a random one did.

use crate::scenarios::Scenario;
use gridrig_core::faults::{Chance, FaultPlan, Rates};
use gridrig_core::ids::JobId;
use gridrig_core::time::SimDuration;
use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};

/// What `run` answers for this scenario under this plan. Where it panics, jobs,
/// requests to remove jobs, and faults are left out for as long as it still does,
/// and what is left is told.
///
/// # Panics
/// Where `run` does.
pub fn checked<T>(
    scenario: &Scenario,
    plan: &FaultPlan,
    run: impl Fn(&Scenario, &FaultPlan) -> T,
) -> T {
    let caught = |case: &(Scenario, FaultPlan)| {
        catch_unwind(AssertUnwindSafe(|| run(&case.0, &case.1))).map_err(said)
    };
    let whole = (scenario.clone(), plan.clone());
    let first = match caught(&whole) {
        Ok(answer) => return answer,
        Err(first) => first,
    };
    // What is tried is not told of.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let (least, why) = smallest(whole, first, |case| caught(case).err());
    set_hook(hook);
    let (Scenario { seed, grid, .. }, plan) = &least;
    let (jobs, removals) = (&least.0.submissions, &least.0.cancellations);
    // A line for each, since the whole has to be read where a log is cut.
    let lines = [
        lines(jobs),
        lines(removals),
        lines(&grid.domains),
        lines(&grid.clusters),
        lines(&grid.links),
    ];
    resume_unwind(Box::new(format!(
        "{why}\nThat is the least that fails as seed {seed} does (GRIDRIG_SCENARIOS={seed}..{}): \
         {} of {} jobs, {} of {} requests to remove jobs, under {plan:?}\n{}{:?}",
        seed + 1,
        jobs.len(),
        scenario.submissions.len(),
        removals.len(),
        scenario.cancellations.len(),
        lines.concat(),
        grid.hours,
    )));
}

fn lines(all: &[impl Debug]) -> String {
    all.iter().map(|one| format!("{one:?}\n")).collect()
}

fn said(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

type Case = (Scenario, FaultPlan);

/// Leaves out what can be, until nothing more can.
fn smallest(
    mut case: Case,
    mut why: String,
    fails: impl Fn(&Case) -> Option<String>,
) -> (Case, String) {
    loop {
        let mut less = false;
        let mut attempt = |case: &mut Case, other: Case| {
            let failed = fails(&other);
            if let Some(said) = failed {
                (*case, why, less) = (other, said, true);
                return true;
            }
            false
        };
        for part in [
            Part::Jobs,
            Part::Removals,
            Part::Links,
            Part::Outages,
            Part::Restarts,
        ] {
            let mut size = part.count(&case).div_ceil(2);
            while size > 0 {
                let mut from = 0;
                while from < part.count(&case) {
                    let other = part.without(&case, from, size);
                    if !attempt(&mut case, other) {
                        from += size;
                    }
                }
                size /= 2;
            }
        }
        for calm in CALMS {
            let mut other = case.clone();
            for link in &mut other.1.links {
                calm(&mut link.rates);
            }
            if other.1 != case.1 {
                attempt(&mut case, other);
            }
        }
        if !less {
            return (case, why);
        }
    }
}

/// What there are several of.
#[derive(Clone, Copy)]
enum Part {
    Jobs,
    Removals,
    Links,
    Outages,
    Restarts,
}

impl Part {
    fn count(self, (scenario, plan): &Case) -> usize {
        match self {
            Part::Jobs => scenario.submissions.len(),
            Part::Removals => scenario.cancellations.len(),
            Part::Links => plan.links.len(),
            Part::Outages => plan.outages.len(),
            Part::Restarts => plan.restarts.len(),
        }
    }

    /// The same without `size` of them from there on. Jobs are numbered again.
    fn without(self, case: &Case, from: usize, size: usize) -> Case {
        let (mut scenario, mut plan) = case.clone();
        let gone = from..(from + size).min(self.count(case));
        match self {
            Part::Removals => drop(scenario.cancellations.drain(gone)),
            Part::Links => drop(plan.links.drain(gone)),
            Part::Outages => drop(plan.outages.drain(gone)),
            Part::Restarts => drop(plan.restarts.drain(gone)),
            Part::Jobs => {
                scenario.submissions.drain(gone.clone());
                for (index, job) in scenario.submissions.iter_mut().enumerate() {
                    job.spec.id = JobId(index as u32);
                }
                let removals = &mut scenario.cancellations;
                removals.retain(|removal| !gone.contains(&removal.job.index()));
                for removal in removals {
                    if removal.job.index() >= gone.end {
                        removal.job = JobId((removal.job.index() - gone.len()) as u32);
                    }
                }
            }
        }
        (scenario, plan)
    }
}

/// A kind of fault less.
const CALMS: [fn(&mut Rates); 5] = [
    |rates| rates.lost = Chance::default(),
    |rates| rates.repeated = Chance::default(),
    |rates| rates.overtaken = Chance::default(),
    |rates| rates.jitter = SimDuration::ZERO,
    |rates| rates.delay = SimDuration::ZERO,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Draw;
    use crate::scenarios::grid_scenario;
    use gridrig_core::faults::{LinkFaults, Scope};
    use gridrig_core::time::SimTime;

    #[test]
    fn what_has_no_part_in_a_failure_is_left_out() {
        let scenario = grid_scenario(4);
        let lossy = LinkFaults {
            on: Scope::All,
            from: SimTime::ZERO,
            until: SimTime::MAX,
            rates: Rates {
                lost: Chance::once_in(3),
                repeated: Chance::once_in(5),
                ..Rates::default()
            },
        };
        let mut plan = FaultPlan {
            links: vec![
                lossy,
                LinkFaults {
                    on: Scope::Brokers,
                    ..lossy
                },
            ],
            ..FaultPlan::default()
        };
        Draw::new(&scenario).restarts(&mut plan, 3);
        assert!(scenario.submissions.len() > 4);
        let run = |scenario: &Scenario, plan: &FaultPlan| {
            let large = scenario
                .submissions
                .iter()
                .filter(|job| job.spec.processors() > 1);
            let is_lossy = |link: &LinkFaults| link.rates.lost == Chance::once_in(3);
            let fails = large.count() > 1 && plan.links.iter().any(is_lossy);
            assert!(!fails, "two large jobs");
        };
        let failed = catch_unwind(AssertUnwindSafe(|| checked(&scenario, &plan, run)));
        let said = said(failed.unwrap_err());
        assert!(said.starts_with("two large jobs\n"), "{said}");
        assert!(said.contains(": 2 of "), "{said}");
        assert_eq!(said.matches("rates: Rates").count(), 1, "{said}");
        assert_eq!(said.matches("of: 3 }").count(), 1, "{said}");
        assert_eq!(said.matches("of: 5 }").count(), 0, "{said}");
        assert!(said.contains("restarts: []"), "{said}");
        checked(&scenario, &FaultPlan::default(), run);
    }
}
