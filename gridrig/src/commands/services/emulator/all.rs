//! `gridrig emulator --all`: every cluster of a scenario in one process.

use super::{Cluster, Threads, clock, of_cluster, scenario, serve};
use crate::cli::EmulatorArgs;
use crate::exit::Failure;
use crate::interrupt;
use anyhow::Context as _;
use gridrig_emulator::Config;
use gridrig_service::http::base_url;
use serde_json::json;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};

/// What the flags add to the setup of a cluster that shows this.
type Finish<'a> = dyn Fn(Config, Cluster) -> Result<Config, Failure> + 'a;

/// Serves every cluster on a port of its own. The first line on stdout names
/// the first of them, as for one cluster, and lists all.
pub(super) fn serve_all(args: &EmulatorArgs, finish: &Finish<'_>) -> Result<(), Failure> {
    let (_, scenario) = scenario(args)?;
    let clock = clock(&args.service);
    let mut services = Vec::new();
    let mut listed = Vec::new();
    let clusters = scenario.grid.clusters.iter().zip(scenario.clusters());
    for (index, (cluster, written)) in clusters.enumerate() {
        let config = of_cluster(args, &scenario, (cluster, written), clock)?;
        let config = finish(config, written.clone())?;
        let listener = bind(args.service.listen, index)?;
        let address = listener.local_addr().map_err(Failure::run)?;
        let url = base_url(address, config.tls.is_some());
        let faces = config.faces.kinds();
        let faces: Vec<&str> = faces.iter().map(|face| face.name()).collect();
        listed.push(json!({ "name": cluster.name, "url": url, "faces": faces }));
        services.push((config, listener));
    }
    serve(args.service.listen, Threads::All, async move {
        let line = json!({ "listening": listed[0]["url"], "clusters": listed });
        let mut stdout = io::stdout();
        writeln!(stdout, "{line}")?;
        stdout.flush()?;
        let mut running = tokio::task::JoinSet::new();
        for (config, listener) in services {
            running.spawn(gridrig_emulator::run(config, listener, interrupt::wait()));
        }
        while let Some(ended) = running.join_next().await {
            // One that cannot go on takes the others along: dropping the set
            // ends them.
            ended.map_err(io::Error::other)??;
        }
        Ok(())
    })
}

/// The port of `listen` and those after it, or free ones.
fn bind(listen: SocketAddr, index: usize) -> anyhow::Result<TcpListener> {
    let port = match listen.port() {
        0 => Some(0),
        first => u16::try_from(index)
            .ok()
            .and_then(|index| first.checked_add(index)),
    };
    let bound = match port {
        Some(port) => TcpListener::bind(SocketAddr::new(listen.ip(), port)),
        None => Err(io::Error::other("there are no more ports")),
    };
    bound.with_context(|| {
        format!(
            "--listen {listen}: cluster {index} (expected as many free ports from there on as \
             there are clusters, or port 0)"
        )
    })
}
