//! How often a message is tried to be delivered, and how long is waited between
//! the tries. All of it is on the wall clock: how fast a run goes does not change
//! how fast a service answers.

use crate::envelope::Undelivered;
use crate::time::SimDuration;

/// Waits between the tries to reach a receiver: three tries within a second.
/// A service that is being restarted by hand takes longer, one whose accept
/// queue overflowed for a moment does not.
const AGAIN_AFTER: [SimDuration; 2] =
    [SimDuration::from_millis(250), SimDuration::from_millis(600)];

/// Further tries while the receiver answers that it is busy: it is alive, so
/// it gets more patience.
const BUSY_TRIES: u32 = 40;
const BUSY_WAIT: SimDuration = SimDuration::from_millis(250);

/// The tries to deliver one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    failed: usize,
    busy: u32,
    silences: u32,
}

/// What follows a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterTry {
    /// Another one, after so long on the wall.
    Again(SimDuration),
    /// No other: this has become of the message.
    Over(Result<(), Undelivered>),
}

impl Tries {
    /// Those of a message that its sender, restarted, says again: it may have
    /// got through before.
    pub const AGAIN: Tries = Tries {
        failed: 0,
        busy: 0,
        silences: 1,
    };

    /// How many have been made that came to nothing.
    pub fn made(&self) -> u32 {
        self.failed as u32 + self.busy
    }

    /// Takes note of a try, and says what follows it.
    ///
    /// `down` says that the message before to the same receiver did not get
    /// through: then this one gets one try only, so that many messages to a dead
    /// service are not a long wait. Where somebody is there who does not answer
    /// it gets a second one, since a machine that stood still for as long as a
    /// request may take makes every service on it look silent once.
    pub fn note(&mut self, result: Result<(), Undelivered>, down: bool) -> AfterTry {
        let error = match result {
            Err(error @ (Undelivered::NotReached | Undelivered::NoAnswer)) => error,
            Err(Undelivered::Busy) if self.busy < BUSY_TRIES => {
                self.busy += 1;
                return AfterTry::Again(BUSY_WAIT);
            }
            _ => return AfterTry::Over(result),
        };
        self.silences += u32::from(error == Undelivered::NoAnswer);
        let wait = AGAIN_AFTER.get(self.failed);
        self.failed += 1;
        match wait {
            Some(wait) if !down || self.silences == 1 => AfterTry::Again(*wait),
            // A try that may have got through weighs more than a later one that
            // certainly did not.
            _ if self.silences > 0 => AfterTry::Over(Err(Undelivered::NoAnswer)),
            _ => AfterTry::Over(result),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tries of a message that meets this each time, and what became of it.
    fn tried(results: &[Undelivered], down: bool) -> (u32, Result<(), Undelivered>) {
        let mut tries = Tries::default();
        for result in results.iter().cycle() {
            if let AfterTry::Over(result) = tries.note(Err(*result), down) {
                return (tries.made(), result);
            }
        }
        unreachable!("there is an end to all tries")
    }

    #[test]
    fn the_dead_get_three_tries_and_one_the_next_time_the_silent_two_and_the_busy_many() {
        use Undelivered::{Busy, NoAnswer, NotReached};
        assert_eq!(tried(&[NotReached], false), (3, Err(NotReached)));
        assert_eq!(tried(&[NotReached], true), (1, Err(NotReached)));
        assert_eq!(tried(&[NoAnswer], true), (2, Err(NoAnswer)));
        assert_eq!(tried(&[Busy], true), (BUSY_TRIES, Err(Busy)));
        let declined = Undelivered::Declined(None);
        assert_eq!(tried(&[declined], false), (0, Err(declined)));
    }

    #[test]
    fn a_try_that_may_have_got_through_outweighs_later_ones_that_did_not() {
        let met = [Undelivered::NoAnswer, Undelivered::NotReached];
        assert_eq!(tried(&met, false), (3, Err(Undelivered::NoAnswer)));
        let mut tries = Tries::AGAIN;
        let mut note = || tries.note(Err(Undelivered::NotReached), false);
        let over = AfterTry::Over(Err(Undelivered::NoAnswer));
        assert_eq!([note(), note(), note()][2], over);
    }
}
