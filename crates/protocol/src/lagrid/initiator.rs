//! Who opens a connection: rounds of `openConn` until the sides agree.

use super::terms::{self, Side};
use super::{OpenConn, OpenConnAnswer, PeerError, Reference, Refusal, Verdict, codes};
use gridrig_core::session::{self, Stance, Terms};

/// Who opens a connection.
#[derive(Clone, Debug)]
pub struct Initiator {
    /// By what name the responder knows it.
    pub name: String,
    /// Where it takes messages.
    pub endpoint: Reference,
    /// Which life of it this is.
    pub incarnation: u64,
    /// What it is willing to agree to.
    pub stance: Stance,
}

/// A connection that the sides have agreed to.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// Its name.
    pub connection: String,
    /// What the sides have agreed to, as the initiator sees it.
    pub terms: Terms,
    /// The responder's domain, by name.
    pub responder: String,
    /// Which life of the responder this is.
    pub incarnation: u64,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    /// A request was not answered.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The responder wants none.
    #[error("{}: {}", .0.code, .0.reason)]
    Refused(Refusal),
    /// What it answers can not be agreed to.
    #[error("{0}")]
    Disagreed(session::Refusal),
    /// It does not keep to the rules.
    #[error("it accepted what was not offered")]
    NotOffered,
}

impl Initiator {
    /// Opens a connection, or negotiates the terms of this one anew; `ask` makes
    /// one request.
    ///
    /// # Errors
    /// [`NoConnection`].
    pub async fn negotiate<F>(
        &self,
        mut connection: Option<String>,
        ask: impl Fn(OpenConn) -> F,
    ) -> Result<Agreed, NoConnection>
    where
        F: Future<Output = Result<OpenConnAnswer, PeerError>>,
    {
        let mut offer = self.stance.opening();
        for round in 1..=self.stance.rounds {
            let request = OpenConn {
                initiator: self.name.clone(),
                endpoint: self.endpoint.clone(),
                incarnation: self.incarnation,
                connection: connection.clone(),
                round,
                max_rounds: self.stance.rounds,
                proposal: terms::proposal(&offer, Side::Initiator),
            };
            let answer = ask(request).await?;
            match answer.verdict {
                Verdict::Accepted(agreed) => {
                    let terms = terms::read(&agreed);
                    if !self.stance.allows(&terms) {
                        return Err(NoConnection::NotOffered);
                    }
                    return Ok(Agreed {
                        connection: answer.connection,
                        terms,
                        responder: answer.responder,
                        incarnation: answer.incarnation,
                    });
                }
                Verdict::Counter(counter) => {
                    let counter = terms::offer(&counter, Side::Responder);
                    let next = self.stance.reply(&counter, round);
                    offer = next.map_err(NoConnection::Disagreed)?;
                    connection = Some(answer.connection);
                }
                Verdict::Refused(refusal) => return Err(NoConnection::Refused(refusal)),
            }
        }
        Err(NoConnection::Disagreed(session::Refusal::Rounds))
    }
}

impl PeerError {
    /// Whether the peer has forgotten the connection, or never knew it.
    pub fn forgets(&self) -> bool {
        let forgotten = [codes::UNKNOWN_CONNECTION, codes::NOT_ESTABLISHED];
        self.fault()
            .is_some_and(|fault| forgotten.contains(&fault.code.as_str()))
    }
}
