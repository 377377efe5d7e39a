//! Messages of the peer protocol: both codecs carry every message as it is,
//! the schema holds for all that is written, and what is none is refused by
//! the path of what is wrong.

mod generate;
mod refused;
mod schema;
pub mod xsd;

use gridrig_protocol::lagrid::{Message, Request, envelope};
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::Element;
use proptest::prelude::*;
use std::fmt::Debug;

fn survives<M: Message + PartialEq + Debug>(message: &M) {
    let read = M::from_json(&message.to_json()).unwrap();
    assert_eq!(&read, message);
    if message.reference().is_empty() {
        let text = message.to_element("message").to_document();
        let element = Element::parse(text.as_bytes()).unwrap();
        assert_eq!(&M::from_element(&element).unwrap(), message);
    }
}

fn survives_in_an_envelope<R: Request + PartialEq + Debug>(request: &R) {
    survives(request);
    for version in [Version::Soap11, Version::Soap12] {
        let text = envelope(request, version, "http://h/lagrid").write();
        let read = Envelope::read(text.as_bytes(), version).unwrap();
        assert_eq!(read.body.name, R::OPERATION.name());
        let message = R::from_element(&read.body).unwrap();
        assert_eq!(&message.with_header(&read.header).unwrap(), request);
    }
}

macro_rules! round_trips {
    ($($name:ident: $kind:ident by $check:ident,)+) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(48))]
            $(
                #[test]
                fn $name(message in generate::$kind()) {
                    $check(&message);
                }
            )+
        }
    };
}

round_trips! {
    an_open_conn_survives_the_wire: open_conn by survives_in_an_envelope,
    the_answer_to_an_open_conn_survives_the_wire: open_conn_answer by survives,
    a_notify_conn_survives_the_wire: notify_conn by survives_in_an_envelope,
    an_acknowledgement_survives_the_wire: taken by survives,
    a_heartbeat_survives_the_wire: heartbeat by survives_in_an_envelope,
    the_answer_to_a_heartbeat_survives_the_wire: heartbeat_answer by survives,
    a_request_for_resources_survives_the_wire: request_resource_data by survives_in_an_envelope,
    resources_survive_the_wire: update by survives,
    pushed_resources_survive_the_wire: send_resource_data by survives_in_an_envelope,
    the_answer_to_resources_survives_the_wire: send_resource_data_answer by survives,
    a_submission_survives_the_wire: submit_job by survives_in_an_envelope,
    the_answer_to_a_submission_survives_the_wire: submit_job_answer by survives,
    a_query_survives_the_wire: query_job by survives_in_an_envelope,
    a_report_survives_the_wire: job_report by survives,
    news_survives_the_wire_with_the_parameters_of_its_reference: notify_job
        by survives_in_an_envelope,
    a_cancellation_survives_the_wire: cancel_job by survives_in_an_envelope,
}
