//! The table on the disk.

use super::Refresh;
use super::scan::{Place, RunEntry, Scan, inspect};
use crate::rundir::open_file;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

/// "grig", in the header of the file: whose it is.
const APPLICATION: i32 = 0x6772_6967;
/// Raised when the table changes: a file of another version is made anew.
const VERSION: i32 = 3;
/// How long one program waits while another writes.
const BUSY: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
CREATE TABLE runs (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, state TEXT NOT NULL, reason TEXT,
    scenario TEXT NOT NULL, policy TEXT, seed INTEGER NOT NULL, replication INTEGER NOT NULL,
    key TEXT NOT NULL, varies TEXT, clock TEXT NOT NULL, partial INTEGER NOT NULL, valid INTEGER,
    audit TEXT NOT NULL, scenario_hash TEXT NOT NULL, workload_hash TEXT NOT NULL,
    traces TEXT NOT NULL, versions TEXT NOT NULL, written_unix_s INTEGER,
    wall_s REAL, settings TEXT NOT NULL,
    submitted INTEGER NOT NULL, completed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    cancelled INTEGER NOT NULL, failed INTEGER NOT NULL, unfinished INTEGER NOT NULL,
    delay_s_mean REAL, delay_s_p95 REAL, wait_s_mean REAL, response_s_mean REAL,
    bounded_slowdown_mean REAL, utilization REAL, forwarding_ratio REAL, waited_share REAL,
    makespan_s REAL, warnings TEXT NOT NULL, tags TEXT NOT NULL, note TEXT NOT NULL,
    baseline INTEGER NOT NULL
) STRICT;
CREATE VIEW tags AS SELECT path, value AS tag FROM runs, json_each(runs.tags);
";

/// Columns that are yes or no, which SQLite has as numbers.
const FLAGS: [&str; 3] = ["partial", "valid", "baseline"];

/// Columns that are lists, which SQLite has as JSON.
const LISTS: [&str; 3] = ["settings", "warnings", "tags"];

/// Why no table can be kept under this name.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoStore {
    #[error("expected a catalogue of gridrig, found another file (move it away)")]
    Foreign,
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}

#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
}

/// Whether an error means that the file is no whole database.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        // A table or a value of ours that is not as we write it.
        || matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::InvalidColumnIndex(_)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        )
}

