//! The ARC face as any HTTP client sees it.

use crate::arc::{Ce, adl, delegated, delegation_of, element, elements, staging};
use gridrig_emulator::faces::arc::Setup;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::time::Duration;

#[tokio::test]
async fn a_job_goes_from_accepting_to_finished_and_keeps_its_name() {
    let ce = Ce::start(100).await;
    // It lasts 30 ms of the wall: that it runs on the way is seen of longer ones.
    let id = ce.create(&adl("job-7", 2, 3)).await;
    ce.wait_for(&id, "FINISHED").await;
    let (status, info) = ce.post("jobs?action=info", &Ce::list(&[&id])).await;
    assert_eq!(status, 201);
    assert_eq!(element(&info, "status-code"), "200");
    assert!(info.contains("<State>arcrest:FINISHED</State>"), "{info}");
    assert_eq!(element(&info, "Name"), "job-7");
    assert_eq!(element(&info, "RequestedSlots"), "2");
    assert_eq!(element(&info, "UsedTotalWallTime"), "3");
    let (_, _, native) = crate::ask(&ce.lrms, "GET", "/v1/jobs/0", None).await;
    assert_eq!(native["tag"], "job-7", "the tag is on the LRMS's side too");
    assert_eq!(native["state"], "completed");
}

#[tokio::test]
async fn several_jobs_of_one_document_are_answered_one_by_one() {
    let ce = Ce::start(1).await;
    let (good, bad) = (adl("a", 1, 60), adl("b", 1, 60).replace(">1<", ">none<"));
    let other_queue = adl("c", 1, 60).replace(">batch<", ">night<");
    let body =
        format!("<ActivityDescriptions>{good}{bad}{other_queue}{good}</ActivityDescriptions>");
    let (status, answer) = ce.post("jobs?action=new", &body).await;
    assert_eq!(status, 201);
    assert_eq!(
        elements(&answer, "status-code"),
        ["201", "500", "500", "201"]
    );
    assert_eq!(elements(&answer, "state"), ["ACCEPTING", "ACCEPTING"]);
    assert!(answer.contains("NumberOfSlots = \"none\""), "{answer}");
    assert!(
        answer.contains("Requested queue night does not match"),
        "{answer}"
    );
    let (_, list) = ce.get("jobs?state=RUNNING,QUEUING").await;
    assert_eq!(elements(&list, "id").len(), 2);
    let (_, list) = ce.get("jobs?state=FINISHED").await;
    assert!(elements(&list, "id").is_empty());
}

#[tokio::test]
async fn json_is_spoken_both_ways() {
    let ce = Ce::start(1).await;
    let id = ce.create(&adl("a", 1, 60)).await;
    let ask = json!({ "job": [{ "id": id }, { "id": "nobody" }] });
    let asked = ce.client.post(ce.url("jobs?action=status"));
    let asked = asked.header("accept", "application/json").json(&ask);
    let answer: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["job"][0]["state"], "RUNNING");
    assert_eq!(answer["job"][0]["status-code"], "200");
    assert_eq!(answer["job"][1]["status-code"], "404");
    assert_eq!(answer["job"][1]["state"], "None");
    let versions = ce.client.get(format!("{}/arex/rest", ce.lrms.url()));
    let versions = versions.header("accept", "application/json");
    let versions: serde_json::Value = versions.send().await.unwrap().json().await.unwrap();
    assert_eq!(versions, json!({ "version": ["1.0"] }));
}

#[tokio::test]
async fn jobs_are_killed_restarted_and_cleaned() {
    let ce = Ce::start(1).await;
    let id = ce.create(&adl("a", 4, 600)).await;
    let waiting = ce.create(&adl("b", 4, 600)).await;
    assert_eq!(ce.state(&waiting).await, "QUEUING");
    let both = Ce::list(&[&id, &waiting, "other"]);
    let (_, answer) = ce.post("jobs?action=kill", &both).await;
    assert_eq!(elements(&answer, "status-code"), ["202", "202", "404"]);
    assert_eq!(ce.state(&id).await, "KILLED");
    assert_eq!(ce.state(&waiting).await, "KILLED");
    let (_, answer) = ce.post("jobs?action=restart", &Ce::list(&[&id, &id])).await;
    assert_eq!(elements(&answer, "status-code"), ["202", "505"]);
    assert_eq!(ce.state(&id).await, "RUNNING");
    let (_, answer) = ce.post("jobs?action=clean", &both).await;
    assert_eq!(elements(&answer, "status-code"), ["202", "202", "404"]);
    assert_eq!(
        ce.state(&waiting).await,
        "None",
        "it had ended: gone at once"
    );
    assert_eq!(ce.state(&id).await, "RUNNING", "it goes when it ends");
    ce.post("jobs?action=kill", &Ce::list(&[&id])).await;
    assert_eq!(ce.state(&id).await, "None");
}

