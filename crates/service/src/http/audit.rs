//! The audit log: a line for each request that may have changed something, and for each
//! that was refused before anybody looked at it, of which anybody may send very many.

use super::Peer;
use axum::extract::{ConnectInfo, Request};
use axum::http::Method;
use gridrig_protocol::xml::excerpt;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// `GRIDRIG_LOG` has to ask for it, since there may be thousands of lines a second.
const AUDIT: &str = "gridrig::audit";
/// Lines about refused requests in a minute; the others are counted.
const REFUSALS: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Who asks for what.
pub(super) struct Asked {
    peer: Peer,
    method: Method,
    path: String,
}

impl Asked {
    /// `None` where nobody wants the log.
    pub fn of(request: &Request) -> Option<Self> {
        if !tracing::enabled!(target: AUDIT, tracing::Level::INFO) {
            return None;
        }
        let ConnectInfo(peer) = request.extensions().get::<ConnectInfo<Peer>>()?.clone();
        Some(Asked {
            peer,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        })
    }

    /// The answer has this status.
    pub fn answered(&self, status: u16, refusals: &Refusals) {
        let Asked { peer, method, path } = self;
        let (address, identity) = (peer.address, peer.identity.as_deref().unwrap_or("-"));
        match status {
            // By a token, by whose job it is, or by the type of the body.
            401 | 403 | 415 => self.refused(status, None, refusals),
            _ if method.is_safe() => {}
            _ => tracing::info!(target: AUDIT, %address, identity, %method, path, status, "done"),
        }
    }

    /// The answer is that it is refused, for this reason.
    pub fn refused(&self, status: u16, why: Option<&str>, refusals: &Refusals) {
        let Some(untold) = refusals.note(Instant::now()) else {
            return;
        };
        let Asked { peer, method, path } = self;
        let (address, identity) = (peer.address, peer.identity.as_deref().unwrap_or("-"));
        let (path, untold) = (excerpt(path), (untold > 0).then_some(untold));
        tracing::info!(
            target: AUDIT, %address, identity, %method, path, status, why, untold, "refused"
        );
    }
}

/// How many refused requests the log has had in this minute.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    since: Option<Instant>,
    lines: u32,
    untold: u64,
}

impl Refusals {
    /// Takes note of one more. Where it is told of, answers how many before it were not.
    fn note(&self, now: Instant) -> Option<u64> {
        let mut told = self.0.lock();
        if told.since.is_none_or(|since| since + MINUTE <= now) {
            (told.since, told.lines) = (Some(now), 0);
        }
        if told.lines == REFUSALS {
            told.untold += 1;
            return None;
        }
        told.lines += 1;
        Some(std::mem::take(&mut told.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_of_so_many_in_a_minute_and_the_others_are_counted() {
        let (refusals, begin) = (Refusals::default(), Instant::now());
        for number in 0..REFUSALS + 5 {
            let told = refusals.note(begin + Duration::from_millis(number.into()));
            assert_eq!(told, (number < REFUSALS).then_some(0));
        }
        assert_eq!(refusals.note(begin + MINUTE), Some(5));
        assert_eq!(refusals.note(begin + MINUTE), Some(0));
    }
}
