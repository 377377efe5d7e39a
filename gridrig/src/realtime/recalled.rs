//! What the journals of a run tell.

use super::configs::{self, Configs, Logs};
use super::{RealOptions, RealOutcome, Urls, outcome, play_config};
use gridrig_core::grid::Grid;
use gridrig_core::job::Submission;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::{Recorder, RunClock};
use gridrig_replayer::player::Played;
use gridrig_results::EventLog;

/// What the journals of a run tell that cannot go on, since one of them cannot be read
/// to its end: what has happened until then, and why; `None` if all can be read.
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
    let Recalled {
        services: mut recalled,
        client,
    } = Recalled::of(grid, submissions, options)?;
    let Some(until) = recalled.until else {
        return Ok(None);
    };
    let own = client.take().into_iter().filter(|event| event.at < until);
    let mut recorder = Recorder::default();
    gridrig_drivers::real_time::replay(&own.collect::<Vec<_>>(), &mut recorder);
    let Logs { brokers, lrms, .. } = &mut recalled.logs;
    for log in brokers.iter_mut().chain(lrms.values_mut()) {
        log.retain(|event| event.at < until);
    }
    let played = Played {
        interrupted: true,
        ..Played::default()
    };
    let known = options.known(submissions.len(), false, SimDuration::ZERO);
    let logs = (recalled.logs, None);
    let mut outcome = outcome::collect(logs, &recorder, played, Vec::new(), &known);
    outcome.unread = recalled.errors;
    Ok(Some(outcome))
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
    let (logs, recorder) = Recalled::of(grid, submissions, options)?.or_faults(&mut Vec::new());
    let played = Played {
        interrupted: true,
        ..Played::default()
    };
    let known = options.known(submissions.len(), false, SimDuration::ZERO);
    let outcome = outcome::collect((logs, None), &recorder, played, Vec::new(), &known);
    Ok(outcome.log)
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
    pub(super) fn or_faults(self, faults: &mut Vec<String>) -> (Logs, Recorder) {
        faults.extend(self.services.errors);
        (self.services.logs, self.client)
    }
}
