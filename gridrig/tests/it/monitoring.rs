//! Prometheus looks at a live run, through the shipped setup and with the
//! queries of the shipped dashboards.

use crate::command::{Bench, PAIR, expect_part, gridrig, split, start};
use crate::metrics_command::{dashboards, queries};
use crate::need;
use crate::patience::Patience;
use gridrig_service::free_ports;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ends with the test, however that ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `GET` from loopback, as simple as it can be.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(180)))
        .ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// A Prometheus with the setup of this folder.
struct Prometheus {
    port: u16,
    said: PathBuf,
    _process: Process,
}

impl Prometheus {
    fn start(folder: &Path) -> Self {
        let port = free_ports(1).unwrap()[0];
        let said = folder.join("prometheus.log");
        let log = std::fs::File::create(&said).unwrap();
        let process = Command::new("prometheus")
            .arg(format!(
                "--config.file={}",
                folder.join("prometheus.yml").display()
            ))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Prometheus {
            port,
            said,
            _process: Process(process),
        }
    }

    fn ask(&self, path: &str) -> Value {
        let body = get(self.port, path).unwrap_or_default();
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    fn is_ready(&self) -> bool {
        get(self.port, "/-/ready").is_some_and(|text| text.contains("Ready"))
    }

    /// The values other than 0 that a query gives now; what is wrong with it panics.
    /// No message is lost in the run, or has to be repeated: those may be 0.
    fn values(&self, query: &str) -> usize {
        let query = query.replace("$__rate_interval", "5s");
        let chosen = ["run", "policy", "domain", "cluster"];
        let query = chosen.iter().fold(query, |query, variable| {
            query.replace(&format!("\"${variable}\""), "\".*\"")
        });
        assert!(!query.contains('$'), "{query}");
        let answer = self.ask(&format!("/api/v1/query?query={}", percent(&query)));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let found = answer["data"]["result"].as_array().unwrap();
        let lost = ["messages_undelivered_total", "messages_repeated_total"];
        let may_be_0 = lost.iter().any(|name| query.contains(name));
        let counts = |series: &&Value| {
            let value: f64 = series["value"][1].as_str().unwrap().parse().unwrap();
            value.is_finite() && (may_be_0 || value != 0.0)
        };
        found.iter().filter(counts).count()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }
}

/// Waits, for three minutes at most.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Patience::seconds(180).every(200);
    while !done() {
        patience.wait(what);
    }
}

/// A job every second and a half, for twenty minutes.
fn stream() -> Vec<(u64, i64, u32)> {
    (0..800)
        .map(|i| (3 * i / 2, 5 + (i as i64 * 7) % 13, 1 + (i as u32 % 4)))
        .collect()
}

