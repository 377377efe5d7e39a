//! `gridrig schema`

use super::{print, print_json};
use crate::cli::SchemaFormat;
use crate::exit::Failure;
use crate::scenario;

/// Prints the schema of a format.
pub(super) fn schema(format: SchemaFormat) -> Result<(), Failure> {
    match format {
        SchemaFormat::Scenario => print_json(&scenario::json_schema()),
        SchemaFormat::Resources => print(include_str!(
            "../../../resources/xsd/emulated-resources.xsd"
        )),
        SchemaFormat::Inventory => print(include_str!("../../../resources/xsd/inventory.xsd")),
        SchemaFormat::Emulator => print(include_str!("../../../resources/openapi/emulator.json")),
        SchemaFormat::Broker => print(include_str!("../../../resources/openapi/broker.json")),
    }
}
