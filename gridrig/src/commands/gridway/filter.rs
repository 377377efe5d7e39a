//! A filter of lines: what the three drivers have in common.
//!
//! Requests that carry the same number are handled in their order, others side
//! by side, so that a cluster that does not answer holds up nobody else's jobs.

use crate::exit::Failure;
use crate::interrupt;
use std::io::{BufRead, Read as _, Write as _};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The longest line that is read, in bytes; gwd's own buffers are shorter.
const MAX_LINE: usize = 64 * 1024;
/// Requests that are handled side by side.
const WORKERS: usize = 16;
/// Requests that wait for a worker; beyond, no more are read.
const WAITING: usize = 64;

/// A request: its operation and the words after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// What is asked.
    pub operation: String,
    /// The number it is asked under; `-` for none.
    pub id: String,
    /// The words after the number.
    pub rest: Vec<String>,
}

impl Request {
    /// A word after the number, `-` if it is not there.
    pub(super) fn word(&self, position: usize) -> &str {
        self.rest.get(position).map_or("-", String::as_str)
    }
}

/// A driver.
pub(super) trait Driver: Send + Sync + 'static {
    /// What stands between the number and the result in an answer: nothing, or
    /// the number of a copy.
    fn third(&self, _request: &Request) -> Option<String> {
        None
    }

    /// Handles a request; the text follows SUCCESS or FAILURE.
    fn handle(&self, request: &Request) -> impl Future<Output = Result<String, String>> + Send;

    /// The answer has been written: what follows from it may be said now.
    fn said(&self, _request: &Request) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Reads requests on stdin and answers them on stdout until FINALIZE, the end
/// of the input or Ctrl-C.
///
/// # Errors
/// When a thread cannot be had.
pub(super) async fn run(driver: impl Driver) -> Result<(), Failure> {
    let driver = Arc::new(driver);
    let (lines, mut lines_in) = mpsc::channel(WAITING);
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(move || read_lines(std::io::stdin().lock(), &lines))
        .map_err(Failure::run)?;
    let mut workers = Vec::new();
    let mut working = JoinSet::new();
    for _ in 0..WORKERS {
        let (requests, requests_in) = mpsc::channel(WAITING);
        workers.push(requests);
        working.spawn(work(Arc::clone(&driver), requests_in));
    }
    let mut finalize = None;
    loop {
        let line = tokio::select! {
            line = lines_in.recv() => line,
            () = interrupt::wait() => None,
        };
        let Some(line) = line else {
            break;
        };
        let request = match line {
            Some(line) => parse(&line),
            None => Err(format!("expected a line of at most {MAX_LINE} bytes")),
        };
        match request {
            Ok(None) => {}
            Ok(Some(request)) if request.operation == "FINALIZE" => {
                finalize = Some(request);
                break;
            }
            Ok(Some(request)) => {
                let worker = &workers[number(&request.id) % WORKERS];
                // A worker ends only together with this loop.
                let _ = worker.send(request).await;
            }
            Err(problem) => say(&format!("- - FAILURE {problem}")),
        }
    }
    drop(workers);
    while working.join_next().await.is_some() {}
    if let Some(request) = finalize {
        say(&answer(driver.as_ref(), &request, &Ok("-".to_owned())));
    }
    Ok(())
}

async fn work(driver: Arc<impl Driver>, mut requests: mpsc::Receiver<Request>) {
    while let Some(request) = requests.recv().await {
        let result = driver.handle(&request).await;
        if let Err(problem) = &result {
            let (operation, id) = (&request.operation, &request.id);
            tracing::info!(operation, id, problem, "refused");
        }
        say(&answer(driver.as_ref(), &request, &result));
        driver.said(&request).await;
    }
}

fn answer(driver: &impl Driver, request: &Request, result: &Result<String, String>) -> String {
    let third = driver.third(request);
    let third = third.map_or(String::new(), |third| format!(" {third}"));
    let (word, text) = match result {
        Ok(text) => ("SUCCESS", text),
        Err(text) => ("FAILURE", text),
    };
    format!("{} {}{third} {word} {text}", request.operation, request.id)
}

/// Writes one line at once, so that gwd never waits for half of one. Without a
/// reader there is nothing left to say.
pub(super) fn say(line: &str) {
    // An answer is one line, whatever a cluster has said.
    let line = line.replace(['\n', '\r', '\0'], " ");
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn parse(line: &str) -> Result<Option<Request>, String> {
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let Some(operation) = words.next() else {
        return Ok(None);
    };
    let short: String = operation.chars().take(40).collect();
    if short != operation || !operation.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(format!(
            "operation {short:?}: expected a word of capital letters"
        ));
    }
    let Some(id) = words.next() else {
        return Err(format!("{operation}: expected a number or - after it"));
    };
    Ok(Some(Request {
        operation,
        id,
        rest: words.collect(),
    }))
}

/// Spreads numbers over workers.
fn number(id: &str) -> usize {
    id.bytes().fold(0, |sum: usize, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    })
}

/// Passes lines on until the input ends or nobody wants them; `None` for one
/// that is too long.
fn read_lines(mut input: impl BufRead, lines: &mpsc::Sender<Option<String>>) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let limit = MAX_LINE as u64 + 1;
        let read = input.by_ref().take(limit).read_until(b'\n', &mut bytes);
        let line = match read {
            Ok(0) | Err(_) => return,
            Ok(length) if length > MAX_LINE && !bytes.ends_with(b"\n") => {
                if skip_line(&mut input).is_none() {
                    return;
                }
                None
            }
            Ok(_) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Passes over the rest of a line without keeping it; `None` when the input
/// cannot be read.
fn skip_line(input: &mut impl BufRead) -> Option<()> {
    loop {
        let buffer = input.fill_buf().ok()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let (length, over) = match end {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(length);
        if over {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_operation_a_number_and_words() {
        let request = parse("SUBMIT 7 a1/fork  /var/job.rsl \n").unwrap().unwrap();
        assert_eq!(
            (request.operation.as_str(), request.id.as_str()),
            ("SUBMIT", "7")
        );
        assert_eq!((request.word(1), request.word(2)), ("/var/job.rsl", "-"));
        assert_eq!(parse("  \n"), Ok(None));
        assert!(parse("SUBMIT").is_err() && parse("hello there").is_err());
    }

    #[test]
    fn a_line_without_end_is_passed_over_and_the_next_one_read() {
        let mut text = vec![b'x'; 3 * MAX_LINE];
        text.extend_from_slice(b"\nINIT - - -\nlast");
        let (lines, mut lines_in) = mpsc::channel(9);
        read_lines(text.as_slice(), &lines);
        drop(lines);
        assert_eq!(lines_in.blocking_recv(), Some(None));
        let rest: Vec<String> = std::iter::from_fn(|| lines_in.blocking_recv().flatten()).collect();
        assert_eq!(rest, ["INIT - - -\n", "last"]);
    }
}
