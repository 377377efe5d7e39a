//! Delegated matchmaking step by step, after the figures of its paper (Iosup et al., SC'07).

use crate::rules::{grid, ms, play, record, with};
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::event::EventKind::{
    self, Delegated, LeaseExpired, LeaseRejected, LeaseRequested, Released,
};
use gridrig_core::event::Party;
use gridrig_core::grid::{BrokerSettings, Link};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, Reason};
use gridrig_core::message::EndState;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_simtest::reference::RefCancellation;
use gridrig_simtest::scenarios::Scenario;
use gridrig_simtest::trail::{Step, Trails};
use std::num::NonZeroU32;

/// Domains of these cluster sizes under delegate, each the parent of the next: matchmaking
/// cycles every 300 s, delegation cycles every 60 s, links of 50 ms, LRMSs at 1 ms.
fn chain(domains: &[&[u32]]) -> Scenario {
    lending(MatchmakingKind::Delegate, domains)
}

/// The same under flock, where job managers look after their jobs every 5 s, with links
/// between all.
fn pools(domains: &[&[u32]]) -> Scenario {
    let mut scenario = lending(MatchmakingKind::Flock, domains);
    let links = &mut scenario.grid.links;
    if let [first, ..] = links[..] {
        links.push(Link {
            provider: DomainId(2),
            ..first
        });
    }
    scenario
}

/// Domains under a matchmaking by which processors are delegated.
fn lending(matchmaking: MatchmakingKind, domains: &[&[u32]]) -> Scenario {
    let mut scenario = grid("free-node", domains);
    for (index, domain) in (0u16..).zip(&mut scenario.grid.domains) {
        domain.broker = BrokerSettings {
            matchmaking,
            max_hops: 4,
            ..domain.broker.clone()
        };
        domain.topology.parent = index.checked_sub(1).map(DomainId);
    }
    scenario
}

const fn entry(domain: u16) -> Entry {
    Entry::Domain(DomainId(domain))
}

/// What was said about processors for this job: when in ms, what, by whom and to whom.
fn said(trails: &Trails, job: usize) -> Vec<(u64, EventKind, u16, u16)> {
    let steps = trails.jobs[job].iter();
    let leases = steps.filter_map(|(at, step)| match step {
        Step::Lease(what, by, to, _) => Some((at.as_nanos() / 1_000_000, *what, by.0, to.0)),
        _ => None,
    });
    leases.collect()
}

#[test]
fn the_seven_steps_of_figure_4() {
    const SM_1: DomainId = DomainId(0);
    const SM_2: DomainId = DomainId(1);
    const RM_1: ClusterId = ClusterId(1);
    /// When the request gets there, in nanoseconds.
    const REQUEST: i64 = 60_050_000_000;
    let scenario = chain(&[&[2], &[4]]);
    // The own processors are taken by another job.
    let scenario = with(scenario, entry(0), 10_000, 2, 10_000_000);
    let trails = play(&with(scenario, entry(0), 20_000, 2, 100_000));
    let at = |ms_of_run: u64, step: Step| (ms(ms_of_run), step);
    let job = &trails.jobs[1];
    let node = |node| gridrig_simtest::trail::Share {
        resource: 0,
        node,
        processors: 1,
    };
    let expected = [
        // 1: the job manager informs its SM.
        at(20_000, Step::Submitted(entry(0), ms(20_000))),
        at(20_000, Step::Arrived(SM_1, 0)),
        // 2: in its next delegation cycle SM-1 asks SM-2.
        at(60_000, Step::Lease(LeaseRequested, SM_1, SM_2, 1)),
        // 3: in its next matchmaking cycle SM-2 delegates free processors.
        at(300_000, Step::Lease(Delegated, SM_2, SM_1, REQUEST)),
        // 4: SM-1 has them 50 ms later. 5: in its next delegation cycle they are matched.
        at(360_000, Step::Dispatched(SM_1, RM_1)),
        // 6: the job starts there.
        at(360_001, Step::Queued(RM_1)),
        at(360_001, Step::Started(RM_1, vec![node(0), node(1)])),
        at(460_001, Step::Finished(RM_1)),
        at(460_001, Step::Notified(RM_1.into(), SM_1.into())),
        // 7: they are released.
        at(460_002, Step::Lease(Released, SM_1, SM_2, REQUEST)),
        at(460_002, Step::Seen(Party::Broker(SM_1))),
    ];
    assert_eq!(*job, expected);
}

