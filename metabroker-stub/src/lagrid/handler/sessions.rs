//! Connections as peers open, keep and end them.

use super::BrokerHandler;
use crate::lagrid::links::{Link, Talks, not_authenticated};
use gridrig_core::agent::{PeerSession, SessionChange};
use gridrig_core::session::{Auth, Terms, Verdict};
use gridrig_protocol::lagrid::Verdict as Said;
use gridrig_protocol::lagrid::terms::{self, Side};
use gridrig_protocol::lagrid::{
    Answers, Caller, ConnEvent, Heartbeat, HeartbeatAnswer, NotifyConn, OpenConn, OpenConnAnswer,
    Reference, Refusal, SOAP_PATH, Taken, codes,
};
use gridrig_protocol::rest::{Problem, Result};
use std::sync::Arc;

/// A round of a negotiation.
impl Answers<OpenConn> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: OpenConn) -> Result<OpenConnAnswer> {
        let link = self.links().named(&request.initiator).map(Arc::clone);
        // An unknown peer is told no more than that it is one.
        let nobody = "no peer of this name has a link here";
        let link = link.ok_or_else(|| Problem::of_code(codes::NOT_AUTHORIZED, nobody))?;
        let mut stance = link.stance();
        let wanted = stance.auth.first().copied().unwrap_or(Auth::None);
        // Only what has been shown can be agreed on.
        stance.auth.retain(|auth| link.has_shown(caller, *auth));
        if stance.auth.is_empty() {
            return Err(not_authenticated(wanted));
        }
        let connection = next_round(&link, &request)?;
        let offer = terms::offer(&request.proposal, Side::Initiator);
        let verdict = match stance.answer(&offer, request.round, request.max_rounds) {
            Verdict::Accepted(agreed) => {
                let nameless = || Problem::of_code(codes::INVALID, "the terms have unknown names");
                let written = terms::written(&agreed).ok_or_else(nameless)?;
                self.establish(&link, &connection, agreed, request.incarnation)
                    .await?;
                Said::Accepted(written)
            }
            Verdict::Counter(offer) => Said::Counter(terms::proposal(&offer, Side::Responder)),
            Verdict::Refused(refusal) => {
                link.state().talks = None;
                Said::Refused(Refusal {
                    code: refusal.code().to_owned(),
                    reason: refusal.to_string(),
                })
            }
        };
        Ok(OpenConnAnswer {
            responder: link.here.clone(),
            endpoint: Reference::of(format!("{}{SOAP_PATH}", caller.base)),
            incarnation: link.life,
            connection: connection.to_string(),
            round: request.round,
            verdict,
        })
    }
}

impl BrokerHandler {
    /// The session is open. What was said to an earlier life of the peer, or
    /// not at all, is said again.
    async fn establish(
        &self,
        link: &Arc<Link>,
        connection: &Arc<str>,
        agreed: Terms,
        life: u64,
    ) -> Result<()> {
        let roles = agreed.roles;
        let auth = agreed.auth.name();
        link.state().talks = None;
        let mut change = link.opened(Arc::clone(connection), agreed, life);
        let mut found = false;
        if let SessionChange::Open {
            roles,
            found: again,
        } = &mut change
        {
            *roles = roles.filter(|_| !link.setup.passive);
            found = *again;
        }
        let jobs = self.tell_machine(link, change).await?;
        let (peer, roles) = (link.name(), roles.name());
        tracing::info!(
            peer,
            auth,
            roles,
            found,
            jobs,
            "a peer has opened a session"
        );
        Ok(())
    }

    /// Tells the machine of a session, and its task that there is news of it.
    async fn tell_machine(&self, link: &Link, change: SessionChange) -> Result<usize> {
        let peer = link.domain;
        let session = PeerSession { peer, change };
        let told = self
            .app
            .call(move |broker, now| broker.handle(now, session));
        // What the peer is to be asked now its task finds out once more.
        let (jobs, _) = told.await?;
        link.bell.notify_one();
        Ok(jobs)
    }
}

/// A peer tells of an error, or ends the session.
impl Answers<NotifyConn> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: NotifyConn) -> Result<Taken> {
        let link = self.admit(caller, &request.connection)?;
        let (peer, code, reason) = (link.name(), &request.code, &request.reason);
        match request.event {
            ConnEvent::Error => tracing::warn!(peer, code, reason, "a peer tells of an error"),
            ConnEvent::End => {
                if link.ended() {
                    tracing::info!(peer, code, reason, "a peer has ended the session");
                }
                self.tell_machine(&link, SessionChange::Closed).await?;
            }
        }
        Ok(Taken::default())
    }
}

impl Answers<Heartbeat> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: Heartbeat) -> Result<HeartbeatAnswer> {
        let link = self.admit(caller, &request.connection)?;
        Ok(HeartbeatAnswer {
            sequence: request.sequence,
            incarnation: link.life,
        })
    }
}

/// Checks that a round is the next one of its negotiation, and gives it the
/// name of its connection.
fn next_round(link: &Link, request: &OpenConn) -> Result<Arc<str>> {
    let mut state = link.state();
    let (connection, before) = match (&request.connection, &state.talks) {
        (None, _) => {
            state.named += 1;
            // No two connections have one name. It is no secret: who may speak
            // is another matter.
            (format!("{}{}", link.own_names(), state.named).into(), 0)
        }
        (Some(name), Some(talks)) if **name == *talks.connection => {
            (Arc::clone(&talks.connection), talks.round)
        }
        (Some(name), _) if state.names.iter().any(|known| **known == **name) => {
            (name.as_str().into(), 0)
        }
        (Some(name), _) => return Err(Problem::unknown_connection(name)),
    };
    let (round, expected) = (request.round, before + 1);
    if round != expected {
        let reason = format!("field round = \"{round}\": expected {expected}");
        return Err(Problem::of_code(codes::WRONG_ROUND, reason));
    }
    state.talks = Some(Talks {
        connection: Arc::clone(&connection),
        round,
    });
    Ok(connection)
}
