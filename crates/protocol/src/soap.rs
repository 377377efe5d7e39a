//! SOAP 1.1 and 1.2: envelopes, faults and WS-Addressing headers.
//!
//! One codec for every SOAP interface. A service reads an [`Envelope`],
//! dispatches on the element in its body (clients disagree about SOAPAction),
//! and answers in the version of the request. What goes wrong becomes a
//! [`Fault`], whose detail carries the code that a problem document would have.
//!
//! ```
//! use gridrig_protocol::soap::{Envelope, Version};
//!
//! let request = br#"<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope">
//!   <e:Body><ping xmlns="urn:x"/></e:Body></e:Envelope>"#;
//! let envelope = Envelope::read(request, Version::Soap11).unwrap();
//! assert_eq!(envelope.version, Version::Soap12);
//! assert!(envelope.body.is("urn:x", "ping"));
//! ```

mod addressing;
mod fault;

pub use addressing::{ANONYMOUS, Addressing, EndpointReference, NONE};
pub use fault::{Fault, FaultKind};

pub use crate::xml::PROBLEM;

use crate::xml::{ADDRESSING, Element, SOAP_1_1, SOAP_1_2, excerpt};

/// A version of SOAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SOAP 1.1 (W3C Note of May 2000).
    Soap11,
    /// SOAP 1.2 (W3C Recommendation, second edition).
    Soap12,
}

impl Version {
    /// Its namespace.
    pub fn namespace(self) -> &'static str {
        match self {
            Version::Soap11 => SOAP_1_1,
            Version::Soap12 => SOAP_1_2,
        }
    }

    /// The media type of its messages.
    pub fn media_type(self) -> &'static str {
        match self {
            Version::Soap11 => "text/xml; charset=utf-8",
            Version::Soap12 => "application/soap+xml; charset=utf-8",
        }
    }

    /// The prefix that the writer gives to its namespace, for qualified names
    /// in texts.
    fn prefix(self) -> &'static str {
        match self {
            Version::Soap11 => "soapenv",
            Version::Soap12 => "env",
        }
    }
}

/// A SOAP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its version.
    pub version: Version,
    /// The blocks of its header.
    pub header: Vec<Element>,
    /// The element in its body.
    pub body: Element,
}

/// A message that could not be read, and the version of the answer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The version to answer in.
    pub version: Version,
    /// The answer.
    pub fault: Box<Fault>,
}

impl Envelope {
    /// Reads a message. What is no envelope at all is answered in the version
    /// `assumed`.
    ///
    /// # Errors
    /// When it is not an envelope of either version with one element in its
    /// body.
    pub fn read(document: &[u8], assumed: Version) -> Result<Self, Unreadable> {
        let refuse = |version, fault: Fault| Unreadable {
            version,
            fault: Box::new(fault),
        };
        let root = Element::parse(document)
            .map_err(|error| refuse(assumed, Fault::sender(error.code, error.to_string())))?;
        let version = match (root.name.as_ref(), root.namespace.as_ref()) {
            ("Envelope", SOAP_1_1) => Version::Soap11,
            ("Envelope", SOAP_1_2) => Version::Soap12,
            // SOAP 1.2, appendix A: a node of both versions answers an unknown
            // one in SOAP 1.1.
            ("Envelope", other) => {
                let reason = format!(
                    "the Envelope is in the namespace \"{}\": expected {SOAP_1_1} or {SOAP_1_2}",
                    excerpt(other)
                );
                return Err(refuse(Version::Soap11, Fault::version_mismatch(reason)));
            }
            (other, _) => {
                let root = excerpt(other);
                let reason = format!("the root element is {root}: expected a SOAP Envelope");
                return Err(refuse(assumed, Fault::sender("not-an-envelope", reason)));
            }
        };
        Self::of(version, root).map_err(|fault| refuse(version, fault))
    }

    fn of(version: Version, root: Element) -> Result<Self, Fault> {
        let (mut header, mut body) = (None, None);
        let own = version.namespace();
        for part in into_elements(root) {
            if part.is(own, "Header") && header.is_none() && body.is_none() {
                header = Some(part);
            } else if part.is(own, "Body") && body.is_none() {
                body = Some(part);
            } else {
                let reason = format!(
                    "line {}: element {} in the Envelope: expected one Header, then one Body",
                    part.line,
                    excerpt(&part.name)
                );
                return Err(Fault::sender("malformed-envelope", reason));
            }
        }
        let none = "the Envelope has no Body: expected one";
        let body = body.ok_or_else(|| Fault::sender("malformed-envelope", none))?;
        let mut in_body = into_elements(body);
        let (Some(first), None) = (in_body.next(), in_body.next()) else {
            let reason = "expected exactly one element in the Body";
            return Err(Fault::sender("malformed-envelope", reason));
        };
        Ok(Envelope {
            version,
            header: header.map(into_elements).into_iter().flatten().collect(),
            body: first,
        })
    }

