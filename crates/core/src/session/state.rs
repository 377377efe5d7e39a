//! The state of one connection, as one side sees it.

use super::negotiation::Terms;
use crate::time::{SimDuration, SimTime};
use std::sync::Arc;

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// There is none, or the negotiation goes on.
    Closed,
    /// Agreed on and alive.
    Open,
    /// A heartbeat has gone unanswered. Jobs are still exchanged.
    Suspect,
    /// Silent for too long. No job is sent; those that are there are kept, for
    /// nobody knows whether they run.
    Lost,
    /// Ended by one of the sides, in good order.
    Ended,
}

impl Phase {
    /// The name used in interfaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Closed => "closed",
            Phase::Open => "open",
            Phase::Suspect => "suspect",
            Phase::Lost => "lost",
            Phase::Ended => "ended",
        }
    }
}

/// How long a silence may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vigilance {
    /// Heartbeats without an answer after which a peer is lost; the first one
    /// makes it suspect.
    pub misses: u32,
}

impl Default for Vigilance {
    fn default() -> Self {
        Vigilance { misses: 3 }
    }
}

/// What became of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// It was answered.
    Answered,
    /// Nobody answered.
    Silence,
    /// Somebody answered who does not know the connection: the peer was
    /// started anew and has forgotten everything.
    Forgotten,
}

/// A change that somebody has to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The session is open, for the first time or after its end.
    Opened,
    /// The peer is there again after it was lost, or after it was started
    /// anew: what was with it has to be asked for.
    Found,
    /// The peer does not answer.
    Suspected,
    /// The peer answers again before it was given up.
    Recovered,
    /// The peer is lost.
    Lost,
    /// The session has ended in good order.
    Ended,
}

/// One connection.
///
/// - Getters: [`phase`](Self::phase), [`terms`](Self::terms),
///   [`connection`](Self::connection), [`may_talk`](Self::may_talk),
///   [`lost_since`](Self::lost_since).
/// - Messages: [`open`](Self::open), [`hear`](Self::hear),
///   [`beat`](Self::beat), [`end`](Self::end).
/// - Time: [`poll_timeout`](Self::poll_timeout) says when the next heartbeat
///   is due; tell what became of it with [`beat`](Self::beat).
#[derive(Clone, Debug)]
pub struct Session {
    phase: Phase,
    vigilance: Vigilance,
    terms: Option<Terms>,
    connection: Option<Arc<str>>,
    /// When the peer was last heard of.
    heard: SimTime,
    /// When the last heartbeat went out.
    beaten: SimTime,
    misses: u32,
    /// It has been open before, so that opening it means finding the peer.
    known: bool,
    lost_since: Option<SimTime>,
}

impl Session {
    /// No session yet.
    #[must_use]
    pub fn new(vigilance: Vigilance) -> Self {
        Session {
            phase: Phase::Closed,
            vigilance,
            terms: None,
            connection: None,
            heard: SimTime::ZERO,
            beaten: SimTime::ZERO,
            misses: 0,
            known: false,
            lost_since: None,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What is agreed on, from this side, while that holds.
    #[must_use]
    pub fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref()
    }

    /// The name of the connection, which each message carries.
    #[must_use]
    pub fn connection(&self) -> Option<&Arc<str>> {
        self.connection.as_ref()
    }

    /// Whether messages may be sent on it.
    #[must_use]
    pub fn may_talk(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Suspect)
    }

    /// Since when the peer is lost.
    #[must_use]
    pub fn lost_since(&self) -> Option<SimTime> {
        self.lost_since
    }

    /// Both sides have agreed: whatever was before is over.
    pub fn open(&mut self, now: SimTime, connection: Arc<str>, terms: Terms) -> Change {
        let change = match self.known {
            true => Change::Found,
            false => Change::Opened,
        };
        self.phase = Phase::Open;
        self.terms = Some(terms);
        self.connection = Some(connection);
        (self.heard, self.beaten, self.misses) = (now, now, 0);
        self.known = true;
        self.lost_since = None;
        change
    }

    /// The peer has said something on this connection, and so is alive. A lost
    /// one is found only by a heartbeat of our own or a new session: that it
    /// reaches us does not mean that we reach it.
    pub fn hear(&mut self, now: SimTime) -> Option<Change> {
        self.heard = self.heard.max(now);
        (self.phase == Phase::Suspect && self.misses <= 1).then(|| {
            self.phase = Phase::Open;
            self.misses = 0;
            Change::Recovered
        })
    }

