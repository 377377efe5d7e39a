//! Answers hold against the schemas of OGSA-BES, by xmllint.

use super::*;
use crate::need;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The namespaces that answers use and the files of their schemas.
const SCHEMAS: [(&str, &str); 6] = [
    (FACTORY, "bes-factory.xsd"),
    (MANAGEMENT, "bes-management.xsd"),
    (SOAP_1_1, "envelope.xsd"),
    (POSIX, "jsdl-posix.xsd"),
    (
        "http://schemas.ggf.org/jsdl/2006/07/jsdl-hpcpa",
        "jsdl-hpcpa.xsd",
    ),
    (
        "http://schemas.ogf.org/jsdl/2007/02/jsdl-spmd",
        "jsdl-spmd.xsd",
    ),
];

/// A schema that takes in all of them, at a place of its own.
fn driver(folder: &Path) -> std::path::PathBuf {
    let imports: String = SCHEMAS
        .iter()
        .map(|(namespace, file)| {
            let file = folder.join(file);
            format!(
                "<import namespace=\"{namespace}\" schemaLocation=\"{}\"/>",
                file.display()
            )
        })
        .collect();
    let text = format!("<schema xmlns=\"http://www.w3.org/2001/XMLSchema\">{imports}</schema>");
    let name = format!(
        "gridrig-bes-{}-{:?}.xsd",
        std::process::id(),
        std::thread::current().id()
    );
    let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
    std::fs::write(&path, text).unwrap();
    path
}

/// What xmllint has against a document.
pub fn complaint(driver: &Path, document: &str) -> Option<String> {
    let mut lint = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(driver)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    lint.stdin
        .take()
        .unwrap()
        .write_all(document.as_bytes())
        .unwrap();
    let output = lint.wait_with_output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn every_answer_holds_against_the_schemas() {
    let test = "every_answer_holds_against_the_schemas";
    let Some(folder) = need::schemas(test) else {
        return;
    };
    let driver = driver(&folder);
    let lrms = start(1).await;
    let id = id_of(&ask(&lrms, &job(1, "1h")).await);
    let three = ["urn:gridsam:nothing", id.as_str(), id.as_str()];
    let requests = [
        job(2, "1h"),
        about("GetActivityStatuses", &three),
        about("GetActivityDocuments", &three),
        "<bes:GetFactoryAttributesDocument/>".to_owned(),
        about("TerminateActivities", &three),
        "<m:StopAcceptingNewActivities/>".to_owned(),
        job(1, "1s"),
        "<m:StartAcceptingNewActivities/>".to_owned(),
        job(99, "1s"),
        create("<Resources><FileSystem name=\"HOME\"/></Resources>"),
        create("<JobIdentification><JobName>runtime=x</JobName></JobIdentification>"),
        "<bes:CreateActivity/>".to_owned(),
        "<bes:NoSuchThing/>".to_owned(),
    ];
    let mut complaints = Vec::new();
    for request in &requests {
        let answer = ask(&lrms, request).await;
        if let Some(complaint) = complaint(&driver, &answer.text) {
            complaints.push(format!("{complaint}\n{}", answer.text));
        }
    }
    lrms.stop().await.unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    let _ = std::fs::remove_file(driver);
}

#[tokio::test]
async fn the_oracle_would_complain() {
    let test = "the_oracle_would_complain";
    let Some(folder) = need::schemas(test) else {
        return;
    };
    let driver = driver(&folder);
    let wrong =
        format!("<CreateActivityResponse xmlns=\"{FACTORY}\"><Wrong/></CreateActivityResponse>");
    assert!(complaint(&driver, &wrong).is_some());
    let _ = std::fs::remove_file(driver);
}

#[tokio::test]
async fn the_wsdl_names_the_address_that_the_client_came_to() {
    let lrms = start(1).await;
    let url = format!("{}/gridsam/services/bes", lrms.url());
    let response = reqwest::get(format!("{url}?wsdl")).await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    let text = response.text().await.unwrap();
    assert_eq!(
        text.matches(&format!("location=\"{url}\"")).count(),
        2,
        "{text}"
    );
    assert!(!text.contains("http://localhost/services"), "{text}");
    Element::parse(text.as_bytes()).unwrap();
    let without = reqwest::get(url).await.unwrap();
    assert_eq!(without.status().as_u16(), 405);
    lrms.stop().await.unwrap();
}
