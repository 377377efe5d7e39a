//! A machine that is suspended while a run goes on: the clock of the run stands with it, and
//! goes on by itself.

use super::running::{Gap, SUSPENDED};
use gridrig_core::time::SimTime;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// By more than this the wall clock moves beyond the monotonic one only where a machine was
/// suspended, or somebody has set it.
const NOTICED: Duration = Duration::from_secs(5);

/// Compares the clocks of the machine now and then.
pub struct Suspensions(Clocks);

#[derive(Clone, Copy)]
struct Clocks {
    wall: SystemTime,
    /// Stands in a machine that is suspended.
    monotonic: Instant,
}

impl Clocks {
    #[allow(
        clippy::disallowed_methods,
        reason = "when nobody ran it is said in the manifest, under host"
    )]
    fn now() -> Self {
        Clocks {
            wall: SystemTime::now(),
            monotonic: Instant::now(),
        }
    }
}

impl Suspensions {
    /// From now on.
    pub fn watch() -> Self {
        Suspensions(Clocks::now())
    }

    /// The suspension since the last look, if there was one; the clock of the run shows `at`.
    pub fn look(&mut self, at: SimTime) -> Option<Gap> {
        let now = Clocks::now();
        #[cfg(test)]
        let now = tests::after_suspension(now, at);
        let before = std::mem::replace(&mut self.0, now);
        // One that was set back says nothing.
        let wall = now.wall.duration_since(before.wall).unwrap_or_default();
        let monotonic = now.monotonic.saturating_duration_since(before.monotonic);
        let length = suspension(wall, monotonic)?;
        let resumed = now.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        let gap = Gap {
            at_s: at.as_secs_f64(),
            stopped_unix_s: resumed.saturating_sub(length).as_secs(),
            resumed_unix_s: resumed.as_secs(),
            suspended: true,
        };
        let (at_s, seconds) = (gap.at_s, length.as_secs());
        tracing::warn!(at_s, seconds, "{SUSPENDED}");
        Some(gap)
    }
}

