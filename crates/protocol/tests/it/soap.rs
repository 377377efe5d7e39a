//! SOAP messages: whatever is written is read as it was, and nothing that
//! comes in makes the reader panic.

use gridrig_protocol::soap::{Addressing, EndpointReference, Envelope, Fault, FaultKind, Version};
use gridrig_protocol::xml::{ADDRESSING, Attribute, Element, Name, Node};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "[ -~\n\t\rä€\u{1f600}]{1,10}"
}

fn name() -> impl Strategy<Value = Name> {
    "[A-Za-z_][A-Za-z0-9_.-]{0,6}".prop_map(Name::Owned)
}

/// Namespaces with a customary prefix, without one, and none.
fn namespace() -> impl Strategy<Value = Name> {
    let some = vec![
        "",
        "urn:x",
        "urn:y?a=1&b=\"2\"",
        "http://www.w3.org/2005/08/addressing",
    ];
    prop::sample::select(some).prop_map(Name::Borrowed)
}

fn element() -> impl Strategy<Value = Element> {
    let attributes = prop::collection::btree_map(name(), (namespace(), text()), 0..3);
    let bare = (namespace(), name(), attributes, prop::option::of(text()));
    let leaf = bare.prop_map(|(namespace, name, attributes, text)| Element {
        namespace,
        name,
        attributes: attributes
            .into_iter()
            .map(|(name, (namespace, value))| Attribute {
                namespace,
                name,
                value,
            })
            .collect(),
        children: text.map(Node::Text).into_iter().collect(),
        line: 0,
    });
    leaf.prop_recursive(4, 24, 4, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..4)).prop_map(|(mut parent, children)| {
            parent.children = children.into_iter().map(Node::Element).collect();
            parent
        })
    })
}

/// The same element as if it had not been read.
fn without_lines(mut element: Element) -> Element {
    element.line = 0;
    for child in &mut element.children {
        if let Node::Element(child) = child {
            *child = without_lines(std::mem::take(child));
        }
    }
    element
}

#[test]
fn a_character_that_xml_has_not_stands_behind_no_reference() {
    for text in ["<a>&#14;</a>", "<a b='&#14;'/>", "<a xmlns='u&#14;'/>"] {
        assert!(Element::parse(text.as_bytes()).is_err(), "{text}");
        let other = text.replace("&#14;", "&#13;");
        assert!(Element::parse(other.as_bytes()).is_ok(), "{other}");
    }
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(vec![Version::Soap11, Version::Soap12])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_message_survives_the_wire(
        version in version(),
        header in prop::collection::vec(element(), 0..3),
        body in element(),
    ) {
        let sent = Envelope { version, header, body };
        let text = sent.clone().write();
        let read = Envelope::read(text.as_bytes(), version).unwrap();
        prop_assert_eq!(read.version, version);
        prop_assert_eq!(without_lines(read.body), sent.body, "{}", text);
        let header: Vec<Element> = read.header.into_iter().map(without_lines).collect();
        prop_assert_eq!(header, sent.header, "{}", text);
    }

    #[test]
    fn a_fault_survives_the_wire(
        version in version(),
        sender in any::<bool>(),
        code in "[a-z-]{1,12}",
        reason in text(),
        detail in prop::collection::vec(element(), 0..3),
    ) {
        let kind = if sender { FaultKind::Sender } else { FaultKind::Receiver };
        let mut sent = Fault::new(kind, code, reason);
        sent.detail = detail;
        let text = sent.envelope(version, Vec::new()).write();
        let read = Fault::of(&Envelope::read(text.as_bytes(), version).unwrap()).unwrap();
        prop_assert_eq!((read.kind, &read.code, &read.reason), (kind, &sent.code, &sent.reason));
        let detail: Vec<Element> = read.detail.into_iter().map(without_lines).collect();
        prop_assert_eq!(detail, sent.detail);
    }

    #[test]
    fn bytes_that_are_no_message_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Envelope::read(&bytes, Version::Soap11).is_err());
    }

    #[test]
    fn a_changed_message_is_another_one_or_refused(
        body in element(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let reference = EndpointReference::of_activity("http://h/?a=1&b", "x");
        let header = vec![reference.write(ADDRESSING, "ReplyTo")];
        let sent = Envelope { version: Version::Soap12, header, body };
        let mut bytes = sent.write().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = with;
        if let Ok(read) = Envelope::read(&bytes, Version::Soap11) {
            let _ = Addressing::read(&read.header);
            let _ = read.check_understood(&[]);
            let text = read.clone().write();
            let again = Envelope::read(text.as_bytes(), read.version).unwrap();
            prop_assert_eq!(without_lines(again.body), without_lines(read.body), "{}", text);
        }
    }
}

#[test]
fn a_cdata_section_with_nothing_in_it_is_no_text() {
    let empty = Element::parse(b"<a><b/></a>").unwrap();
    for text in ["<a><b><![CDATA[]]></b></a>", "<a><![CDATA[]]><b/></a>"] {
        let read = Element::parse(text.as_bytes()).unwrap();
        assert_eq!(read.to_document(), empty.to_document(), "{text}");
    }
    let split = Element::parse(b"<a>x<![CDATA[]]>y</a>").unwrap();
    assert_eq!(split.text(), "xy");
}
