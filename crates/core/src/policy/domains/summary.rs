//! A domain in aggregated form: what the N-to-N inventory of its computer
//! systems tells (LA Grid 2.2), as numbers that a decision reads at once.
//!
//! A computer system is here what a cluster has of one architecture: its
//! `ProcNum` are all of them, so that the greatest is the widest cluster's, and
//! of the load of a mixed cluster it has its share. It contains its processors,
//! each with its speed, and the operating systems of its nodes (`TotalMem` in
//! KiB), and uses their file systems.

use super::{ANY, Kind, Machine, Nodes, UNSAID, Wanted, meets};
use crate::inventory::{
    Attribute, AttributeRule, Form, Inventory, InventoryError, Number, Record, Relation,
    RelationRule, Schema, TypeRule, Value, names,
};
use std::sync::Arc;

/// A processor of a computer system.
const PROCESSOR: &str = "Processor";

/// The computer systems of one architecture in a domain, all in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    architecture: Kind,
    /// Clusters that have some.
    pub count: u64,
    /// All processors of this architecture.
    pub processors: u64,
    /// The most that one cluster has.
    pub widest: u64,
    /// Mean speed of its processors, in parts of 1e-9.
    pub speed: u64,
    /// The fastest one's.
    fastest: u64,
    /// Busy processors, the load of a mixed cluster being shared out by the
    /// number of processors, rounded down.
    pub busy: u64,
    /// Processors that queued jobs want, likewise.
    pub queued: u64,
}

/// An operating system of a domain: the upper end of its range of memory.
#[derive(Clone, Copy, Debug)]
struct System {
    os: Kind,
    memory_kib: u64,
}

/// A domain in aggregated form.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    aggregates: Vec<Aggregate>,
    systems: Vec<System>,
    /// Which architecture contains which operating system.
    contains: Vec<(Kind, Kind)>,
    disk_mib: u64,
    /// The widest cluster of all: a job that does not ask for an architecture
    /// may span several in one.
    widest: u64,
}

impl Summary {
    /// What is told of these clusters, their load included.
    pub fn of(machines: &[Machine]) -> Self {
        // [`inventory`] names and counts its records itself, so that none of
        // them breaks a rule.
        let told = inventory(machines).and_then(|flat| flat.in_form(Form::NToN, &schema()));
        let mut summary = told.map_or_else(|_| Summary::default(), |told| Summary::read(&told));
        summary.widest = machines.iter().map(|m| m.processors).max().unwrap_or(0);
        summary
    }

    fn read(told: &Inventory) -> Self {
        let mut summary = Summary::default();
        for (index, system) in told.of_kind(names::COMPUTER_SYSTEM) {
            let architecture = kind_of(system, names::PROC_TYPE);
            let children = told.relations_of(index).iter();
            let children = children.map(|relation| &told.records()[relation.to]);
            for child in children.clone() {
                if &*child.kind == names::OPERATING_SYSTEM {
                    let os = kind_of(child, names::OS_TYPE);
                    summary.contains.push((architecture, os));
                }
            }
            let mut of_speed = children.filter(|child| &*child.kind == PROCESSOR);
            let speeds = of_speed.find_map(|child| child.attribute(names::PROC_SPEED));
            let part = |part: Option<Number>| part.map_or(0, |part| narrow(part.billionths()));
            summary.aggregates.push(Aggregate {
                architecture,
                count: system.count,
                processors: total(system, names::PROC_NUM),
                widest: most(system, names::PROC_NUM).unwrap_or(0),
                speed: part(speeds.and_then(Attribute::mean)),
                fastest: part(speeds.and_then(Attribute::max)),
                busy: total(system, names::PROC_BUSY),
                queued: total(system, names::PROC_QUEUED),
            });
        }
        for (_, system) in told.of_kind(names::OPERATING_SYSTEM) {
            summary.systems.push(System {
                os: kind_of(system, names::OS_TYPE),
                memory_kib: most(system, names::TOTAL_MEM).unwrap_or(u64::MAX),
            });
        }
        for (_, disks) in told.of_kind(names::FILE_SYSTEM) {
            summary.disk_mib = most(disks, names::SIZE_MB).unwrap_or(u64::MAX);
        }
        summary
    }

    /// Brings the loads up to date: the same totals as the inventory's, without
    /// making it anew.
    pub fn follow(&mut self, machines: &[Machine]) {
        for aggregate in &mut self.aggregates {
            let of = |part: fn(&Machine) -> u64| {
                let parts = machines.iter();
                parts
                    .map(|m| m.share(aggregate.architecture, part(m)))
                    .sum()
            };
            (aggregate.busy, aggregate.queued) = (of(|m| m.busy), of(|m| m.queued));
        }
    }

    /// The aggregates whose ranges the job lies in: an architecture that
    /// contains the operating system somewhere, memory, disk and speed that some
    /// node has, and a cluster wide enough. That all of it is true of *one* cluster
    /// is what aggregation has forgotten.
    pub fn matching(&self, wanted: Wanted, processors: u32) -> impl Iterator<Item = &Aggregate> {
        let fits = move |aggregate: &&Aggregate| {
            let system = |system: &System| {
                meets(system.os, wanted.os)
                    && system.memory_kib >= wanted.memory_kib
                    && self.contains.contains(&(aggregate.architecture, system.os))
            };
            let widest = match wanted.architecture {
                ANY => self.widest,
                _ => aggregate.widest,
            };
            meets(aggregate.architecture, wanted.architecture)
                && widest >= u64::from(processors)
                && self.disk_mib >= wanted.disk_mib
                && aggregate.fastest >= wanted.speed
                && self.systems.iter().any(system)
        };
        self.aggregates.iter().filter(fits)
    }
}

