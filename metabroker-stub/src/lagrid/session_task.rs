//! Keeping the sessions: opening them, heartbeats, losing and finding peers.
//! Each session has a task of its own, which lives as long as the machine.

use super::links::{Link, Links};
use gridrig_core::agent::{Ask, BrokerAgent, PeerSession, Pull, SessionChange};
use gridrig_core::ids::DomainId;
use gridrig_core::session::{Beat, Phase};
use gridrig_core::time::SimDuration;
use gridrig_drivers::faults::Faults;
use gridrig_drivers::real_time::{Actor, Driven, RunClock};
use gridrig_protocol::lagrid::{
    ConnEvent, Heartbeat, Initiator, NoConnection, NotifyConn, OpenConn, PeerError, Reference,
    RequestResourceData,
};
use gridrig_service::persist;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is planned to go wrong on the ways of a broker.
#[derive(Clone)]
pub(crate) struct Ways {
    pub faults: Faults,
    pub clock: RunClock,
    pub here: DomainId,
}

/// Keeps all sessions until the machine stops. What can wait a little is done at
/// instants counted from `origin`, which the brokers of a run have in common.
pub(crate) async fn keep(actor: Actor<BrokerAgent>, links: Links, ways: Ways, origin: Instant) {
    let mut tasks = tokio::task::JoinSet::new();
    // Who takes no messages is only ever answered.
    for link in links.iter().filter(|link| !link.setup.passive) {
        let task = SessionTask {
            actor: actor.clone(),
            link: Arc::clone(link),
            ways: ways.clone(),
            origin,
        };
        tasks.spawn(task.run());
    }
    tasks.join_all().await;
}

/// Tells every peer that this broker ends in good order.
pub(crate) async fn say_goodbye(links: &Links) {
    for link in links.iter().filter(|link| !link.setup.passive) {
        let Some(connection) = link.open_connection() else {
            continue;
        };
        let request = NotifyConn {
            connection,
            event: ConnEvent::End,
            code: "shutdown".to_owned(),
            reason: "the broker is shut down".to_owned(),
        };
        // A peer that is gone learns nothing, and needs not.
        let _ = tokio::time::timeout(GOODBYE, link.client.call(&link.setup.url, &request)).await;
    }
}

const COURTESY: Duration = Duration::from_millis(300);
const GOODBYE: Duration = Duration::from_millis(500);
/// A machine that is busy is called again after this.
const BREATH: Duration = Duration::from_millis(20);

struct SessionTask {
    actor: Actor<BrokerAgent>,
    link: Arc<Link>,
    ways: Ways,
    origin: Instant,
}

/// The machine has stopped, and with it everything else.
struct Stopped;

impl SessionTask {
    async fn run(self) {
        // Ends with an error, when the machine does.
        let _ = self.keep().await;
    }

    async fn keep(&self) -> Result<(), Stopped> {
        // Of two brokers that start together one gets to speak first.
        if *self.link.here > *self.link.name() {
            tokio::time::sleep(COURTESY).await;
        }
        loop {
            let renew = {
                let state = self.link.state();
                state.renew && state.end.may_talk()
            };
            if renew {
                self.open().await?;
                // A peer that wants none of the new terms is asked again
                // only when they change.
                self.link.state().renew = false;
            }
            match self.see_to().await? {
                Some(Ask::Open) => self.open().await?,
                Some(Ask::Heartbeat) => self.beat().await?,
                None => {}
            }
            let wake = self.link.state().end.wake();
            let tick = self.link.tick(self.origin, wake);
            tokio::select! {
                () = tokio::time::sleep_until(tick) => {}
                () = self.link.bell.notified() => {}
            }
        }
    }

    /// Tells the broker what has become of the session meanwhile; answers what
    /// the peer is to be asked.
    async fn see_to(&self) -> Result<Option<Ask>, Stopped> {
        let (given_up, (changes, ask)) = {
            let (now, mut state) = (self.link.now(), self.link.state());
            (state.end.given_up(), state.end.see_to(now))
        };
        for change in changes {
            let jobs = self.tell(change).await?;
            if change == SessionChange::GivenUp && !given_up {
                let peer = self.link.name();
                tracing::warn!(
                    peer,
                    jobs,
                    "a peer is given up, and touch with the jobs there is lost"
                );
            }
        }
        Ok(ask)
    }

    /// Asks the peer, unless what is planned to go wrong keeps the question, or the
    /// answer, from getting through.
    async fn pass<T>(&self, is_information: bool, ask: impl Future<Output = T>) -> Option<T> {
        let (ways, ask) = (&self.ways, async { Ok(ask.await) });
        let way = (ways.here.into(), self.link.domain.into());
        let carried = ways
            .faults
            .carry(ways.clock.now(), way, is_information, ask);
        carried.await.ok()
    }

    /// Negotiates a session or its terms.
    async fn open(&self) -> Result<(), Stopped> {
        self.link.state().opening = true;
        let opened = self.pass(false, self.negotiate()).await;
        self.link.state().opening = false;
        opened.unwrap_or(Ok(()))
    }

