//! Any text is activities in ADL or is refused, and each activity has a length and a
//! hold or none.

#![no_main]

use gridrig_core::time::SimDuration;
use gridrig_protocol::adl;
use libfuzzer_sys::fuzz_target;

gridrig_fuzz::changes_text!();

fuzz_target!(|text: &str| {
    let activities = adl::read(text).unwrap_or_default();
    for activity in activities.into_iter().flatten() {
        let _ = activity.run_time(SimDuration::ZERO);
        let _ = activity.held();
    }
});