#[tokio::test]
async fn a_job_that_the_lrms_holds_is_held_before_it_queues_and_can_be_killed() {
    let ce = Ce::start(1).await;
    let held = |time: &str| {
        let variable = format!(
            "<adl:Environment><adl:Name>GRIDRIG_HELD</adl:Name><adl:Value>{time}</adl:Value>\
             </adl:Environment></adl:Application>"
        );
        adl("a", 1, 600).replace("</adl:Application>", &variable)
    };
    let long = ce.create(&held("1h")).await;
    assert_eq!(ce.state(&long).await, "HELD");
    let (_, info) = ce.post("jobs?action=info", &Ce::list(&[&long])).await;
    assert!(info.contains("<State>arcrest:HELD</State>"), "{info}");
    assert!(
        info.contains("<State>emies:processing-queued</State>"),
        "{info}"
    );
    let (_, _, jobs) = crate::ask(&ce.lrms, "GET", "/v1/jobs", None).await;
    assert_eq!(jobs["jobs"], json!([]), "it takes no part in the queue");
    ce.post("jobs?action=kill", &Ce::list(&[&long])).await;
    assert_eq!(ce.state(&long).await, "KILLED");
    let short = ce.create(&held("0.2s")).await;
    ce.wait_for(&short, "RUNNING").await;
    let (_, answer) = ce.post("jobs?action=new", &held("soon")).await;
    assert!(answer.contains("GRIDRIG_HELD = \"soon\""), "{answer}");
}

#[tokio::test]
async fn a_job_that_its_lrms_has_ended_otherwise_is_in_another_state_until_that_is_seen() {
    let step = Duration::from_secs(1);
    let ce = Ce::with(1, steps_of(step)).await;
    let mut early = 0;
    for job in 0..8 {
        let id = ce.create(&adl("a", 1, 600)).await;
        ce.wait_for(&id, "RUNNING").await;
        // Somebody with another interface removes it: nobody has killed it here.
        let removed = tokio::time::Instant::now();
        crate::ask(&ce.lrms, "DELETE", &format!("/v1/jobs/{job}"), None).await;
        let seen = ce.state(&id).await;
        // A busy machine may look too late, but not again and again.
        if removed.elapsed() < step {
            assert_eq!(seen, "OTHER");
            early += 1;
        }
        ce.wait_for(&id, "KILLED").await;
        if early == 2 {
            return;
        }
    }
    panic!("it was seen {early} times between its end and the moment that this is noticed");
}

fn steps_of(step: Duration) -> Setup {
    Setup {
        step,
        ..Setup::default()
    }
}

/// What a job passes through where each step of the CE takes time.
const ORDER: [&str; 10] = [
    "ACCEPTED",
    "PREPARING",
    "PREPARED",
    "SUBMITTING",
    "QUEUING",
    "RUNNING",
    "EXITINGLRMS",
    "EXECUTED",
    "FINISHING",
    "FINISHED",
];

