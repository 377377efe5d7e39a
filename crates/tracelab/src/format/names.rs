//! Names in place of numbers.

use super::header::{Header, TABLE_KEY_PREFIX};
use super::record::{COLUMN_NAMES, Record, canonical_number};
use crate::error::{Result, TraceError, field_name};
use std::collections::{BTreeMap, HashMap};

/// The fields of a job that may be names, with their GWF columns.
pub const NAMED: [(&str, usize); 7] = [
    ("user", 12),
    ("group", 13),
    ("executable", 14),
    ("queue", 15),
    ("partition", 16),
    ("site", 17),
    ("account", 29),
];

/// Places in [`NAMED`].
pub const USER: usize = 0;
/// The group.
pub const GROUP: usize = 1;
/// The executable.
pub const EXECUTABLE: usize = 2;
/// The queue.
pub const QUEUE: usize = 3;
/// The partition.
pub const PARTITION: usize = 4;
/// The site.
pub const SITE: usize = 5;
/// The account, which GWF calls project; SWF has none.
pub const ACCOUNT: usize = 6;

/// The ids of a job in the fields of [`NAMED`], in their order.
pub type Ids = [Option<u32>; NAMED.len()];

/// The place in [`NAMED`] of a column of GWF, or of a field of SWF up to 16.
pub(crate) fn place(column: usize) -> Option<usize> {
    NAMED.iter().position(|named| named.1 == column)
}

/// Names of one field take no more bytes than this in memory: what has more
/// of them has no ids that recur.
const MAX_NAME_BYTES: usize = 64 << 20;

/// What a name costs beside its text, about.
const NAME_OVERHEAD: usize = 64;

/// The distinct values of one field in order of first appearance, numbered
/// from 1: in SWF 0 has a meaning of its own in the queue field.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    /// All values in order; the first has number 1.
    pub in_order: Vec<Vec<u8>>,
    bytes: usize,
    /// Whether some value is more than a number of 32 bits. If none is, the
    /// values need no table: they stand for themselves.
    pub any_text: bool,
}

/// [`Names::number`] was asked to keep too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamesFull;

impl Names {
    /// The number of a value, a new one if it is new.
    ///
    /// # Errors
    /// [`NamesFull`] when the names would take too much memory.
    pub fn number(&mut self, name: &[u8]) -> Result<u32, NamesFull> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        self.bytes += 2 * name.len() + NAME_OVERHEAD;
        let number = u32::try_from(self.in_order.len() + 1).map_err(|_| NamesFull)?;
        if self.bytes > MAX_NAME_BYTES {
            return Err(NamesFull);
        }
        self.any_text |= canonical_number(name).is_none_or(|n| n > u64::from(u32::MAX));
        self.numbers.insert(name.to_vec(), number);
        self.in_order.push(name.to_vec());
        Ok(number)
    }

    /// The number of a value that has one.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.numbers.get(name).copied()
    }
}

/// [`Names`] for each of the fields of [`NAMED`].
#[derive(Clone, Debug, Default)]
pub struct NameTables {
    tables: [Names; NAMED.len()],
}

impl NameTables {
    /// Takes in the names of a job and answers their numbers.
    ///
    /// # Errors
    /// [`TraceError::Line`] when there are too many; `file` is the name used in it.
    pub fn take(&mut self, record: &Record, file: &str) -> Result<Ids> {
        let mut numbers = Ids::default();
        for ((table, number), (_, column)) in self.tables.iter_mut().zip(&mut numbers).zip(NAMED) {
            let Some(name) = record.column(column) else {
                continue;
            };
            let found = table.number(name).map_err(|NamesFull| {
                let field = field_name(column, &COLUMN_NAMES);
                let problem = format!(
                    "field {field}: its names take more than {MAX_NAME_BYTES} bytes: expected \
                     ids that recur"
                );
                TraceError::line(file, record.line, problem)
            })?;
            *number = Some(found);
        }
        Ok(numbers)
    }

    /// The table of a field, by its place in [`NAMED`].
    pub fn of(&self, field: usize) -> &Names {
        &self.tables[field]
    }
}

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
