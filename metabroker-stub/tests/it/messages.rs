//! Information and notifications.

use super::*;

fn sample(cluster: u16, at_ns: u64) -> Value {
    let mean = json!({"sum": "0", "weight_ns": 1});
    json!({
        "cluster": cluster, "at_ns": at_ns, "processors": 4, "busy": 3, "queued": 2,
        "queued_processors": 5, "work_left": "0",
        "queued_mean_30s": mean, "queued_mean_300s": mean,
        "busy_mean_30s": mean, "busy_mean_300s": mean,
    })
}

pub fn info(kind: &str, id: u16, cluster: u16) -> Value {
    json!({"from": {"kind": kind, "id": id}, "samples": [sample(cluster, 1)]})
}

#[tokio::test]
async fn samples_are_taken_from_those_who_may_give_them() {
    let broker = start_idle().await;
    for (kind, id, cluster, status) in [
        ("lrms", 0, 0, 204),
        ("broker", 1, 1, 204),
        ("lrms", 0, 1, 422),
        ("lrms", 1, 1, 422),
        ("broker", 1, 0, 422),
        ("broker", 7, 1, 422),
        ("client", 0, 0, 422),
    ] {
        let (found, answer) = ask(&broker, "POST", "/v1/info", Some(info(kind, id, cluster))).await;
        assert_eq!(found, status, "{kind} {id} {cluster}: {answer}");
    }
    let (_, text) = ask(&broker, "GET", "/metrics", None).await;
    let counted = r#",service="broker",kind="info"} 2"#;
    assert!(text.as_str().unwrap().contains(counted), "{text}");
}

#[tokio::test]
async fn a_sample_from_the_future_is_refused() {
    let broker = start_idle().await;
    let report = json!({
        "from": {"kind": "lrms"}, "samples": [sample(0, u64::MAX / 2)],
    });
    let (status, problem) = ask(&broker, "POST", "/v1/info", Some(report)).await;
    assert_eq!(
        (status, &problem["code"]),
        (422, &"unexpected-samples".into())
    );
}

#[tokio::test]
async fn a_message_delivered_twice_counts_once() {
    let broker = start_idle().await;
    let mut report = info("lrms", 0, 0);
    report["letter"] = json!({"incarnation": 1, "number": 0});
    for repeated in 0..2 {
        let (status, _) = ask(&broker, "POST", "/v1/info", Some(report.clone())).await;
        assert_eq!((status, broker.metrics().repeated()), (204, repeated));
    }
}

#[tokio::test]
async fn news_of_an_end_count_only_from_where_the_job_is() {
    let lrms = stub_lrms().await;
    let broker = start(SOON, &lrms, NOWHERE).await;
    let job = json!({"id": 0, "processors": 2, "run_time": "60s"});
    ask(&broker, "POST", "/v1/jobs", Some(job)).await;
    wait_for(&broker, 0, "sent").await;
    let end = json!({
        "job": 0, "state": "completed", "cluster": 0,
        "start_ns": 1_000_000_000_u64, "finish_ns": 2_000_000_000_u64,
    });
    let notice = |kind: &str, id: u16| json!({"kind": "ended", "from": {"kind": kind, "id": id}, "job": end});
    let (status, _) = ask(
        &broker,
        "POST",
        "/v1/notifications",
        Some(notice("broker", 1)),
    )
    .await;
    assert_eq!(status, 204);
    wait_for(&broker, 0, "sent").await;
    ask(
        &broker,
        "POST",
        "/v1/notifications",
        Some(notice("lrms", 0)),
    )
    .await;
    let job = wait_for(&broker, 0, "completed").await;
    assert_eq!(job["finish_ns"], 2_000_000_000_u64);
}

