//! SOAP 1.1 and 1.2: one route, dispatched on the element in the body.

use super::caller::From;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use gridrig_protocol::lagrid::wire::{self, Way};
use gridrig_protocol::lagrid::{
    self as peers, Answers, Caller, CancelJob, Handler, Heartbeat, LAGRID, Message as _,
    NotifyConn, NotifyJob, OpenConn, Operation, QueryJob, RequestResourceData, SOAP_PATH,
    SendResourceData, SubmitJob, wsdl,
};
use gridrig_protocol::soap::Fault;
use gridrig_protocol::xml::Element;
use gridrig_service::http::ProblemResponse;
use gridrig_service::soap::{self, Request};
use std::sync::Arc;

/// Reference parameters of ours that a peer may mark as `mustUnderstand`.
const PARAMETERS: [(&str, &str); 1] = [(LAGRID, "job")];

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
        Ok(()) => dispatch(handler.as_ref(), &caller, operation, &request).await,
        Err(fault) => Err(fault),
    };
    wire::log(Way::AnswerOut, operation, || match &result {
        Ok(answer) => answer.to_document(),
        Err(fault) => format!("fault {}: {}", fault.code, fault.reason),
    });
    let actions = (operation.response_action(), Operation::FAULT_ACTION);
    soap::answer(&request, (&actions.0, actions.1), result)
}

async fn dispatch<H: Handler>(
    handler: &H,
    caller: &Caller,
    operation: Operation,
    request: &Request,
) -> Result<Element, Fault> {
    match operation {
        Operation::OpenConn => ask::<H, OpenConn>(handler, caller, request).await,
        Operation::NotifyConn => ask::<H, NotifyConn>(handler, caller, request).await,
        Operation::Heartbeat => ask::<H, Heartbeat>(handler, caller, request).await,
        Operation::RequestResourceData => {
            ask::<H, RequestResourceData>(handler, caller, request).await
        }
        Operation::SendResourceData => ask::<H, SendResourceData>(handler, caller, request).await,
        Operation::SubmitJob => ask::<H, SubmitJob>(handler, caller, request).await,
        Operation::QueryJob => ask::<H, QueryJob>(handler, caller, request).await,
        Operation::NotifyJob => ask::<H, NotifyJob>(handler, caller, request).await,
        Operation::CancelJob => ask::<H, CancelJob>(handler, caller, request).await,
    }
}

async fn ask<H: Answers<R>, R: peers::Request>(
    handler: &H,
    caller: &Caller,
    request: &Request,
) -> Result<Element, Fault> {
    let read = R::from_element(&request.envelope.body)?;
    let read = read.with_header(&request.envelope.header)?;
    let answer = handler.answer(caller, read).await?;
    Ok(answer.to_element(R::OPERATION.response()))
}

/// The WSDL, with the address that the client came to.
pub(super) async fn describe(From(caller): From, uri: Uri) -> Result<Response, ProblemResponse> {
    let address = format!("{}{SOAP_PATH}", caller.base);
    soap::describe(&uri, || wsdl::document(&address))
}
