//! Serving connections, so many at a time.

use super::connection::Connection;
use super::door::{Door, shake_hands};
use super::{GRACE, Life};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::connect_info::ConnectInfo;
use axum::http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// The head of a request has at most so many bytes.
const MAX_HEAD: usize = 64 * 1024;
/// How often it is looked whether there is room again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How often it is said that connections cannot be accepted.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// Serves until `life` ends, then lets the requests that are under way end,
/// for [`GRACE`] at the longest. A panic of a connection is logged.
///
/// # Errors
/// A panic of a connection, where the service ends with it.
pub async fn serve(door: Door, router: Router, life: Life) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(door.bounds.head)
        .max_buf_size(MAX_HEAD);
    let mut server = Server {
        routes: TowerToHyperService::new(router),
        door,
        http,
        life: life.clone(),
        guests: Vec::new(),
        tasks: JoinSet::new(),
    };
    tokio::select! {
        () = life.ended() => {}
        broken = server.accept_all() => return broken,
    }
    let Server {
        door, mut tasks, ..
    } = server;
    drop(door);
    // Whoever keeps a connection open past the grace is cut off.
    let rest = async {
        while let Some(ended) = tasks.join_next().await {
            let _ = logged(ended);
        }
    };
    let _ = timeout(GRACE, rest).await;
    Ok(())
}

struct Server {
    door: Door,
    http: http1::Builder,
    routes: TowerToHyperService<Router>,
    life: Life,
    guests: Vec<Guest>,
    tasks: JoinSet<()>,
}

/// How a connection has ended, which is logged if it was by a panic.
fn logged(ended: Result<(), JoinError>) -> io::Result<()> {
    match ended {
        // One that was closed is cancelled.
        Err(error) if error.is_panic() => {
            tracing::error!(%error, "a connection broke off");
            Err(io::Error::other(error))
        }
        _ => Ok(()),
    }
}

/// An open connection.
struct Guest {
    task: AbortHandle,
    idle: Idle,
}

/// Since when a connection has been without a request, if it is.
type Idle = Arc<Mutex<Option<Instant>>>;

impl Server {
    async fn accept_all(&mut self) -> io::Result<()> {
        let mut told: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                accepted = self.door.listener.accept() => accepted,
                Some(ended) = self.tasks.join_next() => {
                    self.note(ended)?;
                    continue;
                }
            };
            match accepted {
                Ok((stream, address)) => {
                    self.make_room().await?;
                    let connection = Connection::new(stream, self.door.bounds);
                    self.attend(connection, address);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Mostly there are no file descriptors left.
                    if told.is_none_or(|told| told.elapsed() > TELL_AGAIN) {
                        tracing::warn!(%error, "a connection cannot be accepted");
                        told = Some(Instant::now());
                    }
                    self.close_idle().await?;
                }
            }
        }
    }

    /// A connection has ended; the error with which the service ends too, if it does.
    fn note(&self, ended: Result<(), JoinError>) -> io::Result<()> {
        logged(ended).or_else(|error| match self.door.ends_by_panic {
            true => Err(error),
            false => Ok(()),
        })
    }

    async fn make_room(&mut self) -> io::Result<()> {
        loop {
            while let Some(ended) = self.tasks.try_join_next() {
                self.note(ended)?;
            }
            self.guests.retain(|guest| !guest.task.is_finished());
            if self.guests.len() < self.door.bounds.connections {
                return Ok(());
            }
            self.close_idle().await?;
        }
    }

    /// Closes the connection that has been without a request for longest; where all
    /// have one, waits a little.
    async fn close_idle(&mut self) -> io::Result<()> {
        let idle = self.guests.iter().filter_map(|guest| {
            let since = guest.idle.lock();
            Some(((*since)?, &guest.task))
        });
        match idle.min_by_key(|(since, _)| *since) {
            Some((_, task)) => {
                task.abort();
                if let Ok(Some(ended)) = timeout(LOOK_AGAIN, self.tasks.join_next()).await {
                    self.note(ended)?;
                }
                self.guests.retain(|guest| !guest.task.is_finished());
            }
            None => sleep(LOOK_AGAIN).await,
        }
        Ok(())
    }

    fn attend(&mut self, connection: Connection, address: SocketAddr) {
        let idle: Idle = Arc::new(Mutex::new(Some(Instant::now())));
        let (http, routes, life) = (self.http.clone(), self.routes.clone(), self.life.clone());
        let (tls, own) = (self.door.tls.clone(), Arc::clone(&idle));
        let task = self.tasks.spawn(async move {
            let Some((stream, peer)) = shake_hands(connection, address, tls).await else {
                return;
            };
            let answer = service_fn(move |mut request: Request<Incoming>| {
                let busy = Busy(Arc::clone(&own));
                request.extensions_mut().insert(ConnectInfo(peer.clone()));
                let answered = routes.call(request.map(|body| Question::of(body, &own)));
                async move {
                    let answered = answered.await?;
                    begin(&busy.0);
                    Ok::<_, Infallible>(answered.map(|body| Answer { body, _busy: busy }))
                }
            });
            let mut serving = pin!(http.serve_connection(TokioIo::new(stream), answer));
            tokio::select! {
                _ = serving.as_mut() => return,
                () = life.ended() => serving.as_mut().graceful_shutdown(),
            }
            // How it ends is the client's affair.
            let _ = serving.await;
        });
        self.guests.push(Guest { task, idle });
    }
}

