//! The state of one connection, as one side sees it.

use super::negotiation::Terms;
use crate::time::{SimDuration, WallTime};
use std::sync::Arc;

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Heartbeats without an answer after which a peer is lost; the first one makes it
/// suspect.
const MISSES: u32 = 3;

/// What became of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// It was answered.
    Answered,
    /// Nobody answered.
    Silence,
    /// Somebody answered who does not know the connection: the peer
    /// was restarted and has forgotten everything.
    Forgotten,
}

/// A change that somebody has to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The peer is there again after it was lost, or after it was restarted: what
    /// was with it has to be asked for.
    Found,
    /// The peer is lost.
    Lost,
}

/// One connection.
///
/// - Getters: [`phase`](Self::phase), [`terms`](Self::terms),
///   [`connection`](Self::connection), [`may_talk`](Self::may_talk),
///   [`away_since`](Self::away_since).
/// - Messages: [`open`](Self::open), [`hear`](Self::hear),
///   [`answered`](Self::answered), [`end`](Self::end).
/// - Time: [`poll_timeout`](Self::poll_timeout) says when the next heartbeat
///   is due; tell when it goes out with [`beat_sent`](Self::beat_sent), and what
///   became of it with [`beat`](Self::beat).
#[derive(Clone, Debug)]
pub struct Session {
    phase: Phase,
    terms: Option<Terms>,
    connection: Option<Arc<str>>,
    /// Of two sides whose turn it is alike, whether this one goes first.
    first: bool,
    /// When the peer last asked something of this side.
    asked: WallTime,
    /// When the peer last answered what this side had asked.
    answered: WallTime,
    /// When the last heartbeat went out.
    beaten: WallTime,
    misses: u32,
    /// It has been open before, so that opening it means finding the peer.
    known: bool,
    away_since: Option<WallTime>,
}

impl Session {
    /// No session yet. Exactly one of the two sides is `first`, whichever: it
    /// settles who sends a heartbeat where either might.
    pub fn new(first: bool) -> Self {
        Session {
            phase: Phase::Closed,
            terms: None,
            connection: None,
            first,
            asked: WallTime::ZERO,
            answered: WallTime::ZERO,
            beaten: WallTime::ZERO,
            misses: 0,
            known: false,
            away_since: None,
        }
    }

