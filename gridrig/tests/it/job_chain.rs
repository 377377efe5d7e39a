//! A job that goes on from broker to broker over SOAP: what becomes of it, and
//! the wish to have it removed, travel along the references of its forwarders.

use crate::command::{Bench, Service, start, start_overheard};
use crate::overheard::{Overheard, served_wsdl};
use crate::patience::Patience;
use gridrig_core::time::Decimal;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::soap::Version;
use gridrig_service::free_ports;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Jobs enter at a. Four processors in a row are to be had at c only, and c is
/// known to b only.
const CHAIN: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
broker = { interval = "1s", max_hops = 2 }
clusters = [ { name = "a1", processors = 1 } ]

[[domain]]
name = "b"
broker = { interval = "1s", max_hops = 2 }
clusters = [ { name = "b1", processors = 2 } ]

[[domain]]
name = "c"
broker = { interval = "1s", max_hops = 2 }
clusters = [ { name = "c1", processors = 4 } ]

[[link]]
between = ["a", "b"]
protocol = "soap"

[[link]]
between = ["b", "c"]
protocol = "soap12"

[run]
policies = ["round-robin"]
"#;

const SITES: [&str; 3] = ["a", "b", "c"];

struct Chain {
    bench: Bench,
    urls: BTreeMap<String, String>,
    _services: Vec<Service>,
}

impl Chain {
    fn start() -> Self {
        let bench = Bench::new(CHAIN, &[(0, 1, 1)]);
        let names = SITES.map(|site| [format!("{site}1"), site.to_owned()]);
        let ports = free_ports(2 * SITES.len()).unwrap().into_iter();
        let urls = names.concat().into_iter().zip(ports);
        let urls = urls.map(|(name, port)| (name, format!("http://127.0.0.1:{port}")));
        let urls: BTreeMap<String, String> = urls.collect();
        let clock = RunClock::starting_in(std::time::Duration::ZERO, Decimal::from_whole(10));
        let epoch = clock.epoch_unix_ns().to_string();
        let scenario = bench.path("s.toml");
        let words = |kind: &str, name: &str| -> Vec<String> {
            let listen = urls[name].replace("http://", "");
            let words = [kind, "--scenario", &scenario, "--name", name];
            let more = ["--listen", &listen, "--speed", "10", "--epoch", &epoch];
            words.into_iter().chain(more).map(str::to_owned).collect()
        };
        let mut services = Vec::new();
        for (at, site) in SITES.into_iter().enumerate() {
            let lrms = format!("{site}1");
            let mut emulator = words("emulator", &lrms);
            emulator.extend(["--broker".to_owned(), urls[site].clone()]);
            services.push(start(&emulator));
            let mut broker = words("broker", site);
            broker.extend(["--lrms".to_owned(), format!("{lrms}={}", urls[&lrms])]);
            for (other, peer) in SITES.into_iter().enumerate() {
                if other.abs_diff(at) == 1 {
                    broker.extend(["--peer".to_owned(), format!("{peer}={}", urls[peer])]);
                }
            }
            let log = bench.path(&format!("{site}.wire"));
            services.push(start_overheard(&broker, &log));
        }
        let chain = Chain {
            bench,
            urls,
            _services: services,
        };
        for site in SITES {
            let patience = Patience::seconds(180);
            let closed = |text: String| text.contains("\"state\":\"closed\"");
            while closed(chain.ask("GET", site, "/v1/peers", None).to_string()) {
                patience.wait(format!("sessions of {site}"));
            }
        }
        chain
    }

    fn ask(&self, method: &str, name: &str, path: &str, body: Option<&str>) -> Value {
        let url = format!("{}{path}", self.urls[name]);
        let mut curl = Command::new("curl");
        curl.args(["-s", "-m", "60", "-X", method, &url]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", body]);
        }
        serde_json::from_slice(&curl.output().unwrap().stdout).unwrap_or_default()
    }

