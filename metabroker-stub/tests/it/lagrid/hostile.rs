//! What is malformed, malicious or too much: a fault with a code and a reason,
//! and the connections are as they were.

use super::*;
use gridrig_protocol::soap::{Envelope, Fault, Version};
use gridrig_protocol::xml::{SOAP_1_1, SOAP_1_2};
use std::io::{Read as _, Write as _};

/// Every fault holds against the schema, and so does what is taken.
async fn post(served: &Served, path: &str, media: &str, body: Vec<u8>) -> (u16, String) {
    gridrig_protocol::tls::init();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http.post(format!("{}{path}", served.url));
    let request = request.header("content-type", media).body(body.clone());
    let answer = request.send().await.unwrap();
    let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
    wire::hear(text.as_bytes());
    if status == 200 {
        wire::hear(&body);
    }
    (status, text)
}

fn fault(text: &str) -> Fault {
    let envelope = Envelope::read(text.as_bytes(), Version::Soap11).unwrap();
    Fault::of(&envelope).unwrap_or_else(|| panic!("no fault: {text}"))
}

fn enveloped(header: &str, body: &str) -> Vec<u8> {
    format!(
        "<s:Envelope xmlns:s=\"{SOAP_1_1}\" xmlns:l=\"urn:gridrig:lagrid:1\" \
         xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header>{header}</s:Header>\
         <s:Body>{body}</s:Body></s:Envelope>"
    )
    .into_bytes()
}

const BEAT: &str = "<l:heartbeat><l:connection>conn-1</l:connection><l:sequence>1</l:sequence>\
                    <l:incarnation>1</l:incarnation></l:heartbeat>";

/// A handler with one connection, and how many messages have reached it.
async fn with_connection() -> (Served, u32) {
    let served = serve();
    let opened = client(Codec::Json).call(&served.url, &open(1000)).await;
    assert_eq!(opened.unwrap().connection, "conn-1");
    let asked = served.recorder.asked();
    (served, asked)
}

/// The connection stands and works, and nothing has reached the handler since.
async fn unharmed(served: &Served, asked: u32) {
    assert_eq!(served.recorder.asked(), asked);
    assert_eq!(served.recorder.connections().len(), 1);
    let (status, text) = post(served, "/lagrid", "text/xml", enveloped("", BEAT)).await;
    assert_eq!(status, 200, "{text}");
    wire::holds_at(&served.url, &["heartbeat", "heartbeatResponse"]).await;
}

/// What it is, the body, and the code of the fault.
fn no_messages() -> [(&'static str, Vec<u8>, &'static str); 14] {
    let bomb = "<!DOCTYPE b [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><b>&b;</b>";
    let deep = "<a>".repeat(100_000);
    let wide = format!("<a>{}</a>", "<b/>".repeat(200_000));
    [
        ("nothing", vec![], "malformed-xml"),
        ("no XML", b"{}".to_vec(), "malformed-xml"),
        ("not UTF-8", vec![b'<', 0xff, b'>'], "malformed-xml"),
        (
            "an entity bomb",
            bomb.as_bytes().to_vec(),
            "doctype-refused",
        ),
        ("depth", deep.into_bytes(), "too-complex"),
        ("width", wide.into_bytes(), "too-complex"),
        ("no envelope", b"<html/>".to_vec(), "not-an-envelope"),
        (
            "two operations",
            enveloped("", &BEAT.repeat(2)),
            "malformed-envelope",
        ),
        (
            "unknown operation",
            enveloped("", "<l:explode/>"),
            "unknown-operation",
        ),
        (
            "wrong namespace",
            enveloped("", &BEAT.replace("l:heartbeat", "heartbeat")),
            "unknown-operation",
        ),
        (
            "wrong namespace inside",
            enveloped("", &BEAT.replace("l:sequence", "a:sequence")),
            "invalid",
        ),
        (
            "a header twice",
            enveloped("<a:To>x</a:To><a:To>y</a:To>", BEAT),
            "invalid-addressing-header",
        ),
        (
            "an answer elsewhere",
            enveloped(
                "<a:ReplyTo><a:Address>http://127.0.0.1:9/</a:Address></a:ReplyTo>",
                BEAT,
            ),
            "only-anonymous-address",
        ),
        (
            "a reference parameter that is none",
            enveloped(
                "<x xmlns=\"urn:x\" a:IsReferenceParameter=\"true\"><y/></x>",
                "<l:notifyJob><l:connection>conn-1</l:connection><l:news>state</l:news><l:report>\
                 <l:job>1</l:job><l:state>completed</l:state></l:report></l:notifyJob>",
            ),
            "invalid",
        ),
    ]
}

