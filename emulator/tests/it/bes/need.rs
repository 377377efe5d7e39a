//! Real components and recordings that a machine may lack.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[allow(clippy::print_stdout, reason = "says that a test is skipped")]
fn skipped(test: &str, what: &str, present: bool) -> bool {
    if present {
        return false;
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs {what}");
    println!("SKIPPED: {test}: no {what}");
    true
}

/// The folder of what real brokers and clients say, and of the schemas of
/// their interfaces: beside the checkout, or where `GRIDRIG_SURFACE` says.
pub fn surface(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/surface");
    let folder = std::env::var_os("GRIDRIG_SURFACE").map_or(beside, PathBuf::from);
    let present = folder.is_dir();
    (!skipped(test, "recorded surfaces (GRIDRIG_SURFACE)", present)).then_some(folder)
}

/// `xmllint`, the oracle of XML.
pub fn xmllint(test: &str) -> bool {
    let found = Command::new("xmllint")
        .arg("--version")
        .stderr(Stdio::null())
        .status();
    !skipped(test, "xmllint", found.is_ok_and(|status| status.success()))
}

/// A Python interpreter with zeep, made by `scripts/setup.d/32-zeep` or named
/// by `GRIDRIG_ZEEP`.
pub fn zeep(test: &str) -> Option<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv-zeep/bin/python");
    let python = std::env::var_os("GRIDRIG_ZEEP").map_or(made, PathBuf::from);
    let imported = Command::new(&python)
        .args(["-c", "import zeep"])
        .stderr(Stdio::null())
        .status();
    let present = imported.is_ok_and(|status| status.success());
    (!skipped(test, "Python with zeep (scripts/setup makes one)", present)).then_some(python)
}
