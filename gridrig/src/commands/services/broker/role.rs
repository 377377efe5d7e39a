//! `gridrig broker role`

use crate::cli::RoleArgs;
use crate::commands::answer;
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_core::session::Roles;
use gridrig_protocol::client::Client;
use gridrig_protocol::rest::SessionInfo;
use std::time::{Duration, Instant};

/// How long the peers may take to agree.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Changes a role and waits until the peers have agreed.
pub(super) fn set_role(args: &RoleArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
    let session = runtime.block_on(change(args))?;
    answer(args.json, &session, |session| {
        let role = session.role.as_deref().unwrap_or("none");
        let (peer, state) = (&args.peer, &session.state);
        format!("the broker is {role} to {peer} (session {state})\n")
    })
}

#[allow(
    clippy::disallowed_methods,
    reason = "waiting for a running broker takes real time"
)]
async fn change(args: &RoleArgs) -> Result<SessionInfo, Failure> {
    let client = Client::new(Duration::from_secs(5)).map_err(Failure::run)?;
    let base = args.url.trim_end_matches('/');
    client
        .set_role(base, &args.peer, args.role.name())
        .await
        .map_err(Failure::input)?;
    let end = Instant::now() + PATIENCE;
    loop {
        let peers = client.peers(base).await.map_err(Failure::run)?;
        let peer = peers.peers.into_iter().find(|peer| peer.name == args.peer);
        let session = peer.and_then(|peer| peer.session);
        match session {
            Some(session) if session.role.is_some() && !session.negotiating => {
                return settled(session, args.role);
            }
            Some(session) if Instant::now() >= end => {
                return Err(Failure::run(anyhow!(
                    "the peers have not agreed yet: the session is {}",
                    session.state
                )));
            }
            None => {
                return Err(Failure::run(anyhow!(
                    "there is no session with {}",
                    args.peer
                )));
            }
            Some(_) => tokio::time::sleep(LOOK).await,
        }
    }
}

/// The peer may agree to less than was asked for, never to more.
fn settled(session: SessionInfo, wanted: Roles) -> Result<SessionInfo, Failure> {
    let agreed = session.role.as_deref().and_then(Roles::from_name);
    match agreed {
        Some(roles) if roles.and(wanted) == roles => Ok(session),
        _ => Err(Failure::run(anyhow!(
            "the peer did not agree: the broker is still {} to it",
            session.role.as_deref().unwrap_or("none")
        ))),
    }
}
