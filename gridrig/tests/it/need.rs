//! Real components that a machine may lack.

use std::path::PathBuf;
use std::process::{Command, Stdio};

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

/// A Python interpreter with schemathesis, made by `scripts/setup.d/30-python`
/// or named by `GRIDRIG_PYTHON`; says that the test is skipped where there is
/// none, and fails it where nothing may be skipped.
pub fn schemathesis(test: &str) -> Option<PathBuf> {
    let made = crate::command::root().join(".venv/bin/python");
    let python = std::env::var_os("GRIDRIG_PYTHON").map_or(made, PathBuf::from);
    let imported = Command::new(&python)
        .args(["-c", "import schemathesis"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(
        !required,
        "{test} needs schemathesis in {}",
        python.display()
    );
    println!("SKIPPED: {test}: no Python with schemathesis (scripts/setup makes one)");
    None
}

/// Whether a browser can be driven: Chromium (`GRIDRIG_CHROMIUM` names
/// another), node, and what `scripts/setup.d/45-playwright` installs.
pub fn browser(test: &str) -> bool {
    let chromium = std::env::var_os("GRIDRIG_CHROMIUM").unwrap_or_else(|| "chromium".into());
    let starts = |program: &std::ffi::OsStr| {
        let version = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    };
    let installed = crate::command::root().join("gridrig/tests/browser/node_modules/gridrig-lock");
    let missing = if !starts(&chromium) {
        "chromium"
    } else if !starts("node".as_ref()) {
        "node"
    } else if !installed.is_file() {
        "playwright-core"
    } else {
        return true;
    };
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs {missing}");
    println!("SKIPPED: {test}: no {missing} (scripts/setup installs it)");
    false
}

/// A Python interpreter with DuckDB, made or named as above.
pub fn duckdb(test: &str) -> Option<PathBuf> {
    let made = crate::command::root().join(".venv/bin/python");
    let python = std::env::var_os("GRIDRIG_PYTHON").map_or(made, PathBuf::from);
    let imported = Command::new(&python)
        .args(["-c", "import duckdb"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs DuckDB in {}", python.display());
    println!("SKIPPED: {test}: no Python with DuckDB (scripts/setup makes one)");
    None
}