impl Machine {
    /// Its processors of this architecture.
    fn of(&self, architecture: Kind) -> u64 {
        let nodes = self.nodes.iter();
        let own = nodes.filter(|nodes| nodes.architecture == architecture);
        own.map(Nodes::processors).sum()
    }

    /// The share of that in a load of the whole cluster.
    fn share(&self, architecture: Kind, load: u64) -> u64 {
        match self.of(architecture) {
            0 => 0,
            own if own == self.processors => load,
            own => narrow(u128::from(load) * u128::from(own) / u128::from(self.processors)),
        }
    }
}

/// The flat inventory from which a domain is summed up. Names are numbers here
/// already, so that their case does not matter.
fn inventory(machines: &[Machine]) -> Result<Inventory, InventoryError> {
    let mut records = Vec::new();
    let mut relations = Vec::new();
    for (number, machine) in machines.iter().enumerate() {
        let mut systems: Vec<(Kind, usize)> = Vec::new();
        for (group, nodes) in machine.nodes.iter().enumerate() {
            if nodes.processors() == 0 {
                continue;
            }
            let known = systems.iter().find(|(kind, _)| *kind == nodes.architecture);
            let system = known.map_or(records.len(), |(_, system)| *system);
            if system == records.len() {
                systems.push((nodes.architecture, system));
                records.push(system_record(&format!("{number}.{group}"), machine, nodes));
            }
            let child = records.len();
            records.extend(node_records(&format!("{number}.{group}"), nodes));
            relations.extend([
                Relation::new(system, names::CONTAINS, child),
                Relation::new(system, names::CONTAINS, child + 1),
                Relation::new(system, names::USES, child + 2),
            ]);
        }
    }
    Inventory::new(Form::Flat, records, relations)
}

fn system_record(id: &str, machine: &Machine, nodes: &Nodes) -> Record {
    let architecture = nodes.architecture;
    let share = |load| Value::number(machine.share(architecture, load));
    let record = Record::new(id, names::COMPUTER_SYSTEM)
        .with(names::PROC_NUM, Value::number(machine.of(architecture)))
        .with(names::PROC_BUSY, share(machine.busy))
        .with(names::PROC_QUEUED, share(machine.queued));
    named(record, names::PROC_TYPE, architecture)
}

/// The processors of some nodes, their operating system and their disk.
fn node_records(id: &str, nodes: &Nodes) -> [Record; 3] {
    let record = |suffix: &str, kind: &str, count: u64| {
        Record::new(&format!("{id}.{suffix}"), kind).times(count)
    };
    let bounded = |record: Record, attribute: &str, most: u64| match most {
        u64::MAX => record,
        most => record.with(attribute, Value::number(most)),
    };
    let speed = Number::of_billionths(nodes.speed.into());
    let processors = record("cpu", PROCESSOR, nodes.processors());
    let processors = processors.with(names::PROC_SPEED, Value::number(speed));
    let system = record("os", names::OPERATING_SYSTEM, nodes.count.into());
    let system = bounded(system, names::TOTAL_MEM, nodes.memory_kib);
    let disk = record("fs", names::FILE_SYSTEM, nodes.count.into());
    [
        named(processors, names::PROC_TYPE, nodes.architecture),
        named(system, names::OS_TYPE, nodes.os),
        bounded(disk, names::SIZE_MB, nodes.disk_mib),
    ]
}

/// By what computer systems come together: processors and systems by
/// architecture, operating systems by type, file systems all.
fn schema() -> Schema {
    let rule = |name: &str, aggregate_on: &[&str], keep: &[&str]| TypeRule {
        name: Arc::from(name),
        aggregate_on: aggregate_on.iter().map(|name| Arc::from(*name)).collect(),
        keep: keep.iter().map(|name| AttributeRule::whole(name)).collect(),
    };
    let load = [names::PROC_NUM, names::PROC_BUSY, names::PROC_QUEUED];
    let types = vec![
        rule(names::COMPUTER_SYSTEM, &[names::PROC_TYPE], &load),
        rule(PROCESSOR, &[names::PROC_TYPE], &[names::PROC_SPEED]),
        rule(
            names::OPERATING_SYSTEM,
            &[names::OS_TYPE],
            &[names::TOTAL_MEM],
        ),
        rule(names::FILE_SYSTEM, &[], &[names::SIZE_MB]),
    ];
    let relation = |name: &str, to: &str| RelationRule {
        name: Arc::from(name),
        from: Arc::from(names::COMPUTER_SYSTEM),
        to: Arc::from(to),
        model: Form::NToN,
    };
    let relations = vec![
        relation(names::CONTAINS, PROCESSOR),
        relation(names::CONTAINS, names::OPERATING_SYSTEM),
        relation(names::USES, names::FILE_SYSTEM),
    ];
    // All of it is written above: nothing of it comes from outside.
    Schema::new(types, relations).expect("the rules agree with each other")
}

fn named(record: Record, attribute: &str, kind: Kind) -> Record {
    match kind {
        UNSAID => record,
        kind => record.with(attribute, Value::number(u64::from(kind))),
    }
}

fn kind_of(record: &Record, attribute: &str) -> Kind {
    let number = record.attribute(attribute).and_then(Attribute::max);
    number.map_or(UNSAID, |number| number.floor() as Kind)
}

fn total(record: &Record, attribute: &str) -> u64 {
    let total = record.attribute(attribute).and_then(Attribute::total);
    total.map_or(0, |total| narrow(total.floor()))
}

/// The upper end of a range; `None` where a resource has no bound.
fn most(record: &Record, attribute: &str) -> Option<u64> {
    let having = record.attribute(attribute)?;
    let most = having.max().filter(|_| having.count == record.count)?;
    Some(narrow(most.floor()))
}

fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
