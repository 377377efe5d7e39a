//! Services of a random grid under a plan of faults, and what must hold of them.

use crate::checkers;
use crate::reference::RefCancellation;
use crate::scenarios::{Scenario, grid_scenario};
use crate::trail::{Step, Trails};
use gridrig_core::agent::Memory;
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, FaultPlan, LinkFaults, Restart};
use gridrig_core::ids::JobId;
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::FaultCounts;
use gridrig_drivers::virtual_time::{
    Cancellation, Meeting, Options, Step as Said, run_with_faults,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// No scenario has so much work; one that runs longer has lost a job.
const TOO_LATE: SimTime = SimTime::from_secs(20_000);

/// One that is told so often that time goes by, every some thousand instants, has
/// messages that go round for ever.
const TOO_OFTEN: u32 = 60;

/// What happened in a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    /// To the jobs.
    pub trails: Trails,
    /// What went wrong how often.
    pub counts: FaultCounts,
    /// To the messages.
    pub meetings: Vec<Meeting>,
}

/// The scenario of this seed as services can run it: they go by what they are
/// told.
pub fn scenario(seed: u64) -> Scenario {
    let mut scenario = grid_scenario(seed);
    for domain in &mut scenario.grid.domains {
        if domain.broker.policy.entry().name == "full-information" {
            domain.broker.policy = "queue-length".parse().expect("a policy");
        }
    }
    scenario
}

/// Runs a scenario under a plan.
///
/// # Panics
/// Where it does not come to an end, or a job is still open then.
pub fn run(scenario: &Scenario, plan: &FaultPlan) -> Ran {
    let removals = scenario.cancellations.iter();
    let removals = removals.map(|&RefCancellation { at, job }| Cancellation { at, job });
    let removals: Vec<_> = removals.collect();
    let meetings = RefCell::default();
    let options = Options {
        broken_off: None,
        seed: scenario.seed,
        stop_at: Some(TOO_LATE),
        cancellations: &removals,
        meetings: Some(&meetings),
    };
    let mut trails = Trails::new(scenario.submissions.len());
    let (grid, jobs) = (&scenario.grid, &scenario.submissions);
    let mut times = 0;
    let go_on = |_, _| {
        times += 1;
        match times > TOO_OFTEN {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let outcome = run_with_faults(grid, jobs, &options, plan, &mut trails, go_on);
    let (outcome, counts) = outcome.expect("no policy needs the truth");
    let mut open = trails.jobs.iter().enumerate();
    let open = open.find(|(job, steps)| {
        let is_lost = trails.lost.iter().any(|(_, lost, _)| lost.index() == *job);
        let mut steps = steps.iter();
        !is_lost && !steps.any(|(_, step)| matches!(step, Step::Seen(_)))
    });
    assert!(
        open.is_none() && outcome.end < TOO_LATE && !outcome.interrupted,
        "seed {}: {outcome:?} under {plan:?}: {open:?}",
        scenario.seed
    );
    Ran {
        trails,
        counts,
        meetings: meetings.into_inner(),
    }
}

/// Every job has ended once and was seen to, unless touch with it was lost: as it may
/// be with one that was removed, since where everybody has forgotten that it was
/// nobody knows whether it has ended, with those that the client has given up, and where
/// half of all messages are lost for ever: a session may not be found again before the peer
/// is given up.
///
/// # Panics
/// Where that, or a rule of the [`checkers`], does not hold.
pub fn check(scenario: &Scenario, plan: &FaultPlan, ran: &Ran) {
    let (seed, trails) = (scenario.seed, &ran.trails);
    let loses_half =
        |link: &LinkFaults| (link.until, link.rates.lost) == (SimTime::MAX, Chance::once_in(2));
    let keeps_touch =
        plan.patience == FaultPlan::default().patience && !plan.links.iter().any(loses_half);
    for (job, steps) in trails.jobs.iter().enumerate() {
        let (ends, seen) = ends(steps);
        let lost = trails.lost.iter().filter(|it| it.1.index() == job);
        let lost: Vec<_> = lost.map(|(at, _, by)| (*at, *by)).collect();
        let is_removed = |one: &RefCancellation| one.job.index() == job;
        let removed = scenario.cancellations.iter().any(is_removed);
        let may_be_lost = match keeps_touch {
            true => removed && seen == 0,
            false => seen <= ends,
        };
        assert!(
            (ends, seen) == (1, 1) || (!lost.is_empty() && may_be_lost && ends <= 1),
            "seed {seed} job {job} lost at {lost:?} under {plan:?}: {steps:?}"
        );
        let kept = checkers::delegated(steps).next();
        assert!(
            kept.is_none(),
            "seed {seed} job {job}: {kept:?} is kept for ever under {plan:?}: {steps:?}"
        );
    }
    // The first rule wants the news of the end to come last, and it may be
    // repeated after it has arrived.
    for (rule, check) in &checkers::ALL[1..] {
        if let Err(what) = check(&scenario.grid, &scenario.submissions, trails) {
            panic!("seed {seed} under {plan:?}: {rule}: {what}");
        }
    }
    if let Err(what) = same_answers(plan, &ran.meetings) {
        panic!("seed {seed} under {plan:?}: {what}");
    }
}

/// Whoever submits a job again, since no answer came, hears the first answer, unless
/// the broker has forgotten it in between.
fn same_answers(plan: &FaultPlan, meetings: &[Meeting]) -> Result<(), String> {
    let mut first: BTreeMap<(Party, Option<JobId>), &Meeting> = BTreeMap::new();
    for meeting in meetings.iter().filter(|one| one.step == Said::Submit) {
        if meeting.met.answer().is_none() {
            continue;
        }
        let before = first.entry((meeting.to, meeting.job)).or_insert(meeting);
        let forgets = |one: &Restart| {
            let is_its = (Party::Broker(one.broker), one.anew) == (meeting.to, Some(Memory::None));
            is_its && one.at <= meeting.at && before.at <= one.back
        };
        if plan.restarts.iter().any(forgets) {
            *before = meeting;
        } else if meeting.met.answer() != before.met.answer() {
            return Err(format!("one answer, then another: {before:?}, {meeting:?}"));
        }
    }
    Ok(())
}

/// How often a job has ended, and was seen to end. A broker that was restarted and has found a
/// job with itself that it had turned away has forgotten that, and a message of the job has come
/// again: that was no end. The same is so of one that was removed, if where it entered that is
/// forgotten, too. The end of a job that it has found it may see again.
pub fn ends(steps: &[(SimTime, Step)]) -> (usize, usize) {
    let (mut ends, mut seen) = (0, 0);
    let (mut entered, mut ended_by, mut found_by) = (None, None, BTreeSet::new());
    for (_, step) in steps {
        match step {
            Step::Submitted(entry, _) => entered = Some(Party::from(*entry)),
            Step::Rejected(by, _) | Step::Cancelled(by) => {
                ends += 1;
                ended_by = Some((*by, matches!(step, Step::Cancelled(_))));
            }
            Step::Finished(_) | Step::Failed(..) => ends += 1,
            Step::Found(by, with) => {
                let by = Party::Broker(*by);
                found_by.insert(by);
                let known = entered.is_some_and(|entry| !found_by.contains(&entry));
                let forgotten = |(by, removed): &mut _| by == with && !(*removed && known);
                if by == *with && ended_by.take_if(forgotten).is_some() {
                    (ends, seen) = (ends - 1, 0);
                }
            }
            Step::Seen(by) => {
                let is_found = found_by.remove(by);
                seen += usize::from(seen == 0 || !is_found);
            }
            _ => {}
        }
    }
    (ends, seen)
}