/// A request that is all there is under way as long as this lasts.
struct Busy(Idle);

fn begin(idle: &Idle) {
    *idle.lock() = None;
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.lock() = Some(Instant::now());
    }
}

/// The body of a request: once it is all there, the request is under way.
struct Question {
    body: Incoming,
    idle: Idle,
}

impl Question {
    fn of(body: Incoming, idle: &Idle) -> Self {
        let idle = Arc::clone(idle);
        if body.is_end_stream() {
            begin(&idle);
        }
        Question { body, idle }
    }
}

impl HttpBody for Question {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            begin(&self.idle);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: until it has been sent, its request is under way.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::Bounds;
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    const LONG: Duration = Duration::from_secs(600);

    /// The body of an answer without an end.
    struct Endless;

    impl HttpBody for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let more = Bytes::from_static(&[b'x'; 4096]);
            Poll::Ready(Some(Ok(Frame::data(more))))
        }
    }

    /// A server with `GET /` (`ok`), `GET /large` and `GET /endless`, which lives until the
    /// test ends.
    async fn with(bounds: Bounds, test: impl AsyncFn(SocketAddr)) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut door = Door::open(listener, None).unwrap();
        door.bounds = bounds;
        let router = Router::new()
            .route("/", get(async || "ok").post(async |text: String| text))
            .route("/large", get(async || vec![b'x'; 64 << 20]))
            .route("/endless", get(async || Body::new(Endless)));
        tokio::select! {
            served = serve(door, router, Life::until(std::future::pending())) => served.unwrap(),
            ended = timeout(Duration::from_secs(60), test(address)) => ended.unwrap(),
        }
    }

    async fn said(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn get_root(address: SocketAddr) -> String {
        let request = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let mut answer = String::new();
        let mut stream = said(address, request).await;
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_client_with_a_connection_for_each_request_is_served_beside_slow_ones() {
        let bounds = Bounds {
            connections: 4,
            head: LONG,
            write: LONG,
            answer: LONG,
        };
        with(bounds, async |address| {
            let mut slow = Vec::new();
            for _ in 0..20 {
                for _ in 0..4 {
                    slow.push(said(address, "GET / HT").await);
                    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n";
                    slow.push(said(address, &format!("{head}half")).await);
                }
                let answer = get_root(address).await;
                assert!(answer.ends_with("ok"), "{answer}");
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_service_ends_with_a_panic_of_a_request_if_it_is_to_and_says_of_what() {
        async fn broken() -> &'static str {
            panic!("a broken invariant")
        }
        let router = || Router::new().route("/", get(broken));
        for ends in [true, false] {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let mut door = Door::open(listener, None).unwrap();
            door.ends_by_panic = ends;
            let serving = serve(door, router(), Life::until(std::future::pending()));
            let asking = async {
                // The second is only answered, or cut off, by a service that goes on.
                for _ in 0..2 {
                    assert_eq!(get_root(address).await, "");
                }
            };
            let served = tokio::select! {
                biased;
                served = serving => Some(served.unwrap_err().to_string()),
                ended = timeout(Duration::from_secs(60), asking) => {
                    ended.unwrap();
                    None
                }
            };
            let said = served.map(|why| why.contains("a broken invariant"));
            assert_eq!(said, ends.then_some(true));
        }
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_is_not_waited_for() {
        let bounds = Bounds {
            connections: 4,
            head: Duration::from_millis(200),
            write: LONG,
            answer: LONG,
        };
        with(bounds, async |address| {
            let mut slow = said(address, "GET / HT").await;
            let mut rest = Vec::new();
            let _ = slow.read_to_end(&mut rest).await;
        })
        .await;
    }

    #[tokio::test]
    async fn an_answer_that_nobody_takes_gives_its_connection_free() {
        let bounds = Bounds {
            connections: 1,
            head: LONG,
            write: Duration::from_millis(200),
            answer: LONG,
        };
        with(bounds, async |address| {
            let request = "GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n";
            let mut stuck = said(address, request).await;
            // The answer has begun: from here on the connection has a request.
            stuck.read_exact(&mut [0; 12]).await.unwrap();
            assert!(get_root(address).await.ends_with("ok"));
        })
        .await;
    }

    #[tokio::test]
    async fn a_byte_now_and_then_does_not_keep_an_answer_for_ever() {
        let bounds = Bounds {
            connections: 4,
            head: LONG,
            write: LONG,
            answer: Duration::from_millis(200),
        };
        with(bounds, async |address| {
            for path in ["/large", "/endless"] {
                let head = "HTTP/1.1\r\nhost: localhost\r\nconnection: close";
                let mut slow = said(address, &format!("GET {path} {head}\r\n\r\n")).await;
                for _ in 0..50 {
                    slow.read_exact(&mut [0; 1]).await.unwrap();
                    sleep(Duration::from_millis(10)).await;
                }
                // What had been sent by then is still there to read.
                let mut rest = slow.take(48 << 20);
                let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
                assert!(rest.limit() > 0, "{path} goes on");
            }
        })
        .await;
    }
}
