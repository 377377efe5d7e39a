//! One end of a link to a peer, as time goes by: a session is opened, kept alive
//! by heartbeats, and found again when it is lost. What a broker is told of it
//! are [`SessionChange`]s.

use super::SessionChange;
use crate::session::{Beat, Change, Session, Terms};
use crate::time::{SimDuration, WallTime};
use std::sync::Arc;

/// Time between two tries to open a session.
const OPEN_AGAIN: SimDuration = SimDuration::from_millis(500);

/// One end of a link to a peer.
#[derive(Clone, Debug)]
pub struct PeerLink {
    session: Session,
    /// The life of the peer with which the session was agreed on.
    peer_life: Option<u64>,
    /// When to see to it again.
    wake: WallTime,
    given_up: bool,
    /// When a peer is given up that is away.
    give_up: SimDuration,
    /// The answer of the peer after which what it has missed was last said.
    followed: WallTime,
}

/// What the peer is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// For a session.
    Open,
    /// Whether it lives.
    Heartbeat,
}

impl PeerLink {
    /// Without a session yet. Of the two ends exactly one is `first`; a peer that
    /// is away for longer than `give_up` is given up.
    pub fn new(first: bool, give_up: SimDuration) -> Self {
        PeerLink {
            session: Session::new(first),
            peer_life: None,
            wake: WallTime::ZERO,
            given_up: false,
            give_up,
            followed: WallTime::ZERO,
        }
    }

    /// The session, as it stands.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The life of the peer with which a session was last agreed on.
    pub fn peer_life(&self) -> Option<u64> {
        self.peer_life
    }

    /// Whether the peer has been given up.
    pub fn given_up(&self) -> bool {
        self.given_up
    }

    /// Whether messages may be sent to the peer.
    pub fn may_talk(&self) -> bool {
        self.session.may_talk()
    }

    /// Whether a message from that life of the peer belongs to the session.
    pub fn admits(&self, life: u64) -> bool {
        self.session.terms().is_some() && self.peer_life == Some(life)
    }

    /// When to see to it again.
    pub fn wake(&self) -> WallTime {
        self.wake
    }

    /// It is time to see to the link: what the broker is to be told, and what the
    /// peer is to be asked.
    pub fn see_to(&mut self, now: WallTime) -> (Vec<SessionChange>, Option<Ask>) {
        let mut changes = Vec::new();
        if let Some(since) = self.session.away_since() {
            changes.push(SessionChange::Closed);
            self.given_up |= since + self.give_up <= now;
            if self.given_up {
                changes.push(SessionChange::GivenUp);
            }
        }
        let ask = match self.session.poll_timeout() {
            None => {
                self.wake = now + OPEN_AGAIN;
                Some(Ask::Open)
            }
            Some(due) if due <= now => {
                self.session.beat_sent(now);
                self.plan();
                Some(Ask::Heartbeat)
            }
            Some(_) => {
                changes.extend(self.answered_since());
                self.plan();
                None
            }
        };
        (changes, ask)
    }

    /// This end was restarted and has no session any more, but knows what is
    /// with the peer: to open one is to find it again.
    pub fn lose(&mut self, now: WallTime) {
        self.session.lose(now);
    }

    /// Both ends have agreed on a session of this name.
    pub fn opened(
        &mut self,
        now: WallTime,
        name: Arc<str>,
        terms: Terms,
        life: u64,
    ) -> SessionChange {
        let same = self.admits(life) && self.may_talk();
        let roles = Some(terms.roles);
        let found = self.session.open(now, name, terms) && !same;
        self.peer_life = Some(life);
        self.given_up = false;
        self.plan();
        SessionChange::Open { roles, found }
    }

    /// The peer has asked something in the session, and so lives.
    pub fn heard(&mut self, now: WallTime) {
        // Whether it has come back is looked at when the link is seen to.
        self.session.hear(now);
    }

    /// The peer has answered something other than a heartbeat.
    pub fn answered(&mut self, now: WallTime) {
        self.session.answered(now);
    }

    /// The session has ended in good order; whether there was one.
    pub fn end(&mut self, now: WallTime) -> bool {
        self.wake = now;
        self.session.end(now)
    }

    /// What has become of a heartbeat, or of a message whose receiver did not
    /// know the session ([`Beat::Forgotten`]).
    pub fn beat(&mut self, now: WallTime, beat: Beat) -> Option<SessionChange> {
        let had_terms = self.session.terms().is_some();
        let change = self.session.beat(now, beat);
        self.plan();
        if beat == Beat::Forgotten && had_terms {
            self.wake = now;
        }
        match change {
            Some(Change::Lost) => Some(SessionChange::Closed),
            Some(Change::Found) => {
                self.given_up = false;
                let roles = self.session.terms().map(|terms| terms.roles);
                Some(SessionChange::Open { roles, found: true })
            }
            None => self.answered_since(),
        }
    }

    /// Whether the peer has answered since this was last looked at: then it is
    /// told what did not get through to it.
    fn answered_since(&mut self) -> Option<SessionChange> {
        let answer = self.session.last_answer();
        let before = std::mem::replace(&mut self.followed, answer);
        (self.may_talk() && answer > before).then_some(SessionChange::Answered)
    }

    fn plan(&mut self) {
        if let Some(due) = self.session.poll_timeout() {
            self.wake = due;
        }
    }
}
