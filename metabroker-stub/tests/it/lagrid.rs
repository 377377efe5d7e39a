//! The routes of the peer protocol: what is good reaches the handler as it was
//! sent and its answer comes back, in every codec; what is not gets a fault
//! with a code and never reaches the handler.

mod hostile;
mod need;
mod recorder;
mod zeep;

use crate::wire;
use axum::Router;
use gridrig_metabroker_stub::lagrid::routes;
use gridrig_protocol::client::ClientError;
use gridrig_protocol::jsdl::JobDefinition;
use gridrig_protocol::lagrid::{
    Auth, CancelJob, Codec, ConnEvent, Form, Heartbeat, JobLanguage, JobNews, JobReport, JobState,
    NotifyConn, NotifyDrain, NotifyJob, OpenConn, Operation, Origin, PeerClient, PeerError,
    Proposal, QueryJob, Reference, RequestResourceData, ResourceLanguage, Role, SendResourceData,
    SubmitJob, Token, UpdateVerdict, Verdict,
};
use gridrig_service::http::{self, Door, Faults, Labels, Life, Metrics};
use recorder::Recorder;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// A handler behind real sockets, with all the bounds of a service. It ends with
/// this value.
struct Served {
    url: String,
    recorder: Arc<Recorder>,
    _end: oneshot::Sender<()>,
}

fn serve() -> Served {
    let recorder = Arc::new(Recorder::default());
    let (end, ended) = oneshot::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let metrics = Arc::new(Metrics::new(Labels::of("broker"), 1));
    let router: Router = http::bounded(routes(Arc::clone(&recorder)), metrics, Faults::default());
    let life = Life::until(async move {
        let _ = ended.await;
    });
    let door = Door::open(listener, None).unwrap();
    tokio::spawn(http::serve(door, router, life));
    Served {
        url,
        recorder,
        _end: end,
    }
}

fn client(codec: Codec) -> PeerClient {
    wire::listen();
    gridrig_protocol::tls::init();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    PeerClient::new(http, codec, Duration::from_secs(30))
}

fn open(heartbeat_ms: u64) -> OpenConn {
    OpenConn {
        initiator: "b".to_owned(),
        endpoint: Reference::of("http://127.0.0.1:9/lagrid"),
        incarnation: 3,
        connection: None,
        round: 1,
        max_rounds: 3,
        proposal: Proposal {
            authentication: vec![Auth::None],
            initiator_roles: vec![Role::Consumer],
            responder_roles: vec![Role::Provider],
            heartbeat_ms,
            job_languages: vec![JobLanguage::Jsdl],
            resource_languages: vec![ResourceLanguage::Clusters],
            resource_forms: vec![Form::Flat],
        },
    }
}

fn job() -> JobDefinition {
    let text = r#"<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl">
      <JobDescription><JobIdentification><JobName>probe &amp; co</JobName></JobIdentification>
      <Resources><TotalCPUCount><Exact>2</Exact></TotalCPUCount></Resources>
      <RunTime xmlns="urn:gridrig:jsdl:1">1.5h</RunTime></JobDescription></JobDefinition>"#;
    JobDefinition::read("test", text.as_bytes()).unwrap()
}

fn submission(connection: &str, key: &str) -> SubmitJob {
    SubmitJob {
        connection: connection.to_owned(),
        key: key.to_owned(),
        origin: Some(Origin {
            domain: "b".to_owned(),
            job: 7,
            user: Some("/O=grid/CN=alice".to_owned()),
        }),
        hop: 1,
        ttl: Some(2),
        forwarder: Some(Reference::of_job("http://127.0.0.1:9/lagrid", 7)),
        meant_ns: Some(5),
        job: job(),
    }
}

#[tokio::test]
async fn every_operation_is_answered_in_every_codec() {
    let served = serve();
    let at = served.url.as_str();
    for &codec in Codec::ALL {
        let peer = client(codec);
        // A counter-proposal, then agreement.
        let answer = peer.call(at, &open(10)).await.unwrap();
        let Verdict::Counter(counter) = answer.verdict else {
            panic!("{answer:?}");
        };
        let again = OpenConn {
            connection: Some(answer.connection.clone()),
            round: 2,
            proposal: counter,
            ..open(10)
        };
        let answer = peer.call(at, &again).await.unwrap();
        let Verdict::Accepted(terms) = &answer.verdict else {
            panic!("{answer:?}");
        };
        assert_eq!((terms.heartbeat_ms, answer.round), (1000, 2));
        let connection = answer.connection.as_str();
        // The address may be the endpoint that the answer names.
        assert_eq!(answer.endpoint.address, format!("{at}/lagrid"));
        let endpoint = answer.endpoint.address.as_str();
        let beat = Heartbeat {
            connection: connection.to_owned(),
            sequence: 9,
            incarnation: 3,
        };
        assert_eq!(peer.call(endpoint, &beat).await.unwrap().sequence, 9);

        let pull = RequestResourceData {
            connection: connection.to_owned(),
            form: Some(Form::Flat),
            since: None,
        };
        let update = peer.call(at, &pull).await.unwrap();
        assert_eq!(update, recorder::update());
        let push = SendResourceData {
            connection: connection.to_owned(),
            letter: None,
            meant_ns: Some(1),
            update,
        };
        let pushed = peer.call(at, &push).await.unwrap();
        assert_eq!((pushed.verdict, pushed.have), (UpdateVerdict::Accepted, 1));
        let pushed = peer.call(at, &push).await.unwrap();
        assert_eq!(pushed.verdict, UpdateVerdict::Stale);

        let query = a_job_in_its_life(&served, &peer, connection, codec).await;
        let end = NotifyConn {
            connection: connection.to_owned(),
            event: ConnEvent::End,
            code: "done".to_owned(),
            reason: "the test is over".to_owned(),
        };
        peer.call(at, &end).await.unwrap();
        let error = peer.call(at, &query).await.unwrap_err();
        let fault = error.fault().unwrap();
        assert_eq!(fault.code, "unknown-connection", "{codec:?}");
        assert!(fault.detail.contains(connection), "{fault}");
    }
    let each = Operation::ALL.iter();
    let both = each.flat_map(|operation| [operation.name().to_owned(), operation.response()]);
    let both: Vec<String> = both.collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    wire::holds_at(at, &both).await;
}

