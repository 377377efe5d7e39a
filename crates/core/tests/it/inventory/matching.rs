//! Matching a job against an inventory of any form, on ranges and lists, so
//! that a looser form never misses what a closer one has (LA Grid 2.3): the
//! measure of what each form forgets.

use gridrig_core::inventory::{Attribute, Inventory, Record, Value, Values, names};
use gridrig_core::job::JobSpec;
use gridrig_core::time::Decimal;
use std::sync::Arc;

/// What a job wants of a computer system and of what that is related to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// All of them have to be met. Those about one type have to be met by one
    /// record of it; one of a type other than the computer system's is met by
    /// records that the system is related to.
    pub conditions: Vec<Condition>,
    /// Processors wanted.
    pub processors: u64,
    /// Memory taken per processor, in KiB; 0 wants none.
    pub memory_kib: u64,
}

/// A condition on an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Type of the record.
    pub kind: Arc<str>,
    /// The attribute.
    pub attribute: Arc<str>,
    /// What it has to be.
    pub test: Test,
}

/// What an attribute has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// This value, but for ASCII case. Who has none does not meet it.
    Is(Arc<str>),
    /// At least so much. Who has none does not meet it.
    AtLeast(Decimal),
    /// At least so much, if it is bounded at all: none given is no limit.
    AtLeastIfBounded(Decimal),
}

/// A place where the job could run as far as the inventory tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit<'a> {
    /// The cluster, or several that are told of together; `None` for computer
    /// systems that belong to none, each of which is a place by itself.
    pub cluster: Option<&'a Record>,
    /// The computer systems there that meet the conditions.
    pub systems: Vec<&'a Record>,
    /// The most processors that one job can have there: exact in the flat form,
    /// at least as many in any other.
    pub processors: u64,
}

impl Query {
    /// What this job wants of gridrig's own clusters.
    pub fn of_job(job: &JobSpec) -> Self {
        let wanted = &job.components.first.requirements;
        let mut query = Query {
            conditions: Vec::new(),
            processors: u64::from(job.processors()),
            memory_kib: wanted.memory_kib,
        };
        if let Some(architecture) = &wanted.architecture {
            let test = Test::Is(Arc::clone(architecture));
            query = query.with(names::COMPUTER_SYSTEM, names::PROC_TYPE, test);
        }
        if let Some(os) = &wanted.os {
            let test = Test::Is(Arc::clone(os));
            query = query.with(names::OPERATING_SYSTEM, names::OS_TYPE, test);
        }
        if wanted.disk_mib > 0 {
            let test = Test::AtLeastIfBounded(wanted.disk_mib.into());
            query = query.with(names::FILE_SYSTEM, names::SIZE_MB, test);
        }
        if wanted.speed_millionths > 0 {
            let (whole, rest) = (
                wanted.speed_millionths / 1_000_000,
                wanted.speed_millionths % 1_000_000,
            );
            let speed = Decimal::parse(&format!("{whole}.{rest:06}")).unwrap();
            let test = Test::AtLeast(speed);
            query = query.with(names::COMPUTER_SYSTEM, names::PROC_SPEED, test);
        }
        for (name, count) in wanted.generic.iter() {
            let attribute = format!("{}{name}", names::GENERIC);
            let test = Test::AtLeast(u64::from(count).into());
            query = query.with(names::COMPUTER_SYSTEM, &attribute, test);
        }
        query
    }

    /// The same with one more condition.
    pub fn with(mut self, kind: &str, attribute: &str, test: Test) -> Self {
        let (kind, attribute) = (Arc::from(kind), Arc::from(attribute));
        self.conditions.push(Condition {
            kind,
            attribute,
            test,
        });
        self
    }

    /// Whether one of the resources of this record may meet all conditions
    /// about its type.
    fn admits(&self, record: &Record) -> bool {
        let mut about = self.conditions.iter().filter(|one| one.kind == record.kind);
        about.all(|one| one.test.may_be_met(record, &one.attribute))
    }
}

impl Test {
    fn may_be_met(&self, record: &Record, attribute: &str) -> bool {
        let found = record.attribute(attribute);
        let reaches = |least: &Decimal| {
            let most = found.and_then(|attribute| attribute.max());
            most.is_some_and(|most| most >= *least)
        };
        match self {
            Test::Is(text) => found.is_some_and(|attribute| may_be(&attribute.values, text)),
            Test::AtLeast(least) => reaches(least),
            Test::AtLeastIfBounded(least) => is_open(record, attribute) || reaches(least),
        }
    }
}

/// Whether a resource of this record lacks the attribute.
fn is_open(record: &Record, attribute: &str) -> bool {
    let having = record.attribute(attribute);
    having.is_none_or(|attribute| attribute.count < record.count)
}

