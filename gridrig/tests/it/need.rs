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

/// Debian's real Slurm with munge, and the right to start it; says that the
/// test is skipped where they are not there, and fails it where nothing may
/// be skipped.
pub fn slurm(test: &str) -> Option<()> {
    let has = |name: &str| {
        ["/usr/sbin", "/usr/bin"]
            .iter()
            .any(|dir| PathBuf::from(dir).join(name).exists())
    };
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout == b"0\n");
    let all = ["munged", "slurmctld", "slurmd", "sbatch"]
        .iter()
        .all(|name| has(name));
    if root && all {
        return Some(());
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs Debian's Slurm and to be root");
    println!("SKIPPED: {test}: no Slurm, or not root (scripts/setup installs it)");
    None
}

/// A Python interpreter with psij, parsl and dask-jobqueue, made by
/// `scripts/setup.d/31-slurm-clients`; says that the test is skipped where
/// there is none, and fails it where nothing may be skipped.
pub fn slurm_clients(test: &str) -> Option<PathBuf> {
    let python = crate::command::root().join(".venv-slurm-clients/bin/python");
    let imported = Command::new(&python)
        .args(["-c", "import psij, parsl, dask_jobqueue"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(
        !required,
        "{test} needs psij, parsl and dask-jobqueue in {}",
        python.display()
    );
    println!("SKIPPED: {test}: no Python with the clients of Slurm (scripts/setup makes one)");
    None
}
