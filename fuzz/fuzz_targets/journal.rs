//! Any line is an input of a broker or of an LRMS in its journal, or is refused; what is
//! written of it is read back the same.

#![no_main]

use gridrig_core::agent::{BrokerInput, LrmsInput, Record};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn again<I: Serialize + DeserializeOwned>(line: &[u8]) {
    let Ok(record) = serde_json::from_slice::<Record<I>>(line) else {
        return;
    };
    let written = serde_json::to_vec(&record).expect("what was read is written");
    let read: Record<I> = serde_json::from_slice(&written).expect("what we write is read");
    let twice = serde_json::to_vec(&read).expect("what was read is written");
    assert_eq!(twice, written);
}

gridrig_fuzz::changes_text!(Record<BrokerInput>, Record<LrmsInput>);

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        again::<BrokerInput>(line);
        again::<LrmsInput>(line);
    }
});