    async fn negotiate(&self) -> Result<(), Stopped> {
        let initiator = Initiator {
            name: self.link.here.clone(),
            endpoint: Reference::of(self.link.endpoint()),
            incarnation: self.link.life,
            stance: self.link.stance(),
        };
        let ask = |request: OpenConn| async move {
            let link = &self.link;
            link.client.call(&link.setup.url, &request).await
        };
        let opened = initiator.negotiate(self.link.open_connection(), ask).await;
        match opened {
            Ok(agreed) if agreed.responder == self.link.name() => {
                let (name, life) = (agreed.connection.into(), agreed.incarnation);
                let change = self.link.opened(name, agreed.terms, life);
                return self.follow(change).await;
            }
            Ok(_) => self.link.complain(NoConnection::NotOffered.to_string()),
            Err(NoConnection::Peer(error)) => self.note_refusal(&error),
            Err(NoConnection::Refused(refusal)) => {
                let peer = self.link.name();
                let (code, reason) = (refusal.code, refusal.reason);
                tracing::warn!(peer, code, reason, "no session");
            }
            Err(other) => self.link.complain(other.to_string()),
        }
        Ok(())
    }

    fn note_refusal(&self, error: &PeerError) {
        let peer = self.link.name();
        match error.fault() {
            Some(_) if error.forgets() => self.link.forgotten(),
            Some(fault) => self.link.complain(fault.to_string()),
            None => tracing::debug!(peer, %error, "a peer cannot be reached"),
        }
    }

    /// Something has become of the session: if it is open, this side's roles
    /// hold, and what the peer may have missed is said again.
    async fn follow(&self, change: SessionChange) -> Result<(), Stopped> {
        let peer = self.link.name();
        if change == SessionChange::Closed {
            tracing::warn!(peer, "a peer is lost; jobs that are with it are kept");
        }
        let jobs = self.tell(change).await?;
        let SessionChange::Open { roles, found } = change else {
            return Ok(());
        };
        let auth = self.link.state().terms().map(|terms| terms.auth.name());
        let named = roles.map(|roles| roles.name());
        tracing::info!(peer, auth, roles = named, found, jobs, "a session is open");
        Ok(())
    }

    /// Asks for the peer's resources; it pushes the rest.
    async fn pull(&self, pull: Pull) {
        let Some(connection) = self.link.open_connection() else {
            return;
        };
        let request = RequestResourceData {
            connection,
            form: None,
            since: pull.since,
        };
        // What cannot be asked for now is asked for later, unless it is pushed first.
        let call = async { self.link.call(&request).await.ok() };
        if let Some(update) = self.pass(true, call).await.flatten() {
            let link = Arc::clone(&self.link);
            let _ = super::handler::take_update(&self.actor, &link, &update, None, None).await;
        }
    }

    async fn beat(&self) -> Result<(), Stopped> {
        let (connection, sequence) = {
            let mut state = self.link.state();
            state.beats += 1;
            (state.end.session().connection().cloned(), state.beats)
        };
        let Some(connection) = connection else {
            return Ok(());
        };
        let request = Heartbeat {
            connection: connection.to_string(),
            sequence,
            incarnation: self.link.life,
        };
        let patience = self.patience();
        let call = self.link.client.call(&self.link.setup.url, &request);
        let call = self.pass(false, tokio::time::timeout(patience, call));
        let beat = match call.await {
            None => Beat::Silence,
            Some(Ok(Ok(answer))) if self.link.state().end.admits(answer.incarnation) => {
                Beat::Answered
            }
            Some(Ok(Ok(_another_life))) => Beat::Forgotten,
            Some(Ok(Err(error))) => match error.fault() {
                Some(_) if error.forgets() => Beat::Forgotten,
                // It is there, whatever it says.
                Some(fault) if fault.status == 503 => Beat::Answered,
                _ => Beat::Silence,
            },
            Some(Err(_late)) => Beat::Silence,
        };
        let change = {
            let mut state = self.link.state();
            if state.end.session().connection() != Some(&connection) {
                // The peer has opened another session meanwhile.
                return Ok(());
            }
            let before = state.end.session().phase();
            let change = state.end.beat(self.link.now(), beat);
            if beat == Beat::Forgotten {
                state.closed();
            }
            if (before, state.end.session().phase()) == (Phase::Open, Phase::Suspect) {
                tracing::info!(peer = self.link.name(), "a peer does not answer");
            }
            change
        };
        match change {
            Some(change) => self.follow(change).await,
            None => Ok(()),
        }
    }

    /// How long an answer to a heartbeat may take.
    fn patience(&self) -> Duration {
        let heartbeat = self.link.state().heartbeat();
        let interval = Duration::from_nanos(heartbeat.map_or(0, SimDuration::as_nanos));
        interval.max(SHORTEST_PATIENCE)
    }

    /// Tells the broker what has changed of the session, and asks the peer what it
    /// then wants to know; answers how many jobs that concerns.
    async fn tell(&self, change: SessionChange) -> Result<usize, Stopped> {
        let peer = self.link.domain;
        let session = PeerSession { peer, change };
        let call = move |broker: &mut Driven<BrokerAgent>, now| broker.handle(now, session);
        let told = persist(&self.actor, BREATH, call).await;
        let (jobs, pull) = told.map_err(|_| Stopped)?;
        if let Some(pull) = pull {
            self.pull(pull).await;
        }
        Ok(jobs)
    }
}

/// However short the interval, an answer may take so long.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(2);
