//! Any bytes are XML that we read or are refused; what is written of it is read
//! back the same. So are cluster files.

#![no_main]

use gridrig_protocol::resources;
use gridrig_protocol::xml::Element;
use libfuzzer_sys::fuzz_target;

gridrig_fuzz::changes_text!();

fuzz_target!(|bytes: &[u8]| {
    let Ok(root) = Element::parse(bytes) else {
        return;
    };
    let written = root.to_document();
    let again = Element::parse(written.as_bytes()).expect("what we write is XML");
    assert_eq!(again.to_document(), written);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(cluster) = resources::parse("fuzz", text)
        && let Ok(written) = resources::write(&cluster)
    {
        let again = resources::parse("fuzz", &written).expect("what we write is read");
        assert_eq!(resources::write(&again).expect("it was written"), written);
    }
});
