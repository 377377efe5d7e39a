//! Real components that a machine may lack.

use std::path::PathBuf;

/// The folder of real traces; says that the test is skipped where there is
/// none, and fails it where nothing may be skipped.
pub fn archive(test: &str) -> Option<PathBuf> {
    let beside = crate::command::root().join("../shared/traces");
    let folder = std::env::var_os("GRIDRIG_ARCHIVE").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder.canonicalize().expect("a folder that is there"));
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(
        !required,
        "{test} needs the trace archive (GRIDRIG_ARCHIVE)"
    );
    println!("SKIPPED: {test}: no trace archive");
    None
}
