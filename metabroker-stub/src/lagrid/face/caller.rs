//! Who asks.

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use gridrig_protocol::lagrid::{Caller, Token};
use gridrig_service::http::{Peer, base_of};
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

/// Who asks, from the connection and the headers of a request.
pub(super) struct From(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for From {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>();
        // A connection that nobody knows anything of is nobody's.
        let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let (address, is_secure, identity) = match peer {
            Some(ConnectInfo(peer)) => (peer.address, peer.is_secure, peer.identity.clone()),
            None => (unknown, false, None),
        };
        Ok(From(Caller {
            address,
            is_secure,
            identity,
            token: token(&parts.headers),
            base: base_of(&parts.headers, is_secure),
        }))
    }
}

/// The token of `Authorization: Bearer TOKEN` (RFC 6750, section 2.1).
fn token(headers: &HeaderMap) -> Option<Token> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let bearer = scheme.eq_ignore_ascii_case("bearer");
    bearer.then(|| Token::new(token.trim()))
}
