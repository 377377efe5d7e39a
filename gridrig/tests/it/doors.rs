//! What the operating system is asked for, and told, where others are near: files
//! that last, sockets of somebody else, and a log of who did what.

use crate::command::{ALONE, Bench, JOBS, Service, expect_code, gridrig, start, stderr};
use crate::need;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

#[test]
fn a_run_brings_its_files_and_each_new_directory_to_the_disk() {
    let test = "a_run_brings_its_files_and_each_new_directory_to_the_disk";
    if !need::program("strace", test) {
        return;
    }
    let bench = Bench::new(ALONE, &JOBS);
    let mut run = Command::new("strace");
    run.args(["-f", "-qq", "-y", "-e", "trace=fsync", "-o"]);
    run.args([&bench.path("calls"), env!("CARGO_BIN_EXE_gridrig"), "run"]);
    run.args([&bench.path("s.toml"), "--out", &bench.path("new/runs")]);
    expect_code(&run.output().unwrap(), 0);
    let calls = std::fs::read_to_string(bench.path("calls")).unwrap();
    let top = bench.dir.path().canonicalize().unwrap();
    let run = "new/runs/s-1/no-broker/r000";
    let dirs = [
        "",
        "/new",
        "/new/runs",
        "/new/runs/s-1",
        "/new/runs/s-1/no-broker",
    ];
    let dirs = dirs.iter().map(|dir| format!("{}{dir}>", top.display()));
    let files = ["", "/manifest.json.partial", "/jobs.parquet.partial"];
    let files = files
        .iter()
        .map(|file| format!("{}/{run}{file}>", top.display()));
    // Behind that name is the number of the process.
    let events = format!("{}/{run}/events.parquet.", top.display());
    for path in dirs.chain(files).chain([events]) {
        assert!(calls.contains(&path), "{path} is not synced:\n{calls}");
    }
}

/// Listens at the path as whoever runs it, and tells whether a caller says anything.
const LISTEN: &str = "$s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die $!; \
    $| = 1; print qq(ready\\n); $c = $s->accept; print defined(<$c>) ? qq(heard\\n) : qq(silence\\n)";

#[test]
fn a_slurm_command_says_nothing_to_a_socket_of_somebody_else() {
    if !need::root("a_slurm_command_says_nothing_to_a_socket_of_somebody_else") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join(".gridrig");
    std::fs::create_dir(&inner).unwrap();
    chown(&inner, Some(4_321), Some(4_321)).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let link = dir.path().join("squeue");
    symlink(env!("CARGO_BIN_EXE_gridrig"), &link).unwrap();
    let mut listening = Command::new("/usr/bin/perl")
        .args(["-MIO::Socket::UNIX", "-e", LISTEN])
        .arg(inner.join("slurm.sock"))
        .uid(4_321)
        .gid(4_321)
        .current_dir("/")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(listening.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "ready");
    let called = Command::new(&link).output().unwrap();
    expect_code(&called, 1);
    let told = String::from_utf8_lossy(&called.stderr).into_owned();
    assert!(told.contains("it is of user 4321, not of 0"), "{told}");
    assert_eq!(said.next().unwrap().unwrap(), "silence");
    listening.wait().unwrap();
}

