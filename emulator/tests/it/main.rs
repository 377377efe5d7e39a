//! The emulator over real sockets on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test helper fails by panicking and tells what it skips"
)]

mod arc;
mod arc_clients;
mod arc_rest;
mod arc_wire;
mod bes;
mod claims;
mod errors;
mod jobs;
mod lifecycle;
mod need;
mod nodes;
mod openapi;
mod reservations;
mod routes;
mod tls;
mod ws_agreement;
mod xrsl;

use gridrig_core::discipline::DisciplineKind;
use gridrig_core::resource::Resources;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_emulator::{Config, Handle, spawn};
use serde_json::Value;
use std::net::TcpListener;
use std::time::Duration;

/// An LRMS of four processors on a clock that runs this much faster.
fn config(speed: u64) -> Config {
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::from_whole(speed));
    let nodes = Resources::homogeneous(4);
    Config::new("test", nodes, DisciplineKind::FirstInFirstFit, clock)
}

fn door() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

async fn start(speed: u64) -> Handle {
    spawn(config(speed), door()).await.unwrap()
}

/// A request as any client would send it; answers status, media type, body.
async fn ask(lrms: &Handle, method: &str, path: &str, body: Option<&str>) -> (u16, String, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = reqwest::Client::new().request(method, format!("{}{path}", lrms.url()));
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body.to_owned());
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let media = response
        .headers()
        .get("content-type")
        .map(|v| v.to_str().unwrap().to_owned());
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, media.unwrap_or_default(), body)
}

async fn submit(lrms: &Handle, body: &str) -> (u16, Value) {
    let (status, _, answer) = ask(lrms, "POST", "/v1/jobs", Some(body)).await;
    (status, answer)
}

/// Asks for a job until it is in the wanted state.
async fn wait_for(lrms: &Handle, id: u64, state: &str) -> Value {
    for _ in 0..3_600 {
        let (_, _, job) = ask(lrms, "GET", &format!("/v1/jobs/{id}"), None).await;
        if job["state"] == state {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("job {id} did not become {state} within minutes");
}
