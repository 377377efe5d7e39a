//! The schema in the WSDL, taken out of it, with xmllint as the oracle.

use super::generate;
use gridrig_protocol::jsdl::JSDL;
use gridrig_protocol::lagrid::{Message, Operation, Request, wsdl};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[allow(clippy::print_stdout, reason = "says that a test is skipped")]
fn xmllint(test: &str) -> bool {
    let found = Command::new("xmllint")
        .arg("--version")
        .stderr(Stdio::null())
        .status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs xmllint");
    println!("SKIPPED: {test}: no xmllint");
    false
}

/// The schemas of the description in files of their own, and one that takes
/// them all in, with JSDL's where it is at hand.
fn extracted(folder: &Path) -> PathBuf {
    let text = wsdl::document("http://h/lagrid");
    let head = text.split("<wsdl:types>").next().unwrap();
    let spaces: Vec<&str> = head
        .split_whitespace()
        .filter(|word| word.starts_with("xmlns:") && !word.starts_with("xmlns:xsd="))
        .map(|word| word.trim_end_matches('>'))
        .collect();
    let mut imports = String::new();
    let schemas = text.split("<xsd:schema ").skip(1);
    for (number, schema) in schemas.enumerate() {
        let schema = schema.split("</xsd:schema>").next().unwrap();
        let target = schema.split('"').nth(1).unwrap();
        let file = folder.join(format!("{number}.xsd"));
        let whole = format!(
            "<xsd:schema xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" {} {schema}</xsd:schema>",
            spaces.join(" ")
        );
        std::fs::write(&file, whole).unwrap();
        imports.push_str(&import(target, &file));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let surface = std::env::var_os("GRIDRIG_SURFACE")
        .map_or_else(|| root.join("../shared/surface"), PathBuf::from);
    if let Ok(jsdl) = surface.join("schemas/jsdl.xsd").canonicalize() {
        imports.push_str(&import(JSDL, &jsdl));
    }
    let driver = folder.join("all.xsd");
    let text = format!("<schema xmlns=\"http://www.w3.org/2001/XMLSchema\">{imports}</schema>");
    std::fs::write(&driver, text).unwrap();
    driver
}

fn import(namespace: &str, file: &Path) -> String {
    let file = file.display();
    format!("<import namespace=\"{namespace}\" schemaLocation=\"{file}\"/>")
}

/// What xmllint has against these documents.
fn complaint(folder: &Path, driver: &Path, documents: &[String]) -> Option<String> {
    let files: Vec<PathBuf> = (0..documents.len())
        .map(|number| folder.join(format!("{number}.xml")))
        .collect();
    for (file, document) in files.iter().zip(documents) {
        std::fs::write(file, document).unwrap();
    }
    let output = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(driver)
        .args(&files)
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

const EACH: usize = 12;

fn some<M: Message>(
    runner: &mut TestRunner,
    messages: impl Strategy<Value = M>,
    name: &'static str,
) -> Vec<String> {
    let draw = |_| {
        let message = messages.new_tree(runner).unwrap().current();
        message.to_element(name).to_document()
    };
    (0..EACH).map(draw).collect()
}

fn requests<R: Request>(
    runner: &mut TestRunner,
    messages: impl Strategy<Value = R>,
) -> Vec<String> {
    some(runner, messages, R::OPERATION.name())
}

#[test]
fn every_message_holds_against_the_schema_of_the_description() {
    if !xmllint("every_message_holds_against_the_schema_of_the_description") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = extracted(folder.path());
    let mut all = Vec::new();
    let r = &mut TestRunner::deterministic();
    all.extend(requests(r, generate::open_conn()));
    all.extend(some(
        r,
        generate::open_conn_answer(),
        Operation::OpenConn.response(),
    ));
    all.extend(requests(r, generate::notify_conn()));
    all.extend(some(r, generate::taken(), Operation::NotifyConn.response()));
    all.extend(requests(r, generate::heartbeat()));
    all.extend(some(
        r,
        generate::heartbeat_answer(),
        Operation::Heartbeat.response(),
    ));
    all.extend(requests(r, generate::request_resource_data()));
    let pulled = Operation::RequestResourceData.response();
    all.extend(some(r, generate::update(), pulled));
    all.extend(requests(r, generate::send_resource_data()));
    let pushed = Operation::SendResourceData.response();
    all.extend(some(r, generate::send_resource_data_answer(), pushed));
    all.extend(requests(r, generate::submit_job()));
    let submitted = Operation::SubmitJob.response();
    all.extend(some(r, generate::submit_job_answer(), submitted));
    all.extend(requests(r, generate::query_job()));
    all.extend(some(
        r,
        generate::job_report(),
        Operation::QueryJob.response(),
    ));
    all.extend(requests(r, generate::notify_job()));
    all.extend(some(r, generate::taken(), Operation::NotifyJob.response()));
    all.extend(requests(r, generate::cancel_job()));
    all.extend(some(
        r,
        generate::job_report(),
        Operation::CancelJob.response(),
    ));
    assert_eq!(all.len(), 18 * EACH);
    let complaint = complaint(folder.path(), &driver, &all);
    assert_eq!(complaint, None);
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    if !xmllint("the_schema_refuses_what_the_reader_refuses") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = extracted(folder.path());
    for wrong in super::refused::AGAINST_THE_SCHEMA {
        let complaint = complaint(folder.path(), &driver, &[(*wrong).to_owned()]);
        assert!(complaint.is_some(), "{wrong}");
    }
}
