//! WS-Agreement 1.0 (GFD.107, GFD.192) about advance reservations: its messages, with the terms
//! in elements of our own. `resources/wsdl/ws-agreement.wsdl` is their schema,
//! `docs/reservations.md` tells what is served.

use crate::rest::{Problem, Result};
use crate::soap::{EndpointReference, Fault};
use crate::xml::record::{At, Language, Value, Wrong, structs, values};
pub use crate::xml::{AGREEMENT, AGREEMENT_OWN as OWN, PROPERTIES};
use crate::xml::{Element, SCHEMA, boolean, excerpt};
use gridrig_core::time::SimDuration;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use std::fmt;

/// An operation of the two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Of the factory: makes an agreement.
    Create(Box<Offer>),
    /// Of an agreement: other terms.
    Modify(Reservation),
    /// Of an agreement: it is wanted.
    Confirm,
    /// Of an agreement: it is not wanted any more.
    Terminate,
    /// Of both: the property of this local name.
    Property(String),
}

impl Operation {
    /// The operation of an agreement, or of the factory, that a body asks for.
    ///
    /// # Errors
    /// If it is none of these, or is not in order: by element, value and what was expected.
    pub fn read(body: &Element, of_agreement: bool) -> Result<Self, Fault> {
        let is = |namespace, name| body.is(namespace, name);
        let at = At::root(body);
        let read = if !of_agreement && is(AGREEMENT, "CreateAgreementInput") {
            Create::read(&at, &mut Terse).map(|create| Operation::Create(Box::new(create.offer)))
        } else if is(PROPERTIES, "GetResourceProperty") {
            let name = at.parsed(&mut Terse, "the name of a property", |text| {
                text.rsplit(':').next().map(str::to_owned)
            });
            name.map(Operation::Property)
        } else if of_agreement && is(OWN, "Modify") {
            Modify::read(&at, &mut Terse).map(|modify| Operation::Modify(modify.reservation))
        } else if of_agreement && is(OWN, "Confirm") {
            at.text(&mut Terse, &[]).map(|_| Operation::Confirm)
        } else if of_agreement && is(AGREEMENT, "TerminateInput") {
            Ok(Operation::Terminate)
        } else {
            return Err(Fault::unknown_operation(body));
        };
        read.map_err(Fault::from)
    }
}

/// Who asks, as the header says: for clients without a certificate.
///
/// # Errors
/// If that is no name.
pub fn initiator(header: &[Element]) -> Result<Option<String>, Fault> {
    let block = header.iter().find(|block| block.is(OWN, "Initiator"));
    let read = block.map(|block| String::read(&At::root(block), &mut Terse));
    read.transpose().map_err(Fault::from)
}

/// An instant in nanoseconds after 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

/// As `xsd:dateTime` in UTC.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = Timestamp::from_nanosecond(self.0.into());
        at.unwrap_or(Timestamp::MAX).fmt(f)
    }
}

fn instant(text: &str) -> Option<Instant> {
    let at: Timestamp = text.parse().ok()?;
    Some(Instant(at.as_nanosecond().try_into().ok()?))
}

/// A length of time of more than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub SimDuration);

/// As `xsd:duration`.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SignedDuration::from_nanos_i128(self.0.as_nanos().into()).fmt(f)
    }
}

fn length(text: &str) -> Option<Length> {
    let span: Span = text.strip_prefix('P').and(text.parse().ok())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    let length = SimDuration::from_nanos(length.as_nanos().try_into().ok()?);
    (!length.is_zero()).then_some(Length(length))
}

/// The name of an agreement: a part of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn name(text: &str) -> Option<Name> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits = (1..=200).contains(&text.len()) && text.bytes().all(plain);
    fits.then(|| Name(text.to_owned()))
}

