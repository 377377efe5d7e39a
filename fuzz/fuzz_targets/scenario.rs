//! Any text is a scenario or is refused; one that is taken is written resolved,
//! and that is the same scenario.

#![no_main]

use gridrig_scenario::document::{Document, Own};
use gridrig_scenario::{Scenario, ScenarioText, confined};
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

/// The files that the scenarios of a directory name.
fn named(directory: &Path) -> HashSet<String> {
    let files = std::fs::read_dir(directory).expect("the shipped scenarios");
    let texts = files.map(|file| {
        let path = file.expect("a file").path();
        std::fs::read_to_string(path).expect("a scenario")
    });
    texts.flat_map(|text| confined::files(&text)).collect()
}

/// A policy of the user's own: what is read of it is a value by then.
fn own_policy(documents: &[Vec<u8>]) -> gridrig_fuzz::Texts {
    gridrig_fuzz::forms_within::<Own>("run = { policies = [@] }\n", documents)
}

fn own_discipline(documents: &[Vec<u8>]) -> gridrig_fuzz::Texts {
    gridrig_fuzz::forms_within::<Own>("cluster = { discipline = @ }\n", documents)
}

gridrig_fuzz::changes_text!(toml: gridrig_fuzz::forms::<Document>, own_policy, own_discipline);

fuzz_target!(|text: &str| {
    static NAMED: OnceLock<HashSet<String>> = OnceLock::new();
    let project = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let shipped = project.join("resources/scenarios");
    let file = shipped.join("fuzz.toml");
    let of = |text| ScenarioText {
        file: &file,
        text,
        sets: &[],
        directory: project,
        traces_may_be_missing: true,
    };
    // It may name the files that the shipped scenarios name, and such as are in the project.
    let named = NAMED.get_or_init(|| named(&shipped));
    let may_read =
        |name: &str| named.contains(name) || !name.starts_with('/') && !name.contains("..");
    let Ok(scenario) = Scenario::parse_confined(&of(text), Some(&may_read)) else {
        return;
    };
    // It names the files that were found, from the directory of the project.
    let resolved = scenario.to_resolved_toml();
    let again = Scenario::parse(&of(&resolved)).expect("what is written resolved is read");
    assert_eq!(again.to_resolved_toml(), resolved);
});
