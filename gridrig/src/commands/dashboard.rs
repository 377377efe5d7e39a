//! `gridrig dashboard`, and the server behind `gridrig run --dashboard`.

use super::{may_listen, print};
use crate::cli::{DashboardArgs, RunArgs};
use crate::dashboard::control::Control;
use crate::dashboard::live::{Hub, Watch};
use crate::dashboard::{self, Access, Dashboard, Pages};
use crate::exit::Failure;
use crate::interrupt;
use anyhow::Context as _;
use gridrig_service::http::{ServiceThread, listening_line};
use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Serves the dashboard of a folder of runs until Ctrl-C. What runs then is
/// stopped and written as a partial run.
pub(super) fn dashboard(args: &DashboardArgs) -> Result<(), Failure> {
    may_listen("--listen", args.listen, false, args.insecure)?;
    let rights = (true, args.allow_commands);
    let server = Server::open(
        &args.runs,
        args.listen,
        &args.allow_host,
        "--listen",
        rights,
    )?;
    let worker = Arc::clone(&server.control);
    let worker = std::thread::Builder::new()
        .name("runs".to_owned())
        .spawn(move || worker.work())
        .map_err(Failure::run)?;
    // A program reads where it is; a person has the link, or knows the token.
    match (std::io::stdout().is_terminal(), &server.link) {
        (false, _) => print(&format!("{}\n", listening_line(server.address)))?,
        (true, None) => eprintln!("open http://{} with GRIDRIG_TOKEN", server.address),
        (true, Some(_)) => {}
    }
    server.tell_link();
    server.wait();
    let ran = server.control.close();
    // Its last run is written before the process ends.
    if worker.join().is_err() {
        tracing::error!("the thread that runs scenarios panicked");
    }
    server.stop()?;
    match ran {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// A dashboard that watches one run.
pub(super) struct RunDashboard {
    server: Server,
    /// What the run tells.
    pub watch: Arc<Watch>,
    keep: bool,
}

impl RunDashboard {
    /// Opens what `--dashboard` asks for, and says where it is.
    pub(super) fn open(args: &RunArgs, scenario: &str) -> Result<Option<Self>, Failure> {
        let Some(listen) = args.dashboard else {
            return Ok(None);
        };
        may_listen("--dashboard", listen, false, args.insecure)?;
        let server = Server::open(&args.out, listen, &[], "--dashboard", (false, false))?;
        let watch = Arc::new(Watch::new(Arc::clone(&server.hub), &args.out));
        server.control.adopt(Arc::clone(&watch), scenario);
        // stdout belongs to the results.
        eprintln!("dashboard: http://{}", server.address);
        server.tell_link();
        Ok(Some(RunDashboard {
            server,
            watch,
            keep: args.keep_dashboard,
        }))
    }

    /// The run has come to this end.
    pub(super) fn end(&self, ended: &Result<(), Failure>) {
        let (state, message) = match ended {
            Ok(()) | Err(Failure::Threshold) => ("done", None),
            Err(Failure::Interrupted) => ("stopped", None),
            Err(failure) => ("failed", Some(failure.why())),
        };
        self.watch.end(state, message);
    }

    /// Goes on until Ctrl-C where that is asked for, then ends.
    pub(super) fn close(self) -> Result<(), Failure> {
        if self.keep && !interrupt::requested() {
            eprintln!("dashboard: http://{} until Ctrl-C", self.server.address);
            self.server.wait();
        }
        self.server.stop()
    }
}

struct Server {
    thread: ServiceThread,
    address: SocketAddr,
    /// How to get in, unless the user knows the token.
    link: Option<String>,
    hub: Arc<Hub>,
    control: Arc<Control>,
    runtime: Runtime,
}

impl Server {
    /// `flag` is what the user gave the address with; the page may start runs,
    /// and name commands in them, as the last two say.
    fn open(
        runs: &Path,
        listen: SocketAddr,
        allow_host: &[String],
        flag: &str,
        (starts, allow_commands): (bool, bool),
    ) -> Result<Self, Failure> {
        let hub = Arc::<Hub>::default();
        let control = Control::new(Arc::clone(&hub), runs, starts, allow_commands);
        let control = Arc::new(control);
        let bound = TcpListener::bind(listen).with_context(|| {
            format!("{flag} {listen} (expected a free address of this machine, or port 0)")
        })?;
        let address = bound.local_addr().map_err(Failure::run)?;
        let given = std::env::var("GRIDRIG_TOKEN").ok();
        let (token, file) = dashboard::token(given.as_deref())?;
        let access = Access::new(address, allow_host, &token);
        let link = file.map(|file| {
            let file = file.display();
            format!(
                "the token of the dashboard is in {file}: open \
                 http://{address}/login?token={token}"
            )
        });
        let dashboard = Dashboard {
            runs: runs.to_owned(),
            access,
            hub: Arc::clone(&hub),
            pages: Pages::default(),
            control: Arc::clone(&control),
        };
        let thread = dashboard::start(bound, Arc::new(dashboard)).map_err(Failure::run)?;
        let runtime = Runtime::new().map_err(Failure::run)?;
        Ok(Server {
            thread,
            address,
            link,
            hub,
            control,
            runtime,
        })
    }

    /// Says on stderr how to get in.
    fn tell_link(&self) {
        self.link.iter().for_each(|link| eprintln!("{link}"));
    }

    /// Waits for Ctrl-C, or until the server has broken off.
    fn wait(&self) {
        self.runtime.block_on(async {
            tokio::select! {
                () = interrupt::wait() => {}
                () = self.thread.failed() => {}
            }
        });
    }

    fn stop(&self) -> Result<(), Failure> {
        self.runtime
            .block_on(self.thread.stop())
            .map_err(Failure::run)
    }
}
