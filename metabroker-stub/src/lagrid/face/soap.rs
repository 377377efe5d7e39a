//! SOAP 1.1 and 1.2: one route, dispatched on the element in the body.

use super::caller::From;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use gridrig_protocol::lagrid::wire::{self, Way};
use gridrig_protocol::lagrid::{
    self as peers, Exchange, Handler, LAGRID, Message as _, Operation, SOAP_PATH, wsdl,
};
use gridrig_protocol::rest::Problem;
use gridrig_protocol::soap::Fault;
use gridrig_protocol::xml::Element;
use gridrig_service::http::Result;
use gridrig_service::soap::{self, Request};
use std::sync::Arc;

/// Reference parameters of ours that a peer may mark as `mustUnderstand`.
const PARAMETERS: [(&str, &str); 1] = [(LAGRID, "job")];

/// An element in the body of an envelope.
struct Soap<'a>(&'a Request);

impl Exchange for Soap<'_> {
    type Written = Element;

    fn read<R: peers::Request>(&self) -> Result<R, Problem> {
        R::from_element(&self.0.envelope.body)?.with_header(&self.0.envelope.header)
    }

    fn write<R: peers::Request>(&self, answer: &R::Answer) -> Element {
        answer.to_element(R::OPERATION.response())
    }
}

pub(super) async fn serve<H: Handler>(
    State(handler): State<Arc<H>>,
    From(caller): From,
    request: Request,
) -> Response {
    let body = &request.envelope.body;
    let operation = Operation::from_name(&body.name).filter(|_| body.namespace == LAGRID);
    let Some(operation) = operation else {
        let fault = Fault::unknown_operation(body);
        let action = Operation::FAULT_ACTION;
        return soap::answer(&request, (action, action), Err(fault));
    };
    wire::log(Way::RequestIn, operation, || body.to_document());
    let result = match request.envelope.check_understood(&PARAMETERS) {
        Ok(()) => {
            let answer = operation.serve(&*handler, &caller, &Soap(&request)).await;
            answer.map_err(Fault::from)
        }
        Err(fault) => Err(fault),
    };
    wire::log(Way::AnswerOut, operation, || match &result {
        Ok(answer) => answer.to_document(),
        Err(fault) => format!("fault {}: {}", fault.code, fault.reason),
    });
    let actions = (operation.response_action(), Operation::FAULT_ACTION);
    soap::answer(&request, (&actions.0, actions.1), result)
}

/// The WSDL, with the address that the client came to.
pub(super) async fn describe(From(caller): From, uri: Uri) -> Result<Response> {
    let address = format!("{}{SOAP_PATH}", caller.base);
    soap::describe(&uri, || wsdl::document(&address))
}
