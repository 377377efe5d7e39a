//! Sessions with peers, as a peer sees them.

use super::*;
use crate::fake::Fake;
use gridrig_core::ids::JobId;
use gridrig_core::inventory::Form;
use gridrig_core::job::JobSpec;
use gridrig_core::load::LoadSample;
use gridrig_core::session::{Auth, Roles};
use gridrig_metabroker_stub::lagrid::LinkSetup;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    CancelJob, ClusterReport, Codec, ConnEvent, Heartbeat, JobLanguage, JobState, NotifyConn,
    OpenConn, OpenConnAnswer, Origin, PeerClient, PeerError, Proposal, QueryJob, Reference,
    RequestResourceData, ResourceLanguage, ResourceUpdate, Role, SendResourceData, SubmitJob,
    Token, UpdateKind, UpdateVerdict, Verdict,
};
use gridrig_protocol::rest::LoadReport;
use gridrig_protocol::tls::peer_client;

const SECRET: &str = "a-very-secret-token-of-b";
const WAIT: Duration = Duration::from_secs(120);

/// Site a with a session towards b, which is played by the test.
pub async fn broker(change: impl FnOnce(&mut LinkSetup)) -> Handle {
    wire::listen();
    let mut link = LinkSetup::new("b", NOWHERE, Codec::Soap11, Roles::BOTH);
    change(&mut link);
    let client = peer_client(None, WAIT).unwrap();
    let config = config(SimDuration::from_secs(36_000), NOWHERE, NOWHERE);
    let names = ("a", &config.setup.names);
    let links = Links::new(names, 1, &client, BTreeMap::from([(DomainId(1), link)]));
    let config = Config { links, ..config };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spawn(config, listener).await.unwrap()
}

pub fn b(token: Option<&str>) -> PeerClient {
    wire::listen();
    let client = peer_client(None, WAIT).unwrap();
    client.with_token(token.map(Token::new))
}

fn both() -> Vec<Role> {
    vec![Role::Provider, Role::Consumer]
}

pub fn proposal() -> Proposal {
    Proposal {
        authentication: vec![Auth::Bearer, Auth::None],
        initiator_roles: both(),
        responder_roles: both(),
        heartbeat_ms: 5000,
        job_languages: vec![JobLanguage::Jsdl],
        resource_languages: vec![ResourceLanguage::Clusters],
        resource_forms: vec![Form::Flat],
    }
}

pub fn round(round: u32, connection: Option<String>, proposal: Proposal) -> OpenConn {
    OpenConn {
        initiator: "b".to_owned(),
        endpoint: Reference::of("http://127.0.0.1:9/lagrid"),
        incarnation: 7,
        connection,
        round,
        max_rounds: 5,
        proposal,
    }
}

pub async fn open(client: &PeerClient, broker: &Handle) -> OpenConnAnswer {
    open_with(client, broker, proposal()).await
}

pub async fn open_with(client: &PeerClient, broker: &Handle, proposal: Proposal) -> OpenConnAnswer {
    let request = round(1, None, proposal);
    client.call(&broker.url(), &request).await.unwrap()
}

pub fn code<T: std::fmt::Debug>(answer: Result<T, PeerError>) -> String {
    let error = answer.expect_err("a fault");
    error.fault().expect("a fault").code.clone()
}

pub fn job(connection: &str, id: u32) -> SubmitJob {
    let spec = JobSpec::rigid(JobId(id), 1, SimDuration::from_secs(9));
    SubmitJob {
        connection: connection.to_owned(),
        key: format!("run/1/{id}/1"),
        origin: Some(Origin {
            domain: "b".to_owned(),
            job: id,
            user: None,
        }),
        hop: 1,
        ttl: None,
        forwarder: Some(Reference::of_job("http://127.0.0.1:9/lagrid", id)),
        meant_ns: None,
        job: JobDefinition::of(&spec, None).unwrap(),
    }
}

pub fn update(connection: &str, sequence: u64, kind: UpdateKind) -> SendResourceData {
    let load = LoadReport::from(&LoadSample::idle(ClusterId(1), 8));
    SendResourceData {
        connection: connection.to_owned(),
        letter: None,
        meant_ns: None,
        update: ResourceUpdate {
            kind,
            sequence,
            from_sequence: (kind == UpdateKind::Incremental).then(|| sequence - 1),
            form: Form::Flat,
            at_ns: 0,
            clusters: vec![ClusterReport {
                name: None,
                groups: Vec::new(),
                load,
            }],
            removed: Vec::new(),
            inventory: None,
        },
    }
}

