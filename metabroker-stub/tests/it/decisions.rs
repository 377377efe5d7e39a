//! A broker decides by what its peer has last told it, pushed over a session,
//! whatever is true meanwhile.

use super::sessions::{b, open, update};
use super::*;
use crate::fake::Fake;
use gridrig_core::load::LoadSample;
use gridrig_core::session::Roles;
use gridrig_core::time::SimTime;
use gridrig_metabroker_stub::lagrid::LinkSetup;
use gridrig_protocol::lagrid::{Codec, UpdateKind, UpdateVerdict};
use gridrig_protocol::rest::LoadReport;
use gridrig_protocol::tls::peer_client;

const WAIT: Duration = Duration::from_secs(20);

/// Broker a with an LRMS that takes everything, whose peer b is this one.
async fn deciding(policy: &str, peer: &Fake) -> Handle {
    let mut grid = grid(SOON);
    grid.domains[0].broker.policy = policy.parse().unwrap();
    let setup = BrokerSetup::of(&grid, DomainId(0), 1).unwrap();
    let link = LinkSetup::new("b", peer.url(), Codec::Json, Roles::BOTH);
    let client = peer_client(None, WAIT).unwrap();
    let links = BTreeMap::from([(DomainId(1), link)]);
    let config = Config {
        links: Links::new(("a", &setup.names), 1, &client, links),
        setup,
        ..config(SOON, &stub_lrms().await, NOWHERE)
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spawn(config, listener).await.unwrap()
}

/// Who gets the next job: `lrms` or `broker`.
async fn chosen(broker: &Handle, id: u64) -> String {
    let job = json!({"id": id, "processors": 2, "run_time": "60s"});
    let (status, said) = ask(broker, "POST", "/v1/jobs", Some(job)).await;
    assert_eq!(status, 201, "{said}");
    let sent = wait_for(broker, id, "sent").await;
    sent["sent_to"]["kind"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_broker_decides_by_what_its_peer_has_last_pushed() {
    for policy in ["free-node", "best-broker-rank", "best-broker-rank-aggr"] {
        let fake = Fake::start(7).await;
        let broker = deciding(policy, &fake).await;
        let (peer, url) = (b(None), broker.url());
        let connection = open(&peer, &broker).await.connection;
        // b has eight processors, this broker's own cluster four.
        let mut turns = Vec::new();
        for (sequence, busy, wanted) in [(1, 8, "lrms"), (2, 0, "broker"), (3, 7, "lrms")] {
            let kind = match sequence {
                1 => UpdateKind::Full,
                _ => UpdateKind::Incremental,
            };
            let mut told = update(&connection, sequence, kind);
            let mut sample = LoadSample::idle(ClusterId(1), 8);
            (sample.at, sample.busy) = (SimTime::from_secs(sequence), busy);
            told.update.clusters[0].load = LoadReport::from(&sample);
            let answer = peer.call(&url, &told).await.unwrap();
            assert_eq!(answer.verdict, UpdateVerdict::Accepted);
            // Twice: nothing is asked in between, so what was told holds.
            for again in 0..2 {
                let job = sequence * 10 + again;
                turns.push((job, chosen(&broker, job).await, wanted));
            }
        }
        for (job, got, wanted) in &turns {
            assert_eq!(got, wanted, "{policy} job {job}: {turns:?}");
        }
        let forwarded = fake.submitted();
        assert_eq!(forwarded, [20, 21], "{policy}");
        wire::holds(&broker, &["sendResourceData", "sendResourceDataResponse"]).await;
    }
}
