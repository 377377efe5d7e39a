//! WS-Agreement: what a client writes by hand, what the schema says, and a client of another hand.

use super::*;
use crate::bes::{need, oracle};
use crate::tls::Authority;
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_protocol::agreement::Instant;
use gridrig_protocol::soap::{Envelope, Fault, Version};
use gridrig_protocol::xml::Element;
use std::path::Path;
use std::process::Command;

const WSAG: &str = "http://schemas.ggf.org/graap/2007/03/ws-agreement";
const OWN: &str = "urn:gridrig:ws-agreement:1";
const SOAP_1_1: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const WSDL: &str = include_str!("../../../resources/wsdl/ws-agreement.wsdl");

struct Bench {
    lrms: Handle,
    client: reqwest::Client,
    epoch: u64,
    schema: Option<(tempfile::TempDir, std::path::PathBuf)>,
}

async fn bench(test: &str) -> Bench {
    let mut config = config(100);
    config.cluster.reserving = Some(crate::reservations::grants());
    config.faces = Faces::of(&[FaceKind::WsAgreement]);
    let epoch = config.clock.epoch_unix_ns();
    let lrms = spawn(config, door()).await.unwrap();
    Bench {
        lrms,
        client: reqwest::Client::new(),
        epoch,
        schema: need::xmllint(test).then(schema),
    }
}

/// The schemas within the WSDL as files, and one that takes them all in.
fn schema() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = WSDL.split("<wsdl:definitions").nth(1).unwrap();
    let declared = root.split('>').next().unwrap();
    let declared = declared.split_once("xmlns").unwrap().1;
    let mut imports = String::new();
    for (index, part) in WSDL.split("<xsd:schema ").skip(1).enumerate() {
        let part = part.split("</xsd:schema>").next().unwrap();
        let (attributes, content) = part.split_once('>').unwrap();
        let text = format!("<xsd:schema {attributes} xmlns{declared}>{content}</xsd:schema>");
        std::fs::write(folder.path().join(format!("{index}.xsd")), text).unwrap();
        let namespace = attributes.split('"').nth(1).unwrap();
        imports += &format!("<import namespace=\"{namespace}\" schemaLocation=\"{index}.xsd\"/>");
    }
    let all = format!("<schema xmlns=\"http://www.w3.org/2001/XMLSchema\">{imports}</schema>");
    let path = folder.path().join("all.xsd");
    std::fs::write(&path, all).unwrap();
    (folder, path)
}

/// The answer, or the fault.
type Said = Result<Element, Fault>;

impl Bench {
    /// Posts a body to the factory, or to the agreement of this name.
    async fn post(&self, path: &str, by: &str, body: &str) -> Said {
        let header = match by {
            "" => String::new(),
            by => format!("<r:Initiator>{by}</r:Initiator>"),
        };
        let text = format!(
            "<s:Envelope xmlns:s=\"{SOAP_1_1}\" xmlns:w=\"{WSAG}\" xmlns:r=\"{OWN}\" \
             xmlns:p=\"http://docs.oasis-open.org/wsrf/rp-2\"><s:Header>{header}</s:Header>\
             <s:Body>{body}</s:Body></s:Envelope>"
        );
        let url = format!("{}/services/ws-agreement{path}", self.lrms.url());
        let request = self.client.post(url).header("content-type", "text/xml");
        let text = request.body(text).send().await.unwrap().text();
        let text = text.await.unwrap();
        let read = Envelope::read(text.as_bytes(), Version::Soap11);
        let read = read.unwrap_or_else(|error| panic!("{error:?}: {text}"));
        let fault = Fault::of(&read);
        if let Some((_, schema)) = &self.schema {
            let parts = match &fault {
                None => vec![read.body.clone()],
                Some(fault) => fault.detail.clone(),
            };
            for part in parts {
                let complaint = oracle::complaint(schema, &part.to_document());
                assert!(complaint.is_none(), "{}\n{text}", complaint.unwrap());
            }
        }
        fault.map_or(Ok(read.body), Err)
    }

    fn at(&self, seconds: u64) -> String {
        Instant(self.epoch + seconds * 1_000_000_000).to_string()
    }

