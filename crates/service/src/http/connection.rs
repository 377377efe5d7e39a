//! A connection on which what is sent has to be taken.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// What connections may cost a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Open connections. Where a further one comes, the one that has been without a
    /// request for longest is closed; while all have one, it waits.
    pub connections: usize,
    /// Until the head of a request is there: from the beginning, or from the end of
    /// the request before.
    pub head: Duration,
    /// Until more of an answer is taken.
    pub write: Duration,
    /// Until all of an answer is taken: a byte now and then would keep the bound above
    /// from ending.
    pub answer: Duration,
}

/// The bounds of all servers here.
pub(super) const BOUNDS: Bounds = Bounds {
    connections: 1024,
    head: Duration::from_secs(30),
    write: Duration::from_secs(30),
    // The longest answer, of 64 MiB, at 1 Mbit/s.
    answer: Duration::from_secs(600),
};

/// A connection that breaks when nothing can be written for so long, or not all.
pub(super) struct Connection {
    stream: TcpStream,
    bounds: Bounds,
    /// Ends when nothing more has been taken.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Ends when not everything has been taken.
    whole: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub fn new(stream: TcpStream, bounds: Bounds) -> Self {
        // Small messages both ways: waiting to fill a packet would add 40 ms to each.
        let _ = stream.set_nodelay(true);
        Connection {
            stream,
            bounds,
            stuck: None,
            whole: None,
        }
    }

    fn note(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let Bounds { write, answer, .. } = self.bounds;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(write)));
        let whole = self.whole.get_or_insert_with(|| Box::pin(sleep(answer)));
        // Both are polled, so that either wakes.
        match (stuck.as_mut().poll(context), whole.as_mut().poll(context)) {
            (Poll::Pending, Poll::Pending) => Poll::Pending,
            _ => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.note(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Who writes flushes when all is written.
        self.whole = None;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.note(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
