//! A policy as it is written.

use super::Words;
use crate::value::{AboveZero, Identifier, Str, inline_schema};
use gridrig_core::policy::{POLICIES, PolicyEntry, Values};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// A policy of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", untagged)]
pub enum PolicyText {
    /// One of ours by its name, or as name(key=value,...), which a table with name
    /// and parameters stands for; or the broker's own where that is somebody else's.
    Named(String),
    /// The user's own.
    Own(OwnPolicy),
}

/// A policy of the user's own: a program that is asked in every cycle of a broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnPolicy {
    /// Its name in results.
    pub name: Str<Identifier>,
    /// The program with its arguments. Words that are files are looked for like traces.
    pub exec: Words,
    /// How long an answer may take, in wall time. Default "10s".
    pub timeout: Option<Str<AboveZero>>,
}

impl TryFrom<toml::Value> for PolicyText {
    type Error = String;

    fn try_from(written: toml::Value) -> Result<Self, String> {
        if written.get("exec").is_some() {
            let own = OwnPolicy::deserialize(written.clone()).map(PolicyText::Own);
            return own.map_err(|why| {
                let why = why.to_string().replace(", expected ", ": expected ");
                format!(
                    "no policy: {written}, expected {{ name = \"mine\", exec = [\"python3\", \
                     \"mine.py\"] }} and at most timeout = \"10s\" beside it ({})",
                    why.trim()
                )
            });
        }
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
        let text = text.filter(|text| text.len() <= 200).map(PolicyText::Named);
        text.ok_or_else(|| {
            format!(
                "no policy: {written}, expected the name of a policy, at most 200 bytes, or a \
                 table with name and parameters, or with name and exec"
            )
        })
    }
}

inline_schema!([] PolicyText, "Policy", |generator| {
    let names: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
    let other = "name(key=value,...), or of a broker with kind = \"external\"";
    let mut forms = vec![
        json!({ "type": "string", "enum": names }),
        json!({ "type": "string", "description": other }),
    ];
    forms.extend(POLICIES.iter().map(table));
    forms.push(generator.subschema_for::<OwnPolicy>().to_value());
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
