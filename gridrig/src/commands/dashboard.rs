//! `gridrig dashboard`

use super::print;
use crate::cli::{DashboardAddress, DashboardArgs};
use crate::dashboard::{self, Access, Dashboard};
use crate::exit::Failure;
use crate::interrupt;
use anyhow::anyhow;
use gridrig_protocol::rest::serve::{ServiceThread, listening_line};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Serves the dashboard of a folder of runs until Ctrl-C.
pub(super) fn dashboard(args: &DashboardArgs) -> Result<(), Failure> {
    let (server, address) = open(&args.runs, &args.address, "--listen")?;
    print(&format!("{}\n", listening_line(address)))?;
    wait_and_stop(&server)
}

/// Waits for Ctrl-C, then ends the server.
pub(super) fn wait_and_stop(server: &ServiceThread) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::run)?;
    runtime.block_on(async {
        interrupt::wait().await;
        server.stop().await.map_err(Failure::run)
    })
}

/// Starts a server; `flag` is what the user gave its address with.
pub(super) fn open(
    runs: &Path,
    wanted: &DashboardAddress,
    flag: &str,
) -> Result<(ServiceThread, SocketAddr), Failure> {
    let bound = dashboard::bind(wanted.listen).map_err(|source| {
        Failure::input(anyhow!(
            "{flag} {}: {source} (expected an address of this machine that is free, or port 0)",
            wanted.listen
        ))
    })?;
    let address = bound.address;
    let token = std::env::var("GRIDRIG_TOKEN").ok();
    let (access, made) =
        Access::new(address, &wanted.allow_host, token.as_deref()).map_err(Failure::input)?;
    let dashboard = Dashboard {
        runs: runs.to_owned(),
        access,
    };
    let server = dashboard::start(bound, Arc::new(dashboard)).map_err(Failure::run)?;
    if let Some(token) = made {
        eprintln!("the dashboard wants a token: http://{address}/login?token={token}");
    }
    Ok((server, address))
}
