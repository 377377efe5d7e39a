//! The table on the disk.

use super::scan::{Figures, JobNumbers, RunEntry, Scan, State, inspect};
use super::{Labels, Refresh};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// "grig", in the header of the file: whose it is.
const APPLICATION: i32 = 0x6772_6967;
/// Raised when the table changes: a file of another version is made anew.
const VERSION: i32 = 2;
/// How long one program waits while another writes.
const BUSY: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
CREATE TABLE runs (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, state TEXT NOT NULL, reason TEXT,
    scenario TEXT NOT NULL, policy TEXT, seed INTEGER NOT NULL, replication INTEGER NOT NULL,
    key TEXT NOT NULL, varies TEXT, clock TEXT NOT NULL, partial INTEGER NOT NULL, valid INTEGER,
    audit TEXT NOT NULL, scenario_hash TEXT NOT NULL, workload_hash TEXT NOT NULL,
    traces TEXT NOT NULL, versions TEXT NOT NULL, written_unix_s INTEGER,
    submitted INTEGER NOT NULL, completed INTEGER NOT NULL, rejected INTEGER NOT NULL,
    cancelled INTEGER NOT NULL, failed INTEGER NOT NULL, unfinished INTEGER NOT NULL,
    delay_s_mean REAL, delay_s_p95 REAL, wait_s_mean REAL, response_s_mean REAL,
    bounded_slowdown_mean REAL, utilization REAL, forwarding_ratio REAL, waited_share REAL,
    makespan_s REAL, warnings TEXT NOT NULL, tags TEXT NOT NULL, note TEXT NOT NULL,
    baseline INTEGER NOT NULL
) STRICT;
CREATE VIEW tags AS SELECT path, value AS tag FROM runs, json_each(runs.tags);
";

/// The columns in the order of [`values`] and [`entry`].
const COLUMNS: &str = "path, stamp, state, reason, scenario, policy, seed, replication, key, \
    varies, clock, partial, valid, audit, scenario_hash, workload_hash, traces, versions, \
    written_unix_s, submitted, completed, rejected, cancelled, failed, unfinished, delay_s_mean, \
    delay_s_p95, wait_s_mean, response_s_mean, bounded_slowdown_mean, utilization, \
    forwarding_ratio, waited_share, makespan_s, warnings, tags, note, baseline";
const COLUMN_COUNT: usize = 38;

