//! Any bytes are an envelope of either version of SOAP or are refused; the body of what
//! is read is read again the same.

#![no_main]

use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::Element;
use libfuzzer_sys::fuzz_target;

gridrig_fuzz::changes_text!();

fuzz_target!(|bytes: &[u8]| {
    for version in [Version::Soap11, Version::Soap12] {
        if let Ok(envelope) = Envelope::read(bytes, version) {
            let _ = envelope.check_understood(&[]);
            let body = envelope.body.to_document();
            let again = Element::parse(body.as_bytes()).expect("what we write is XML");
            assert_eq!(again.to_document(), body);
        }
    }
});