#[tokio::test]
async fn a_refused_job_is_tried_elsewhere() {
    let (lrms, peer) = (stub_lrms().await, stub_lrms().await);
    let broker = start(SOON, &lrms, &peer).await;
    let job = json!({"id": 0, "processors": 2, "run_time": "60s"});
    ask(&broker, "POST", "/v1/jobs", Some(job)).await;
    wait_for(&broker, 0, "sent").await;
    let notice = json!({
        "kind": "refused", "from": {"kind": "lrms"},
        "job": {"job": 0, "state": "rejected", "reason": "queue-full"},
    });
    ask(&broker, "POST", "/v1/notifications", Some(notice)).await;
    for _ in 0..3_600 {
        let sent = wait_for(&broker, 0, "sent").await;
        if sent["sent_to"]["kind"] == "broker" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the job was not forwarded within minutes");
}

#[tokio::test]
async fn the_peers_are_known_by_name_and_role() {
    let broker = start_idle().await;
    let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
    let wanted = json!({"peers": [{
        "domain": 1, "name": "b", "url": NOWHERE, "latency": "50ms",
        "provider": true, "consumer": true,
    }]});
    assert_eq!(peers, wanted);
}

#[tokio::test]
async fn what_a_page_elsewhere_has_a_browser_send_is_refused() {
    let broker = start_idle().await;
    for (header, value, code) in [
        ("origin", "http://evil.example", "wrong-origin"),
        ("host", "evil.example", "wrong-host"),
    ] {
        let request = reqwest::Client::new().get(format!("{}/v1/info", broker.url()));
        let answer = request.header(header, value).send().await.unwrap();
        assert_eq!(answer.status(), 403);
        let text = answer.text().await.unwrap();
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["code"], code);
        let named = format!("= \"{value}\": expected");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(&named), "{detail}");
    }
    let metrics = reqwest::get(format!("{}/metrics", broker.url())).await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let mut lines = metrics.lines();
    let counted = "gridrig_http_request_duration_seconds_count";
    let refused = lines.find(|line| line.starts_with(counted) && line.contains("none"));
    let refused = refused.unwrap_or_default();
    assert!(
        refused.contains("\"4xx\"") && refused.ends_with(" 2"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_a_peer_cannot_say_about_processors_is_refused_with_its_field() {
    let broker = start_idle().await;
    let job = json!({"processors": 1, "run_time": "1s", "id": 7, "from": 1, "hop": 1});
    let with = |name: &str, value: u64| {
        let mut job = job.clone();
        job[name] = value.into();
        json!({"kind": "request", "job": job})
    };
    let delegate = |cluster: u64| json!({"kind": "delegate", "id": 7, "cluster": cluster, "asked_ns": 60_000_000_000_u64});
    let mut timeless = delegate(0);
    timeless.as_object_mut().unwrap().remove("asked_ns");
    for (from, mut body, expected) in [
        (1, json!({"kind": "release"}), "field id"),
        (1, json!({"kind": "request"}), "field job"),
        (1, with("from", 0), "field job.hop"),
        (1, with("hop", 0), "field job.hop"),
        (1, delegate(65_535), "field cluster = \"65535\""),
        (1, timeless, "field asked_ns"),
        (9, delegate(0), "field from"),
    ] {
        body["from"] = json!({"kind": "broker", "id": from});
        let (status, said) = ask(&broker, "POST", "/v1/deals", Some(body)).await;
        let detail = said["detail"].as_str().unwrap_or_default();
        assert!(
            status == 422 && detail.contains(expected),
            "{expected}: {said}"
        );
    }
    // However far it says to have come.
    let mut far = with("hop", u32::MAX.into());
    far["from"] = json!({"kind": "broker", "id": 1});
    far["asked_ns"] = 60_000_000_000_u64.into();
    let (status, _) = ask(&broker, "POST", "/v1/deals", Some(far)).await;
    assert_eq!(status, 204);
    broker.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_held_for_parts_is_told_by_own_lrmss_only() {
    let broker = start_idle().await;
    for (kind, id, speed, status) in [
        ("lrms", 0, json!("1.5"), 204),
        ("lrms", 0, json!(null), 204),
        ("lrms", 0, json!("fast"), 422),
        ("lrms", 1, json!("1"), 422),
        ("broker", 1, json!("1"), 422),
        ("client", 0, json!("1"), 422),
    ] {
        let notice = json!({
            "from": {"kind": kind, "id": id}, "id": 7, "asked_ns": 1, "speed": speed,
        });
        let (found, said) = ask(&broker, "POST", "/v1/claims", Some(notice)).await;
        assert_eq!(found, status, "{kind} {id}: {said}");
    }
}
