//! The schemas that are made from our types, against the files that are shipped.

use super::text;
use crate::check::CheckReport;
use crate::cli::SchemaFormat;
use crate::commands::whatif::Told;
use crate::load::Report;
use crate::own_policy::Messages;
use crate::scenario::json_schema;
use crate::versioned::{CHECK, COMPARE, LOAD, RUN, Runs, TWIN, WHATIF};
use clap::ValueEnum as _;
use gridrig_results::compare::Comparison;
use gridrig_tracelab::twin::Twin;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::path::Path;

/// Set to write the files instead of comparing them.
const BLESS: &str = "GRIDRIG_BLESS";

/// The JSON Schema of what is written.
fn written<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()
}

/// The same of a versioned document.
fn versioned<T: JsonSchema>(name: &str) -> Value {
    let mut schema = written::<T>();
    schema["properties"]["schema"] = json!({
        "const": name,
        "description": "Name and version of this schema. The version rises when a field goes or \
                        means something else, not when one is added.",
    });
    if let Some(required) = schema["required"].as_array_mut() {
        required.insert(0, json!("schema"));
    }
    schema
}

/// The file of a format among the resources and what it has to say; `None` if its schema is
/// not made from types of ours here.
fn made(format: SchemaFormat) -> Option<(&'static str, Value)> {
    Some(match format {
        SchemaFormat::Scenario => ("scenario.schema.json", json_schema()),
        SchemaFormat::Run => ("schemas/run.schema.json", versioned::<Runs<'_>>(RUN)),
        SchemaFormat::Compare => (
            "schemas/compare.schema.json",
            versioned::<Comparison>(COMPARE),
        ),
        SchemaFormat::Check => ("schemas/check.schema.json", versioned::<CheckReport>(CHECK)),
        SchemaFormat::Load => ("schemas/load.schema.json", versioned::<Report>(LOAD)),
        SchemaFormat::Twin => ("schemas/twin.schema.json", versioned::<Twin>(TWIN)),
        SchemaFormat::Whatif => ("schemas/whatif.schema.json", versioned::<Told<'_>>(WHATIF)),
        SchemaFormat::Policy => ("schemas/policy.schema.json", written::<Messages>()),
        SchemaFormat::Resources
        | SchemaFormat::Inventory
        | SchemaFormat::Emulator
        | SchemaFormat::Broker => return None,
    })
}

#[test]
fn the_shipped_schemas_are_those_of_the_types() {
    let resources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources");
    let mut old = Vec::new();
    for format in SchemaFormat::value_variants() {
        let Some((file, schema)) = made(*format) else {
            continue;
        };
        let current = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os(BLESS).is_some() {
            std::fs::write(resources.join(file), &current).unwrap();
        } else if text(*format) != current {
            old.push(file);
        }
    }
    assert!(
        old.is_empty(),
        "out of date in resources: {old:?}: set {BLESS}=1"
    );
}
