//! `/delegations`: a client lets its jobs act for it.
//!
//! The service makes a key and a certificate request, the client signs it with
//! its own credentials and puts the chain back. Nothing is staged here, so the
//! private key is thrown away at once; what is left of the ceremony is that a
//! chain has to be for the key of the request, whole and of today.

use super::answer::{Fault, Reply, text};
use super::store::{Credentials, Delegation};
use super::{Call, Face};
use axum::extract::rejection::StringRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use gridrig_protocol::certificate;
use gridrig_protocol::xml::Element;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use std::sync::Arc;

const PEM: &str = "application/x-pem-file";

/// Delegations that are kept at once; beyond, those that are unfinished or expired are
/// forgotten, and if there are none, new ones are refused.
const MOST_DELEGATIONS: usize = 10_000;

pub(super) async fn all(State(face): State<Arc<Face>>, call: Call) -> Reply {
    if matches!(call.method, Method::GET | Method::HEAD) {
        let viewer = call.viewer.as_deref();
        let store = face.store();
        let shown = store.delegations.iter();
        let shown = shown.filter(|(_, delegation)| delegation.is_visible(viewer));
        let item = |(number, _): (&u64, &Delegation)| {
            Element::new("", "delegation")
                .field("id", face.delegation_id(*number))
                .field("type", "x509")
        };
        let list = Element::new("", "delegations").with_all(shown.map(item));
        return Ok(call.format.answer(StatusCode::OK, &list, &["delegation"]));
    }
    call.only(&[Method::POST])?;
    if call.action() != "new" {
        return Err(Fault::new(501, "Action not implemented"));
    }
    let (key, request) = request()?;
    let delegation = Delegation {
        visible_to: call.viewer.clone(),
        key,
        credentials: None,
    };
    let now = face.unix_now();
    let number = face.store().delegate(delegation, MOST_DELEGATIONS, now);
    let id = face.delegation_id(number.ok_or_else(no_request)?);
    let path = format!("{}/rest/1.0/delegations/{id}", super::BASE);
    let location = HeaderValue::from_str(&path).map_err(|_| no_request())?;
    Ok(created(request, Some((header::LOCATION, location))))
}

pub(super) async fn one(
    State(face): State<Arc<Face>>,
    Path(id): Path<String>,
    call: Call,
    body: Result<String, StringRejection>,
) -> Reply {
    let viewer = call.viewer.as_deref();
    let number = face.delegation_number(&id).filter(|number| {
        let store = face.store();
        let found = store.delegations.get(number);
        found.is_some_and(|found| found.is_visible(viewer))
    });
    match (call.method.clone(), call.action()) {
        (Method::PUT, _) => {
            let body =
                body.map_err(|error| Fault::new(error.status().as_u16(), error.body_text()))?;
            let number = number.ok_or_else(|| refused("there is no delegation of this id"))?;
            put(&face, number, body)
        }
        (Method::POST, "get") => {
            let store = face.store();
            let found = number.and_then(|number| store.delegations.get(&number));
            let found = found.and_then(|found| found.credentials.as_ref());
            let found = found.ok_or_else(|| Fault::new(404, "No delegation found"))?;
            Ok(text(StatusCode::OK, PEM, found.pem.clone()))
        }
        (Method::POST, "renew") => {
            let number = number.ok_or_else(|| Fault::new(404, "No delegation found"))?;
            let (key, request) = request()?;
            if let Some(delegation) = face.store().delegations.get_mut(&number) {
                // What was delegated before stays good until the new chain is
                // put.
                delegation.key = key;
            }
            Ok(created(request, None))
        }
        (Method::POST, "delete") => {
            let number = number.ok_or_else(|| Fault::new(404, "No such delegation"))?;
            face.store().delegations.remove(&number);
            Ok(StatusCode::ACCEPTED.into_response())
        }
        (Method::POST, _) => Err(Fault::new(501, "Action not implemented")),
        _ => Err(Fault::not_implemented()),
    }
}

fn put(face: &Face, number: u64, pem: String) -> Reply {
    if pem.is_empty() {
        return Err(Fault::new(500, "Missing payload"));
    }
    let now = face.unix_now();
    let key = face
        .store()
        .delegations
        .get(&number)
        .map(|found| found.key.clone());
    let key = key.ok_or_else(|| refused("there is no delegation of this id"))?;
    let chain = certificate::check_chain(pem.as_bytes(), Some(&key), now);
    let chain = chain.map_err(|error| refused(&error.to_string()))?;
    let mut store = face.store();
    if !store.may_delegate(number, &pem) {
        return Err(refused("there are too many long ones"));
    }
    if let Some(delegation) = store.delegations.get_mut(&number) {
        delegation.credentials = Some(Credentials { chain, pem });
    }
    Ok(StatusCode::OK.into_response())
}

fn no_request() -> Fault {
    Fault::new(500, "Failed generating delegation request")
}

fn refused(why: &str) -> Fault {
    Fault::new(500, format!("Failed accepting delegation: {why}"))
}

fn created(request: String, header: Option<(HeaderName, HeaderValue)>) -> Response {
    let mut response = text(StatusCode::CREATED, PEM, request);
    response.headers_mut().extend(header);
    response
}

/// A new key's public half and the request for it.
fn request() -> Result<(Vec<u8>, String), Fault> {
    let failed = |_| no_request();
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    // The client replaces it by its own name and one more part.
    params
        .distinguished_name
        .push(DnType::CommonName, "gridrig delegation");
    let request = params
        .serialize_request(&key)
        .and_then(|request| request.pem());
    Ok((key.public_key_raw().to_vec(), request.map_err(failed)?))
}
