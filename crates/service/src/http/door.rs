//! The door of a service: plain connections, or TLS over them.

use super::listener::BoundedListener;
use crate::tls::ServerTls;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use gridrig_protocol::certificate;
use rustls::ServerConnection;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
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

impl Peer {
    fn of(address: SocketAddr, is_secure: bool) -> Self {
        Peer {
            address,
            is_secure,
            identity: None,
        }
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Where the connections of a service come in, bounded in number either way.
pub struct Door {
    incoming: Incoming,
}

enum Incoming {
    Plain(BoundedListener),
    // Handshakes are made side by side, so that a slow client holds up nobody.
    Tls {
        address: SocketAddr,
        done: mpsc::Receiver<(Stream, Peer)>,
        accepting: JoinHandle<()>,
    },
}

impl Door {
    /// Opens a door; to be called within a runtime.
    ///
    /// # Errors
    /// When the socket cannot be made non-blocking or registered.
    pub fn open(listener: std::net::TcpListener, tls: Option<&ServerTls>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let listener = BoundedListener::new(listener)?;
        let incoming = match tls {
            None => Incoming::Plain(listener),
            Some(tls) => {
                let (shaken, done) = mpsc::channel(1);
                let acceptor = TlsAcceptor::from(tls.config());
                let accepting = tokio::spawn(accept(listener, acceptor, shaken));
                Incoming::Tls {
                    address,
                    done,
                    accepting,
                }
            }
        };
        Ok(Door { incoming })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Incoming::Tls { accepting, .. } = &self.incoming {
            accepting.abort();
        }
    }
}

async fn accept(
    mut listener: BoundedListener,
    acceptor: TlsAcceptor,
    shaken: mpsc::Sender<(Stream, Peer)>,
) {
    loop {
        let (connection, address) = listener.accept().await;
        let (acceptor, shaken) = (acceptor.clone(), shaken.clone());
        // Their number is bounded by that of the connections.
        tokio::spawn(async move {
            let shake = tokio::time::timeout(HANDSHAKE, acceptor.accept(connection));
            match shake.await {
                Ok(Ok(stream)) => {
                    let identity = identity(stream.get_ref().1);
                    let peer = Peer {
                        identity,
                        ..Peer::of(address, true)
                    };
                    // A door that is closed takes nobody in any more.
                    let _ = shaken.send((Box::new(stream) as Stream, peer)).await;
                }
                Ok(Err(error)) => tracing::info!(%address, %error, "a TLS handshake failed"),
                Err(_late) => tracing::info!(%address, "a TLS handshake took too long"),
            }
        });
    }
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

impl Listener for Door {
    type Io = Stream;
    type Addr = Peer;

    async fn accept(&mut self) -> (Stream, Peer) {
        match &mut self.incoming {
            Incoming::Plain(listener) => {
                let (connection, address) = listener.accept().await;
                (Box::new(connection), Peer::of(address, false))
            }
            Incoming::Tls { done, .. } => match done.recv().await {
                Some(accepted) => accepted,
                // The task that accepts ends only together with the door.
                None => std::future::pending().await,
            },
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        let (address, is_secure) = match &self.incoming {
            Incoming::Plain(listener) => (listener.local_addr()?, false),
            Incoming::Tls { address, .. } => (*address, true),
        };
        Ok(Peer::of(address, is_secure))
    }
}

/// What bytes come and go by.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that was let in, through TLS or without.
pub type Stream = Box<dyn Io>;
