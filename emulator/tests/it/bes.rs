//! The BES face: what GridWay's own driver says, what the schemas say, and
//! what it does with what it cannot take.

mod hostile;
mod operations;
pub mod oracle;
mod owners;
mod recorded;
mod zeep;

use gridrig_emulator::faces::bes::Setup;
use gridrig_emulator::{Handle, spawn};
use gridrig_protocol::soap::{Envelope, Fault, Version};
use gridrig_protocol::xml::Element;

const FACTORY: &str = "http://schemas.ggf.org/bes/2006/08/bes-factory";
const MANAGEMENT: &str = "http://schemas.ggf.org/bes/2006/08/bes-management";
const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";
const JSDL: &str = "http://schemas.ggf.org/jsdl/2005/11/jsdl";
const POSIX: &str = "http://schemas.ggf.org/jsdl/2005/11/jsdl-posix";
const SOAP_1_1: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const SOAP_1_2: &str = "http://www.w3.org/2003/05/soap-envelope";

/// An LRMS of four processors with the face, on a clock that runs this much
/// faster.
async fn start(speed: u64) -> Handle {
    let mut config = crate::config(speed);
    config.faces.bes = Some(Setup::default());
    spawn(config, crate::door()).await.unwrap()
}

/// What came back: the HTTP status, the media type, the text and the message.
struct Answer {
    status: u16,
    media: String,
    text: String,
    envelope: Envelope,
}

impl Answer {
    fn body(&self) -> &Element {
        &self.envelope.body
    }

    fn fault(&self) -> Fault {
        Fault::of(&self.envelope).unwrap_or_else(|| panic!("no fault: {}", self.text))
    }
}

async fn post(lrms: &Handle, path: &str, media: &str, body: Vec<u8>) -> Answer {
    post_as(&reqwest::Client::new(), lrms, path, media, body).await
}

/// What the service says to these bytes.
async fn send(lrms: &Handle, bytes: impl Into<Vec<u8>>) -> Answer {
    post(lrms, "/services/bes", "text/xml", bytes.into()).await
}

async fn post_as(
    client: &reqwest::Client,
    lrms: &Handle,
    path: &str,
    media: &str,
    body: Vec<u8>,
) -> Answer {
    let request = client.post(format!("{}{path}", lrms.url()));
    let request = request.header("content-type", media.to_owned()).body(body);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let media = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    let text = response.text().await.unwrap();
    let envelope = Envelope::read(text.as_bytes(), Version::Soap11)
        .unwrap_or_else(|error| panic!("{error:?}: {text}"));
    Answer {
        status,
        media,
        text,
        envelope,
    }
}

fn envelope(namespace: &str, header: &str, body: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"{namespace}\" xmlns:bes=\"{FACTORY}\" xmlns:m=\"{MANAGEMENT}\" \
         xmlns:wsa=\"{ADDRESSING}\"><s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>"
    )
}

/// A request in SOAP 1.1 with this body.
async fn ask(lrms: &Handle, body: &str) -> Answer {
    send(lrms, envelope(SOAP_1_1, "", body)).await
}

/// A `CreateActivity` with this within its JobDescription.
fn create(description: &str) -> String {
    format!(
        "<bes:CreateActivity><bes:ActivityDocument><JobDefinition xmlns=\"{JSDL}\" \
         xmlns:posix=\"{POSIX}\" xmlns:own=\"urn:gridrig:jsdl:1\"><JobDescription>{description}\
         </JobDescription></JobDefinition></bes:ActivityDocument></bes:CreateActivity>"
    )
}

/// A job of this many processors and this length.
fn job(processors: u32, length: &str) -> String {
    create(&format!(
        "<JobIdentification><JobName>t runtime={length}</JobName></JobIdentification>\
         <Resources><TotalCPUCount><Exact>{processors}</Exact></TotalCPUCount></Resources>"
    ))
}

/// The text of the endpoint reference in an answer.
fn id_of(answer: &Answer) -> String {
    let identifier = answer.body().child(FACTORY, "ActivityIdentifier");
    let identifier = identifier.unwrap_or_else(|| panic!("no activity: {}", answer.text));
    let parameters = identifier.child(ADDRESSING, "ReferenceParameters").unwrap();
    let mut ids = parameters.elements().flat_map(Element::elements);
    ids.next().unwrap().text()
}

/// The endpoint reference of an activity, as clients of GridSAM send it.
fn identifier(id: &str) -> String {
    format!(
        "<bes:ActivityIdentifier><wsa:Address>http://x/bes</wsa:Address><wsa:ReferenceParameters>\
         <ID xmlns=\"http://www.icenigrid.org/service/gridsam\">{id}</ID>\
         </wsa:ReferenceParameters></bes:ActivityIdentifier>"
    )
}

fn about(operation: &str, ids: &[&str]) -> String {
    let ids: String = ids.iter().map(|id| identifier(id)).collect();
    format!("<bes:{operation}>{ids}</bes:{operation}>")
}

/// The states in an answer, or the names of the faults.
fn states(answer: &Answer) -> Vec<String> {
    let responses = answer.body().elements();
    let said = |response: &Element| {
        if let Some(status) = response.child(FACTORY, "ActivityStatus") {
            return status.attribute("", "state").unwrap().to_owned();
        }
        let fault = response.child(FACTORY, "Fault").unwrap();
        let detail = fault.child("", "detail").unwrap();
        detail.elements().next().unwrap().name.to_string()
    };
    responses.map(said).collect()
}

/// Asks for an activity until it is in the wanted state.
async fn wait_for(lrms: &Handle, id: &str, state: &str) {
    for _ in 0..3_600 {
        let answer = ask(lrms, &about("GetActivityStatuses", &[id])).await;
        if states(&answer) == [state] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("activity {id} did not become {state} within minutes");
}
