//! Faults: what a service answers when it cannot do what it was asked.

use super::{Envelope, PROBLEM, Version};
use crate::xml::{Element, XML, excerpt};

/// Who is at fault, in the words of SOAP 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The envelope is of a version that is not spoken here.
    VersionMismatch,
    /// A header block that must be understood is not.
    MustUnderstand,
    /// Whoever asked; `Client` in SOAP 1.1.
    Sender,
    /// Whoever was asked; `Server` in SOAP 1.1.
    Receiver,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who is at fault.
    pub kind: FaultKind,
    /// The code that a problem document would carry.
    pub code: String,
    /// What is wrong and what was expected.
    pub reason: String,
    /// What the interface's own specification puts into the detail.
    pub detail: Vec<Element>,
    /// The HTTP status, where it is not the one of SOAP's HTTP binding.
    pub status: Option<u16>,
    /// The header blocks that were not understood: namespace and local name.
    not_understood: Vec<(String, String)>,
}

/// A name from outside, with its namespace.
fn qualified(namespace: &str, name: &str) -> String {
    format!("{{{}}}{}", excerpt(namespace), excerpt(name))
}

impl Fault {
    /// A fault of this kind.
    pub fn new(kind: FaultKind, code: impl Into<String>, reason: impl Into<String>) -> Self {
        Fault {
            kind,
            code: code.into(),
            reason: reason.into(),
            detail: Vec::new(),
            status: None,
            not_understood: Vec::new(),
        }
    }

    /// A fault of whoever asked.
    pub fn sender(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Fault::new(FaultKind::Sender, code, reason)
    }

    /// The operation that the body names is none of this service.
    pub fn unknown_operation(body: &Element) -> Self {
        let name = qualified(&body.namespace, &body.name);
        let reason = format!("element {name} in the Body: expected an operation of this service");
        Fault::sender("unknown-operation", reason)
    }

    pub(super) fn version_mismatch(reason: impl Into<String>) -> Self {
        Fault::new(FaultKind::VersionMismatch, "version-mismatch", reason)
    }

    pub(super) fn must_understand(not_understood: Vec<(String, String)>) -> Self {
        let names = not_understood.iter();
        let names: Vec<String> = names.map(|(space, name)| qualified(space, name)).collect();
        let reason = format!("header blocks not understood: {}", names.join(", "));
        Fault {
            not_understood,
            ..Fault::new(FaultKind::MustUnderstand, "must-understand", reason)
        }
    }

    /// The same fault with one more element in its detail.
    #[must_use]
    pub fn with_detail(mut self, detail: Element) -> Self {
        self.detail.push(detail);
        self
    }

    /// The same fault under another HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Its HTTP status: SOAP 1.1 knows 500 only (section 6.2), SOAP 1.2 tells
    /// senders' faults from receivers' (part 2, table 20).
    pub fn http_status(&self, version: Version) -> u16 {
        match (self.status, version, self.kind) {
            (Some(status), _, _) => status,
            (None, Version::Soap12, FaultKind::Sender) => 400,
            (None, _, _) => 500,
        }
    }

    /// The message that tells of the fault.
    pub fn envelope(&self, version: Version, mut header: Vec<Element>) -> Envelope {
        if version == Version::Soap12 {
            header.extend(self.not_understood.iter().map(|(namespace, name)| {
                // The name's prefix has to be declared; an attribute of its
                // namespace would not tell which prefix the writer chooses.
                Element::new(version.namespace(), "NotUnderstood")
                    .with_attribute("qname", format!("n:{name}"))
                    .with_attribute("xmlns:n", namespace)
            }));
        }
        Envelope {
            version,
            header,
            body: self.element(version),
        }
    }

