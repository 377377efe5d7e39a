//! The names behind the ids of a trace.

use super::Loaded;
use crate::format::{NAMED, NameTables};

/// Puts the tables of a GWF trace into `loaded`, or the numbers themselves
/// into its jobs where all values of a field are numbers.
pub(super) fn settle(tables: &NameTables, loaded: &mut Loaded) {
    for (at, (field, _)) in NAMED.iter().enumerate() {
        let table = tables.of(at);
        if table.in_order.is_empty() {
            continue;
        }
        let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        if table.any_text {
            let empty = std::iter::once(String::new());
            let names = empty.chain(table.in_order.iter().map(text)).collect();
            loaded.names.insert(field, names);
            continue;
        }
        let numbers: Vec<Option<u32>> = table
            .in_order
            .iter()
            .map(|name| text(name).parse().ok())
            .collect();
        for job in &mut loaded.jobs {
            let id = &mut job.ids[at];
            *id = id.and_then(|id| numbers[id as usize - 1]);
        }
    }
}
