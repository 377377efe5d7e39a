//! Advance reservations over REST that are made without a job.

use super::*;
use gridrig_core::cluster::{Overrun, Reserving};
use gridrig_core::time::{Decimal, SimDuration};
use serde_json::json;

/// 4 processors, 100 s of the run in a second.
async fn reserving() -> Handle {
    let mut config = config(100);
    config.cluster.reserving = Some(grants());
    spawn(config, door()).await.unwrap()
}

pub fn grants() -> Reserving {
    Reserving {
        overrun: Overrun::Kill,
        most_share: Decimal::ONE,
        longest: Some(SimDuration::from_secs(100_000)),
        most_ahead: None,
    }
}

/// A document with more fields, or others of their names.
pub fn merged(mut document: Value, more: Value) -> Value {
    let more = more.as_object().unwrap().clone();
    document.as_object_mut().unwrap().extend(more);
    document
}

/// 1000 s from so many seconds on.
fn wanted(processors: u32, from: u64, more: Value) -> Value {
    let at = from * 1_000_000_000;
    let wanted = json!({
        "processors": processors, "duration": "1000s",
        "start_window": {"earliest_ns": at, "latest_ns": at},
    });
    merged(wanted, more)
}

async fn put(lrms: &Handle, path: &str, wanted: &Value) -> (u16, Value) {
    let path = format!("/v1/reservations/{path}");
    let (status, _, said) = ask(lrms, "PUT", &path, Some(&wanted.to_string())).await;
    (status, said)
}

async fn call(lrms: &Handle, method: &str, path: &str) -> (u16, Value) {
    let path = format!("/v1/reservations{path}");
    let (status, _, said) = ask(lrms, method, &path, None).await;
    (status, said)
}

fn job(processors: u32, run_time: &str, reservation: Value) -> String {
    json!({"processors": processors, "run_time": run_time, "reservation": reservation}).to_string()
}

#[tokio::test]
async fn a_reservation_is_granted_modified_confirmed_used_and_over() {
    let lrms = reserving().await;
    let temporary = wanted(4, 200, json!({"confirm_within": "150s"}));
    let (status, made) = put(&lrms, "night", &temporary).await;
    assert_eq!((status, &made["state"]), (200, &json!("temporary")));
    // Not yet for jobs; nor for others, from when on is said.
    let (status, problem) = submit(&lrms, &job(1, "1s", json!({"name": "night"}))).await;
    assert_eq!((status, &problem["code"]), (422, &json!("not-reserved")));
    let (status, problem) = put(&lrms, "other", &wanted(1, 300, json!({}))).await;
    let until = json!([409, "not-before", 1_200_000_000_000_u64]);
    assert_eq!(
        json!([status, problem["code"], problem["not_before_ns"]]),
        until
    );
    // Modified, then confirmed.
    let sooner = wanted(3, 190, json!({"confirm_within": "150s"}));
    let (status, made) = put(&lrms, "night", &sooner).await;
    assert_eq!(
        (status, &made["start_ns"]),
        (200, &json!(190_000_000_000_u64))
    );
    let (status, confirmed) = call(&lrms, "POST", "/night/confirm").await;
    assert_eq!((status, &confirmed["state"]), (200, &json!("confirmed")));
    // Two jobs run in it, one behind the other, and one beside it.
    let inside = json!({"name": "night"});
    for _ in 0..2 {
        assert_eq!(submit(&lrms, &job(3, "100s", inside.clone())).await.0, 201);
    }
    let (_, _, beside) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(beside["load"]["queued"], 0);
    let (status, problem) = call(&lrms, "DELETE", "/night").await;
    assert_eq!((status, &problem["code"]), (409, &json!("in-use")));
    let (_, shown) = call(&lrms, "GET", "/night").await;
    assert_eq!(shown["waiting"], json!([1, 2]));
    let first = wait_for(&lrms, 1, "completed").await;
    let second = wait_for(&lrms, 2, "completed").await;
    assert_eq!(first["start_ns"], 190_000_000_000_u64);
    assert_eq!(second["start_ns"], first["finish_ns"]);
    let (_, all) = call(&lrms, "GET", "").await;
    assert_eq!(all["reservations"][0]["state"], "begun");
    assert_eq!(
        call(&lrms, "GET", "?after=night").await.1["reservations"],
        json!([])
    );
    assert_eq!(call(&lrms, "DELETE", "/night").await.0, 204);
    assert_eq!(call(&lrms, "GET", "/night").await.0, 404);
}

