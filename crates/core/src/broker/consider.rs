//! What is told of a decision to who wants to know how it came about.

use super::matchmaking::Fit;
use super::{Access, Broker, Held};
use crate::decision::{Considered, Decision, Outcome, Standing};
use crate::ids::JobId;
use crate::job::{Entry, JobRequest};
use crate::message::Target;
use crate::policy::Choice;
use crate::time::SimTime;

impl Broker {
    /// How every candidate stands now that the policy has made its choice about a job;
    /// what becomes of the job is still to be said.
    #[cold]
    pub(super) fn consider(&self, now: SimTime, job: JobId, choice: &Choice) -> Decision {
        let held = &self.jobs[&job];
        let (best, tie) = match choice {
            Choice::Among(best, tie) => (&best[..], Some(tie.name())),
            Choice::InTurn(best) => (&best[..], Some("in-turn")),
            Choice::Hold | Choice::Reject(_) => (&[][..], None),
        };
        let request = JobRequest::from(&held.spec);
        let view = &self.survey.view;
        let mut score_of = None;
        let candidates = self.known.iter().enumerate().map(|(index, known)| {
            let stands = self.stands_for(index);
            let possible = view.possible.contains(&stands);
            let out = self.survey.together && !known.is_open(now);
            let standing = match (best.contains(&stands), possible) {
                _ if out => self.hindrance(now, held, index),
                (true, _) => Standing::Best,
                (false, true) => Standing::Possible,
                (false, false) => self.hindrance(now, held, index),
            };
            let score = possible.then(|| self.policy.score(&request, view, index));
            let score = score.flatten();
            score_of = score_of.or(score.map(|score| score.of));
            let believed = known.candidate(self.survey.counts_own);
            let [queued, ..] = believed.queued;
            Considered {
                target: match known.target {
                    Target::Cluster(own) => Entry::Cluster(own),
                    Target::Peer(peer) => Entry::Domain(peer),
                },
                standing,
                information_from: known.information_from(),
                free: believed.free,
                queued: queued.as_f64(),
                score: score.map(|score| score.value),
            }
        });
        let candidates = candidates.collect();
        Decision {
            job,
            by: self.config.domain,
            hop: held.route.hop,
            outcome: Outcome::WaitsForRoom,
            tie: tie.filter(|_| best.len() > 1),
            score_of,
            candidates,
        }
    }

    /// Who stands for a candidate: the first one for all where these run jobs together.
    fn stands_for(&self, index: usize) -> usize {
        match self.survey.together {
            true => 0,
            false => index,
        }
    }

    /// Where candidates run jobs together, those that have been asked for a part are chosen.
    pub(super) fn tell_parts(&self, decision: &mut Decision) {
        if !self.survey.together {
            return;
        }
        let own = self.matchmaking.as_ref();
        let parts = own.map_or_else(Vec::new, |own| own.parts_of(decision.job));
        for candidate in &mut decision.candidates {
            let asked = matches!(candidate.target, Entry::Cluster(it) if parts.contains(&it));
            candidate.standing = match candidate.standing {
                _ if asked => Standing::Chosen,
                Standing::Chosen | Standing::Best => Standing::Possible,
                other => other,
            };
        }
    }

    /// Why a candidate could not have the job, asked in the order of [`Broker::ask`].
    fn hindrance(&self, now: SimTime, held: &Held, index: usize) -> Standing {
        let known = &self.known[index];
        let request = JobRequest::from(&held.spec);
        let hops_left = self.hops_left(held.route);
        if hops_left == 0 && matches!(known.target, Target::Peer(_)) {
            return Standing::NoForwardLeft;
        }
        if !self.survey.suits(index, known, &request, hops_left) {
            return Standing::CannotRun;
        }
        if known.access == Access::Gone {
            return Standing::Gone;
        }
        if held.refused_by.contains(&known.target) {
            return Standing::HasRefused;
        }
        if !known.is_open(now) {
            return Standing::Closed;
        }
        match self.fit(self.stands_for(index), held) {
            Fit::Later | Fit::Away => Standing::NoRoom,
            Fit::Never if self.survey.together => Standing::CannotRun,
            Fit::Now | Fit::Never => Standing::NotFromHere,
        }
    }
}
