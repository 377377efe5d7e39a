//! OGSA Basic Execution Service 1.0 (GFD.108): its operations, states, faults
//! and messages, in the subset of the HPC Basic Profile 1.0 (GFD.114).
//!
//! The messages are elements; `soap` puts them into envelopes, `jsdl` has the
//! job definitions in them. `docs/bes.md` tells what is served.

mod fault;
mod messages;

pub use fault::{BesFault, FaultName};
pub use messages::{
    ActivityAnswer, Factory, activity_document, contained, create_activity_response,
    factory_attributes_response, identifiers, response, responses,
};

pub use crate::xml::{FACTORY, MANAGEMENT};

use crate::xml::Element;

/// GridSAM's own namespace; its clients look into endpoint references for the
/// elements of it.
pub const GRIDSAM: &str = "http://www.icenigrid.org/service/gridsam";
/// Our own elements in messages of the factory.
pub const OWN: &str = "urn:gridrig:bes:1";

/// An operation of the two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum Operation {
    /// Takes a job in.
    CreateActivity,
    /// Tells where jobs stand.
    GetActivityStatuses,
    /// Removes jobs.
    TerminateActivities,
    /// Gives the documents of jobs.
    GetActivityDocuments,
    /// Tells of the service itself.
    GetFactoryAttributesDocument,
    /// Takes no more jobs in.
    StopAcceptingNewActivities,
    /// Takes jobs in again.
    StartAcceptingNewActivities,
}

impl Operation {
    /// Every operation.
    pub const ALL: &'static [Operation] = <Operation as strum::VariantArray>::VARIANTS;

    /// The operation that the element in a body names.
    pub fn of(body: &Element) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|operation| body.is(operation.namespace(), operation.name()))
    }

    /// The name of its request.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The namespace of its messages.
    pub fn namespace(self) -> &'static str {
        match self {
            Operation::StopAcceptingNewActivities | Operation::StartAcceptingNewActivities => {
                MANAGEMENT
            }
            _ => FACTORY,
        }
    }

    /// The name of its answer.
    pub fn response(self) -> String {
        format!("{}Response", self.name())
    }

    /// The WS-Addressing action of its answer.
    pub fn response_action(self) -> String {
        format!("{}/{}", self.port_type(), self.response())
    }

    /// The WS-Addressing action of its faults.
    pub fn fault_action(self) -> String {
        format!("{}/Fault", self.port_type())
    }

    fn port_type(self) -> String {
        let name = match self.namespace() {
            MANAGEMENT => "BESManagementPortType",
            _ => "BESFactoryPortType",
        };
        format!("{}/{name}", self.namespace())
    }
}

/// Where an activity stands (GFD.108, section 4). What the text calls
/// Terminated is written `Cancelled` by the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum ActivityState {
    /// It waits.
    Pending,
    /// It runs.
    Running,
    /// It was removed on request.
    #[strum(to_string = "Cancelled")]
    Terminated,
    /// It was lost or turned away.
    Failed,
    /// It ran to its end.
    Finished,
}

impl ActivityState {
    /// Its name in a message.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The element that tells of it.
    pub fn element(self) -> Element {
        Element::new(FACTORY, "ActivityStatus").with_attribute("state", self.name())
    }
}
