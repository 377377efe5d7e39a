//! Jobs from clients and from peers.

use super::*;
use gridrig_core::time::SimTime;
use gridrig_service::{MOST_WAITING, Service as _};

fn job(id: u32, processors: u32) -> Value {
    json!({"id": id, "processors": processors, "run_time": "60s"})
}

#[tokio::test]
async fn a_job_waits_for_the_cycle_and_can_be_cancelled_till_then() {
    let broker = start_idle().await;
    let (status, receipt) = ask(&broker, "POST", "/v1/jobs", Some(job(3, 2))).await;
    assert_eq!((status, &receipt["state"]), (201, &"queued".into()));
    assert_eq!(wait_for(&broker, 3, "queued").await["processors"], 2);
    let (status, job) = ask(&broker, "DELETE", "/v1/jobs/3", None).await;
    assert_eq!((status, &job["state"]), (200, &"cancelled".into()));
    let (_, ends) = ask(&broker, "GET", "/v1/ends", None).await;
    assert_eq!(ends["ends"][0]["state"], "cancelled");
}

#[tokio::test]
async fn a_full_queue_asks_the_client_to_come_back() {
    let mut config = config(SimDuration::from_secs(36_000), NOWHERE, NOWHERE);
    let machine = config.machine(0, SimTime::ZERO);
    let bound = machine.broker().config().queue_limit;
    assert_eq!(bound, Some(MOST_WAITING));
    config.setup.config.queue_limit = Some(1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let broker = spawn(config, listener).await.unwrap();
    let (status, _) = ask(&broker, "POST", "/v1/jobs", Some(job(0, 1))).await;
    assert_eq!(status, 201);
    let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(job(1, 1))).await;
    assert_eq!((status, &said["code"]), (503, &"queue-full".into()));
}

#[tokio::test]
async fn a_job_that_names_a_cluster_is_for_a_policy_that_places_components() {
    let broker = start_idle().await;
    let mut named = job(3, 2);
    named["more_components"] = json!([{"processors": 1, "cluster": 0}]);
    let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(named)).await;
    let detail = said["detail"].as_str().unwrap_or_default();
    let expected = "field cluster = \"0\": expected a cluster of this broker, whose policy has";
    assert!(status == 422 && detail.starts_with(expected), "{said}");
    // How it may be divided is no matter where it is not.
    let mut free = job(4, 2);
    free["division"] = json!({"splits": [[1, 1]]});
    let (status, _) = ask(&broker, "POST", "/v1/jobs", Some(free)).await;
    assert_eq!(status, 201);
}

#[tokio::test]
async fn a_policy_that_claims_refuses_what_it_cannot_keep_to_by_its_field() {
    let under = async |policy: &str| {
        let interval = SimDuration::from_secs(36_000);
        let mut grid = grid(interval);
        grid.domains[0].broker.policy = policy.parse().unwrap();
        let config = Config {
            setup: BrokerSetup::of(&grid, DomainId(0), 1).unwrap(),
            ..config(interval, NOWHERE, NOWHERE)
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        spawn(config, listener).await.unwrap()
    };
    let mut windowed = job(3, 2);
    windowed["start_window"] = json!({"earliest_ns": 60_000, "latest_ns": 90_000});
    let with = |more: usize| {
        let mut wide = job(4, 1);
        wide["more_components"] = vec![json!({"processors": 1}); more].into();
        wide
    };
    for policy in ["worst-fit", "cluster-minimization"] {
        let broker = under(policy).await;
        let refused = async |job: &Value, expected: &str| {
            let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(job.clone())).await;
            assert_eq!(
                (status, &said["detail"]),
                (422, &expected.into()),
                "{policy}"
            );
        };
        let window = "field start_window = \"60000 to 90000\": expected no window under a \
                      policy that claims processors: one that places no components asks for \
                      windows, and so does co-reservation";
        refused(&windowed, window).await;
        let many = format!(
            "field more_components = \"63 components\": expected at most 62 under {policy}, which \
             places components"
        );
        refused(&with(63), &many).await;
        let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(with(62))).await;
        assert_eq!(status, 201, "{said}");
    }
    for (policy, more) in [("co-reservation", 62), ("round-robin", 63)] {
        let broker = under(policy).await;
        for job in [&windowed, &with(more)] {
            let (status, said) = ask(&broker, "POST", "/v1/jobs", Some(job.clone())).await;
            assert_eq!(status, 201, "{policy}: {said}");
        }
    }
}

#[tokio::test]
async fn a_job_that_was_dispatched_is_cancelled_where_it_is() {
    let lrms = stub_lrms().await;
    let broker = start(SOON, &lrms, NOWHERE).await;
    // Only round-robin's second choice is a peer that is not there.
    ask(&broker, "POST", "/v1/jobs", Some(job(0, 2))).await;
    let sent = wait_for(&broker, 0, "sent").await;
    assert_eq!(sent["sent_to"]["kind"], "lrms");
    let (status, _) = ask(&broker, "DELETE", "/v1/jobs/0", None).await;
    assert_eq!(status, 202);
}

