//! The services against their own OpenAPI documents, as schemathesis reads them:
//! no server error, every answer is documented, what the document forbids is
//! refused. `tests/openapi` says how it looks, and what it may not expect.

use crate::command::{Service, expect_part, root, start};
use crate::need;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Ends a schemathesis that hangs; it takes some twenty seconds otherwise.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs schemathesis on a service. What it says is shown where it complains.
fn examine(python: &Path, service: &Service, operations: usize) {
    // It keeps a processor busy, which the comparisons of the clocks would feel.
    let _alone = crate::real_time::alone();
    let settings = root().canonicalize().unwrap().join("gridrig/tests/openapi");
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said.txt");
    let file = std::fs::File::create(&said).unwrap();
    let mut child = Command::new(python)
        .args(["-m", "schemathesis.cli", "--no-color", "--config-file"])
        .arg(settings.join("schemathesis.toml"))
        .args(["run", "--seed", "20061121"])
        .arg(format!("{}/openapi.json", service.url))
        .env("SCHEMATHESIS_HOOKS", settings.join("hooks.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Where it keeps its notes.
        .current_dir(dir.path())
        .stderr(Stdio::from(file.try_clone().unwrap()))
        .stdout(Stdio::from(file))
        .spawn()
        .unwrap();
    let step = Duration::from_millis(100);
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if waited > LONGEST {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(step);
        waited += step;
    };
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(status.success(), "{status} after {waited:?}\n{said}");
    // An empty document would pass as well.
    expect_part(
        &said,
        &format!("{operations} selected / {operations} total"),
    );
}

#[test]
fn an_emulator_does_what_its_document_says() {
    let Some(python) = need::schemathesis("an_emulator_does_what_its_document_says") else {
        return;
    };
    let reserving = ["emulator", "--processors", "64", "--reservations", "kill"];
    examine(&python, &start(&reserving), 17);
}

#[test]
fn a_broker_does_what_its_document_says() {
    let Some(python) = need::schemathesis("a_broker_does_what_its_document_says") else {
        return;
    };
    let emulator = start(&["emulator", "--processors", "64"]);
    let lrms = format!("a1={}", emulator.url);
    let broker = start(&["broker", "--name", "a", "--lrms", &lrms]);
    examine(&python, &broker, 22);
}
