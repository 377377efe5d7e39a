//! Nodes that are taken down and up by hand.

use super::*;

#[tokio::test]
async fn a_job_waits_again_while_a_node_is_taken_down_by_hand() {
    let lrms = start(1).await;
    let set = async |node: &str, body: &str| {
        let (status, _, said) = ask(&lrms, "PUT", &format!("/v1/nodes/{node}"), Some(body)).await;
        (status, said)
    };
    let down = async || ask(&lrms, "GET", "/v1/nodes", None).await.2;
    submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    wait_for(&lrms, 0, "running").await;
    assert_eq!(set("n2", r#"{"up":false}"#).await.0, 204);
    wait_for(&lrms, 0, "queued").await;
    assert_eq!(
        down().await,
        serde_json::json!({"nodes": 4, "down": ["n2"]})
    );
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(info["load"]["processors"], 3);
    // Once more is no other failure.
    assert_eq!(set("n2", r#"{"up":false}"#).await.0, 204);
    assert_eq!(set("n2", r#"{"up":true}"#).await.0, 204);
    wait_for(&lrms, 0, "running").await;
    assert_eq!(down().await["down"], serde_json::json!([]));
    let (_, _, page) = ask(&lrms, "GET", "/v1/events", None).await;
    let kinds = page["events"].as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds.filter_map(|event| event["event"].as_str()).collect();
    let expected = [
        "queued",
        "started",
        "node-failed",
        "requeued",
        "node-repaired",
        "started",
    ];
    assert_eq!(kinds, expected);
    for unknown in ["n0", "n5", "n02", "n+2", "x", "2"] {
        let (status, said) = set(unknown, r#"{"up":false}"#).await;
        assert_eq!((status, &said["code"]), (404, &"unknown-node".into()));
        let detail = said["detail"].as_str().unwrap();
        assert!(detail.contains("expected n1 to n4"), "{detail}");
    }
    for mistaken in [r#"{"up":1}"#, "{}", r#"{"up":true,"why":"x"}"#] {
        assert_eq!(set("n1", mistaken).await.0, 422, "{mistaken}");
    }
}
