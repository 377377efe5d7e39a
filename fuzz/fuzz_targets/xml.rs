//! Any bytes are XML that we read or are refused; what is written of it is read
//! back the same. So are cluster files, job descriptions in JSDL and ADL, and
//! envelopes of both versions of SOAP.

#![no_main]

use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::Element;
use gridrig_protocol::{adl, resources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = Element::parse(bytes) else {
        return;
    };
    let written = root.to_document();
    let again = Element::parse(written.as_bytes()).expect("what we write is XML");
    assert_eq!(again.to_document(), written);
    for version in [Version::Soap11, Version::Soap12] {
        if let Ok(envelope) = Envelope::read(bytes, version) {
            let _ = envelope.check_understood(&[]);
        }
    }
    if let Ok(job) = JobDefinition::read_element("fuzz", &root) {
        let again = JobDefinition::read("fuzz", job.write().as_bytes());
        assert_eq!(again.as_ref(), Ok(&job));
    }
    let _ = JobDefinition::read_lenient("fuzz", &root);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = adl::read(text);
    if let Ok(cluster) = resources::parse("fuzz", text)
        && let Ok(written) = resources::write(&cluster)
    {
        let again = resources::parse("fuzz", &written).expect("what we write is read");
        assert_eq!(resources::write(&again).expect("it was written"), written);
    }
});
