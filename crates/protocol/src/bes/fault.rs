//! The faults of the specification (GFD.108, section 6).

use super::{ActivityState, FACTORY};
use crate::jsdl::JsdlError;
use crate::rest::Problem;
use crate::soap::{Fault, FaultKind};
use crate::xml::Element;

/// The faults that the specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(suffix = "Fault")]
pub enum FaultName {
    /// Whoever asks may not.
    NotAuthorized,
    /// No jobs are taken in at present.
    NotAcceptingNewActivities,
    /// The document asks for something that is not to be had here.
    UnsupportedFeature,
    /// The activity is past what was asked for it.
    CantApplyOperationToCurrentState,
    /// No activity of that name is known.
    UnknownActivityIdentifier,
    /// The request is malformed.
    InvalidRequestMessage,
}

impl FaultName {
    /// The name of its element.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A fault of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BesFault {
    /// Which one.
    pub name: FaultName,
    /// The code that a problem document would carry.
    pub code: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// The element or feature it is about, as a path.
    pub about: Option<String>,
    /// Where the activity stands that cannot do what was asked.
    pub state: Option<ActivityState>,
}

impl BesFault {
    /// A fault that is about nothing in particular.
    pub fn new(name: FaultName, code: impl Into<String>, message: impl Into<String>) -> Self {
        BesFault {
            name,
            code: code.into(),
            message: message.into(),
            about: None,
            state: None,
        }
    }

    /// A request with an element that will not do.
    pub fn invalid(element: &str, message: impl Into<String>) -> Self {
        BesFault {
            about: Some(element.to_owned()),
            ..BesFault::new(FaultName::InvalidRequestMessage, "invalid-request", message)
        }
    }

    /// An activity that is not known here.
    pub fn unknown_activity(message: impl Into<String>) -> Self {
        let name = FaultName::UnknownActivityIdentifier;
        BesFault::new(name, "unknown-activity", message)
    }

    /// The element of the detail.
    pub fn element(&self) -> Element {
        let about = self.about.as_deref();
        let element = Element::new(FACTORY, self.name.name());
        match self.name {
            FaultName::NotAuthorized | FaultName::NotAcceptingNewActivities => element,
            FaultName::UnsupportedFeature => element.optional("Feature", about),
            FaultName::CantApplyOperationToCurrentState => {
                let state = self.state.unwrap_or(ActivityState::Finished);
                let element = element.with(state.element());
                element.field("Message", &self.message)
            }
            FaultName::UnknownActivityIdentifier => element.field("Message", &self.message),
            FaultName::InvalidRequestMessage => element
                .optional("InvalidElement", about)
                .field("Message", &self.message),
        }
    }

    /// The fault about one activity within an answer about several: of the
    /// type of a SOAP 1.1 fault, whatever the version of the envelope.
    pub fn within_answer(&self) -> Element {
        let code = format!("bes-factory:{}", self.name.name());
        let detail = Element::new("", "detail").with(self.element());
        Element::new(FACTORY, "Fault")
            .with(Element::with_text("", "faultcode", code))
            .with(Element::with_text("", "faultstring", self.message.as_str()))
            .with(detail)
    }
}

impl From<BesFault> for Fault {
    fn from(fault: BesFault) -> Self {
        let kind = match fault.name {
            FaultName::NotAcceptingNewActivities => FaultKind::Receiver,
            _ => FaultKind::Sender,
        };
        Fault::new(kind, fault.code.as_str(), fault.message.as_str()).with_detail(fault.element())
    }
}

impl From<JsdlError> for BesFault {
    fn from(error: JsdlError) -> Self {
        let name = match error.is_unsupported() {
            true => FaultName::UnsupportedFeature,
            false => FaultName::InvalidRequestMessage,
        };
        BesFault {
            about: error.path().map(str::to_owned),
            ..BesFault::new(name, error.code(), error.to_string())
        }
    }
}

/// What stands in the way of a call to the machine, or what it said.
impl From<Problem> for BesFault {
    fn from(problem: Problem) -> Self {
        let name = match problem.status {
            503 => FaultName::NotAcceptingNewActivities,
            _ if problem.code == "never-fits" => FaultName::UnsupportedFeature,
            _ => FaultName::InvalidRequestMessage,
        };
        let about = (name == FaultName::UnsupportedFeature)
            .then(|| "JobDefinition/JobDescription/Resources".to_owned());
        BesFault {
            about,
            ..BesFault::new(name, problem.code, problem.detail)
        }
    }
}
