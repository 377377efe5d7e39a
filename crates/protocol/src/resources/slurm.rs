//! The nodes of a Slurm cluster, as `scontrol show node` and `sinfo -N` tell them.

use super::ResourceError;
use gridrig_core::generic::Generics;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What a text says of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its nodes, those of one kind together, kinds in the order of their first nodes.
    pub resources: Resources,
    /// What is not in it, or was not told, with its number of nodes.
    pub notes: BTreeMap<&'static str, u32>,
}

/// What `sinfo` does not tell, for all nodes.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The architecture.
    pub architecture: String,
    /// The operating system.
    pub os: String,
}

/// The columns of `sinfo` that a node is made of; the first two have to be there.
const COLUMNS: [&str; 6] = ["NODELIST", "CPUS", "MEMORY", "TMP_DISK", "GRES", "STATE"];

/// The keys of `scontrol` for the same.
const KEYS: [&str; 6] = [
    "NodeName",
    "CPUTot",
    "RealMemory",
    "TmpDisk",
    "Gres",
    "State",
];

/// Memory in MB that Slurm tells of nodes for which nobody has set it.
const UNSET_MEMORY: u64 = 1;

/// Reads either text; `file` names it in messages.
///
/// # Errors
/// A text that is neither, and values that no node has.
pub fn from_slurm(file: &str, text: &str, defaults: &Defaults) -> Result<Told, ResourceError> {
    let mut nodes = Nodes {
        file,
        defaults,
        groups: Vec::new(),
        notes: BTreeMap::new(),
    };
    let mut words = text.split_whitespace();
    match words.any(|word| word.starts_with("NodeName=")) {
        true => nodes.read_scontrol(text)?,
        false => nodes.read_sinfo(text)?,
    }
    let Nodes { groups, notes, .. } = nodes;
    if groups.is_empty() {
        return Err(ResourceError::at(file, 1, "no node: expected at least one"));
    }
    let file = file.to_owned();
    let resources = Resources::new(groups).ok_or(ResourceError::TooManyProcessors(file))?;
    Ok(Told { resources, notes })
}

struct Nodes<'a> {
    file: &'a str,
    defaults: &'a Defaults,
    groups: Vec<Resource>,
    notes: BTreeMap<&'static str, u32>,
}

