//! A scenario to start from: one that shows the keys, or one of one's own logs.

use anyhow::{Context as _, bail};
use gridrig_tracelab::format;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The commented scenario that `gridrig init` writes. Keys with a comment sign in front
/// have their default.
pub const STARTER: &str = include_str!("../../resources/starter.toml");

/// Writes a scenario to a new file.
///
/// # Errors
/// When the file exists already, unless `force` is set, or cannot be written.
pub fn write_new(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).truncate(true);
    if force {
        options.create(true);
    } else {
        options.create_new(true);
    }
    options.open(path)?.write_all(text.as_bytes())
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

/// Domains with a cluster each, all linked, whose jobs are those of these logs. A single
/// log gets a peer of the same size where no jobs enter.
///
/// # Errors
/// When a log cannot be read, has no jobs, or nobody says how many processors it is of.
pub fn of_logs(logs: &[OwnLog]) -> anyhow::Result<String> {
    let mut sites: Vec<(String, u32, Option<&OwnLog>)> = Vec::new();
    for log in logs {
        let (name, mut unique) = (log.name(), log.name());
        let mut count = 2;
        while sites.iter().any(|(other, ..)| *other == unique) {
            unique = format!("{name}-{count}");
            count += 1;
        }
        sites.push((unique, log.look()?, Some(log)));
    }
    if let [(name, processors, _)] = sites.as_slice() {
        let peer = if name == "peer" { "peer-2" } else { "peer" };
        sites.push((peer.to_owned(), *processors, None));
    }
    let mut text = HEAD.to_owned();
    for (name, processors, log) in &sites {
        if let Some(log) = log {
            let path = std::path::absolute(&log.path)?;
            let path = toml::Value::from(path.display().to_string());
            let _ = write!(
                text,
                "[[workload]]\ntrace = {path}\ndomain = \"{name}\"\nmax_processors = {processors}   \
                 # wider jobs are left out, and counted\n\n"
            );
        }
    }
    for (name, processors, log) in &sites {
        if log.is_none() {
            text.push_str("# A site where no jobs enter.\n");
        }
        let _ = write!(
            text,
            "[[domain]]\nname = \"{name}\"\nclusters = [ {{ name = \"{name}-1\", processors = \
             {processors}, discipline = \"easy-backfill\" }} ]\n\n"
        );
    }
    for (index, (one, ..)) in sites.iter().enumerate() {
        for (other, ..) in &sites[index + 1..] {
            let between = format!("[[link]]\nbetween = [\"{one}\", \"{other}\"]\n");
            text.push_str(&between);
            text.push_str("latency = \"50ms\"\n\n");
        }
    }
    text.push_str(RUN);
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
