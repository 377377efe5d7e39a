//! The curve P-521 for key exchange (RFC 8446 section 4.2.8.2, RFC 8422).
//!
//! ring has no P-521, and ARC's client 6.17 offers nothing else: without it no
//! unmodified arcsub could talk to a service of ours over TLS. It stands last
//! in the list, so that every other client uses what ring has.

use p521::elliptic_curve::sec1::ToSec1Point as _;
use p521::{PublicKey, SecretKey};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// Key exchange on P-521.
pub(super) static SECP521R1: P521 = P521;

#[derive(Debug)]
pub(super) struct P521;

/// Bytes of a scalar or coordinate.
const WIDTH: usize = 66;

impl SupportedKxGroup for P521 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = secret()?;
        let point = secret.public_key().to_sec1_point(false);
        Ok(Box::new(Exchange {
            secret,
            public: point.as_bytes().to_vec(),
        }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

/// A new key: random bytes are one with odds of a half or better, once the
/// bits above 2^521 are off.
fn secret() -> Result<SecretKey, Error> {
    let random = rustls::crypto::ring::default_provider().secure_random;
    for _ in 0..128 {
        let mut bytes = [0; WIDTH];
        random
            .fill(&mut bytes)
            .map_err(|_| Error::FailedToGetRandomBytes)?;
        bytes[0] &= 1;
        if let Ok(secret) = SecretKey::from_slice(&bytes) {
            return Ok(secret);
        }
    }
    Err(Error::FailedToGetRandomBytes)
}

struct Exchange {
    secret: SecretKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        // RFC 8446 section 4.2.8.2: uncompressed points only; reading one
        // checks that it lies on the curve.
        let is_uncompressed = peer.len() == 2 * WIDTH + 1 && peer[0] == 4;
        let peer = is_uncompressed.then(|| PublicKey::from_sec1_bytes(peer));
        let Some(Ok(peer)) = peer else {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        };
        let shared = p521::ecdh::diffie_hellman(self.secret.to_nonzero_scalar(), peer.as_affine());
        Ok(SharedSecret::from(shared.raw_secret_bytes().as_slice()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_on_a_secret() {
        let (one, other) = (SECP521R1.start().unwrap(), SECP521R1.start().unwrap());
        let (of_one, of_other) = (one.pub_key().to_vec(), other.pub_key().to_vec());
        assert_eq!(of_one.len(), 133);
        let secret = one.complete(&of_other).unwrap();
        assert_eq!(secret.secret_bytes().len(), 66);
        assert_eq!(
            secret.secret_bytes(),
            other.complete(&of_one).unwrap().secret_bytes()
        );
        // Once a point is that point: what is shared is its x, no hash of it (RFC 8446
        // section 7.4.2).
        let mut once = [0; WIDTH];
        once[WIDTH - 1] = 1;
        let once = Box::new(Exchange {
            secret: SecretKey::from_slice(&once).unwrap(),
            public: Vec::new(),
        });
        let shared = once.complete(&of_one).unwrap();
        assert_eq!(shared.secret_bytes(), &of_one[1..=WIDTH]);
    }

    #[test]
    fn what_is_no_point_of_the_curve_is_refused() {
        let mut point = SECP521R1.start().unwrap().pub_key().to_vec();
        point[132] ^= 1;
        for share in [&point[..], &point[..67], &[]] {
            let refused = SECP521R1.start().unwrap().complete(share);
            assert!(refused.is_err(), "{} bytes", share.len());
        }
    }
}