#[tokio::test]
async fn an_unknown_peer_can_do_nothing() {
    let broker = broker(|_| ()).await;
    let (foreign, url) = (b(None), broker.url());
    let hello = OpenConn {
        initiator: "mallory".to_owned(),
        ..round(1, None, proposal())
    };
    assert_eq!(code(foreign.call(&url, &hello).await), "not-authorized");
    let connection = "a-b-1-1".to_owned();
    let unknown = "unknown-connection";
    let beat = Heartbeat {
        connection: connection.clone(),
        sequence: 1,
        incarnation: 1,
    };
    assert_eq!(code(foreign.call(&url, &beat).await), unknown);
    assert_eq!(
        code(foreign.call(&url, &job(&connection, 1)).await),
        unknown
    );
    let query = QueryJob {
        connection: connection.clone(),
        job: 1,
    };
    assert_eq!(code(foreign.call(&url, &query).await), unknown);
    let ask = RequestResourceData {
        connection: connection.clone(),
        form: None,
        since: None,
    };
    assert_eq!(code(foreign.call(&url, &ask).await), unknown);
    let told = update(&connection, 1, UpdateKind::Full);
    assert_eq!(code(foreign.call(&url, &told).await), unknown);
    // Nor by the native way, which knows no sessions.
    let native = json!({"processors": 1, "run_time": "1s", "from": 1, "hop": 1});
    let (status, problem) = ask_native(&broker, "/v1/jobs", native).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("session-required"))
    );
    let info = json!({"from": {"kind": "broker", "id": 1}, "samples": []});
    assert_eq!(ask_native(&broker, "/v1/info", info).await.0, 403);
    let news = json!({"kind": "ended", "from": {"kind": "broker", "id": 1},
                      "job": {"job": 7, "state": "completed"}});
    assert_eq!(ask_native(&broker, "/v1/notifications", news).await.0, 403);
    wire::holds(
        &broker,
        &[
            "openConn",
            "heartbeat",
            "submitJob",
            "queryJob",
            "requestResourceData",
            "sendResourceData",
            "problem",
        ],
    )
    .await;
}

async fn ask_native(broker: &Handle, path: &str, body: Value) -> (u16, Value) {
    ask(broker, "POST", path, Some(body)).await
}

#[tokio::test]
async fn terms_are_negotiated_in_rounds_over_either_codec() {
    for &codec in Codec::ALL {
        let broker = broker(|link| link.stance.roles = Roles::PROVIDER).await;
        let (peer, url) = (b(None).speaking(codec), broker.url());
        let first = peer.call(&url, &round(1, None, proposal())).await.unwrap();
        let Verdict::Counter(counter) = first.verdict else {
            panic!("{first:?}");
        };
        assert_eq!(counter.responder_roles, [Role::Provider]);
        assert_eq!(counter.initiator_roles, [Role::Consumer]);
        let named = Some(first.connection.clone());
        let early = round(3, named.clone(), counter.clone());
        assert_eq!(code(peer.call(&url, &early).await), "wrong-round");
        // Nothing holds before there is an agreement.
        assert_eq!(
            code(peer.call(&url, &job(&first.connection, 1)).await),
            "unknown-connection"
        );
        let second = round(2, named, counter);
        let second = peer.call(&url, &second).await.unwrap();
        let Verdict::Accepted(terms) = second.verdict else {
            panic!("{second:?}");
        };
        assert_eq!(terms.authentication, Auth::None);
        assert_eq!(second.connection, first.connection);
        let beat = Heartbeat {
            connection: first.connection,
            sequence: 4,
            incarnation: 7,
        };
        assert_eq!(peer.call(&url, &beat).await.unwrap().sequence, 4);
        wire::holds(
            &broker,
            &["openConn", "openConnResponse", "heartbeatResponse"],
        )
        .await;
    }
}

#[tokio::test]
async fn what_can_never_be_agreed_on_is_refused_with_its_reason_over_either_codec() {
    let wants = proposal();
    let no_method = Proposal {
        authentication: vec![Auth::MutualTls],
        ..wants.clone()
    };
    let no_role = Proposal {
        initiator_roles: vec![Role::Provider],
        responder_roles: vec![Role::Consumer],
        ..wants.clone()
    };
    let no_form = Proposal {
        resource_forms: vec![Form::NToN],
        ..wants.clone()
    };
    for &codec in Codec::ALL {
        let broker = broker(|link| {
            link.stance.roles = Roles::PROVIDER;
            link.stance.forms = vec![Form::Flat];
        })
        .await;
        let (peer, url) = (b(None).speaking(codec), broker.url());
        let refused = async |proposal: &Proposal, most: u32| {
            let request = OpenConn {
                max_rounds: most,
                ..round(1, None, proposal.clone())
            };
            match peer.call(&url, &request).await.unwrap().verdict {
                Verdict::Refused(refusal) => (refusal.code, refusal.reason),
                other => panic!("{other:?}"),
            }
        };
        for (proposal, most, code) in [
            (&no_method, 5, "no-common-authentication"),
            (&no_role, 5, "no-common-role"),
            (&no_form, 5, "no-common-resource-form"),
            // It would counter, and there is no round left to agree in.
            (&wants, 1, "too-many-rounds"),
        ] {
            let (found, reason) = refused(proposal, most).await;
            assert_eq!(found, code, "{codec:?}");
            assert!(reason.contains(' '), "{reason}");
        }
        let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
        assert_eq!(peers["peers"][0]["session"]["state"], "closed");
        wire::holds(&broker, &["openConn", "openConnResponse"]).await;
    }
}