/// A real-time run that keeps its targets there.
fn start_run(bench: &Bench, targets: &Path) -> Process {
    let child = gridrig()
        .args(["run", &bench.path("s.toml"), "--no-out", "--json"])
        .args(["--clock", "real", "--set", "run.speed=5", "--targets"])
        .arg(targets)
        .args(["--label", "site=here"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Process(child)
}

/// The targets of the one file in this folder, by service and name.
fn targets(folder: &Path) -> BTreeMap<String, u16> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let Some(path) = paths.find(|path| path.extension().is_some_and(|end| end == "json")) else {
        return BTreeMap::new();
    };
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let read: Value = serde_json::from_str(&text).unwrap_or_default();
    let target = |target: &Value| {
        let label = |name: &str| target["labels"][name].as_str().unwrap_or("");
        let port = target["targets"][0].as_str().unwrap().rsplit(':').next();
        let name = [label("service"), label("domain"), label("cluster")].join("/");
        (name, port.unwrap().parse().unwrap())
    };
    read.as_array().into_iter().flatten().map(target).collect()
}

#[test]
fn every_query_of_every_dashboard_has_data_in_a_live_run() {
    let test = "every_query_of_every_dashboard_has_data_in_a_live_run";
    if !need::program("prometheus", test) {
        return;
    }
    let bench = Bench::new(PAIR, &stream());
    let folder = bench.dir.path().join("monitoring");
    let wrote = gridrig().args(["metrics", "--out"]).arg(&folder).output();
    assert!(wrote.unwrap().status.success());
    let prometheus = Prometheus::start(&folder);
    wait_for("Prometheus is ready", || prometheus.is_ready());
    let run = start_run(&bench, &folder.join("targets"));
    let mut open: BTreeSet<(String, String, String)> = dashboards()
        .into_iter()
        .flat_map(|(name, dashboard)| {
            let queries = queries(&dashboard).into_iter();
            queries.map(move |(panel, query)| (name.clone(), panel, query))
        })
        .collect();
    assert!(open.len() > 40, "{}", open.len());
    let patience = Patience::seconds(180).every(1000);
    loop {
        open.retain(|(_, _, query)| prometheus.values(query) == 0);
        if open.is_empty() {
            break;
        }
        patience.wait(format_args!("no data: {open:#?}\n{}", prometheus.log()));
    }
    variables_have_values(&prometheus);
    everybody_is_scraped(&prometheus);
    drop(run);
}

/// What a dashboard lets one choose.
fn variables_have_values(prometheus: &Prometheus) {
    for (label, expected) in [
        ("run", vec!["s-1"]),
        ("policy", vec!["round-robin"]),
        ("domain", vec!["a", "b"]),
        ("cluster", vec!["a1", "b1"]),
        ("site", vec!["here"]),
    ] {
        let of = percent("gridrig_build_info");
        let path = format!("/api/v1/label/{label}/values?match%5B%5D={of}");
        let answer = prometheus.ask(&path);
        assert_eq!(answer["data"], serde_json::json!(expected), "{label}");
    }
}

/// Two brokers, two clusters and whoever submits, and scrapes that succeed.
fn everybody_is_scraped(prometheus: &Prometheus) {
    // One that is late is up again with its next scrape, a second later.
    let patience = Patience::seconds(180).every(500);
    let answer = loop {
        let answer = prometheus.ask("/api/v1/targets");
        let active = answer["data"]["activeTargets"].as_array().unwrap();
        assert_eq!(active.len(), 5, "{answer}");
        let is_up = |target: &Value| target["health"] == "up" && target["lastError"] == "";
        if active.iter().all(is_up) {
            break answer;
        }
        patience.wait(&answer);
    };
    for target in answer["data"]["activeTargets"].as_array().unwrap() {
        assert_eq!(target["labels"]["run"], "s-1", "{target}");
        let found = &target["discoveredLabels"]["__meta_filepath"];
        assert!(found.is_string(), "{target}");
    }
}

#[test]
fn a_run_says_where_its_services_are_and_each_has_the_metrics_of_the_table() {
    let bench = Bench::new(PAIR, &stream());
    let folder = bench.dir.path().join("targets");
    std::fs::create_dir(&folder).unwrap();
    let mut run = start_run(&bench, &folder);
    wait_for("the targets of the run", || targets(&folder).len() == 5);
    let found = targets(&folder);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let expected = [
        "broker/a/",
        "broker/b/",
        "emulator/a/a1",
        "emulator/b/b1",
        "replay//",
    ];
    assert_eq!(names, expected);
    let table = crate::command::json(&crate::command::run(&["metrics", "--json"]));
    for (name, port) in &found {
        let service = name.split('/').next().unwrap();
        // The first request is what the second one shows.
        get(*port, "/metrics").unwrap();
        let text = get(*port, "/metrics").unwrap();
        shows_what_the_table_says(&table, service, &text);
        assert!(!text.contains("job_id"), "{text}");
    }
    let id = run.0.id().to_string();
    let asked = Command::new("kill").args(["-INT", &id]).status();
    assert!(asked.unwrap().success());
    assert_eq!(run.0.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_service_by_itself_keeps_a_file_as_long_as_it_lives() {
    let bench = Bench::new(PAIR, &stream());
    let folder = bench.path("targets");
    let scenario = bench.path("s.toml");
    let mut service = start(&split(&format!(
        "emulator --scenario {scenario} --name b1 --targets {folder} --label site=north"
    )));
    let folder = Path::new(&folder);
    wait_for("its file", || targets(folder).len() == 1);
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({
        "cluster": "b1", "domain": "b", "run": "s-1", "service": "emulator", "site": "north",
    });
    assert_eq!(read[0]["labels"], expected);
    let address = read[0]["targets"][0].as_str().unwrap();
    assert_eq!(format!("http://{address}"), service.url);
    let id = service.child.id().to_string();
    let asked = Command::new("kill").args(["-INT", &id]).status();
    assert!(asked.unwrap().success());
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn all_clusters_of_a_scenario_keep_a_file_each() {
    let bench = Bench::new(PAIR, &stream());
    let (scenario, folder) = (bench.path("s.toml"), bench.path("targets"));
    let _services = start(&split(&format!(
        "emulator --all --scenario {scenario} --targets {folder}"
    )));
    let files = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect()
    };
    wait_for("their files", || files().len() == 2);
    let mut labels = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(file).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        let of = |name: &str| read[0]["labels"][name].as_str().unwrap().to_owned();
        labels.push((of("run"), of("domain"), of("cluster")));
    }
    labels.sort();
    let expected = [("a", "a1"), ("b", "b1")]
        .map(|(domain, cluster)| ("s-1".to_owned(), domain.to_owned(), cluster.to_owned()));
    assert_eq!(labels, expected);
}

#[test]
fn whoever_replays_says_where_its_metrics_are() {
    let alone = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\nname = \"c\"\n";
    let bench = Bench::new(alone, &stream());
    let emulator = start(&["emulator", "--name", "c", "--processors", "4"]);
    let mut child = gridrig()
        .args(["replay", &bench.path("s.toml"), "--json"])
        .args(["--to", &format!("c={}", emulator.url)])
        .args(["--metrics", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let _replay = Process(child);
    let mut lines = stderr.lines().map_while(Result::ok);
    let said = lines.find(|line| line.starts_with("metrics: http://127.0.0.1:"));
    let said = said.expect("an address");
    let port = said
        .split([':', '/'])
        .filter_map(|part| part.parse().ok())
        .next();
    let port: u16 = port.unwrap();
    wait_for("a submission", || {
        get(port, "/metrics").is_some_and(|text| {
            let submitted = r#"run="s-1",service="replay",event="submitted"}"#;
            let line = text.lines().find(|line| line.contains(submitted));
            line.is_some_and(|line| !line.ends_with(" 0"))
        })
    });
    let text = get(port, "/metrics").unwrap();
    let table = crate::command::json(&crate::command::run(&["metrics", "--json"]));
    shows_what_the_table_says(&table, "replay", &text);
    expect_part(&text, "gridrig_workload_jobs{");
    expect_part(&text, "} 800.0\n");
}

#[test]
fn a_dashboard_has_metrics_too() {
    let dashboard = crate::dashboard::Dashboard::start(&[], &[]);
    dashboard.get("/metrics").expect(200);
    dashboard.get("/no-such-page/7").expect(404);
    let page = dashboard.get("/metrics").expect(200);
    let media = &page.headers["content-type"];
    assert!(media.starts_with("application/openmetrics-text"), "{media}");
    let table = crate::command::json(&crate::command::run(&["metrics", "--json"]));
    shows_what_the_table_says(&table, "dashboard", &page.body);
    for series in [
        r#"service="dashboard",method="GET",route="/metrics",status="2xx"} 1"#,
        r#"service="dashboard",method="GET",route="none",status="4xx"} 1"#,
    ] {
        assert!(page.body.contains(series), "{series}\n{}", page.body);
    }
}

/// The families of a scrape are those of the table, with its types and help.
fn shows_what_the_table_says(table: &Value, service: &str, text: &str) {
    let mut expected = BTreeMap::new();
    for metric in table["metrics"].as_array().unwrap() {
        let services = metric["services"].as_array().unwrap();
        if services.contains(&service.into()) {
            let of = |field: &str| metric[field].as_str().unwrap().to_owned();
            expected.insert(of("name"), (of("type"), of("help") + "."));
        }
    }
    let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.splitn(4, ' ').skip(1);
        match (
            line.starts_with('#'),
            words.next(),
            words.next(),
            words.next(),
        ) {
            (true, Some("TYPE"), Some(name), Some(kind)) => {
                found.entry(name.to_owned()).or_default().0 = kind.to_owned();
            }
            (true, Some("HELP"), Some(name), Some(help)) => {
                found.entry(name.to_owned()).or_default().1 = help.to_owned();
            }
            _ => {}
        }
    }
    assert_eq!(found, expected, "{service}");
}
