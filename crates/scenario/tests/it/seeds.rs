//! The scenarios that the fuzz target begins with: they are taken, and together they have
//! all that a scenario can have. Each place of them is changed in every way there.

use gridrig_scenario::{Scenario, ScenarioText};
use serde_json::Value;
use std::path::Path;

/// The keys that a schema names, and the texts that a value can be.
fn named(schema: &Value, found: &mut Vec<String>) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match schema {
        Value::Object(of) => {
            let keys = of.get("properties").and_then(Value::as_object);
            found.extend(keys.into_iter().flatten().map(|(key, _)| key.clone()));
            found.extend(of.get("const").and_then(text));
            let texts = of.get("enum").and_then(Value::as_array);
            found.extend(texts.into_iter().flatten().filter_map(text));
            of.values().for_each(|it| named(it, found));
        }
        Value::Array(all) => all.iter().for_each(|it| named(it, found)),
        _ => {}
    }
}

#[test]
fn they_are_taken_and_have_every_key_and_word() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = String::new();
    for file in std::fs::read_dir(project.join("fuzz/seeds/scenario")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|it| it != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let read = |text: &str| {
            let read = Scenario::parse(&ScenarioText {
                file: &file,
                text,
                sets: &[],
                directory: &project.join("resources/scenarios"),
                traces_may_be_missing: true,
            });
            read.unwrap_or_else(|why| panic!("{why}\n{text}"))
        };
        let resolved = read(&text).to_resolved_toml();
        assert_eq!(read(&resolved).to_resolved_toml(), resolved);
        all.push_str(&text);
    }
    let mut wanted = Vec::new();
    let schema = include_str!("../../../../resources/scenario.schema.json");
    named(&serde_json::from_str(schema).unwrap(), &mut wanted);
    wanted.sort();
    wanted.dedup();
    assert!(wanted.len() > 300, "{wanted:?}");
    wanted.retain(|it| !all.contains(it.as_str()));
    assert_eq!(wanted, Vec::<String>::new());
}
