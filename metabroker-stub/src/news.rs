//! News of jobs, whichever way they come.

use crate::App;
use gridrig_core::agent::{BrokerAgent, Received};
use gridrig_core::message::News;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::rest::Problem;

/// Tells the broker news of a job, and counts them; `false` if their envelope was
/// here before.
pub(crate) async fn take_news(app: &App, news: Received<News>) -> Result<bool, Problem> {
    let (said, meant) = (news.said, news.meant);
    let hear = move |broker: &mut Driven<BrokerAgent>, now| broker.handle(now, news);
    // An end changes no decision, so it need not wait for a cycle; a job that
    // comes back is decided in the next one.
    let new = match said {
        News::Ended(_) => app.call(hear).await?,
        News::Refused { .. } => app.message(meant, hear).await?,
    };
    app.metrics.count_received(said.kind(), new);
    Ok(new)
}
