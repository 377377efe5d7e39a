//! WS-Agreement: what a client writes by hand, what the schema says, and a client of another hand.

use super::*;
use crate::bes::oracle;
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
    bench_before(test, Duration::ZERO).await
}

/// The same so long before the run begins.
async fn bench_before(test: &str, lead: Duration) -> Bench {
    let mut config = config(100);
    config.clock = RunClock::starting_in(lead, Decimal::from_whole(100));
    config.cluster.reserving = Some(reservations::grants());
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
            let mut details = fault.detail.iter();
            let detail = details.find(|part| part.is(OWN, "RefusedFault"));
            let detail = detail.unwrap_or_else(|| panic!("{fault:?}"));
            [text(detail, "Reason"), text(detail, "NextStart")]
        }
    }
}

#[tokio::test]
async fn an_offer_is_granted_or_rejected_until_an_instant_or_for_ever() {
    let bench = bench("an_offer_is_granted_or_rejected_until_an_instant_or_for_ever").await;
    let (far, later) = (bench.at(40_000), bench.at(40_900));
    // The template bounds what may be asked for.
    let template = bench.property("", "Template").await.unwrap();
    let text = template.to_document();
    let bounds = ["value=\"4\"", "value=\"PT27H46M40S\""];
    assert!(bounds.iter().all(|bound| text.contains(bound)), "{text}");
    let temporary = bench.terms("3", 40_000, "<r:ConfirmWithin>PT5H</r:ConfirmWithin>");
    let made = bench.create("night-1", "ada", &temporary).await;
    assert_eq!(told(&made), ["temporary", &far]);
    let address = made.unwrap().to_document();
    let expected = format!("{}/services/ws-agreement/night-1<", bench.lrms.url());
    assert!(address.contains(&expected), "{address}");
    // The same again, after a lost answer, and the same name for something else.
    let again = bench.create("night-1", "ada", &temporary).await;
    assert_eq!(told(&again), ["temporary", &far]);
    let other = bench.terms("1", 9_000, "");
    let taken = bench.create("night-1", "ada", &other).await;
    assert_eq!(told(&taken), ["name-taken", ""]);
    let two = bench.terms("2", 40_100, "");
    let crowded = bench.create("b", "eve", &two).await;
    assert_eq!(told(&crowded), ["not-before", &later]);
    let five = bench.terms("5", 40_000, "");
    let wide = bench.create("c", "eve", &five).await;
    assert_eq!(told(&wide), ["never-fits", ""]);
}

#[tokio::test]
async fn a_window_in_the_past_is_refused_before_the_run_begins_as_it_is_then() {
    let test = "a_window_in_the_past_is_refused_before_the_run_begins_as_it_is_then";
    for lead in [3600, 0] {
        let bench = bench_before(test, Duration::from_secs(lead)).await;
        let past = "2020-01-02T00:00:00Z";
        let terms = bench.terms("1", 40_000, "");
        let terms = terms.replace(&bench.at(40_000), past);
        let refused = bench.create("n", "ada", &terms).await;
        assert_eq!(told(&refused), ["not-reserved", ""]);
        let reason = refused.unwrap_err().reason;
        let named = format!("LatestStart = \"{past}\": expected not before ");
        assert!(reason.contains(&named), "{reason}");
    }
}

#[tokio::test]
async fn an_agreement_is_its_holders_to_modify_confirm_use_and_end() {
    let bench = bench("an_agreement_is_its_holders_to_modify_confirm_use_and_end").await;
    let (far, later) = (bench.at(40_000), bench.at(40_900));
    let within = "<r:ConfirmWithin>PT5H</r:ConfirmWithin>";
    let terms = bench.terms("3", 40_000, within);
    bench.create("n", "ada", &terms).await.unwrap();
    let modify = |processors: &str, from: u64| {
        let terms = bench.terms(processors, from, within);
        format!("<r:Modify>{terms}</r:Modify>")
    };
    let (four, end) = (modify("4", 40_900), "<w:TerminateInput/>");
    for body in [&*four, "<r:Confirm/>", end] {
        for by in ["eve", ""] {
            let refused = bench.post("/n", by, body).await;
            assert_eq!(told(&refused)[0], "not-yours");
        }
        let refused = bench.post("/none", "ada", body).await;
        assert_eq!(told(&refused)[0], "unknown-reservation");
    }
    let status = bench.property("/n", "Status").await;
    assert_eq!(told(&status), ["temporary", &far]);
    // Its holder changes it, or cannot, and then it stays.
    let moved = bench.post("/n", "ada", &four).await;
    assert_eq!(told(&moved), ["temporary", &later]);
    let wide = bench.post("/n", "ada", &modify("5", 40_000)).await;
    assert_eq!(told(&wide)[0], "never-fits");
    let confirmed = bench.post("/n", "ada", "<r:Confirm/>").await;
    assert_eq!(told(&confirmed), ["confirmed", &later]);
    let terms = bench.property("/n", "Terms").await.unwrap().to_document();
    assert!(terms.contains(">4<") && terms.contains(&later), "{terms}");
    let context = bench.property("/n", "Context").await.unwrap();
    let holder = context.child(WSAG, "AgreementInitiator").unwrap().text();
    assert_eq!(holder, "ada");
    // It is a reservation like any other, for jobs of its holder.
    let (_, _, seen) = ask(&bench.lrms, "GET", "/v1/reservations/n", None).await;
    assert_eq!(
        (&seen["processors"], &seen["users"][0]),
        (&4.into(), &"ada".into())
    );
    for (user, status) in [("eve", 422), ("ada", 201)] {
        let place = serde_json::json!({"name": "n", "user": user});
        let job = serde_json::json!({"processors": 1, "run_time": "10s", "reservation": place});
        assert_eq!(submit(&bench.lrms, &job.to_string()).await.0, status);
    }
    assert_eq!(told(&bench.post("/n", "ada", end).await)[0], "in-use");
    let (cancelled, ..) = ask(&bench.lrms, "DELETE", "/v1/jobs/1", None).await;
    assert_eq!(cancelled, 200);
    bench.post("/n", "ada", end).await.unwrap();
    let gone = bench.property("/n", "Name").await;
    assert_eq!(told(&gone)[0], "unknown-reservation");
}

