//! The real cluster as it is found before anything begins.

use super::Settings;
use super::commands::call;
use super::listing::value;
use gridrig_core::generic::{Generics, is_name, untyped};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use std::collections::BTreeMap;
use std::time::Duration;

/// A real Slurm that answers, and the nodes of its partition.
#[derive(Clone, Debug)]
pub struct Site {
    pub(super) settings: Settings,
    /// Each node, as a group of its own.
    nodes: Vec<(String, Resource)>,
    /// The number of each node's first processor.
    first: BTreeMap<String, (u32, u32)>,
    processors: u32,
    version: String,
}

/// Why a real Slurm is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteError {
    /// A command cannot be called.
    #[error("{0}: {1} (expected the commands of a running Slurm)")]
    Call(String, String),
    /// It has no such partition, or none at all.
    #[error("Slurm has no partition {0} with processors (expected one that sinfo shows)")]
    NoPartition(String),
    /// It forgets ended jobs too soon for their ends to be read back.
    #[error("Slurm has MinJobAge = {0} (expected at least {least} seconds)", least = MIN_JOB_AGE)]
    ForgetsTooSoon(String),
    /// It has not as many processors as the cluster is said to have.
    #[error("the partition of the real Slurm has {0} processors (expected {1})")]
    Processors(u32, u32),
}

/// Seconds for which Slurm has to remember ended jobs: many looks.
const MIN_JOB_AGE: u64 = 30;

/// How long one question may take.
const QUESTION: Duration = Duration::from_secs(30);

impl Site {
    /// Asks a real Slurm what it is made of. Blocks until it has answered.
    ///
    /// # Errors
    /// [`SiteError`] when it does not, or cannot be used.
    pub fn ask(settings: &Settings) -> Result<Self, SiteError> {
        let config = said(settings, "scontrol", &["show", "config"])?;
        let key = |key: &str| {
            let lines = config.lines().filter_map(|line| line.split_once('='));
            let mut found = lines.filter(|(name, _)| name.trim() == key);
            found.next().map(|(_, value)| value.trim().to_owned())
        };
        let age = key("MinJobAge").unwrap_or_default();
        let seconds = age.split(' ').next().and_then(|age| age.parse().ok());
        if seconds.is_none_or(|seconds: u64| seconds < MIN_JOB_AGE) {
            return Err(SiteError::ForgetsTooSoon(age));
        }
        let mut words = vec!["-h", "-N", "-o", "%N %P"];
        if let Some(partition) = &settings.partition {
            words.extend(["-p", partition]);
        }
        let lines = said(settings, "sinfo", &words)?;
        let wanted = lines.lines().filter_map(|line| {
            let (node, partition) = line.trim().split_once(' ')?;
            // The star marks the default partition.
            let ours = settings.partition.is_some() || partition.ends_with('*');
            ours.then(|| node.to_owned())
        });
        let wanted: Vec<String> = wanted.collect();
        let shown = said(settings, "scontrol", &["-o", "show", "node"])?;
        let nodes = shown.lines().filter_map(node);
        let nodes: Vec<_> = nodes.filter(|(name, _)| wanted.contains(name)).collect();
        let mut first = BTreeMap::new();
        let mut processors: u32 = 0;
        for (name, node) in &nodes {
            first.insert(name.clone(), (processors, node.cpu_count));
            processors = processors.saturating_add(node.cpu_count);
        }
        if processors == 0 {
            let name = settings.partition.clone();
            let name = name.unwrap_or_else(|| "that is the default".to_owned());
            return Err(SiteError::NoPartition(name));
        }
        Ok(Site {
            settings: settings.clone(),
            nodes,
            first,
            processors,
            version: key("SLURM_VERSION").unwrap_or_default(),
        })
    }

    /// The same, for a cluster that is said to have so many processors.
    ///
    /// # Errors
    /// [`SiteError`].
    pub fn expect(settings: &Settings, wanted: u32) -> Result<Self, SiteError> {
        let site = Site::ask(settings)?;
        match site.processors {
            found if found == wanted => Ok(site),
            found => Err(SiteError::Processors(found, wanted)),
        }
    }

