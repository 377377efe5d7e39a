//! The files that the fuzz targets begin with are what the readers take today: a target
//! whose files are refused does not get further than the refusal.

use gridrig_core::agent::{BrokerInput, LrmsInput, Record};
use gridrig_core::time::SimDuration;
use gridrig_protocol::adl;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    CancelJob, Heartbeat, NotifyConn, NotifyDrain, NotifyJob, OpenConn, Operation, QueryJob,
    Request, RequestResourceData, SendResourceData, SubmitJob,
};
use gridrig_protocol::resources;
use gridrig_protocol::rest::{EventReport, JobEndReport, JobNotice, JobSubmission, LoadReport};
use gridrig_protocol::soap::{Envelope, Version};
use std::collections::BTreeSet;
use std::path::Path;

/// The files of a directory whose names begin so, and what is in them.
fn seeds(of: &str, prefix: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let files = std::fs::read_dir(dir.join(of)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let wanted = names.filter(|name| name.starts_with(prefix));
    let read = |name: String| {
        let text = std::fs::read(dir.join(of).join(&name)).unwrap();
        (name, text)
    };
    let found: Vec<_> = wanted.map(read).collect();
    assert!(!found.is_empty(), "{of}/{prefix}*");
    found
}

#[test]
fn each_message_in_json_is_one_of_its_kinds() {
    for (name, text) in seeds("rest", "") {
        let submission = serde_json::from_slice::<JobSubmission>(&text);
        let event = serde_json::from_slice::<EventReport>(&text);
        let is_read = submission.is_ok_and(|it| it.spec().is_ok())
            || event.is_ok_and(|it| it.event(&it.at_and_placement().1).is_ok())
            || serde_json::from_slice::<JobNotice>(&text).is_ok_and(|it| it.news().is_ok())
            || serde_json::from_slice::<JobEndReport>(&text).is_ok()
            || serde_json::from_slice::<LoadReport>(&text).is_ok();
        assert!(is_read, "{name}");
    }
}

#[test]
fn each_line_of_a_journal_is_an_input() {
    for (name, text) in seeds("journal", "") {
        let lines = text.split(|byte| *byte == b'\n');
        for line in lines.filter(|it| !it.is_empty()) {
            let is_read = serde_json::from_slice::<Record<BrokerInput>>(line).is_ok()
                || serde_json::from_slice::<Record<LrmsInput>>(line).is_ok();
            assert!(is_read, "{name}");
        }
    }
}

#[test]
fn the_cluster_file_is_one() {
    for (name, text) in seeds("xml", "cluster") {
        assert!(resources::parse(&name, std::str::from_utf8(&text).unwrap()).is_ok());
    }
}

#[test]
fn each_description_of_a_job_is_read() {
    for (name, text) in seeds("xml", "jsdl") {
        assert!(JobDefinition::read(&name, &text).is_ok(), "{name}");
    }
    for (name, text) in seeds("xml", "adl") {
        for activity in adl::read(std::str::from_utf8(&text).unwrap()).unwrap() {
            let activity = activity.unwrap();
            assert!(activity.run_time(SimDuration::ZERO).is_ok(), "{name}");
            assert!(activity.held().is_ok(), "{name}");
        }
    }
}

#[test]
fn each_envelope_is_a_request_and_there_is_one_of_every_kind() {
    fn reads<R: Request>(envelope: &Envelope) -> bool {
        R::from_element(&envelope.body).is_ok_and(|it| it.with_header(&envelope.header).is_ok())
    }
    let mut left: BTreeSet<&str> = Operation::ALL.iter().map(|it| it.name()).collect();
    for (name, text) in seeds("lagrid", "") {
        let envelope = Envelope::read(&text, Version::Soap11).unwrap();
        let operation = Operation::from_name(&envelope.body.name).unwrap();
        let is_read = match operation {
            Operation::OpenConn => reads::<OpenConn>(&envelope),
            Operation::NotifyConn => reads::<NotifyConn>(&envelope),
            Operation::Heartbeat => reads::<Heartbeat>(&envelope),
            Operation::RequestResourceData => reads::<RequestResourceData>(&envelope),
            Operation::SendResourceData => reads::<SendResourceData>(&envelope),
            Operation::SubmitJob => reads::<SubmitJob>(&envelope),
            Operation::QueryJob => reads::<QueryJob>(&envelope),
            Operation::NotifyJob => reads::<NotifyJob>(&envelope),
            Operation::CancelJob => reads::<CancelJob>(&envelope),
            Operation::NotifyDrain => reads::<NotifyDrain>(&envelope),
        };
        assert!(is_read, "{name}");
        left.remove(operation.name());
    }
    assert!(left.is_empty(), "{left:?}");
}