fn party(text: &str) -> Option<String> {
    let fits = (1..=200).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

values! { Terse:
    u32 = "a whole number from 1 on", |text| text.parse().ok().filter(|count| *count > 0);
    bool = "true or false", boolean;
    Instant = "an xsd:dateTime with its zone, such as 2026-01-31T12:00:00Z", instant;
    Length = "an xsd:duration of more than 0, in days and less, such as PT1H30M", length;
    Name = "1 to 200 letters of ASCII, digits, dots, hyphens or underscores", name;
    String = "1 to 200 characters", party;
}

structs! { Terse in AGREEMENT:
    /// What a factory takes.
    pub struct Create {
        /// The agreement that is wanted.
        pub offer: Offer = "AgreementOffer",
    }

    /// An agreement that is wanted.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Offer {
        /// Its name.
        pub name: Name = "Name",
        /// Whose it is.
        pub context: Context = "Context",
        /// What is in it.
        pub terms: Terms = "Terms",
    }

    /// Between whom an agreement is.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Context {
        /// Who wants it; not asked where the client has a certificate.
        pub initiator: Option<String> = "AgreementInitiator",
        /// Who grants it.
        pub responder: Option<String> = "AgreementResponder",
        /// Which of the two does the work.
        pub provider: Option<String> = "ServiceProvider",
        /// Until when it is to hold.
        pub expiration: Option<Instant> = "ExpirationTime",
        /// From which template it was made.
        pub template_id: Option<String> = "TemplateId",
        /// The same by name.
        pub template: Option<String> = "TemplateName",
    }

    /// What is agreed on.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Terms {
        /// All of these.
        pub all: All = "All",
    }

    /// One term.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct All {
        /// What is to be done.
        pub term: Term = "ServiceDescriptionTerm",
    }

    /// A description.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Term {
        /// A reservation.
        pub reservation: Reservation = OWN "Reservation",
    }
}

structs! { Terse in OWN:
    /// Other terms of an agreement.
    pub struct Modify {
        /// All of them.
        pub reservation: Reservation = "Reservation",
    }

    /// Processors that are to be reserved.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Reservation {
        /// How many.
        pub processors: u32 = "Processors",
        /// For how long.
        pub duration: Length = "Duration",
        /// From when on at the earliest.
        pub earliest: Instant = "EarliestStart",
        /// From when on at the latest.
        pub latest: Instant = "LatestStart",
        /// Whether its start may be moved.
        pub flexible: bool = "Flexible" [or false],
        /// It is given back if it is not confirmed for so long.
        pub confirm_within: Option<Length> = "ConfirmWithin",
    }

    /// How a reservation stands.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Status {
        /// `temporary`, `confirmed` or `begun`.
        pub state: String = "State",
        /// From when on.
        pub start: Instant = "Start",
        /// Until when.
        pub end: Instant = "End",
    }
}

impl Reservation {
    /// The `Terms` of an agreement about it.
    pub fn terms(&self) -> Element {
        let reservation = Value::<Terse>::write(self, (OWN, "Reservation"));
        let term = Element::new(AGREEMENT, "ServiceDescriptionTerm")
            .with_attribute_of(AGREEMENT, "Name", "reservation")
            .with_attribute_of(AGREEMENT, "ServiceName", "processors")
            .with(reservation);
        let all = Element::new(AGREEMENT, "All").with(term);
        Element::new(AGREEMENT, "Terms").with(all)
    }
}

impl Status {
    /// It as an element.
    pub fn element(&self) -> Element {
        Value::<Terse>::write(self, (OWN, "Status"))
    }
}

/// The `Context` of an agreement with somebody, that holds until an instant, or of a template.
pub fn context(initiator: Option<&str>, responder: &str, until: Option<Instant>) -> Element {
    Element::new(AGREEMENT, "Context")
        .optional("AgreementInitiator", initiator)
        .field("AgreementResponder", responder)
        .field("ServiceProvider", "AgreementResponder")
        .optional("ExpirationTime", until)
        .optional("TemplateId", until.is_none().then_some("reservation"))
}

