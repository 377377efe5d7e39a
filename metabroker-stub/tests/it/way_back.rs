//! The way back of a job: news go by the reference that its forwarder has tagged
//! it with, and what a peer calls a job is what it is asked about.

use super::sessions::{b, job, open};
use super::*;
use crate::fake::{Fake, own_number};
use gridrig_core::session::Roles;
use gridrig_metabroker_stub::lagrid::LinkSetup;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{CancelJob, Codec, NotifyJob, Parameter, Reference, SubmitJob};
use gridrig_protocol::tls::peer_client;

/// Broker a, whose peer b is this one; its only cluster is too small for two
/// processors, so that such a job is forwarded.
async fn broker(peer: &Fake, codec: Codec, interval: SimDuration) -> Handle {
    let mut grid = grid(interval);
    grid.domains[0].broker.policy = "round-robin".parse().unwrap();
    grid.clusters[0].config.resources = Resources::homogeneous(1);
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let link = LinkSetup::new("b", peer.url(), codec, Roles::BOTH);
    let client = peer_client(None, Duration::from_secs(60)).unwrap();
    let links = BTreeMap::from([(DomainId(1), link)]);
    let config = Config {
        links: Links::new(("a", &setup.names), 1, &client, links),
        setup,
        ..config(interval, NOWHERE, NOWHERE)
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spawn(config, listener).await.unwrap()
}

async fn until<T>(what: &str, look: impl Fn() -> Vec<T>) -> Vec<T> {
    for _ in 0..3_600 {
        let seen = look();
        if !seen.is_empty() {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no {what} within three minutes");
}

#[tokio::test]
async fn news_of_a_job_bring_back_the_reference_that_its_forwarder_gave() {
    for codec in [Codec::Soap11, Codec::Soap12, Codec::Json] {
        let fake = Fake::start(7).await;
        let broker = broker(&fake, codec, SimDuration::from_secs(36_000)).await;
        let (peer, url) = (b(None), broker.url());
        let connection = open(&peer, &broker).await.connection;
        // A broker of other making calls its jobs as it likes.
        let token = Parameter {
            namespace: "urn:example:broker".to_owned(),
            name: "token".to_owned(),
            value: "x/1 & co".to_owned(),
        };
        let forwarder = Reference {
            address: format!("{}/lagrid", fake.url()),
            parameters: vec![token.clone()],
        };
        let sent = SubmitJob {
            forwarder: Some(forwarder),
            ..job(&connection, 5)
        };
        let taken = peer.call(&url, &sent).await.unwrap();
        let cancel = CancelJob {
            connection,
            job: taken.job,
        };
        peer.call(&url, &cancel).await.unwrap();
        let news = until("news", || fake.news()).await;
        let news: NotifyJob = serde_json::from_value(news[0].clone()).unwrap();
        assert_eq!(news.reference, [token], "{codec:?}");
        assert_eq!(news.report.job, 5);
        wire::holds(&broker, &["submitJob", "cancelJob"]).await;
    }
}

#[tokio::test]
async fn what_a_job_brings_and_asks_for_goes_along_to_the_next_broker() {
    for codec in [Codec::Soap12, Codec::Json] {
        let fake = Fake::start(7).await;
        let broker = broker(&fake, codec, SOON).await;
        open(&b(None), &broker).await;
        let wanted = json!({"memory_kib": 512, "speed_millionths": 750_000});
        let submit = json!({"id": 3, "processors": 2, "run_time": "1.5s", "requested_time": "2s",
                            "data_kib": 3, "requirements": wanted});
        let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(submit)).await;
        assert_eq!(status, 201, "{said}");
        let documents = until("forward", || fake.documents()).await;
        let read = JobDefinition::read("test", documents[0].as_bytes()).unwrap();
        let job = read.to_job(read.run_time.unwrap(), &[]).unwrap();
        let millis = SimDuration::from_millis;
        assert_eq!((job.processors(), job.data_kib), (2, 3), "{codec:?}");
        assert_eq!(
            (job.run_time, job.requested_time),
            (millis(1500), Some(millis(2000)))
        );
        let wanted = &job.components.first.requirements;
        assert_eq!((wanted.memory_kib, wanted.speed_millionths), (512, 750_000));
        wire::holds(&broker, &["submitJob"]).await;
    }
}

#[tokio::test]
async fn a_job_of_several_components_is_not_forwarded_as_a_jsdl_document() {
    for codec in [Codec::Soap12, Codec::Json] {
        let fake = Fake::start(7).await;
        let broker = broker(&fake, codec, SOON).await;
        open(&b(None), &broker).await;
        let submit = json!({"id": 3, "processors": 1, "run_time": "1s",
                            "more_components": [{"processors": 1}]});
        let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(submit)).await;
        assert_eq!(status, 201, "{said}");
        let job = wait_for(&broker, 3, "rejected").await;
        assert_eq!(job["reason"], "all-refused", "{codec:?}");
        assert!(fake.documents().is_empty());
    }
}

#[tokio::test]
async fn a_peer_that_numbers_jobs_itself_is_asked_by_its_own_numbers() {
    for codec in [Codec::Soap11, Codec::Json] {
        let fake = Fake::start(7).await;
        let broker = broker(&fake, codec, SOON).await;
        let (peer, url) = (b(None), broker.url());
        let connection = open(&peer, &broker).await.connection;
        let submit = json!({"id": 3, "processors": 2, "run_time": "60s"});
        let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(submit)).await;
        assert_eq!(status, 201, "{said}");
        until("forward", || fake.submitted()).await;
        wait_for(&broker, 3, "sent").await;
        ask(&broker, "DELETE", "/v1/jobs/3", None).await;
        let asked = until("request to cancel", || fake.cancelled()).await;
        assert_eq!(asked, [own_number(3)], "{codec:?}");
        // It tells of the end under its own number, without the reference.
        let text = json!({
            "connection": connection, "news": "state",
            "report": {"job": own_number(3), "state": "cancelled"},
        });
        let news: NotifyJob = serde_json::from_value(text).unwrap();
        peer.call(&url, &news).await.unwrap();
        wait_for(&broker, 3, "cancelled").await;
        wire::holds(&broker, &["notifyJob", "notifyJobResponse"]).await;
    }
}