const ADA: &str = "<w:AgreementInitiator>ada</w:AgreementInitiator>";

/// A part of a good offer, what it becomes, and what is said of that.
const WRONG: &str = r#"
>1< => >0< => /Terms/All/ServiceDescriptionTerm/Reservation/Processors = "0": expected
PT15M => P1M => /Duration = "P1M": expected an xsd:duration
PT15M => 15m => /Duration = "15m": expected
PT15M => PT0S => /Duration = "PT0S": expected
PT15M => -PT1S => /Duration = "-PT1S": expected
<r:EarliestStart> => <r:EarliestStart>noon,  => /EarliestStart = "noon, 2
Z</r:EarliestStart> => </r:EarliestStart> => with its zone
<r:EarliestStart>20 => <r:EarliestStart>21 => expected not before EarliestStart
<r:LatestStart>2 => <r:LatestStart>1 => /LatestStart = "1
r:LatestStart> => r:EarliestStart> => expected LatestStart
</r:Reservation> => <r:Duration>PT1S</r:Duration></r:Reservation> => given twice
</r:Reservation> => <r:Nodes>1</r:Nodes></r:Reservation> => }Nodes in it: expected Proc
</r:Reservation> => <r:Flexible>si</r:Flexible></r:Reservation> => /Flexible = "si"
>x< => >a/b< => /Name = "a/b": expected
>ada< => >< => /AgreementInitiator = "": expected
<w:AgreementInitiator>ada</w:AgreementInitiator> =>  => AgreementInitiator = "": expected who wants it
<w:AgreementInitiator>ada</w:AgreementInitiator> => <w:Initiator>me</w:Initiator> => }Initiator in it
</w:Context> => <w:ServiceProvider>me</w:ServiceProvider></w:Context> => = "me"
</w:Context> => <w:ExpirationTime>2001-01-01T00:00:00Z</w:ExpirationTime></w:Context> => ExpirationTime = "2001-01-01T00:00:00Z": expected not before
"#;

#[tokio::test]
async fn what_is_not_in_order_in_an_offer_is_named_by_element_and_value() {
    let bench = bench("what_is_not_in_order_in_an_offer_is_named_by_element_and_value").await;
    let good = offer("x", "ada", &bench.terms("1", 40_000, ""));
    for row in WRONG.lines().skip(1) {
        let [part, instead, named] = row.split(" => ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        assert!(good.contains(part), "{part} in {good}");
        let fault = bench.post("", "", &good.replace(part, instead)).await;
        let reason = fault.unwrap_err().reason;
        assert!(reason.contains(named), "{reason} has no {named}");
    }
    let (_, _, none) = ask(&bench.lrms, "GET", "/v1/reservations", None).await;
    let nothing = serde_json::json!([]);
    assert_eq!(none["reservations"], nothing, "nothing was made");
    // The header says who it is as well.
    let made = bench.post("", "ada", &good.replace(ADA, "")).await;
    assert_eq!(told(&made)[0], "confirmed");
}

#[tokio::test]
async fn what_is_asked_of_the_wrong_port_is_refused_and_the_wsdl_has_the_address() {
    let test = "what_is_asked_of_the_wrong_port_is_refused_and_the_wsdl_has_the_address";
    let bench = bench(test).await;
    let good = offer("x", "ada", &bench.terms("1", 40_000, ""));
    let property = "<p:GetResourceProperty>w:State</p:GetResourceProperty>";
    for (path, body, named) in [
        ("", "<r:Confirm/>", "}Confirm in the Body"),
        ("/x", &good, "}CreateAgreementInput in the Body"),
        ("/x", "<r:Confirm><r:Now/></r:Confirm>", "element Now in it"),
        ("/x", "<r:Modify/>", "expected Reservation"),
        ("", property, "\"State\": expected Template"),
    ] {
        let fault = bench.post(path, "ada", body).await.unwrap_err();
        assert!(
            fault.reason.contains(named),
            "{} has no {named}",
            fault.reason
        );
    }
    let url = format!("{}/services/ws-agreement", bench.lrms.url());
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
