//! What a run wrote, as rows of text: every table and document of its directory.

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Error, Result};
use std::path::Path;

/// What stands in the manifest and is no result: when and where it was written,
/// and digests of what is compared row by row.
const NO_RESULTS: [&str; 4] = ["host", "versions", "files", "scenario_hash"];

/// The tables of one run by their names.
pub type Run = BTreeMap<String, Table>;

/// The runs of one scenario, as `POLICY/rNNN`.
pub type Runs = BTreeMap<String, Run>;

/// Rows of text under named columns. A null is empty, an empty text is `""`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<const N: usize>(columns: [&str; N]) -> Self {
        Table {
            columns: columns.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// A document: the path of each value, and the value.
    pub fn of_document(document: &Value) -> Self {
        let mut table = Table::new(["path", "value"]);
        table.add_values(&mut String::new(), document);
        table
    }

    /// Lines of text by their number.
    pub fn of_lines(text: &str) -> Self {
        let mut table = Table::new(["line", "text"]);
        let lines = text.lines().zip(1..);
        table.rows = lines
            .map(|(line, number)| vec![number.to_string(), cell(line)])
            .collect();
        table
    }

    fn add_values(&mut self, path: &mut String, value: &Value) {
        let end = path.len();
        let mut add = |key: &dyn std::fmt::Display, value: &Value| {
            let dot = if end == 0 { "" } else { "." };
            write!(path, "{dot}{key}").expect("a text grows");
            self.add_values(path, value);
            path.truncate(end);
        };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, value)| add(key, value)),
            Value::Array(list) => list.iter().zip(0..).for_each(|(value, at)| add(&at, value)),
            Value::String(text) => self.rows.push(vec![path.clone(), cell(text)]),
            Value::Null => self.rows.push(vec![path.clone(), String::new()]),
            other => self.rows.push(vec![path.clone(), other.to_string()]),
        }
    }
}

/// A text in one line without tabs.
fn cell(text: &str) -> String {
    match text {
        "" => "\"\"".to_owned(),
        text => text.replace('\t', "\\t").replace('\n', "\\n"),
    }
}

/// Everything in a run directory but the files that are not asked for.
///
/// # Errors
/// Files that are missing or no tables.
pub fn read_run(dir: &Path, left_out: &dyn Fn(&str) -> bool) -> Result<Run> {
    let mut run = Run::new();
    for file in fs::read_dir(dir)? {
        let file = file?;
        if left_out(&file.file_name().to_string_lossy()) {
            continue;
        }
        let path = file.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = || fs::read_to_string(&path);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("parquet") => run.insert(name.into_owned(), parquet(&path)?),
            Some("csv") => run.insert(format!("{name}-csv"), csv(&text()?)),
            Some("json") => {
                let mut document: Value = serde_json::from_str(&text()?)?;
                let fields = document.as_object_mut().expect("a document of fields");
                fields.retain(|name, _| !NO_RESULTS.contains(&name.as_str()));
                let summary = fields.shift_remove("summary").unwrap_or_default();
                run.insert("summary".to_owned(), Table::of_document(&summary));
                run.insert(name.into_owned(), Table::of_document(&document))
            }
            Some("toml") => {
                let document: Value = toml::from_str(&text()?).map_err(Error::other)?;
                run.insert(name.into_owned(), Table::of_document(&document))
            }
            _ => run.insert(name.into_owned(), Table::of_lines(&text()?)),
        };
    }
    Ok(run)
}

fn parquet(path: &Path) -> Result<Table> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(Error::other)?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let columns = schema.get_fields().iter();
    let mut table = Table {
        columns: columns.map(|column| column.name().to_owned()).collect(),
        rows: Vec::new(),
    };
    for row in reader.get_row_iter(None).map_err(Error::other)? {
        let row = row.map_err(Error::other)?;
        let fields = row.get_column_iter().map(|(_, field)| field);
        table.rows.push(fields.map(shown).collect());
    }
    Ok(table)
}

fn shown(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => cell(text),
        Field::Double(number) => number.to_string(),
        other => other.to_string(),
    }
}

/// Our own comma-separated tables quote nothing that holds a comma.
fn csv(text: &str) -> Table {
    let mut lines = text.lines();
    let cells = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    Table {
        columns: lines.next().map(cells).unwrap_or_default(),
        rows: lines.map(cells).collect(),
    }
}

/// The runs as one text: a line with run, table and columns before the rows of
/// each table, tabs between cells.
pub fn write(runs: &Runs) -> String {
    let mut text = String::new();
    for (run, tables) in runs {
        for (name, table) in tables {
            let columns = table.columns.join("\t");
            writeln!(text, "# {run}\t{name}\t{columns}").expect("a text grows");
            for row in &table.rows {
                text.push_str(&row.join("\t"));
                text.push('\n');
            }
        }
    }
    text
}

/// The runs that [`write`] has written.
pub fn read(text: &str) -> Runs {
    let mut runs = Runs::new();
    let mut table = &mut Table::default();
    for line in text.lines() {
        let mut cells = line.split('\t').map(str::to_owned);
        if let Some(head) = line.strip_prefix("# ") {
            let run = head.split('\t').next().unwrap_or_default();
            let run = runs.entry(run.to_owned()).or_default();
            let name = cells.nth(1).unwrap_or_default();
            table = run.entry(name).or_default();
            table.columns = cells.collect();
        } else {
            table.rows.push(cells.collect());
        }
    }
    runs
}
