//! `gridrig schema`

#[cfg(test)]
mod tests;

use super::print;
use crate::cli::SchemaFormat;
use crate::exit::Failure;
use gridrig_service::Service;

/// Prints the schema of a format.
pub(super) fn schema(format: SchemaFormat) -> Result<(), Failure> {
    print(text(format))
}

/// The shipped file. Those in JSON Schema and in OpenAPI are made from the types by tests, so
/// that the program has no code for it.
fn text(format: SchemaFormat) -> &'static str {
    match format {
        SchemaFormat::Scenario => include_str!("../../../resources/scenario.schema.json"),
        SchemaFormat::Run => include_str!("../../../resources/schemas/run.schema.json"),
        SchemaFormat::Compare => include_str!("../../../resources/schemas/compare.schema.json"),
        SchemaFormat::Check => include_str!("../../../resources/schemas/check.schema.json"),
        SchemaFormat::Load => include_str!("../../../resources/schemas/load.schema.json"),
        SchemaFormat::Twin => include_str!("../../../resources/schemas/twin.schema.json"),
        SchemaFormat::Whatif => include_str!("../../../resources/schemas/whatif.schema.json"),
        SchemaFormat::Policy => include_str!("../../../resources/schemas/policy.schema.json"),
        SchemaFormat::Resources => include_str!("../../../resources/xsd/emulated-resources.xsd"),
        SchemaFormat::Inventory => include_str!("../../../resources/xsd/inventory.xsd"),
        SchemaFormat::Emulator => gridrig_emulator::Config::OPENAPI,
        SchemaFormat::Broker => gridrig_metabroker_stub::Config::OPENAPI,
    }
}
