//! Waiting for real programs, within bounds.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How much longer a test waits for something.
pub struct Patience {
    end: Instant,
    step: Duration,
}

impl Patience {
    /// So many seconds.
    #[allow(
        clippy::disallowed_methods,
        reason = "real programs take time, and a test must not wait for ever"
    )]
    pub fn seconds(seconds: u64) -> Self {
        Patience {
            end: Instant::now() + Duration::from_secs(seconds),
            step: Duration::from_millis(30),
        }
    }

    /// Looks again after so many milliseconds, instead of 30.
    pub fn every(self, millis: u64) -> Self {
        let step = Duration::from_millis(millis);
        Patience { step, ..self }
    }

    /// Whether it is used up.
    #[allow(
        clippy::disallowed_methods,
        reason = "real programs take time, and a test must not wait for ever"
    )]
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Waits a little; fails the test with these words when it is used up.
    pub fn wait(&self, otherwise: impl Display) {
        assert!(!self.is_over(), "waited in vain: {otherwise}");
        std::thread::sleep(self.step);
    }
}
