//! The only source of randomness: named streams of one seed.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The stream of this name under this seed. The same pair always gives the
/// same numbers; different names give independent ones, so that adding a
/// consumer moves nobody else's numbers.
pub fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    // FNV-1a over the name, spread over the key together with the seed: the
    // key only has to differ between names, ChaCha does the mixing.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&hash.to_le_bytes());
    key[16..24].copy_from_slice(&(name.len() as u64).to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_stream_is_repeated_by_its_seed_and_name_only() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }
}
