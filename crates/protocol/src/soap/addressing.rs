//! WS-Addressing 1.0: message properties and endpoint references.

use super::Fault;
use crate::xml::{ADDRESSING, Element};

/// Answers go back over the connection of the request.
pub const ANONYMOUS: &str = "http://www.w3.org/2005/08/addressing/anonymous";
/// No answer is wanted.
pub const NONE: &str = "http://www.w3.org/2005/08/addressing/none";

/// Where a party or one of its things can be reached (WS-Addressing 1.0 Core,
/// section 2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointReference {
    /// The address, mostly a URL.
    pub address: String,
    /// What must come back with every message to it.
    pub parameters: Vec<Element>,
}

impl EndpointReference {
    /// A reference without parameters.
    pub fn of(address: impl Into<String>) -> Self {
        EndpointReference {
            address: address.into(),
            parameters: Vec::new(),
        }
    }

    /// The reference that this element holds.
    ///
    /// # Errors
    /// When it has no address.
    pub fn read(element: &Element) -> Result<Self, Fault> {
        let address = element.child(ADDRESSING, "Address").ok_or_else(|| {
            let reason = format!(
                "line {}: element {} has no wsa:Address: expected an endpoint reference",
                element.line, element.name
            );
            Fault::sender("invalid-endpoint-reference", reason)
        })?;
        let parameters = element.child(ADDRESSING, "ReferenceParameters");
        let parameters = parameters.into_iter().flat_map(Element::elements);
        Ok(EndpointReference {
            address: address.text().trim().to_owned(),
            parameters: parameters.cloned().collect(),
        })
    }

    /// The reference as an element of this name.
    pub fn write(&self, namespace: &'static str, name: &'static str) -> Element {
        let address = Element::with_text(ADDRESSING, "Address", self.address.as_str());
        let mut element = Element::new(namespace, name).with(address);
        if !self.parameters.is_empty() {
            let parameters = Element::new(ADDRESSING, "ReferenceParameters");
            element.push(parameters.with_all(self.parameters.iter().cloned()));
        }
        element
    }

    /// The text of the first element of this local name among the parameters,
    /// however deep: toolkits wrap it in elements of their own.
    pub fn parameter(&self, namespaces: &[&str], name: &str) -> Option<String> {
        fn search(element: &Element, namespaces: &[&str], name: &str) -> Option<String> {
            if element.name == name && namespaces.contains(&element.namespace.as_ref()) {
                return Some(element.text().trim().to_owned());
            }
            element
                .elements()
                .find_map(|child| search(child, namespaces, name))
        }
        self.parameters
            .iter()
            .find_map(|parameter| search(parameter, namespaces, name))
    }
}

/// The message properties of WS-Addressing 1.0 Core, section 3; each is left
/// out by most clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addressing {
    /// To whom it goes.
    pub to: Option<String>,
    /// What it asks for.
    pub action: Option<String>,
    /// Its name.
    pub message_id: Option<String>,
    /// The name of the message it answers.
    pub relates_to: Option<String>,
    /// Whom it is from.
    pub from: Option<EndpointReference>,
    /// Who is to be answered.
    pub reply_to: Option<EndpointReference>,
    /// Who is to be told of a fault.
    pub fault_to: Option<EndpointReference>,
}

impl Addressing {
    /// The properties in a header.
    ///
    /// # Errors
    /// When one is given twice or an endpoint reference has no address.
    pub fn read(header: &[Element]) -> Result<Self, Fault> {
        let one = |name: &str| -> Result<Option<&Element>, Fault> {
            let mut found = header.iter().filter(|block| block.is(ADDRESSING, name));
            let first = found.next();
            // A message may answer several others; the first one counts here.
            if found.next().is_some() && name != "RelatesTo" {
                let reason = format!("header wsa:{name} is given twice: expected it once");
                return Err(Fault::sender("invalid-addressing-header", reason));
            }
            Ok(first)
        };
        let text = |name: &str| -> Result<Option<String>, Fault> {
            Ok(one(name)?.map(|block| block.text().trim().to_owned()))
        };
        let reference = |name: &str| one(name)?.map(EndpointReference::read).transpose();
        Ok(Addressing {
            to: text("To")?,
            action: text("Action")?,
            message_id: text("MessageID")?,
            relates_to: text("RelatesTo")?,
            from: reference("From")?,
            reply_to: reference("ReplyTo")?,
            fault_to: reference("FaultTo")?,
        })
    }

