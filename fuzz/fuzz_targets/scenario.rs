//! Any text is a scenario or is refused; one that is taken is written resolved,
//! and that is the same scenario.

#![no_main]

use gridrig_scenario::{Scenario, ScenarioText};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// It may name the files that the project ships, and no others.
fn parse(text: &str) -> Option<Scenario> {
    let shipped = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../resources/scenarios"
    ));
    let may_read = |name: &str| !name.starts_with('/') && !name.contains("..");
    let text = ScenarioText {
        file: &shipped.join("fuzz.toml"),
        text,
        sets: &[],
        directory: shipped,
        traces_may_be_missing: true,
    };
    Scenario::parse_confined(&text, Some(&may_read)).ok()
}

gridrig_fuzz::changes_text!();

fuzz_target!(|text: &str| {
    let Some(scenario) = parse(text) else { return };
    let resolved = scenario.to_resolved_toml();
    let again = parse(&resolved).expect("what is written resolved is read");
    assert_eq!(again.to_resolved_toml(), resolved);
});
