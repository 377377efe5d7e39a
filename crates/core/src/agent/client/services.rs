//! Services that are asked for the ends of jobs, and when one counts as lost.

use super::{ClientAgent, GivenUp, Open};
use crate::agent::{Cx, Handle};
use crate::conversation::{FromClient, ToEntry};
use crate::envelope::Undelivered;
use crate::job::{Entry, Reason};
use crate::message::JobEnd;
use crate::time::{SimDuration, WallTime};

/// How long a service may hold a question for ends.
const WAIT: SimDuration = SimDuration::from_secs(10);

/// When a service counts as lost, on the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Time between tries to reach a service that does not answer.
    pub every: SimDuration,
    /// So many tries in a row that nobody answers the door to.
    pub refused: u32,
    /// So many tries in a row that somebody lets in and does not answer.
    pub silent: u32,
    /// A service may stay away for so long before it counts as lost, whatever
    /// the tries say. When it is there again, jobs that it did not confirm are
    /// submitted once more, and all of them if it was restarted, each under
    /// its key: whoever knows the job answers with the first answer.
    pub comes_back: SimDuration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            every: SimDuration::from_millis(500),
            refused: 3,
            silent: 3,
            comes_back: SimDuration::ZERO,
        }
    }
}

/// A service answers the question for ends ([`ToEntry::Ends`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Published {
    /// Which.
    pub by: Entry,
    /// Which life of it answers.
    pub life: u64,
    /// From where on to ask next.
    pub next: u64,
    /// The ends, of jobs of others too.
    pub ends: Vec<JobEnd>,
}

/// What is known of a service.
#[derive(Debug, Default)]
pub(super) struct Service {
    life: Option<u64>,
    /// From where on it is asked for ends.
    after: u64,
    refused: u32,
    silent: u32,
    /// Since when it has not answered.
    away_since: Option<WallTime>,
    /// When it is asked; `None` while a question is under way.
    pub ask_at: Option<WallTime>,
}

impl Service {
    /// One that is asked at once.
    pub fn new() -> Self {
        Service {
            ask_at: Some(WallTime::ZERO),
            ..Service::default()
        }
    }

    fn has_answered(&mut self) {
        (self.refused, self.silent, self.away_since) = (0, 0, None);
    }

    /// Whether it counts as lost after this.
    fn is_lost(&mut self, error: Undelivered, now: WallTime, patience: Patience) -> bool {
        match error {
            Undelivered::NotReached => self.refused += 1,
            Undelivered::NoAnswer => self.silent += 1,
            // It is there, whatever it says.
            _ => {
                self.has_answered();
                return false;
            }
        }
        let since = *self.away_since.get_or_insert(now);
        let tried = self.refused >= patience.refused || self.silent >= patience.silent;
        tried && since + patience.comes_back <= now
    }
}

impl Handle<Published> for ClientAgent {
    type Answer = ();

    fn handle(&mut self, cx: &mut impl Cx<FromClient>, page: Published) {
        let Some(service) = self.services.get_mut(&page.by) else {
            return;
        };
        service.has_answered();
        let before = service.life.replace(page.life);
        let is_new = before != Some(page.life);
        if is_new && before.is_some() {
            // It was restarted: what it tells is not what was asked for.
            service.after = 0;
        } else {
            service.after = page.next;
            for end in page.ends {
                // Others may submit to the same service.
                let known = self.ends.get(&end.job);
                let was_lost = known.is_some_and(|known| known.state.is_lost());
                if self.open.remove(&end.job).is_some() || was_lost {
                    self.ends.insert(end.job, end);
                }
            }
        }
        // A life that was not known before may have begun after it confirmed a job.
        let forgotten = |open: &Open| open.failed || (open.confirmed && is_new);
        self.submit_again(cx, page.by, forgotten);
        self.ask_for_ends(cx, page.by);
    }
}

impl ClientAgent {
    /// At first and after a silence the answer is wanted at once: it says which life
    /// of the service there is.
    pub(super) fn ask_for_ends(&mut self, cx: &mut impl Cx<FromClient>, of: Entry) {
        if let Some(service) = self.services.get_mut(&of) {
            service.ask_at = None;
            let after = service.after;
            let wait = match (service.life, service.away_since) {
                (Some(_), None) => WAIT,
                _ => SimDuration::ZERO,
            };
            self.say(cx, of, cx.now(), ToEntry::Ends { after, wait });
        }
    }

    /// The question for ends was not answered.
    pub(super) fn unanswered(
        &mut self,
        cx: &mut impl Cx<FromClient>,
        by: Entry,
        error: Undelivered,
    ) {
        let (now, patience) = (cx.wall(), self.patience);
        let Some(service) = self.services.get_mut(&by) else {
            return;
        };
        service.ask_at = Some(now + patience.every);
        if service.is_lost(error, now, patience) {
            let is_there = |open: &Open| open.confirmed || open.failed;
            let open = self.open.iter();
            let there = open.filter(|(_, it)| it.submission.entry == by && is_there(it));
            let lost: Vec<_> = there.map(|(job, _)| *job).collect();
            for job in lost {
                self.give_up(cx, job, GivenUp::ServiceLost, Reason::Lost);
            }
        }
    }
}