/// Why no table can be kept under this name.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoStore {
    #[error("expected a catalogue of gridrig, found another database (move it away)")]
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

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, NoStore> {
        match Store::open_as_it_is(path) {
            Err(NoStore::Sqlite(error)) if is_damage(&error) => Ok(Store::anew(path)?),
            other => other,
        }
    }

    pub(super) fn in_memory() -> Result<Self, rusqlite::Error> {
        let mut connection = Connection::open_in_memory()?;
        create(&mut connection)?;
        Ok(Store { connection })
    }

    /// Removes what lies under this name and makes an empty table.
    pub(super) fn anew(path: &Path) -> Result<Self, rusqlite::Error> {
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
    pub(super) fn refresh(
        &mut self,
        folder: &Path,
        scan: &Scan,
    ) -> Result<Refresh, rusqlite::Error> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        {
            let mut all = self.connection.prepare("SELECT path, stamp FROM runs")?;
            let mut rows = all.query([])?;
            while let Some(row) = rows.next()? {
                known.insert(row.get(0)?, row.get(1)?);
            }
        }
        let changed = scan.places.iter();
        let changed: Vec<_> = changed
            .filter(|place| known.get(&place.path) != Some(&place.stamp))
            .map(|place| (place, inspect(folder, &place.path)))
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
            let marks = vec!["?"; COLUMN_COUNT].join(", ");
            let text = format!("INSERT OR REPLACE INTO runs ({COLUMNS}) VALUES ({marks})");
            let mut insert = transaction.prepare(&text)?;
            for (place, run) in &changed {
                insert.execute(rusqlite::params_from_iter(values(run, &place.stamp)))?;
            }
        }
        transaction.commit()?;
        Ok(found)
    }

    /// Does something while no other program that has this catalogue open
    /// writes: labels are read, changed and written in one go.
    pub(super) fn locked<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, rusqlite::Error> {
        let behavior = TransactionBehavior::Immediate;
        let lock = self.connection.transaction_with_behavior(behavior)?;
        let done = work();
        lock.commit()?;
        Ok(done)
    }

    pub(super) fn runs(&mut self) -> Result<Vec<RunEntry>, rusqlite::Error> {
        let text = format!("SELECT {COLUMNS} FROM runs ORDER BY path");
        let mut all = self.connection.prepare(&text)?;
        let rows = all.query_map([], entry)?;
        rows.collect()
    }
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
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
fn create(connection: &mut Connection) -> Result<(), rusqlite::Error> {
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

fn values(run: &RunEntry, stamp: &str) -> Vec<Sql> {
    let text = |text: &str| Sql::Text(text.to_owned());
    let some = |text: &Option<String>| text.clone().map_or(Sql::Null, Sql::Text);
    // Above what SQLite counts to, a number is shown as the largest it has.
    let whole = |number: u64| Sql::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let real = |number: Option<f64>| number.map_or(Sql::Null, Sql::Real);
    let flag = |flag: bool| Sql::Integer(i64::from(flag));
    let list = |list: &[String]| Sql::Text(serde_json::Value::from(list.to_vec()).to_string());
    let (jobs, figures) = (&run.jobs, &run.figures);
    vec![
        text(&run.path),
        text(stamp),
        text(run.state.name()),
        some(&run.reason),
        text(&run.scenario),
        some(&run.policy),
        // Seeds use all 64 bits: as they are, with a sign.
        Sql::Integer(run.seed.cast_signed()),
        whole(u64::from(run.replication)),
        text(&run.key),
        some(&run.varies),
        text(&run.clock),
        flag(run.partial),
        run.valid.map_or(Sql::Null, flag),
        text(&run.audit),
        text(&run.scenario_hash),
        text(&run.workload_hash),
        text(&run.traces),
        text(&run.versions),
        run.written_unix_s.map_or(Sql::Null, whole),
        whole(jobs.submitted),
        whole(jobs.completed),
        whole(jobs.rejected),
        whole(jobs.cancelled),
        whole(jobs.failed),
        whole(jobs.unfinished),
        real(figures.delay_s_mean),
        real(figures.delay_s_p95),
        real(figures.wait_s_mean),
        real(figures.response_s_mean),
        real(figures.bounded_slowdown_mean),
        real(figures.utilization),
        real(figures.forwarding_ratio),
        real(figures.waited_share),
        real(figures.makespan_s),
        list(&run.warnings),
        list(&run.labels.tags),
        text(&run.labels.note),
        flag(run.labels.baseline),
    ]
}

fn entry(row: &Row<'_>) -> Result<RunEntry, rusqlite::Error> {
    let list = |index: usize| -> Result<Vec<String>, rusqlite::Error> {
        let text: String = row.get(index)?;
        serde_json::from_str(&text).map_err(|error| {
            let kind = rusqlite::types::Type::Text;
            rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(error))
        })
    };
    let whole = |index: usize| row.get::<_, i64>(index).map(|n| n.try_into().unwrap_or(0));
    let state: String = row.get(2)?;
    Ok(RunEntry {
        path: row.get(0)?,
        state: State::from_name(&state).ok_or(rusqlite::Error::IntegralValueOutOfRange(2, 0))?,
        reason: row.get(3)?,
        scenario: row.get(4)?,
        policy: row.get(5)?,
        seed: row.get::<_, i64>(6)?.cast_unsigned(),
        replication: row.get(7)?,
        key: row.get(8)?,
        varies: row.get(9)?,
        clock: row.get(10)?,
        partial: row.get(11)?,
        valid: row.get(12)?,
        audit: row.get(13)?,
        scenario_hash: row.get(14)?,
        workload_hash: row.get(15)?,
        traces: row.get(16)?,
        versions: row.get(17)?,
        written_unix_s: row
            .get::<_, Option<i64>>(18)?
            .and_then(|s| s.try_into().ok()),
        jobs: JobNumbers {
            submitted: whole(19)?,
            completed: whole(20)?,
            rejected: whole(21)?,
            cancelled: whole(22)?,
            failed: whole(23)?,
            unfinished: whole(24)?,
        },
        figures: Figures {
            delay_s_mean: row.get(25)?,
            delay_s_p95: row.get(26)?,
            wait_s_mean: row.get(27)?,
            response_s_mean: row.get(28)?,
            bounded_slowdown_mean: row.get(29)?,
            utilization: row.get(30)?,
            forwarding_ratio: row.get(31)?,
            waited_share: row.get(32)?,
            makespan_s: row.get(33)?,
        },
        warnings: list(34)?,
        labels: Labels {
            tags: list(35)?,
            note: row.get(36)?,
            baseline: row.get(37)?,
        },
    })
}