#[test]
fn a_chain_of_leases_is_built_and_released_over_an_administrative_domain() {
    let scenario = chain(&[&[1], &[], &[4]]);
    let scenario = with(scenario, entry(0), 1_000, 2, 100_000);
    // It keeps the run going.
    let trails = play(&with(scenario, entry(2), 1_000, 1, 1_000_000));
    let expected = [
        (60_000, LeaseRequested, 0, 1),
        (120_000, LeaseRequested, 1, 2),
        (300_000, Delegated, 2, 1),
        (300_050, Delegated, 1, 0),
        (460_002, Released, 0, 1),
        (460_052, Released, 1, 2),
    ];
    assert_eq!(said(&trails, 0), expected);
    assert_eq!(record(&trails, 0).cluster, Some(ClusterId(1)));
}

#[test]
fn lent_processors_are_not_the_lenders_until_they_are_released() {
    let scenario = chain(&[&[1], &[2]]);
    let scenario = with(scenario, entry(0), 1_000, 2, 500_000);
    // It waits for both processors while they are idle, and while the borrower uses them.
    let trails = play(&with(scenario, entry(1), 310_000, 2, 1_000));
    assert_eq!(record(&trails, 0).start, Some(ms(360_001)));
    assert_eq!(record(&trails, 0).finish, Some(ms(860_001)));
    assert_eq!(record(&trails, 1).start, Some(ms(900_001)));
}

/// The last of three domains lends for 400 s: a job of 500 s on 2 processors at the first
/// one, and a job that waits there for what is lent.
fn overrunning(mut scenario: Scenario) -> Trails {
    let timeout = Some(SimDuration::from_secs(400));
    scenario.grid.domains[2].broker.lease_timeout = timeout;
    let scenario = with(scenario, entry(0), 1_000, 2, 500_000);
    play(&with(scenario, entry(2), 310_000, 2, 1_000))
}

#[test]
fn at_its_time_out_a_lease_is_over_whatever_runs_there() {
    let trails = overrunning(chain(&[&[1], &[], &[2]]));
    let expected = [
        (60_000, LeaseRequested, 0, 1),
        (120_000, LeaseRequested, 1, 2),
        (300_000, Delegated, 2, 1),
        (300_050, Delegated, 1, 0),
        (700_000, LeaseExpired, 1, 0),
        (700_000, LeaseExpired, 2, 1),
        // What the middle one then says, and the borrower once it hears.
        (700_000, Released, 1, 2),
        (700_001, Released, 0, 1),
    ];
    let mut said = said(&trails, 0);
    said.sort_by_key(|(at, what, by, _)| (*at, *what == Released, *by));
    assert_eq!(said, expected);
    // The job ends there and then, and the next one starts in the next matchmaking cycle.
    let lrms = Party::Lrms(ClusterId(1));
    let failed = Step::Failed(lrms, Reason::LeaseExpired);
    assert!(trails.jobs[0].contains(&(ms(700_000), failed)));
    assert_eq!(record(&trails, 1).start, Some(ms(900_001)));
}

#[test]
fn the_same_among_pools_that_flock() {
    let trails = overrunning(pools(&[&[1], &[], &[2]]));
    let said = said(&trails, 0);
    let [.., (at, LeaseExpired, 2, 0), (_, Released, 0, 2)] = said[..] else {
        panic!("{said:?}");
    };
    let failed = Step::Failed(Party::Lrms(ClusterId(1)), Reason::LeaseExpired);
    assert!(trails.jobs[0].contains(&(ms(at), failed)));
}

