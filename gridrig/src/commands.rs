//! The commands: each reads its arguments, does one thing and says how it went.

mod audit;
mod check;
mod compare;
mod dashboard;
mod describe;
mod explain;
pub(crate) mod export;
pub(crate) mod gridway;
mod line;
mod metrics;
mod report;
pub(crate) mod reproduce;
mod resources;
mod run;
mod schema;
mod services;
mod sweep;
pub(crate) mod trace;
mod twin;
mod whatif;

use crate::cli::{MonitoringArgs, ScenarioArgs};
use crate::exit::Failure;
use crate::scenario::{Place, Scenario, ScenarioError};
use crate::{init, interrupt, logging, realtime, runner};
use anyhow::{Context as _, anyhow, ensure};
use clap::CommandFactory;
use gridrig_service::http::{Labels, Monitoring};
use line::{Cli, Command};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Parses the command line, does what it says and answers the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(answer) => {
            // Help and version are answers, everything else is a mistake.
            let code = if answer.use_stderr() { 2 } else { 0 };
            let _ = answer.print();
            return ExitCode::from(code);
        }
    };
    match execute(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn execute(cli: Cli) -> Result<(), Failure> {
    logging::init(cli.log_format).map_err(Failure::Input)?;
    interrupt::listen().map_err(Failure::run)?;
    if let Command::Check(_)
    | Command::Compare(_)
    | Command::Report(_)
    | Command::Export(_)
    | Command::Audit(_)
    | Command::Explain(_)
    | Command::Trace(_)
    | Command::Twin(_) = cli.command
    {
        interrupt::ends_at_once();
    }
    match cli.command {
        Command::Init(args) => {
            let file = args.file.display();
            let text = match args.from.as_slice() {
                [] => init::STARTER.to_owned(),
                logs => init::of_logs(logs)?,
            };
            let written = init::write_new(&args.file, &text, args.force);
            written.with_context(|| format!("{file}: expected a new file, or --force"))?;
            let sample = match args.from.is_empty() {
                true => init::write_sample(&args.file),
                false => Ok(None),
            };
            let sample = sample.with_context(|| format!("the trace of {file}"))?;
            let also = sample.map(|path| format!(" and {}", path.display()));
            let also = also.unwrap_or_default();
            eprintln!("wrote {file}{also}; next: gridrig check {file}");
            Ok(())
        }
        Command::Check(args) => check::check(&args),
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Report(args) => report::report(&args),
        Command::Export(args) => export::export(&args),
        Command::Dashboard(args) => dashboard::dashboard(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Twin(args) => twin::twin(&args),
        Command::Whatif(args) => whatif::whatif(&args),
        Command::Emulator(args) => services::emulator(&args),
        Command::Broker(args) => services::broker(&args),
        Command::Replay(args) => services::replay(&args),
        Command::Load(args) => services::load(args),
        Command::Gridway(args) => gridway::gridway(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Metrics(args) => metrics::metrics(&args),
        Command::Resources(args) => resources::resources(&args),
        Command::Describe(args) => describe::describe(&args),
        Command::Schema { format } => schema::schema(format),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gridrig", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Service { order } => runner::serve(&order),
        Command::Guard { group } => realtime::guard(group).map_err(Failure::run),
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(Failure::run)?;
            print(&String::from_utf8_lossy(&page))
        }
    }
}

/// Reads a scenario with everything the command line says about it.
fn load_scenario(args: &ScenarioArgs) -> Result<Scenario, Failure> {
    let mut sets = args.set.clone();
    sets.extend(args.seed.map(|seed| format!("run.seed={seed}")));
    sets.extend(args.clock.map(|clock| format!("run.clock={clock}")));
    Scenario::load(&args.scenario, &sets).map_err(|error| match is_list_for_value(&error) {
        true => Failure::Input(anyhow!(
            "{error} (gridrig sweep runs a scenario with several values)"
        )),
        false => Failure::input(error),
    })
}

/// Whether `--set` has a list where its key takes one value.
fn is_list_for_value(error: &ScenarioError) -> bool {
    let one = |expected: &str| ["a ", "an "].iter().any(|it| expected.starts_with(it));
    matches!(
        error,
        ScenarioError::Value { at: Place::Set(_), value, expected, .. }
            if one(expected) && value.starts_with('[')
    )
}

/// Refuses an address that others reach, without TLS, unless that is meant.
fn may_listen(
    flag: &str,
    listen: std::net::SocketAddr,
    has_tls: bool,
    insecure: bool,
) -> anyhow::Result<()> {
    if !(has_tls || insecure || listen.ip().is_loopback()) {
        anyhow::bail!(
            "{flag} {listen}: whoever is on the network could read and send everything \
             (expected a loopback address, TLS where there is a flag for it, or --insecure)"
        );
    }
    Ok(())
}

/// What the command line says. The folder of targets is made, so that a
/// mistake in it is told before anything starts.
///
/// # Errors
/// Input errors: no label, no folder.
fn monitoring(args: &MonitoringArgs) -> anyhow::Result<Monitoring> {
    let mut labels = Labels::default();
    for text in &args.labels {
        let added = labels.add(text);
        added.map_err(|error| anyhow!("--label {text}: {error}"))?;
    }
    if let Some(folder) = &args.targets {
        std::fs::create_dir_all(folder).with_context(|| {
            let folder = folder.display();
            format!("--targets {folder}: expected a folder that can be written to")
        })?;
    }
    Ok(Monitoring {
        labels,
        targets: args.targets.clone(),
    })
}

/// Writes to stdout. A reader that has gone away (`| head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::run(error)),
        _ => Ok(()),
    }
}

/// Writes one JSON document, or the same as text.
fn answer<T: serde::Serialize>(
    json: bool,
    document: &T,
    text: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    if json {
        return print_json(document);
    }
    print(&text(document))
}

/// Says each of these in a line of its own on stderr, behind what it is.
fn say_each(what: &str, all: impl IntoIterator<Item: std::fmt::Display>) {
    for one in all {
        eprintln!("{what}: {one}");
    }
}

/// Refuses to overwrite what is there.
fn refuse_existing(out: &Path, force: bool) -> anyhow::Result<()> {
    // A pipe or a device is written to, not over.
    let out_is_new = force || !(out.is_file() || out.is_dir());
    let out = out.display();
    ensure!(
        out_is_new,
        "{out}: exists already (expected a new file, or --force)"
    );
    Ok(())
}

/// Writes one JSON document to stdout.
fn print_json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(document).map_err(Failure::run)?;
    text.push('\n');
    print(&text)
}
