//! Keeping the sessions: opening them, heartbeats, losing and finding peers.
//! Each session has a task of its own, which lives as long as the machine.

use super::links::{Link, Links};
use gridrig_core::agent::{BrokerAgent, PeerSession, SessionChange};
use gridrig_core::session::{Beat, Change, Phase, Terms};
use gridrig_drivers::real_time::{Actor, CallError, Driven};
use gridrig_protocol::lagrid::{
    ConnEvent, Heartbeat, Initiator, NoConnection, NotifyConn, OpenConn, PeerError, Reference,
    RequestResourceData,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Keeps all sessions until the machine stops. What can wait a little is done at
/// instants counted from `origin`, which the brokers of a run have in common.
pub(crate) async fn keep(actor: Actor<BrokerAgent>, links: Links, origin: Instant) {
    let mut keepers = tokio::task::JoinSet::new();
    // Who takes no messages is only ever answered.
    for link in links.iter().filter(|link| !link.setup.passive) {
        let keeper = Keeper {
            actor: actor.clone(),
            link: Arc::clone(link),
            origin,
        };
        keepers.spawn(keeper.run());
    }
    while keepers.join_next().await.is_some() {}
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
/// Time between two tries to open a session.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// A machine that is busy is called again after this.
const BREATH: Duration = Duration::from_millis(20);

struct Keeper {
    actor: Actor<BrokerAgent>,
    link: Arc<Link>,
    origin: Instant,
}

/// The machine has stopped, and with it everything else.
struct Stopped;

impl Keeper {
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
            self.watch_absence().await?;
            let (phase, renew, due) = {
                let state = self.link.state();
                (
                    state.session.phase(),
                    state.renew,
                    state.session.poll_timeout(),
                )
            };
            match (phase, due) {
                (Phase::Open | Phase::Suspect, _) if renew => {
                    self.open().await?;
                    // A peer that wants none of the new terms is asked again
                    // only when they change.
                    self.link.state().renew = false;
                }
                (_, Some(due)) => {
                    let tick = self.link.tick(self.origin, due);
                    tokio::select! {
                        () = tokio::time::sleep_until(tick) => match self.is_due() {
                            true => self.beat().await?,
                            false => self.say_again_if_answered().await?,
                        },
                        () = self.link.bell.notified() => {}
                    }
                }
                (_, None) => {
                    if !self.open().await? {
                        tokio::select! {
                            () = tokio::time::sleep(TRY_AGAIN) => {}
                            () = self.link.bell.notified() => {}
                        }
                    }
                }
            }
        }
    }

    /// Whether it is time for a heartbeat still: the peer may have been heard
    /// meanwhile.
    fn is_due(&self) -> bool {
        let due = self.link.state().session.poll_timeout();
        due.is_some_and(|due| due <= self.link.now())
    }

    /// Gives a peer up that has been away for too long.
    async fn watch_absence(&self) -> Result<(), Stopped> {
        let fresh_loss = {
            let mut state = self.link.state();
            match state.session.may_talk() {
                true => {
                    state.away = None;
                    None
                }
                false => state.away.map(|since| (since, state.given_up)),
            }
        };
        let Some((since, given_up)) = fresh_loss else {
            return Ok(());
        };
        self.tell(SessionChange::Closed).await?;
        if given_up || since.elapsed() < self.link.setup.give_up {
            if given_up {
                self.tell(SessionChange::GivenUp).await?;
            }
            return Ok(());
        }
        self.link.state().given_up = true;
        let jobs = self.tell(SessionChange::GivenUp).await?;
        tracing::warn!(
            peer = self.link.name(),
            jobs,
            "a peer is given up, and touch with the jobs there is lost"
        );
        Ok(())
    }

    /// Negotiates a session or its terms; `true` if that came to an agreement.
    async fn open(&self) -> Result<bool, Stopped> {
        self.link.state().opening = true;
        let opened = self.negotiate().await;
        self.link.state().opening = false;
        opened
    }

    async fn negotiate(&self) -> Result<bool, Stopped> {
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
                let name = agreed.connection.into();
                self.agreed(name, agreed.terms, agreed.incarnation).await?;
                return Ok(true);
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
        Ok(false)
    }

    fn note_refusal(&self, error: &PeerError) {
        let peer = self.link.name();
        match error.fault() {
            Some(_) if error.forgets() => {
                let now = self.link.now();
                let mut state = self.link.state();
                state.session.beat(now, Beat::Forgotten);
                state.closed();
            }
            Some(fault) => self.link.complain(fault.to_string()),
            None => tracing::debug!(peer, %error, "a peer is not there"),
        }
    }

    async fn agreed(&self, name: Arc<str>, agreed: Terms, life: u64) -> Result<(), Stopped> {
        let now = self.link.now();
        let (change, same) = {
            let mut state = self.link.state();
            let same = state.peer_life == Some(life) && state.session.may_talk();
            (state.open(now, name, agreed.clone(), life), same)
        };
        self.found(&agreed, change, same).await
    }

    /// A session is open: this side's roles hold, and what the peer may have
    /// missed is said again.
    async fn found(&self, agreed: &Terms, change: Change, same: bool) -> Result<(), Stopped> {
        let found = change == Change::Found && !same;
        let roles = Some(agreed.roles);
        let jobs = self.tell(SessionChange::Open { roles, found }).await?;
        let peer = self.link.name();
        let (auth, roles) = (agreed.auth.name(), agreed.roles.name());
        tracing::info!(peer, auth, roles, found, jobs, "a session is open");
        if agreed.roles.consumer {
            self.pull().await?;
        }
        Ok(())
    }

    /// Asks for the peer's resources; it pushes the rest.
    async fn pull(&self) -> Result<(), Stopped> {
        let Some(connection) = self.link.open_connection() else {
            return Ok(());
        };
        let request = RequestResourceData {
            connection,
            form: None,
            since: None,
        };
        // What cannot be asked for now is pushed at the next exchange.
        if let Ok(update) = self.link.call(&request).await {
            let link = Arc::clone(&self.link);
            let _ = super::desk::take_update(&self.actor, &link, &update, None, None).await;
        }
        Ok(())
    }

    async fn beat(&self) -> Result<(), Stopped> {
        let (connection, sequence) = {
            let now = self.link.now();
            let mut state = self.link.state();
            state.session.beat_sent(now);
            state.beats += 1;
            (state.session.connection().cloned(), state.beats)
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
        let beat = match tokio::time::timeout(patience, call).await {
            Ok(Ok(answer)) if self.link.state().peer_life == Some(answer.incarnation) => {
                Beat::Answered
            }
            Ok(Ok(_another_life)) => Beat::Forgotten,
            Ok(Err(error)) => match error.fault() {
                Some(_) if error.forgets() => Beat::Forgotten,
                // It is there, whatever it says.
                Some(fault) if fault.status == 503 => Beat::Answered,
                _ => Beat::Silence,
            },
            Err(_late) => Beat::Silence,
        };
        let change = {
            let mut state = self.link.state();
            if state.session.connection() != Some(&connection) {
                // The peer has opened another session meanwhile.
                return Ok(());
            }
            let now = self.link.now();
            let change = state.session.beat(now, beat);
            match beat {
                Beat::Forgotten => state.closed(),
                _ if change == Some(Change::Lost) => {
                    state.away.get_or_insert_with(Instant::now);
                }
                _ => {}
            }
            change
        };
        self.follow(change).await
    }

    async fn follow(&self, change: Option<Change>) -> Result<(), Stopped> {
        let peer = self.link.name();
        match change {
            Some(Change::Lost) => {
                tracing::warn!(peer, "a peer is lost; jobs that are with it are kept");
                self.tell(SessionChange::Closed).await.map(drop)
            }
            Some(Change::Suspected) => {
                tracing::info!(peer, "a peer does not answer");
                Ok(())
            }
            Some(Change::Found) => {
                let terms = self.link.state().session.terms().cloned();
                match terms {
                    Some(terms) => self.found(&terms, Change::Found, false).await,
                    None => Ok(()),
                }
            }
            _ => self.say_again_if_answered().await,
        }
    }

    /// A peer that has answered since the last time is told what did not get
    /// through to it.
    async fn say_again_if_answered(&self) -> Result<(), Stopped> {
        let fresh = {
            let mut state = self.link.state();
            let answer = state.session.last_answer();
            let before = std::mem::replace(&mut state.followed, answer);
            state.session.may_talk() && answer > before
        };
        if !fresh {
            return Ok(());
        }
        self.tell(SessionChange::Answered).await.map(drop)
    }

    /// How long an answer to a heartbeat may take.
    fn patience(&self) -> Duration {
        let state = self.link.state();
        let heartbeat = state
            .session
            .terms()
            .map(|terms| terms.heartbeat.as_nanos());
        Duration::from_nanos(heartbeat.unwrap_or(0)).max(SHORTEST_PATIENCE)
    }

    /// Tells the broker what has changed of the session; answers how many jobs
    /// that concerns.
    async fn tell(&self, change: SessionChange) -> Result<usize, Stopped> {
        let peer = self.link.domain;
        let session = PeerSession { peer, change };
        loop {
            let call = move |broker: &mut Driven<BrokerAgent>, now| broker.handle(now, session);
            match self.actor.call(call).await {
                Ok(jobs) => return Ok(jobs),
                Err(CallError::Busy) => tokio::time::sleep(BREATH).await,
                Err(CallError::Stopped) => return Err(Stopped),
            }
        }
    }
}

/// However short the interval, an answer may take so long.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(2);
