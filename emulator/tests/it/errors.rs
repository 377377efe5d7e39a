//! Whatever goes wrong is a problem document with a code.

use super::*;
use gridrig_service::MOST_WAITING;

async fn check(
    lrms: &Handle,
    method: &str,
    path: &str,
    body: Option<&str>,
    wanted: (u16, &str),
) -> Value {
    let (status, media, problem) = ask(lrms, method, path, body).await;
    assert_eq!(
        media, "application/problem+json",
        "{method} {path}: {problem}"
    );
    assert_eq!(
        (status, problem["code"].as_str().unwrap()),
        wanted,
        "{problem}"
    );
    assert_eq!(problem["status"], status);
    problem
}

#[tokio::test]
async fn every_wrong_request_is_answered_with_a_problem_document() {
    let lrms = start(1).await;
    let long = format!(r#"{{"processors":1,"run_time":"{}"}}"#, "1".repeat(2 << 20));
    for (method, path, body, status, code) in [
        ("POST", "/v1/jobs", Some("{"), 400, "malformed"),
        ("POST", "/v1/jobs", Some(&long), 413, "too-large"),
        ("POST", "/v1/jobs", None, 415, "unsupported-media-type"),
        ("GET", "/v1/jobs/7", None, 404, "unknown-job"),
        ("GET", "/v1/jobs/x", None, 404, "unknown-job"),
        ("DELETE", "/v1/jobs/7", None, 404, "unknown-job"),
        ("GET", "/v1/jobs?limit=0", None, 422, "invalid"),
        ("GET", "/v1/jobs?colour=red", None, 422, "invalid"),
        ("GET", "/v1/ends?wait_ms=30001", None, 422, "invalid"),
        ("GET", "/v1/events?limit=10001", None, 422, "invalid"),
        ("GET", "/v2/jobs", None, 404, "no-such-route"),
        ("PUT", "/v1/jobs", None, 405, "method-not-allowed"),
    ] {
        check(&lrms, method, path, body, (status, code)).await;
    }
    for (body, code) in [
        ("{}", "invalid"),
        (r#"{"processors":1,"run_time":"1"}"#, "invalid"),
        (r#"{"processors":0,"run_time":"1s"}"#, "invalid"),
        (r#"{"processors":-1,"run_time":"1s"}"#, "invalid"),
        (r#"{"processors":1,"run_time":"1s","x":1}"#, "invalid"),
        (r#"{"processors":5,"run_time":"1s"}"#, "never-fits"),
    ] {
        check(&lrms, "POST", "/v1/jobs", Some(body), (422, code)).await;
    }
}

#[tokio::test]
async fn a_problem_names_field_value_and_what_was_expected() {
    let lrms = start(1).await;
    let body = Some(r#"{"processors":1,"run_time":"soon"}"#);
    let problem = check(&lrms, "POST", "/v1/jobs", body, (422, "invalid")).await;
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("field run_time = \"soon\": expected"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_full_queue_asks_the_client_to_come_back() {
    let mut config = config(1);
    config.cluster.queue_limit = Some(1);
    let lrms = spawn(config, door()).await.unwrap();
    let job = r#"{"processors":4,"run_time":"1h"}"#;
    submit(&lrms, job).await;
    wait_for(&lrms, 0, "running").await;
    assert_eq!(submit(&lrms, job).await.0, 201);
    check(&lrms, "POST", "/v1/jobs", Some(job), (503, "queue-full")).await;
}

#[tokio::test]
async fn a_queue_without_a_bound_of_its_own_has_that_of_services() {
    let mut config = config(1);
    let bound = |config: &Config| config.setup(0).cluster.queue_limit;
    assert_eq!(bound(&config), Some(MOST_WAITING));
    config.cluster.queue_limit = Some(1);
    assert_eq!(bound(&config), Some(1));
}

#[tokio::test]
async fn requests_and_load_are_measured_without_job_numbers() {
    let lrms = start(1).await;
    submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    wait_for(&lrms, 0, "running").await;
    let (_, media, text) = ask(&lrms, "GET", "/metrics", None).await;
    let text = text.as_str().unwrap();
    assert!(media.starts_with("application/openmetrics-text"), "{media}");
    for line in [
        r#"gridrig_jobs{cluster="test",service="emulator",state="queued"} 1.0"#,
        r#"gridrig_jobs{cluster="test",service="emulator",state="running"} 1.0"#,
        r#"gridrig_queued_processors{cluster="test",service="emulator"} 4.0"#,
        r#"gridrig_busy_processors{cluster="test",service="emulator"} 4.0"#,
        r#"gridrig_available_processors{cluster="test",service="emulator"} 4.0"#,
        r#"gridrig_messages_received_total{cluster="test",service="emulator",kind="submit"} 2"#,
        r#"gridrig_job_events_total{cluster="test",service="emulator",event="started"} 1"#,
        r#"method="GET",route="/v1/jobs/{id}",status="2xx""#,
        r#"gridrig_clock_speed_ratio{cluster="test",service="emulator"} 1.0"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("/v1/jobs/0"), "{text}");
}

#[tokio::test]
async fn off_the_loopback_a_service_goes_by_addresses_and_the_names_that_it_is_given() {
    let config = Config {
        hosts: vec!["lab.example".to_owned()],
        ..config(1)
    };
    let lrms = spawn(config, TcpListener::bind("0.0.0.0:0").unwrap()).await;
    let lrms = lrms.unwrap();
    let url = format!("http://127.0.0.1:{}/v1/info", lrms.address().port());
    for (host, status) in [
        ("192.0.2.7:81", 200),
        ("localhost", 200),
        ("lab.example:81", 200),
        ("evil.example", 403),
    ] {
        let request = reqwest::Client::new().get(&url).header("host", host);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{host}");
        if status == 403 {
            let problem: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            let detail = problem["detail"].as_str().unwrap();
            assert_eq!(problem["code"], "wrong-host");
            assert!(detail.contains("--allow-host"), "{detail}");
        }
    }
}
