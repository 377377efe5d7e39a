//! What the journals of a run tell.

use super::configs::{self, Configs, Logs};
use super::{RealOptions, RealOutcome, Urls, outcome, play_config};
use gridrig_core::agent::Observation;
use gridrig_core::event::EventKind;
use gridrig_core::grid::Grid;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::{SimDuration, SimTime, WallTime};
use gridrig_drivers::real_time::{Driven, Recorded, Recorder, RunClock, replay};
use gridrig_replayer::observation::{Names, Owner};
use gridrig_replayer::player::Played;
use gridrig_results::EventLog;
use gridrig_service::read_lines;
use std::collections::BTreeMap;

/// What the journals of a run tell that cannot go on, since one of them cannot be read
/// to its end: what has happened until then, and why; `None` if all can be read. Who listens
/// to the run hears that first.
///
/// # Errors
/// When its services cannot be.
pub fn recall(
    grid: &Grid,
    submissions: &[Submission],
    options: &RealOptions,
) -> anyhow::Result<Option<RealOutcome>> {
    if options.from() == SimTime::ZERO {
        return Ok(None);
    }
    let recalled = Recalled::of(grid, submissions, options)?;
    if recalled.services.until.is_some() {
        return Ok(Some(recalled.so_far(submissions, options)));
    }
    let Logs { brokers, lrms, .. } = recalled.services.logs;
    let logs = std::iter::once(recalled.client.take()).chain(brokers);
    let logs = logs.chain(lrms.into_values()).collect();
    options.listener.hear_first(logs);
    Ok(None)
}

/// What had happened in a run that was broken off, and that nobody can go on with for this
/// reason.
///
/// # Errors
/// When its services cannot be.
pub fn broken_off(
    grid: &Grid,
    submissions: &[Submission],
    options: &RealOptions,
    why: &str,
) -> anyhow::Result<RealOutcome> {
    let recalled = Recalled::of(grid, submissions, options)?;
    let mut outcome = recalled.so_far(submissions, options);
    let at = outcome.log.end().as_secs_f64();
    outcome.cut.push(format!(
        "not-continued: the run was interrupted at {at:.1} s and cannot be continued ({why}): \
         what happened later is missing"
    ));
    Ok(outcome)
}

/// What the journals of a run that goes on tell so far, as far as they can be read.
///
/// # Errors
/// When its services cannot be.
pub fn told(
    grid: &Grid,
    submissions: &[Submission],
    options: &RealOptions,
) -> anyhow::Result<EventLog> {
    let mut recalled = Recalled::of(grid, submissions, options)?;
    // They were read one after the other: what one of them does not have may be to come.
    recalled.services.until = None;
    Ok(recalled.so_far(submissions, options).log)
}

/// What all journals of a run tell.
pub(super) struct Recalled {
    pub(super) services: configs::Recalled,
    pub(super) client: Recorder,
}

impl Recalled {
    pub(super) fn of(
        grid: &Grid,
        submissions: &[Submission],
        options: &RealOptions,
    ) -> anyhow::Result<Self> {
        let clock = RunClock::waiting_at(options.from(), options.speed);
        let urls = Urls::nowhere(grid);
        let mut services = Configs::of(grid, options, clock, &urls)?.recall();
        let config = play_config(urls.entries(submissions), None, clock, options);
        let machine = |_, _| config.client(submissions);
        let setup = options.journals.as_ref().map(|all| all.of("client"));
        let recalled =
            setup.map(|it| gridrig_service::recall(&it, clock, Recorder::default(), machine));
        let client = services.note(recalled.unwrap_or_default());
        Ok(Recalled { services, client })
    }

    /// The logs of the services and of the client, and what could not be read, as faults.
    /// Events do not tell how brokers have decided: that is `kept` in memory.
    pub(super) fn or_faults(self, kept: Logs, faults: &mut Vec<String>) -> (Logs, Recorder) {
        faults.extend(self.services.errors);
        let mut logs = self.services.logs;
        logs.decisions.extend(kept.decisions);
        (logs, self.client)
    }

    /// A run that ends where they do, or where the first of them cannot be read any more.
    fn so_far(self, submissions: &[Submission], options: &RealOptions) -> RealOutcome {
        let (mut services, mut own) = (self.services, self.client.take());
        let until = services.until.unwrap_or(SimTime::MAX);
        own.retain(|event| event.at < until);
        let Logs { brokers, lrms, .. } = &mut services.logs;
        for log in brokers.iter_mut().chain(lrms.values_mut()) {
            log.retain(|event| event.at < until);
        }
        let is_external = !options.external.brokers.is_empty();
        let mut played = Played {
            interrupted: true,
            ..Played::default()
        };
        if is_external {
            let (names, error) = names(&services.logs.lrms, submissions, options);
            played.names = names;
            services.errors.extend(error);
        }
        let known = options.known(submissions.len(), is_external, shift(&own, submissions));
        let mut client = Recorder::default();
        replay(&own, &mut client);
        let logs = (services.logs, None);
        let mut outcome = outcome::collect(logs, &client, played, Vec::new(), &known);
        // How submissions went is not among the events.
        outcome.external = None;
        let unread = services.errors.into_iter();
        outcome.cut = unread
            .map(|why| format!("unread-journal: {why}: later events are missing"))
            .collect();
        outcome
    }
}

/// How long after time 0 of its clock the run began, by the instants at which the client
/// was to hand its jobs over.
fn shift(client: &[Recorded], submissions: &[Submission]) -> SimDuration {
    let mut events = client.iter().map(Recorded::event);
    let first = events.find(|event| event.kind == EventKind::Submitted);
    let shift = first.and_then(|event| {
        let submission = submissions.get(event.job?.index())?;
        Some(event.instant().since(submission.at))
    });
    shift.unwrap_or(SimDuration::ZERO)
}

