//! The one SOAP question that a broker of ARC's client asks: which input files
//! does the computing element have already? (`CacheCheck`, A-REX's own.) All
//! else at this address is EMI-ES, which is not spoken here.

use super::answer::{Fault, Reply, text};
use super::{Call, Face};
use axum::extract::State;
use axum::extract::rejection::StringRejection;
use axum::http::{Method, StatusCode};
use gridrig_protocol::xml::{self, Element};
use std::sync::Arc;

const AREX: &str = "http://www.nordugrid.org/schemas/a-rex";

/// What a file counts for: nothing is fetched, so its size is not known.
const NOMINAL_BYTES: u64 = 1024 * 1024;

pub(super) async fn soap(
    State(face): State<Arc<Face>>,
    call: Call,
    body: Result<String, StringRejection>,
) -> Reply {
    call.only(&[Method::POST])?;
    let body = body.map_err(|error| Fault::new(error.status().as_u16(), error.body_text()))?;
    let envelope = Element::parse(body.as_bytes());
    let envelope = envelope.map_err(|error| Fault::new(400, error.to_string()))?;
    let operation = envelope
        .is(xml::SOAP_1_1, "Envelope")
        .then(|| envelope.child(xml::SOAP_1_1, "Body"))
        .flatten()
        .and_then(|body| body.elements().next());
    match operation {
        Some(check) if check.name == "CacheCheck" => {
            let answer = Element::new("", "a-rex:CacheCheckResponse").with(results(&face, check));
            Ok(enveloped(StatusCode::OK, answer))
        }
        Some(other) => {
            let name = &other.name;
            let why = format!("{name} is not offered: use ARC REST below /arex/rest");
            let fault = Element::new("", "soap-env:Fault")
                .field("faultcode", "soap-env:Client")
                .field("faultstring", why);
            Ok(enveloped(StatusCode::INTERNAL_SERVER_ERROR, fault))
        }
        None => {
            let why = "no SOAP 1.1 envelope with an operation in its body";
            Err(Fault::new(400, why))
        }
    }
}

fn results(face: &Face, check: &Element) -> Element {
    let asked = check.elements().flat_map(Element::elements);
    let store = face.store();
    let result = |file: &Element| {
        let text = file.text();
        let url = text.trim();
        let is_here = store.is_cached(url);
        Element::new("", "a-rex:Result")
            .field("a-rex:FileURL", url)
            .field("a-rex:ExistInTheCache", is_here)
            .field("a-rex:FileSize", if is_here { NOMINAL_BYTES } else { 0 })
    };
    Element::new("", "a-rex:CacheCheckResult").with_all(asked.map(result))
}

fn enveloped(status: StatusCode, content: Element) -> axum::response::Response {
    let envelope = Element::new("", "soap-env:Envelope")
        .with_attribute("xmlns:soap-env", xml::SOAP_1_1)
        .with_attribute("xmlns:a-rex", AREX)
        .with(Element::new("", "soap-env:Body").with(content));
    text(status, "text/xml; charset=utf-8", envelope.to_document())
}
