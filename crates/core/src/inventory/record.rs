//! Records, the relations between them, and the inventory that holds both.

use super::{Attribute, Form, Value, Values};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One resource, or several of one type that are told of together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Unlike that of any other record of the inventory.
    pub id: Arc<str>,
    /// Its type, such as [`COMPUTER_SYSTEM`](super::names::COMPUTER_SYSTEM).
    pub kind: Arc<str>,
    /// How many resources it stands for, at least 1. In the flat form, more
    /// than one are identical.
    pub count: u64,
    /// What is known of them, by name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
}

impl Record {
    /// One resource of this type without any attributes.
    pub fn new(id: &str, kind: &str) -> Self {
        Record {
            id: Arc::from(id),
            kind: Arc::from(kind),
            count: 1,
            attributes: BTreeMap::new(),
        }
    }

    /// The same, standing for so many identical resources. Comes before the
    /// attributes, which are all of theirs.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// The same with one more attribute of this single value.
    #[must_use]
    pub fn with(mut self, attribute: &str, value: Value) -> Self {
        let value = Attribute::single(value, self.count);
        self.attributes.insert(Arc::from(attribute), value);
        self
    }

    /// One of its attributes.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }
}

/// One record is related to another; both are positions in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// The parent.
    pub from: usize,
    /// How, such as [`CONTAINS`](super::names::CONTAINS).
    pub name: Arc<str>,
    /// The child.
    pub to: usize,
}

impl Relation {
    /// A relation between the records at these positions.
    pub fn new(from: usize, name: &str, to: usize) -> Self {
        Relation {
            from,
            name: Arc::from(name),
            to,
        }
    }
}

/// What a domain has to offer, in one of the forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    form: Form,
    records: Vec<Record>,
    /// Sorted, each once.
    relations: Vec<Relation>,
}

/// Why records make no inventory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InventoryError {
    /// Two records have this id.
    #[error("record id = {0:?}: expected one that no other has")]
    SameId(Arc<str>),
    /// A record stands for no resource.
    #[error("record {0:?}: expected a count of at least 1")]
    NoResource(Arc<str>),
    /// An attribute of a record counts more resources than that, or none.
    #[error("record {0:?}, attribute {1:?}: expected a count from 1 to the record's")]
    Miscounted(Arc<str>, Arc<str>),
    /// An attribute's range is the wrong way round, or its list has fewer than
    /// two values, is not sorted or has a value twice.
    #[error(
        "record {0:?}, attribute {1:?}: expected a range from low to high, or a sorted list of at \
         least two values, each once"
    )]
    Disordered(Arc<str>, Arc<str>),
    /// A relation begins or ends at no record.
    #[error("relation with record number {0}: expected one that is there")]
    NoSuchRecord(usize),
    /// A record of the flat form has an attribute that is not one single
    /// value of all its resources.
    #[error(
        "record {0:?}, attribute {1:?}: expected one value of all its resources in the flat form"
    )]
    NotFlat(Arc<str>, Arc<str>),
    /// Only the flat form can be aggregated; this is another.
    #[error("an inventory in the form {0}: expected the flat form")]
    Aggregated(Form),
}

impl Inventory {
    /// An inventory of these records.
    ///
    /// # Errors
    /// [`InventoryError`] when they contradict each other or the form.
    pub fn new(
        form: Form,
        records: Vec<Record>,
        mut relations: Vec<Relation>,
    ) -> Result<Self, InventoryError> {
        let mut ids = BTreeSet::new();
        for record in &records {
            if !ids.insert(&record.id) {
                return Err(InventoryError::SameId(Arc::clone(&record.id)));
            }
            check(form, record)?;
        }
        for index in relations.iter().flat_map(|one| [one.from, one.to]) {
            if index >= records.len() {
                return Err(InventoryError::NoSuchRecord(index));
            }
        }
        relations.sort();
        relations.dedup();
        Ok(Inventory {
            form,
            records,
            relations,
        })
    }

    /// Its form: of an aggregated one the loosest in which any of its
    /// relations is kept.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Its records.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Its relations, sorted by parent, name and child.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The relations of which this record is the parent.
    pub fn relations_of(&self, record: usize) -> &[Relation] {
        let start = self.relations.partition_point(|one| one.from < record);
        let end = self.relations.partition_point(|one| one.from <= record);
        &self.relations[start..end]
    }

    /// The records of a type, with their positions.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (usize, &'a Record)> {
        let records = self.records.iter().enumerate();
        records.filter(move |(_, record)| &*record.kind == kind)
    }
}

fn check(form: Form, record: &Record) -> Result<(), InventoryError> {
    let id = || Arc::clone(&record.id);
    if record.count == 0 {
        return Err(InventoryError::NoResource(id()));
    }
    for (name, attribute) in &record.attributes {
        let (id, name) = (id(), Arc::clone(name));
        if !(1..=record.count).contains(&attribute.count) {
            return Err(InventoryError::Miscounted(id, name));
        }
        let ordered = match &attribute.values {
            Values::Single(_) => true,
            Values::Range(min, max) => min <= max,
            Values::List(values) => values.len() > 1 && values.is_sorted_by(|a, b| a < b),
        };
        if !ordered {
            return Err(InventoryError::Disordered(id, name));
        }
        let single = matches!(attribute.values, Values::Single(_));
        if form == Form::Flat && !(single && attribute.count == record.count) {
            return Err(InventoryError::NotFlat(id, name));
        }
    }
    Ok(())
}