    /// Where it stands.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What is agreed on, from this side, while that holds.
    pub fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref()
    }

    /// The name of the connection, which each message carries.
    pub fn connection(&self) -> Option<&Arc<str>> {
        self.connection.as_ref()
    }

    /// Whether messages may be sent on it.
    pub fn may_talk(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Suspect)
    }

    /// Since when the peer has been lost, or the session ended or forgotten.
    pub fn away_since(&self) -> Option<WallTime> {
        self.away_since
    }

    /// There was a session that is not kept any more: the peer counts as away.
    pub fn lose(&mut self, now: WallTime) {
        self.known = true;
        self.away_since = Some(now);
    }

    /// Both sides have agreed: whatever was before is over. Answers whether the peer
    /// had been there before: what was with it has to be asked for.
    pub fn open(&mut self, now: WallTime, connection: Arc<str>, terms: Terms) -> bool {
        self.phase = Phase::Open;
        self.terms = Some(terms);
        self.connection = Some(connection);
        (self.asked, self.answered, self.beaten) = (now, now, now);
        self.misses = 0;
        self.away_since = None;
        std::mem::replace(&mut self.known, true)
    }

    /// The peer has asked something on this connection, and so is alive. A lost
    /// one is found only by a heartbeat of our own or a new session: that it
    /// reaches us does not mean that we reach it.
    pub fn hear(&mut self, now: WallTime) {
        self.asked = self.asked.max(now);
        if self.phase == Phase::Suspect && self.misses <= 1 {
            self.phase = Phase::Open;
            self.misses = 0;
        }
    }

    /// The peer has answered something other than a heartbeat: that it lives
    /// and that we reach it is as plain as by a heartbeat. A lost one is found
    /// by heartbeats and new sessions alone, so that nothing which was asked
    /// long ago brings it back.
    pub fn answered(&mut self, now: WallTime) {
        if self.may_talk() {
            self.answered = self.answered.max(now);
            self.misses = 0;
            self.phase = Phase::Open;
        }
    }

    /// When the peer last answered.
    pub fn last_answer(&self) -> WallTime {
        self.answered
    }

    /// When the next heartbeat is due; `None` without a session. A lost peer
    /// is still tried: that is how it is found again.
    ///
    /// Whatever goes over the connection is a sign of life to both sides, so
    /// that a heartbeat is due only after an interval without anything, and
    /// from one side: they take turns, and whoever spoke last gives the other a
    /// quarter of an interval more. After two intervals and a quarter without
    /// an answer the peer is asked in any case: that it reaches us does not
    /// mean that we reach it.
    pub fn poll_timeout(&self) -> Option<WallTime> {
        let heartbeat = self.terms.as_ref()?.heartbeat;
        match self.phase {
            Phase::Open => {
                let quarter = SimDuration::from_nanos(heartbeat.as_nanos() / 4);
                let quiet = self.asked.max(self.answered) + heartbeat;
                let quiet = match self.is_our_turn(quarter) {
                    true => quiet,
                    false => quiet + quarter,
                };
                let unproved = self.answered + heartbeat + heartbeat + quarter;
                Some(quiet.min(unproved).max(self.beaten + heartbeat))
            }
            Phase::Suspect | Phase::Lost => Some(self.beaten + heartbeat),
            Phase::Closed | Phase::Ended => None,
        }
    }

    /// Whether the other side spoke last. Where both did, within `near`, the
    /// first one has the turn: what crosses on the wire is seen in another
    /// order at each end.
    fn is_our_turn(&self, near: SimDuration) -> bool {
        if self.asked > self.answered + near {
            return true;
        }
        self.first && self.answered <= self.asked + near
    }

    /// A heartbeat goes out: the next is due an interval after it, however long
    /// the answer takes.
    pub fn beat_sent(&mut self, now: WallTime) {
        self.beaten = self.beaten.max(now);
    }

    /// What has become of a heartbeat, as is known at `now`.
    pub fn beat(&mut self, now: WallTime, beat: Beat) -> Option<Change> {
        match (beat, self.phase) {
            (_, Phase::Closed | Phase::Ended) => None,
            (Beat::Answered, before) => {
                self.answered = self.answered.max(now);
                self.misses = 0;
                self.phase = Phase::Open;
                self.away_since = None;
                (before == Phase::Lost).then_some(Change::Found)
            }
            (Beat::Forgotten, before) => {
                self.forget();
                self.away_since.get_or_insert(now);
                (before != Phase::Lost).then_some(Change::Lost)
            }
            (Beat::Silence, Phase::Lost) => None,
            (Beat::Silence, _) => {
                self.misses += 1;
                self.phase = Phase::Suspect;
                (self.misses >= MISSES).then(|| {
                    self.phase = Phase::Lost;
                    self.away_since = Some(now);
                    Change::Lost
                })
            }
        }
    }

    /// One of the sides has ended it in good order; whether there was one.
    pub fn end(&mut self, now: WallTime) -> bool {
        let was = self.phase;
        self.forget();
        self.phase = Phase::Ended;
        self.away_since.get_or_insert(now);
        matches!(was, Phase::Open | Phase::Suspect | Phase::Lost)
    }

    /// The connection is worth nothing any more; another has to be opened.
    fn forget(&mut self) {
        self.phase = Phase::Closed;
        self.connection = None;
        self.terms = None;
        self.misses = 0;
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

    fn at(secs: u64) -> WallTime {
        WallTime::ZERO + SimDuration::from_secs(secs)
    }

    fn beat(session: &mut Session, at: WallTime, beat: Beat) -> Option<Change> {
        session.beat_sent(at);
        session.beat(at, beat)
    }

    fn quarter() -> SimDuration {
        SimDuration::from_millis(1250)
    }

    fn open() -> Session {
        let mut session = Session::new(true);
        assert!(!session.open(at(0), "c1".into(), terms()));
        session
    }

    #[test]
    fn a_silent_peer_is_suspect_then_lost_then_found() {
        let mut session = open();
        assert_eq!(session.poll_timeout(), Some(at(5)));
        assert_eq!(beat(&mut session, at(5), Beat::Silence), None);
        assert_eq!(session.phase(), Phase::Suspect);
        assert!(session.may_talk());
        assert_eq!(beat(&mut session, at(10), Beat::Silence), None);
        assert_eq!(
            beat(&mut session, at(15), Beat::Silence),
            Some(Change::Lost)
        );
        assert!(!session.may_talk());
        assert_eq!(session.away_since(), Some(at(15)));
        // It is tried again and again, and lost once.
        assert_eq!(session.poll_timeout(), Some(at(20)));
        assert_eq!(beat(&mut session, at(20), Beat::Silence), None);
        assert_eq!(
            beat(&mut session, at(25), Beat::Answered),
            Some(Change::Found)
        );
        assert_eq!((session.phase(), session.away_since()), (Phase::Open, None));
    }

    #[test]
    fn a_peer_that_recovers_in_time_was_never_lost() {
        let mut session = open();
        beat(&mut session, at(5), Beat::Silence);
        assert_eq!(beat(&mut session, at(10), Beat::Answered), None);
        assert_eq!(session.phase(), Phase::Open);
        beat(&mut session, at(15), Beat::Silence);
        // A word of its own is a sign of life too.
        session.hear(at(16));
        assert_eq!(session.phase(), Phase::Open);
    }

    #[test]
    fn a_peer_that_was_started_anew_is_lost_at_once_and_found_by_a_new_session() {
        let mut session = open();
        assert_eq!(
            beat(&mut session, at(5), Beat::Forgotten),
            Some(Change::Lost)
        );
        assert_eq!(
            (session.phase(), session.connection()),
            (Phase::Closed, None)
        );
        assert_eq!(session.poll_timeout(), None);
        assert!(session.open(at(6), "c2".into(), terms()));
        assert_eq!(session.connection().map(|c| &**c), Some("c2"));
    }

    #[test]
    fn a_session_that_has_ended_has_no_heartbeat() {
        let mut session = open();
        assert!(session.end(at(20)));
        assert!(!session.end(at(20)));
        assert_eq!(session.poll_timeout(), None);
        assert_eq!(beat(&mut session, at(5), Beat::Answered), None);
        assert_eq!(session.phase(), Phase::Ended);
    }

    #[test]
    fn a_heartbeat_is_due_after_an_interval_without_any_sign_of_life() {
        let mut session = open();
        // An answer to anything will do, and so will a question of the peer's.
        session.answered(at(3));
        assert_eq!(session.poll_timeout(), Some(at(8) + quarter()));
        session.hear(at(12));
        assert_eq!(session.poll_timeout(), Some(at(13) + quarter()));
    }

    #[test]
    fn two_sides_take_turns_so_that_one_heartbeat_an_interval_is_enough() {
        let mut sides = [true, false].map(|first| {
            let mut session = Session::new(first);
            session.open(at(0), "c1".into(), terms());
            session
        });
        let mut beats = Vec::new();
        for _ in 0..6 {
            let dues = sides.each_ref().map(|side| side.poll_timeout().unwrap());
            let turn = usize::from(dues[1] < dues[0]);
            let now = dues[turn];
            beat(&mut sides[turn], now, Beat::Answered);
            sides[1 - turn].hear(now);
            beats.push((turn, now));
        }
        let turns = [0, 1, 0, 1, 0, 1].into_iter().zip((5..).step_by(5).map(at));
        assert_eq!(beats, turns.collect::<Vec<_>>());
        // Where both speak at once the first has the turn, at either end.
        for (side, gap) in sides.iter_mut().zip([1, 0]) {
            side.hear(at(40) + SimDuration::from_millis(gap));
            side.answered(at(40) + SimDuration::from_millis(1 - gap));
        }
        let dues = sides.map(|side| side.poll_timeout().unwrap());
        assert!(dues[0] + SimDuration::from_secs(1) < dues[1], "{dues:?}");
    }

    #[test]
    fn a_peer_that_is_only_heard_is_asked_in_the_end() {
        let mut session = open();
        for second in 1..12 {
            session.hear(at(second));
        }
        // Two intervals and a quarter after the last answer.
        assert_eq!(session.poll_timeout(), Some(at(10) + quarter()));
        beat(&mut session, at(12), Beat::Answered);
        // One that has not answered is not spared for what it says itself.
        beat(&mut session, at(17), Beat::Silence);
        beat(&mut session, at(22), Beat::Silence);
        session.hear(at(23));
        assert_eq!(session.poll_timeout(), Some(at(27)));
        // Nor is it lost for a heartbeat if it answers something else.
        session.answered(at(24));
        assert_eq!(session.phase(), Phase::Open);
    }

    #[test]
    fn hearing_from_a_lost_peer_does_not_find_it() {
        let mut session = open();
        for round in 1..4 {
            beat(&mut session, at(5 * round), Beat::Silence);
        }
        session.hear(at(16));
        session.answered(at(17));
        assert_eq!(session.phase(), Phase::Lost);
    }
}
