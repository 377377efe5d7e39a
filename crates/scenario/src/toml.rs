//! A document as TOML: a header for each table that a reader looks for, all
//! others inline.

use crate::document::Document;
use serde_json::Value;

/// The table inside another one that has a header of its own.
const BROKER: &str = "broker";

/// Tables whose keys are names that the user gives: always quoted, numbers in
/// their order.
const OWN_NAMES: [&str; 6] = [
    "architecture",
    "components",
    "files",
    "generic_resources",
    "memory_mib",
    "os",
];

/// The text. What is not there is left out: TOML has no null.
pub(crate) fn of(document: &Document) -> String {
    let mut out = String::new();
    // A document has only strings as keys and no number that JSON has not.
    let value = serde_json::to_value(document).unwrap_or_default();
    for (name, value) in keys(&value) {
        match value {
            Value::Array(tables) => {
                for table in tables {
                    section(&mut out, &format!("[[{name}]]"), name, table);
                }
            }
            table => section(&mut out, &format!("[{name}]"), name, table),
        }
    }
    out
}

/// The keys that are there.
pub(crate) fn keys(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let keys = value.as_object().into_iter().flatten();
    keys.filter(|(_, value)| !value.is_null())
}

fn section(out: &mut String, header: &str, name: &str, table: &Value) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&format!("{header}\n"));
    for (key, value) in keys(table).filter(|(key, _)| *key != BROKER) {
        out.push_str(&format!("{key} = {}\n", entry(key, value)));
    }
    if let Some(broker) = table.get(BROKER) {
        section(out, &format!("[{name}.{BROKER}]"), name, broker);
    }
}

/// A list of tables has a line for each.
fn entry(key: &str, value: &Value) -> String {
    match value {
        Value::Array(list) if list.iter().any(Value::is_object) => {
            let tables: Vec<String> = list.iter().map(inline).collect();
            format!("[\n    {},\n]", tables.join(",\n    "))
        }
        Value::Object(_) => table(value, OWN_NAMES.contains(&key)),
        _ => inline(value),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => number.to_string(),
            None => number.to_string(),
        },
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(inline).collect();
            format!("[{}]", list.join(", "))
        }
        Value::Object(_) => table(value, false),
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}

fn table(value: &Value, own_names: bool) -> String {
    let mut entries: Vec<(&String, &Value)> = keys(value).collect();
    if own_names {
        entries.sort_by_key(|(key, _)| key.parse::<u64>().ok());
    }
    let entries = entries.into_iter().map(|(key, value)| {
        let value = entry(key, value);
        match own_names {
            true => format!("{} = {value}", name(key)),
            false => format!("{key} = {value}"),
        }
    });
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

/// A key, in one line as keys have to be: TOML takes JSON's escapes, and wants one more.
fn name(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn string(text: &str) -> String {
    ::toml::Value::String(text.to_owned()).to_string()
}
