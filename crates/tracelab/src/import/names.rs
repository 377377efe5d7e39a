//! Names that are not to be told.

use crate::error::{Result, TraceError};
use crate::format::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::path::Path;

/// A key is at least so long: 128 bits as bytes, half that in hex.
const SHORTEST_KEY: usize = 16;

/// Bytes of the hash in a name: two of ten million names are equal by chance with a
/// probability of one in 300,000.
const NAME_BYTES: usize = 8;

/// What replaces names: a hash under a key, so that the same key gives the same names,
/// and nobody without it can tell whether a name that he thinks of is among them.
pub struct Hidden(Hmac<Sha256>);

impl Hidden {
    /// Takes the key from a file; blanks at its end are no part of it.
    ///
    /// # Errors
    /// A file that cannot be read, or is too short to be a key.
    pub fn read(path: &Path) -> Result<Hidden> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| TraceError::Open(file.clone(), source))?;
        let key = bytes.trim_ascii_end();
        if key.len() < SHORTEST_KEY {
            let problem = format!(
                "a key of {} bytes: expected at least {SHORTEST_KEY} that nobody can guess, as \
                 from head -c 32 /dev/urandom | base64",
                key.len()
            );
            return Err(TraceError::file(&file, problem));
        }
        // A key of any length is taken.
        let keyed = Hmac::new_from_slice(key);
        let keyed = keyed.map_err(|error| TraceError::file(&file, error.to_string()))?;
        Ok(Hidden(keyed))
    }

    /// The name for a value of a field: that of another field is another one.
    pub(super) fn name(&self, field: &str, value: &[u8]) -> Vec<u8> {
        let mut hash = self.0.clone();
        hash.update(field.as_bytes());
        hash.update(&[0]);
        hash.update(value);
        let hash = hash.finalize().into_bytes();
        let initial = field.get(..1).unwrap_or_default();
        format!("{initial}{}", hex(&hash[..NAME_BYTES])).into_bytes()
    }
}