/// Submits a job twice, asks, cancels, tells news of another; answers the
/// question.
async fn a_job_in_its_life(
    served: &Served,
    peer: &PeerClient,
    connection: &str,
    codec: Codec,
) -> QueryJob {
    let at = served.url.as_str();
    let sent = submission(connection, &format!("key-{}", codec.name()));
    let first = peer.call(at, &sent).await.unwrap();
    assert_eq!((first.state, first.repeated), (JobState::Queued, false));
    assert_eq!(first.endpoint.job(), Some(first.job));
    let second = peer.call(at, &sent).await.unwrap();
    assert_eq!((second.job, second.repeated), (first.job, true));
    // The job is as it was sent, with the name and the length it had.
    assert_eq!(served.recorder.submitted(first.job), Some(sent));

    let (connection, job) = (connection.to_owned(), first.job);
    let query = QueryJob {
        connection: connection.clone(),
        job,
    };
    assert_eq!(peer.call(at, &query).await.unwrap().state, JobState::Queued);
    let cancel = CancelJob {
        connection: connection.clone(),
        job,
    };
    let cancelled = peer.call(at, &cancel).await.unwrap();
    assert_eq!(cancelled.state, JobState::Cancelled);
    let drain = NotifyDrain {
        connection: connection.clone(),
        until_ns: 1,
    };
    peer.call(at, &drain).await.unwrap();

    let news = NotifyJob {
        connection: connection.clone(),
        letter: None,
        meant_ns: None,
        news: JobNews::State,
        report: JobReport {
            job: 70,
            state: JobState::Completed,
            reason: None,
            cluster: Some(2),
            start_ns: Some(1),
            finish_ns: Some(2),
        },
        reference: Reference::of_job("http://h/", 7).parameters,
    };
    assert!(!peer.call(at, &news).await.unwrap().repeated);
    // SOAP had the parameters in the header, JSON in the message.
    assert_eq!(served.recorder.news(), Some(news));
    query
}

#[tokio::test]
async fn the_handler_is_told_who_asks() {
    let served = serve();
    for &codec in Codec::ALL {
        let peer = client(codec).with_token(Some(Token::new("sesame")));
        peer.call(&served.url, &open(1000)).await.unwrap();
        let caller = served.recorder.caller().unwrap();
        assert!(caller.is_local() && !caller.is_secure);
        assert!(
            caller
                .token
                .as_ref()
                .unwrap()
                .matches(&Token::new("sesame"))
        );
        assert!(
            !caller
                .token
                .as_ref()
                .unwrap()
                .matches(&Token::new("sesamf"))
        );
        assert_eq!(caller.base, served.url);
        // A token is in no log.
        assert!(!format!("{caller:?}").contains("sesame"));
        client(codec).call(&served.url, &open(1000)).await.unwrap();
        assert!(served.recorder.caller().unwrap().token.is_none());
    }
    wire::holds_at(&served.url, &["openConn", "openConnResponse"]).await;
}

#[tokio::test]
async fn a_job_goes_on_from_one_broker_to_the_next_in_another_codec() {
    let served = serve();
    let mut keys = Vec::new();
    for &codec in Codec::ALL {
        let peer = client(codec);
        let opened = peer.call(&served.url, &open(1000)).await.unwrap();
        let key = format!("chain-{}", codec.name());
        let mut sent = submission(&opened.connection, &key);
        // What the handler before took in is what is sent on.
        if let Some(last) = keys.last() {
            let before: SubmitJob = served.recorder.submitted(*last).unwrap();
            sent.job = before.job;
        }
        keys.push(peer.call(&served.url, &sent).await.unwrap().job);
    }
    let last = served.recorder.submitted(*keys.last().unwrap()).unwrap();
    assert_eq!(last.job, job());
    let length = last.job.virtual_length().unwrap().unwrap();
    assert_eq!(length.to_string(), "5400s");
    assert_eq!(last.forwarder.unwrap().job(), Some(7));
    wire::holds_at(&served.url, &["submitJob", "submitJobResponse"]).await;
}

#[tokio::test]
async fn an_answer_that_is_none_is_garbage_and_nobody_is_no_answer() {
    let answers = Router::new().fallback(async || "<html>not here</html>");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, answers).await });
    for &codec in Codec::ALL {
        let error = client(codec).call(&url, &open(1)).await.unwrap_err();
        assert!(matches!(error, PeerError::Garbage { .. }), "{error}");
        assert!(!error.is_passing());
        let error = client(codec)
            .call(crate::NOWHERE, &open(1))
            .await
            .unwrap_err();
        assert!(
            matches!(error, PeerError::Lost(ClientError::NotReached { .. })),
            "{error}"
        );
        assert!(error.is_passing());
    }
}
