//! Real components that a machine may lack.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Python interpreter with zeep, made by `scripts/setup.d/32-zeep` or named
/// by `GRIDRIG_ZEEP`.
#[allow(clippy::print_stdout, reason = "says that a test is skipped")]
pub fn zeep(test: &str) -> Option<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv-zeep/bin/python");
    let python = std::env::var_os("GRIDRIG_ZEEP").map_or(made, PathBuf::from);
    let imported = Command::new(&python)
        .args(["-c", "import zeep"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs Python with zeep");
    println!("SKIPPED: {test}: no Python with zeep (scripts/setup makes one)");
    None
}
