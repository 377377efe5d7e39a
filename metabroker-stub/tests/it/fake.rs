//! A peer that is no broker: it writes down what it is told, and answers as the
//! test wants, or not at all. It speaks JSON and SOAP, as it is spoken to.

use gridrig_protocol::lagrid::{
    CancelJob, Heartbeat, Message as _, NotifyConn, NotifyJob, OpenConn, Operation, Request,
    SendResourceData, SubmitJob,
};
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::Element;
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
    /// The document of each job.
    documents: Mutex<Vec<String>>,
    news: Mutex<Vec<Value>>,
    cancelled: Mutex<Vec<u64>>,
    ended: Mutex<Vec<String>>,
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
            documents: Mutex::default(),
            news: Mutex::default(),
            cancelled: Mutex::default(),
            ended: Mutex::default(),
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

    /// The JSDL documents of those jobs.
    pub fn documents(&self) -> Vec<String> {
        self.0.documents.lock().unwrap().clone()
    }

    /// What it was told of jobs.
    pub fn news(&self) -> Vec<Value> {
        self.0.news.lock().unwrap().clone()
    }

    /// The jobs that it was asked to remove, as it calls them itself.
    pub fn cancelled(&self) -> Vec<u64> {
        self.0.cancelled.lock().unwrap().clone()
    }

    /// The connections whose end it was told of.
    pub fn ended(&self) -> Vec<String> {
        self.0.ended.lock().unwrap().clone()
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
        let asked = Asked::of(&path, &body);
        let (last, body) = (asked.operation.as_str(), &asked.body);
        if last == "sendResourceData" {
            self.0.updates.lock().unwrap().push(body["update"].clone());
        }
        let job = &body["origin"]["job"];
        if let ("submitJob", Some(job)) = (last, job.as_u64()) {
            self.0.submitted.lock().unwrap().push(job);
            let document = body["jsdl"].as_str().unwrap().to_owned();
            self.0.documents.lock().unwrap().push(document);
        }
        match last {
            "notifyJob" => self.0.news.lock().unwrap().push(body.clone()),
            "notifyConn" if body["event"] == "end" => {
                let connection = body["connection"].as_str().unwrap();
                self.0.ended.lock().unwrap().push(connection.to_owned());
            }
            "cancelJob" => {
                let job = body["job"].as_u64().unwrap();
                self.0.cancelled.lock().unwrap().push(job);
            }
            _ => {}
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
                        "job": job.as_u64().map(own_number), "state": "queued", "at_ns": 0,
                        "endpoint": {"address": self.url()},
                    }),
                    "sendResourceData" => json!({"verdict": "accepted", "have": sequence}),
                    "notifyJob" | "notifyConn" => json!({"repeated": false}),
                    "cancelJob" => json!({"job": body["job"], "state": "cancelled"}),
                    _ => {
                        let _ = reply(&mut stream, "500 Internal Server Error", "{}").await;
                        return;
                    }
                };
                let answer = asked.answer(&answer.to_string());
                let _ = reply(&mut stream, "200 OK", &answer).await;
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

/// What it calls a job, as a broker may that numbers jobs itself.
pub fn own_number(job: u64) -> u64 {
    job + 900_000
}

/// What somebody asks for: the fields of JSON, whatever it came in.
struct Asked {
    operation: String,
    body: Value,
    /// The version of SOAP, if that is what it came in.
    version: Option<Version>,
}

impl Asked {
    fn of(path: &str, text: &str) -> Self {
        let last = path.rsplit('/').next().unwrap_or_default();
        if last != "lagrid" {
            return Asked {
                operation: last.to_owned(),
                body: serde_json::from_str(text).unwrap_or_default(),
                version: None,
            };
        }
        let envelope = Envelope::read(text.as_bytes(), Version::Soap11).unwrap();
        let body = &envelope.body;
        let fields = match Operation::from_name(&body.name).unwrap() {
            Operation::OpenConn => fields::<OpenConn>(body),
            Operation::Heartbeat => fields::<Heartbeat>(body),
            Operation::SendResourceData => fields::<SendResourceData>(body),
            Operation::SubmitJob => fields::<SubmitJob>(body),
            Operation::CancelJob => fields::<CancelJob>(body),
            Operation::NotifyConn => fields::<NotifyConn>(body),
            Operation::NotifyJob => {
                let read = NotifyJob::from_element(body).unwrap();
                let read = read.with_header(&envelope.header).unwrap();
                serde_json::from_slice(&read.to_json()).unwrap()
            }
            _ => Value::Null,
        };
        Asked {
            operation: body.name.to_string(),
            body: fields,
            version: Some(envelope.version),
        }
    }

    /// An answer in JSON as whoever asked reads it.
    fn answer(&self, json: &str) -> String {
        let Some(version) = self.version else {
            return json.to_owned();
        };
        let body = match Operation::from_name(&self.operation).unwrap() {
            Operation::Heartbeat => element::<Heartbeat>(json),
            Operation::SendResourceData => element::<SendResourceData>(json),
            Operation::SubmitJob => element::<SubmitJob>(json),
            Operation::NotifyJob => element::<NotifyJob>(json),
            Operation::CancelJob => element::<CancelJob>(json),
            Operation::NotifyConn => element::<NotifyConn>(json),
            other => panic!("an answer to {}", other.name()),
        };
        let header = Vec::new();
        let envelope = Envelope {
            version,
            header,
            body,
        };
        envelope.write()
    }
}

fn fields<R: Request>(body: &Element) -> Value {
    let read = R::from_element(body).unwrap();
    serde_json::from_slice(&read.to_json()).unwrap()
}

fn element<R: Request>(json: &str) -> Element {
    let answer = R::Answer::from_json(json.as_bytes()).unwrap();
    answer.to_element(R::OPERATION.response())
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
async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
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
                return Some((path, body.to_owned()));
            }
        }
        match stream.read(&mut buffer).await {
            Ok(count @ 1..) => read.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