    /// The blocks of a header, but endpoint references, which we never name; the
    /// reference parameters of `to` are among them, marked as such (WS-Addressing
    /// 1.0 SOAP Binding, section 2.3).
    pub fn write(&self, parameters: &[Element]) -> Vec<Element> {
        let texts = [
            ("To", &self.to),
            ("Action", &self.action),
            ("MessageID", &self.message_id),
            ("RelatesTo", &self.relates_to),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| {
            let text = text.as_deref()?;
            Some(Element::with_text(ADDRESSING, name, text))
        });
        let marked = |parameter: &Element| {
            let parameter = parameter.clone();
            parameter.with_attribute_of(ADDRESSING, "IsReferenceParameter", "true")
        };
        texts.chain(parameters.iter().map(marked)).collect()
    }

    /// The properties of the answer to a message with these ones: none for a
    /// client that does not speak WS-Addressing.
    pub fn answer(&self, action: &str) -> Self {
        if *self == Addressing::default() {
            return Addressing::default();
        }
        Addressing {
            action: Some(action.to_owned()),
            relates_to: self.message_id.clone(),
            ..Addressing::default()
        }
    }

    /// Refuses a message whose answer would have to go elsewhere than back
    /// over the connection: nothing is posted to addresses that others name.
    ///
    /// # Errors
    /// When `ReplyTo` or `FaultTo` is neither anonymous nor none.
    pub fn check_reply(&self) -> Result<(), Fault> {
        for (name, reference) in [("ReplyTo", &self.reply_to), ("FaultTo", &self.fault_to)] {
            let address = reference.as_ref().map_or(NONE, |it| it.address.as_str());
            if ![ANONYMOUS, NONE].contains(&address) {
                let address = crate::xml::excerpt(address);
                let reason = format!("header wsa:{name} = \"{address}\": expected {ANONYMOUS}");
                return Err(Fault::sender("only-anonymous-address", reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_survive_the_wire() {
        let sent = Addressing {
            to: Some("http://h/s".to_owned()),
            action: Some("urn:do".to_owned()),
            message_id: Some("urn:uuid:1".to_owned()),
            relates_to: Some("urn:uuid:0".to_owned()),
            from: None,
            reply_to: Some(EndpointReference::of(ANONYMOUS)),
            fault_to: Some(EndpointReference {
                address: "http://f".to_owned(),
                parameters: vec![Element::with_text("urn:p", "key", "7")],
            }),
        };
        let mut header = sent.write(&[]);
        for (name, reference) in [("ReplyTo", &sent.reply_to), ("FaultTo", &sent.fault_to)] {
            header.extend(reference.iter().map(|one| one.write(ADDRESSING, name)));
        }
        assert_eq!(Addressing::read(&header).unwrap(), sent);
    }

    #[test]
    fn a_property_given_twice_is_refused() {
        let twice = vec![
            Element::with_text(ADDRESSING, "To", "a"),
            Element::with_text(ADDRESSING, "To", "b"),
        ];
        let fault = Addressing::read(&twice).unwrap_err();
        assert_eq!(fault.code, "invalid-addressing-header");
    }

    #[test]
    fn nothing_is_sent_to_an_address_that_somebody_names() {
        let reply_to = Some(EndpointReference::of("http://victim/"));
        let asked = Addressing {
            reply_to,
            ..Addressing::default()
        };
        let fault = asked.check_reply().unwrap_err();
        assert_eq!(fault.code, "only-anonymous-address");
        assert_eq!(Addressing::default().check_reply(), Ok(()));
    }

    #[test]
    fn reference_parameters_are_marked_in_a_header() {
        let key = Element::with_text("urn:p", "key", "7");
        let header = Addressing::default().write(&[key]);
        assert_eq!(
            header[0].attribute(ADDRESSING, "IsReferenceParameter"),
            Some("true")
        );
    }

    #[test]
    fn a_parameter_is_found_within_what_a_toolkit_wraps_around_it() {
        let inner = Element::with_text("urn:p", "ID", " x ");
        let reference = EndpointReference {
            address: String::new(),
            parameters: vec![Element::new("urn:q", "Wrapped").with(inner)],
        };
        assert_eq!(reference.parameter(&["urn:p"], "ID").as_deref(), Some("x"));
        assert_eq!(reference.parameter(&["urn:q"], "ID"), None);
    }
}
