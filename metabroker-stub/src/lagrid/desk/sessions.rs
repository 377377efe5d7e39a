//! Connections as peers open and end them.

use super::BrokerDesk;
use crate::lagrid::links::{Link, Talks, not_authenticated};
use gridrig_core::agent::{PeerSession, SessionChange};
use gridrig_core::session::{Terms, Verdict};
use gridrig_protocol::lagrid::Verdict as Said;
use gridrig_protocol::lagrid::terms::{self, Side};
use gridrig_protocol::lagrid::{
    Caller, ConnEvent, NotifyConn, OpenConn, OpenConnAnswer, PeerFault, Reference, Refusal,
    SOAP_PATH, Taken, codes,
};
use gridrig_service::gone;
use std::sync::Arc;

impl BrokerDesk {
    /// A round of a negotiation.
    pub(super) async fn negotiate(
        &self,
        caller: &Caller,
        request: OpenConn,
    ) -> Result<OpenConnAnswer, PeerFault> {
        let link = self.links().named(&request.initiator).map(Arc::clone);
        // A stranger is told no more than that it is one.
        let link = link.ok_or_else(|| {
            PeerFault::new(
                codes::NOT_AUTHORIZED,
                "no peer of this name has a link here",
            )
        })?;
        let mut stance = link.stance();
        if !stance.auth.iter().any(|auth| link.has_shown(caller, *auth)) {
            return Err(not_authenticated(
                stance
                    .auth
                    .first()
                    .copied()
                    .unwrap_or(gridrig_core::session::Auth::None),
            ));
        }
        // Only what has been shown can be agreed on.
        stance.auth.retain(|auth| link.has_shown(caller, *auth));
        let connection = next_round(&link, &request)?;
        let offer = terms::offer(&request.proposal, Side::Initiator);
        let round = request.round;
        let verdict = stance.answer(&offer, round, request.max_rounds);
        let said = match verdict {
            Verdict::Accepted(agreed) => {
                let Some(written) = terms::written(&agreed) else {
                    return Err(PeerFault::new(
                        codes::INVALID,
                        "the terms have no names here",
                    ));
                };
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
        Ok(self.answer(caller, &connection, round, said))
    }

    fn answer(
        &self,
        caller: &Caller,
        connection: &Arc<str>,
        round: u32,
        verdict: Said,
    ) -> OpenConnAnswer {
        OpenConnAnswer {
            responder: self.links().here().to_owned(),
            endpoint: Reference::of(format!("{}{SOAP_PATH}", caller.base)),
            incarnation: self.links().life(),
            connection: connection.to_string(),
            round,
            verdict,
        }
    }

    /// The session is open. What was said to an earlier life of the peer, or
    /// not at all, is said again.
    async fn establish(
        &self,
        link: &Arc<Link>,
        connection: &Arc<str>,
        agreed: Terms,
        life: u64,
    ) -> Result<(), PeerFault> {
        let peer = link.domain;
        let now = link.now();
        let change = {
            let mut state = link.state();
            state.talks = None;
            state.open(now, Arc::clone(connection), agreed.clone(), life)
        };
        let SessionChange::Open { roles, found } = change else {
            return Ok(());
        };
        let roles = roles.filter(|_| !link.setup.passive);
        let change = SessionChange::Open { roles, found };
        let open = PeerSession { peer, change };
        let call = self
            .app
            .actor
            .call(move |broker, now| broker.handle(now, open));
        let jobs = call.await.map_err(|error| PeerFault::from(gone(error)))?;
        let (peer, auth, roles) = (link.name(), agreed.auth.name(), agreed.roles.name());
        tracing::info!(
            peer,
            auth,
            roles,
            found,
            jobs,
            "a peer has opened a session"
        );
        link.bell.notify_one();
        Ok(())
    }

    /// A peer tells of an error, or ends the session.
    pub(super) async fn hear_of_connection(
        &self,
        caller: &Caller,
        request: NotifyConn,
    ) -> Result<Taken, PeerFault> {
        let link = self.admit(caller, &request.connection)?;
        let (peer, code, reason) = (link.name(), &request.code, &request.reason);
        match request.event {
            ConnEvent::Error => tracing::warn!(peer, code, reason, "a peer tells of an error"),
            ConnEvent::End => {
                let ended = {
                    let mut state = link.state();
                    state.closed();
                    state.peer.end(link.now())
                };
                if ended {
                    tracing::info!(peer, code, reason, "a peer has ended the session");
                }
                let closed = PeerSession {
                    peer: link.domain,
                    change: SessionChange::Closed,
                };
                let call = self
                    .app
                    .actor
                    .call(move |broker, now| broker.handle(now, closed));
                call.await.map_err(|error| PeerFault::from(gone(error)))?;
                link.bell.notify_one();
            }
        }
        Ok(Taken::default())
    }
}

/// Checks that a round is the next one of its negotiation, and gives it the
/// name of its connection.
fn next_round(link: &Link, request: &OpenConn) -> Result<Arc<str>, PeerFault> {
    let mut state = link.state();
    let wrong = |expected: u32| {
        let reason = format!("field round = \"{}\": expected {expected}", request.round);
        PeerFault::new(codes::WRONG_ROUND, reason)
    };
    let known = match (&request.connection, &state.talks) {
        (None, _) => {
            state.named += 1;
            // No two connections have one name. It is no secret: who may speak
            // is another matter.
            let name = format!("{}{}", link.own_names(), state.named);
            Talks {
                connection: name.into(),
                round: 0,
            }
        }
        (Some(name), Some(talks)) if **name == *talks.connection => talks.clone(),
        (Some(name), _) if state.names.iter().any(|known| **known == **name) => Talks {
            connection: name.as_str().into(),
            round: 0,
        },
        (Some(name), _) => return Err(PeerFault::unknown_connection(name)),
    };
    if request.round != known.round + 1 {
        return Err(wrong(known.round + 1));
    }
    let connection = Arc::clone(&known.connection);
    state.talks = Some(Talks {
        round: request.round,
        ..known
    });
    Ok(connection)
}