    /// A quarter of an hour from so many seconds on.
    fn terms(&self, processors: &str, from: u64, more: &str) -> String {
        let at = self.at(from);
        format!(
            "<r:Reservation><r:Processors>{processors}</r:Processors><r:Duration>PT15M</r:Duration>\
             <r:EarliestStart>{at}</r:EarliestStart><r:LatestStart>{at}</r:LatestStart>{more}\
             </r:Reservation>"
        )
    }

    async fn create(&self, name: &str, by: &str, terms: &str) -> Said {
        self.post("", "", &offer(name, by, terms)).await
    }

    async fn property(&self, path: &str, name: &str) -> Said {
        let body = format!("<p:GetResourceProperty>w:{name}</p:GetResourceProperty>");
        let answer = self.post(path, "", &body).await?;
        Ok(answer.elements().next().unwrap().clone())
    }
}

fn offer(name: &str, by: &str, terms: &str) -> String {
    format!(
        "<w:CreateAgreementInput><w:AgreementOffer><w:Name>{name}</w:Name><w:Context>\
         <w:AgreementInitiator>{by}</w:AgreementInitiator></w:Context><w:Terms><w:All>\
         <w:ServiceDescriptionTerm w:Name=\"t\" w:ServiceName=\"s\">{terms}\
         </w:ServiceDescriptionTerm></w:All></w:Terms></w:AgreementOffer></w:CreateAgreementInput>"
    )
}

/// State and start in an answer, or the reason of a refusal and from when on it may be granted.
fn told(said: &Said) -> [String; 2] {
    let text = |of: &Element, name| of.child(OWN, name).map(Element::text).unwrap_or_default();
    match said {
        Ok(answer) => {
            let status = answer.child(OWN, "Status").unwrap_or(answer);
            [text(status, "State"), text(status, "Start")]
        }
        Err(fault) => {
            let detail = fault
                .detail
                .iter()
                .find(|part| part.is(OWN, "RefusedFault"));
            let detail = detail.unwrap_or_else(|| panic!("{fault:?}"));
            [text(detail, "Reason"), text(detail, "NextStart")]
        }
    }
}

