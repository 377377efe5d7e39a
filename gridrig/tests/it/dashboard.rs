//! The dashboard over HTTP, as a browser or a script would use it.

mod confined;
mod control;
mod guard;
mod http;
mod live;
mod pages;

use http::Page;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

/// A dashboard as a process, which is ended with the test.
pub struct Dashboard {
    child: Child,
    pub url: String,
    /// What it wants of whoever asks.
    token: String,
    /// Its folder of runs is `runs` in here.
    pub dir: tempfile::TempDir,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Dashboard {
    /// Starts `gridrig dashboard DIR/runs` at the root of the workspace.
    pub fn start(words: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_over(tempfile::tempdir().unwrap(), words, environment)
    }

    pub fn start_over(
        dir: tempfile::TempDir,
        words: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = crate::command::gridrig()
            .arg("dashboard")
            .arg(dir.path().join("runs"))
            .args(words)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).expect(&line);
        let url = said["listening"].as_str().unwrap().to_owned();
        let given = environment
            .iter()
            .find(|(name, _)| *name == "GRIDRIG_TOKEN");
        let token = given.map_or_else(crate::command::token, |(_, token)| (*token).to_owned());
        Dashboard {
            child,
            url,
            token,
            dir,
        }
    }

    pub fn runs(&self) -> std::path::PathBuf {
        self.dir.path().join("runs")
    }

    pub fn get(&self, target: &str) -> Page {
        self.send("GET", target, &[], "")
    }

    pub fn post(&self, target: &str, body: &serde_json::Value) -> Page {
        let json = ("content-type", "application/json");
        self.send("POST", target, &[json], &body.to_string())
    }

    /// A request with the token.
    pub fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Page {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", &*bearer)];
        all.extend(headers);
        http::send(&self.url, method, target, &all, body)
    }

    /// The stream of events.
    pub fn events(&self) -> http::Stream {
        http::Stream::open(&self.url, "/api/live/events", &self.token)
    }

    /// The newest line on stderr.
    pub fn stderr_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stderr.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        line
    }

    /// Asks for the state until it is as wanted; gives up after some minutes.
    pub fn until(&self, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        for _ in 0..2_400 {
            let state = self.get("/api/live").json();
            if wanted(&state) {
                return state;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("never as wanted: {}", self.get("/api/live").body);
    }
}

/// The text of a scenario that ships.
pub fn shipped(name: &str) -> String {
    let file = crate::command::root()
        .join("resources/scenarios")
        .join(name);
    std::fs::read_to_string(file).unwrap()
}

/// A draft of a shipped scenario.
pub fn draft(name: &str, text: &str) -> serde_json::Value {
    let file = Path::new("resources/scenarios").join(name);
    serde_json::json!({ "file": file, "text": text })
}
