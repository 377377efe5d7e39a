//! Real components that a machine may lack.

use std::ffi::OsStr;
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

/// What real programs were seen to send, and the schemas of their interfaces: beside the
/// checkout, or where `GRIDRIG_SURFACE` says.
fn recorded() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/surface");
    std::env::var_os("GRIDRIG_SURFACE").map_or(beside, PathBuf::from)
}

/// A file of what real programs were seen to send.
pub fn surface(test: &str, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(recorded().join(file)).ok();
    if text.is_none() {
        skip(test, &format!("record {file} of real programs"));
    }
    text
}

/// The folder of schemas of other interfaces, and `xmllint`, which holds documents against them.
pub fn schemas(test: &str) -> Option<PathBuf> {
    let folder = recorded().join("schemas").canonicalize().ok();
    if folder.is_none() {
        skip(test, "recorded schemas (GRIDRIG_SURFACE)");
    }
    folder.filter(|_| xmllint(test))
}

fn runs(program: impl AsRef<OsStr>, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// `xmllint`, the oracle of XML.
pub fn xmllint(test: &str) -> bool {
    let is_there = runs("xmllint", &["--version"]);
    if !is_there {
        skip(test, "xmllint");
    }
    is_there
}

/// A Python interpreter with zeep, made by `scripts/setup.d/32-zeep` or named
/// by `GRIDRIG_ZEEP`.
pub fn zeep(test: &str) -> Option<PathBuf> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv-zeep/bin/python");
    let python = std::env::var_os("GRIDRIG_ZEEP").map_or(made, PathBuf::from);
    if runs(&python, &["-c", "import zeep"]) {
        return Some(python);
    }
    skip(test, "Python with zeep (scripts/setup makes one)");
    None
}
