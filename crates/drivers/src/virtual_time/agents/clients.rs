//! The client, and how services answer its questions for ends.

use super::Agents;
use super::network::Parcel;
use crate::virtual_time::watch::{Met, Says as _, Step};
use gridrig_core::agent::{
    Agent as _, ClientAgent, ClientSetup, Envelope, Fate, FromClient, Handle, JobHolder as _,
    Patience, Published, ToEntry, Undelivered,
};
use gridrig_core::event::Party;
use gridrig_core::job::{Entry, Submission};
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;

/// Questions that wait for an end, by service.
pub(super) type QuestionsForEnds = BTreeMap<Entry, Envelope<FromClient>>;

/// A client of services of ours.
pub(super) fn client_of(submissions: &[Submission], patience: Patience) -> ClientAgent {
    let setup = ClientSetup {
        run: "run".to_owned(),
        services: submissions.iter().map(|one| one.entry).collect(),
        patience,
        answering: Default::default(),
        has_logs: false,
        lost_after: SimDuration::ZERO,
    };
    ClientAgent::new(setup, submissions.into())
}

impl Agents<'_> {
    /// The client handles an input; its timers are set again.
    pub(super) fn tell_client<I>(&mut self, input: I)
    where
        ClientAgent: Handle<I>,
    {
        self.client.handle(&mut self.network, input);
        self.set_client_timer();
    }

    pub(super) fn set_client_timer(&mut self) {
        let wall = self.network.alarm(self.client.next_wall_due());
        let client = self.brokers.len() + self.lrms.len();
        self.wall.set(client, wall);
    }

    /// A question for ends reaches a service, which answers when there is one, or
    /// when it has waited long enough.
    pub(super) fn ask_for_ends(&mut self, by: Entry, sent: Envelope<FromClient>) {
        let ToEntry::Ends { after, wait } = sent.message.said else {
            return;
        };
        let step = sent.message.step();
        if let Err(error) = self.attempt((Party::Client, by.into()), step, |_| Ok(())) {
            return self.unanswered(sent, error);
        }
        let at = match self.ends_at(by, after) {
            Some(page) if page.ends.is_empty() => self.network.after(wait),
            _ => self.network.now,
        };
        let answer = Parcel::Ends(by, sent.id.number);
        self.network.agenda.push(at, answer);
        self.questions.insert(by, sent);
    }

    /// A service has published an end: who waits for it is answered.
    pub(super) fn answer_soon(&mut self, by: Entry) {
        if let Some(sent) = self.questions.get(&by) {
            let answer = Parcel::Ends(by, sent.id.number);
            self.network.agenda.push(self.network.now, answer);
        }
    }

    /// A service answers the question of this number, unless it has already.
    pub(super) fn answer(&mut self, by: Entry, number: u64) {
        let asked = self.questions.get(&by);
        if asked.is_none_or(|sent| sent.id.number != number) {
            return;
        }
        let Some(sent) = self.questions.remove(&by) else {
            return;
        };
        let ToEntry::Ends { after, .. } = sent.message.said else {
            return;
        };
        match self.attempt((Party::Client, by.into()), (Step::Ends, None), |_| Ok(())) {
            Ok(()) => {
                if let Some(page) = self.ends_at(by, after) {
                    self.tell_client(page);
                }
            }
            Err(error) => self.unanswered(sent, error),
        }
    }

    /// A service is gone, and with it who waits for its answer.
    pub(super) fn hang_up(&mut self, by: Entry) {
        if let Some(sent) = self.questions.remove(&by) {
            let (way, step) = ((by.into(), Party::Client), (Step::Ends, None));
            self.network.note(way, step, Met::SenderStopped);
            self.unanswered(sent, Undelivered::NotReached);
        }
    }

    fn unanswered(&mut self, envelope: Envelope<FromClient>, error: Undelivered) {
        let result = Err(error);
        self.tell_client(Fate { envelope, result });
    }

    fn ends_at(&self, by: Entry, after: u64) -> Option<Published> {
        let (life, (first, ends)) = match by {
            Entry::Domain(domain) => {
                let broker = self.brokers[domain.index()].as_ref()?;
                let life = self.memories[domain.index()];
                (life, broker.ends(after, usize::MAX))
            }
            Entry::Cluster(cluster) => (0, self.lrms[cluster.index()].ends(after, usize::MAX)),
        };
        let next = first + ends.len() as u64;
        Some(Published {
            by,
            life,
            next,
            ends,
        })
    }
}
