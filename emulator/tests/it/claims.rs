//! Processors for parts of jobs that several clusters run together.

use super::reservations::merged;
use super::*;
use gridrig_core::ids::DomainId;
use gridrig_core::time::SimDuration;
use gridrig_emulator::Broker;
use serde_json::json;

/// One of the broker of domain 0, which nobody can reach.
async fn with_broker() -> Handle {
    with_broker_of(config(1)).await
}

async fn with_broker_of(mut config: Config) -> Handle {
    config.broker = Some(Broker {
        domain: DomainId(0),
        url: "http://127.0.0.1:9".to_owned(),
        latency: SimDuration::ZERO,
        exchange: SimDuration::ZERO,
    });
    spawn(config, door()).await.unwrap()
}

fn order(kind: &str, number: u64, more: Value) -> Value {
    let order = json!({
        "kind": kind, "from": {"kind": "broker"}, "id": 7, "asked_ns": 1,
        "message": {"incarnation": 1, "number": number},
    });
    merged(order, more)
}

fn hold(number: u64, processors: u32) -> Value {
    let job = json!({"processors": 9, "run_time": "5s", "id": 7, "from": 0});
    let more = json!({
        "job": job, "processors": processors, "needed_for": "5s", "timeout": "1h",
    });
    order("hold", number, more)
}

fn begin(number: u64, at_ns: u64) -> Value {
    let more = json!({"at_ns": at_ns, "lasts": "1h", "leads": true});
    order("begin", number, more)
}

async fn says(lrms: &Handle, order: &Value) -> (u16, Value) {
    let (status, _, said) = ask(lrms, "POST", "/v1/claims", Some(&order.to_string())).await;
    (status, said)
}

async fn busy(lrms: &Handle) -> Value {
    ask(lrms, "GET", "/v1/info", None).await.2["load"]["busy"].clone()
}

#[tokio::test]
async fn a_part_is_held_begins_and_is_released_each_once() {
    let lrms = with_broker().await;
    let far = 3_600_000_000_000_000;
    assert_eq!(says(&lrms, &begin(0, far)).await.0, 409, "nothing is held");
    // As often as it is said.
    for _ in 0..2 {
        assert_eq!(says(&lrms, &hold(1, 3)).await.0, 204);
    }
    assert_eq!(busy(&lrms).await, 3);
    // It is known here as soon as this cluster is to tell of it.
    assert_eq!(ask(&lrms, "GET", "/v1/jobs/7", None).await.0, 404);
    for _ in 0..2 {
        assert_eq!(says(&lrms, &begin(2, far)).await.0, 204);
    }
    assert_eq!(wait_for(&lrms, 7, "queued").await["processors"], 9);
    // What is let go of is an earlier request.
    let other = order("release", 3, json!({"asked_ns": 0}));
    assert_eq!(says(&lrms, &other).await.0, 204);
    assert_eq!(busy(&lrms).await, 3);
    assert_eq!(says(&lrms, &order("release", 4, json!({}))).await.0, 204);
    assert_eq!(busy(&lrms).await, 0);
    let (status, said) = says(&lrms, &begin(2, far)).await;
    assert_eq!((status, &said["code"]), (409, &"not-held".into()));
}

#[tokio::test]
async fn a_part_is_reserved_begins_within_that_and_is_released() {
    let mut config = config(1);
    config.cluster.reserving = Some(reservations::grants());
    let lrms = with_broker_of(config).await;
    let opens = 3_600_000_000_000_000_u64;
    let reserve = |number: u64, asked: u64| {
        let more = json!({
            "kind": "reserve", "needed_for": "1h", "asked_ns": asked,
            "earliest_ns": opens, "latest_ns": 2 * opens,
        });
        merged(hold(number, 3), more)
    };
    let begins = |number, at: u64| {
        let asked = json!({"asked_ns": number});
        merged(begin(number, at), asked)
    };
    assert_eq!(says(&lrms, &reserve(1, 1)).await.0, 204);
    assert_eq!(
        says(&lrms, &begins(2, opens - 1)).await.0,
        409,
        "before it is reserved"
    );
    assert_eq!(says(&lrms, &reserve(3, 3)).await.0, 204);
    assert_eq!(says(&lrms, &begins(4, opens)).await.0, 204);
    assert_eq!(wait_for(&lrms, 7, "queued").await["processors"], 9);
    assert_eq!(busy(&lrms).await, 0);
    let mut release = order("release", 5, json!({}));
    release["asked_ns"] = json!(4);
    assert_eq!(says(&lrms, &release).await.0, 204);
    assert_eq!(
        says(&lrms, &begins(6, opens)).await.0,
        409,
        "nothing is reserved"
    );
    let mut order = reserve(7, 7);
    order["latest_ns"] = Value::Null;
    let (status, said) = says(&lrms, &order).await;
    assert!(
        status == 422 && said.to_string().contains("latest_ns"),
        "{said}"
    );
}

#[tokio::test]
async fn a_start_that_comes_too_late_lets_go() {
    let lrms = with_broker().await;
    says(&lrms, &hold(1, 3)).await;
    assert_eq!(busy(&lrms).await, 3);
    assert_eq!(says(&lrms, &begin(2, 1)).await.0, 409);
    assert_eq!(busy(&lrms).await, 0);
}

/// The LRMS is a million times as fast as the wall clock: an hour of its is over in no time.
#[tokio::test]
async fn what_is_asked_for_by_another_clock_is_refused_with_both_instants() {
    let ahead = with_broker_of(config(1_000_000)).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut later = hold(1, 3);
    later["asked_ns"] = json!(3_700_000_000_000_u64);
    for (lrms, order, asked) in [
        (ahead, hold(1, 3), "asked_ns = \"1\""),
        (with_broker().await, later, "asked_ns = \"3700000000000\""),
    ] {
        let (status, said) = says(&lrms, &order).await;
        let detail = said["detail"].as_str().unwrap();
        let told = detail.contains(asked) && detail.contains("at most 3600s from ");
        assert!(told && detail.ends_with("the clocks differ"), "{detail}");
        assert_eq!((status, &said["code"]), (422, &"wrong-time".into()));
        assert_eq!(busy(&lrms).await, 0);
    }
}

#[tokio::test]
async fn who_is_not_the_broker_here_holds_nothing() {
    let mut other = hold(1, 3);
    other["from"]["id"] = json!(1);
    for (lrms, order) in [
        (start(1).await, hold(1, 3)),
        (with_broker().await, other),
        (with_broker().await, order("hold", 1, json!({}))),
    ] {
        assert_eq!(says(&lrms, &order).await.0, 422, "{order}");
        assert_eq!(busy(&lrms).await, 0);
    }
}
