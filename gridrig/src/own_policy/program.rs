//! A program that is asked line by line.

use gridrig_replayer::outlet::{end_group, prepare_program};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// The longest answer.
const MOST_BYTES: usize = 64 << 20;

/// How long a program may take to end when there is nothing more to ask.
const TO_END: Duration = Duration::from_secs(2);

/// A program whose standard input and output are ours.
pub struct Program {
    child: Child,
    stream: UnixStream,
    /// What it has said and nobody has read.
    said: Vec<u8>,
    timeout: Duration,
}

impl Program {
    /// Starts it, with as much of the environment as other programs get.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(words: &[String], timeout: Duration) -> io::Result<Self> {
        let (stream, its) = UnixStream::pair()?;
        stream.set_write_timeout(Some(timeout))?;
        let mut command = prepare_program(words, Path::new("."))?.into_std();
        command.stdin(OwnedFd::from(its.try_clone()?));
        let child = command.stdout(OwnedFd::from(its)).spawn()?;
        Ok(Program {
            child,
            stream,
            said: Vec::new(),
            timeout,
        })
    }

    /// Its answer to a line that ends with its end.
    ///
    /// # Errors
    /// Why there is none; the program is ended then.
    pub fn ask(&mut self, line: &[u8]) -> Result<String, String> {
        let asked = self.stream.write_all(line).and_then(|()| self.answer());
        asked.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                end_group(Some(self.child.id()), false);
                format!("it gave no answer within {:?} (timeout)", self.timeout)
            }
            ErrorKind::InvalidData => error.to_string(),
            _ => {
                let status = self.end();
                let status = status.unwrap_or_else(|| "and did not exit".to_owned());
                format!("it ended ({status}) without an answer")
            }
        })
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "how long a program may take is a matter of the wall clock, as other input and output"
    )]
    fn answer(&mut self) -> io::Result<String> {
        let until = Instant::now() + self.timeout;
        let mut part = [0; 1 << 14];
        let mut looked = 0;
        loop {
            if let Some(end) = self.said[looked..].iter().position(|byte| *byte == b'\n') {
                let rest = self.said.split_off(looked + end + 1);
                let line = std::mem::replace(&mut self.said, rest);
                let text = String::from_utf8(line);
                return text.map_err(|_| {
                    io::Error::new(ErrorKind::InvalidData, "its answer is not UTF-8")
                });
            }
            looked = self.said.len();
            if looked > MOST_BYTES {
                let why = format!("its answer is longer than {MOST_BYTES} bytes");
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            let left = until.saturating_duration_since(Instant::now());
            self.stream
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.said.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets it end, or ends it; answers how it ended by itself.
    fn end(&mut self) -> Option<String> {
        // It may have closed its side.
        let _ = self.stream.shutdown(Shutdown::Write);
        let (mut waited, pause) = (Duration::ZERO, Duration::from_millis(5));
        while waited < TO_END {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status.to_string());
            }
            // The standard library waits for a child without end, or not at all.
            thread::sleep(pause);
            waited += pause;
        }
        end_group(Some(self.child.id()), false);
        let _ = self.child.wait();
        None
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}
