//! What the brokers of these tests and the peers that the tests play say to each
//! other over SOAP, held against the schema of the description that a broker
//! serves.

use crate::xsd::{complaint, extracted, in_schema, xmllint};
use gridrig_metabroker_stub::Handle;
use gridrig_protocol::lagrid::wire::WIRE;
use gridrig_protocol::xml::Element;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, Once, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Everything said since the process began: tests run side by side, and what one
/// has said holds for all.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Listens from now on, whoever asks first.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
}

/// Takes in what was said on a socket of the test's own.
pub fn hear(message: &[u8]) {
    let message = String::from_utf8_lossy(message);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.extend(in_schema(&message));
}

/// Holds every message so far against the schema that a broker serves; there
/// are some of each of these operations.
pub async fn holds(broker: &Handle, operations: &[&str]) {
    holds_at(&broker.url(), operations).await;
}

/// The same with the schema that is served at this base URL.
pub async fn holds_at(url: &str, operations: &[&str]) {
    let url = format!("{url}/lagrid?wsdl");
    let served = reqwest::get(&url).await.unwrap().text().await.unwrap();
    holds_against(&served, operations);
}

/// The same with the schema in this WSDL.
pub fn holds_against(wsdl: &str, operations: &[&str]) {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let roots = said
        .iter()
        .map(|message| Element::parse(message.as_bytes()));
    let roots: BTreeSet<String> = roots.map(|root| root.unwrap().name.to_string()).collect();
    for operation in operations {
        assert!(roots.contains(*operation), "no {operation} in {roots:?}");
    }
    if !xmllint("messages over SOAP hold against the schema") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = extracted(wsdl, folder.path());
    let said: Vec<String> = said.into_iter().collect();
    assert_eq!(complaint(folder.path(), &driver, &said), None);
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == WIRE
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Heard::default());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An entry of the log: what goes out and what is answered to it. The hostile
/// requests of other tests are only ever seen coming in.
#[derive(Default)]
struct Heard {
    own: bool,
}

impl Visit for Heard {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "way" => self.own = ["request-out", "answer-in"].contains(&value),
            "message" if self.own => {
                let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend(in_schema(value));
            }
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