    /// Its nodes as a cluster file would have them, in Slurm's order.
    pub fn resources(&self) -> Resources {
        let mut groups: Vec<Resource> = Vec::new();
        for (_, node) in &self.nodes {
            let same = |last: &&mut Resource| {
                let count = last.count;
                Resource {
                    count,
                    ..node.clone()
                } == **last
            };
            match groups.last_mut().filter(same) {
                Some(last) => last.count += 1,
                None => groups.push(node.clone()),
            }
        }
        Resources::new(groups).unwrap_or_else(|| Resources::homogeneous(self.processors))
    }

    #[cfg(test)]
    pub(super) fn of_nodes(nodes: &[(&str, u32)]) -> Self {
        let mut first = BTreeMap::new();
        let mut processors = 0;
        for (name, cpus) in nodes {
            first.insert((*name).to_owned(), (processors, *cpus));
            processors += cpus;
        }
        Site {
            settings: Settings::default(),
            nodes: Vec::new(),
            first,
            processors,
            version: String::new(),
        }
    }

    /// Its version, such as `22.05.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The number, through all nodes, of a processor of a node.
    pub(super) fn processor_id(&self, node: &str, cpu: u32) -> Option<u32> {
        let (first, cpus) = self.first.get(node)?;
        (cpu < *cpus).then(|| first + cpu)
    }

    /// All processors of a node.
    pub(super) fn processor_ids_of(&self, node: &str) -> std::ops::Range<u32> {
        let (first, cpus) = self.first.get(node).copied().unwrap_or_default();
        first..first + cpus
    }
}

fn node(line: &str) -> Option<(String, Resource)> {
    let memory = value(line, "RealMemory").and_then(|memory| memory.parse().ok());
    let node = Resource {
        name: None,
        count: 1,
        cpu_count: value(line, "CPUTot")?.parse().ok()?,
        architecture: value(line, "Arch").map(str::to_owned),
        os: value(line, "OS").map(str::to_owned),
        // Slurm's 1 MiB stands for "not configured".
        memory_mib: memory.filter(|memory| *memory > 1),
        disk_mib: None,
        speed: Decimal::ONE,
        generic: value(line, "Gres").map_or_else(Generics::default, gres),
    };
    Some((value(line, "NodeName")?.to_owned(), node))
}

/// `gpu:a100:4(S:0-1),nic:2`: several types of one name on a node count together,
/// without a type, and so does one that is no name here.
fn gres(text: &str) -> Generics {
    let mut counts: BTreeMap<&str, (&str, u32)> = BTreeMap::new();
    // Which sockets they are at may have commas too, as in `gpu:4(S:0,1)`.
    let is_kind = |part: &&str| part.contains('(') || !part.contains(')');
    for part in text.split(',').filter(is_kind) {
        let part = part.split('(').next().unwrap_or(part);
        let (typed, count) = part.rsplit_once(':').unwrap_or((part, "1"));
        let (name, all) = counts.entry(untyped(typed)).or_insert((typed, 0));
        if *name != typed || !is_name(typed) {
            *name = untyped(typed);
        }
        *all = all.saturating_add(count.parse().unwrap_or(1));
    }
    Generics::new(counts.into_values()).unwrap_or_default()
}

fn said(settings: &Settings, name: &str, words: &[&str]) -> Result<String, SiteError> {
    let args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let refuse = |why: String| SiteError::Call(name.to_owned(), why);
    match call(settings, name, &args, None, QUESTION) {
        Ok(said) if said.is_ok() => Ok(said.stdout),
        Ok(said) => Err(refuse(said.complaint().to_owned())),
        Err(error) => Err(refuse(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_one_type_that_slurm_says_it_has() {
        for (said, read) in [
            ("gpu:a100:4(S:0-1),nic:2", "gpu:a100:4,nic:2"),
            ("gpu:4(S:0,1),nic", "gpu:4,nic:1"),
            ("gpu:a100:2(S:0),gpu:v100:1(S:1)", "gpu:3"),
            ("gpu:v100:1,gpu:2,gpu:v100:1", "gpu:4"),
            ("gpu:1080ti:2", "gpu:2"),
            ("(null)", ""),
        ] {
            assert_eq!(gres(said).to_string(), read, "{said}");
        }
    }
}
