//! What is no message.

use super::generate;
use gridrig_protocol::lagrid::{
    Heartbeat, Message, NotifyJob, OpenConn, QueryJob, Reference, SendResourceData, SubmitJob,
    SubmitJobAnswer,
};
use gridrig_protocol::rest::Problem;
use gridrig_protocol::xml::Element;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use std::fmt::Debug;

/// Each breaks the schema in one place.
pub const AGAINST_THE_SCHEMA: &[&str] = &[
    // A missing element, one too much, one of another namespace, one out of
    // order, one that is none, an attribute, a text between elements.
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection>c</connection></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection>c</connection><job>1</job><job>2</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection xmlns="urn:x">c</connection><job>1</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><job>1</job><connection>c</connection></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection>c</connection><job>-1</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection>c</connection><job>4294967296</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection/><job>1</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1"><connection>c<b/></connection><job>1</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1" id="7"><connection>c</connection><job>1</job></queryJob>"#,
    r#"<queryJob xmlns="urn:gridrig:lagrid:1">x<connection>c</connection><job>1</job></queryJob>"#,
];

fn told(fault: &Problem) -> (&str, u16) {
    (&fault.code, fault.status)
}

#[test]
fn an_element_that_is_none_of_the_schema_is_refused_by_its_path() {
    for wrong in AGAINST_THE_SCHEMA {
        let element = Element::parse(wrong.as_bytes()).unwrap();
        let fault = QueryJob::from_element(&element).unwrap_err();
        assert_eq!(told(&fault), ("invalid", 422), "{wrong}");
        assert!(
            fault.detail.contains("queryJob") || fault.detail.contains("field connection"),
            "{}",
            fault.detail
        );
    }
}

fn proposal() -> serde_json::Value {
    json!({
        "authentication": ["none"], "initiator_roles": ["consumer"],
        "responder_roles": ["provider"], "heartbeat_ms": 1000,
        "job_languages": ["jsdl-1.0"], "resource_languages": ["gridrig-clusters-1"],
        "resource_forms": ["flat"]
    })
}

fn open() -> serde_json::Value {
    json!({
        "initiator": "a",
        "endpoint": {
            "address": "http://127.0.0.1:1/lagrid",
            "parameters": [{"namespace": "urn:x", "name": "x".repeat(200), "value": "7"}]
        },
        "incarnation": 1, "round": 1, "max_rounds": 3, "proposal": proposal()
    })
}

/// Changes one field of a good message; the fault has to name it.
fn spoiled<M: Message>(good: &serde_json::Value, pointer: &str, value: serde_json::Value) {
    assert!(M::from_json(good.to_string().as_bytes()).is_ok(), "{good}");
    let mut bad = good.clone();
    let place = bad.pointer_mut(pointer);
    match place {
        Some(place) => *place = value,
        None => {
            let (outer, last) = pointer.rsplit_once('/').unwrap();
            bad.pointer_mut(outer).unwrap()[last] = value;
        }
    }
    let Err(fault) = M::from_json(bad.to_string().as_bytes()) else {
        panic!("{pointer} was taken: {bad}");
    };
    assert_eq!(told(&fault), ("invalid", 422), "{fault}");
    let field = pointer.split('/').rfind(|part| part.parse::<u8>().is_err());
    let field = field.unwrap().trim_end_matches('s');
    assert!(fault.detail.contains(field), "{pointer}: {}", fault.detail);
}

#[test]
fn a_proposal_that_can_be_none_is_refused_by_its_field() {
    let good = open();
    let spoil = |pointer, value| spoiled::<OpenConn>(&good, pointer, value);
    spoil("/initiator", json!(""));
    spoil("/initiator", json!("a\u{0}"));
    spoil("/initiator", json!("x".repeat(201)));
    spoil("/endpoint/address", json!("ftp://h/"));
    spoil("/endpoint/address", json!("http://"));
    spoil("/endpoint/address", json!("http://h/?a=b "));
    spoil("/endpoint/parameters/0/name", json!("x".repeat(201)));
    spoil("/endpoint/parameters/0/value", json!("x".repeat(2001)));
    spoil("/round", json!(0));
    spoil("/round", json!(4));
    spoil("/proposal/authentication", json!([]));
    spoil("/proposal/authentication", json!(["none", "none"]));
    spoil("/proposal/initiator_roles", json!(["provider", "provider"]));
    spoil("/proposal/heartbeat_ms", json!(0));
    spoil("/proposal/heartbeat_ms", json!(86_400_001));
    spoil("/proposal/resource_forms", json!([]));
    spoil("/more", json!(1));
}