#[tokio::test]
async fn what_is_no_soap_message_gets_a_fault_and_never_reaches_the_handler() {
    let (served, asked) = with_connection().await;
    for (what, body, code) in no_messages() {
        let (status, text) = post(&served, "/lagrid", "text/xml", body).await;
        let fault = fault(&text);
        assert_eq!((status, fault.code.as_str()), (500, code), "{what}: {text}");
        assert!(!fault.reason.is_empty());
    }
    let unknown = enveloped("<x xmlns=\"urn:x\" s:mustUnderstand=\"1\"/>", BEAT);
    let (_, text) = post(&served, "/lagrid", "text/xml", unknown).await;
    assert!(
        text.contains("MustUnderstand") && text.contains("{urn:x}x"),
        "{text}"
    );
    let (status, text) = post(&served, "/lagrid", "application/json", b"{}".to_vec()).await;
    assert_eq!(
        (status, fault(&text).code.as_str()),
        (415, "unsupported-media-type")
    );
    unharmed(&served, asked).await;
}

#[tokio::test]
async fn what_is_no_json_message_gets_a_problem_and_never_reaches_the_handler() {
    let (served, asked) = with_connection().await;
    let good = r#"{"connection":"conn-1","sequence":1,"incarnation":1}"#;
    let deep = format!("{}\"x\":1", "{\"x\":".repeat(50_000));
    let cases = [
        ("heartbeat", "", "malformed", 400),
        ("heartbeat", "<a/>", "malformed", 400),
        ("heartbeat", deep.as_str(), "invalid", 422),
        ("heartbeat", "{}", "invalid", 422),
        (
            "heartbeat",
            r#"{"connection":"conn-1","sequence":-1,"incarnation":1}"#,
            "invalid",
            422,
        ),
        (
            "heartbeat",
            r#"{"connection":"conn-1","sequence":0,"incarnation":1}"#,
            "invalid",
            422,
        ),
        (
            "heartbeat",
            r#"{"connection":"conn-1","sequence":1,"incarnation":1,"x":1}"#,
            "invalid",
            422,
        ),
        ("submitJob", good, "invalid", 422),
        ("explode", good, "no-such-route", 404),
    ];
    for (operation, body, code, status) in cases {
        let path = format!("/v1/peers/{operation}");
        let body = body.as_bytes().to_vec();
        let (found, text) = post(&served, &path, "application/json", body).await;
        let problem: serde_json::Value = serde_json::from_str(&text).unwrap();
        let seen = problem["code"].as_str().unwrap();
        assert_eq!((found, seen), (status, code), "{operation}: {text}");
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
    let body = good.as_bytes().to_vec();
    let (status, text) = post(&served, "/v1/peers/heartbeat", "text/xml", body).await;
    assert!(
        status == 415 && text.contains("unsupported-media-type"),
        "{text}"
    );
    unharmed(&served, asked).await;
}

#[tokio::test]
async fn a_request_without_a_media_type_is_refused() {
    let (served, asked) = with_connection().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let bare = async |path: &str, body: Vec<u8>| {
        let request = http.post(format!("{}{path}", served.url)).body(body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, text) = bare("/lagrid", enveloped("", BEAT)).await;
    let fault = fault(&text);
    assert_eq!(
        (status, fault.code.as_str()),
        (415, "unsupported-media-type")
    );
    let expected = "header Content-Type = \"\": expected text/xml or application/soap+xml";
    assert!(fault.reason.contains(expected), "{}", fault.reason);
    let beat = br#"{"connection":"conn-1","sequence":1,"incarnation":1}"#.to_vec();
    let (status, text) = bare("/v1/peers/heartbeat", beat).await;
    assert!(
        status == 415 && text.contains("unsupported-media-type"),
        "{text}"
    );
    unharmed(&served, asked).await;
}

#[tokio::test]
async fn an_envelope_needs_no_header() {
    let (served, _) = with_connection().await;
    let headless = String::from_utf8(enveloped("", BEAT)).unwrap();
    let headless = headless.replace("<s:Header></s:Header>", "");
    let (status, text) = post(&served, "/lagrid", "text/xml", headless.into_bytes()).await;
    assert!(
        status == 200 && text.contains("heartbeatResponse"),
        "{text}"
    );
}

/// Announces 100 MB and sends them as long as somebody takes them.
fn flood(address: &str, path: &str, media: &str) -> (u64, String) {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let limit = Some(Duration::from_secs(30));
    stream.set_read_timeout(limit).unwrap();
    stream.set_write_timeout(limit).unwrap();
    let most: u64 = 100 * 1024 * 1024;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: {media}\r\n\
         content-length: {most}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (block, mut sent) = (vec![b' '; 64 * 1024], 0);
    while sent < most && stream.write_all(&block).is_ok() {
        sent += block.len() as u64;
    }
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    // Whoever sends on after the answer may find the connection reset.
    while let Ok(read @ 1..) = stream.read(&mut part) {
        answer.extend_from_slice(&part[..read]);
    }
    (sent, String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_are_refused_before_they_are_read() {
    let (served, asked) = with_connection().await;
    let address = served.url.trim_start_matches("http://").to_owned();
    for (path, media) in [
        ("/lagrid", "text/xml"),
        ("/v1/peers/sendResourceData", "application/json"),
    ] {
        let address = address.clone();
        let flooded = tokio::task::spawn_blocking(move || flood(&address, path, media));
        let (sent, answer) = flooded.await.unwrap();
        assert!(sent < 90 * 1024 * 1024, "{path}: {sent} bytes were taken");
        // The answer is lost where the reset overtakes it.
        assert!(
            answer.is_empty() || answer.contains("413"),
            "{path}: {answer}"
        );
    }
    // A body just above the bound is told so.
    let body = vec![b' '; 1024 * 1024 + 1];
    let (status, text) = post(&served, "/lagrid", "text/xml", body.clone()).await;
    assert_eq!((status, fault(&text).code.as_str()), (413, "too-large"));
    let (status, text) = post(&served, "/v1/peers/heartbeat", "application/json", body).await;
    assert!(status == 413 && text.contains("too-large"), "{text}");
    unharmed(&served, asked).await;
}

#[tokio::test]
async fn a_replayed_or_reordered_update_changes_nothing() {
    let (served, _) = with_connection().await;
    let push = |sequence: u64, from: Option<u64>| {
        let mut update = recorder::update();
        update.sequence = sequence;
        update.from_sequence = from;
        if from.is_some() {
            update.kind = gridrig_protocol::lagrid::UpdateKind::Incremental;
        }
        SendResourceData {
            connection: "conn-1".to_owned(),
            letter: None,
            meant_ns: None,
            update,
        }
    };
    let expected = [
        (push(2, None), UpdateVerdict::Accepted, 2),
        (push(4, Some(3)), UpdateVerdict::FullWanted, 2),
        (push(3, Some(2)), UpdateVerdict::Accepted, 3),
        (push(2, None), UpdateVerdict::Stale, 3),
        (push(3, Some(2)), UpdateVerdict::Stale, 3),
        (push(5, None), UpdateVerdict::Accepted, 5),
    ];
    for codec in [Codec::Soap12, Codec::Json] {
        let peer = client(codec);
        let (first, ..) = &expected[0];
        if codec == Codec::Json {
            let stale = peer.call(&served.url, first).await.unwrap();
            assert_eq!((stale.verdict, stale.have), (UpdateVerdict::Stale, 5));
            continue;
        }
        for (push, verdict, have) in &expected {
            let answer = peer.call(&served.url, push).await.unwrap();
            assert_eq!((answer.verdict, answer.have), (*verdict, *have), "{push:?}");
        }
    }
    wire::holds_at(&served.url, &["sendResourceData"]).await;
}

#[tokio::test]
async fn soap_1_2_tells_whose_fault_it_is() {
    let (served, asked) = with_connection().await;
    let body = String::from_utf8(enveloped("", "<l:heartbeat/>")).unwrap();
    let body = body.replace(SOAP_1_1, SOAP_1_2).into_bytes();
    let (status, text) = post(&served, "/lagrid", "application/soap+xml", body).await;
    assert!(status == 400 && text.contains("env:Sender"), "{text}");
    unharmed(&served, asked).await;
}

#[tokio::test]
async fn a_cut_or_scrambled_request_never_breaks_the_service() {
    let (served, _) = with_connection().await;
    let whole = enveloped("", BEAT);
    for at in (0..whole.len()).step_by(19) {
        let cut = whole[..at].to_vec();
        let (status, text) = post(&served, "/lagrid", "text/xml", cut).await;
        assert_eq!(status, 500, "{text}");
        let mut scrambled = whole.clone();
        scrambled[at] = scrambled[at].wrapping_add(13);
        let (status, text) = post(&served, "/lagrid", "text/xml", scrambled).await;
        assert!([200, 500].contains(&status), "{status}: {text}");
    }
    assert_eq!(served.recorder.connections().len(), 1);
    wire::holds_at(&served.url, &["heartbeat", "problem"]).await;
}

#[tokio::test]
async fn the_description_is_served_with_the_address_that_the_client_came_to() {
    let served = serve();
    let text = reqwest::get(format!("{}/lagrid?wsdl", served.url))
        .await
        .unwrap();
    assert_eq!(text.status().as_u16(), 200);
    let text = text.text().await.unwrap();
    let address = format!("location=\"{}/lagrid\"", served.url);
    assert_eq!(text.matches(&address).count(), 2, "{address}");
    let without = reqwest::get(format!("{}/lagrid", served.url))
        .await
        .unwrap();
    assert_eq!(without.status().as_u16(), 405);
}
