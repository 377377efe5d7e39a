//! Following the ends of jobs at a service of ours.

use super::store::News;
use super::{Patience, WAIT};
use gridrig_core::job::Entry;
use gridrig_core::message::JobEnd;
use gridrig_protocol::client::{Client, ClientError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Follows the ends at one entry service.
pub(super) struct Follower {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) entry: Entry,
    pub(super) patience: Patience,
    pub(super) news: mpsc::UnboundedSender<News>,
}

impl Follower {
    pub(super) async fn run(self) {
        let mut after = 0;
        let mut life = None;
        let mut signs = Signs::default();
        loop {
            // After a silence the first answer is wanted at once: it says
            // whether the service was started anew.
            let wait = match signs.is_well() {
                true => WAIT,
                false => Duration::ZERO,
            };
            match self.client.ends(&self.url, after, wait).await {
                Ok(page) => {
                    signs = Signs::default();
                    let before = life.replace(page.life);
                    if before.is_some_and(|before| before != page.life) {
                        after = 0;
                        if self.news.send(News::Restarted(self.entry)).is_err() {
                            return;
                        }
                        continue;
                    }
                    after = page.next;
                    let ends = page
                        .ends
                        .iter()
                        .filter_map(|end| JobEnd::try_from(end).ok());
                    let news = News::Ends(self.entry, ends.collect());
                    if self.news.send(news).is_err() {
                        return;
                    }
                    continue;
                }
                Err(ClientError::NotReached { .. }) => signs.refused += 1,
                Err(ClientError::NoAnswer { .. }) => signs.silent += 1,
                Err(_busy_or_confused) => signs = Signs::default(),
            }
            if signs.are_fatal(self.patience) && self.news.send(News::Lost(self.entry)).is_err() {
                return;
            }
            tokio::time::sleep(self.patience.every).await;
        }
    }
}

/// What is known of a service that may be gone.
#[derive(Default)]
struct Signs {
    refused: u32,
    silent: u32,
    since: Option<tokio::time::Instant>,
}

impl Signs {
    fn is_well(&self) -> bool {
        self.refused == 0 && self.silent == 0
    }

    fn are_fatal(&mut self, patience: Patience) -> bool {
        if self.is_well() {
            return false;
        }
        let since = self.since.get_or_insert_with(tokio::time::Instant::now);
        let tried = self.refused >= patience.refused || self.silent >= patience.silent;
        tried && since.elapsed() >= patience.comes_back
    }
}
