//! Listening to a run in real time while it goes.

use super::Services;
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_drivers::real_time::{Recorded, Recorder, RunClock, merge};
use gridrig_protocol::rest::serve::{Exchange, Exchanges};
use std::sync::{Arc, Mutex, PoisonError};

/// Exchanges over HTTP that are kept.
const EXCHANGES: usize = 4096;
/// Events that are taken from a service at a time, so that nobody who writes
/// has to wait for long.
const PAGE: usize = 4096;

/// Hears the events of all machines of a run, and what they say to each other
/// about jobs. The default hears nothing and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Ears(Option<Arc<Heard>>);

#[derive(Debug)]
struct Heard {
    machines: Mutex<Vec<Machine>>,
    exchanges: Exchanges,
}

#[derive(Debug)]
struct Machine {
    recorder: Recorder,
    next: u64,
}

impl Ears {
    /// Ears that hear.
    #[must_use]
    pub fn open() -> Self {
        Ears(Some(Arc::new(Heard {
            machines: Mutex::default(),
            exchanges: Exchanges::keeping(EXCHANGES),
        })))
    }

    /// Listens to the services of a run and to whoever submits.
    pub(super) fn listen(
        &self,
        services: &Services,
        grid: &Grid,
        clock: RunClock,
        submitter: &Recorder,
    ) {
        let Some(heard) = &self.0 else { return };
        let mut recorders = vec![submitter.clone()];
        for (index, domain) in (0..).zip(&grid.domains) {
            if let Some(broker) = services.broker(DomainId(index)) {
                recorders.push(broker.recorder().clone());
                broker.overhear(&format!("broker:{}", domain.name), &heard.exchanges, clock);
            }
        }
        for (index, cluster) in (0..).zip(&grid.clusters) {
            if let Some(lrms) = services.lrms(ClusterId(index)) {
                recorders.push(lrms.recorder().clone());
                lrms.overhear(&format!("lrms:{}", cluster.name), &heard.exchanges, clock);
            }
        }
        let machines = recorders
            .into_iter()
            .map(|recorder| Machine { recorder, next: 0 });
        *heard
            .machines
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = machines.collect();
    }

    /// The events since the last call, in order of time as far as they have
    /// come.
    #[must_use]
    pub fn events(&self) -> Vec<Recorded> {
        let Some(heard) = &self.0 else {
            return Vec::new();
        };
        let mut machines = heard
            .machines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        merge(machines.iter_mut().map(Machine::rest))
    }

    /// What was said about a job, oldest first.
    #[must_use]
    pub fn about(&self, job: u32) -> Vec<Exchange> {
        self.0
            .as_ref()
            .map_or_else(Vec::new, |heard| heard.exchanges.about(job))
    }
}

impl Machine {
    fn rest(&mut self) -> Vec<Recorded> {
        let mut events = Vec::new();
        loop {
            let page = self.recorder.page(self.next, PAGE);
            self.next = page.first + page.events.len() as u64;
            let last = page.events.len() < PAGE;
            events.extend(page.events);
            if last {
                return events;
            }
        }
    }
}