#[tokio::test]
async fn an_error_leaves_a_connection_open_and_an_end_ends_it() {
    for &codec in Codec::ALL {
        let broker = broker(|_| ()).await;
        let (peer, url) = (b(None).speaking(codec), broker.url());
        let connection = open(&peer, &broker).await.connection;
        let tell = |event| NotifyConn {
            connection: connection.clone(),
            event,
            code: "overloaded".to_owned(),
            reason: "the peer has its reasons".to_owned(),
        };
        let state = async || {
            let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
            peers["peers"][0]["session"]["state"].clone()
        };
        peer.call(&url, &tell(ConnEvent::Error)).await.unwrap();
        assert_eq!(state().await, "open");
        peer.call(&url, &tell(ConnEvent::End)).await.unwrap();
        assert_ne!(state().await, "open");
        let after = peer.call(&url, &tell(ConnEvent::Error)).await;
        assert_eq!(code(after), "unknown-connection");
        wire::holds(&broker, &["notifyConn", "notifyConnResponse", "problem"]).await;
    }
}

#[tokio::test]
async fn a_broker_that_is_stopped_ends_its_connections() {
    for codec in [Codec::Soap11, Codec::Json] {
        let fake = Fake::start(7).await;
        let broker = broker(|link| {
            link.codec = codec;
            link.url = fake.url().to_owned();
        })
        .await;
        let connection = open(&b(None), &broker).await.connection;
        broker.stop().await.unwrap();
        let ended = fake.ended();
        assert_eq!(ended, [connection], "{codec:?}");
    }
}

#[tokio::test]
async fn who_has_not_shown_the_token_is_nobody() {
    let broker = broker(|link| {
        link.stance.auth = vec![Auth::Bearer];
        link.token = Some(Token::new(SECRET));
    })
    .await;
    let url = broker.url();
    for wrong in [None, Some("a-very-secret-token-of-c")] {
        let answer = b(wrong).call(&url, &round(1, None, proposal())).await;
        assert_eq!(code(answer), "not-authenticated");
    }
    let peer = b(Some(SECRET));
    let opened = open(&peer, &broker).await;
    let Verdict::Accepted(terms) = &opened.verdict else {
        panic!("{opened:?}");
    };
    assert_eq!(terms.authentication, Auth::Bearer);
    assert!(peer.call(&url, &job(&opened.connection, 1)).await.is_ok());
    // The name of the connection opens nothing.
    let without = b(None).call(&url, &job(&opened.connection, 2)).await;
    assert_eq!(code(without), "not-authenticated");
    let shown = format!("{:?}", Token::new(SECRET));
    assert!(!shown.contains(SECRET));
    wire::holds(
        &broker,
        &["openConnResponse", "submitJobResponse", "problem"],
    )
    .await;
}

#[tokio::test]
async fn a_peer_that_only_consumes_is_sent_no_job_and_one_that_only_provides_sends_none() {
    let broker = broker(|link| {
        link.stance.roles = Roles::CONSUMER;
    })
    .await;
    let (peer, url) = (b(None), broker.url());
    let provider = Proposal {
        initiator_roles: vec![Role::Provider],
        responder_roles: vec![Role::Consumer],
        ..proposal()
    };
    let opened = peer.call(&url, &round(1, None, provider)).await.unwrap();
    assert!(matches!(opened.verdict, Verdict::Accepted(_)), "{opened:?}");
    assert_eq!(
        code(peer.call(&url, &job(&opened.connection, 1)).await),
        "wrong-role"
    );
    let ask = RequestResourceData {
        connection: opened.connection.clone(),
        form: None,
        since: None,
    };
    assert_eq!(code(peer.call(&url, &ask).await), "wrong-role");
    let told = update(&opened.connection, 1, UpdateKind::Full);
    let answer = peer.call(&url, &told).await.unwrap();
    assert_eq!(answer.verdict, UpdateVerdict::Accepted);
    wire::holds(&broker, &["sendResourceDataResponse"]).await;
}

