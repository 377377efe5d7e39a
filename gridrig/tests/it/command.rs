//! The built command, as a user would call it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The command, to be run at the root of the workspace.
pub fn gridrig() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridrig"));
    command.current_dir(root());
    // Not what whoever runs the tests has.
    command.env("XDG_STATE_HOME", state());
    command.env_remove("GRIDRIG_TOKEN");
    command
}

/// Where the commands keep what outlives them.
fn state() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("state")
}

/// The token that every dashboard wants which has been given none.
pub fn token() -> String {
    let file = state().join("gridrig/dashboard-token");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.trim().to_owned()
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs it with these words.
pub fn run(words: &[&str]) -> Output {
    gridrig().args(words).output().expect("the command runs")
}

/// A service as a process, which is ended with the test.
pub struct Service {
    pub child: Child,
    /// Its base URL, as it says on its first line.
    pub url: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a service and waits until it says where it listens.
pub fn start<W: AsRef<std::ffi::OsStr>>(words: &[W]) -> Service {
    start_as(gridrig(), words)
}

/// The same with every message to and from its peers added to a file.
pub fn start_overheard<W: AsRef<std::ffi::OsStr>>(words: &[W], log: &str) -> Service {
    let log = std::fs::File::options().create(true).append(true).open(log);
    let mut command = gridrig();
    command.env("GRIDRIG_LOG", "warn,gridrig::wire=trace");
    command.args(["--log-format", "json"]);
    command.stderr(log.expect("a file"));
    start_as(command, words)
}

fn start_as<W: AsRef<std::ffi::OsStr>>(mut command: Command, words: &[W]) -> Service {
    let mut child = command
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe"))
        .read_line(&mut line)
        .expect("a first line");
    let said: serde_json::Value = serde_json::from_str(&line).expect(&line);
    let url = said["listening"].as_str().expect("an address").to_owned();
    assert!(url.contains("://127.0.0.1:"), "{url}");
    Service { child, url }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Its exit code must be this one.
#[track_caller]
pub fn expect_code(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout: {}\nstderr: {}",
        stdout(output),
        stderr(output)
    );
}

/// What a command has answered that succeeds.
#[track_caller]
pub fn ok(output: Output) -> Output {
    expect_code(&output, 0);
    output
}

/// It is refused as a mistake of its user, with these words among those that say why.
#[track_caller]
pub fn expect_refused(output: &Output, words: &str) {
    expect_code(output, 2);
    expect_stderr(output, words);
}

/// It says this, among other things, on stderr.
#[track_caller]
pub fn expect_stderr(output: &Output, words: &str) {
    expect_part(&stderr(output), words);
}

/// It says this, among other things, on stdout.
#[track_caller]
pub fn expect_stdout(output: &Output, words: &str) {
    expect_part(&stdout(output), words);
}

/// The text has this part.
#[track_caller]
pub fn expect_part(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in: {text}");
}

/// The run has passed its audit, and so many of its jobs were completed.
#[track_caller]
pub fn expect_audited(run: &serde_json::Value, completed: u64) {
    assert_eq!(run["audit"], "ok", "{run}");
    assert_eq!(run["jobs"]["completed"], completed, "{run}");
}

/// The words of a line of which none has a space in it.
pub fn split(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The document on stdout.
pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", stdout(output), stderr(output)))
}

/// A scenario of one small cluster and these SWF jobs, in a directory of its own.
pub struct Bench {
    pub dir: tempfile::TempDir,
}

impl Bench {
    /// `jobs` are (submit s, run time s, processors).
    pub fn new(scenario: &str, jobs: &[(u64, i64, u32)]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let lines = jobs.iter().enumerate().map(|(index, (submit, run, size))| {
            let id = index + 1;
            format!("{id} {submit} -1 {run} {size} -1 -1 {size} -1 -1 1 7 1 1 1 1 -1 -1\n")
        });
        let trace: String = std::iter::once("; Version: 2.2\n".to_owned())
            .chain(lines)
            .collect();
        std::fs::write(dir.path().join("t.swf"), trace).expect("a trace");
        std::fs::write(dir.path().join("s.toml"), scenario).expect("a scenario");
        Bench { dir }
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// The same after a run that has succeeded.
    #[track_caller]
    pub fn ran(scenario: &str, jobs: &[(u64, i64, u32)]) -> Self {
        let bench = Bench::new(scenario, jobs);
        expect_code(&bench.run(&[]), 0);
        bench
    }

    /// `gridrig run` on the scenario, with more words.
    pub fn run(&self, words: &[&str]) -> Output {
        let (scenario, out) = (self.path("s.toml"), self.path("runs"));
        let mut all = vec!["run", scenario.as_str(), "--out", out.as_str()];
        all.extend(words);
        run(&all)
    }
}

/// The rows of a table of what is tried and what is to be said of it, with `=>` between.
pub fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" => ").expect(row))
}

/// In real time, twenty times as fast as the trace, and as late as it may be.
pub const REAL: [&str; 4] = [
    "--clock",
    "real",
    "--set=run.speed=20",
    "--set=run.lag_tolerance=1h",
];

/// One cluster of four processors, no broker.
pub const ALONE: &str = "[workload]\ntrace = \"t.swf\"\n[cluster]\nprocessors = 4\n";

/// Two domains of four processors each, without bounds.
pub const PAIR: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [ { name = "a1", processors = 4 } ]

[[domain]]
name = "b"
clusters = [ { name = "b1", processors = 4 } ]

[[link]]
between = ["a", "b"]
latency = "50ms"

[run]
policies = ["round-robin", "free-node"]
bounds = false
"#;

pub const JOBS: [(u64, i64, u32); 6] = [
    (0, 30, 4),
    (1, 20, 2),
    (2, 20, 2),
    (3, 40, 3),
    (4, 10, 1),
    (60, 5, 4),
];
