//! News of jobs, whichever way they come.

use crate::App;
use crate::lagrid::BrokerHandler;
use gridrig_core::agent::{BrokerAgent, Received};
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{JobEnd, News, Target};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::lagrid::{Answers, Caller, JobNews, JobReport, NotifyJob, Reference, Taken};
use gridrig_protocol::rest::Result;

/// Tells the broker news of a job, and counts them; `false` if their envelope was
/// here before.
pub(crate) async fn take_news(app: &App, news: Received<News>) -> Result<bool> {
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

/// `notifyJob`: news of a job that was forwarded to the peer.
impl Answers<NotifyJob> for BrokerHandler {
    async fn answer(&self, caller: &Caller, request: NotifyJob) -> Result<Taken> {
        let link = self.admit(caller, &request.connection)?;
        let own = Reference {
            parameters: request.reference,
            ..Reference::default()
        };
        let job = match own.job() {
            Some(job) => JobId(job),
            None => link.state().job_names.ours(request.report.job),
        };
        // A refusal without a reason of ours still brings the job back.
        let reason = request.report.reason.as_deref();
        let reason = reason.and_then(Reason::from_name);
        let reason = reason.unwrap_or(Reason::AllRefused);
        let said = match request.news {
            JobNews::State if !request.report.state.is_end() => return Ok(Taken::default()),
            JobNews::State => News::Ended(JobEnd::try_from(&JobReport {
                job: job.0,
                ..request.report
            })?),
            JobNews::Refused => News::Refused {
                job,
                reason,
                visit: None,
            },
        };
        let news = Received {
            from: Target::Peer(link.domain),
            id: request.letter.map(Into::into),
            meant: request.meant_ns.map(SimTime::from_nanos),
            said,
        };
        let new = take_news(&self.app, news).await?;
        link.state().job_names.forget(job);
        Ok(Taken { repeated: !new })
    }
}