    fn submit(&self, id: u32, run_time: &str) {
        let job = format!(r#"{{"id": {id}, "processors": 4, "run_time": "{run_time}"}}"#);
        let said = self.ask("POST", "a", "/v1/jobs", Some(&job));
        assert_eq!(said["id"], id, "{said}");
    }

    /// Waits until a job stands so at each of these services.
    fn wait(&self, id: u32, states: [(&str, &str); 4]) {
        let patience = Patience::seconds(180);
        loop {
            let seen = states.map(|(name, _)| {
                let job = self.ask("GET", name, &format!("/v1/jobs/{id}"), None);
                job["state"].as_str().unwrap_or_default().to_owned()
            });
            if seen == states.map(|(_, state)| state) {
                return;
            }
            patience.wait(format!("job {id} to be {states:?}: {seen:?}"));
        }
    }

    /// What a broker answers when a peer of it asks where a job stands.
    fn query(&self, broker: &str, peer: &str, job: u32) -> Value {
        let list = self.ask("GET", broker, "/v1/peers", None);
        let mut peers = list["peers"].as_array().unwrap().iter();
        let peer = peers.find(|known| known["name"] == peer).unwrap();
        let connection = &peer["session"]["connection"];
        let body = format!(r#"{{"connection": {connection}, "job": {job}}}"#);
        self.ask("POST", broker, "/v1/peers/queryJob", Some(&body))
    }

    /// The requests that a broker has made for an operation, each once however
    /// often it was sent.
    fn requests(&self, site: &str, operation: &str) -> BTreeSet<String> {
        let log = std::fs::read_to_string(self.bench.path(&format!("{site}.wire"))).unwrap();
        let entries = log.lines().map(serde_json::from_str::<Value>);
        let fields = entries.filter_map(|entry| Some(entry.ok()?["fields"].clone()));
        let there = fields.filter(|f| f["way"] == "request-out" && f["operation"] == operation);
        there
            .map(|fields| fields["message"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn what_becomes_of_a_job_and_a_cancellation_travel_along_a_chain_of_brokers() {
    let chain = Chain::start();
    chain.submit(1, "5s");
    chain.submit(2, "100h");
    let end = ["a", "b", "c", "c1"];
    chain.wait(1, end.map(|name| (name, "completed")));
    let told = chain.ask("GET", "a", "/v1/jobs/1", None);
    // What a client of a is told is what c1 has said.
    let run = chain.ask("GET", "c1", "/v1/jobs/1", None);
    for field in ["start_ns", "finish_ns"] {
        assert!(told[field].is_u64(), "{told}");
        assert_eq!(told[field], run[field], "{field}");
    }
    chain.wait(
        2,
        [
            ("a", "sent"),
            ("b", "sent"),
            ("c", "sent"),
            ("c1", "running"),
        ],
    );
    // Whoever asks b is told what c1 says.
    let runs = chain.ask("GET", "c1", "/v1/jobs/2", None);
    for (broker, peer) in [("b", "a"), ("c", "b")] {
        let told = chain.query(broker, peer, 2);
        assert_eq!(told["state"], "running", "{broker}: {told}");
        assert_eq!(told["start_ns"], runs["start_ns"], "{broker}: {told}");
        assert_eq!((&told["job"], &told["cluster"]), (&2.into(), &2.into()));
    }
    chain.ask("DELETE", "a", "/v1/jobs/2", None);
    chain.wait(2, end.map(|name| (name, "cancelled")));
    // Each of them was asked once, and says so.
    for service in end {
        let events = chain.ask("GET", service, "/v1/events", None);
        let events = events["events"].as_array().unwrap();
        let asked = |event: &&Value| event["event"] == "cancel-requested";
        let asked: Vec<_> = events.iter().filter(asked).collect();
        assert_eq!(asked.len(), 1, "{service}: {events:?}");
        assert_eq!(asked[0]["job"], 2, "{service}");
    }
    // Each broker has tagged the job with its own reference ...
    for (from, to) in [("a", "b"), ("b", "c")] {
        let sent = chain.requests(from, "submitJob");
        let own = format!("{}/lagrid<", chain.urls[from]);
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert!(sent.iter().all(|text| text.contains(&own)), "{sent:?}");
        assert_eq!(chain.requests(from, "cancelJob").len(), 1);
        // ... and is told by that of the next one's news.
        let news = chain.requests(to, "notifyJob");
        assert_eq!(news.len(), 2, "{news:?}");
        let by_reference = |text: &String| text.contains("IsReferenceParameter");
        assert!(news.iter().all(by_reference), "{news:?}");
    }
    let heard = Overheard::in_files(SITES.map(|site| chain.bench.path(&format!("{site}.wire"))));
    heard.spoke(Version::Soap11);
    heard.spoke(Version::Soap12);
    heard.holds(
        "what_becomes_of_a_job_and_a_cancellation_travel_along_a_chain_of_brokers",
        &served_wsdl(&chain.urls["a"]),
        &["openConn", "submitJob", "cancelJob", "notifyJob"],
    );
}
