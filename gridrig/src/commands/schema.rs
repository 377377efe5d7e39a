//! `gridrig schema`

use super::whatif::Told;
use super::{print, print_json};
use crate::check::CheckReport;
use crate::cli::SchemaFormat;
use crate::exit::Failure;
use crate::load::Report;
use crate::own_policy::Messages;
use crate::scenario;
use crate::versioned::{CHECK, COMPARE, LOAD, RUN, Runs, TWIN, WHATIF};
use gridrig_results::compare::Comparison;
use gridrig_tracelab::twin::Twin;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

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

/// Prints the schema of a format.
pub(super) fn schema(format: SchemaFormat) -> Result<(), Failure> {
    match format {
        SchemaFormat::Scenario => print_json(&scenario::json_schema()),
        SchemaFormat::Run => print_json(&versioned::<Runs<'_>>(RUN)),
        SchemaFormat::Compare => print_json(&versioned::<Comparison>(COMPARE)),
        SchemaFormat::Check => print_json(&versioned::<CheckReport>(CHECK)),
        SchemaFormat::Load => print_json(&versioned::<Report>(LOAD)),
        SchemaFormat::Twin => print_json(&versioned::<Twin>(TWIN)),
        SchemaFormat::Whatif => print_json(&versioned::<Told<'_>>(WHATIF)),
        SchemaFormat::Policy => print_json(&written::<Messages>()),
        SchemaFormat::Resources => print(include_str!(
            "../../../resources/xsd/emulated-resources.xsd"
        )),
        SchemaFormat::Inventory => print(include_str!("../../../resources/xsd/inventory.xsd")),
        SchemaFormat::Emulator => print(include_str!("../../../resources/openapi/emulator.json")),
        SchemaFormat::Broker => print(include_str!("../../../resources/openapi/broker.json")),
    }
}