#[test]
fn an_update_that_contradicts_itself_is_refused_by_its_field() {
    let mean = json!({"sum": "0", "weight_ns": 1});
    let load = json!({
        "cluster": 0, "at_ns": 0, "processors": 4, "busy": 0, "queued": 0,
        "queued_processors": 0, "work_left": "0", "queued_mean_30s": mean,
        "queued_mean_300s": mean, "busy_mean_30s": mean, "busy_mean_300s": mean
    });
    let group = json!({"nodes": 1, "processors_per_node": 4, "speed": "1"});
    let good = json!({
        "connection": "c",
        "update": {"kind": "incremental", "sequence": 3, "from_sequence": 2, "form": "flat",
                   "at_ns": 0, "clusters": [{"load": load, "groups": [group]}], "removed": [1]}
    });
    let spoil = |pointer: &str, value| spoiled::<SendResourceData>(&good, pointer, value);
    for name in [
        "groups/0/name",
        "groups/0/architecture",
        "groups/0/os",
        "name",
    ] {
        let pointer = format!("/update/clusters/0/{name}");
        spoil(&pointer, json!("x".repeat(201)));
        spoil(&pointer, json!(""));
    }
    spoil("/update/from_sequence", json!(3));
    spoil("/update/from_sequence", json!(0));
    spoil("/update/from_sequence", json!(null));
    spoil("/update/sequence", json!(0));
    spoil("/update/removed", json!([1, 1]));
    spoil("/update/clusters/0/load/queued", json!(1_u64 << 40));
    spoil("/update/clusters/0/load/work_left", json!("+1"));
    let inventory = json!({"form": "unique", "records": []});
    spoil("/update/inventory", inventory);
    let full = "/update/kind";
    let mut bad = good.clone();
    *bad.pointer_mut(full).unwrap() = json!("full");
    let fault = SendResourceData::from_json(bad.to_string().as_bytes()).unwrap_err();
    assert!(fault.detail.contains("from_sequence"), "{fault}");
}

fn submission(jsdl: &str) -> serde_json::Value {
    json!({"connection": "c", "key": "r/0/1/1", "hop": 1,
           "origin": {"domain": "a", "job": 1},
           "forwarder": {"address": "http://h/lagrid"}, "jsdl": jsdl})
}

const JSDL: &str = r#"<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"><JobDescription/></JobDefinition>"#;

#[test]
fn a_forwarded_job_without_its_forwarder_or_origin_is_refused() {
    let good = submission(JSDL);
    spoiled::<SubmitJob>(&good, "/forwarder", json!(null));
    spoiled::<SubmitJob>(&good, "/origin", json!(null));
    spoiled::<SubmitJob>(&good, "/key", json!(""));
    spoiled::<SubmitJob>(&good, "/connection", json!("a\nb"));
}

#[test]
fn both_codecs_give_a_job_description_the_same_code() {
    let inner = |part: &str| {
        let described = format!("<JobDescription>{part}</JobDescription>");
        JSDL.replace("<JobDescription/>", &described)
    };
    let unsupported = inner("<Resources><FileSystem name=\"HOME\"/></Resources>");
    let invalid = inner("<Resources><TotalCPUCount><Exact>x</Exact></TotalCPUCount></Resources>");
    let unknown = inner("<Resources><GPUs xmlns=\"urn:x\">1</GPUs></Resources>");
    for (jsdl, code, path) in [
        (&unsupported, "unsupported-jsdl", "Resources/FileSystem"),
        (&invalid, "invalid-jsdl", "TotalCPUCount/Exact"),
        (&unknown, "unsupported-jsdl", "GPUs"),
    ] {
        let text = submission(jsdl).to_string();
        let in_json = SubmitJob::from_json(text.as_bytes()).unwrap_err();
        let text = format!(
            "<submitJob xmlns=\"urn:gridrig:lagrid:1\"><connection>c</connection>\
             <key>k</key><job>{jsdl}</job></submitJob>"
        );
        let element = Element::parse(text.as_bytes()).unwrap();
        let in_xml = SubmitJob::from_element(&element).unwrap_err();
        for fault in [in_json, in_xml] {
            assert_eq!(fault.code, code, "{fault}");
            assert!(fault.detail.contains(path), "{fault}");
        }
    }
    let bomb = format!("<!DOCTYPE a [<!ENTITY x \"x\">]>{JSDL}");
    let fault = SubmitJob::from_json(submission(&bomb).to_string().as_bytes()).unwrap_err();
    assert_eq!(fault.code, "doctype-refused");
}