impl Nodes<'_> {
    fn note(&mut self, what: &'static str) {
        *self.notes.entry(what).or_default() += 1;
    }

    /// `KEY=value` between blanks, a node from each `NodeName` on; words without a key go on
    /// with the value before them, which nothing here has.
    fn read_scontrol(&mut self, text: &str) -> Result<(), ResourceError> {
        let mut node: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        let mut nodes = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words = line.split_whitespace();
            for (key, value) in words.filter_map(|word| word.split_once('=')) {
                if key == "NodeName" && !node.is_empty() {
                    nodes.push(std::mem::take(&mut node));
                }
                node.entry(key).or_insert((number, value));
            }
        }
        nodes.push(node);
        for node in nodes {
            let find = |key: &str| node.get(key).copied();
            let value = |key: &str| find(key).map(|(_, value)| value.to_owned());
            let (architecture, os) = (value("Arch"), value("OS"));
            let name = find("NodeName").map_or(1, |(line, _)| line);
            let cells = KEYS.map(|key| find(key).unwrap_or((name, "")));
            self.add(KEYS, cells, architecture, os)?;
        }
        Ok(())
    }

    /// A table with a head, between `|` or blanks.
    fn read_sinfo(&mut self, text: &str) -> Result<(), ResourceError> {
        let bars = text.contains('|');
        let cell = |cell: &str| cell.trim().to_owned();
        let cells = |line: &str| -> Vec<String> {
            match bars {
                true => line.split('|').map(cell).collect(),
                false => line.split_whitespace().map(cell).collect(),
            }
        };
        let mut lines = (1..).zip(text.lines().map(cells));
        let head = lines.find(|(_, cells)| cells.iter().any(|cell| cell == COLUMNS[0]));
        let places = head.map(|(_, head)| {
            let place = |name: &str| head.iter().position(|cell| cell == name);
            (head.len(), COLUMNS.map(place))
        });
        let Some((width, places @ [Some(_), Some(_), ..])) = places else {
            let problem = "neither scontrol show node nor a table with NODELIST and CPUS: expected \
                           the output of scontrol show node, or of sinfo -N -o '%N|%c|%m|%d|%G|%T'";
            return Err(ResourceError::at(self.file, 1, problem));
        };
        let mut seen = BTreeSet::new();
        for (line, cells) in lines {
            if cells.iter().all(String::is_empty) {
                continue;
            }
            // The last column of sinfo -l is a text.
            if cells.len() < width {
                let problem = format!("{} columns: expected {width}", cells.len());
                return Err(ResourceError::at(self.file, line, problem));
            }
            let cells = places.map(|place| (line, place.map_or("", |at| cells[at].as_str())));
            let name = cells[0].1;
            if name.contains('[') {
                let problem = format!("column NODELIST = \"{name}\": expected one node (sinfo -N)");
                return Err(ResourceError::at(self.file, line, problem));
            }
            // A node has a row in each of its partitions.
            if seen.insert(name.to_owned()) {
                if places[4].is_none() {
                    self.note("nodes without data on generic resources, taken as having none");
                }
                self.add(COLUMNS, cells, None, None)?;
            }
        }
        Ok(())
    }

    /// Takes in a node: its name, processors, memory, disk, generic resources and state, each
    /// with its line, under the names that its text gives them.
    fn add(
        &mut self,
        names: [&str; 6],
        cells: [(usize, &str); 6],
        architecture: Option<String>,
        os: Option<String>,
    ) -> Result<(), ResourceError> {
        let number = |at: usize| {
            let (line, text) = cells[at];
            let digits = text.trim_end_matches('+');
            let read = match digits {
                "" | "N/A" if at > 1 => Some(0),
                digits => digits.parse::<u64>().ok(),
            };
            read.ok_or_else(|| {
                let problem = format!("{} = \"{text}\": expected a number", names[at]);
                ResourceError::at(self.file, line, problem)
            })
        };
        let (processors, memory, disk) = (number(1)?, number(2)?, number(3)?);
        let state = cells[5].1.to_ascii_uppercase();
        if state.contains("FUTURE") {
            self.note("nodes that are not there yet (FUTURE), left out");
            return Ok(());
        }
        let mut away = ["DOWN", "DRAIN", "FAIL"].into_iter();
        if away.any(|word| state.contains(word)) {
            self.note("nodes that are down or drained, taken as available");
        }
        if architecture.is_none() || os.is_none() {
            self.note("nodes without data on architecture and system, which were assumed");
        }
        if memory <= UNSET_MEMORY {
            self.note("nodes without data on memory, taken as having 1 MiB");
        }
        let Some(cpu_count) = u32::try_from(processors).ok().filter(|n| *n > 0) else {
            let (line, text) = cells[1];
            let problem = format!("{} = \"{text}\": expected 1 to {}", names[1], u32::MAX);
            return Err(ResourceError::at(self.file, line, problem));
        };
        let generic = self.generic(cells[4].1);
        let kind = Resource {
            name: None,
            count: 1,
            cpu_count,
            architecture: Some(architecture.unwrap_or_else(|| self.defaults.architecture.clone())),
            os: Some(os.unwrap_or_else(|| self.defaults.os.clone())),
            memory_mib: Some(memory.max(UNSET_MEMORY)),
            disk_mib: Some(disk).filter(|disk| *disk > 0),
            speed: Decimal::ONE,
            generic,
        };
        let is_alike = |group: &&mut Resource| {
            Resource {
                count: 1,
                ..(**group).clone()
            } == kind
        };
        match self.groups.iter_mut().find(is_alike) {
            Some(group) => group.count = group.count.saturating_add(1),
            None => self.groups.push(kind),
        }
        Ok(())
    }

    /// `gpu:a100:4(S:0-1),nic:1` without what stands between parentheses; entries that
    /// cluster files have no word for are left out.
    fn generic(&mut self, text: &str) -> Generics {
        let mut plain = String::new();
        let mut depth = 0_u32;
        for sign in text.chars() {
            match sign {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ if depth == 0 => plain.push(sign),
                _ => {}
            }
        }
        let mut taken = String::new();
        let mut left_out = false;
        for entry in plain.split(',').filter(|it| !["", "N/A"].contains(it)) {
            let comma = if taken.is_empty() { "" } else { "," };
            let more = format!("{taken}{comma}{entry}");
            match more.parse::<Generics>() {
                Ok(_) => taken = more,
                Err(_) => left_out = true,
            }
        }
        if left_out {
            self.note("nodes with generic resources that no cluster file can have, left out");
        }
        taken.parse().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Told, String> {
        let defaults = Defaults {
            architecture: "x86_64".to_owned(),
            os: "Linux".to_owned(),
        };
        from_slurm("nodes.txt", text, &defaults).map_err(|error| error.to_string())
    }

    const SCONTROL: &str = "\
NodeName=n1 Arch=x86_64 CoresPerSocket=16 \n   CPUAlloc=0 CPUEfctv=62 CPUTot=64 CPULoad=0.01\n   \
Gres=gpu:a100:4(S:0,2),nic:1\n   OS=Linux 6.1.0-1-amd64 #1 SMP Debian \n   \
RealMemory=257000 AllocMem=0 Sockets=2\n   \
State=IDLE ThreadsPerCore=2 TmpDisk=900000 Weight=1\n   Partitions=batch,gpu \n   \
Reason=RealMemory=1 was wrong [root@2024-01-01]\n\n\
NodeName=n2 Arch=aarch64 CPUTot=8 Gres=(null) RealMemory=1 TmpDisk=0 State=DOWN* OS=Linux 6.1\n\
NodeName=n3 Arch=x86_64 CPUTot=64 Gres=gpu:a100:4(S:0-1),nic:1 RealMemory=257000 TmpDisk=900000 \
State=MIXED+DRAIN OS=Linux\n\
NodeName=n4 Arch=x86_64 CPUTot=64 Gres=gpu:80gb:4 RealMemory=257000 State=FUTURE OS=Linux\n";

    #[test]
    fn nodes_of_one_kind_are_a_group() {
        let told = told(SCONTROL).unwrap();
        let [first, second] = told.resources.groups() else {
            panic!("{told:?}");
        };
        assert_eq!((first.count, first.cpu_count), (2, 64));
        assert_eq!(first.generic.to_string(), "gpu:a100:4,nic:1");
        assert_eq!(
            (first.memory_mib, first.disk_mib),
            (Some(257_000), Some(900_000))
        );
        assert_eq!(
            (first.os.as_deref(), second.disk_mib),
            (Some("Linux"), None)
        );
        assert_eq!(second.architecture.as_deref(), Some("aarch64"));
        let notes: Vec<u32> = told.notes.into_values().collect();
        assert_eq!(notes, [2, 1, 1], "down, future, memory");
        let xml = super::super::write(&told.resources).unwrap();
        assert_eq!(super::super::parse("x", &xml).unwrap(), told.resources);
    }

    #[test]
    fn a_table_of_sinfo_has_a_node_once_however_many_partitions_it_is_in() {
        let bars = "NODELIST|CPUS|MEMORY|TMP_DISK|GRES|STATE\n\
                    n1|64|257000|0|gpu:a100:4(S:0-1)|idle\nn1|64|257000|0|gpu:a100:4(S:0-1)|idle\n\
                    n2|64+|257000|0|(null)|drained\n";
        let ours = told(bars).unwrap();
        assert_eq!(
            (ours.resources.nodes(), ours.resources.groups().len()),
            (2, 2)
        );
        let long = "Mon Jan  1 12:00:00 2024\nNODELIST NODES PARTITION STATE CPUS S:C:T MEMORY \
                    TMP_DISK WEIGHT AVAIL_FE REASON\nn1 1 batch* idle 64 2:16:2 257000 0 1 (null) \
                    none\nn1 1 gpu idle 64 2:16:2 257000 0 1 (null) Not responding\n";
        let long = told(long).unwrap();
        assert_eq!(
            (long.resources.nodes(), long.resources.processors()),
            (1, 64)
        );
        assert!(
            long.notes.keys().any(|what| what.contains("generic")),
            "{long:?}"
        );
    }

    /// Listings, `\n` for the end of a line, and what is said of them.
    const WRONG: &str = r#"
PARTITION AVAIL NODES NODELIST\nbatch up 4 n[1-4]\n => nodes.txt:1: neither
NODELIST|CPUS|MEMORY\nn[1-4]|64|1000\n => nodes.txt:2: column NODELIST = "n[1-4]"
NODELIST|CPUS|MEMORY\nn1|64\n => nodes.txt:2: 2 columns: expected 3
NODELIST|CPUS|MEMORY\nn1|many|1\n => nodes.txt:2: CPUS = "many": expected a number
NODELIST|CPUS|MEMORY\n => nodes.txt:1: no node: expected at least one
NodeName=n1\n CPUTot=0\n => nodes.txt:2: CPUTot = "0": expected 1 to 4294967295
"#;

    #[test]
    fn what_tells_no_nodes_is_refused_with_what_was_expected() {
        for row in WRONG.lines().skip(1) {
            let (text, expected) = row.split_once(" => ").unwrap();
            let text = &text.replace("\\n", "\n");
            let said = told(text).unwrap_err();
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
