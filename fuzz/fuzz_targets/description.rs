//! Any text is jobs in xRSL, RSL, JDL or another language or is refused, and what one
//! language says of them it keeps when it is read and written again.

#![no_main]

use gridrig_protocol::description::{Language, read, text};
use gridrig_protocol::rest::JobSubmission;
use libfuzzer_sys::fuzz_target;

gridrig_fuzz::changes_text!(JobSubmission);

fuzz_target!(|document: &str| {
    let Ok(all) = read("fuzz", document, None) else {
        return;
    };
    for language in Language::ALL {
        let Ok(first) = text(*language, &all) else {
            continue;
        };
        if let Ok(again) = read("fuzz", &first, Some(*language)) {
            let _ = text(*language, &again);
        }
    }
});
