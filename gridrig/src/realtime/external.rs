//! Brokers that are somebody else's programs, in a run: set up, asked to take
//! jobs, and ended with it.

use super::guard::{GENTLY, guarded};
use super::{RealOptions, Services, workdir};
use crate::scenario::external::{Access, ExternalBroker, Submit, place, places};
use anyhow::{Context as _, Result, anyhow, bail};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator::faces::slurm;
use gridrig_protocol::client::Client;
use gridrig_protocol::tls::peer_client;
use gridrig_replayer::outlet::{
    ArcRest, AtMost, Bes, Command, CommandLog, Exit, LaGrid, LaGridText, Limits, Native, Outlet,
    OutletText, Ran, Template, end_group, prepare_program, run_program,
};
use gridrig_replayer::player::Outlets;
use gridrig_service::incarnation;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin};

/// Where what commands say is kept, in the directory of a broker.
const LOGS: &str = "logs";
/// What the program that serves says.
const SERVE_LOG: &str = "serve.log";
/// So much of its end is told, in bytes.
const LAST_WORDS: u64 = 500;
/// The file with the address of each cluster, a line `NAME=URL` each.
const CLUSTERS: &str = "clusters";
/// Between two tries of `ready`, and two looks whether a program still serves.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The brokers of a run that are not ours.
pub(super) struct Supervisor {
    dir: Arc<TempDir>,
    brokers: Vec<Running>,
}

struct Running {
    domain: DomainId,
    name: String,
    spec: ExternalBroker,
    dir: PathBuf,
    values: BTreeMap<String, String>,
    log: Arc<CommandLog>,
    /// The program that serves, and what keeps its guard from ending it.
    served: Option<(Child, ChildStdin)>,
    clock: RunClock,
}

/// The Slurm commands of clusters that a broker uses and no scenario has given
/// a directory, added to the options; answers the directory of the run.
pub(super) fn prepare(grid: &Grid, options: &mut RealOptions) -> Result<Option<Arc<TempDir>>> {
    if options.external.brokers.is_empty() {
        return Ok(None);
    }
    let dir = workdir().context("the directory of the external brokers")?;
    for (domain, broker) in &options.external.brokers {
        for (cluster, access) in broker.accesses(grid, *domain) {
            if access != Access::Slurm || options.slurm.contains_key(&cluster) {
                continue;
            }
            let bin = dir.path().join(format!("slurm-{}", cluster.0));
            options.slurm.insert(cluster, slurm_setup(&bin)?);
        }
    }
    Ok(Some(Arc::new(dir)))
}

impl Supervisor {
    /// Sets up every broker: files, then `start`, then `serve`, then `ready`.
    pub async fn open(
        dir: &Arc<TempDir>,
        grid: &Grid,
        options: &RealOptions,
        services: &Services,
        clock: RunClock,
    ) -> Result<Self> {
        let mut all = Supervisor {
            dir: Arc::clone(dir),
            brokers: Vec::new(),
        };
        for (domain, spec) in &options.external.brokers {
            let name = grid.domains[domain.index()].name.clone();
            let dir = all.dir.path().join(&name);
            let values = values(&dir, grid, *domain, options, services);
            let written = write_files(&dir, grid, *domain, spec, &values);
            let log = written
                .and_then(|()| CommandLog::open(&dir.join(LOGS).join("commands.jsonl"), clock));
            all.brokers.push(Running {
                log: Arc::new(log.with_context(|| format!("broker {name}"))?),
                spec: spec.clone(),
                domain: *domain,
                served: None,
                name,
                dir,
                values,
                clock,
            });
        }
        for broker in &mut all.brokers {
            let limit = wall(broker.spec.start_timeout);
            let begun = tokio::time::timeout(limit, broker.begin()).await;
            let late = || Err(anyhow!("it was not ready within {limit:?} (start_timeout)"));
            if let Err(why) = begun.unwrap_or_else(|_| late()) {
                let failed = why.context(format!("broker {}", broker.name));
                all.close().await;
                return Err(failed);
            }
        }
        Ok(all)
    }

