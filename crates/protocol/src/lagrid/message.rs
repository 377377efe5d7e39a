//! Messages in their two codecs.

use super::check::Check;
use super::xml;
use super::{
    HeartbeatAnswer, JobReport, OpenConnAnswer, Operation, Parameter, ResourceUpdate,
    SendResourceDataAnswer, SubmitJobAnswer, Taken,
};
use crate::rest::{Problem, Result};
use crate::xml::{Element, Name};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A request or an answer.
pub trait Message: Sized + Send {
    /// The message as an element of this name.
    fn to_element(&self, name: impl Into<Name>) -> Element;

    /// The message that an element is.
    ///
    /// # Errors
    /// A fault that names the element at fault by its path.
    fn from_element(element: &Element) -> Result<Self>;

    /// The message as a JSON document.
    fn to_json(&self) -> Vec<u8>;

    /// The message that a JSON document is.
    ///
    /// # Errors
    /// A fault that names the field at fault.
    fn from_json(document: &[u8]) -> Result<Self>;

    /// The reference parameters that SOAP carries in the header.
    fn reference(&self) -> &[Parameter] {
        &[]
    }

    /// The message with the reference parameters that came in the header.
    ///
    /// # Errors
    /// A fault that names the parameter that will not do.
    fn with_header(self, _header: &[Element]) -> Result<Self> {
        Ok(self)
    }
}

/// A request, with the operation that it asks for.
pub trait Request: Message {
    /// What it is answered with.
    type Answer: Message;
    /// What it asks for.
    const OPERATION: Operation;
}

/// Writes what can always be written: our messages have no maps with keys
/// other than texts, and no value of theirs fails to serialize.
pub(super) fn write_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

pub(super) fn read_json<T: DeserializeOwned>(document: &[u8]) -> Result<T> {
    serde_json::from_slice(document).map_err(|error| {
        let code = match error.classify() {
            serde_json::error::Category::Data => super::codes::INVALID,
            _ => "malformed",
        };
        // What comes in is not echoed at length.
        let reason: String = error.to_string().chars().take(400).collect();
        Problem::of_code(code, reason)
    })
}

pub(super) fn checked<T: Check>(message: T) -> Result<T> {
    message.check()?;
    Ok(message)
}

macro_rules! messages {
    ($($kind:ty $({ $($more:tt)+ })?,)+) => {$(
        impl Message for $kind {
            fn to_element(&self, name: impl Into<Name>) -> Element {
                xml::to_element(self, name)
            }

            fn from_element(element: &Element) -> Result<Self> {
                checked(xml::from_element(element)?)
            }

            fn to_json(&self) -> Vec<u8> {
                write_json(self)
            }

            fn from_json(document: &[u8]) -> Result<Self> {
                checked(read_json(document)?)
            }

            $($($more)+)?
        }
    )+};
}

pub(super) use messages;

messages! {
    OpenConnAnswer, Taken, HeartbeatAnswer, ResourceUpdate, SendResourceDataAnswer,
    SubmitJobAnswer, JobReport,
}