#[tokio::test]
async fn an_agreement_is_made_modified_confirmed_and_ended() {
    let bench = bench("an_agreement_is_made_modified_confirmed_and_ended").await;
    let (far, later) = (bench.at(40_000), bench.at(40_900));
    // The template bounds what may be asked for.
    let template = bench.property("", "Template").await.unwrap();
    let text = template.to_document();
    assert!(
        text.contains("value=\"4\"") && text.contains("value=\"PT27H46M40S\""),
        "{text}"
    );
    let temporary = bench.terms("3", 40_000, "<r:ConfirmWithin>PT5H</r:ConfirmWithin>");
    let made = bench.create("night-1", "ada", &temporary).await;
    assert_eq!(told(&made), ["temporary", &far]);
    let address = made.unwrap().to_document();
    let expected = format!("{}/services/ws-agreement/night-1<", bench.lrms.url());
    assert!(address.contains(&expected), "{address}");
    // The same again, after a lost answer, and the same name for something else.
    let again = bench.create("night-1", "ada", &temporary).await;
    assert_eq!(told(&again), ["temporary", &far]);
    let other = bench
        .create("night-1", "ada", &bench.terms("1", 9_000, ""))
        .await;
    assert_eq!(told(&other), ["name-taken", ""]);
    // Rejected until an instant, and for ever.
    let crowded = bench
        .create("b", "eve", &bench.terms("2", 40_100, ""))
        .await;
    assert_eq!(told(&crowded), ["not-before", &later]);
    let wide = bench
        .create("c", "eve", &bench.terms("5", 40_000, ""))
        .await;
    assert_eq!(told(&wide), ["never-fits", ""]);
    // It is nobody else's.
    let modify = |terms: String| format!("<r:Modify>{terms}</r:Modify>");
    let four = modify(bench.terms("4", 40_900, "<r:ConfirmWithin>PT5H</r:ConfirmWithin>"));
    for body in [&*four, "<r:Confirm/>", "<w:TerminateInput/>"] {
        for by in ["eve", ""] {
            assert_eq!(
                told(&bench.post("/night-1", by, body).await)[0],
                "not-yours"
            );
        }
        assert_eq!(
            told(&bench.post("/none", "ada", body).await)[0],
            "unknown-reservation"
        );
    }
    assert_eq!(
        told(&bench.property("/night-1", "Status").await),
        ["temporary", &far]
    );
    // Its holder changes it, or cannot, and then it stays.
    let moved = bench.post("/night-1", "ada", &four).await;
    assert_eq!(told(&moved), ["temporary", &later]);
    let wide = bench
        .post("/night-1", "ada", &modify(bench.terms("5", 40_000, "")))
        .await;
    assert_eq!(told(&wide)[0], "never-fits");
    let confirmed = bench.post("/night-1", "ada", "<r:Confirm/>").await;
    assert_eq!(told(&confirmed), ["confirmed", &later]);
    let terms = bench
        .property("/night-1", "Terms")
        .await
        .unwrap()
        .to_document();
    assert!(terms.contains(">4<") && terms.contains(&later), "{terms}");
    let context = bench.property("/night-1", "Context").await.unwrap();
    assert_eq!(
        context.child(WSAG, "AgreementInitiator").unwrap().text(),
        "ada"
    );
    // It is a reservation like any other: seen over REST, and used by its holder's jobs only.
    let (_, _, seen) = ask(&bench.lrms, "GET", "/v1/reservations/night-1", None).await;
    assert_eq!(
        (&seen["processors"], &seen["users"][0]),
        (&4.into(), &"ada".into())
    );
    for (user, status) in [("eve", 422), ("ada", 201)] {
        let place = serde_json::json!({"name": "night-1", "user": user});
        let job = serde_json::json!({"processors": 1, "run_time": "10s", "reservation": place});
        assert_eq!(submit(&bench.lrms, &job.to_string()).await.0, status);
    }
    let used = bench.post("/night-1", "ada", "<w:TerminateInput/>").await;
    assert_eq!(told(&used)[0], "in-use");
    assert_eq!(ask(&bench.lrms, "DELETE", "/v1/jobs/1", None).await.0, 200);
    bench
        .post("/night-1", "ada", "<w:TerminateInput/>")
        .await
        .unwrap();
    assert_eq!(
        told(&bench.property("/night-1", "Name").await)[0],
        "unknown-reservation"
    );
}