/// Whether a file that SQLite cannot read was a catalogue: its header has the
/// number of this application.
fn is_ours(path: &Path) -> bool {
    let mut header = [0; 72];
    let read = open_file(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok()
        && header.starts_with(b"SQLite format 3\0")
        && header.ends_with(&APPLICATION.to_be_bytes())
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, NoStore> {
        match Store::open_as_it_is(path) {
            Err(NoStore::Sqlite(error)) if is_damage(&error) => match is_ours(path) {
                true => Ok(Store::anew(path)?),
                false => Err(NoStore::Foreign),
            },
            other => other,
        }
    }

    pub(super) fn in_memory() -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        create(&mut connection)?;
        Ok(Store { connection })
    }

    /// Removes what lies under this name and makes an empty table.
    pub(super) fn anew(path: &Path) -> rusqlite::Result<Self> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            match fs::remove_file(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(rusqlite::Error::InvalidPath(path.to_owned()));
                }
                _ => {}
            }
        }
        let mut connection = connect(path)?;
        create(&mut connection)?;
        Ok(Store { connection })
    }

    fn open_as_it_is(path: &Path) -> Result<Self, NoStore> {
        let mut connection = connect(path)?;
        let number = |connection: &Connection, name: &str| {
            connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0))
        };
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
            row.get::<_, i64>(0)
        })?;
        let application = number(&connection, "application_id")?;
        if tables > 0 && application != APPLICATION {
            return Err(NoStore::Foreign);
        }
        if tables == 0 || number(&connection, "user_version")? != VERSION {
            create(&mut connection)?;
        }
        Ok(Store { connection })
    }

    /// Brings the rows in line with the directories. What has changed is read
    /// before the lock is taken: two programs may both read it, and write the
    /// same.
    pub(super) fn refresh(&mut self, folder: &Path, scan: &Scan) -> rusqlite::Result<Refresh> {
        let mut known: BTreeMap<String, (String, bool)> = BTreeMap::new();
        {
            let text = "SELECT path, stamp, state = 'running' FROM runs";
            let mut all = self.connection.prepare(text)?;
            let mut rows = all.query([])?;
            while let Some(row) = rows.next()? {
                known.insert(row.get(0)?, (row.get(1)?, row.get(2)?));
            }
        }
        // Whatever its files say, none is listed as running that nobody runs.
        let is_as_listed = |place: &Place| {
            let listed = known.get(&place.path);
            listed.is_some_and(|(stamp, runs)| *stamp == place.stamp && *runs == place.held)
        };
        let changed = scan.places.iter();
        let changed: Vec<_> = changed
            .filter(|place| !is_as_listed(place))
            .map(|place| (place, inspect(folder, place)))
            .collect();
        let there: BTreeSet<&str> = scan.places.iter().map(|p| p.path.as_str()).collect();
        let gone: Vec<&String> = known
            .keys()
            .filter(|p| !there.contains(p.as_str()))
            .collect();
        let found = Refresh {
            read: changed.len() as u64,
            unchanged: (scan.places.len() - changed.len()) as u64,
            gone: gone.len() as u64,
            ..Refresh::default()
        };
        if changed.is_empty() && gone.is_empty() {
            return Ok(found);
        }
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        for path in gone {
            transaction.execute("DELETE FROM runs WHERE path = ?1", [path])?;
        }
        {
            let all = transaction.prepare("SELECT * FROM runs")?;
            let columns: Vec<&str> = all.column_names().collect();
            let marks = vec!["?"; columns.len()].join(", ");
            let text = format!("INSERT OR REPLACE INTO runs VALUES ({marks})");
            let mut insert = transaction.prepare(&text)?;
            for (place, run) in &changed {
                let values = values(run, &place.stamp, &columns);
                insert.execute(rusqlite::params_from_iter(values))?;
            }
        }
        transaction.commit()?;
        Ok(found)
    }

    /// Does something while no other program that has this catalogue open
    /// writes: labels are read, changed and written in one go.
    pub(super) fn locked<T>(&mut self, work: impl FnOnce() -> T) -> rusqlite::Result<T> {
        let behavior = TransactionBehavior::Immediate;
        let lock = self.connection.transaction_with_behavior(behavior)?;
        let done = work();
        lock.commit()?;
        Ok(done)
    }

    pub(super) fn runs(&mut self) -> rusqlite::Result<Vec<RunEntry>> {
        let mut all = self
            .connection
            .prepare("SELECT * FROM runs ORDER BY path")?;
        let rows = all.query_map([], entry)?;
        rows.collect()
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // Readers do not wait for a writer. Where the file system cannot do it,
    // SQLite stays with what it had, which is right as well.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Makes the table in place of whatever version of it is there.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let behavior = TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(behavior)?;
    // Somebody else may have been faster.
    let tables = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if tables > 0 && version == VERSION {
        return transaction.commit();
    }
    transaction.execute_batch("DROP VIEW IF EXISTS tags; DROP TABLE IF EXISTS runs;")?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// A run as a row: what these columns have of it, by the names of its fields.
fn values(run: &RunEntry, stamp: &str, columns: &[&str]) -> Vec<Sql> {
    let mut fields = serde_json::to_value(run).unwrap_or_default();
    fields["stamp"] = stamp.into();
    let value = |column: &&str| match &fields[*column] {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::String(text) => Sql::Text(text.clone()),
        // Seeds use all 64 bits: as they are, with a sign.
        Value::Number(seed) if *column == "seed" => {
            Sql::Integer(seed.as_u64().unwrap_or(0).cast_signed())
        }
        Value::Number(number) if number.is_f64() => number.as_f64().map_or(Sql::Null, Sql::Real),
        // Above what SQLite counts to, a number is shown as the largest it has.
        Value::Number(number) => Sql::Integer(number.as_i64().unwrap_or(i64::MAX)),
        list => Sql::Text(list.to_string()),
    };
    columns.iter().map(value).collect()
}

/// A row as a run.
fn entry(row: &Row<'_>) -> rusqlite::Result<RunEntry> {
    let wrong = |error: serde_json::Error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
    };
    let mut fields = serde_json::Map::new();
    for (index, name) in row.as_ref().column_names().enumerate() {
        let value = match row.get(index)? {
            Sql::Integer(flag) if FLAGS.contains(&name) => Value::from(flag != 0),
            Sql::Integer(seed) if name == "seed" => Value::from(seed.cast_unsigned()),
            Sql::Integer(number) => Value::from(number),
            Sql::Real(number) => Value::from(number),
            Sql::Text(list) if LISTS.contains(&name) => {
                serde_json::from_str(&list).map_err(wrong)?
            }
            Sql::Text(text) => Value::from(text),
            Sql::Null | Sql::Blob(_) => Value::Null,
        };
        fields.insert(name.to_owned(), value);
    }
    serde_json::from_value(Value::Object(fields)).map_err(wrong)
}
