//! The schemas that are inside a WSDL, taken out of it, with xmllint as the
//! oracle. Tests of other packages include this file.

use gridrig_protocol::jsdl::JSDL;
use gridrig_protocol::lagrid::LAGRID;
use gridrig_protocol::soap::{Envelope, PROBLEM, Version};
use gridrig_protocol::xml::{Element, Node};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What of a message, as the log of messages has it, is in the schema: the
/// body of its envelope, or of a fault the problems in its detail. What is no
/// message has nothing: a fault in short, or the garbage that a test answers with,
/// which no reader takes for an answer.
pub fn in_schema(message: &str) -> Vec<String> {
    let body = match Envelope::read(message.as_bytes(), Version::Soap11) {
        Ok(envelope) => envelope.body,
        Err(_) => match Element::parse(message.as_bytes()) {
            Ok(body) => body,
            Err(_) => return Vec::new(),
        },
    };
    match (&*body.name, &*body.namespace) {
        ("Fault", _) => problems(&body),
        (_, LAGRID) => vec![body.to_document()],
        _ => Vec::new(),
    }
}

fn problems(element: &Element) -> Vec<String> {
    if element.is(PROBLEM, "problem") {
        return vec![element.to_document()];
    }
    let children = element.children.iter().filter_map(|node| match node {
        Node::Element(child) => Some(child),
        Node::Text(_) => None,
    });
    children.flat_map(problems).collect()
}

/// Whether the oracle is there; a test without it is skipped, or fails where
/// everything is required.
#[allow(clippy::print_stdout, reason = "says that a test is skipped")]
pub fn xmllint(test: &str) -> bool {
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

/// The schemas of a description in files of their own, and one that takes them
/// all in, with JSDL's where it is at hand.
pub fn extracted(wsdl: &str, folder: &Path) -> PathBuf {
    let head = wsdl.split("<wsdl:types>").next().unwrap();
    let spaces: Vec<&str> = head
        .split_whitespace()
        .filter(|word| word.starts_with("xmlns:") && !word.starts_with("xmlns:xsd="))
        .map(|word| word.trim_end_matches('>'))
        .collect();
    let mut imports = String::new();
    let schemas = wsdl.split("<xsd:schema ").skip(1);
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
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut roots = here
        .ancestors()
        .filter(|folder| folder.join("Cargo.lock").is_file());
    let surface = std::env::var_os("GRIDRIG_SURFACE").map_or_else(
        || roots.next().unwrap_or(here).join("../shared/surface"),
        PathBuf::from,
    );
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
pub fn complaint(folder: &Path, driver: &Path, documents: &[String]) -> Option<String> {
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
