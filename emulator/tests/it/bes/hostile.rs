//! What is malformed, malicious or too much gets a fault and leaves nothing
//! behind.

use super::*;

/// The code of the fault that a raw body gets.
async fn code(lrms: &Handle, body: &str) -> (u16, String) {
    let answer = send(lrms, body).await;
    (answer.status, answer.fault().code)
}

async fn jobs(lrms: &Handle) -> usize {
    let (_, _, list) = crate::ask(lrms, "GET", "/v1/jobs", None).await;
    list["jobs"].as_array().unwrap().len()
}

#[tokio::test]
async fn what_is_no_message_gets_a_fault_with_a_code() {
    let lrms = start(1).await;
    let deep = "<a>".repeat(200);
    let bomb = "<!DOCTYPE b [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><b>&b;</b>";
    let many = format!(
        "<a{}/>",
        (0..200).map(|n| format!(" x{n}=\"\"")).collect::<String>()
    );
    let cases = [
        ("", "malformed-xml"),
        ("not xml", "malformed-xml"),
        ("<a>", "malformed-xml"),
        ("<a/><b/>", "malformed-xml"),
        ("<p:a/>", "malformed-xml"),
        (bomb, "doctype-refused"),
        ("<a>&undefined;</a>", "doctype-refused"),
        (&deep, "too-complex"),
        (&many, "too-complex"),
        ("<html/>", "not-an-envelope"),
        ("<Envelope xmlns=\"urn:soap\"/>", "unspecified"),
    ];
    for (body, expected) in cases {
        let (status, seen) = code(&lrms, body).await;
        assert_eq!((status, seen.as_str()), (500, expected), "{body:.80}");
    }
    assert_eq!(jobs(&lrms).await, 0);
    lrms.stop().await.unwrap();
}

/// Resources, the name of the fault, and what it is about.
const WRONG_RESOURCES: &str = r#"
<FileSystem name="HOME"/> => UnsupportedFeatureFault => JobDefinition/JobDescription/Resources/FileSystem
<IndividualCPUTime><Exact>2e9</Exact></IndividualCPUTime> => UnsupportedFeatureFault => IndividualCPUTime
<TotalCPUCount><Exact>four</Exact></TotalCPUCount> => InvalidRequestMessageFault => TotalCPUCount/Exact
<TotalCPUCount><Exact>99</Exact></TotalCPUCount> => UnsupportedFeatureFault => JobDefinition/JobDescription/Resources
<CandidateHosts><HostName>elsewhere</HostName></CandidateHosts> => UnsupportedFeatureFault => CandidateHosts
"#;

async fn refused(lrms: &Handle, body: &str, fault: &str, about: &str) {
    let answer = ask(lrms, body).await;
    assert_eq!(answer.status, 500);
    let detail = &answer.fault().detail[0];
    assert_eq!(detail.name, fault, "{}", answer.text);
    assert!(answer.text.contains(about), "{about}: {}", answer.text);
}

