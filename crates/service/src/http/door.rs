//! The door of a service: plain connections, or TLS over them.

use super::connection::{BOUNDS, Bounds, Connection};
use crate::tls::ServerTls;
use gridrig_protocol::certificate;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::ServerConnection;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A client that has not said hello by then is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Who is at the other end of a connection. Handlers have it as
/// `ConnectInfo<Peer>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// From where.
    pub address: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_secure: bool,
    /// The distinguished name in its certificate, proxies taken off, as in
    /// `/DC=org/CN=alice`; `None` where it presented none.
    pub identity: Option<Arc<str>>,
}

/// Where the connections of a service come in.
pub struct Door {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) bounds: Bounds,
    /// Whether its service ends with a panic of a connection.
    pub(super) ends_by_panic: bool,
}

impl Door {
    /// Opens a door; to be called within a runtime.
    ///
    /// # Errors
    /// When the socket cannot be made non-blocking or registered.
    pub fn open(listener: std::net::TcpListener, tls: Option<&ServerTls>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        raise_descriptors(BOUNDS.connections as u64);
        Ok(Door {
            listener: TcpListener::from_std(listener)?,
            tls: tls.map(|tls| TlsAcceptor::from(tls.config())),
            bounds: BOUNDS,
            ends_by_panic: false,
        })
    }

    /// The same door of a service that ends with a panic of a connection, as with any other.
    pub(crate) fn ending_by_panic(self) -> Self {
        Door {
            ends_by_panic: true,
            ..self
        }
    }
}

/// Descriptors that a process may need besides those of connections.
const OTHERS: u64 = 256;

/// Lets the process have so many descriptors, or as many as it may; answers how many
/// that are.
pub fn allow_descriptors(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit
        .current
        .is_some_and(|current| current < wanted.min(most))
    {
        let raised = Rlimit {
            current: Some(wanted.min(most)),
            maximum: limit.maximum,
        };
        // Where it may not, the warning of the listener comes in time.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    most
}

/// Lets the process have the descriptors that the connections of one more door may
/// take, and says once if that is more than it may have. No more than that: some
/// programs that it starts look at every number up to the limit.
fn raise_descriptors(connections: u64) {
    static WANTED: AtomicU64 = AtomicU64::new(OTHERS);
    static TOLD: AtomicBool = AtomicBool::new(false);
    let wanted = WANTED.fetch_add(connections, Ordering::Relaxed) + connections;
    let most = allow_descriptors(wanted);
    if wanted > most && !TOLD.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            most,
            wanted,
            "fewer file descriptors than all listeners may need: if they run out, the \
             connection longest without a request is closed (ulimit -Hn)"
        );
    }
}

/// A connection as it was let in, and who is at its other end; `None` where they did
/// not agree on TLS.
pub(super) async fn shake_hands(
    connection: Connection,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
) -> Option<(Stream, Peer)> {
    let mut peer = Peer {
        address,
        is_secure: tls.is_some(),
        identity: None,
    };
    let Some(acceptor) = tls else {
        return Some((Box::new(connection), peer));
    };
    match tokio::time::timeout(HANDSHAKE, acceptor.accept(connection)).await {
        Ok(Ok(stream)) => {
            peer.identity = identity(stream.get_ref().1);
            return Some((Box::new(stream), peer));
        }
        Ok(Err(error)) => tracing::info!(%address, %error, "a TLS handshake failed"),
        Err(_late) => tracing::info!(%address, "a TLS handshake took too long"),
    }
    None
}

/// The person behind the certificates of a client, which have been checked.
fn identity(connection: &ServerConnection) -> Option<Arc<str>> {
    let chain = connection.peer_certificates()?;
    let mut persons = chain.iter().filter_map(|der| {
        let parsed = certificate::parse(der).ok()?;
        (!certificate::is_proxy(&parsed)).then(|| certificate::slashed(parsed.subject()))
    });
    persons.next().map(Arc::from)
}

/// What bytes come and go by.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that was let in, through TLS or without.
pub(super) type Stream = Box<dyn Io>;