#[tokio::test]
async fn a_gap_wants_everything_and_what_is_old_changes_nothing() {
    let broker = broker(|_| ()).await;
    let (peer, url) = (b(None), broker.url());
    let connection = open(&peer, &broker).await.connection;
    for (sequence, kind, verdict, have) in [
        (1, UpdateKind::Full, UpdateVerdict::Accepted, 1),
        (2, UpdateKind::Incremental, UpdateVerdict::Accepted, 2),
        (4, UpdateKind::Incremental, UpdateVerdict::FullWanted, 2),
        (1, UpdateKind::Full, UpdateVerdict::Stale, 2),
        (5, UpdateKind::Full, UpdateVerdict::Accepted, 5),
    ] {
        let answer = peer.call(&url, &update(&connection, sequence, kind)).await;
        let answer = answer.unwrap();
        assert_eq!((answer.verdict, answer.have), (verdict, have), "{sequence}");
    }
    // Clusters that are not the sender's leave the connection as it is.
    let mut foreign = update(&connection, 6, UpdateKind::Incremental);
    foreign.update.clusters[0].load.cluster = 0;
    assert_eq!(code(peer.call(&url, &foreign).await), "unexpected-samples");
    let next = update(&connection, 6, UpdateKind::Incremental);
    let next = peer.call(&url, &next).await.unwrap();
    assert_eq!(next.verdict, UpdateVerdict::Accepted);
    wire::holds(&broker, &["sendResourceData", "sendResourceDataResponse"]).await;
}

#[tokio::test]
async fn a_job_is_recorded_under_the_identity_that_its_sender_is_mapped_to() {
    let broker = broker(|link| link.local_identity = Some("grid-b".into())).await;
    let (peer, url) = (b(None), broker.url());
    let connection = open(&peer, &broker).await.connection;
    let taken = peer.call(&url, &job(&connection, 5)).await.unwrap();
    assert_eq!(
        (taken.job, taken.state, taken.repeated),
        (5, JobState::Queued, false)
    );
    let again = peer.call(&url, &job(&connection, 5)).await.unwrap();
    assert!(again.repeated);
    let (_, shown) = ask(&broker, "GET", "/v1/jobs/5", None).await;
    assert_eq!(shown["identity"], "grid-b");
    let cancel = CancelJob {
        connection: connection.clone(),
        job: 5,
    };
    let ended = peer.call(&url, &cancel).await.unwrap();
    assert_eq!(ended.state, JobState::Cancelled);
    let query = QueryJob { connection, job: 5 };
    let asked = peer.call(&url, &query).await.unwrap();
    assert_eq!(asked.state, JobState::Cancelled);
    wire::holds(
        &broker,
        &[
            "submitJob",
            "cancelJob",
            "cancelJobResponse",
            "queryJobResponse",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_peer_sees_its_own_jobs_only() {
    let broker = broker(|_| ()).await;
    let (peer, url) = (b(None), broker.url());
    let connection = open(&peer, &broker).await.connection;
    let own = json!({"processors": 1, "run_time": "9s", "id": 3});
    assert_eq!(ask(&broker, "POST", "/v1/jobs", Some(own)).await.0, 201);
    let query = QueryJob {
        connection: connection.clone(),
        job: 3,
    };
    assert_eq!(code(peer.call(&url, &query).await), "unknown-job");
    let cancel = CancelJob { connection, job: 3 };
    assert_eq!(code(peer.call(&url, &cancel).await), "unknown-job");
    wire::holds(&broker, &["queryJob", "cancelJob", "problem"]).await;
}

#[tokio::test]
async fn another_life_of_a_peer_opens_another_session() {
    let broker = broker(|_| ()).await;
    let (peer, url) = (b(None), broker.url());
    let first = open(&peer, &broker).await.connection;
    let reborn = OpenConn {
        incarnation: 8,
        ..round(1, None, proposal())
    };
    let second = peer.call(&url, &reborn).await.unwrap().connection;
    assert_ne!(first, second);
    let beat = |connection: &str| Heartbeat {
        connection: connection.to_owned(),
        sequence: 1,
        incarnation: 8,
    };
    assert_eq!(
        code(peer.call(&url, &beat(&first)).await),
        "unknown-connection"
    );
    assert!(peer.call(&url, &beat(&second)).await.is_ok());
    let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
    assert_eq!(peers["peers"][0]["session"]["state"], "open");
    assert_eq!(peers["peers"][0]["session"]["role"], "both");
    wire::holds(&broker, &["heartbeat", "heartbeatResponse"]).await;
}