/// Whose the jobs in the logs of LRMSs are, as the client has seen them there, and why that
/// is not all.
fn names(
    lrms: &BTreeMap<ClusterId, Vec<Recorded>>,
    submissions: &[Submission],
    options: &RealOptions,
) -> (Names, Option<String>) {
    let brokers = &options.external.brokers;
    let is_elsewhere = |entry: Entry| brokers.keys().any(|id| Entry::Domain(*id) == entry);
    let mut names = Names::new();
    for (cluster, log) in lrms {
        for job in log.iter().filter_map(|it| it.event().job) {
            // What entered at a service of ours has its own name.
            let submission = submissions.get(job.index());
            if submission.is_some_and(|it| !is_elsewhere(it.entry)) {
                names.insert((*cluster, job), Owner::Named(job));
            }
        }
    }
    let clock = RunClock::waiting_at(SimTime::ZERO, options.speed);
    let config = play_config(BTreeMap::new(), None, clock, options);
    let client = config.client(submissions);
    let mut client = Driven::new(client, WallTime::ZERO, Recorder::default(), None);
    let seen = options.journals.as_ref().map(|all| all.seen());
    let read = seen.map(|path| {
        read_lines(&path, |seen: Observation| {
            names.insert(seen.place, Owner::Tagged(seen.job));
            client.handle(seen.at, seen);
            Ok(())
        })
    });
    let repeated = client.repeated();
    names.extend(repeated.map(|(place, job)| (place, Owner::Repeated(job))));
    let error = read.and_then(Result::err);
    (names, error.map(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::tests::{ended, jobs, options, run, two_sites};
    use crate::realtime::{Journals, KEPT_EVENTS, KEPT_EVENTS_TO_READ, Listener, run_real};
    use crate::scenario::external::{ExternalBroker, Submit};
    use gridrig_core::decision::About;
    use gridrig_core::ids::DomainId;
    use gridrig_replayer::player::Progress;
    use tokio::sync::Notify;

    fn broker() -> ExternalBroker {
        ExternalBroker {
            files: BTreeMap::new(),
            start: Vec::new(),
            serve: None,
            ready: None,
            submit: Submit::Command(Vec::new()),
            expect: None,
            stop: Vec::new(),
            timeout: SimDuration::ZERO,
            at_once: 1,
            start_timeout: SimDuration::ZERO,
            lost_after: SimDuration::ZERO,
        }
    }

    #[tokio::test]
    async fn who_listens_to_a_run_that_goes_on_hears_once_what_was_before() {
        let (grid, jobs) = (two_sites("round-robin"), jobs(12));
        let dir = tempfile::tempdir().unwrap();
        let with = || RealOptions {
            journals: Some(Journals::open(dir.path(), "run").unwrap()),
            listener: Listener::open(),
            ..options(20)
        };
        let (first, stop) = (with(), Notify::new());
        let progress = |it: Progress| {
            if it.now > SimTime::from_secs(5) {
                stop.notify_one();
            }
        };
        let broken_off = run_real(&grid, &jobs, &first, stop.notified(), progress).await;
        assert!(broken_off.unwrap().interrupted);
        let second = with();
        assert!(recall(&grid, &jobs, &second).unwrap().is_none());
        let mut heard = second.listener.events();
        assert!(!heard.is_empty());
        let outcome = run(&grid, &jobs, &second).await;
        assert_eq!(ended(&outcome.log).len(), 12);
        heard.extend(second.listener.events());
        for kind in [
            EventKind::Submitted,
            EventKind::Queued,
            EventKind::Started,
            EventKind::Finished,
        ] {
            let heard = heard.iter().filter(|it| it.event().kind == kind);
            assert_eq!(heard.count(), 12, "{kind:?}");
        }
        assert_eq!(second.listener.missed(), 0);
    }

    #[tokio::test]
    async fn who_writes_events_down_keeps_the_newest_and_the_results_have_all() {
        let (grid, jobs) = (two_sites("round-robin"), jobs(4));
        let dir = tempfile::tempdir().unwrap();
        let journals = || Journals::open(dir.path(), "run").unwrap();
        let with = |journals| RealOptions {
            journals,
            listener: Listener::open(),
            decisions: About::share(1.0),
            ..options(20)
        };
        assert_eq!(with(Some(journals())).keep_events(), KEPT_EVENTS);
        assert_eq!(with(None).keep_events(), usize::MAX);
        let written = with(Some(journals().of_events()));
        assert_eq!(written.keep_events(), KEPT_EVENTS);
        assert_eq!(written.keep_events_of_lrms(), KEPT_EVENTS);
        let mut external = written.clone();
        external.external.brokers.insert(DomainId(0), broker());
        assert_eq!(external.keep_events(), KEPT_EVENTS);
        assert_eq!(external.keep_events_of_lrms(), KEPT_EVENTS_TO_READ);
        let outcome = run(&grid, &jobs, &written).await;
        assert_eq!(outcome.faults, Vec::<String>::new());
        assert_eq!(ended(&outcome.log).len(), 4);
        assert!(outcome.log.decisions().all().len() >= 4);
        // The page has them too, although they are in memory no more.
        let heard = written.listener.events().into_iter();
        let heard = heard.filter(|it| it.event().kind != EventKind::InfoSent);
        assert_eq!(heard.count(), outcome.log.len());
        assert_eq!(written.listener.missed(), 0);
    }
}
