//! Clients that submit, wait and submit the next.

mod ended;

use crate::command::{
    Service, expect_code, expect_part, expect_stderr, gridrig, json, ok, run, split, start, stderr,
    stdout,
};
use crate::faces::get;
use crate::need;
use crate::patience::Patience;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// What a server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Accept,
    /// This status, and this code of a problem document.
    Problem(u16, &'static str),
    /// None: the connection is closed.
    Close,
    /// None: the connection stays.
    Hang,
}

#[derive(Default)]
struct Seen {
    keys: Vec<String>,
    under_way: usize,
    most: usize,
}

/// A server that answers its requests in turn as it is told, over and over. It answers
/// none of the first ones before so many are there.
struct Server {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    fn start(answers: &'static [Answer], together: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (all, barrier) = (Arc::clone(&seen), Arc::new(Barrier::new(together)));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, barrier) = (Arc::clone(&all), Arc::clone(&barrier));
                thread::spawn(move || {
                    serve(&stream.unwrap(), answers, &seen, (together, &barrier));
                });
            }
        });
        Server { url, seen }
    }

    fn requests(&self) -> usize {
        self.seen.lock().unwrap().keys.len()
    }

    fn load(&self, words: &str) -> Output {
        load(&format!("json:{} --json {words}", self.url))
    }
}

/// `gridrig load` with these words.
fn load(words: &str) -> Output {
    let words = words.split(' ');
    run(&std::iter::once("load").chain(words).collect::<Vec<_>>())
}

fn serve(
    mut stream: &TcpStream,
    answers: &[Answer],
    seen: &Mutex<Seen>,
    (together, barrier): (usize, &Barrier),
) {
    let mut reader = BufReader::new(stream);
    while let Some(job) = read(&mut reader) {
        assert!(job["id"].is_null(), "the service numbers the jobs: {job}");
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.under_way += 1;
            seen.most = seen.most.max(seen.under_way);
            seen.keys.push(job["key"].as_str().unwrap().to_owned());
            seen.keys.len() - 1
        };
        if number < together {
            barrier.wait();
        }
        let answer = answers[number % answers.len()];
        if answer == Answer::Hang {
            continue;
        }
        seen.lock().unwrap().under_way -= 1;
        let (status, body) = match answer {
            Answer::Problem(status, code) => (
                status,
                format!(
                    r#"{{"type":"about:blank","title":"t","status":{status},"detail":"for, \"you\"","code":"{code}"}}"#
                ),
            ),
            Answer::Accept => (201, r#"{"id":0,"state":"queued","at_ns":0}"#.to_owned()),
            _ => return,
        };
        let length = body.len();
        let said = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\n{body}");
        if stream.write_all(said.as_bytes()).is_err() {
            return;
        }
    }
}

