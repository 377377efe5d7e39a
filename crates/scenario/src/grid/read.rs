//! Reads the grid of a manifest, also of one from before a key was there.

use super::GridDoc;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value};

/// Reads the entries one by one: an error names its field.
impl<'de> Deserialize<'de> for GridDoc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Entries {
            domains: Vec<Map<String, Value>>,
            clusters: Vec<Map<String, Value>>,
            links: Vec<Map<String, Value>>,
        }
        let mut entries = Entries::deserialize(deserializer)?;
        for domain in &mut entries.domains {
            // It was a text once.
            if let Some(promotion) = domain.get_mut("origin_promotion")
                && let Some(number) = promotion.as_str().and_then(|text| text.parse::<f64>().ok())
            {
                *promotion = number.into();
            }
        }
        Ok(GridDoc {
            domains: read_entries("domains", entries.domains).map_err(D::Error::custom)?,
            clusters: read_entries("clusters", entries.clusters).map_err(D::Error::custom)?,
            links: read_entries("links", entries.links).map_err(D::Error::custom)?,
        })
    }
}

fn read_entries<T: DeserializeOwned>(
    list: &str,
    entries: Vec<Map<String, Value>>,
) -> Result<Vec<T>, String> {
    let read = |(index, entry): (usize, Map<String, Value>)| {
        let read = serde_json::from_value(Value::Object(entry.clone()));
        read.map_err(|error| {
            let path = format!("grid.{list}[{index}]");
            let error = error.to_string();
            // The field is the one without which this is not what is wrong;
            // that it is missing then counts only if it has to be there.
            let without = |key: &String| {
                let mut rest = entry.clone();
                rest.shift_remove(key);
                let read = serde_json::from_value::<T>(Value::Object(rest));
                read.err().map(|error| error.to_string())
            };
            let at_fault = |required: bool| {
                entry.iter().find(|(key, _)| {
                    let other = without(key);
                    let missing = |error: &String| error.starts_with("missing field");
                    other.as_ref() != Some(&error)
                        && other.as_ref().is_some_and(missing) == required
                })
            };
            let at_fault = at_fault(false).or_else(|| at_fault(true));
            match (at_fault, error.rfind(", expected ")) {
                (Some((key, value)), Some(at)) => {
                    let expected = &error[at + ", expected ".len()..];
                    format!("field {path}.{key} = {value}: expected {expected}")
                }
                _ => format!("field {path}: {error}"),
            }
        })
    };
    entries.into_iter().enumerate().map(read).collect()
}
