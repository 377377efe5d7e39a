//! A peer that is no broker: it writes down what it is told, and answers as the
//! test wants, or not at all.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As the protocol says.
    Good,
    /// With what is no answer.
    Garbage,
    /// With an answer that never ends.
    Endless,
    /// Not at all.
    Silent,
    /// As the protocol says, but each update is one too many: it has lost the
    /// thread.
    Forgetful,
}

/// The peer; it ends with the test's runtime.
#[derive(Clone)]
pub struct Fake(Arc<Inner>);

struct Inner {
    url: String,
    life: u64,
    manner: Mutex<Manner>,
    updates: Mutex<Vec<Value>>,
    submitted: Mutex<Vec<u64>>,
    longest: AtomicU64,
}

impl Fake {
    /// One whose answers are of this life.
    pub async fn start(life: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Fake(Arc::new(Inner {
            url: format!("http://{}", listener.local_addr().unwrap()),
            life,
            manner: Mutex::new(Manner::Good),
            updates: Mutex::default(),
            submitted: Mutex::default(),
            longest: AtomicU64::new(0),
        }));
        let served = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().serve(stream));
            }
        });
        fake
    }

    pub fn url(&self) -> &str {
        &self.0.url
    }

    pub fn answer(&self, manner: Manner) {
        *self.0.manner.lock().unwrap() = manner;
    }

    /// The updates that it was sent, whatever it answered.
    pub fn updates(&self) -> Vec<Value> {
        self.0.updates.lock().unwrap().clone()
    }

    /// The jobs that it was forwarded, by the number they have where they entered.
    pub fn submitted(&self) -> Vec<u64> {
        self.0.submitted.lock().unwrap().clone()
    }

    /// Bytes of the longest answer that somebody listened to.
    pub fn longest(&self) -> u64 {
        self.0.longest.load(Ordering::Relaxed)
    }

    /// One request; its connection is then closed.
    async fn serve(self, mut stream: TcpStream) {
        let Some((path, body)) = request(&mut stream).await else {
            return;
        };
        let manner = *self.0.manner.lock().unwrap();
        let last = path.rsplit('/').next().unwrap_or_default();
        if last == "sendResourceData" {
            self.0.updates.lock().unwrap().push(body["update"].clone());
        }
        let job = &body["origin"]["job"];
        if let ("submitJob", Some(job)) = (last, job.as_u64()) {
            self.0.submitted.lock().unwrap().push(job);
        }
        match manner {
            Manner::Silent => tokio::time::sleep(Duration::from_secs(600)).await,
            Manner::Garbage => drop(reply(&mut stream, "200 OK", "<html>]]").await),
            Manner::Endless => self.babble(stream).await,
            Manner::Good | Manner::Forgetful => {
                let sequence = &body["update"]["sequence"];
                let answer = match last {
                    "heartbeat" => {
                        json!({"sequence": body["sequence"], "incarnation": self.0.life})
                    }
                    "sendResourceData" if manner == Manner::Forgetful => {
                        json!({"verdict": "full-wanted", "have": 0})
                    }
                    "submitJob" => json!({
                        "job": job, "state": "queued", "at_ns": 0,
                        "endpoint": {"address": self.url()},
                    }),
                    "sendResourceData" => json!({"verdict": "accepted", "have": sequence}),
                    _ => {
                        let _ = reply(&mut stream, "500 Internal Server Error", "{}").await;
                        return;
                    }
                };
                let _ = reply(&mut stream, "200 OK", &answer.to_string()).await;
            }
        }
    }

    async fn babble(&self, mut stream: TcpStream) {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
        let piece = [b' '; 64 * 1024];
        let mut sent = 0;
        let _ = stream.write_all(head.as_bytes()).await;
        while sent < 1 << 30 && stream.write_all(&piece).await.is_ok() {
            sent += piece.len() as u64;
            self.0.longest.fetch_max(sent, Ordering::Relaxed);
        }
    }
}

async fn reply(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await
}

/// The path of a request and its body.
async fn request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut read = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let named = name.eq_ignore_ascii_case("content-length");
                named.then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, serde_json::from_str(body).unwrap_or_default()));
            }
        }
        match stream.read(&mut buffer).await {
            Ok(count @ 1..) => read.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
