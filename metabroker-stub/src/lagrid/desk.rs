//! The desk of a broker: what peers may ask of it, and what it answers.

mod describe;
mod follow;
mod jobs;
mod sessions;

pub(super) use jobs::take_update;

use super::links::{Link, Links};
use crate::config::Config;
use follow::Asking;
use gridrig_protocol::client::Client;
use gridrig_protocol::lagrid::{
    Caller, CancelJob, Desk, Heartbeat, HeartbeatAnswer, JobReport, NotifyConn, NotifyJob,
    OpenConn, OpenConnAnswer, PeerFault, QueryJob, RequestResourceData, ResourceUpdate,
    SendResourceData, SendResourceDataAnswer, SubmitJob, SubmitJobAnswer, Taken,
};
use gridrig_service::App;
use std::sync::Arc;

/// Where the messages of peers arrive.
pub struct BrokerDesk {
    app: App<Config>,
    asking: Asking,
    /// Asks those who speak our own interface; nobody is asked without.
    client: Option<Client>,
}

impl BrokerDesk {
    /// The desk of this broker.
    #[must_use]
    pub fn new(app: App<Config>) -> Self {
        BrokerDesk {
            app,
            asking: Asking::default(),
            client: Client::new(follow::PATIENCE).ok(),
        }
    }

    fn links(&self) -> &Links {
        &self.app.config.links
    }

    /// The session that a message belongs to, if whoever sends it may.
    fn admit(&self, caller: &Caller, connection: &str) -> Result<Arc<Link>, PeerFault> {
        self.links().admit(caller, connection).map(Arc::clone)
    }
}

impl Desk for BrokerDesk {
    async fn open_conn(
        &self,
        caller: &Caller,
        request: OpenConn,
    ) -> Result<OpenConnAnswer, PeerFault> {
        self.negotiate(caller, request).await
    }

    async fn notify_conn(&self, caller: &Caller, request: NotifyConn) -> Result<Taken, PeerFault> {
        self.hear_of_connection(caller, request).await
    }

    async fn heartbeat(
        &self,
        caller: &Caller,
        request: Heartbeat,
    ) -> Result<HeartbeatAnswer, PeerFault> {
        self.admit(caller, &request.connection)?;
        Ok(HeartbeatAnswer {
            sequence: request.sequence,
            incarnation: self.links().life(),
        })
    }

    async fn request_resource_data(
        &self,
        caller: &Caller,
        request: RequestResourceData,
    ) -> Result<ResourceUpdate, PeerFault> {
        self.tell_resources(caller, request).await
    }

    async fn send_resource_data(
        &self,
        caller: &Caller,
        request: SendResourceData,
    ) -> Result<SendResourceDataAnswer, PeerFault> {
        self.hear_resources(caller, request).await
    }

    async fn submit_job(
        &self,
        caller: &Caller,
        request: SubmitJob,
    ) -> Result<SubmitJobAnswer, PeerFault> {
        self.take_job(caller, request).await
    }

    async fn query_job(&self, caller: &Caller, request: QueryJob) -> Result<JobReport, PeerFault> {
        self.tell_job(caller, request).await
    }

    async fn notify_job(&self, caller: &Caller, request: NotifyJob) -> Result<Taken, PeerFault> {
        self.hear_news(caller, request).await
    }

    async fn cancel_job(
        &self,
        caller: &Caller,
        request: CancelJob,
    ) -> Result<JobReport, PeerFault> {
        self.remove_job(caller, request).await
    }
}
