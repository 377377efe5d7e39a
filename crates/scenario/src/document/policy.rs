//! A policy, and a discipline, as it is written.

use super::Words;
use crate::value::{
    AboveZero, DecisionTime, Identifier, Name, Named as _, Str, Text as _, inline_schema,
};
use gridrig_core::discipline::DisciplineKind;
#[cfg(feature = "schema")]
use gridrig_core::policy::{POLICIES, PolicyEntry, Values};
use serde::{Deserialize, Serialize};
#[cfg(feature = "schema")]
use serde_json::{Value, json};

/// A policy of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", untagged)]
pub enum PolicyText {
    /// One of ours by its name, or as name(key=value,...), which a table with name
    /// and parameters stands for; or the broker's own where that is somebody else's.
    Named(String),
    /// The user's own.
    Own(Own),
}

/// A policy or a discipline of the user's own: a program that is asked in every cycle of
/// a broker, or pass of a cluster. Either exec or lua.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Its name in results.
    pub name: Str<Identifier>,
    /// The program with its arguments. Words that are files are looked for like traces.
    pub exec: Option<Words>,
    /// The program in Lua, or the name of its file, which ends with .lua and is looked for
    /// like a trace.
    pub lua: Option<String>,
    /// With exec: how long an answer may take, in wall time. Default "10s".
    pub timeout: Option<Str<AboveZero>>,
    /// How long a decision takes in the model: a time, or "measured", as long as it took.
    /// Default "0s".
    pub decision_time: Option<Str<DecisionTime>>,
}

impl Own {
    /// What is written, if it is a program of the user's and not one of ours.
    fn read(written: &toml::Value, what: &str) -> Option<Result<Own, String>> {
        let of = |key| written.get(key).is_some();
        if !of("exec") && !of("lua") {
            return None;
        }
        let own = Own::deserialize(written.clone()).map_err(|why| why.to_string());
        let own = own.and_then(|own| match (&own.exec, &own.lua, &own.timeout) {
            (Some(_), None, _) | (None, Some(_), None) => Ok(own),
            (Some(_), Some(_), _) => Err("exec and lua, expected one of them".to_owned()),
            (None, ..) => {
                Err("timeout, expected it beside exec: Lua is bounded by instructions".to_owned())
            }
        });
        Some(own.map_err(|why| {
            let why = why.replace(", expected ", ": expected ");
            format!(
                "no {what}: {written}, expected {{ name = \"mine\", exec = [\"python3\", \
                 \"mine.py\"] }} and at most timeout = \"10s\" beside it, or {{ name = \
                 \"mine\", lua = \"mine.lua\" }} ({})",
                why.trim()
            )
        }))
    }

    /// The file of the program in Lua, if it has one.
    pub fn lua_file(&self) -> Option<&String> {
        let lua = self.lua.as_ref();
        lua.filter(|text| text.ends_with(".lua") && !text.contains('\n'))
    }

    /// What it names that may be a file.
    pub(super) fn files(&mut self) -> impl Iterator<Item = &mut String> {
        let is_file = self.lua_file().is_some();
        let exec = self.exec.iter_mut().flat_map(|exec| &mut exec.0);
        exec.chain(self.lua.as_mut().filter(|_| is_file))
    }
}

/// A discipline of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", untagged)]
pub enum DisciplineText {
    /// One of ours.
    Named(Str<Name<DisciplineKind>>),
    /// The user's own.
    Own(Own),
}

impl DisciplineText {
    /// The name of one of the user's own.
    pub(crate) fn own(&self) -> Option<&str> {
        match self {
            DisciplineText::Named(_) => None,
            DisciplineText::Own(own) => Some(&own.name.0.0),
        }
    }
}

impl TryFrom<toml::Value> for DisciplineText {
    type Error = String;

    fn try_from(written: toml::Value) -> Result<Self, String> {
        if let Some(own) = Own::read(&written, "discipline") {
            return own.map(DisciplineText::Own);
        }
        match written.as_str() {
            Some(text) => Name::read(text)
                .map(|name| DisciplineText::Named(Str(name)))
                .map_err(|expected| format!("{written}, expected {expected}")),
            None => Err(format!("{written}, expected {}", DisciplineKind::WHAT)),
        }
    }
}

inline_schema!([] DisciplineText, "Discipline", |generator| {
    let named = generator.subschema_for::<Str<Name<DisciplineKind>>>().to_value();
    schemars::json_schema!({ "anyOf": [named, generator.subschema_for::<Own>().to_value()] })
});

impl TryFrom<toml::Value> for PolicyText {
    type Error = String;

    fn try_from(written: toml::Value) -> Result<Self, String> {
        if let Some(own) = Own::read(&written, "policy") {
            return own.map(PolicyText::Own);
        }
        let plain = |value: &toml::Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let text = match &written {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Table(table) => table.get("name").map(|name| {
                let given = table.iter().filter(|(key, _)| *key != "name");
                let given = given.map(|(key, value)| format!("{key}={}", plain(value)));
                let given = given.collect::<Vec<_>>().join(",");
                match given.is_empty() {
                    true => plain(name),
                    false => format!("{}({given})", plain(name)),
                }
            }),
            _ => None,
        };
        let text = text.filter(|text| text.len() <= 200).map(PolicyText::Named);
        text.ok_or_else(|| {
            format!(
                "no policy: {written}, expected the name of a policy, at most 200 bytes, or a \
                 table with name and parameters, or with name and exec or lua"
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
    forms.push(generator.subschema_for::<Own>().to_value());
    schemars::json_schema!({ "anyOf": forms })
});

#[cfg(feature = "schema")]
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
