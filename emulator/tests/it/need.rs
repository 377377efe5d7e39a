//! Real components that a machine may lack.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Counts a test as skipped.
pub fn skip(test: &str, what: &str) {
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs {what}");
    println!("SKIPPED: {test}: no {what}");
}

/// Whether ARC's client with its plugins for ARC REST and Python is there, and
/// the test authority (`scripts/setup.d/50-arc`).
pub fn arc(test: &str) -> bool {
    let plugins = Command::new("sh")
        .args(["-c", "ls /usr/lib/*/arc/libaccARCREST.so /usr/lib/arc/libaccARCREST.so /usr/lib64/arc/libaccARCREST.so 2>/dev/null"])
        .stderr(Stdio::null())
        .output();
    let plugins = plugins.is_ok_and(|output| !output.stdout.is_empty());
    let programs = ["arcsub", "arcproxy", "arcctl", "openssl"]
        .iter()
        .all(|program| found(program));
    if plugins && programs {
        return true;
    }
    skip(test, "ARC client with the arcrest plugin");
    false
}

fn found(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let sbin = PathBuf::from("/usr/sbin");
    std::env::split_paths(&paths)
        .chain([sbin])
        .any(|folder| folder.join(program).is_file())
}

/// A file of what real programs were seen to send: beside the checkout, or where
/// `GRIDRIG_SURFACE` says.
pub fn surface(test: &str, file: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/surface");
    let folder = std::env::var_os("GRIDRIG_SURFACE").map_or(beside, PathBuf::from);
    match std::fs::read_to_string(folder.join(file)) {
        Ok(text) => Some(text),
        Err(_) => {
            skip(test, &format!("record {file} of real programs"));
            None
        }
    }
}
