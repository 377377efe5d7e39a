//! The names behind the ids of a trace.

use super::{Loaded, TraceJob};
use crate::gwf::{COLUMN_NAMES, NAMED, NameTables};
use crate::swf::{Header, TABLE_KEY_PREFIX};
use std::collections::BTreeMap;

/// A table may be so long whatever it holds.
const MANY_IDS: usize = 1 << 16;

/// The header key of the table of a column.
pub(crate) fn table_key(column: usize) -> String {
    format!("{TABLE_KEY_PREFIX}{}", COLUMN_NAMES[column - 1])
}

/// The names that a conversion from GWF wrote into an SWF header: lines
/// `; GWF-UserID: 7 U2004S1`. Entry 0 and entries without a line are empty.
pub(crate) fn from_header(header: &Header) -> BTreeMap<&'static str, Vec<String>> {
    let mut tables = BTreeMap::new();
    for (field, column) in NAMED {
        let lines = header.values(&table_key(column));
        let mut names: Vec<String> = Vec::new();
        for (id, name) in lines.iter().filter_map(|line| line.split_once(' ')) {
            // Ids run from 1 with few holes; a large one in a foreign header
            // must not make a large table.
            let most = lines.len() * 64 + MANY_IDS;
            let Some(id) = id.parse().ok().filter(|id| *id <= most) else {
                continue;
            };
            if names.len() <= id {
                names.resize(id + 1, String::new());
            }
            name.trim().clone_into(&mut names[id]);
        }
        if !names.is_empty() {
            tables.insert(field, names);
        }
    }
    tables
}

/// Puts the tables of a GWF trace into `loaded`, or the numbers themselves
/// into its jobs where all values of a field are numbers.
pub(super) fn settle(tables: &NameTables, loaded: &mut Loaded) {
    for (at, (field, _)) in NAMED.iter().enumerate() {
        let table = tables.of(at);
        if table.in_order().is_empty() {
            continue;
        }
        let text = |name: &Vec<u8>| String::from_utf8_lossy(name).into_owned();
        if table.any_text() {
            let empty = std::iter::once(String::new());
            let names = empty.chain(table.in_order().iter().map(text)).collect();
            loaded.names.insert(field, names);
            continue;
        }
        let numbers: Vec<Option<u32>> = table
            .in_order()
            .iter()
            .map(|name| text(name).parse().ok())
            .collect();
        for job in &mut loaded.jobs {
            let id = id_of(job, at);
            *id = id.and_then(|id| numbers[id as usize - 1]);
        }
    }
}

/// The id of a field, by its place in [`NAMED`].
fn id_of(job: &mut TraceJob, field: usize) -> &mut Option<u32> {
    match field {
        0 => &mut job.user,
        1 => &mut job.group,
        2 => &mut job.executable,
        3 => &mut job.queue,
        4 => &mut job.partition,
        _ => &mut job.site,
    }
}