#[tokio::test]
async fn the_steps_around_the_lrms_are_shown_in_order_where_they_take_time() {
    let ce = Ce::with(1, steps_of(Duration::from_millis(250))).await;
    let id = ce.create(&adl("a", 4, 1)).await;
    let mut seen = vec![ce.state(&id).await];
    while seen.last().unwrap() != "FINISHED" {
        let state = ce.state(&id).await;
        if seen.last() != Some(&state) {
            assert!(seen.len() < ORDER.len(), "{seen:?}");
            seen.push(state);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A busy machine may look too seldom to see all of them.
    let mut order = ORDER.iter();
    let in_order = |state: &String| order.any(|next| next == state);
    assert!(seen.iter().all(in_order), "{seen:?}");
    let (_, _, native) = crate::ask(&ce.lrms, "GET", "/v1/jobs/0", None).await;
    let start = native["start_ns"].as_u64().unwrap();
    assert!(start >= 4 * 250_000_000, "four steps before it: {native}");
}

#[tokio::test]
async fn a_job_that_takes_its_steps_can_be_killed_and_waits_for_its_files() {
    let ce = Ce::with(1, steps_of(Duration::from_secs(3600))).await;
    let id = ce.create(&adl("a", 4, 1)).await;
    assert_eq!(ce.state(&id).await, "ACCEPTED");
    let (_, list) = ce.get("jobs?state=ACCEPTED").await;
    assert_eq!(elements(&list, "id"), [id.as_str()]);
    let (_, answer) = ce.post("jobs?action=kill", &Ce::list(&[&id])).await;
    assert_eq!(element(&answer, "status-code"), "202");
    assert_eq!(ce.state(&id).await, "KILLING");
    let (_, answer) = ce.post("jobs?action=clean", &Ce::list(&[&id])).await;
    assert_eq!(element(&answer, "status-code"), "202");
    assert_eq!(ce.state(&id).await, "KILLING", "it goes when it is killed");
    let input = "<adl:InputFile><adl:Name>in.txt</adl:Name></adl:InputFile>";
    let id = ce.create(&staging(&adl("b", 1, 1), input)).await;
    assert_eq!(ce.state(&id).await, "ACCEPTED");
    let (status, _) = ce.put(&format!("jobs/{id}/session/in.txt"), "text").await;
    assert_eq!(status, 200);
    assert_eq!(ce.state(&id).await, "PREPARED");
    let (_, _, native) = crate::ask(&ce.lrms, "GET", "/v1/jobs", None).await;
    assert_eq!(native["jobs"].as_array().map(Vec::len), Some(0), "{native}");
}

#[tokio::test]
async fn a_job_that_could_never_run_fails_and_says_why() {
    let ce = Ce::start(1).await;
    let id = ce.create(&adl("wide", 5, 60)).await;
    assert_eq!(ce.state(&id).await, "FAILED");
    let (_, info) = ce.post("jobs?action=info", &Ce::list(&[&id])).await;
    assert!(element(&info, "Error").contains("never-fits"), "{info}");
    let (status, text) = ce.get(&format!("jobs/{id}/diagnose/failed")).await;
    assert_eq!(status, 200);
    assert!(text.contains("never-fits"), "{text}");
}

#[tokio::test]
async fn what_is_no_description_gets_arcs_own_fault() {
    let ce = Ce::start(1).await;
    let cases = [
        ("<adl", 201, "not an ADL document"),
        ("<!DOCTYPE a><a/>", 201, "entities are refused"),
        ("<jobs/>", 201, "expected ActivityDescription"),
        ("[ Executable = \"a\" ]", 500, "Payload is not recognized"),
        ("", 500, "Missing payload"),
    ];
    for (body, expected, text) in cases {
        let (status, answer) = ce.post("jobs?action=new", body).await;
        assert_eq!(status, expected, "{body}: {answer}");
        assert!(answer.contains(text), "{body}: {answer}");
        if status == 201 {
            assert_eq!(element(&answer, "status-code"), "500", "{answer}");
        }
    }
    for (method, path, expected) in [
        ("POST", "jobs?action=fly", 501),
        ("PUT", "jobs", 501),
        ("POST", "jobs?action=status", 400),
        ("GET", "nothing", 404),
        ("DELETE", "info", 501),
        ("GET", "info?schema=glue1", 501),
        ("GET", "jobs/none/session", 404),
    ] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let answer = ce.client.request(method.clone(), ce.url(path)).send();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status().as_u16(), expected, "{method} {path}");
        let media = answer.headers()["content-type"].to_str().unwrap();
        assert!(media.starts_with("text/plain"), "{path}: {media}");
    }
}