#[test]
fn who_has_no_processors_left_rejects_and_the_next_neighbour_is_asked() {
    // In the middle the job enters; above it all is taken, below there is room.
    let scenario = chain(&[&[2], &[1], &[2]]);
    let scenario = with(scenario, entry(0), 1_000, 2, 10_000_000);
    let scenario = with(scenario, entry(2), 1_000, 2, 10_000_000);
    let scenario = with(scenario, entry(1), 301_000, 2, 1_000);
    let trails = play(&scenario);
    let said = said(&trails, 2);
    // Those below are asked first; both are above their threshold.
    let expected = [
        (360_000, LeaseRequested, 1, 2),
        (420_000, LeaseRejected, 2, 1),
        (480_000, LeaseRequested, 1, 0),
        (540_000, LeaseRejected, 0, 1),
    ];
    assert_eq!(said[..4], expected);
    // It has been there within the hour.
    assert_eq!(said[4], (660_000, LeaseRequested, 1, 2));
    assert_eq!(said[5], (660_050, LeaseRejected, 2, 1));
}

#[test]
fn a_request_goes_no_further_than_its_time_to_live() {
    let mut scenario = chain(&[&[1], &[1], &[4]]);
    for domain in &mut scenario.grid.domains {
        domain.broker.max_hops = 1;
    }
    let trails = play(&with(scenario, entry(0), 1_000, 2, 1_000));
    assert_eq!(said(&trails, 0), []);
    let end = record(&trails, 0).end;
    assert!(matches!(end, Some(EndState::Rejected(_))), "{end:?}");
}

