//! The run's side: it says what it does, and is told to stop.

use super::document::{self, Context, Now, RunDoc, SessionDoc};
use super::hub::{Hub, Question, Shown};
use super::tap::Tap;
use super::{clock, exchange, life, words};
use crate::realtime::Listener;
use crate::runner::{Observation, Observer, PolicyRun, Start, cells, tolerance};
use crate::scenario::{Clock, Replication, Scenario};
use gridrig_core::event::{Event, EventSink};
use gridrig_core::job::Submission;
use gridrig_core::time::SimTime;
use gridrig_results::EventLog;
use gridrig_results::names::Names;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks at a run.
const EVERY: Duration = Duration::from_millis(250);

static SESSIONS: AtomicU64 = AtomicU64::new(1);

/// A scenario while it runs, as pages see it.
pub struct Watch {
    hub: Arc<Hub>,
    id: u64,
    runs: PathBuf,
    stop: AtomicBool,
}

impl Watch {
    /// A scenario that is about to run, with run directories below `runs`.
    pub fn new(hub: Arc<Hub>, runs: &Path) -> Self {
        Watch {
            hub,
            id: SESSIONS.fetch_add(1, Ordering::Relaxed),
            runs: runs.to_owned(),
            stop: AtomicBool::new(false),
        }
    }

    /// Its number in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Asks it to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// It cannot run: pages see at least what it was.
    pub fn refuse(&self, scenario: &Scenario) {
        if !self.hub.shows(self.id) {
            self.hub.begin(self.session(scenario), Vec::new());
        }
    }

    fn session(&self, scenario: &Scenario) -> SessionDoc {
        let (clock, speed) = match scenario.clock {
            Clock::Virtual => ("virtual", None),
            Clock::Real { speed } => ("real", Some(speed.as_f64())),
        };
        SessionDoc {
            id: self.id,
            scenario: scenario.name.clone(),
            clock: clock.to_owned(),
            speed,
            compression: scenario.compression().as_f64(),
            run_time_compression: scenario.run_time_compression().as_f64(),
            lag_tolerance_s: scenario.lag_tolerance.as_secs_f64(),
            state: "preparing",
            ..SessionDoc::default()
        }
    }

    /// Shows the warnings of a run, and what the page itself does not have of it.
    fn warn(&self, warnings: &[String]) {
        let missed = self.hub.missed();
        let missed = (missed > 0).then(|| {
            format!(
                "page-behind: {missed} events came faster than this page could take them in: its \
                 figures lack them, the results do not"
            )
        });
        let warnings = warnings.iter().cloned().chain(missed);
        self.hub
            .session(|session| session.warnings = warnings.collect());
    }

    /// The whole scenario is over, well or with this message.
    pub fn end(&self, state: &'static str, message: Option<String>) {
        self.hub.change_runs(|run| {
            if matches!(run.state, "waiting" | "running" | "writing") {
                run.state = "not run";
            }
        });
        self.hub.session(|session| {
            session.state = state;
            session.message = message;
        });
        // Nobody is left to answer.
        drop(self.hub.questions());
    }
}

impl Observer for Watch {
    fn begin(&self, scenario: &Scenario, replications: &[Replication]) {
        let cells = replications.iter().flat_map(|one| cells(scenario, one));
        let runs = cells.map(|cell| {
            let policy = cell.name();
            let replication = cell.replication;
            RunDoc {
                policy,
                replication: replication.index,
                key: replication.key,
                state: "waiting",
                ..RunDoc::default()
            }
        });
        self.hub.begin(self.session(scenario), runs.collect());
    }

    fn start<'a>(&'a self, position: usize, start: &Start<'a>) -> Box<dyn Observation + 'a> {
        let scenario = start.scenario;
        self.hub.listen(&Listener::default());
        self.hub.session(|session| session.state = "running");
        self.warn(&start.load.warnings);
        self.hub.start_run(position, document::grid(start.grid));
        let submissions = &start.load.submissions;
        let last = submissions.last().map_or(SimTime::ZERO, |last| last.at);
        let (now, tolerance) = (clock(), tolerance(scenario.clock));
        let mut watching = Watching {
            watch: self,
            tap: Tap::new(start.grid, submissions.len(), last, tolerance),
            context: Context {
                grid: start.grid.clone(),
                policy: start.policy.cloned(),
                compression: scenario.compression().as_f64(),
                lag_tolerance_s: scenario.lag_tolerance.as_secs_f64(),
            },
            names: Names::of(start.grid),
            submissions,
            warnings: &start.load.warnings,
            listener: Listener::default(),
            log: EventLog::default(),
            started: now,
            looked: now,
        };
        watching.show(&EventLog::default());
        Box::new(watching)
    }