#[tokio::test]
async fn what_is_no_request_gets_the_specification_s_fault() {
    let lrms = start(1).await;
    for row in WRONG_RESOURCES.lines().skip(1) {
        let mut cells = row.split(" => ");
        let mut cell = || cells.next().unwrap();
        let inner = format!("<Resources>{}</Resources>", cell());
        refused(&lrms, &create(&inner), cell(), cell()).await;
    }
    let invalid = "InvalidRequestMessageFault";
    let empty = "<bes:CreateActivity/>";
    refused(&lrms, empty, invalid, "ActivityDocument").await;
    let empty = "<bes:CreateActivity><bes:ActivityDocument/></bes:CreateActivity>";
    refused(&lrms, empty, invalid, "JobDefinition").await;
    let empty = "<bes:GetActivityStatuses><bes:ActivityIdentifier/></bes:GetActivityStatuses>";
    refused(&lrms, empty, invalid, "ActivityIdentifier").await;
    let unknown = ask(&lrms, "<bes:Explode/>").await;
    assert_eq!(unknown.fault().code, "unknown-operation");
    let wrong = ask(&lrms, "<CreateActivity xmlns=\"urn:other\"/>").await;
    assert_eq!(wrong.fault().code, "unknown-operation");
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_the_service_goes_on() {
    let lrms = start(1).await;
    let body = vec![b' '; 2 * 1024 * 1024];
    let answer = send(&lrms, body).await;
    assert_eq!(
        (answer.status, answer.fault().code.as_str()),
        (413, "too-large")
    );
    assert_eq!(ask(&lrms, &job(1, "1s")).await.status, 200);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused_by_its_media_type() {
    let lrms = start(1).await;
    let answer = post(&lrms, "/services/bes", "application/json", b"{}".to_vec()).await;
    assert_eq!(
        (answer.status, answer.fault().code.as_str()),
        (415, "unsupported-media-type")
    );
    // A page elsewhere can have a browser send a body without one.
    let untyped = envelope(SOAP_1_1, "", &job(1, "1s"));
    let request = reqwest::Client::new().post(format!("{}/services/bes", lrms.url()));
    let answer = request.body(untyped).send().await.unwrap();
    assert_eq!(answer.status(), 415);
    assert_eq!(jobs(&lrms).await, 0);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_header_that_must_be_understood_and_is_not_is_refused() {
    let lrms = start(1).await;
    let header = |block: &str| envelope(SOAP_1_1, block, &job(1, "1s"));
    let unknown = header("<x xmlns=\"urn:x\" s:mustUnderstand=\"1\"/>");
    let answer = send(&lrms, unknown).await;
    assert!(
        answer.text.contains("soapenv:MustUnderstand"),
        "{}",
        answer.text
    );
    let elsewhere =
        header("<wsa:ReplyTo><wsa:Address>http://127.0.0.1:9/</wsa:Address></wsa:ReplyTo>");
    let answer = send(&lrms, elsewhere).await;
    assert_eq!(answer.fault().code, "only-anonymous-address");
    assert_eq!(jobs(&lrms).await, 0);
    let security = header(
        "<Security xmlns=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
         s:mustUnderstand=\"1\"/>",
    );
    let answer = send(&lrms, security).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn soap_1_2_tells_whose_fault_it_is() {
    let lrms = start(1).await;
    let text = envelope(SOAP_1_2, "", "<bes:CreateActivity/>");
    let answer = post(
        &lrms,
        "/services/bes",
        "application/soap+xml",
        text.into_bytes(),
    )
    .await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("env:Sender"), "{}", answer.text);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_cut_or_scrambled_request_never_breaks_the_service() {
    let lrms = start(1).await;
    let whole = envelope(SOAP_1_1, "", &job(1, "1h"));
    for cut in (0..whole.len()).step_by(23) {
        assert_eq!(send(&lrms, &whole[..cut]).await.status, 500);
        let mut bytes = whole.as_bytes().to_vec();
        bytes[cut] = bytes[cut].wrapping_add(13);
        let answer = send(&lrms, bytes).await;
        assert!([200, 500].contains(&answer.status), "{}", answer.text);
    }
    assert_eq!(ask(&lrms, &job(1, "1s")).await.status, 200);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_that_vanishes_leaves_no_activity() {
    let lrms = start(1).await;
    let (address, whole) = (lrms.address(), envelope(SOAP_1_1, "", &job(1, "1h")));
    let sent = tokio::task::spawn_blocking(move || {
        use std::io::Write as _;
        for length in [0, whole.len() / 2, whole.len() - 1] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            write!(
                stream,
                "POST /services/bes HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/xml\r\n\
                 Content-Length: {}\r\n\r\n",
                whole.len()
            )
            .unwrap();
            stream.write_all(&whole.as_bytes()[..length]).unwrap();
        }
    });
    sent.await.unwrap();
    // A later request on another connection is served after the breaks are seen.
    assert_eq!(ask(&lrms, &job(1, "1s")).await.status, 200);
    assert_eq!(jobs(&lrms).await, 1);
    lrms.stop().await.unwrap();
}