    /// Refuses a message whose header has a block that must be understood and
    /// is not: the WS-Addressing ones always are, and those named in `known`.
    ///
    /// # Errors
    /// A `MustUnderstand` fault that names the blocks.
    pub fn check_understood(&self, known: &[(&str, &str)]) -> Result<(), Fault> {
        let own = self.version.namespace();
        let must = |block: &&Element| {
            let said = block.attribute(own, "mustUnderstand").map(str::trim);
            matches!(said, Some("1" | "true"))
        };
        // A block for somebody else on the way is none of ours.
        let for_us = |block: &&Element| {
            let actor = match self.version {
                Version::Soap11 => block.attribute(own, "actor"),
                Version::Soap12 => block.attribute(own, "role"),
            };
            actor.is_none_or(|actor| {
                actor.is_empty() || actor.ends_with("/next") || actor.ends_with("/ultimateReceiver")
            })
        };
        let understood = |block: &Element| {
            let mut known = known.iter();
            block.namespace == ADDRESSING || known.any(|(space, name)| block.is(space, name))
        };
        let is_missed = |block: &&Element| must(block) && for_us(block) && !understood(block);
        let name = |block: &Element| (block.namespace.to_string(), block.name.to_string());
        let missed: Vec<_> = self.header.iter().filter(is_missed).map(name).collect();
        match missed.is_empty() {
            true => Ok(()),
            false => Err(Fault::must_understand(missed)),
        }
    }

    /// The message as a document.
    pub fn write(self) -> String {
        let own = self.version.namespace();
        let mut root = Element::new(own, "Envelope");
        if !self.header.is_empty() {
            root.push(Element::new(own, "Header").with_all(self.header));
        }
        root.push(Element::new(own, "Body").with(self.body));
        root.to_document()
    }
}

fn into_elements(parent: Element) -> impl Iterator<Item = Element> {
    parent.children.into_iter().filter_map(|node| match node {
        crate::xml::Node::Element(element) => Some(element),
        crate::xml::Node::Text(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(namespace: &str, inner: &str) -> String {
        format!(r#"<e:Envelope xmlns:e="{namespace}">{inner}</e:Envelope>"#)
    }

    #[test]
    fn another_version_of_soap_is_a_version_mismatch() {
        let text = envelope("urn:soap:9", "<e:Body><x/></e:Body>");
        let error = Envelope::read(text.as_bytes(), Version::Soap12).unwrap_err();
        assert_eq!(error.fault.kind, FaultKind::VersionMismatch);
        assert_eq!(error.version, Version::Soap11);
    }

    #[test]
    fn a_body_holds_exactly_one_element() {
        for inner in [
            "",
            "<e:Body/>",
            "<e:Body><a/><b/></e:Body>",
            "<e:Body><a/></e:Body><e:Header/>",
            "<e:Body><a/></e:Body><e:Body><a/></e:Body>",
        ] {
            let text = envelope(SOAP_1_1, inner);
            let error = Envelope::read(text.as_bytes(), Version::Soap12).unwrap_err();
            assert_eq!(error.fault.code, "malformed-envelope", "{inner}");
            assert_eq!(error.version, Version::Soap11, "{inner}");
        }
    }

    #[test]
    fn what_must_be_understood_and_is_not_is_named() {
        let header = |block: &str| {
            let inner = format!("<e:Header>{block}</e:Header><e:Body><a/></e:Body>");
            let text = envelope(SOAP_1_2, &inner);
            let envelope = Envelope::read(text.as_bytes(), Version::Soap12).unwrap();
            envelope.check_understood(&[("urn:known", "Known")])
        };
        let unknown = r#"<s xmlns="urn:s" e:mustUnderstand="true"/>"#;
        let fault = header(unknown).unwrap_err();
        assert_eq!(fault.kind, FaultKind::MustUnderstand);
        assert!(fault.reason.contains("{urn:s}s"), "{}", fault.reason);
        for fine in [
            r#"<s xmlns="urn:s" e:mustUnderstand="false"/>"#,
            r#"<s xmlns="urn:s" e:mustUnderstand="1" e:role="urn:somebody-else"/>"#,
            r#"<Known xmlns="urn:known" e:mustUnderstand="1"/>"#,
            r#"<To xmlns="http://www.w3.org/2005/08/addressing" e:mustUnderstand="1">x</To>"#,
        ] {
            assert_eq!(header(fine), Ok(()), "{fine}");
        }
    }
}