    fn finish(&self, position: usize, run: &PolicyRun) {
        let summary = &run.summary;
        let figures = serde_json::to_value(summary).unwrap_or_default();
        let below = run
            .dir
            .as_deref()
            .and_then(|dir| dir.strip_prefix(&self.runs).ok());
        self.hub.change_run(position, |doc| {
            doc.state = if run.interrupted { "stopped" } else { "done" };
            doc.take(&figures);
            doc.dir = below.map(|dir| dir.display().to_string());
        });
        self.hub.used(position, document::used(&figures));
        self.warn(&summary.warnings);
    }

    fn stop_requested(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// A run while it is watched.
pub struct Watching<'a> {
    watch: &'a Watch,
    tap: Tap,
    context: Context,
    names: Names,
    submissions: &'a [Submission],
    warnings: &'a [String],
    listener: Listener,
    /// What the listener has heard: the log of a run in real time so far, for the lives of
    /// its jobs.
    log: EventLog,
    started: Instant,
    looked: Instant,
}

impl Watching<'_> {
    /// Shows how things are, and answers what is asked.
    fn show(&mut self, log: &EventLog) {
        self.looked = clock();
        self.tap.inform(log.info_messages());
        let wall = self.looked.saturating_duration_since(self.started);
        self.watch.hub.publish(Shown {
            now: Now::of(&self.tap, &self.context, wall),
            history: self.tap.history.clone(),
            sparks: self.tap.sparks.clone(),
            feed: words::newest(log, &self.names),
        });
        for Question { job, answer } in self.watch.hub.questions() {
            let mut life = life::so_far(job, self.submissions, log, &self.names);
            if let Some(life) = &mut life {
                life["exchanges"] = exchange::about(&self.listener, job);
            }
            // Whoever asked may have gone.
            let _ = answer.send(life);
        }
    }
}

impl Observation for Watching<'_> {
    fn emit(&mut self, at: SimTime, event: Event<'_>) {
        self.tap.emit(at, event);
    }

    fn look(&mut self, log: &EventLog) {
        if clock().saturating_duration_since(self.looked) >= EVERY {
            self.tap.advance(log.end());
            self.show(log);
        }
    }

    fn listen(&mut self, listener: &Listener) {
        self.listener = listener.clone();
        self.watch.hub.listen(listener);
    }

    fn hear(&mut self, now: SimTime) {
        for recorded in self.listener.events() {
            self.log.emit(recorded.at, recorded.event());
            self.tap.emit(recorded.at, recorded.event());
        }
        if self.listener.missed() > 0 {
            self.watch.warn(self.warnings);
        }
        self.tap.advance(now);
        let log = std::mem::take(&mut self.log);
        self.show(&log);
        self.log = log;
    }

    fn end(mut self: Box<Self>, log: Option<&EventLog>, now: SimTime) {
        match log {
            Some(_) => self.tap.advance(now),
            None => self.hear(now),
        }
        self.tap.close(now);
        let heard = std::mem::take(&mut self.log);
        self.show(log.unwrap_or(&heard));
        self.watch.hub.write_run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{EventKind, Party};
    use gridrig_core::grid::Grid;
    use gridrig_core::ids::JobId;
    use gridrig_core::time::SimDuration;
    use gridrig_drivers::real_time::Recorder;
    use serde_json::Value;

    #[test]
    fn a_page_that_falls_behind_says_how_many_events_it_lacks() {
        let hub = Arc::<Hub>::default();
        let watch = Watch::new(Arc::clone(&hub), Path::new("runs"));
        hub.begin(SessionDoc::default(), Vec::new());
        let (grid, warnings) = (Grid::default(), ["as before".to_owned()]);
        let mut watching = Watching {
            watch: &watch,
            tap: Tap::new(&grid, 8, SimTime::from_secs(9), SimDuration::ZERO),
            names: Names::of(&grid),
            context: Context {
                grid,
                policy: None,
                compression: 1.0,
                lag_tolerance_s: 1.0,
            },
            submissions: &[],
            warnings: &warnings,
            listener: Listener::default(),
            log: EventLog::default(),
            started: clock(),
            looked: clock(),
        };
        let mut recorder = Recorder::keeping(3);
        watching.listen(&Listener::hearing(&recorder));
        let mut heard = |jobs: std::ops::Range<u32>| -> Value {
            for job in jobs {
                let event = Event::new(EventKind::FinishSeen, JobId(job), Party::Client);
                recorder.emit(SimTime::from_secs(1), event);
            }
            watching.hear(SimTime::from_secs(2));
            serde_json::from_str(&hub.snapshot()).unwrap()
        };
        let state = heard(0..3);
        assert_eq!(state["session"]["warnings"], serde_json::json!([]));
        let state = heard(3..8);
        assert_eq!(state["now"]["events"], 6);
        let shown = &state["session"]["warnings"];
        assert_eq!(shown[0], "as before");
        let behind = shown[1].as_str().unwrap();
        assert!(behind.starts_with("page-behind: 2 events"), "{behind}");
    }
}