/// The job of the next request, if there is one.
fn read(reader: &mut BufReader<&TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.to_lowercase().trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            None if line.trim().is_empty() => break,
            _ => (),
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

fn figure(document: &Value, pointer: &str) -> usize {
    let found = document.pointer(pointer).and_then(Value::as_u64);
    usize::try_from(found.unwrap_or_else(|| panic!("{pointer} in {document}"))).unwrap()
}

/// How many requests failed in this way.
fn failed(document: &Value, outcome: &str) -> usize {
    let all = document["failures"].as_array().unwrap().iter();
    let mut found = all.filter(|one| one["outcome"] == outcome);
    found.next().map_or(0, |one| figure(one, "/requests"))
}

/// Client, start, end and outcome of each request, as requests.csv has them.
fn requests(dir: &str) -> Vec<(u32, u64, u64, String)> {
    let text = std::fs::read_to_string(format!("{dir}/requests.csv")).unwrap();
    let mut lines = text.lines();
    let head = "client,job,start_ns,response_ns,outcome,reason";
    assert_eq!(lines.next(), Some(head));
    let one = |line: &str| {
        let cells: Vec<&str> = line.splitn(6, ',').collect();
        let number = |cell: usize| cells[cell].parse::<u64>().unwrap();
        let (client, begin) = (u32::try_from(number(0)).unwrap(), number(2));
        (client, begin, begin + number(3), cells[4].to_owned())
    };
    lines.map(one).collect()
}

/// An emulated cluster that speaks everything, and where its commands of Slurm are.
fn with_all_interfaces(dir: &Path, processors: &str) -> (String, Service) {
    let bin = dir.join("bin").display().to_string();
    let faces = ["--face", "arc", "--face", "bes", "--slurm-bin", &bin];
    let words = ["emulator", "--name", "a1", "--processors", processors];
    let emulator = start(&[&words[..], &faces].concat());
    (bin, emulator)
}

#[test]
fn each_job_that_is_counted_is_one_of_the_service_whatever_it_speaks() {
    let dir = tempfile::tempdir().unwrap();
    let (bin, emulator) = with_all_interfaces(dir.path(), "8");
    let url = &emulator.url;
    let lrms = format!("a1={url}");
    let broker = split("broker --name a --policy queue-length --lrms");
    let broker = start(&[&broker[..], &[lrms.as_str()]].concat());
    let count = |url: &str, event: &str| -> usize {
        let (_, metrics) = get(url, "/metrics");
        let event = format!("event=\"{event}\"}} ");
        let line = metrics.lines().find(|line| line.contains(&event)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let ways = [
        (format!("json:{url}"), url, "queued"),
        (format!("arc:{url}/arex"), url, "queued"),
        (format!("bes:{url}/services/bes"), url, "queued"),
        (format!("slurm:{bin}"), url, "queued"),
        (
            format!("json:{}", broker.url),
            &broker.url,
            "broker-arrival",
        ),
    ];
    for (number, (way, counts, event)) in ways.into_iter().enumerate() {
        let before = count(counts, event);
        let out = dir.path().join(number.to_string()).display().to_string();
        let ramp = "--clients 3 --every 200ms --for 1s --json";
        let output = ok(load(&format!("{way} --out {out} {ramp}")));
        let document = json(&output);
        let accepted = figure(&document, "/whole/accepted");
        assert_eq!(count(counts, event) - before, accepted, "{way}");
        assert!(accepted > 0, "{way}");
        assert_eq!(figure(&document, "/whole/failed"), 0, "{document}");
        let clients: Vec<usize> = (0..3)
            .map(|level| figure(&document, &format!("/levels/{level}/clients")))
            .collect();
        assert_eq!(
            (clients, document["levels"][3].clone()),
            (vec![1, 2, 3], Value::Null)
        );
        assert_eq!(requests(&out).len(), accepted);
        let kept = std::fs::read_to_string(format!("{out}/load.json")).unwrap();
        assert_eq!(kept, stdout(&output));
    }
}

#[test]
fn no_client_has_two_requests_under_way_and_all_clients_have_one() {
    const CLIENTS: usize = 12;
    let server = Server::start(&[Answer::Accept], CLIENTS);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out").display().to_string();
    let words = format!("--clients {CLIENTS} --every 0s --for 500ms --out {out}");
    let document = json(&ok(server.load(&words)));
    let seen = server.seen.lock().unwrap();
    assert_eq!(
        seen.most, CLIENTS,
        "the server waited for so many, and more never came"
    );
    assert_eq!(figure(&document, "/whole/accepted"), seen.keys.len());
    let keys: BTreeSet<&String> = seen.keys.iter().collect();
    assert_eq!(keys.len(), seen.keys.len(), "no job came twice");
    let all = requests(&out);
    assert_eq!(all.len(), seen.keys.len());
    for client in 0..u32::try_from(CLIENTS).unwrap() {
        let mut free_at = 0;
        for (_, begin, end, _) in all.iter().filter(|one| one.0 == client) {
            assert!(*begin >= free_at, "client {client}");
            free_at = *end;
        }
        assert!(free_at > 0, "client {client} submitted");
    }
}

#[test]
fn what_is_turned_away_is_counted_apart_and_is_no_throughput() {
    const ANSWERS: &[Answer] = &[
        Answer::Accept,
        Answer::Problem(503, "queue-full"),
        Answer::Problem(503, "busy"),
        Answer::Problem(500, "internal"),
        Answer::Close,
    ];
    let server = Server::start(ANSWERS, 1);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out").display().to_string();
    let words = format!("--clients 5 --every 0s --for 1s --out {out}");
    let document = json(&ok(server.load(&words)));
    let all = server.requests();
    let of = |place: usize| (all + ANSWERS.len() - 1 - place) / ANSWERS.len();
    let found = ["refused", "busy", "no-answer"].map(|outcome| failed(&document, outcome));
    assert_eq!(found, [of(1) + of(3), of(2), of(4)], "{document}");
    let accepted = figure(&document, "/whole/accepted");
    assert_eq!(
        (accepted, figure(&document, "/whole/failed")),
        (of(0), all - of(0))
    );
    let level = &document["levels"][0];
    let rate = level["jobs_per_min"].as_f64().unwrap() * level["seconds"].as_f64().unwrap() / 60.0;
    assert!(
        (rate - figure(level, "/accepted") as f64).abs() < 1e-6,
        "{level}"
    );
    let lines = requests(&out);
    assert_eq!(lines.len(), all);
    let count = |outcome: &str| lines.iter().filter(|one| one.3 == outcome).count();
    assert_eq!((count("accepted"), count("busy")), (of(0), of(2)));
    let text = std::fs::read_to_string(format!("{out}/requests.csv")).unwrap();
    assert!(
        text.contains(r#"for, \""you\"""#) || text.contains(r#"for, ""you"""#),
        "{text}"
    );
}

#[test]
fn a_server_that_hangs_or_is_not_there_is_a_failure_with_its_reason() {
    let server = Server::start(&[Answer::Hang], 1);
    let output = server.load("--clients 3 --every 0s --for 200ms --timeout 300ms");
    expect_code(&output, 1);
    expect_stderr(&output, "no answer within 300ms");
    let document = json(&output);
    let all = figure(&document, "/whole/failed");
    assert_eq!(
        (failed(&document, "timed-out"), server.requests()),
        (all, all)
    );
    assert!(all >= 3, "{document}");
    let mean = &document["failures"][0]["response_s"]["mean"];
    assert!(mean.as_f64().unwrap() >= 0.3, "{document}");

    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let way = format!("http://{closed}");
    let output = run(&["load", &way, "--clients", "1", "--for", "300ms", "--json"]);
    expect_code(&output, 1);
    let document = json(&output);
    let all = figure(&document, "/whole/failed");
    assert_eq!(failed(&document, "not-reached"), all);
    let said = stderr(&output);
    expect_part(&said, "was not reached: Connection refused");
    assert!((1..=4).contains(&all), "a pause follows each: {document}");
}

#[test]
fn what_is_there_is_told_when_it_is_ended_early() {
    let server = Server::start(&[Answer::Accept], 1);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out").display().to_string();
    let child = gridrig()
        .args(["load", &server.url])
        .args(split("--clients 4 --every 1s --for 10min"))
        .args(["--out", &out, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let patience = Patience::seconds(60);
    while server.requests() < 20 {
        patience.wait("20 requests");
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    expect_code(&output, 130);
    let document = json(&output);
    assert_eq!(document["interrupted"], true);
    let accepted = figure(&document, "/whole/accepted");
    let unknown = figure(&document, "/broken_off");
    let seen = server.requests();
    assert!(
        accepted <= seen && seen <= accepted + unknown,
        "{seen} came: {document}"
    );
    assert_eq!(requests(&out).len(), accepted);
    let levels = document["levels"].as_array().unwrap();
    let end = levels.last().unwrap();
    let end = end["from_s"].as_f64().unwrap() + end["seconds"].as_f64().unwrap();
    assert!((end - document["whole"]["seconds"].as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn requests_that_cannot_be_written_down_end_it_at_once() {
    let server = Server::start(&[Answer::Accept], 1);
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("requests.csv")).unwrap();
    let out = dir.path().display().to_string();
    // The second client has an hour to go until it begins.
    let words = format!("--clients 2 --every 1h --for 2h --force --out {out}");
    let output = server.load(&words);
    expect_code(&output, 1);
    let said = stderr(&output);
    expect_part(&said, "error: requests.csv: No space left");
}

#[test]
fn a_command_gets_a_description_of_each_job_which_is_then_removed() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().display();
    // It fails where more than one for each client is left there.
    let script = format!("test $(ls $(dirname $0) | wc -l) -le 2 && cp $0 {place}/$1");
    let way = format!("command:sh -c '{script}' {{jsdl}} {{tag}}");
    let words = "--clients 2 --every 0s --for 300ms --json".split(' ');
    let words: Vec<&str> = ["load", &way].into_iter().chain(words).collect();
    let output = ok(run(&words));
    let copies = std::fs::read_dir(dir.path()).unwrap().count();
    let document = json(&output);
    assert_eq!(figure(&document, "/whole/accepted"), copies);
    assert_eq!(figure(&document, "/whole/failed"), 0, "{document}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().display().to_string();
    let is_there = format!("http://x --out {there}");
    let cases = [
        ("ftp:x", "expected json:URL"),
        ("http://x --clients 0", "--clients"),
        ("http://x --clients 10001", "--clients"),
        ("http://x --for 7min", "--for 420s: the first of 15 clients"),
        ("http://x --for 25h", "--for 90000s: expected"),
        (
            "http://x --timeout 0s",
            "--timeout 0ns: expected more than 0s",
        ),
        ("http://x --run-time 1", "--run-time"),
        (is_there.as_str(), "exists already"),
        ("command:{sript}", "sript"),
    ];
    for (words, expected) in cases {
        let output = load(words);
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(said.matches("error:").count(), 1, "{said}");
        assert_eq!(stdout(&output), "", "{words:?}");
    }
}

#[test]
fn the_figures_of_the_paper_stand_beside_if_wanted() {
    let server = Server::start(&[Answer::Accept], 1);
    let words = "--clients 2 --every 100ms --for 300ms --beside-paper";
    let output = ok(load(&format!("{} {words}", server.url)));
    let text = stdout(&output);
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("1 ").len(), 9, "{text}");
    assert_eq!(row("all ")[4], "-", "{text}");
    expect_part(&text, "ARC, with reservations                  15");
    let output = server.load(words);
    let document = json(&output);
    assert_eq!(document["paper"]["rows"].as_array().unwrap().len(), 19);
    let Some(python) = need::jsonschema("the_figures_of_the_paper_stand_beside_if_wanted") else {
        return;
    };
    let schema = json(&run(&["schema", "load"]));
    assert_eq!(schema["properties"]["schema"]["const"], document["schema"]);
    let both = serde_json::json!([schema, document]).to_string();
    let check = "import json, sys, jsonschema as j; s, d = json.loads(sys.argv[1]); \
                 j.Draft202012Validator.check_schema(s); j.Draft202012Validator(s).validate(d)";
    let held = Command::new(python).args(["-c", check, &both]).status();
    assert!(held.unwrap().success());
}