#[tokio::test]
async fn a_delegation_is_taken_renewed_listed_and_deleted() {
    let ce = Ce::start(1).await;
    let (id, request) = ce.delegate().await;
    let path = format!("delegations/{id}");
    assert_eq!(ce.put(&path, &delegation_of(&request, 1)).await.0, 200);
    let named = delegated(&adl("a", 1, 60), &id);
    let job = ce.create(&named).await;
    let (_, info) = ce.post("jobs?action=info", &Ce::list(&[&job])).await;
    assert_eq!(element(&info, "Owner"), "/O=Test/CN=alice");
    let plain = ce.create(&adl("b", 1, 60)).await;
    let both = Ce::list(&[&job, &plain, "other"]);
    let (_, answer) = ce.post("jobs?action=delegations", &both).await;
    assert_eq!(elements(&answer, "status-code"), ["200", "200", "404"]);
    assert_eq!(elements(&answer, "delegation_id"), [id.as_str()]);
    let (status, chain) = ce.post(&format!("{path}?action=get"), "").await;
    let certificates = chain.matches("BEGIN CERTIFICATE").count();
    assert_eq!((status, certificates), (200, 2));
    let (status, again) = ce.post(&format!("{path}?action=renew"), "").await;
    assert_eq!(status, 201);
    assert_eq!(ce.put(&path, &delegation_of(&again, 1)).await.0, 200);
    let (_, list) = ce.get("delegations").await;
    assert_eq!(elements(&list, "id"), [id.as_str()]);
    let (status, _) = ce.post(&format!("{path}?action=delete"), "").await;
    assert_eq!(status, 202);
    let (status, answer) = ce.post("jobs?action=new", &named).await;
    assert_eq!(status, 201);
    assert_eq!(element(&answer, "status-code"), "500");
    assert!(answer.contains("Failed to find delegation"), "{answer}");
}

#[tokio::test]
async fn a_delegation_that_is_expired_foreign_or_unfinished_is_refused() {
    let ce = Ce::start(1).await;
    let (id, request) = ce.delegate().await;
    let (_, foreign) = ce.delegate().await;
    let path = format!("delegations/{id}");
    let refused = [
        (delegation_of(&request, -1), "valid from"),
        (delegation_of(&foreign, 1), "another key"),
        ("nonsense".to_owned(), "no certificate"),
        (String::new(), "Missing payload"),
    ];
    for (body, expected) in refused {
        let (status, text) = ce.put(&path, &body).await;
        assert_eq!(status, 500, "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let (status, _) = ce.put("delegations/nobody", "x").await;
    assert_eq!(status, 500);
    let (_, answer) = ce
        .post("jobs?action=new", &delegated(&adl("a", 1, 60), &id))
        .await;
    assert!(answer.contains("unfinished or has expired"), "{answer}");
    let (_, list) = ce.get("jobs").await;
    assert!(
        elements(&list, "id").is_empty(),
        "no job was half-made: {list}"
    );
}

#[tokio::test]
async fn a_job_waits_for_its_uploads_and_leaves_its_outputs() {
    let ce = Ce::start(100).await;
    let inputs = "<adl:InputFile><adl:Name>in/a</adl:Name></adl:InputFile>\
        <adl:InputFile><adl:Name>b</adl:Name></adl:InputFile>\
        <adl:OutputFile><adl:Name>dir/result</adl:Name></adl:OutputFile>";
    let id = ce.create(&staging(&adl("a", 1, 2), inputs)).await;
    assert_eq!(ce.state(&id).await, "PREPARING");
    let session = format!("jobs/{id}/session");
    assert_eq!(ce.put(&format!("{session}/in/a"), "12345").await.0, 200);
    assert_eq!(ce.state(&id).await, "PREPARING");
    let part = |range: &'static str, text: &'static str| {
        let request = ce.client.put(ce.url(&format!("{session}/b")));
        request.header("content-range", range).body(text).send()
    };
    assert_eq!(part("bytes 0-4/10", "01234").await.unwrap().status(), 200);
    assert_eq!(ce.state(&id).await, "PREPARING", "half of it is missing");
    assert_eq!(part("bytes 5-9/10", "56789").await.unwrap().status(), 200);
    ce.wait_for(&id, "FINISHED").await;
    let (_, list) = ce.get(&session).await;
    assert_eq!(elements(&list, "dir"), ["dir"]);
    assert!(
        list.contains(">err.txt</file>") && list.contains(">out.txt</file>"),
        "{list}"
    );
    let (status, text) = ce.get(&format!("{session}/out.txt")).await;
    assert_eq!(status, 200);
    assert!(text.contains("ran 2.000 s on 1 processors"), "{text}");
    let part = ce.client.get(ce.url(&format!("{session}/out.txt")));
    let part = part.header("range", "bytes=0-6").send().await.unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.text().await.unwrap(), "gridrig");
    assert_eq!(ce.put(&format!("{session}/late"), "x").await.0, 500);
    assert_eq!(
        ce.get(&format!("{session}/b")).await.0,
        404,
        "inputs are gone"
    );
}

#[tokio::test]
async fn a_client_that_does_not_upload_in_time_has_a_failed_job() {
    let setup = Setup {
        stage_in: Duration::from_millis(200),
        ..Setup::default()
    };
    let ce = Ce::with(1, setup).await;
    let input = "<adl:InputFile><adl:Name>a</adl:Name></adl:InputFile>";
    let id = ce.create(&staging(&adl("a", 1, 2), input)).await;
    ce.wait_for(&id, "FAILED").await;
    let (_, _, jobs) = crate::ask(&ce.lrms, "GET", "/v1/jobs", None).await;
    assert_eq!(jobs["jobs"], json!([]), "the LRMS never saw it");
}

#[tokio::test]
async fn jobs_are_bounded_and_those_that_have_ended_make_room() {
    let setup = Setup {
        max_jobs: 2,
        ..Setup::default()
    };
    let ce = Ce::with(1, setup).await;
    let first = ce.create(&adl("a", 1, 600)).await;
    ce.create(&adl("b", 1, 600)).await;
    let (_, answer) = ce.post("jobs?action=new", &adl("c", 1, 600)).await;
    assert_eq!(element(&answer, "reason"), "No more jobs allowed");
    ce.post("jobs?action=kill", &Ce::list(&[&first])).await;
    ce.create(&adl("c", 1, 600)).await;
    assert_eq!(ce.state(&first).await, "None");
}

#[tokio::test]
async fn a_request_that_breaks_off_creates_nothing() {
    let ce = Ce::start(1).await;
    let address = ce.lrms.address();
    let half = adl("a", 1, 60);
    let sent = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /arex/rest/1.0/jobs?action=new HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n",
            half.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
            .write_all(&half.as_bytes()[..half.len() - 5])
            .unwrap();
    });
    sent.await.unwrap();
    // A later request on another connection is served after the break is seen.
    ce.create(&adl("b", 1, 60)).await;
    let (_, list) = ce.get("jobs").await;
    assert_eq!(elements(&list, "id").len(), 1, "{list}");
}

