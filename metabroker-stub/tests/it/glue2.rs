//! The domain as a GLUE 2.0 document, against the schema of the OGF.
#![allow(
    clippy::print_stdout,
    reason = "a test tells what it skips, for scripts/test to count"
)]

use super::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The schema, which does not ship: it lies beside the checkout, or where
/// `GRIDRIG_SURFACE` says. Says that the test is skipped where it or xmllint is
/// missing, and fails it where nothing may be skipped.
fn schema(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/surface");
    let surface = std::env::var_os("GRIDRIG_SURFACE").map_or(beside, PathBuf::from);
    let schema = surface.join("schemas/GLUE2.xsd");
    let mut version = Command::new("xmllint");
    version.arg("--version").stderr(Stdio::null());
    let can_validate = version.status().is_ok_and(|status| status.success());
    if schema.is_file() && can_validate {
        return Some(schema);
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs xmllint and {}", schema.display());
    println!("SKIPPED: {test}: no xmllint, or no schemas (GRIDRIG_SURFACE)");
    None
}

/// The contents of every element of this name.
fn all<'a>(document: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = document.split(&open).skip(1);
    parts
        .map(|part| part.split(&close).next().unwrap())
        .collect()
}

async fn document(broker: &Handle) -> String {
    let answer = reqwest::get(format!("{}/v1/glue2", broker.url()))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/xml");
    answer.text().await.unwrap()
}

#[tokio::test]
async fn a_domain_shows_what_its_clusters_last_reported() {
    let broker = start_idle().await;
    let before = document(&broker).await;
    assert_eq!(all(&before, "FreeSlots"), ["4"], "{before}");
    let report = messages::info("lrms", 0, 0);
    assert_eq!(ask(&broker, "POST", "/v1/info", Some(report)).await.0, 204);
    let job = json!({"processors": 1, "run_time": "60s"});
    assert_eq!(ask(&broker, "POST", "/v1/jobs", Some(job)).await.0, 201);
    let after = document(&broker).await;
    for (name, expected) in [
        ("FreeSlots", vec!["1"]),
        ("UsedSlots", vec!["3"]),
        ("RequestedSlots", vec!["5"]),
        ("TotalSlots", vec!["4"]),
        // Of the service and of its share.
        ("WaitingJobs", vec!["2", "2"]),
        // Of the service and of its endpoint.
        ("PreLRMSWaitingJobs", vec!["1", "1"]),
        ("MappingQueue", vec!["c0"]),
        // What is not known is not made up.
        ("RunningJobs", vec![]),
        ("Platform", vec!["UNDEFINEDVALUE"]),
    ] {
        assert_eq!(all(&after, name), expected, "{name}: {after}");
    }
    let url = format!("{}/v1", broker.url());
    assert_eq!(all(&after, "URL"), [url]);
}

#[tokio::test]
async fn every_entity_that_is_named_is_there() {
    let broker = start_idle().await;
    let document = document(&broker).await;
    let ids: BTreeSet<&str> = all(&document, "ID").into_iter().collect();
    assert_eq!(ids.len(), all(&document, "ID").len(), "an id is used twice");
    let (mut named, mut peers) = (0, 0);
    for reference in [
        "ServiceID",
        "EndpointID",
        "ShareID",
        "ManagerID",
        "ResourceID",
        "BenchmarkID",
    ] {
        for id in all(&document, reference) {
            // A peer that takes jobs publishes its service itself.
            let peer = id == "urn:ogf:ComputingService:b";
            peers += usize::from(peer);
            assert!(peer || ids.contains(id), "{reference} {id}: {document}");
            named += 1;
        }
    }
    assert!(named > 10, "{document}");
    assert_eq!(peers, 1, "{document}");
}

#[tokio::test]
async fn the_document_is_valid_by_the_schema_of_the_ogf() {
    let Some(schema) = schema("the_document_is_valid_by_the_schema_of_the_ogf") else {
        return;
    };
    let broker = start_idle().await;
    let document = document(&broker).await;
    assert!(is_valid(&schema, &document), "{document}");
    // The schema is looked at, not only the form.
    let wrong = document.replace("<ServingState>production<", "<ServingState>open<");
    assert_ne!(wrong, document);
    assert!(!is_valid(&schema, &wrong));
}

fn is_valid(schema: &Path, document: &str) -> bool {
    let name = format!(
        "gridrig-glue2-{}-{}.xml",
        std::process::id(),
        document.len()
    );
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, document).unwrap();
    let output = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(schema)
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output.status.success()
}