#[tokio::test]
async fn a_reservation_is_for_its_users_and_bad_ones_are_refused_by_field() {
    let lrms = reserving().await;
    let own = wanted(2, 50_000, json!({"users": ["ada"]}));
    assert_eq!(put(&lrms, "hers?user=ada", &own).await.0, 200);
    for path in ["/hers", "/hers?user=eve"] {
        let (status, problem) = call(&lrms, "DELETE", path).await;
        assert_eq!((status, &problem["code"]), (403, &json!("not-yours")));
        let claim = json!({"name": "hers", "user": "eve"});
        assert_eq!(submit(&lrms, &job(1, "1s", claim)).await.0, 422);
    }
    let claim = json!({"name": "hers", "user": "ada"});
    assert_eq!(submit(&lrms, &job(1, "1s", claim)).await.0, 201);
    for (more, field) in [
        (json!({"processors": 0}), "processors"),
        (json!({"duration": "0s"}), "duration"),
        (json!({"duration": "long"}), "duration"),
        (json!({"users": [""]}), "users"),
        (json!({"confirm_within": "soon"}), "confirm_within"),
    ] {
        let (status, problem) = put(&lrms, "bad", &wanted(1, 9, more)).await;
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(status == 422 && detail.contains(field), "{problem}");
    }
    let (status, problem) = put(&lrms, "wide", &wanted(5, 9, json!({}))).await;
    assert_eq!((status, &problem["code"]), (422, &json!("never-fits")));
    let (status, problem) = put(&lrms, "long", &wanted(1, 9, json!({"duration": "2d"}))).await;
    assert_eq!((status, &problem["code"]), (422, &json!("not-reserved")));
    assert_eq!(call(&lrms, "GET", "?before=a").await.0, 422);
}

#[tokio::test]
async fn what_is_never_reserved_is_named_by_field_value_and_bound() {
    let lrms = reserving().await;
    let long = json!({"duration": "2d"});
    let last = u64::MAX - 1;
    let endless = json!({"start_window": {"earliest_ns": last, "latest_ns": last}});
    for (wanted, code, said) in [
        (
            wanted(5, 60_000, json!({})),
            "never-fits",
            "field processors = \"5\": expected at most 4, ",
        ),
        (
            wanted(1, 60_000, long),
            "not-reserved",
            "field duration = \"172800s\": expected at most 100000s, ",
        ),
        (
            wanted(1, 0, json!({})),
            "not-reserved",
            "field start_window.latest_ns = \"0\": expected not before the present, ",
        ),
        (
            wanted(1, 0, endless),
            "not-reserved",
            "field start_window.latest_ns = \"18446744073709551614\": expected at most \
             18446743073709551613, ",
        ),
    ] {
        let (status, problem) = put(&lrms, "bad", &wanted).await;
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert_eq!((status, &problem["code"]), (422, &json!(code)));
        assert!(detail.starts_with(said), "{detail}");
    }
    let own = wanted(2, 60_000, json!({"users": ["ada"]}));
    assert_eq!(put(&lrms, "hers?user=ada", &own).await.0, 200);
    let claim = json!({"name": "hers", "user": "eve"});
    let (status, problem) = submit(&lrms, &job(1, "1s", claim)).await;
    assert_eq!((status, &problem["code"]), (422, &json!("not-reserved")));
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("for others"), "{detail}");
    let none = start(1).await;
    let (status, problem) = put(&none, "any", &wanted(1, 60_000, json!({}))).await;
    assert_eq!((status, &problem["code"]), (422, &json!("not-reserved")));
    assert_eq!(problem["detail"], "this cluster makes no reservations");
}
