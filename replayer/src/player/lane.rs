//! Outlets at work: so many submissions at a time, the others wait their turn.

use super::ticket;
use crate::outlet::Outlet;
use gridrig_core::ids::JobId;
use gridrig_core::job::Entry;
use gridrig_drivers::real_time::{Letter, TransportError};
use gridrig_protocol::tag::Tags;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Whether an outlet has taken a job.
pub(super) struct Answered {
    pub job: JobId,
    pub result: Result<(), TransportError>,
    /// Whether it had to wait for its turn.
    pub waited: bool,
}

/// One lane for each outlet.
pub(super) struct Lanes {
    lanes: BTreeMap<Entry, Lane>,
    tags: Tags,
    under_way: JoinSet<()>,
    answers_in: mpsc::UnboundedSender<Answered>,
    pub answers: mpsc::UnboundedReceiver<Answered>,
}

struct Lane {
    outlet: Arc<dyn Outlet>,
    slots: Arc<Semaphore>,
}

impl Lanes {
    pub fn new(ways: &BTreeMap<Entry, Arc<dyn Outlet>>, tags: Tags) -> Self {
        let lane = |outlet: &Arc<dyn Outlet>| Lane {
            outlet: Arc::clone(outlet),
            slots: Arc::new(Semaphore::new(outlet.at_once())),
        };
        let (answers_in, answers) = mpsc::unbounded_channel();
        Lanes {
            lanes: ways.iter().map(|(at, way)| (*at, lane(way))).collect(),
            tags,
            under_way: JoinSet::new(),
            answers_in,
            answers,
        }
    }

    pub fn has(&self, entry: Entry) -> bool {
        self.lanes.contains_key(&entry)
    }

    /// Hands a job to its outlet, in its turn.
    pub fn send(&mut self, entry: Entry, letter: &Letter) {
        while self.under_way.try_join_next().is_some() {}
        let (Some(lane), Some(ticket)) = (self.lanes.get(&entry), ticket(letter, &self.tags))
        else {
            return;
        };
        let (outlet, slots) = (Arc::clone(&lane.outlet), Arc::clone(&lane.slots));
        let answers = self.answers_in.clone();
        let waited = slots.available_permits() == 0;
        self.under_way.spawn(async move {
            // Those that wait are served in order; nobody closes the slots.
            let _slot = slots.acquire_owned().await;
            let result = outlet.submit(&ticket).await;
            let job = ticket.job.id;
            // The player may have stopped.
            let _ = answers.send(Answered {
                job,
                result,
                waited,
            });
        });
    }

    /// Breaks off what is under way.
    pub async fn stop(&mut self) {
        self.under_way.shutdown().await;
    }
}