/// Figure 5: site 9 of Grid'5000 needs what only cluster 4 of DAS has. Sites know what is
/// free nowhere but at home, so that others are asked on the way, in vain.
#[test]
fn a_request_finds_its_way_over_both_trees_although_sites_know_only_themselves() {
    // 0: site 9. 1: its parent 23; 2: 21, the root of Grid'5000; 3: 20, that of DAS; 4: cluster 4.
    // 5 and 6, below 23 and 20, are full.
    let mut scenario = lending(
        MatchmakingKind::Delegate,
        &[&[2], &[], &[], &[], &[2], &[2], &[2]],
    );
    let grid = &mut scenario.grid;
    let first = grid.links[0];
    grid.links.clear();
    for (one, other) in [(0, 1), (5, 1), (1, 2), (2, 3), (4, 3), (6, 3)] {
        for (consumer, provider) in [(one, other), (other, one)] {
            grid.links.push(Link {
                consumer: DomainId(consumer),
                provider: DomainId(provider),
                ..first
            });
        }
    }
    let parents = [Some(1), Some(2), None, None, Some(3), Some(1), Some(3)];
    for (domain, parent) in grid.domains.iter_mut().zip(parents) {
        domain.topology.parent = parent.map(DomainId);
    }
    grid.domains[2].topology.siblings = vec![DomainId(3)];
    grid.domains[3].topology.siblings = vec![DomainId(2)];
    for full in [0, 5, 6] {
        scenario = with(scenario, entry(full), 1_000, 2, 10_000_000);
    }
    let trails = play(&with(scenario, entry(0), 310_000, 2, 100_000));
    let said = said(&trails, 3);
    let of = |what: EventKind| said.iter().filter(move |(_, said, ..)| *said == what);
    // Four delegations at best, each released at the end.
    let chain = |what| {
        of(what)
            .map(|(_, _, by, to)| (*by, *to))
            .collect::<Vec<_>>()
    };
    assert_eq!(chain(Delegated), [(4, 3), (3, 2), (2, 1), (1, 0)]);
    assert_eq!(chain(Released), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    // The full ones were asked on the way, and each request waited for a cycle.
    let needless: Vec<u16> = of(LeaseRejected).map(|(_, _, by, _)| *by).collect();
    assert!(needless.contains(&5) && !needless.contains(&4), "{said:?}");
    assert_eq!(record(&trails, 3).cluster, Some(ClusterId(1)));
}

#[test]
fn a_job_that_is_too_wide_for_the_whole_tree_is_rejected_and_nobody_is_asked() {
    let scenario = chain(&[&[1], &[2], &[4]]);
    let trails = play(&with(scenario, entry(0), 1_000, 5, 1_000));
    assert_eq!(said(&trails, 0), []);
    let end = record(&trails, 0).end;
    assert!(matches!(end, Some(EndState::Rejected(_))), "{end:?}");
}

#[test]
fn what_was_delegated_to_a_job_that_is_removed_goes_back() {
    // While it is asked for, while it is delegated, and while the job runs.
    for at in [100, 310, 400] {
        let scenario = chain(&[&[1], &[2]]);
        let scenario = with(scenario, entry(0), 1_000, 2, 500_000);
        let mut scenario = with(scenario, entry(1), 610_000, 2, 1_000);
        scenario.cancellations.push(RefCancellation {
            at: SimTime::from_secs(at),
            job: JobId(0),
        });
        let trails = play(&scenario);
        let last = said(&trails, 0).last().copied();
        let released = last.map(|(at, what, by, to)| (at / 1_000, what, by, to));
        assert_eq!(released, Some((at, Released, 0, 1)));
        assert_eq!(record(&trails, 0).end, Some(EndState::Cancelled));
        assert_eq!(record(&trails, 1).start, Some(ms(900_001)));
    }
}

#[test]
fn under_flock_a_job_manager_goes_on_when_it_learns_that_it_was_not_served() {
    let scenario = pools(&[&[1], &[1], &[1]]);
    let scenario = with(scenario, entry(0), 10_000, 1, 10_000_000);
    let scenario = with(scenario, entry(1), 10_000, 1, 10_000_000);
    let trails = play(&with(scenario, entry(0), 20_000, 1, 100_000));
    let expected = [
        // Nothing is left at home in the first cycle there.
        (300_000, LeaseRequested, 0, 1),
        // Nor at the next pool, which says so in a cycle of its own.
        (600_000, LeaseRejected, 1, 0),
        (605_000, LeaseRequested, 0, 2),
        (900_000, Delegated, 2, 0),
        (1_000_052, Released, 0, 2),
    ];
    assert_eq!(said(&trails, 2), expected);
    assert_eq!(record(&trails, 2).start, Some(ms(900_051)));
}

#[test]
fn under_flock_who_has_used_least_is_served_first() {
    let scenario = pools(&[&[1]]);
    let scenario = with(scenario, entry(0), 1_000, 1, 250_000);
    let scenario = with(scenario, entry(0), 310_000, 1, 250_000);
    let mut scenario = with(scenario, entry(0), 320_000, 1, 250_000);
    for (submission, account) in scenario.submissions.iter_mut().zip([1, 1, 2]) {
        submission.spec.account = NonZeroU32::new(account);
    }
    let trails = play(&scenario);
    assert_eq!(record(&trails, 2).start, Some(ms(600_001)));
    assert_eq!(record(&trails, 1).start, Some(ms(900_001)));
}

#[test]
fn under_flock_jobs_that_have_no_room_are_passed() {
    let scenario = pools(&[&[2]]);
    let scenario = with(scenario, entry(0), 1_000, 1, 1_000_000);
    let scenario = with(scenario, entry(0), 2_000, 2, 1_000);
    let trails = play(&with(scenario, entry(0), 3_000, 1, 1_000));
    assert_eq!(record(&trails, 2).start, Some(ms(300_001)));
    assert_eq!(record(&trails, 1).start, Some(ms(1_500_001)));
}

#[test]
fn under_pull_a_domain_gets_the_head_of_the_central_queue_as_soon_as_it_has_room() {
    let mut scenario = grid("free-node", &[&[], &[2]]);
    scenario.grid.domains[0].topology.central = true;
    for domain in &mut scenario.grid.domains {
        domain.broker.matchmaking = MatchmakingKind::Pull;
        domain.broker.max_hops = 2;
    }
    // The head wants both processors: the short one behind it waits with it.
    let scenario = with(scenario, entry(1), 1_000, 1, 20_000);
    let scenario = with(scenario, entry(1), 2_000, 2, 1_000);
    let trails = play(&with(scenario, entry(1), 3_000, 1, 1_000));
    let starts = (0..3).map(|job| {
        record(&trails, job)
            .start
            .map(|at| at.as_nanos() / 1_000_000)
    });
    // To the central queue at 5 s, back at 10 s, dispatched at 15 s. It ends at 35.001 s; at 40 s
    // both processors are asked for.
    let starts: Vec<Option<u64>> = starts.collect();
    assert_eq!(starts, [Some(15_001), Some(50_001), Some(65_001)]);
}
