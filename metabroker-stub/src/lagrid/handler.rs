//! The handler of a broker: what peers may ask of it, and what it answers.

mod describe;
mod follow;
mod jobs;
mod sessions;

pub(super) use jobs::take_update;

use super::links::{Link, Links};
use crate::App;
use follow::Asking;
use gridrig_core::session::Roles;
use gridrig_protocol::client::Client;
use gridrig_protocol::lagrid::{Caller, Handler, codes};
use gridrig_protocol::rest::{Problem, Result};
use std::sync::Arc;

/// Where the messages of peers arrive.
pub struct BrokerHandler {
    pub(crate) app: App,
    asking: Asking,
    /// Asks those who speak our own interface; nobody is asked without.
    client: Option<Client>,
}

impl BrokerHandler {
    /// The handler of this broker.
    pub fn new(app: App) -> Self {
        BrokerHandler {
            app,
            asking: Asking::default(),
            client: Client::new(follow::PATIENCE).ok(),
        }
    }

    fn links(&self) -> &Links {
        &self.app.config.links
    }

    /// The session that a message belongs to, if whoever sends it may, in a
    /// role that was agreed on.
    fn admit_as(
        &self,
        caller: &Caller,
        connection: &str,
        role: fn(Roles) -> bool,
        otherwise: &str,
    ) -> Result<Arc<Link>> {
        let link = self.admit(caller, connection)?;
        let roles = link.state().terms().map(|terms| terms.roles);
        if roles.is_some_and(role) {
            return Ok(link);
        }
        Err(Problem::of_code(codes::WRONG_ROLE, otherwise))
    }

    /// The session that a message belongs to, if whoever sends it may.
    pub(crate) fn admit(&self, caller: &Caller, connection: &str) -> Result<Arc<Link>> {
        self.links().admit(caller, connection).map(Arc::clone)
    }
}

impl Handler for BrokerHandler {}
