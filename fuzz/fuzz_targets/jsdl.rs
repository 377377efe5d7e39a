//! Any bytes are a job in JSDL or are refused; what is written of it is read back the
//! same.

#![no_main]

use gridrig_protocol::jsdl::JobDefinition;
use libfuzzer_sys::fuzz_target;

gridrig_fuzz::changes_text!();

fuzz_target!(|bytes: &[u8]| {
    if let Ok(job) = JobDefinition::read("fuzz", bytes) {
        let again = JobDefinition::read("fuzz", job.write().as_bytes());
        assert_eq!(again.as_ref(), Ok(&job));
    }
    if let Ok(root) = gridrig_protocol::xml::Element::parse(bytes) {
        let _ = JobDefinition::read_lenient("fuzz", &root);
    }
});
