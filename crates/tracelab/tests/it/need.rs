//! Real components that a machine may lack.

use std::env;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// A Python interpreter with numpy, scipy and scikit-learn, made by
/// `scripts/setup.d/30-python` or named by `GRIDRIG_PYTHON`; `None`, and a line
/// that says where, without it.
#[track_caller]
pub(crate) fn python() -> Option<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/python");
    let python = env::var_os("GRIDRIG_PYTHON").map_or(made, PathBuf::from);
    if python.is_file() {
        return Some(python);
    }
    let test = Location::caller();
    let required = env::var_os("GRIDRIG_REQUIRE").is_some_and(|value| value == "all");
    assert!(!required, "{test}: no Python at {}", python.display());
    println!("SKIPPED: {test}: no Python with numpy and scipy (scripts/setup makes one)");
    None
}
