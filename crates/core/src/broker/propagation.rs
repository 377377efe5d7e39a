//! Information that a broker passes on: what it knows of its providers' clusters, for
//! those who forward jobs to it (LA Grid 2.1).

use super::Broker;
use crate::ids::{ClusterId, DomainId};
use crate::load::LoadSample;
use crate::message::Target;
use crate::time::SimTime;
use std::sync::Arc;

/// What was known by each provider from an instant on, in their order; only as far back
/// as somebody may still ask.
#[derive(Default)]
pub(super) struct Propagation(Vec<(SimTime, DomainId, Arc<[LoadSample]>)>);

impl Broker {
    /// Whether it passes anything on to anybody.
    pub fn propagates(&self) -> bool {
        !self.config.passes_on.is_empty()
    }

    /// Information of a peer has come in and counts from now on.
    pub(crate) fn note_info(&mut self, now: SimTime, peer: DomainId) {
        if self.propagates() {
            let known = self.known.iter().find(|it| it.target == Target::Peer(peer));
            let told = known.map(|it| (now, peer, it.shared_samples()));
            self.propagation.0.extend(told);
            // Samples of own clusters are seldom an exchange late.
            let back = self.config.settings.exchange.as_nanos().saturating_mul(2);
            if self.propagation.0.len() > 8 * self.config.peers.len() {
                self.forget_before(SimTime::from_nanos(now.as_nanos().saturating_sub(back)));
            }
        }
    }

    /// What goes to a consumer with samples of own clusters that were taken `at` this
    /// instant: the newest that was known then of each cluster that it is to know of through
    /// this broker, whoever but itself has told it.
    pub fn passed_on(&self, at: SimTime, to: DomainId) -> Vec<LoadSample> {
        let wanted: &[ClusterId] = self.config.passes_on.get(&to).map_or(&[], |it| it);
        let peers = self.config.peers.iter().filter(|peer| peer.domain != to);
        let latest = peers.filter_map(|peer| {
            let mut heard = self.propagation.0.iter().rev();
            heard.find(|(from, of, _)| *of == peer.domain && *from <= at)
        });
        let newest = |cluster: &ClusterId| {
            let all = latest.clone().flat_map(|(.., samples)| samples.iter());
            let about = all.filter(|sample| sample.cluster == *cluster);
            // The first of equals.
            about.reduce(|best, next| if next.at > best.at { next } else { best })
        };
        wanted.iter().filter_map(newest).cloned().collect()
    }

    /// Nobody asks any more what was known before that instant.
    fn forget_before(&mut self, at: SimTime) {
        let heard = std::mem::take(&mut self.propagation.0);
        let is_latest = |index: usize, of: DomainId| {
            let later = heard[index + 1..].iter();
            !later
                .clone()
                .any(|(from, peer, _)| *peer == of && *from <= at)
        };
        let kept = heard.iter().enumerate();
        let kept = kept.filter(|(index, (from, of, _))| *from > at || is_latest(*index, *of));
        self.propagation.0 = kept.map(|(_, it)| it.clone()).collect();
    }
}