#[tokio::test]
async fn what_is_not_in_order_is_named_by_element_and_value() {
    let bench = bench("what_is_not_in_order_is_named_by_element_and_value").await;
    let good = bench.terms("1", 40_000, "");
    let of = |terms: &str| offer("x", "ada", terms);
    let path = "CreateAgreementInput/AgreementOffer/Terms/All/ServiceDescriptionTerm/Reservation";
    let context = |more: &str| of(&good).replace("</w:Context>", &format!("{more}</w:Context>"));
    let late = "<r:LatestStart>2001-01-01T00:00:00Z</r:LatestStart>";
    let latest = format!("<r:LatestStart>{}</r:LatestStart>", bench.at(40_000));
    for (path_of, body, named) in [
        (
            "",
            of(&bench.terms("0", 1, "")),
            format!("{path}/Processors = \"0\": expected"),
        ),
        (
            "",
            of(&good.replace("PT15M", "P1M")),
            format!("{path}/Duration = \"P1M\": expected"),
        ),
        (
            "",
            of(&good.replace("PT15M", "15m")),
            format!("{path}/Duration = \"15m\": expected"),
        ),
        (
            "",
            of(&good.replace("PT15M", "PT0S")),
            format!("{path}/Duration = \"PT0S\""),
        ),
        (
            "",
            of(&good.replacen('Z', "", 1)),
            format!("{path}/EarliestStart = \""),
        ),
        (
            "",
            of(&good.replace(&latest, late)),
            "LatestStart = \"2001".to_owned(),
        ),
        (
            "",
            of(&good.replace(&latest, "")),
            "expected LatestStart".to_owned(),
        ),
        (
            "",
            of(&bench.terms("1", 1, "<r:Nodes>1</r:Nodes>")),
            "}Nodes in it".to_owned(),
        ),
        (
            "",
            of(&bench.terms("1", 1, "<r:Flexible>si</r:Flexible>")),
            "\"si\"".to_owned(),
        ),
        ("", of(""), "expected Reservation".to_owned()),
        (
            "",
            offer("a/b", "ada", &good),
            "Name = \"a/b\": expected".to_owned(),
        ),
        (
            "",
            offer("x", "", &good),
            "AgreementInitiator = \"\"".to_owned(),
        ),
        (
            "",
            context("<w:ServiceProvider>me</w:ServiceProvider>"),
            "\"me\"".to_owned(),
        ),
        (
            "",
            context("<w:ExpirationTime>2001-01-01T00:00:00Z</w:ExpirationTime>"),
            "ExpirationTime = \"2001-01-01T00:00:00Z\": expected not before".to_owned(),
        ),
        (
            "",
            "<r:Confirm/>".to_owned(),
            "}Confirm in the Body".to_owned(),
        ),
        (
            "/x",
            of(&good),
            "}CreateAgreementInput in the Body".to_owned(),
        ),
        (
            "/x",
            "<r:Confirm><r:Now/></r:Confirm>".to_owned(),
            "element Now in it".to_owned(),
        ),
        (
            "/x",
            "<r:Modify/>".to_owned(),
            "expected Reservation".to_owned(),
        ),
        (
            "",
            "<p:GetResourceProperty>w:State</p:GetResourceProperty>".to_owned(),
            "\"State\": expected Template".to_owned(),
        ),
    ] {
        let fault = bench.post(path_of, "ada", &body).await.unwrap_err();
        assert!(
            fault.reason.contains(&named),
            "{} has no {named}",
            fault.reason
        );
    }
    let unsaid = of(&good).replace("<w:AgreementInitiator>ada</w:AgreementInitiator>", "");
    let url = format!("{}/services/ws-agreement", bench.lrms.url());
    let (_, _, none) = ask(&bench.lrms, "GET", "/v1/reservations", None).await;
    assert_eq!(
        none["reservations"],
        serde_json::json!([]),
        "nothing was made"
    );
    // The header says it as well.
    assert_eq!(told(&bench.post("", "ada", &unsaid).await)[0], "confirmed");
    let text = reqwest::get(format!("{url}?wsdl")).await.unwrap();
    let text = text.text().await.unwrap();
    assert_eq!(text.matches(&format!("location=\"{url}")).count(), 2);
    assert_eq!(reqwest::get(url).await.unwrap().status(), 405);
}

#[tokio::test]
async fn by_certificate_it_is_for_the_person_and_nothing_that_is_said_counts() {
    let authority = Authority::new();
    let epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let mut bench = Bench {
        lrms: authority.serve().await,
        client: authority.client(Some(&authority.user("alice", false))),
        epoch: u64::try_from(epoch.as_nanos()).unwrap(),
        schema: None,
    };
    let terms = bench.terms("1", 40_000, "");
    bench
        .create("hers", "/O=Test/CN=bob", &terms)
        .await
        .unwrap();
    let context = bench.property("/hers", "Context").await.unwrap();
    let of = context.child(WSAG, "AgreementInitiator").unwrap().text();
    assert_eq!(of, "/O=Test/CN=alice");
    bench.client = authority.client(Some(&authority.user("bob", false)));
    let end = "<w:TerminateInput/>";
    assert_eq!(told(&bench.post("/hers", &of, end).await)[0], "not-yours");
    bench.client = authority.client(Some(&authority.user("alice", true)));
    bench.post("/hers", "", end).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_zeep_makes_of_the_wsdl_reserves() {
    let test = "a_client_that_zeep_makes_of_the_wsdl_reserves";
    let Some(python) = need::zeep(test) else {
        return;
    };
    let bench = bench(test).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ws_agreement/zeep_client.py");
    let url = format!("{}/services/ws-agreement", bench.lrms.url());
    let then = bench.at(40_000);
    let run = move || {
        let mut command = Command::new("timeout");
        command.arg("40").arg(python).arg(script);
        command.args([url, then]).output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
