//! What brokers that are processes of their own say to each other over SOAP,
//! from their logs of messages, held against the schema of the WSDL.

use crate::xsd;
use gridrig_protocol::soap::Version;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// What was heard.
#[derive(Default)]
pub struct Overheard {
    said: BTreeSet<String>,
    operations: BTreeSet<String>,
    log: String,
}

impl Overheard {
    /// In logs that [`start_overheard`](crate::command::start_overheard) writes.
    pub fn in_files<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        let mut heard = Overheard::default();
        for file in files {
            heard.listen(&std::fs::read_to_string(file).unwrap());
        }
        heard
    }

    /// Takes a log in.
    pub fn listen(&mut self, log: &str) {
        for line in log.lines() {
            // What a broker was writing when it was killed breaks off; an error
            // is said in words.
            let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            let field = |name: &str| entry["fields"][name].as_str().unwrap_or_default();
            if entry["target"] == "gridrig::wire" {
                self.operations.insert(field("operation").to_owned());
                self.said.extend(xsd::in_schema(field("message")));
                self.log.push_str(field("message"));
            }
        }
    }

    /// There were envelopes of this version.
    pub fn spoke(&self, version: Version) {
        let found = self.log.contains(version.namespace());
        assert!(found, "no envelope of {}", version.namespace());
    }

    /// Holds every message against the schema in this WSDL; there were some of
    /// each of these operations.
    pub fn holds(&self, test: &str, wsdl: &str, operations: &[&str]) {
        for operation in operations {
            let heard = &self.operations;
            assert!(heard.contains(*operation), "no {operation} in {heard:?}");
        }
        assert!(!self.said.is_empty(), "nothing was said over SOAP");
        if !xsd::xmllint(test) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let driver = xsd::extracted(wsdl, folder.path());
        let said: Vec<String> = self.said.iter().cloned().collect();
        for some in said.chunks(500) {
            assert_eq!(xsd::complaint(folder.path(), &driver, some), None);
        }
    }
}

/// The same command with every message that it sends or receives on stderr.
pub fn overheard(command: &mut Command) -> &mut Command {
    command.env("GRIDRIG_LOG", "gridrig::wire=trace");
    command.args(["--log-format", "json"])
}

/// What such a command has said.
pub fn heard_of(output: &Output) -> Overheard {
    let mut heard = Overheard::default();
    heard.listen(&crate::command::stderr(output));
    heard
}

/// The WSDL that a broker serves.
pub fn served_wsdl(url: &str) -> String {
    let url = format!("{url}/lagrid?wsdl");
    let asked = Command::new("curl").args(["-s", "-m", "60", &url]).output();
    String::from_utf8(asked.unwrap().stdout).unwrap()
}
