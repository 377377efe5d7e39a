//! Real components that a machine may lack. Each of these says that the test is
//! skipped where there is none, and fails it where nothing may be skipped.

use crate::command::split;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of real traces.
pub fn archive(test: &str) -> Option<PathBuf> {
    let beside = crate::command::root().join("../shared/traces");
    let folder = std::env::var_os("GRIDRIG_ARCHIVE").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder.canonicalize().expect("a folder that is there"));
    }
    absent(test, "trace archive (GRIDRIG_ARCHIVE)");
    None
}

/// A Python interpreter with schemathesis.
pub fn schemathesis(test: &str) -> Option<PathBuf> {
    python(test, &["schemathesis"])
}

/// A Python interpreter with jsonschema.
pub fn jsonschema(test: &str) -> Option<PathBuf> {
    python(test, &["jsonschema"])
}

/// A Python interpreter with DuckDB.
pub fn duckdb(test: &str) -> Option<PathBuf> {
    python(test, &["duckdb"])
}

/// A Python interpreter with evalys, DuckDB, pandas and a notebook kernel.
pub fn evalys(test: &str) -> Option<PathBuf> {
    let modules = "duckdb evalys ipykernel nbclient pandas pyarrow";
    python(test, &split(modules))
}

/// A Python interpreter that makes the wheel, with what the tests of the wheel use.
pub fn wheel(test: &str) -> Option<PathBuf> {
    let modules = "gymnasium maturin pandas pip polars psutil pyarrow pytest";
    python(test, &split(modules))
}

/// A Python interpreter with the types that Grafana generates from its schemas.
pub fn grafana_types(test: &str) -> Option<PathBuf> {
    python(test, &["grafana_foundation_sdk"])
}

/// An interpreter with these modules, made by `scripts/setup.d/30-python` or
/// named by `GRIDRIG_PYTHON`.
fn python(test: &str, modules: &[&str]) -> Option<PathBuf> {
    let made = crate::command::root().join(".venv/bin/python");
    let python = std::env::var_os("GRIDRIG_PYTHON").map_or(made, PathBuf::from);
    // Where they lie, without the seconds that importing them takes.
    let find = "import importlib.util as u, sys; \
                sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))";
    let found = Command::new(&python)
        .args(["-c", find])
        .args(modules)
        .stderr(Stdio::null())
        .status();
    if found.is_ok_and(|status| status.success()) {
        return Some(std::path::absolute(&python).expect("a working directory"));
    }
    absent(test, &format!("Python with {}", modules.join(", ")));
    None
}

/// Whether a program is installed.
pub fn program(name: &str, test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !found {
        absent(test, name);
    }
    found
}

/// Whether a browser can be driven: Chromium (`GRIDRIG_CHROMIUM` names
/// another), node, and what `scripts/setup.d/45-playwright` installs.
pub fn browser(test: &str) -> bool {
    let chromium = std::env::var_os("GRIDRIG_CHROMIUM").unwrap_or_else(|| "chromium".into());
    let starts = |program: &OsStr| {
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
    absent(test, missing);
    false
}

/// Whether the test may make files of other users, and act as one.
pub fn root(test: &str) -> bool {
    if !is_root() {
        absent(test, "root");
    }
    is_root()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout == b"0\n")
}

fn absent(test: &str, what: &str) {
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs {what}");
    println!("SKIPPED: {test}: no {what} (scripts/setup installs it)");
}

/// Debian's real Slurm with munge, and the right to start it.
pub fn slurm(test: &str) -> Option<()> {
    let has = |name: &&str| {
        let mut folders = ["/usr/sbin", "/usr/bin"].iter();
        folders.any(|folder| PathBuf::from(folder).join(name).exists())
    };
    if is_root() && ["munged", "slurmctld", "slurmd", "sbatch"].iter().all(has) {
        return Some(());
    }
    absent(test, "Debian's Slurm, or not root");
    None
}

/// ARC's client and A-REX with their test authority, and the right to run them
/// in namespaces of their own.
pub fn arex(test: &str) -> bool {
    let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/share/arc"];
    let programs = [
        "arched",
        "arc-arex-start",
        "arc-arex-ws-start",
        "arcsub",
        "arcctl",
        "ip",
        "openssl",
        "setpriv",
        "unshare",
    ];
    let has = |name: &&str| {
        folders
            .iter()
            .any(|at| PathBuf::from(at).join(name).exists())
    };
    let alone = Command::new("unshare")
        .args(["--net", "--pid", "--fork", "--mount-proc", "true"])
        .stderr(Stdio::null())
        .status();
    if programs.iter().all(has) && alone.is_ok_and(|status| status.success()) {
        return true;
    }
    absent(test, "A-REX, or no namespaces for it");
    false
}

/// A Python interpreter with psij, parsl and dask-jobqueue, made by
/// `scripts/setup.d/31-slurm-clients`.
pub fn slurm_clients(test: &str) -> Option<PathBuf> {
    let python = crate::command::root().join(".venv-slurm-clients/bin/python");
    let imported = Command::new(&python)
        .args(["-c", "import psij, parsl, dask_jobqueue"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    absent(test, "Python with psij, parsl and dask-jobqueue");
    None
}

/// ARC's client with its brokers, and the test authority that comes with it.
pub fn arc(test: &str) -> bool {
    let is_there = |path: &str| Path::new(path).exists();
    let has_all = is_there("/usr/bin/arcproxy") && is_there("/usr/sbin/arcctl");
    if has_all && is_there("/usr/bin/arcsub") {
        return true;
    }
    absent(test, "nordugrid-arc-client and nordugrid-arc-test-utils");
    false
}

/// A Python interpreter with zeep, made by `scripts/setup.d/32-zeep` or named
/// by `GRIDRIG_ZEEP`.
pub fn zeep(test: &str) -> Option<PathBuf> {
    let made = crate::command::root().join(".venv-zeep/bin/python");
    let python = std::env::var_os("GRIDRIG_ZEEP").map_or(made, PathBuf::from);
    let imported = Command::new(&python)
        .args(["-c", "import zeep"])
        .stderr(Stdio::null())
        .status();
    if imported.is_ok_and(|status| status.success()) {
        return Some(std::path::absolute(&python).expect("a working directory"));
    }
    absent(test, "Python with zeep");
    None
}
