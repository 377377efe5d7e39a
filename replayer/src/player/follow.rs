//! Following the ends of jobs at a service of ours.

use super::book::News;
use super::{Patience, WAIT};
use gridrig_core::job::Entry;
use gridrig_core::message::JobEnd;
use gridrig_protocol::client::{Client, ClientError};
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
        let (mut refused, mut silent) = (0, 0);
        loop {
            match self.client.ends(&self.url, after, WAIT).await {
                Ok(page) => {
                    (refused, silent) = (0, 0);
                    after = page.next;
                    let ends = page
                        .ends
                        .iter()
                        .filter_map(|end| JobEnd::try_from(end).ok());
                    if self.news.send(News::Ends(ends.collect())).is_err() {
                        return;
                    }
                    continue;
                }
                Err(ClientError::NotReached { .. }) => refused += 1,
                Err(ClientError::NoAnswer { .. }) => silent += 1,
                Err(_busy_or_confused) => (refused, silent) = (0, 0),
            }
            let lost = refused >= self.patience.refused || silent >= self.patience.silent;
            if lost && self.news.send(News::Lost(self.entry)).is_err() {
                return;
            }
            tokio::time::sleep(self.patience.every).await;
        }
    }
}