/// How long a machine was suspended whose clocks have moved by so much, if it was.
fn suspension(wall: Duration, monotonic: Duration) -> Option<Duration> {
    let beyond = wall.saturating_sub(monotonic);
    (beyond > NOTICED).then_some(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::Listener;
    use crate::runner::{Observation, Observer, PolicyRun, RunOptions, Start, run};
    use crate::scenario::{Replication, Scenario};
    use gridrig_core::event::Event;
    use gridrig_results::EventLog;
    use gridrig_results::rundir::{self, Manifest};
    use std::cell::Cell;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    thread_local! {
        /// At which instant of a run in this thread the machine is suspended for an hour.
        static FROM: Cell<Option<SimTime>> = const { Cell::new(None) };
    }

    /// What the clocks show at this instant.
    pub(super) fn after_suspension(now: Clocks, at: SimTime) -> Clocks {
        let was = FROM.get().is_some_and(|from| at >= from);
        let length = Duration::from_secs(if was { 3600 } else { 0 });
        Clocks {
            wall: now.wall + length,
            ..now
        }
    }

    #[test]
    fn only_a_wall_clock_that_moves_further_is_a_suspension() {
        let of = |wall, monotonic| {
            let [wall, monotonic] = [wall, monotonic].map(Duration::from_millis);
            suspension(wall, monotonic).map(|length| length.as_millis())
        };
        assert_eq!(of(3_600_250, 250), Some(3_600_000));
        assert_eq!(of(5_251, 250), Some(5_001));
        // Set right by a little, a machine with much to do, set back.
        for (wall, monotonic) in [(5_250, 250), (90_000, 90_000), (0, 250)] {
            assert_eq!(of(wall, monotonic), None);
        }
    }

    /// One job of 8 s at speed 4.
    fn scenario(dir: &Path) -> Scenario {
        let trace = "; Version: 2.2\n1 0 -1 8 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n";
        std::fs::write(dir.join("t.swf"), trace).unwrap();
        let file = dir.join("s.toml");
        let text = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n\
                    [run]\nclock = \"real\"\nspeed = 4\n";
        std::fs::write(&file, text).unwrap();
        Scenario::load(&file, &[]).unwrap()
    }

    /// Runs it, or goes on with it, with a suspension after a second if there is to be one.
    fn manifest(scenario: &Scenario, options: &RunOptions, suspended: bool) -> Manifest {
        FROM.set(suspended.then_some(SimTime::from_secs(1)));
        let runs = run(scenario, options).unwrap();
        FROM.set(None);
        rundir::read_manifest(runs[0].runs[0].dir.as_ref().unwrap()).unwrap()
    }

    fn gaps(manifest: &Manifest) -> Vec<Gap> {
        serde_json::from_value(manifest.host["gaps"].clone()).unwrap()
    }

    /// How many warnings have these words.
    fn said(manifest: &Manifest, words: &str) -> usize {
        let warnings = manifest.warnings.iter();
        warnings.filter(|it| it.contains(words)).count()
    }

    /// Watches a run, and stops it soon after its suspension.
    #[derive(Default)]
    struct Stops(Arc<AtomicBool>);

    impl Observer for Stops {
        fn begin(&self, _: &Scenario, _: &[Replication]) {}

        fn start<'a>(&'a self, _: usize, _: &Start<'a>) -> Box<dyn Observation + 'a> {
            Box::new(Stops(Arc::clone(&self.0)))
        }

        fn finish(&self, _: usize, _: &PolicyRun) {}

        fn stop_requested(&self) -> bool {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Observation for Stops {
        fn emit(&mut self, _: SimTime, _: Event<'_>) {}

        fn look(&mut self, _: &EventLog) {}

        fn listen(&mut self, _: &Listener) {}

        fn hear(&mut self, now: SimTime) {
            if now > SimTime::from_secs(2) {
                self.0.store(true, Ordering::SeqCst);
            }
        }

        fn end(self: Box<Self>, _: Option<&EventLog>, _: SimTime) {}
    }

    #[test]
    fn a_suspension_stays_a_gap_of_its_own_in_a_run_that_is_broken_off_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let scenario = scenario(dir.path());
        let options = RunOptions {
            out: Some(dir.path().join("runs")),
            quiet: true,
            ..RunOptions::default()
        };
        let stopped = RunOptions {
            watch: Some(Arc::new(Stops::default())),
            ..options.clone()
        };
        let partial = manifest(&scenario, &stopped, true);
        assert!(partial.partial);
        let whole = manifest(&scenario, &options, false);
        assert!(!whole.partial);
        let (before, after) = (gaps(&partial), gaps(&whole));
        let ([first], [suspended, broken_off]) = (&before[..], &after[..]) else {
            panic!("{before:?}, then {after:?}");
        };
        assert!(suspended.suspended && !broken_off.suspended);
        assert_eq!(suspended.stopped_unix_s, first.stopped_unix_s);
        assert_eq!(suspended.resumed_unix_s, first.resumed_unix_s);
        assert!(broken_off.stopped_unix_s >= suspended.resumed_unix_s);
        assert_eq!(said(&whole, "the run was interrupted at"), 1);
        assert_eq!(said(&whole, SUSPENDED), 1);
    }

    #[test]
    fn a_suspension_is_a_gap_in_the_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let scenario = scenario(dir.path());
        for (out, no_journal) in [("kept", false), ("not-kept", true)] {
            let options = RunOptions {
                out: Some(dir.path().join(out)),
                no_journal,
                quiet: true,
                ..RunOptions::default()
            };
            let manifest = manifest(&scenario, &options, true);
            let [gap] = gaps(&manifest)[..] else {
                panic!("{:?}", manifest.host);
            };
            assert!(gap.suspended && gap.at_s >= 1.0, "{gap:?}");
            let length = gap.resumed_unix_s - gap.stopped_unix_s;
            assert!((3599..=3601).contains(&length), "{gap:?}");
            assert_eq!(said(&manifest, SUSPENDED), 1);
            assert_eq!(said(&manifest, "interrupted"), 0);
            assert!(!manifest.partial);
        }
    }
}