    /// How jobs get to the brokers.
    pub fn outlets(&self, grid: &Grid, services: &Services) -> Result<Outlets> {
        let mut outlets = Outlets::default();
        for broker in &self.brokers {
            let outlet = broker.outlet(grid);
            let outlet = outlet.map_err(|why| anyhow!("broker {}: {why}", broker.name))?;
            outlets.ways.insert(Entry::Domain(broker.domain), outlet);
        }
        let lost_after = self.brokers.iter().map(|one| wall(one.spec.lost_after));
        outlets.lost_after = lost_after.max().unwrap_or(outlets.lost_after);
        for cluster in (0..).map(ClusterId).take(grid.clusters.len()) {
            if let Some(lrms) = services.lrms(cluster) {
                outlets.logs.insert(cluster, lrms.url());
            }
        }
        Ok(outlets)
    }

    /// Waits until a program that serves has ended before the run; answers what there is
    /// to say.
    async fn failed(&mut self) -> String {
        loop {
            for broker in &mut self.brokers {
                if let Err(why) = broker.still_serves() {
                    return format!("broker {}: {why:#} ({})", broker.name, broker.kept());
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends every broker: `stop`, then the program that serves. Answers what
    /// went wrong.
    pub async fn close(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        for broker in &mut self.brokers {
            let limit = wall(broker.spec.start_timeout);
            let ended = tokio::time::timeout(limit, broker.end()).await;
            let late = || Err(anyhow!("stop took longer than {limit:?}"));
            if let Err(why) = ended.unwrap_or_else(|_| late()) {
                faults.push(format!("broker {}: {why:#}", broker.name));
            }
        }
        faults
    }

    /// What the commands of each broker have said, by its name.
    pub fn logs(&self) -> Vec<(String, PathBuf)> {
        let brokers = self.brokers.iter();
        brokers
            .map(|broker| (broker.name.clone(), broker.dir.join(LOGS)))
            .collect()
    }
}

/// Waits until a broker that is not ours has failed; without one for ever.
pub(super) async fn failed(external: Option<&mut Supervisor>) -> String {
    match external {
        Some(external) => external.failed().await,
        None => std::future::pending().await,
    }
}

/// A length of a scenario that is one on the wall.
fn wall(length: gridrig_core::time::SimDuration) -> Duration {
    Duration::from_nanos(length.as_nanos())
}

/// What every place of a broker stands for, those of jobs apart.
fn values(
    dir: &Path,
    grid: &Grid,
    domain: DomainId,
    options: &RealOptions,
    services: &Services,
) -> BTreeMap<String, String> {
    let external = &options.external;
    let text = |path: &Path| path.display().to_string();
    let mut values = BTreeMap::from([
        ("dir".to_owned(), text(dir)),
        ("policy".to_owned(), external.policy.clone()),
        ("scenario".to_owned(), text(&external.directory)),
        ("clusters".to_owned(), text(&dir.join(CLUSTERS))),
    ]);
    for id in &grid.domains[domain.index()].clusters {
        let name = &grid.clusters[id.index()].name;
        let url = services
            .lrms(*id)
            .map_or_else(String::new, |lrms| lrms.url());
        let slurm = options.slurm.get(id).map(|setup| text(setup.door.dir()));
        for access in Access::ALL {
            let value = match access {
                Access::Native => url.clone(),
                Access::Arc => format!("{url}/arex"),
                Access::Bes => format!("{url}/services/bes"),
                Access::Slurm => slurm.clone().unwrap_or_default(),
            };
            values.insert(place(name, access), value);
        }
    }
    values
}

fn write_files(
    dir: &Path,
    grid: &Grid,
    domain: DomainId,
    spec: &ExternalBroker,
    values: &BTreeMap<String, String>,
) -> io::Result<()> {
    std::fs::create_dir_all(dir.join(LOGS))?;
    let names = grid.domains[domain.index()].clusters.iter();
    let names = names.map(|id| &grid.clusters[id.index()].name);
    let clusters: String = names
        .map(|name| format!("{name}={}\n", values[&place(name, Access::Native)]))
        .collect();
    std::fs::write(dir.join(CLUSTERS), clusters)?;
    let known = places(grid, domain);
    for (name, text) in &spec.files {
        let template = Template::read(text, &known).map_err(io::Error::other)?;
        std::fs::write(dir.join(name), template.fill(&[values]))?;
    }
    Ok(())
}

impl Running {
    fn fill(&self, words: &[String]) -> Result<Vec<String>> {
        let known = self.values.keys().cloned().collect();
        let filled = |word: &String| Ok(Template::read(word, &known)?.fill(&[&self.values]));
        words.iter().map(filled).collect()
    }

    /// Runs a command to its end and notes it.
    async fn call(&self, step: &str, words: &[String]) -> Result<Ran> {
        let words = self.fill(words)?;
        let began = self.clock.now();
        let ran = run_program(&words, &self.dir, wall(self.spec.start_timeout)).await;
        let ran = ran.with_context(|| format!("{step}: {}", words[0]))?;
        let took = self.clock.wall(self.clock.now().since(began));
        self.log.note(step, None, &ran, took);
        Ok(ran)
    }

    /// The same of one that has to end well.
    async fn must(&self, step: &str, words: &[String]) -> Result<()> {
        let ran = self.call(step, words).await?;
        if ran.exit != Exit::Code(0) {
            bail!("{step}: {} ended with {}", words[0], how(&ran));
        }
        Ok(())
    }

    async fn begin(&mut self) -> Result<()> {
        for words in &self.spec.start {
            self.must("start", words).await?;
        }
        if let Some(words) = &self.spec.serve {
            self.served = Some(self.serve(words)?);
        }
        if let Some(words) = self.spec.ready.clone() {
            while self.call("ready", &words).await?.exit != Exit::Code(0) {
                self.still_serves()?;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        self.still_serves()
    }

    fn serve(&self, words: &[String]) -> Result<(Child, ChildStdin)> {
        let words = self.fill(words)?;
        let log = File::create(self.dir.join(LOGS).join(SERVE_LOG));
        let served = log.and_then(|log| {
            let mut command = prepare_program(&words, &self.dir)?;
            let served = command.stdout(log.try_clone()?).stderr(log).spawn()?;
            let guard = guarded(served.id())?;
            Ok((served, guard))
        });
        served.with_context(|| format!("serve: {}", words[0]))
    }

    fn still_serves(&mut self) -> Result<()> {
        if let Some((served, _)) = &mut self.served
            && let Some(status) = served.try_wait().context("serve")?
        {
            // The guard ends what it has left running.
            self.served = None;
            bail!("serve ended too early: {status}{}", self.last_words());
        }
        Ok(())
    }

    /// The last that the program that serves has said.
    fn last_words(&self) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(self.dir.join(LOGS).join(SERVE_LOG))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)))?;
            let mut said = Vec::new();
            file.take(LAST_WORDS).read_to_end(&mut said)?;
            Ok(said)
        };
        let said = read().unwrap_or_default();
        match String::from_utf8_lossy(&said).trim() {
            "" => String::new(),
            said => format!("; it said: {said}"),
        }
    }

    /// Where that stays.
    fn kept(&self) -> String {
        format!("see broker/{}/{SERVE_LOG} in the run directory", self.name)
    }

    async fn end(&mut self) -> Result<()> {
        let mut ended = Ok(());
        for words in &self.spec.stop {
            ended = ended.and(self.must("stop", words).await);
        }
        let Some((mut served, _guard)) = self.served.take() else {
            return ended;
        };
        if let Ok(Some(status)) = served.try_wait() {
            // A program may end by itself when it is told to stop.
            if self.spec.stop.is_empty() && !status.success() {
                let (said, kept) = (self.last_words(), self.kept());
                bail!("serve ended by itself: {status}{said} ({kept})");
            }
            return ended;
        }
        end_group(served.id(), true);
        if tokio::time::timeout(GENTLY, served.wait()).await.is_err() {
            end_group(served.id(), false);
            let _ = served.wait().await;
        }
        ended
    }

    fn outlet(&self, grid: &Grid) -> Result<Arc<dyn Outlet>, String> {
        let limits = Limits {
            timeout: wall(self.spec.timeout),
            at_once: self.spec.at_once,
        };
        let said = |error: anyhow::Error| format!("{error:#}");
        match &self.spec.submit {
            Submit::Command(words) => {
                let words = Command::read(words, &places(grid, self.domain));
                let words = words.map_err(|error| error.to_string())?;
                let (values, dir) = (self.values.clone(), self.dir.as_path());
                let (expect, log) = (self.spec.expect.clone(), Arc::clone(&self.log));
                let command = Command::new(words, values, dir, limits, expect, log);
                Ok(Arc::new(command.map_err(|error| error.to_string())?))
            }
            Submit::Outlet(text) => {
                let text = self
                    .fill(std::slice::from_ref(text))
                    .map_err(said)?
                    .remove(0);
                let dirs = (self.dir.as_path(), self.dir.as_path());
                outlet(&OutletText::read(&text)?, dirs, limits, &self.log)
            }
        }
    }
}

fn how(ran: &Ran) -> String {
    let said = match ran.stderr.trim() {
        "" => ran.stdout.trim(),
        said => said,
    };
    let said: String = said.chars().take(500).collect();
    match ran.exit {
        Exit::Code(code) => format!("code {code}: {said}"),
        Exit::Signal(signal) => format!("signal {signal}: {said}"),
        Exit::TimedOut => format!("a timeout: {said}"),
    }
}

/// The outlet that a text asks for. Descriptions of jobs are written to the
/// first directory, commands run in the second, under these limits.
///
/// # Errors
/// When it cannot be set up.
pub fn outlet(
    text: &OutletText,
    (dir, runs_in): (&Path, &Path),
    limits: Limits,
    log: &Arc<CommandLog>,
) -> Result<Arc<dyn Outlet>, String> {
    let client = || Client::new(limits.timeout).map_err(|error| error.to_string());
    let command = |words: &[String], expect: Option<&str>| {
        let words = Command::read(words, &Default::default()).map_err(|error| error.to_string())?;
        let (expect, log) = (expect.map(str::to_owned), Arc::clone(log));
        let command = Command::new(words, BTreeMap::new(), dir, limits, expect, log);
        let command = command.map_err(|error| error.to_string())?;
        Ok::<_, String>(Arc::new(command.run_in(runs_in)))
    };
    Ok(match text {
        OutletText::Json(url) => Arc::new(AtMost(Native::new(client()?, url), limits.at_once)),
        OutletText::Bes(url) => Arc::new(AtMost(Bes::new(client()?, url), limits.at_once)),
        OutletText::Arc(url) => Arc::new(AtMost(ArcRest::new(client()?, url), limits.at_once)),
        OutletText::LaGrid(LaGridText { codec, url, name }) => {
            let client = peer_client(None, limits.timeout).map_err(|error| error.to_string())?;
            Arc::new(LaGrid::new(client, *codec, (url, name), incarnation()))
        }
        OutletText::Slurm(bin) => {
            let words = sbatch(bin, &[]).map_err(|error| format!("{error:#}"))?;
            command(&words, Some("Submitted batch job"))?
        }
        OutletText::Command(words) => command(words, None)?,
    })
}

/// The words of a command that submits by the `sbatch` of this directory, with these options.
///
/// # Errors
/// When the directory of this process is not known.
pub fn sbatch(bin: &str, options: &[&str]) -> Result<Vec<String>> {
    let path = std::path::absolute(Path::new(bin).join("sbatch"))?;
    let path = path.display().to_string();
    let path = path.replace('{', "{{").replace('}', "}}");
    let options = options.iter().copied().chain(["{script}"]);
    Ok([path]
        .into_iter()
        .chain(options.map(str::to_owned))
        .collect())
}

/// Installs the commands in `dir` as links to this very program.
pub fn slurm_setup(dir: &Path) -> Result<slurm::Setup> {
    let program = std::env::current_exe().context("the path of this program")?;
    let door = slurm::install(dir, &program)?;
    Ok(slurm::Setup::new(door))
}

#[cfg(test)]
mod tests;