    /// When the next heartbeat is due; `None` without a session. A lost peer
    /// is still tried: that is how it is found again.
    ///
    /// A peer that is heard need not be asked whether it is alive, so that one
    /// heartbeat of the two sides is enough. Every second interval it is asked
    /// all the same: that it reaches us does not mean that we reach it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<SimTime> {
        let heartbeat = self.terms.as_ref()?.heartbeat;
        let due = self.beaten + heartbeat;
        match self.phase {
            Phase::Open => Some(due.max((self.heard + heartbeat).min(due + heartbeat))),
            Phase::Suspect | Phase::Lost => Some(due),
            Phase::Closed | Phase::Ended => None,
        }
    }

    /// What became of a heartbeat that went out at `now`.
    pub fn beat(&mut self, now: SimTime, beat: Beat) -> Option<Change> {
        self.beaten = self.beaten.max(now);
        match (beat, self.phase) {
            (_, Phase::Closed | Phase::Ended) => None,
            (Beat::Answered, before) => {
                self.heard = self.heard.max(now);
                self.misses = 0;
                self.phase = Phase::Open;
                self.lost_since = None;
                match before {
                    Phase::Suspect => Some(Change::Recovered),
                    Phase::Lost => Some(Change::Found),
                    _ => None,
                }
            }
            (Beat::Forgotten, before) => {
                self.forget();
                self.lost_since.get_or_insert(now);
                (before != Phase::Lost).then_some(Change::Lost)
            }
            (Beat::Silence, Phase::Lost) => None,
            (Beat::Silence, before) => {
                self.misses += 1;
                if self.misses >= self.vigilance.misses.max(1) {
                    self.phase = Phase::Lost;
                    self.lost_since = Some(now);
                    return Some(Change::Lost);
                }
                self.phase = Phase::Suspect;
                (before == Phase::Open).then_some(Change::Suspected)
            }
        }
    }

    /// One of the sides has ended it in good order.
    pub fn end(&mut self) -> Option<Change> {
        let was = self.phase;
        self.forget();
        self.phase = Phase::Ended;
        self.lost_since = None;
        matches!(was, Phase::Open | Phase::Suspect | Phase::Lost).then_some(Change::Ended)
    }

    /// The connection is worth nothing any more; another has to be opened.
    fn forget(&mut self) {
        self.phase = Phase::Closed;
        self.connection = None;
        self.terms = None;
        self.misses = 0;
    }

    /// Longest time between two heartbeats that the peer may be silent before
    /// it is lost.
    #[must_use]
    pub fn longest_silence(&self) -> Option<SimDuration> {
        let terms = self.terms.as_ref()?;
        let nanos = terms.heartbeat.as_nanos();
        let misses = u64::from(self.vigilance.misses.max(1));
        Some(SimDuration::from_nanos(nanos.saturating_mul(misses)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Auth, Roles};

    fn terms() -> Terms {
        Terms {
            auth: Auth::None,
            roles: Roles::BOTH,
            heartbeat: SimDuration::from_secs(5),
            job_language: "jsdl".into(),
            resource_language: "samples".into(),
            form: crate::inventory::Form::Flat,
        }
    }

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    fn open() -> Session {
        let mut session = Session::new(Vigilance::default());
        assert_eq!(session.open(at(0), "c1".into(), terms()), Change::Opened);
        session
    }

    #[test]
    fn a_silent_peer_is_suspect_then_lost_then_found() {
        let mut session = open();
        assert_eq!(session.poll_timeout(), Some(at(5)));
        assert_eq!(session.beat(at(5), Beat::Silence), Some(Change::Suspected));
        assert!(session.may_talk());
        assert_eq!(session.beat(at(10), Beat::Silence), None);
        assert_eq!(session.beat(at(15), Beat::Silence), Some(Change::Lost));
        assert!(!session.may_talk());
        assert_eq!(session.lost_since(), Some(at(15)));
        // It is tried again and again, and lost once.
        assert_eq!(session.poll_timeout(), Some(at(20)));
        assert_eq!(session.beat(at(20), Beat::Silence), None);
        assert_eq!(session.beat(at(25), Beat::Answered), Some(Change::Found));
        assert_eq!((session.phase(), session.lost_since()), (Phase::Open, None));
    }

    #[test]
    fn a_peer_that_recovers_in_time_was_never_lost() {
        let mut session = open();
        session.beat(at(5), Beat::Silence);
        assert_eq!(
            session.beat(at(10), Beat::Answered),
            Some(Change::Recovered)
        );
        session.beat(at(15), Beat::Silence);
        // A word of its own is a sign of life too.
        assert_eq!(session.hear(at(16)), Some(Change::Recovered));
        assert_eq!(session.phase(), Phase::Open);
    }

    #[test]
    fn a_peer_that_was_started_anew_is_lost_at_once_and_found_by_a_new_session() {
        let mut session = open();
        assert_eq!(session.beat(at(5), Beat::Forgotten), Some(Change::Lost));
        assert_eq!(
            (session.phase(), session.connection()),
            (Phase::Closed, None)
        );
        assert_eq!(session.poll_timeout(), None);
        assert_eq!(session.open(at(6), "c2".into(), terms()), Change::Found);
        assert_eq!(session.connection().map(|c| &**c), Some("c2"));
    }

    #[test]
    fn a_session_that_has_ended_has_no_heartbeat() {
        let mut session = open();
        assert_eq!(session.end(), Some(Change::Ended));
        assert_eq!(session.end(), None);
        assert_eq!(session.poll_timeout(), None);
        assert_eq!(session.beat(at(5), Beat::Answered), None);
        assert_eq!(session.phase(), Phase::Ended);
    }

    #[test]
    fn a_peer_that_is_heard_is_asked_every_second_time() {
        let mut session = open();
        session.hear(at(3));
        assert_eq!(session.poll_timeout(), Some(at(8)));
        session.hear(at(8));
        session.hear(at(9));
        assert_eq!(session.poll_timeout(), Some(at(10)));
        session.beat(at(10), Beat::Answered);
        assert_eq!(session.poll_timeout(), Some(at(15)));
        // One that has not answered is not spared for what it says itself.
        session.beat(at(15), Beat::Silence);
        session.beat(at(20), Beat::Silence);
        session.hear(at(21));
        assert_eq!(session.poll_timeout(), Some(at(25)));
    }

    #[test]
    fn hearing_from_a_lost_peer_does_not_find_it() {
        let mut session = open();
        for beat in 1..4 {
            session.beat(at(5 * beat), Beat::Silence);
        }
        assert_eq!(session.hear(at(16)), None);
        assert_eq!(session.phase(), Phase::Lost);
    }
}