/// What a service of these words writes to its audit log about what `talk` sends to it:
/// method, path, host, media type and body.
fn audited(words: &[&str], talk: impl Fn(&dyn Fn(&str, &str, &str, &str, &str))) -> String {
    let mut service = gridrig()
        .args(words)
        .env("GRIDRIG_LOG", "gridrig::audit=info")
        .env("GRIDRIG_TOKEN", "a-token-of-the-test")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(service.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let address = line["listening"].as_str().unwrap().replace("http://", "");
    talk(&|method, path, host, media, body| {
        let host = host.replace("SELF", &address);
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        let head = format!("{head}content-type: {media}\r\ncontent-length: {length}\r\n");
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
    });
    service.kill().unwrap();
    let said = service.wait_with_output().unwrap();
    String::from_utf8_lossy(&said.stderr).into_owned()
}

const EMULATOR: [&str; 5] = ["emulator", "--name", "a1", "--processors", "4"];

#[test]
fn the_audit_log_tells_who_changed_what_and_nothing_of_who_only_looks() {
    let said = audited(&EMULATOR, |send| {
        let send = |method, path, body| send(method, path, "localhost", "application/json", body);
        send("POST", "/v1/jobs", r#"{"processors":1,"run_time":"1h"}"#);
        send("GET", "/v1/jobs/0", "");
        send("DELETE", "/v1/jobs/0?secret=7", "");
        send("POST", "/v1/jobs", r#"{"processors":0,"run_time":"1h"}"#);
    });
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        ["method=POST", "path=\"/v1/jobs\"", "status=201"],
        ["method=DELETE", "path=\"/v1/jobs/0\"", "status=200"],
        ["method=POST", "path=\"/v1/jobs\"", "status=422"],
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, words) in lines.iter().zip(expected) {
        let who = ["gridrig::audit", "address=127.0.0.1:", "identity=\"-\""];
        for word in words.iter().chain(&who) {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
}

#[test]
fn the_audit_log_tells_of_refused_requests_so_many_in_a_minute() {
    let said = audited(&EMULATOR, |send| {
        send("POST", "/v1/jobs", "localhost", "text/plain", "{}");
        for _ in 0..70 {
            send("GET", "/v1/jobs?secret=7", "evil.example", "text/plain", "");
        }
    });
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].contains("status=415"), "{said}");
    for line in &lines[1..] {
        let host = "header Host = \\\"evil.example\\\": expected";
        for word in ["refused", "path=\"/v1/jobs\"", "status=403", "why=", host] {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
    // A minute may have ended meanwhile, with which their number begins again.
    assert!((60..=70).contains(&lines.len()), "{said}");
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let said = audited(&["dashboard", runs.to_str().unwrap()], |send| {
        send("GET", "/api/live?token=guessed", "SELF", "text/plain", "");
    });
    let refused: Vec<&str> = said.lines().filter(|line| line.contains("audit")).collect();
    assert_eq!(refused.len(), 1, "{said}");
    assert!(refused[0].contains("status=401"), "{said}");
    assert!(!said.contains("guessed"), "{said}");
}

#[test]
fn the_program_can_be_loaded_at_any_address() {
    let mut head = [0; 18];
    let mut program = std::fs::File::open(env!("CARGO_BIN_EXE_gridrig")).unwrap();
    program.read_exact(&mut head).unwrap();
    assert_eq!(&head[..4], b"\x7fELF");
    // ET_DYN; a program that is linked at a fixed address is ET_EXEC, 2.
    assert_eq!(u16::from_le_bytes([head[16], head[17]]), 3);
}

/// The port at which a replayer that was started so shows its metrics, as long as it lives.
fn replaying(words: &[&str]) -> (u16, Service, impl Iterator<Item = String> + use<>) {
    let mut child = gridrig()
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let mut said = said.lines().map_while(Result::ok);
    let line = said.find(|line| line.starts_with("metrics: http://"));
    let url = line.expect("an address").replace("metrics: ", "");
    let port = url.trim_end_matches("/metrics").rsplit(':').next();
    let port = port.unwrap().parse().unwrap();
    (port, Service { child, url }, said)
}

#[test]
fn whoever_replays_shows_metrics_to_no_page_elsewhere_nor_to_the_network_unasked() {
    let alone = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\nname = \"c\"\n";
    let bench = Bench::new(alone, &[(0, 600, 1)]);
    let emulator = start(&["emulator", "--name", "c", "--processors", "4"]);
    let (scenario, to) = (bench.path("s.toml"), format!("c={}", emulator.url));
    let words = ["replay", &scenario, "--to", &to, "--metrics"];
    let refused = gridrig().args(words).arg("0.0.0.0:0").output().unwrap();
    expect_code(&refused, 2);
    let said = stderr(&refused);
    let named = "--metrics 0.0.0.0:0: whoever is on the network";
    assert!(said.contains(named), "{said}");
    let near: &[&str] = &["127.0.0.1:0"];
    let far: &[&str] = &["0.0.0.0:0", "--insecure", "--allow-host", "lab.example"];
    let cases = [
        ("host: localhost", "200", "200"),
        ("host: evil.example", "403", "403"),
        ("host: lab.example", "403", "200"),
        ("host: 192.0.2.7:81", "403", "200"),
        (
            "host: localhost\r\norigin: http://evil.example",
            "403",
            "403",
        ),
    ];
    for (is_near, listen) in [(true, near), (false, far)] {
        let (port, _replayer, _said) = replaying(&[&words[..], listen].concat());
        for (headers, by_near, by_far) in cases {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let request =
                format!("GET /metrics HTTP/1.1\r\nconnection: close\r\n{headers}\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let status = if is_near { by_near } else { by_far };
            let begin = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&begin), "{headers}: {answer}");
        }
    }
}
