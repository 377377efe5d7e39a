//! The broker over real sockets on loopback.
#![allow(clippy::unwrap_used, reason = "a test helper fails by panicking")]

mod bad_peers;
mod decisions;
mod fake;
mod glue2;
mod journal;
mod lagrid;
mod messages;
mod openapi;
mod peer_tls;
mod pushed_forms;
mod resources;
#[path = "../../../emulator/tests/it/routes.rs"]
mod routes;
mod sessions;
mod submissions;
mod way_back;
mod wire;
#[path = "../../../crates/protocol/tests/it/lagrid/xsd.rs"]
mod xsd;

use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use gridrig_core::agent::BrokerSetup;
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::decision::About;
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::resource::Resources;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_drivers::real_time::RunClock;
use gridrig_metabroker_stub::lagrid::Links;
use gridrig_metabroker_stub::{Config, Handle, Liveness, Peer, spawn};
use gridrig_service::http::{Monitoring, NotifyHosts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

/// Site a with a cluster of four, and its peer b with one of eight.
fn grid(interval: SimDuration) -> Grid {
    let broker = BrokerSettings {
        interval,
        ..BrokerSettings::default()
    };
    let site = |index: u16, name: &str| Domain {
        name: name.to_owned(),
        broker: broker.clone(),
        clusters: vec![ClusterId(index)],
        topology: Default::default(),
    };
    let cluster = |index: u16, processors: u32| GridCluster {
        name: format!("c{index}"),
        domain: Some(DomainId(index)),
        config: ClusterConfig::new(
            ClusterId(index),
            Resources::homogeneous(processors),
            DisciplineKind::Fcfs,
        ),
    };
    let link = |consumer: u16, provider: u16| Link {
        consumer: DomainId(consumer),
        provider: DomainId(provider),
        latency: SimDuration::from_millis(50),
        bandwidth: None,
    };
    Grid {
        domains: vec![site(0, "a"), site(1, "b")],
        clusters: vec![cluster(0, 4), cluster(1, 8)],
        links: vec![link(0, 1), link(1, 0)],
        hours: Vec::new(),
    }
}

/// The broker of site a; its LRMS and its peer are at these addresses.
async fn start(interval: SimDuration, lrms: &str, peer: &str) -> Handle {
    let config = config(interval, lrms, peer);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spawn(config, listener).await.unwrap()
}

fn config(interval: SimDuration, lrms: &str, peer: &str) -> Config {
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let setup = BrokerSetup::of(&grid(interval), DomainId(0), 1).unwrap();
    let peer = Peer {
        name: "b".to_owned(),
        url: peer.to_owned(),
    };
    Config {
        setup,
        lrms: BTreeMap::from([(ClusterId(0), lrms.to_owned())]),
        peers: BTreeMap::from([(DomainId(1), peer)]),
        links: Links::default(),
        peer_door: None,
        journal: None,
        clock,
        notify: NotifyHosts::default(),
        hosts: Vec::new(),
        monitoring: Monitoring::default(),
        keep_events: usize::MAX,
        decisions: About::None,
        faults: Default::default(),
        liveness: Liveness {
            every: Duration::from_millis(100),
            ..Liveness::default()
        },
        introduces: None,
        asks: false,
    }
}

/// A broker that decides nothing while a test lasts.
async fn start_idle() -> Handle {
    start(SimDuration::from_secs(36_000), NOWHERE, NOWHERE).await
}

/// Nobody listens on the discard port of loopback.
const NOWHERE: &str = "http://127.0.0.1:9";

const SOON: SimDuration = SimDuration::from_millis(100);

/// Something that takes every job and tells nothing more of it.
async fn stub_lrms() -> String {
    let receipt = || async {
        let receipt = json!({"id": 0, "state": "queued", "at_ns": 0});
        (StatusCode::ACCEPTED, Json(receipt))
    };
    let router = Router::new()
        .route("/v1/jobs", post(receipt))
        .route("/v1/jobs/{id}", delete(async || StatusCode::NO_CONTENT))
        .route("/healthz", get(async || "ok"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn ask(broker: &Handle, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = reqwest::Client::new().request(method, format!("{}{path}", broker.url()));
    if let Some(body) = body {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    )
}

async fn wait_for(broker: &Handle, id: u64, state: &str) -> Value {
    let mut job = Value::Null;
    for _ in 0..3_600 {
        (_, job) = ask(broker, "GET", &format!("/v1/jobs/{id}"), None).await;
        if job["state"] == state {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("job {id} did not become {state} within minutes: {job}");
}
