//! Any bytes are a message of the peer protocol or a fault, in both codecs;
//! what is read is written, and what is written is read back the same.

#![no_main]

use gridrig_protocol::lagrid::{
    CancelJob, Heartbeat, Message, NotifyConn, NotifyDrain, NotifyJob, OpenConn, OpenConnAnswer,
    Operation, QueryJob, Request, RequestResourceData, ResourceUpdate, SendResourceData, SubmitJob,
    SubmitJobAnswer,
};
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::Element;
use libfuzzer_sys::fuzz_target;
use std::fmt::Debug;

fn again<M: Message + PartialEq + Debug>(message: &M) {
    let read = M::from_json(&message.to_json()).expect("what we write is read");
    assert_eq!(&read, message);
    let text = message.to_element("message").to_document();
    let element = Element::parse(text.as_bytes()).expect("what we write is XML");
    let read = M::from_element(&element).expect("what we write is read");
    assert_eq!(read.to_element("message").to_document(), text);
}

fn from_xml<R: Request + PartialEq + Debug>(envelope: &Envelope) {
    if let Ok(message) = R::from_element(&envelope.body) {
        again(&message);
        let _ = message.with_header(&envelope.header);
    }
}

fn from_json<M: Message + PartialEq + Debug>(bytes: &[u8]) {
    if let Ok(message) = M::from_json(bytes) {
        again(&message);
    }
}

/// A request in SOAP.
fn in_xml<R: Request + for<'de> serde::Deserialize<'de>>(seed: u64) -> Option<String> {
    let json = gridrig_fuzz::sample::<R>(seed)?;
    let body = R::from_json(json.as_bytes()).ok()?;
    let envelope = Envelope {
        version: Version::Soap11,
        header: Vec::new(),
        body: body.to_element(R::OPERATION.name()),
    };
    Some(envelope.write())
}

gridrig_fuzz::changes_text!(
    OpenConn,
    OpenConnAnswer,
    ResourceUpdate,
    SendResourceData,
    SubmitJob<String>,
    SubmitJobAnswer,
    NotifyJob;
    in_xml::<OpenConn>,
    in_xml::<SendResourceData>,
    in_xml::<NotifyJob>
);

fuzz_target!(|bytes: &[u8]| {
    if let Ok(envelope) = Envelope::read(bytes, Version::Soap11) {
        match Operation::from_name(&envelope.body.name) {
            Some(Operation::OpenConn) => from_xml::<OpenConn>(&envelope),
            Some(Operation::NotifyConn) => from_xml::<NotifyConn>(&envelope),
            Some(Operation::Heartbeat) => from_xml::<Heartbeat>(&envelope),
            Some(Operation::RequestResourceData) => from_xml::<RequestResourceData>(&envelope),
            Some(Operation::SendResourceData) => from_xml::<SendResourceData>(&envelope),
            Some(Operation::SubmitJob) => from_xml::<SubmitJob>(&envelope),
            Some(Operation::QueryJob) => from_xml::<QueryJob>(&envelope),
            Some(Operation::NotifyJob) => from_xml::<NotifyJob>(&envelope),
            Some(Operation::CancelJob) => from_xml::<CancelJob>(&envelope),
            Some(Operation::NotifyDrain) => from_xml::<NotifyDrain>(&envelope),
            None => {}
        }
    }
    from_json::<OpenConn>(bytes);
    from_json::<OpenConnAnswer>(bytes);
    from_json::<ResourceUpdate>(bytes);
    from_json::<SendResourceData>(bytes);
    from_json::<SubmitJob>(bytes);
    from_json::<SubmitJobAnswer>(bytes);
    from_json::<NotifyJob>(bytes);
});