#[tokio::test]
async fn a_job_that_nobody_takes_is_rejected_for_good() {
    let broker = start(SOON, NOWHERE, NOWHERE).await;
    ask(&broker, "POST", "/v1/jobs", Some(job(0, 2))).await;
    let rejected = wait_for(&broker, 0, "rejected").await;
    assert_eq!(rejected["reason"], "all-refused");
    ask(&broker, "POST", "/v1/jobs", Some(job(1, 9))).await;
    let rejected = wait_for(&broker, 1, "rejected").await;
    assert_eq!(rejected["reason"], "no-candidate");
}

#[tokio::test]
async fn touch_is_lost_with_the_jobs_of_a_service_that_has_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let lrms = format!("http://{}", listener.local_addr().unwrap());
    let accepted = std::thread::spawn(move || {
        use std::io::{Read, Write};
        // Which life it is in it does not tell.
        let mut words = [0; 65_536];
        let mut stream = loop {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut words);
            if words.starts_with(b"POST") {
                break stream;
            }
        };
        let body = r#"{"id":0,"state":"queued","at_ns":0}"#;
        let head = "HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\nconnection: close";
        let _ = write!(
            stream,
            "{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
    });
    let broker = start(SOON, &lrms, NOWHERE).await;
    ask(&broker, "POST", "/v1/jobs", Some(job(0, 2))).await;
    accepted.join().unwrap();
    let failed = wait_for(&broker, 0, "failed").await;
    assert_eq!(failed["reason"], "lost");
}

#[tokio::test]
async fn a_forwarded_job_is_answered_as_a_message() {
    let broker = start_idle().await;
    let mut forwarded = job(7, 2);
    forwarded["from"] = 1.into();
    forwarded["hop"] = 1.into();
    forwarded["key"] = "run/1/7/1".into();
    for repeated in 0..2 {
        let (status, _) = ask(&broker, "POST", "/v1/jobs", Some(forwarded.clone())).await;
        assert_eq!(status, 202);
        assert_eq!(broker.metrics().repeated(), repeated);
    }
    let (_, info) = ask(&broker, "GET", "/v1/info", None).await;
    assert_eq!((&info["queued"], &info["held"]), (&1.into(), &1.into()));
}

#[tokio::test]
async fn an_unknown_peer_cannot_forward() {
    let broker = start_idle().await;
    let mut forwarded = job(7, 2);
    forwarded["from"] = 5.into();
    let (status, problem) = ask(&broker, "POST", "/v1/jobs", Some(forwarded)).await;
    assert_eq!((status, &problem["code"]), (422, &"invalid".into()));
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .starts_with("field from = \"5\"")
    );
}

#[tokio::test]
async fn a_peer_without_a_session_says_that_it_is_drained_and_gets_no_jobs_until_its_end() {
    let peer = stub_lrms().await;
    let broker = start(SOON, NOWHERE, &peer).await;
    let tell = async |name: &str, until_ns: u64| {
        let change = json!({"draining": true, "until_ns": until_ns});
        let path = format!("/v1/peers/{name}/drain");
        ask(&broker, "POST", &path, Some(change)).await
    };
    assert_eq!(tell("b", u64::MAX).await.0, 204);
    // Only b has so many processors.
    ask(&broker, "POST", "/v1/jobs", Some(job(0, 8))).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    wait_for(&broker, 0, "queued").await;
    assert_eq!(tell("b", 1).await.0, 204);
    let sent = wait_for(&broker, 0, "sent").await;
    assert_eq!(sent["sent_to"]["kind"], "broker");
    let (status, problem) = tell("c", 1).await;
    assert_eq!((status, &problem["code"]), (404, &"unknown-peer".into()));
}

/// Over a cycle of links a job is here twice: each request is about the visit of
/// whoever makes it.
#[tokio::test]
async fn a_peer_that_has_a_job_cancelled_says_who_it_is() {
    let broker = start_idle().await;
    let mut forwarded = job(7, 2);
    forwarded["from"] = 1.into();
    forwarded["hop"] = 1.into();
    ask(&broker, "POST", "/v1/jobs", Some(forwarded)).await;
    let cancel =
        async |from: &str| ask(&broker, "DELETE", &format!("/v1/jobs/7{from}"), None).await;
    let (status, problem) = cancel("?from=5").await;
    assert_eq!((status, &problem["code"]), (422, &"invalid".into()));
    let (status, job) = cancel("?from=1").await;
    assert_eq!((status, &job["state"]), (200, &"cancelled".into()));
}
