//! Peers that answer late, garbage or without end: the session is lost and
//! found again as it was, and nothing grows.

use super::sessions::{b, broker, job, open_with, proposal};
use super::*;
use crate::fake::{Fake, Manner};
use gridrig_protocol::client::{Client, MAX_ANSWER};
use gridrig_protocol::lagrid::{Codec, JobState, Proposal};

/// Life of the peer, as the test opens sessions.
const LIFE: u64 = 7;

async fn state_of(broker: &Handle) -> String {
    let (_, peers) = ask(broker, "GET", "/v1/peers", None).await;
    let state = &peers["peers"][0]["session"]["state"];
    state.as_str().unwrap_or_default().to_owned()
}

async fn wait_until(broker: &Handle, state: &str) {
    for _ in 0..3600 {
        if state_of(broker).await == state {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no session that is {state} within three minutes");
}

#[tokio::test]
async fn a_peer_that_answers_late_garbage_or_endlessly_is_lost_and_found_as_it_was() {
    // Over SOAP and over JSON.
    tokio::join!(lost_and_found(Codec::Soap12), lost_and_found(Codec::Json));
}

#[tokio::test]
async fn an_answer_without_end_is_listened_to_up_to_a_bound() {
    let fake = Fake::start(LIFE).await;
    fake.answer(Manner::Endless);
    let client = Client::new(Duration::from_secs(300)).unwrap();
    let error = client.broker(fake.url()).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    let expected = format!("its answer has more than {MAX_ANSWER} bytes");
    assert_eq!(why, expected);
}

async fn lost_and_found(codec: Codec) {
    let fake = Fake::start(LIFE).await;
    let broker = broker(|link| {
        link.codec = codec;
        link.url = fake.url().to_owned();
        link.stance.heartbeat = SimDuration::from_millis(100);
    })
    .await;
    let (peer, url) = (b(None), broker.url());
    // With the five seconds that peers propose otherwise each loss takes fifteen.
    let often = Proposal {
        heartbeat_ms: 100,
        ..proposal()
    };
    let connection = open_with(&peer, &broker, often).await.connection;
    wait_until(&broker, "open").await;
    for (round, manner) in [Manner::Garbage, Manner::Endless, Manner::Silent]
        .into_iter()
        .enumerate()
    {
        fake.answer(manner);
        wait_until(&broker, "lost").await;
        // The peer itself may still speak: it is this side that hears nothing.
        let id = 10 + u32::try_from(round).unwrap();
        let taken = peer.call(&url, &job(&connection, id)).await.unwrap();
        assert_eq!(taken.state, JobState::Queued, "{manner:?}");
        fake.answer(Manner::Good);
        wait_until(&broker, "open").await;
        let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
        let session = &peers["peers"][0]["session"];
        assert_eq!(session["connection"], connection.as_str(), "{manner:?}");
        assert_eq!(session["role"], "both", "{manner:?}");
        let again = peer.call(&url, &job(&connection, id)).await.unwrap();
        assert!(again.repeated, "{manner:?}");
    }
    // An answer without end was listened to for 8 MiB, and what the sockets
    // hold on the way.
    let (most, least) = (64 << 20, 8 << 20);
    assert!(
        (least..most).contains(&fake.longest()),
        "{}",
        fake.longest()
    );
    wire::holds(&broker, &["openConn", "submitJob", "submitJobResponse"]).await;
}
