//! The schema in the WSDL, taken out of it, with xmllint as the oracle.

use super::generate;
use super::xsd::{complaint, extracted, in_schema, xmllint};
use gridrig_protocol::lagrid::{Message, Operation, Request, envelope, wsdl};
use gridrig_protocol::soap::Version;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const EACH: usize = 12;

fn some<M: Message>(
    runner: &mut TestRunner,
    messages: impl Strategy<Value = M>,
    answering: Operation,
) -> Vec<String> {
    let draw = |_| {
        let message = messages.new_tree(runner).unwrap().current();
        message.to_element(answering.response()).to_document()
    };
    (0..EACH).map(draw).collect()
}

/// Requests as they are sent: the body is taken out of its envelope again.
fn requests<R: Request>(
    runner: &mut TestRunner,
    messages: impl Strategy<Value = R>,
) -> Vec<String> {
    let draw = |number: usize| {
        let message = messages.new_tree(runner).unwrap().current();
        let version = [Version::Soap11, Version::Soap12][number % 2];
        in_schema(&envelope(&message, version, "http://h/lagrid").write())
    };
    (0..EACH).flat_map(draw).collect()
}

#[test]
fn every_message_holds_against_the_schema_of_the_description() {
    if !xmllint("every_message_holds_against_the_schema_of_the_description") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = extracted(&wsdl::document("http://h/lagrid"), folder.path());
    let mut all = Vec::new();
    let r = &mut TestRunner::deterministic();
    all.extend(requests(r, generate::open_conn()));
    all.extend(some(r, generate::open_conn_answer(), Operation::OpenConn));
    all.extend(requests(r, generate::notify_conn()));
    all.extend(some(r, generate::taken(), Operation::NotifyConn));
    all.extend(requests(r, generate::heartbeat()));
    all.extend(some(r, generate::heartbeat_answer(), Operation::Heartbeat));
    all.extend(requests(r, generate::request_resource_data()));
    let pulled = Operation::RequestResourceData;
    all.extend(some(r, generate::update(), pulled));
    all.extend(requests(r, generate::send_resource_data()));
    let pushed = Operation::SendResourceData;
    all.extend(some(r, generate::send_resource_data_answer(), pushed));
    all.extend(requests(r, generate::submit_job()));
    let submitted = Operation::SubmitJob;
    all.extend(some(r, generate::submit_job_answer(), submitted));
    all.extend(requests(r, generate::query_job()));
    all.extend(some(r, generate::job_report(), Operation::QueryJob));
    all.extend(requests(r, generate::notify_job()));
    all.extend(some(r, generate::taken(), Operation::NotifyJob));
    all.extend(requests(r, generate::cancel_job()));
    all.extend(some(r, generate::job_report(), Operation::CancelJob));
    assert_eq!(all.len(), 18 * EACH);
    let complaint = complaint(folder.path(), &driver, &all);
    assert_eq!(complaint, None);
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    if !xmllint("the_schema_refuses_what_the_reader_refuses") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = extracted(&wsdl::document("http://h/lagrid"), folder.path());
    for wrong in super::refused::AGAINST_THE_SCHEMA {
        let complaint = complaint(folder.path(), &driver, &[(*wrong).to_owned()]);
        assert!(complaint.is_some(), "{wrong}");
    }
}
