//! A scenario to start from: one that shows the keys, or one of one's own logs.

use anyhow::{Context as _, bail};
use gridrig_core::discipline::DisciplineKind;
use gridrig_tracelab::format;
use gridrig_tracelab::spec::TraceWindow;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The commented scenario that `gridrig init` writes. Keys with a comment sign in front
/// have their default.
pub const STARTER: &str = include_str!("../../resources/starter.toml");

/// Where the jobs of the starter come from, seen from its folder, and what is there.
const SAMPLE: (&str, &[u8]) = (
    "traces/ctc-like.swf.gz",
    include_bytes!("../../traces/ctc-like.swf.gz"),
);

/// Writes the trace that the starter names to where a scenario at this path looks for it,
/// unless there is one; answers where, if it was written.
///
/// # Errors
/// When it cannot be written.
pub fn write_sample(scenario: &Path) -> io::Result<Option<PathBuf>> {
    let (name, bytes) = SAMPLE;
    let path = scenario.parent().unwrap_or(Path::new("")).join(name);
    if path.try_exists()? {
        return Ok(None);
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(&path, bytes)?;
    Ok(Some(path))
}

/// Writes a scenario to a new file.
///
/// # Errors
/// When the file exists already, unless `force` is set, or cannot be written.
pub fn write_new(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true).create(true);
    let mut file = options.create_new(!force).open(path)?;
    file.write_all(text.as_bytes())
}

/// The log of a cluster, and how many processors that has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnLog {
    /// SWF or GWF.
    pub path: PathBuf,
    /// `None` is what the header of the log says.
    pub processors: Option<u32>,
}

impl FromStr for OwnLog {
    type Err = String;

    /// `LOG:PROCESSORS`, or `LOG` by itself.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once(':');
        let (path, processors) = match parts.filter(|(_, count)| !count.contains('/')) {
            Some((path, count)) => match count.parse() {
                Ok(count @ 1..) => (path, Some(count)),
                _ => return Err(format!("{count}: expected processors, 1 or more")),
            },
            None => (text, None),
        };
        Ok(OwnLog {
            path: PathBuf::from(path),
            processors,
        })
    }
}

impl OwnLog {
    /// Whether it can be read, and its processors.
    fn look(&self) -> anyhow::Result<u32> {
        let mut reader = format::open(&self.path)?;
        let path = self.path.display();
        if reader.next_record()?.is_none() {
            bail!("{path}: it has no jobs");
        }
        let said = reader.header().max_processors();
        let count = self.processors.or(said.and_then(|n| u32::try_from(n).ok()));
        count.filter(|count| *count > 0).with_context(|| {
            format!("{path}: its header has no MaxProcs; expected --from {path}:PROCESSORS")
        })
    }

    /// A name for its domain, of small letters, digits and hyphens.
    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default().to_lowercase();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = stem.chars().map(plain).collect();
        match name.trim_matches('-') {
            "" => "log".to_owned(),
            name => name.to_owned(),
        }
    }
}

/// A domain with one cluster.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// Its name.
    pub name: String,
    /// Processors of its cluster.
    pub processors: u32,
    /// The discipline of its cluster.
    pub discipline: &'static str,
    /// Where its jobs come from; `None` is a site where none enter.
    pub log: Option<&'a OwnLog>,
    /// The part of the log; `None` is all of it.
    pub window: Option<TraceWindow>,
}

/// A domain for each of these logs.
///
/// # Errors
/// When a log cannot be read, has no jobs, or nobody says how many processors it is of.
pub fn sites(logs: &[OwnLog]) -> anyhow::Result<Vec<Site<'_>>> {
    let mut sites: Vec<Site<'_>> = Vec::new();
    for log in logs {
        let (name, mut unique) = (log.name(), log.name());
        let mut count = 2;
        while sites.iter().any(|other| other.name == unique) {
            unique = format!("{name}-{count}");
            count += 1;
        }
        sites.push(Site {
            name: unique,
            processors: log.look()?,
            discipline: DisciplineKind::EasyBackfill.name(),
            log: Some(log),
            window: None,
        });
    }
    Ok(sites)
}

/// Domains with a cluster each, all linked, whose jobs are those of these logs. A single
/// log gets a peer of the same size where no jobs enter.
///
/// # Errors
/// As [`sites`].
pub fn of_logs(logs: &[OwnLog]) -> anyhow::Result<String> {
    let mut sites = sites(logs)?;
    if let [site] = sites.as_slice() {
        let peer = match &*site.name {
            "peer" => "peer-2",
            _ => "peer",
        };
        sites.push(Site {
            name: peer.to_owned(),
            log: None,
            ..site.clone()
        });
    }
    Ok(format!("{HEAD}{}{RUN}", grid(&sites)?))
}

/// Workloads, domains and links of a scenario.
///
/// # Errors
/// When the path of a log is none.
pub fn grid(sites: &[Site<'_>]) -> anyhow::Result<String> {
    let mut text = String::new();
    for site in sites {
        if let Some(log) = site.log {
            let path = std::path::absolute(&log.path)?;
            let path = toml::Value::from(path.display().to_string());
            let (name, processors) = (&site.name, site.processors);
            let _ = write!(
                text,
                "[[workload]]\ntrace = {path}\ndomain = \"{name}\"\nmax_processors = {processors}   \
                 # wider jobs are left out, and counted\n"
            );
            if let Some(TraceWindow { start, length }) = site.window {
                let window = format!("{{ start = \"{start}\", length = \"{length}\" }}");
                let _ = writeln!(text, "window = {window}");
            }
            text.push('\n');
        }
    }
    for site in sites {
        if site.log.is_none() {
            text.push_str("# A site where no jobs enter.\n");
        }
        let (name, processors, discipline) = (&site.name, site.processors, site.discipline);
        let _ = write!(
            text,
            "[[domain]]\nname = \"{name}\"\nclusters = [ {{ name = \"{name}-1\", processors = \
             {processors}, discipline = \"{discipline}\" }} ]\n\n"
        );
    }
    for (index, one) in sites.iter().enumerate() {
        for other in &sites[index + 1..] {
            let (one, other) = (&one.name, &other.name);
            let between = format!("[[link]]\nbetween = [\"{one}\", \"{other}\"]\n");
            text.push_str(&between);
            text.push_str("latency = \"50ms\"\n\n");
        }
    }
    Ok(text)
}

const HEAD: &str = "\
# Written by gridrig init --from: clusters with the jobs of their own logs.
# docs/scenario.md has all keys.
#
#   gridrig check FILE      what it will do, and what its results cannot show
#   gridrig run FILE        whether to federate, and by which policy

";

const RUN: &str = "\
# Beside the policies every cluster by itself (local-only) and two more references are run.
[run]
clock = \"virtual\"
policies = [\"round-robin\", \"queue-length\", \"free-node\"]
seed = 1
# Ten repeats, in each of which every submission is moved by up to a minute.
replicate = { over = \"shake\", step = \"1min\", count = 10 }
";