/// The template of agreements: an example, and what bounds its values.
pub fn template(
    responder: &str,
    example: &Reservation,
    most: u32,
    longest: Option<Length>,
) -> Element {
    let item = |name: &'static str, most: String| {
        let bound = Element::new(SCHEMA, "maxInclusive").with_attribute("value", most);
        Element::new(AGREEMENT, "Item")
            .with_attribute_of(AGREEMENT, "Name", name)
            .field("Location", format!("//*[local-name()='{name}']"))
            .with(Element::new(AGREEMENT, "ItemConstraint").with(bound))
    };
    let longest = longest.map(|longest| item("Duration", longest.to_string()));
    let constraints = Element::new(AGREEMENT, "CreationConstraints")
        .with(item("Processors", most.to_string()))
        .with_all(longest);
    Element::new(AGREEMENT, "Template")
        .with_attribute_of(AGREEMENT, "TemplateId", "reservation")
        .field("Name", "reservation")
        .with(context(None, responder, None))
        .with(example.terms())
        .with(constraints)
}

/// The answer to who has made an agreement: where it is, and how it stands.
pub fn created(address: &str, status: &Status) -> Element {
    let reference = EndpointReference::of(address).write(AGREEMENT, "CreatedAgreementEPR");
    let created = Element::new(AGREEMENT, "CreateAgreementResponse");
    created.with(reference).with(status.element())
}

/// What is not done, with the instant from which on it may be, if there is one.
pub fn refused(problem: Problem, next: Option<Instant>) -> Fault {
    let detail = Element::new(OWN, "RefusedFault").field("Reason", &problem.code);
    Fault::from(problem).with_detail(detail.optional("NextStart", next))
}

/// An element with a value that will not do.
pub fn invalid(element: &str, value: &str, expected: &str) -> Fault {
    let value = excerpt(value);
    let what = format!("element {element} = \"{value}\": expected {expected}");
    Fault::sender("invalid-request", what)
}

/// The language of the messages: nothing is left out but names of terms, and what is said not
/// to matter.
struct Terse;

impl Language for Terse {
    type Error = Problem;

    fn error(&self, at: &At<'_>, what: Wrong<'_>) -> Problem {
        let value =
            |value: &str, expected: &str| format!(" = \"{}\": expected {expected}", excerpt(value));
        let what = match what {
            Wrong::Attribute(name, _)
            | Wrong::NoAttribute(name)
            | Wrong::BadAttribute(name, ..) => {
                format!(": attribute {}: expected none", excerpt(name))
            }
            Wrong::Text(text) => value(text, "elements only"),
            Wrong::Value(text, expected) => value(text, expected),
            Wrong::Inner(inner) => {
                let inner = excerpt(&inner.name);
                format!(": element {inner} in it: expected a text")
            }
            Wrong::Unknown(other, tags) => {
                let names: Vec<&str> = tags.iter().map(|tag| tag.1).collect();
                let (namespace, name) = (excerpt(&other.namespace), excerpt(&other.name));
                let known = names.join(", ");
                format!(": element {{{namespace}}}{name} in it: expected {known}")
            }
            Wrong::Missing(name, _) => format!(": missing element: expected {name}"),
            Wrong::Twice => ": given twice: expected it once".to_owned(),
            Wrong::Other(what) => what.to_owned(),
        };
        let line = at.element.line;
        let detail = format!("line {line}: element {at}{what}");
        Problem::new(422, "invalid-request", detail)
    }

    fn surplus(&mut self, at: &At<'_>, what: Wrong<'_>) -> Result<()> {
        match what {
            Wrong::Attribute("Name" | "ServiceName" | "AgreementId", _) => Ok(()),
            Wrong::Unknown(other, _) if other.is(AGREEMENT, "NoncriticalExtension") => Ok(()),
            what => Err(self.error(at, what)),
        }
    }
}
