//! HTTP as it stands on the wire, so that a test can send what no client would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An answer.
pub struct Page {
    pub status: u16,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

impl Page {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The code of a problem document.
    pub fn code(&self) -> String {
        assert_eq!(
            self.headers["content-type"], "application/problem+json",
            "{}",
            self.body
        );
        self.json()["code"].as_str().unwrap().to_owned()
    }

    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }
}

fn connect(url: &str) -> (TcpStream, String) {
    let host = url.strip_prefix("http://").unwrap().to_owned();
    let stream = TcpStream::connect(&host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(180)))
        .unwrap();
    (stream, host)
}

/// Sends a request; a header `host` of the caller's replaces the right one.
pub fn send(url: &str, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Page {
    let (mut stream, host) = connect(url);
    let mut head = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        head += &format!("host: {host}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (status, headers) = read_head(&mut reader);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    if headers
        .get("transfer-encoding")
        .is_some_and(|coding| coding == "chunked")
    {
        bytes = unchunk(&bytes);
    }
    Page {
        status,
        headers,
        body: String::from_utf8_lossy(&bytes).into_owned(),
        bytes,
    }
}

fn read_head(reader: &mut impl BufRead) -> (u16, BTreeMap<String, String>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).expect(&line).parse().unwrap();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            return (status, headers);
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

/// A stream of events.
pub struct Stream {
    reader: BufReader<TcpStream>,
}

/// One event: its name and its data.
pub struct Event {
    pub name: String,
    pub data: serde_json::Value,
}

impl Stream {
    pub fn open(url: &str, target: &str, token: &str) -> Self {
        let (mut stream, host) = connect(url);
        let request = format!(
            "GET {target} HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n\
             authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, _) = read_head(&mut reader);
        assert_eq!(status, 200);
        Stream { reader }
    }

    /// The next event. Each comes in a chunk of its own, whose size is a line
    /// without a colon.
    pub fn next(&mut self) -> Event {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(
                self.reader.read_line(&mut line).unwrap() > 0,
                "the stream ended"
            );
            if let Some(text) = line.trim_end().strip_prefix("event: ") {
                text.clone_into(&mut name);
            }
            if let Some(text) = line.trim_end().strip_prefix("data: ") {
                text.clone_into(&mut data);
            }
            if !data.is_empty() && line.trim_end().is_empty() {
                let data = serde_json::from_str(&data).unwrap();
                return Event { name, data };
            }
        }
    }
}
