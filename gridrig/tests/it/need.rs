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

/// Whether a program is installed (`scripts/setup` does it); says that the
/// test is skipped where it is not, and fails it where nothing may be skipped.
pub fn program(name: &str, test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
        return true;
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs {name}");
    println!("SKIPPED: {test}: no {name} (scripts/setup installs it)");
    false
}

/// A Python interpreter with evalys, DuckDB, pandas and a notebook kernel, made
/// or named likewise.
pub fn evalys(test: &str) -> Option<PathBuf> {
    let made = crate::command::root().join(".venv/bin/python");
    let python = std::env::var_os("GRIDRIG_PYTHON").map_or(made, PathBuf::from);
    // Where they lie, without the seconds that importing them takes.
    let find = "import importlib.util as u, sys; \
                sys.exit(any(u.find_spec(m) is None for m in \
                ['duckdb', 'evalys', 'ipykernel', 'nbclient', 'pandas', 'pyarrow']))";
    let found = Command::new(&python)
        .args(["-c", find])
        .stderr(Stdio::null())
        .status();
    if found.is_ok_and(|status| status.success()) {
        return Some(std::path::absolute(&python).expect("a working directory"));
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs evalys in {}", python.display());
    println!("SKIPPED: {test}: no Python with evalys (scripts/setup makes one)");
    None
}