/// Matching of inventories, as methods.
pub trait Matching {
    /// Every place where a job could run, as far as this inventory tells, in
    /// the order of its records.
    fn fits(&self, query: &Query) -> Vec<Fit<'_>>;

    /// Whether a job could run anywhere, as far as this inventory tells.
    fn could_run(&self, query: &Query) -> bool {
        !self.fits(query).is_empty()
    }
}

impl Matching for Inventory {
    fn fits(&self, query: &Query) -> Vec<Fit<'_>> {
        let mut fits = Vec::new();
        let mut in_cluster = vec![false; self.records().len()];
        for (index, cluster) in self.of_kind(names::CLUSTER) {
            let mut systems = Vec::new();
            let mut processors: u64 = 0;
            for relation in self.relations_of(index) {
                if &*self.records()[relation.to].kind != names::COMPUTER_SYSTEM {
                    continue;
                }
                in_cluster[relation.to] = true;
                if let Some(most) = capacity(self, relation.to, query) {
                    systems.push(&self.records()[relation.to]);
                    processors = processors.saturating_add(most);
                }
            }
            // A group of clusters has no job on more than its largest has.
            let largest = cluster.attribute(names::PROC_NUM).and_then(|all| all.max());
            let processors = processors.min(largest.map_or(u64::MAX, whole));
            if !systems.is_empty() && processors >= query.processors {
                fits.push(Fit {
                    cluster: Some(cluster),
                    systems,
                    processors,
                });
            }
        }
        for (index, system) in self.of_kind(names::COMPUTER_SYSTEM) {
            let most = system.attribute(names::PROC_NUM).and_then(|one| one.max());
            let capacity = capacity(self, index, query).filter(|_| !in_cluster[index]);
            let processors = capacity.map(|all| all.min(most.map_or(1, whole)));
            if let Some(processors) = processors.filter(|most| *most >= query.processors) {
                fits.push(Fit {
                    cluster: None,
                    systems: vec![system],
                    processors,
                });
            }
        }
        fits
    }
}

/// The most processors that a job may have of the systems of this record
/// together; `None` if they do not meet its conditions.
fn capacity(inventory: &Inventory, index: usize, query: &Query) -> Option<u64> {
    let system = &inventory.records()[index];
    let related = || {
        let children = inventory.relations_of(index).iter();
        children.map(|relation| &inventory.records()[relation.to])
    };
    let is_met_by_related = |kind: &str| {
        let mut children = related().filter(|child| &*child.kind == kind);
        children.any(|child| query.admits(child))
    };
    let mut others = query.conditions.iter().map(|one| &*one.kind);
    let elsewhere = others.all(|kind| kind == &*system.kind || is_met_by_related(kind));
    if !elsewhere || !query.admits(system) {
        return None;
    }
    let processors = match system.attribute(names::PROC_NUM) {
        Some(number) => whole(at_most_in_total(number)?),
        None => system.count,
    };
    if query.memory_kib == 0 {
        return Some(processors);
    }
    let admitted =
        related().filter(|child| &*child.kind == names::OPERATING_SYSTEM && query.admits(child));
    let per_system = admitted.map(|os| match os.attribute(names::TOTAL_MEM) {
        Some(memory) if !is_open(os, names::TOTAL_MEM) => {
            let kib = memory.max().map_or(Decimal::ZERO, |mib| mib.times(1024));
            floor(kib) / u128::from(query.memory_kib)
        }
        _ => u128::MAX,
    });
    let by_memory = per_system.max()?.saturating_mul(u128::from(system.count));
    let most = processors.min(u64::try_from(by_memory).unwrap_or(u64::MAX));
    (most > 0).then_some(most)
}

fn whole(number: Decimal) -> u64 {
    u64::try_from(floor(number)).unwrap_or(u64::MAX)
}

fn floor(number: Decimal) -> u128 {
    number.billionths() / 1_000_000_000
}

/// The sum if it is known, else the most that it can be; `None` if it is not
/// about numbers.
fn at_most_in_total(attribute: &Attribute) -> Option<Decimal> {
    let most = || Some(attribute.max()?.times(attribute.count));
    attribute.total().or_else(most)
}

/// Whether one of the resources may have this value, but for ASCII case.
fn may_be(values: &Values, text: &str) -> bool {
    let is = |value: &Value| match value {
        Value::Number(number) => number.to_string() == text,
        Value::Text(own) => own.eq_ignore_ascii_case(text),
    };
    match values {
        Values::Single(value) => is(value),
        Values::List(values) => values.iter().any(is),
        Values::Range(min, max) => {
            Decimal::parse(text).is_some_and(|number| (*min..=*max).contains(&number))
        }
    }
}