#[tokio::test]
async fn absolute_targets_are_routed_and_name_the_service() {
    let ce = Ce::start(1).await;
    let address = ce.lrms.address();
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request = format!(
            "GET http://{address}/arex/rest/1.0/info HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = answer.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(element(&answer, "URL"), format!("http://{address}/arex"));
}

#[tokio::test]
async fn the_cache_check_knows_what_jobs_have_fetched() {
    let ce = Ce::start(1).await;
    let input = "<adl:InputFile><adl:Name>a</adl:Name><adl:Source><adl:URI>https://h/a</adl:URI></adl:Source></adl:InputFile>";
    ce.create(&staging(&adl("a", 1, 2), input)).await;
    let ask = "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.nordugrid.org/schemas/a-rex\"><e:Body><a:CacheCheck><a:TheseFilesNeedToCheck><a:FileURL>https://h/a</a:FileURL><a:FileURL>https://h/b</a:FileURL></a:TheseFilesNeedToCheck></a:CacheCheck></e:Body></e:Envelope>";
    let answer = ce.client.post(format!("{}/arex", ce.lrms.url())).body(ask);
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let answer = answer.text().await.unwrap();
    assert_eq!(elements(&answer, "a-rex:FileSize"), ["1048576", "0"]);
}

#[tokio::test]
async fn what_a_page_elsewhere_has_a_browser_send_is_refused() {
    let ce = Ce::start(1).await;
    let own = ce.lrms.url();
    for (header, value, status) in [
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", &own, 201),
        ("host", "evil.example", 403),
        ("host", "127.0.0.1.evil.example:80", 403),
        ("host", "localhost:1", 201),
    ] {
        let request = ce.client.post(ce.url("jobs?action=new"));
        let request = request.header("content-type", "text/plain");
        let request = request.header(header, value).body(adl("a", 1, 60));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status, "{header}: {value}");
    }
    let (_, list) = ce.get("jobs").await;
    assert_eq!(elements(&list, "id").len(), 2, "{list}");
}
