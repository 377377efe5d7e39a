//! A machine that is suspended while a run goes on: the clock of the run stands with it, and
//! goes on by itself.

use crate::runner::Gap;
use gridrig_core::time::SimTime;
use gridrig_replayer::player::Progress;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// By more than this the wall clock moves beyond the monotonic one only where a machine was
/// suspended, or somebody has set it.
const NOTICED: Duration = Duration::from_secs(5);

/// Compares the clocks of the machine now and then.
pub(super) struct Suspensions {
    last: Clocks,
    /// When it was suspended.
    pub gaps: Vec<Gap>,
}

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
        Suspensions {
            last: Clocks::now(),
            gaps: Vec::new(),
        }
    }

    /// The same progress, at each call of which the clocks are compared.
    pub fn looking(&mut self, mut progress: impl FnMut(Progress)) -> impl FnMut(Progress) {
        move |now: Progress| {
            self.look(now.now);
            progress(now);
        }
    }

    /// Compares them at this instant of the run.
    fn look(&mut self, at: SimTime) {
        let now = Clocks::now();
        #[cfg(test)]
        let now = tests::after_suspension(now, at);
        let before = std::mem::replace(&mut self.last, now);
        // One that was set back says nothing.
        let wall = now.wall.duration_since(before.wall).unwrap_or_default();
        let monotonic = now.monotonic.saturating_duration_since(before.monotonic);
        let Some(length) = suspension(wall, monotonic) else {
            return;
        };
        let resumed = now.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        let gap = Gap {
            at_s: at.as_secs_f64(),
            stopped_unix_s: resumed.saturating_sub(length).as_secs(),
            resumed_unix_s: resumed.as_secs(),
        };
        tracing::warn!(
            at_s = gap.at_s,
            seconds = length.as_secs(),
            "the machine was suspended, or its clock was set forward"
        );
        self.gaps.push(gap);
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
    use crate::runner::{RunOptions, run};
    use crate::scenario::Scenario;
    use gridrig_results::rundir;
    use std::cell::Cell;

    thread_local! {
        /// At which instant of a run in this thread the machine is suspended for an hour.
        static SUSPENDED: Cell<Option<SimTime>> = const { Cell::new(None) };
    }

    /// What the clocks show at this instant.
    pub(super) fn after_suspension(now: Clocks, at: SimTime) -> Clocks {
        let was = SUSPENDED.get().is_some_and(|from| at >= from);
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

    #[test]
    fn a_suspension_is_a_gap_in_the_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let trace = "; Version: 2.2\n1 0 -1 8 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n";
        std::fs::write(dir.path().join("t.swf"), trace).unwrap();
        let file = dir.path().join("s.toml");
        let text = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n\
                    [run]\nclock = \"real\"\nspeed = 4\n";
        std::fs::write(&file, text).unwrap();
        let scenario = Scenario::load(&file, &[]).unwrap();
        for (out, no_journal) in [("kept", false), ("not-kept", true)] {
            let options = RunOptions {
                out: Some(dir.path().join(out)),
                no_journal,
                quiet: true,
                ..RunOptions::default()
            };
            SUSPENDED.set(Some(SimTime::from_secs(1)));
            let runs = run(&scenario, &options).unwrap();
            SUSPENDED.set(None);
            let written = runs[0].runs[0].dir.as_ref().unwrap();
            let manifest = rundir::read_manifest(written).unwrap();
            let gaps = manifest.host["gaps"].as_array().unwrap();
            let number = |field: &str| gaps[0][field].as_f64().unwrap();
            assert_eq!(gaps.len(), 1, "{gaps:?}");
            assert!(number("at_s") >= 1.0, "{gaps:?}");
            let length = number("resumed_unix_s") - number("stopped_unix_s");
            assert!((3599.0..=3601.0).contains(&length), "{gaps:?}");
            let said = |it: &&String| it.contains("the run was interrupted at");
            assert_eq!(manifest.warnings.iter().filter(said).count(), 1);
            assert!(!manifest.partial);
        }
    }
}
