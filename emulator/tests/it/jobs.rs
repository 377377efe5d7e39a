//! Submitting, watching, listing and cancelling.

use super::*;
use gridrig_service::http::{MAX_WAITING, NotifyHosts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Status and code of what is said of a submission that is not taken.
async fn refused(lrms: &Handle, job: &str) -> (u16, Value) {
    let (status, problem) = submit(lrms, job).await;
    (status, problem["code"].clone())
}

#[tokio::test]
async fn two_fields_make_a_job_and_polling_sees_it_through() {
    let lrms = start(100).await;
    let (status, receipt) = submit(&lrms, r#"{"processors":2,"run_time":"60s"}"#).await;
    assert_eq!((status, &receipt["state"]), (201, &Value::from("queued")));
    let job = wait_for(&lrms, receipt["id"].as_u64().unwrap(), "completed").await;
    let ran = job["finish_ns"].as_u64().unwrap() - job["start_ns"].as_u64().unwrap();
    assert_eq!(ran, 60_000_000_000);
    assert_eq!(job["run_time"], "60s");
}

#[tokio::test]
async fn a_running_job_says_where_it_runs() {
    let lrms = start(1).await;
    submit(&lrms, r#"{"processors":3,"run_time":"1h"}"#).await;
    let job = wait_for(&lrms, 0, "running").await;
    let runs = job["placement"].as_array().unwrap();
    let number = |run: &Value, of: &str| run[of].as_u64().unwrap();
    let runs = runs.iter();
    let sizes = runs.map(|run| number(run, "nodes") * number(run, "processors"));
    assert_eq!(sizes.sum::<u64>(), 3);
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(
        (&info["processors"], &info["load"]["busy"]),
        (&4.into(), &3.into())
    );
}

#[tokio::test]
async fn it_tells_what_it_achieves_in_benchmarks() {
    let mut config = config(1);
    let known = [("linpack".into(), Decimal::parse("1250.5").unwrap())];
    config.cluster.resources = config.cluster.resources.with_benchmarks(known.into());
    let lrms = spawn(config, door()).await.unwrap();
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(info["benchmarks"], serde_json::json!({"linpack": "1250.5"}));
}

#[tokio::test]
async fn a_job_for_another_cluster_is_refused() {
    let lrms = start(1).await;
    let (status, said) = submit(&lrms, r#"{"processors":1,"run_time":"1h","cluster":9}"#).await;
    let detail = said["detail"].as_str().unwrap_or_default();
    let expected = "field cluster = \"9\": expected this cluster, or none";
    assert!(status == 422 && detail.starts_with(expected), "{said}");
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    let own = info["cluster"].as_u64().unwrap_or(0);
    let job = format!(r#"{{"processors":1,"run_time":"1h","cluster":{own}}}"#);
    assert_eq!(submit(&lrms, &job).await.0, 201);
}

#[tokio::test]
async fn the_components_of_a_job_start_together_and_are_shown() {
    let lrms = start(1).await;
    submit(&lrms, r#"{"processors":2,"run_time":"1h"}"#).await;
    let more = r#"[{"processors":2,"requirements":{"memory_kib":7}}]"#;
    let job = |more: &str| {
        format!(r#"{{"processors":1,"run_time":"1h","key":"k","more_components":{more}}}"#)
    };
    let (status, _) = submit(&lrms, &job(more)).await;
    assert_eq!(status, 201);
    wait_for(&lrms, 0, "running").await;
    // One of its components alone would have room.
    let (_, _, shown) = ask(&lrms, "GET", "/v1/jobs/1", None).await;
    assert_eq!(shown["state"], "queued");
    assert_eq!(shown["processors"], 3);
    let second = &shown["more_components"][0];
    assert_eq!(second["processors"], 2);
    assert_eq!(second["requirements"]["memory_kib"], 7);
    // The key is of a job with these components.
    let other = job(r#"[{"processors":2}]"#);
    assert_eq!(refused(&lrms, &other).await, (422, "key-reused".into()));
    ask(&lrms, "DELETE", "/v1/jobs/0", None).await;
    wait_for(&lrms, 1, "running").await;
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(info["load"]["busy"], 3);
}

#[tokio::test]
async fn a_job_with_a_start_window_starts_when_processors_are_reserved_for_it_or_is_rejected() {
    let mut config = config(100);
    config.cluster.reserving = Some(reservations::grants());
    let lrms = spawn(config, door()).await.unwrap();
    let job = |window: &str, key: &str| {
        format!(r#"{{"processors":4,"run_time":"40s","key":"{key}","start_window":{{{window}}}}}"#)
    };
    let at_100 = r#""earliest_ns":100000000000,"latest_ns":100000000000"#;
    let (status, receipt) = submit(&lrms, &job(at_100, "a")).await;
    assert_eq!((status, &receipt["state"]), (201, &Value::from("queued")));
    let (_, _, shown) = ask(&lrms, "GET", "/v1/jobs/0", None).await;
    assert_eq!(shown["start_window"]["latest_ns"], 100_000_000_000_u64);
    // Its processors are somebody's then, and it is no job of the queue.
    let second = job(at_100, "b");
    assert_eq!(refused(&lrms, &second).await, (422, "not-reserved".into()));
    let (_, _, info) = ask(&lrms, "GET", "/v1/info", None).await;
    assert_eq!(info["load"]["queued"], 0);
    // The key is of a job with that window, and a window opens before it closes.
    let other = r#""earliest_ns":200000000000,"latest_ns":300000000000,"flexible":true"#;
    let other = job(other, "a");
    assert_eq!(refused(&lrms, &other).await, (422, "key-reused".into()));
    let closed = r#""earliest_ns":2,"latest_ns":1"#;
    let (status, problem) = submit(&lrms, &job(closed, "c")).await;
    let said = problem["detail"].as_str().unwrap_or_default();
    assert!(
        status == 422 && said.contains("start_window.latest_ns"),
        "{problem}"
    );
    let ran = wait_for(&lrms, 0, "completed").await;
    assert_eq!(ran["start_ns"], 100_000_000_000_u64);
}

#[tokio::test]
async fn a_submission_repeated_under_its_key_runs_once() {
    let lrms = start(1).await;
    let job = r#"{"processors":1,"run_time":"1h","key":"run/0/7/0"}"#;
    let first = submit(&lrms, job).await;
    let again = submit(&lrms, job).await;
    assert_eq!(first, again);
    let (_, _, list) = ask(&lrms, "GET", "/v1/jobs", None).await;
    assert_eq!(list["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(lrms.metrics().repeated(), 1);
    let other = r#"{"processors":2,"run_time":"1h","key":"run/0/7/0"}"#;
    assert_eq!(refused(&lrms, other).await, (422, "key-reused".into()));
}

#[tokio::test]
async fn a_number_that_is_taken_is_a_conflict() {
    let lrms = start(1).await;
    let job = r#"{"processors":1,"run_time":"1h","id":5}"#;
    submit(&lrms, job).await;
    assert_eq!(refused(&lrms, job).await, (409, "job-id-taken".into()));
}

#[tokio::test]
async fn a_cancelled_job_frees_its_processors() {
    let lrms = start(1).await;
    submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    wait_for(&lrms, 0, "running").await;
    let (status, _, job) = ask(&lrms, "DELETE", "/v1/jobs/0", None).await;
    assert_eq!((status, &job["state"]), (200, &Value::from("cancelled")));
    wait_for(&lrms, 1, "running").await;
    let (status, ..) = ask(&lrms, "DELETE", "/v1/jobs/0", None).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_completed_job_cannot_be_cancelled() {
    let lrms = start(1000).await;
    submit(&lrms, r#"{"processors":1,"run_time":"1s"}"#).await;
    wait_for(&lrms, 0, "completed").await;
    let (status, _, problem) = ask(&lrms, "DELETE", "/v1/jobs/0", None).await;
    assert_eq!((status, &problem["code"]), (409, &Value::from("job-ended")));
}

#[tokio::test]
async fn jobs_are_listed_page_by_page() {
    let lrms = start(1).await;
    for _ in 0..5 {
        submit(&lrms, r#"{"processors":4,"run_time":"1h"}"#).await;
    }
    wait_for(&lrms, 0, "running").await;
    let (_, _, first) = ask(&lrms, "GET", "/v1/jobs?limit=2", None).await;
    assert_eq!(
        (first["jobs"].as_array().unwrap().len(), &first["next"]),
        (2, &1.into())
    );
    let (_, _, rest) = ask(&lrms, "GET", "/v1/jobs?after=1", None).await;
    assert_eq!(rest["jobs"].as_array().unwrap().len(), 3);
    assert!(rest.get("next").is_none());
    let (_, _, queued) = ask(&lrms, "GET", "/v1/jobs?state=queued", None).await;
    assert_eq!(queued["jobs"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn ends_are_followed_with_one_request() {
    let lrms = start(100).await;
    submit(&lrms, r#"{"processors":1,"run_time":"20s"}"#).await;
    let (_, _, page) = ask(&lrms, "GET", "/v1/ends?wait_ms=30000", None).await;
    assert_eq!(page["ends"][0]["state"], "completed");
    assert_eq!(page["next"], 1);
    let (_, _, none) = ask(&lrms, "GET", "/v1/ends?after=1", None).await;
    assert_eq!(none["ends"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn requests_that_wait_for_ends_take_a_part_of_the_connections_only() {
    let lrms = start(100).await;
    let request = "GET /v1/ends?wait_ms=30000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut waiting = Vec::new();
    for _ in 0..=MAX_WAITING {
        let mut stream = TcpStream::connect(lrms.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    // One of them finds no place, whichever it is.
    let (mut status, mut refused) = ([0; 12], None);
    for _ in 0..1_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut streams = waiting.iter();
        refused = streams.position(|stream| stream.try_read(&mut status).is_ok());
        if refused.is_some() {
            break;
        }
    }
    assert_eq!(&status, b"HTTP/1.1 503");
    waiting.remove(refused.unwrap());
    let (status, _, answer) = ask(&lrms, "GET", "/v1/ends?wait_ms=1", None).await;
    assert_eq!((status, &answer["code"]), (503, &"busy".into()));
    // Who does not want to wait is answered, and so are those who do.
    let (status, _, page) = ask(&lrms, "GET", "/v1/ends", None).await;
    assert_eq!((status, &page["next"]), (200, &0.into()));
    submit(&lrms, r#"{"processors":1,"run_time":"1s"}"#).await;
    for mut stream in waiting {
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let (status, _, _) = ask(&lrms, "GET", "/v1/ends?wait_ms=30000", None).await;
    assert_eq!(status, 200);
    let (status, _, _) = ask(&lrms, "GET", "/v1/ends?after=1&wait_ms=1", None).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn the_event_log_is_paged() {
    let lrms = start(1000).await;
    submit(&lrms, r#"{"processors":1,"run_time":"1s"}"#).await;
    wait_for(&lrms, 0, "completed").await;
    let (_, _, page) = ask(&lrms, "GET", "/v1/events?limit=2", None).await;
    let events = page["events"].as_array().unwrap().iter();
    let names: Vec<&Value> = events.map(|event| &event["event"]).collect();
    assert_eq!(names, ["queued", "started"]);
    assert_eq!((&page["next"], &page["total"]), (&2.into(), &4.into()));
}

#[tokio::test]
async fn news_of_an_end_are_posted_where_the_client_wants_them() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/news", listener.local_addr().unwrap());
    let lrms = start(1000).await;
    let job = format!(r#"{{"processors":1,"run_time":"1s","tag":"mine","notify":"{url}"}}"#);
    assert_eq!(submit(&lrms, &job).await.0, 201);
    let told = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        // The head, and the document, which ends with the last brace.
        while !text.contains("\r\n\r\n{") || text.matches('{').count() > text.matches('}').count() {
            let mut piece = [0; 4096];
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "{text}");
            text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .await
            .unwrap();
        text
    };
    let told = tokio::time::timeout(Duration::from_secs(180), told)
        .await
        .unwrap();
    assert!(told.starts_with("POST /news HTTP/1.1\r\n"), "{told}");
    let (_, document) = told.split_once("\r\n\r\n").unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["kind"], "ended", "{document}");
    let job = &document["job"];
    assert_eq!(
        (&job["job"], &job["state"]),
        (&0.into(), &"completed".into())
    );
}

#[tokio::test]
async fn news_goes_beyond_this_machine_only_where_that_is_allowed() {
    let job = r#"{"processors":1,"run_time":"1h","notify":"http://192.0.2.7/news"}"#;
    let lrms = start(1).await;
    let (status, problem) = submit(&lrms, job).await;
    assert_eq!((status, &problem["code"]), (422, &Value::from("invalid")));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("field notify"), "{detail}");
    assert!(detail.contains("--notify-anywhere"), "{detail}");
    let open = Config {
        notify: NotifyHosts::Anywhere,
        ..config(1)
    };
    let open = spawn(open, door()).await.unwrap();
    assert_eq!(submit(&open, job).await.0, 201);
}