    /// The `Fault` element. Its children have no namespace in SOAP 1.1.
    pub fn element(&self, version: Version) -> Element {
        let own = version.namespace();
        let code = format!("{}:{}", version.prefix(), self.name(version));
        match version {
            Version::Soap11 => {
                let mut fault = Element::new(own, "Fault")
                    .with(Element::with_text("", "faultcode", code))
                    .with(Element::with_text("", "faultstring", self.reason.as_str()));
                // SOAP 1.1, section 4.4: a fault about the header has no detail.
                if matches!(self.kind, FaultKind::Sender | FaultKind::Receiver) {
                    fault.push(Element::new("", "detail").with_all(self.details()));
                }
                fault
            }
            Version::Soap12 => {
                let text = Element::with_text(own, "Text", self.reason.as_str())
                    .with_attribute_of(XML, "lang", "en");
                Element::new(own, "Fault")
                    .with(Element::new(own, "Code").field("Value", code))
                    .with(Element::new(own, "Reason").with(text))
                    .with(Element::new(own, "Detail").with_all(self.details()))
            }
        }
    }

    /// What the interface says, then our own code for every fault alike.
    fn details(&self) -> impl Iterator<Item = Element> {
        let problem = Element::new(PROBLEM, "problem")
            .field("code", &self.code)
            .field("detail", &self.reason);
        let detail = self.detail.iter().cloned();
        detail.chain(std::iter::once(problem))
    }

    fn name(&self, version: Version) -> &'static str {
        match (self.kind, version) {
            (FaultKind::VersionMismatch, _) => "VersionMismatch",
            (FaultKind::MustUnderstand, _) => "MustUnderstand",
            (FaultKind::Sender, Version::Soap11) => "Client",
            (FaultKind::Sender, Version::Soap12) => "Sender",
            (FaultKind::Receiver, Version::Soap11) => "Server",
            (FaultKind::Receiver, Version::Soap12) => "Receiver",
        }
    }

    /// The fault that a message tells of, if it does.
    pub fn of(envelope: &Envelope) -> Option<Fault> {
        let (own, body) = (envelope.version.namespace(), &envelope.body);
        if !body.is(own, "Fault") {
            return None;
        }
        let (within, code, reason, detail): (_, &[&str], &[&str], _) = match envelope.version {
            Version::Soap11 => ("", &["faultcode"], &["faultstring"], "detail"),
            Version::Soap12 => (own, &["Code", "Value"], &["Reason", "Text"], "Detail"),
        };
        let text = |path: &[&str]| {
            let mut path = path.iter();
            let inner = path.try_fold(body, |outer, name| outer.child(within, name));
            inner.map(Element::text).unwrap_or_default()
        };
        let (code, reason, detail) = (text(code), text(reason), body.child(within, detail));
        let kind = match code.rsplit(':').next().map(str::trim) {
            Some("VersionMismatch") => FaultKind::VersionMismatch,
            Some("MustUnderstand") => FaultKind::MustUnderstand,
            Some("Client" | "Sender") => FaultKind::Sender,
            _ => FaultKind::Receiver,
        };
        let problem = detail.and_then(|detail| detail.child(PROBLEM, "problem"));
        let code = problem.and_then(|problem| problem.child(PROBLEM, "code"));
        let code = code.map_or_else(|| "unspecified".to_owned(), Element::text);
        let detail = detail.into_iter().flat_map(Element::elements);
        Some(Fault {
            detail: detail
                .filter(|element| !element.is(PROBLEM, "problem"))
                .cloned()
                .collect(),
            ..Fault::new(kind, code, reason)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soap_1_2_names_what_was_not_understood() {
        let fault = Fault::must_understand(vec![("urn:s".to_owned(), "Sec".to_owned())]);
        let text = fault.envelope(Version::Soap12, Vec::new()).write();
        assert!(
            text.contains(r#"<env:NotUnderstood qname="n:Sec" xmlns:n="urn:s"/>"#),
            "{text}"
        );
        assert!(Envelope::read(text.as_bytes(), Version::Soap12).is_ok());
    }
}
