//! The JSON Schema of a scenario file.

use super::raw::RawScenario;
use schemars::generate::SchemaSettings;

/// The JSON Schema (draft 2020-12) of scenario files. Editors that know TOML
/// and JSON Schema complete keys and show what they mean.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<RawScenario>();
    schema.insert("title".to_owned(), "gridrig scenario".into());
    schema.to_value()
}
