//! The inventory of a domain's own clusters: their cluster files and what
//! they last reported.

use super::{Form, Inventory, InventoryError, Record, Relation, Value, names};
use crate::load::LoadSample;
use crate::resource::{Resource, Resources};

/// A cluster as its broker knows it.
#[derive(Clone, Copy, Debug)]
pub struct SiteCluster<'a> {
    /// Its name, unlike that of any other.
    pub name: &'a str,
    /// Its nodes.
    pub resources: &'a Resources,
    /// What was last heard of its load, if anybody listens.
    pub load: Option<&'a LoadSample>,
}

/// The flat inventory of these clusters: of each one record for itself and, for
/// every group of identical nodes, one for the nodes, one for their
/// operating system and one for their disk. What a cluster file leaves open
/// (architecture, system, bounds on memory and disk) is no attribute.
///
/// # Errors
/// [`InventoryError::SameId`] when two clusters have one name.
pub fn of_clusters(clusters: &[SiteCluster<'_>]) -> Result<Inventory, InventoryError> {
    let mut records = Vec::new();
    let mut relations = Vec::new();
    for site in clusters {
        let cluster = records.len();
        records.push(cluster_record(site));
        let groups = site.resources.groups().iter().enumerate();
        for (number, group) in groups.filter(|(_, group)| group.count > 0) {
            let system = records.len();
            records.extend(node_records(site.name, number, group));
            relations.extend([
                Relation::new(cluster, names::CONTAINS, system),
                Relation::new(system, names::CONTAINS, system + 1),
                Relation::new(system, names::USES, system + 2),
            ]);
        }
    }
    Inventory::new(Form::Flat, records, relations)
}

fn cluster_record(site: &SiteCluster<'_>) -> Record {
    let whole = |number: u64| Value::number(number);
    let processors = u64::from(site.resources.processors());
    let record = Record::new(site.name, names::CLUSTER).with(names::PROC_NUM, whole(processors));
    let Some(load) = site.load else {
        return record;
    };
    let memory = load.space.memory_kib.map(|kib| whole(kib / 1024));
    let record = optional(record, names::FREE_MEM, memory);
    let generic = load.space.generic.iter();
    let record = generic.fold(record, |record, (name, free)| {
        record.with(&format!("{}{name}", names::FREE_GENERIC), whole(*free))
    });
    optional(record, names::FREE_MB, load.space.disk_mib.map(whole))
        .with(names::PROC_BUSY, whole(load.busy.into()))
        .with(names::PROC_FREE, whole(load.free().into()))
        .with(names::PROC_QUEUED, whole(load.queued_processors))
        .with(names::JOBS_QUEUED, whole(load.queued))
}

fn optional(record: Record, attribute: &str, value: Option<Value>) -> Record {
    match value {
        Some(value) => record.with(attribute, value),
        None => record,
    }
}

/// The nodes, their operating system and their disk.
fn node_records(cluster: &str, number: usize, group: &Resource) -> [Record; 3] {
    let record = |suffix: &str, kind: &str| {
        let id = format!("{cluster}.{number}{suffix}");
        Record::new(&id, kind).times(group.count.into())
    };
    let text = |text: &Option<String>| text.as_deref().map(Value::text);
    let speed = group.speed.over(1).unwrap_or_default();
    let nodes = record("", names::COMPUTER_SYSTEM)
        .with(names::PROC_NUM, Value::number(u64::from(group.cpu_count)))
        .with(names::PROC_SPEED, Value::number(speed));
    let nodes = group.generic.iter().fold(nodes, |nodes, (name, count)| {
        let attribute = format!("{}{name}", names::GENERIC);
        nodes.with(&attribute, Value::number(u64::from(count)))
    });
    let os = record(".os", names::OPERATING_SYSTEM);
    let os = optional(os, names::OS_TYPE, text(&group.os));
    let disk = record(".fs", names::FILE_SYSTEM).with(names::FS_TYPE, Value::text("local"));
    [
        optional(nodes, names::PROC_TYPE, text(&group.architecture)),
        optional(os, names::TOTAL_MEM, group.memory_mib.map(Value::number)),
        optional(disk, names::SIZE_MB, group.disk_mib.map(Value::number)),
    ]
}
