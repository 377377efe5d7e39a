//! The JSON Schema of a scenario file.

use super::document::Document;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (draft 2020-12) of scenario files. Editors that know TOML
/// and JSON Schema complete keys and show what they mean.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), "gridrig scenario".into());
    let mut schema = schema.to_value();
    remove_null(&mut schema);
    schema
}

/// Takes the type null out of every schema: an optional key is left out, TOML
/// has no null to give it.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        Value::Object(object) => {
            object.values_mut().for_each(remove_null);
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(names)) = object.get_mut("enum") {
                names.retain(|name| !name.is_null());
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| option["type"] != "null");
                if let [Value::Object(only)] = options.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
        }
        _ => {}
    }
}
