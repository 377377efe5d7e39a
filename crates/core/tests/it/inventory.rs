//! Aggregation and matching of inventories, on the example of LA Grid and on
//! seeded ones.

mod accuracy;
mod matching;
mod sites;
mod table_2;

use gridrig_core::inventory::{Form, Inventory, Record, Schema, names};

fn in_form(flat: &Inventory, form: Form) -> Inventory {
    flat.in_form(form, &Schema::la_grid()).unwrap()
}

fn count(inventory: &Inventory, kind: &str) -> usize {
    inventory.of_kind(kind).count()
}

/// The one record of this type that shows all of these values.
fn record<'a>(inventory: &'a Inventory, kind: &str, shown: &[(&str, &str)]) -> &'a Record {
    let is = |record: &&Record| {
        shown.iter().all(|(name, text)| {
            let value = record.attribute(name);
            value.is_some_and(|value| value.values.to_string() == *text)
        })
    };
    let of_kind = inventory.records().iter().filter(|one| &*one.kind == kind);
    let found: Vec<&Record> = of_kind.filter(is).collect();
    assert_eq!(found.len(), 1, "{kind} {shown:?}: {inventory:#?}");
    found[0]
}

/// What this record is related to, by one attribute of the other end.
fn related(inventory: &Inventory, from: &Record, name: &str, shown: &str) -> Vec<String> {
    let position = inventory.records().iter().position(|one| one.id == from.id);
    let relations = inventory.relations_of(position.unwrap()).iter();
    let mut ends: Vec<String> = relations
        .filter(|relation| &*relation.name == name)
        .map(|relation| &inventory.records()[relation.to])
        .filter_map(|end| Some(end.attribute(shown)?.values.to_string()))
        .collect();
    ends.sort();
    ends
}

/// Operating systems that it contains.
fn systems_on(inventory: &Inventory, from: &Record) -> Vec<String> {
    related(inventory, from, names::CONTAINS, names::OS_TYPE)
}
