//! A policy as it is written.

use crate::value::inline_schema;
use gridrig_core::policy::{POLICIES, PolicyEntry, Values};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// One of ours by its name, or as name(key=value,...), which a table with name
/// and parameters stands for; or the broker's own where that is somebody else's.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "toml::Value")]
pub struct PolicyText(pub String);

impl TryFrom<toml::Value> for PolicyText {
    type Error = String;

    fn try_from(written: toml::Value) -> Result<Self, String> {
        let plain = |value: &toml::Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let text = match &written {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Table(table) => table.get("name").map(|name| {
                let given = table.iter().filter(|(key, _)| *key != "name");
                let given = given.map(|(key, value)| format!("{key}={}", plain(value)));
                let given = given.collect::<Vec<_>>().join(",");
                let brackets = if given.is_empty() {
                    ""
                } else {
                    &format!("({given})")
                };
                format!("{}{brackets}", plain(name))
            }),
            _ => None,
        };
        let text = text.filter(|text| text.len() <= 200).map(PolicyText);
        text.ok_or_else(|| {
            format!(
                "no policy: {written}, expected the name of a policy, at most 200 bytes, or a \
                 table with name and parameters"
            )
        })
    }
}

inline_schema!([] PolicyText, "Policy", |_| {
    let names: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
    let other = "name(key=value,...), or of a broker with kind = \"external\"";
    let mut forms = vec![
        json!({ "type": "string", "enum": names }),
        json!({ "type": "string", "description": other }),
    ];
    forms.extend(POLICIES.iter().map(table));
    json_schema!({ "anyOf": forms })
});

fn table(entry: &PolicyEntry) -> Value {
    let mut properties = json!({ "name": { "const": entry.name } });
    for parameter in entry.all_parameters() {
        properties[parameter.name] = match parameter.values {
            Values::Number(most) => {
                json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most })
            }
            Values::Whole(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
            Values::Word(words) if words() == ["false", "true"] => json!({ "type": "boolean" }),
            Values::Word(words) => json!({ "type": "string", "enum": words() }),
            Values::Time => json!({ "type": "string" }),
        };
    }
    json!({
        "type": "object",
        "description": entry.summary,
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
    })
}
