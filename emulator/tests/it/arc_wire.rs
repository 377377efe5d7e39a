//! What real programs send and what a real A-REX answers, as recorded.

use crate::arc::{Ce, delegation_of, element};
use crate::need;
use gridrig_protocol::xml::Element;
use serde_json::Value;
use std::collections::BTreeSet;

/// The client's record names its stand-in and the delegation it got there.
const RECORDED_AT: &str = "http://127.0.0.1:9003";
const RECORDED_DELEGATION: &str = "35b2167eb767";

#[tokio::test]
async fn what_arcsub_sent_is_answered_as_it_needs_it() {
    let test = "what_arcsub_sent_is_answered_as_it_needs_it";
    let Some(wire) = need::surface(test, "arc-rest-wire.jsonl") else {
        return;
    };
    let ce = Ce::start(1).await;
    let (delegation, request) = ce.delegate().await;
    let mut statuses = Vec::new();
    for line in wire.lines() {
        let sent: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| sent[key].as_str().unwrap().to_owned();
        let target = text("target")
            .replace(RECORDED_AT, &ce.lrms.url())
            .replace(RECORDED_DELEGATION, &delegation);
        let body = match text("body") {
            // The record has its certificates taken out.
            body if body.contains("[PEM redacted]") => delegation_of(&request, 1),
            body => body.replace(RECORDED_DELEGATION, &delegation),
        };
        let method = reqwest::Method::from_bytes(text("method").as_bytes()).unwrap();
        let mut request = ce.client.request(method.clone(), &target).body(body);
        for (name, value) in sent["headers"].as_object().unwrap() {
            if !["host", "content-length", "connection"].contains(&name.to_lowercase().as_str()) {
                request = request.header(name, value.as_str().unwrap());
            }
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let path = target.split("/arex").nth(1).unwrap();
        let path = path.split('?').next().unwrap().replace(&delegation, "ID");
        let body = answer.text().await.unwrap();
        if path == "/rest/1.0/jobs" {
            assert_eq!(element(&body, "status-code"), "201", "{body}");
            assert_eq!(element(&body, "state"), "ACCEPTING");
        }
        statuses.push(format!("{method} {path} {status}"));
    }
    let expected = [
        "POST  500",
        "GET /rest/1.0/info 200",
        "POST /rest/1.0/delegations 201",
        "PUT /rest/1.0/delegations/ID 200",
        "POST /rest/1.0/jobs 201",
        "POST  200",
    ];
    assert_eq!(statuses, expected);
}

fn read(xml: &str) -> Element {
    Element::parse(xml.as_bytes()).unwrap()
}

/// Every path of elements, with the namespace of each.
fn paths(node: &Element, above: &str, out: &mut BTreeSet<String>) {
    let path = format!("{above}/{}", node.name);
    for child in node.elements() {
        assert_eq!(child.namespace, GLUE2, "{}", child.name);
        paths(child, &path, out);
    }
    out.insert(path);
}

const GLUE2: &str = "http://schemas.ogf.org/glue/2009/03/spec_2.0_r1";

fn paths_of(xml: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    paths(&read(xml), "", &mut out);
    out
}

const SERVICE: &str = "/InfoRoot/Domains/AdminDomain/Services/ComputingService";

#[tokio::test]
async fn info_has_every_element_that_arcsub_reads() {
    let ce = Ce::start(1).await;
    let (_, info) = ce.get("info").await;
    let have = paths_of(&info);
    // surface README, section 2a.
    let needed = [
        "ID",
        "Name",
        "Type",
        "QualityLevel",
        "ComputingEndpoint/URL",
        "ComputingEndpoint/Capability",
        "ComputingEndpoint/InterfaceName",
        "ComputingEndpoint/HealthState",
        "ComputingEndpoint/ServingState",
        "ComputingShare/Name",
        "ComputingShare/MappingQueue",
        "ComputingShare/WaitingJobs",
        "ComputingShare/FreeSlots",
        "ComputingShare/UsedSlots",
        "ComputingManager/ProductName",
        "ComputingManager/TotalSlots",
        "ComputingManager/Benchmark/Type",
        "ComputingManager/Benchmark/Value",
    ];
    for path in needed {
        assert!(
            have.contains(&format!("{SERVICE}/{path}")),
            "{path}: {info}"
        );
    }
    assert_eq!(element(&info, "TotalSlots"), "4");
    assert_eq!(element(&info, "FreeSlots"), "4");
    ce.create(&crate::arc::adl("a", 3, 600)).await;
    let (_, info) = ce.get("info").await;
    assert_eq!(
        (element(&info, "FreeSlots"), element(&info, "UsedSlots")),
        ("1".into(), "3".into())
    );
    assert_eq!(element(&info, "RunningJobs"), "1");
}

#[tokio::test]
async fn info_nests_its_elements_as_a_real_a_rex_does() {
    let test = "info_nests_its_elements_as_a_real_a_rex_does";
    let Some(real) = need::surface(test, "arc-glue2-info.xml") else {
        return;
    };
    let ce = Ce::start(1).await;
    let (_, info) = ce.get("info").await;
    let (ours, real) = (paths_of(&info), paths_of(&real));
    let beyond: Vec<&str> = ours
        .difference(&real)
        .map(|path| &path[SERVICE.len()..])
        .collect();
    // Elements of GLUE 2.0 that the client reads and this A-REX did not give.
    let known = [
        "/ComputingManager/Benchmark",
        "/ComputingManager/Benchmark/ID",
        "/ComputingManager/Benchmark/Type",
        "/ComputingManager/Benchmark/Value",
        "/ComputingShare/MaxSlotsPerJob",
        "/ComputingShare/UsedSlots",
    ];
    assert_eq!(beyond, known);
    let absent: Vec<&str> = real
        .difference(&ours)
        .map(|path| &path[SERVICE.len()..])
        .collect();
    let left_out = [
        // A service without TLS has no authority; there is no SOAP interface.
        "/ComputingEndpoint/IssuerCA",
        "/ComputingEndpoint/Semantics",
        "/ComputingEndpoint/TrustedCA",
        "/ComputingEndpoint/WSDL",
        // There are no files and no real processors.
        "/ComputingManager/CacheFree",
        "/ComputingManager/CacheTotal",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/CPUClockSpeed",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/CPUModel",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/CPUVendor",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/MainMemorySize",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/OSFamily",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/OSName",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/OSVersion",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/Platform",
        "/ComputingManager/ExecutionEnvironments/ExecutionEnvironment/UsedInstances",
        "/ComputingManager/WorkingAreaFree",
        "/ComputingManager/WorkingAreaLifeTime",
        "/ComputingManager/WorkingAreaTotal",
    ];
    assert_eq!(absent, left_out);
}