#[test]
fn what_is_no_json_is_malformed() {
    for text in ["", "{", "{\"sequence\":", "\u{feff}{}", "nul"] {
        let fault = Heartbeat::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(told(&fault), ("malformed", 400), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(Heartbeat::from_json(deep.as_bytes()).is_err());
}

#[test]
fn a_reference_parameter_with_elements_in_it_is_refused_by_its_name() {
    let text = r#"<submitJobResponse xmlns="urn:gridrig:lagrid:1" xmlns:a="http://www.w3.org/2005/08/addressing">
        <job>1</job><state>queued</state><atNs>0</atNs>
        <endpoint><a:Address>http://h/</a:Address>
        <a:ReferenceParameters><Handle xmlns="urn:x"><b/></Handle></a:ReferenceParameters></endpoint>
        </submitJobResponse>"#;
    let element = Element::parse(text.as_bytes()).unwrap();
    let fault = SubmitJobAnswer::from_element(&element).unwrap_err();
    assert!(fault.detail.contains("endpoint/Handle"), "{fault}");
}

#[test]
fn a_reference_names_the_job_of_its_broker() {
    let reference = Reference::of_job("http://h/lagrid", 7);
    assert_eq!(reference.job(), Some(7));
    assert_eq!(Reference::of("http://h/lagrid").job(), None);
}

/// What was read from bytes is written and read back the same.
fn holds<M: Message + PartialEq + Debug>(bytes: &[u8]) {
    let in_xml = Element::parse(bytes).ok();
    let in_xml = in_xml.and_then(|element| M::from_element(&element).ok());
    for message in in_xml.into_iter().chain(M::from_json(bytes).ok()) {
        assert_eq!(M::from_json(&message.to_json()).unwrap(), message);
        let text = message.to_element("message").to_document();
        let element = Element::parse(text.as_bytes()).unwrap();
        let read = M::from_element(&element).unwrap();
        assert_eq!(read.to_element("message").to_document(), text);
    }
}

fn scramble(mut bytes: Vec<u8>, changes: &[(Index, u8)]) -> Vec<u8> {
    for (at, by) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *by;
    }
    bytes
}

fn scrambled<M: Message + PartialEq + Debug>(message: &M, changes: &[(Index, u8)]) {
    let xml = message.to_element("message").to_document();
    holds::<M>(&scramble(xml.into_bytes(), changes));
    holds::<M>(&scramble(message.to_json(), changes));
}

fn changes() -> impl Strategy<Value = Vec<(Index, u8)>> {
    let byte = prop_oneof![
        b'0'..=b'9',
        select(b"<>/&;\"{}[],: \n\r\t".to_vec()),
        any::<u8>()
    ];
    proptest::collection::vec((any::<Index>(), byte), 0..4)
}

proptest! {
    /// Bytes from outside are a message or a fault, and nothing else.
    #[test]
    fn no_bytes_break_the_readers(text in "[ -~]{0,60}") {
        holds::<NotifyJob>(text.as_bytes());
        holds::<OpenConn>(text.as_bytes());
    }

    /// The same for what is nearly a message.
    #[test]
    fn a_scrambled_proposal_is_another_one_or_refused(
        message in generate::open_conn(), changes in changes(),
    ) {
        scrambled(&message, &changes);
    }

    #[test]
    fn a_scrambled_update_is_another_one_or_refused(
        message in generate::send_resource_data(), changes in changes(),
    ) {
        scrambled(&message, &changes);
    }

    #[test]
    fn a_scrambled_submission_is_another_one_or_refused(
        message in generate::submit_job(), changes in changes(),
    ) {
        scrambled(&message, &changes);
    }
}
