//! The transfer driver: no file moves, since no program runs. What gwd
//! fetches is written, so that it finds how a job ended.

use super::filter::{self, Request};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// What gwd looks for in what a job's wrapper has said.
const WRAPPER: &str = "EXIT_STATUS=0\n";

pub(super) struct Driver;

impl filter::Driver for Driver {
    fn third(&self, request: &Request) -> Option<String> {
        Some(match request.operation.as_str() {
            "CP" => request.word(0).to_owned(),
            _ => "-".to_owned(),
        })
    }

    async fn handle(&self, request: &Request) -> Result<String, String> {
        match request.operation.as_str() {
            "INIT" | "START" | "END" | "MKDIR" | "RMDIR" | "EXISTS" => Ok("-".to_owned()),
            "CP" => copy(request.word(2), request.word(3)),
            other => Err(format!(
                "operation {other}: expected INIT, START, MKDIR, CP, RMDIR, EXISTS or END"
            )),
        }
    }
}

/// A copy between this machine and a cluster, by the URLs of its two ends.
fn copy(from: &str, to: &str) -> Result<String, String> {
    if from == "-" || to == "-" {
        return Err("CP: expected two URLs".to_owned());
    }
    match (local(from), local(to)) {
        // To the cluster: it has to be there, and goes nowhere.
        (Some(source), None) => match source.is_file() {
            true => Ok("-".to_owned()),
            false => Err(format!("{}: no such file", source.display())),
        },
        (None, Some(target)) => fetch(&target),
        (None, None) | (Some(_), Some(_)) => {
            Err(format!("CP {from} {to}: expected one file on this machine"))
        }
    }
}

/// The path of a URL of this machine.
fn local(url: &str) -> Option<PathBuf> {
    let path = match url.strip_prefix("file:") {
        // file:/p, file:///p and file://localhost/p are all /p.
        Some(rest) => match rest.strip_prefix("//") {
            Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
            None => rest,
        },
        None if url.contains("://") => return None,
        None => url,
    };
    path.starts_with('/')
        .then(|| PathBuf::from(format!("/{}", path.trim_start_matches('/'))))
}

/// A file that comes from the cluster: what a wrapper says, or nothing. What
/// is there already stays as it is, but for the words of a wrapper.
fn fetch(target: &Path) -> Result<String, String> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let written = match name.starts_with("stdout.wrapper") {
        true => std::fs::write(target, WRAPPER),
        false => OpenOptions::new()
            .append(true)
            .create(true)
            .open(target)
            .map(drop),
    };
    written
        .map(|()| "-".to_owned())
        .map_err(|error| format!("{}: {error}", target.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_this_machine_come_in_several_forms() {
        for url in ["/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b"] {
            assert_eq!(local(url), Some(PathBuf::from("/a/b")), "{url}");
        }
        for url in ["gsiftp://h/a/b", "https://h/a", "a/b", "file:a"] {
            assert_eq!(local(url), None, "{url}");
        }
    }

    #[test]
    fn a_fetched_wrapper_says_that_the_job_ended_well_and_others_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let to = |name: &str| format!("file:{}", path(name).display());
        copy("gsiftp://h/w/stdout.wrapper", &to("stdout.wrapper.0")).unwrap();
        let said = std::fs::read_to_string(path("stdout.wrapper.0")).unwrap();
        assert_eq!(said, "EXIT_STATUS=0\n");
        std::fs::write(path("out"), "mine").unwrap();
        copy("gsiftp://h/w/out", &to("out")).unwrap();
        assert_eq!(std::fs::read_to_string(path("out")).unwrap(), "mine");
        assert!(copy("gsiftp://h/w/x", &to("nowhere/x")).is_err());
        assert!(copy(&to("absent"), "gsiftp://h/w/x").is_err());
        assert!(copy(&to("out"), "gsiftp://h/w/x").is_ok());
        assert!(copy("gsiftp://h/a", "gsiftp://h/b").is_err());
    }
}
