//! Starting, ending, dying.

use super::*;
use gridrig_protocol::client::{Client, ClientError};
use gridrig_service::http::AnswerFault;
use tokio::sync::oneshot;

fn client() -> Client {
    Client::new(Duration::from_secs(30)).unwrap()
}

/// One that soon takes silence for an answer.
fn hasty() -> Client {
    Client::new(Duration::from_millis(500)).unwrap()
}

#[tokio::test]
async fn a_service_that_is_stopped_lets_go_of_its_address() {
    let lrms = start(1).await;
    client().healthy(&lrms.url()).await.unwrap();
    lrms.stop().await.unwrap();
    let gone = client().healthy(&lrms.url()).await;
    assert!(
        matches!(gone, Err(ClientError::NotReached { .. })),
        "{gone:?}"
    );
}

#[tokio::test]
async fn a_killed_service_is_gone_and_its_events_are_not() {
    let lrms = start(1).await;
    submit(&lrms, r#"{"processors":1,"run_time":"1h"}"#).await;
    wait_for(&lrms, 0, "running").await;
    lrms.kill();
    lrms.stop().await.unwrap();
    assert!(
        client()
            .healthy(&lrms.url())
            .await
            .unwrap_err()
            .is_silence()
    );
    assert_eq!(lrms.recorder().len(), 2);
}

#[tokio::test]
async fn a_silent_service_takes_connections_and_answers_nothing() {
    let lrms = start(1).await;
    lrms.fault(AnswerFault::Silent);
    let silence = hasty().healthy(&lrms.url()).await;
    assert!(
        matches!(silence, Err(ClientError::NoAnswer { .. })),
        "{silence:?}"
    );
    lrms.fault(AnswerFault::None);
    client().healthy(&lrms.url()).await.unwrap();
}

#[tokio::test]
async fn a_service_may_run_on_the_callers_runtime_until_told_to_end() {
    let listener = door();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (end, ended) = oneshot::channel::<()>();
    let shutdown = async move { drop(ended.await) };
    let service = tokio::spawn(gridrig_emulator::run(config(1), listener, shutdown));
    client().healthy(&url).await.unwrap();
    end.send(()).unwrap();
    let bounded = tokio::time::timeout(Duration::from_secs(600), service).await;
    bounded.expect("the service ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_request_that_waits_for_news_does_not_hold_up_the_end_for_long() {
    let lrms = start(1).await;
    // Nothing but the end of the service ends it, however fast the machine is.
    lrms.fault(AnswerFault::Silent);
    let url = lrms.url();
    let patient = Client::new(Duration::from_secs(3_600)).unwrap();
    let waiting = tokio::spawn(async move { patient.ends(&url, 0, Duration::from_secs(29)).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let bounded = tokio::time::timeout(Duration::from_secs(600), lrms.stop()).await;
    bounded.expect("the service ends").unwrap();
    let cut_off = waiting.await.unwrap();
    assert!(cut_off.is_err_and(|error| error.is_silence()));
}
