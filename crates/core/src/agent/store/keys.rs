//! The keys under which jobs come, and the names of visits.

use crate::time::SimTime;

/// A text in short: FNV-1a.
pub fn digest(text: impl IntoIterator<Item = u8>) -> u64 {
    text.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The name of the visit under this key that ends in a refusal. The job may come again under
/// that key: visits differ in when they were to begin.
pub(in crate::agent) fn visit_name(key: &str, meant: Option<SimTime>) -> u64 {
    let meant = meant.map(|meant| meant.as_nanos().to_le_bytes());
    digest(key.bytes().chain(meant.into_iter().flatten()))
}

/// A key without its hop.
pub(in crate::agent) fn base_of(key: &str, hop: u32) -> Option<&str> {
    key.strip_suffix(&format!("/{hop}"))
}
