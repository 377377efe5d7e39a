//! Interfaces of other systems, switched on by flag and by scenario.

use crate::command::{
    Bench, JOBS, expect_code, expect_refused, expect_stderr, gridrig, run, split, stdout,
};
use gridrig::scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Two clusters, one of which offers ARC REST.
const TWO: &str = r#"
[workload]
trace = "t.swf"
domain = "a"

[[domain]]
name = "a"
clusters = [
    { name = "a1", processors = 4, faces = ["arc"] },
    { name = "a2", processors = 8 },
]
"#;

/// A process that is ended with the test, and what its first line said.
struct Serving {
    child: Child,
    said: Value,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(words: &[&str]) -> Serving {
    let mut child = gridrig()
        .arg("emulator")
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let said = serde_json::from_str(&line).expect(&line);
    Serving { child, said }
}

/// Status and body of a GET.
pub fn get(url: &str, path: &str) -> (u16, String) {
    ask(url, "GET", path, "")
}

fn ask(url: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(180)))
        .unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer[9..12].parse().unwrap();
    (status, answer)
}

const INFO: &str = "/arex/rest/1.0/info";

#[test]
fn a_scenario_says_which_cluster_offers_what_and_flags_add_to_it() {
    let bench = Bench::new(TWO, &JOBS);
    let scenario = bench.path("s.toml");
    let all = serve(&["--scenario", &scenario, "--all"]);
    let clusters = all.said["clusters"].as_array().unwrap();
    assert_eq!(all.said["listening"], clusters[0]["url"]);
    let faces: Vec<String> = clusters
        .iter()
        .map(|cluster| cluster["faces"].to_string())
        .collect();
    assert_eq!(faces, [r#"["arc"]"#, "[]"]);
    let status = |index: usize| get(clusters[index]["url"].as_str().unwrap(), INFO).0;
    assert_eq!((status(0), status(1)), (200, 404));
    let one = serve(&["--scenario", &scenario, "--name", "a2", "--face", "arc"]);
    let (status, info) = get(one.said["listening"].as_str().unwrap(), INFO);
    assert_eq!(status, 200);
    assert!(info.contains("<TotalSlots>8</TotalSlots>"), "{info}");
}

/// The state of a job that this service is given now, as ARC's client sees it.
fn state_of_a_new_job(url: &str) -> String {
    const JOBS: &str = "/arex/rest/1.0/jobs";
    let adl = "<ActivityDescription xmlns=\"http://www.eu-emi.eu/es/2010/12/adl\"><Application><Executable><Path>/bin/sleep</Path>\
               <Argument>600</Argument></Executable></Application></ActivityDescription>";
    let between = |text: &str, name: &str| {
        let after = text.split(&format!("<{name}>")).nth(1).expect(text);
        after.split('<').next().unwrap().to_owned()
    };
    let (status, created) = ask(url, "POST", &format!("{JOBS}?action=new"), adl);
    assert_eq!(status, 201, "{created}");
    let id = between(&created, "id");
    let list = format!("<jobs><job><id>{id}</id></job></jobs>");
    let (_, said) = ask(url, "POST", &format!("{JOBS}?action=status"), &list);
    between(&said, "state")
}

#[test]
fn a_computing_element_takes_its_steps_where_scenario_or_flag_say_so() {
    let text = TWO.replace(
        "faces = [\"arc\"] }",
        "faces = [\"arc\"], arc_step = \"1h\" }",
    );
    let bench = Bench::new(&text, &JOBS);
    let scenario = bench.path("s.toml");
    let all = serve(&["--scenario", &scenario, "--all", "--face", "arc"]);
    let url = |index: usize| all.said["clusters"][index]["url"].as_str().unwrap();
    assert_eq!(state_of_a_new_job(url(0)), "ACCEPTED");
    assert_eq!(state_of_a_new_job(url(1)), "RUNNING");
    let words = ["--scenario", &scenario, "--name", "a1", "--arc-step", "0s"];
    let one = serve(&words);
    let url = one.said["listening"].as_str().unwrap();
    assert_eq!(state_of_a_new_job(url), "RUNNING");
    let load = |path: &str| Scenario::load(Path::new(path), &[]).unwrap();
    let (first, again) = (load(&scenario), bench.path("again.toml"));
    std::fs::write(&again, first.to_resolved_toml()).unwrap();
    let steps = |scenario: &Scenario| -> Vec<u64> {
        scenario
            .clusters()
            .map(|cluster| cluster.arc_step().as_secs())
            .collect()
    };
    assert_eq!(steps(&first), [3_600, 0]);
    assert_eq!(steps(&load(&again)), steps(&first));
    let wrong = run(&split("emulator --processors 4 --face arc --arc-step soon"));
    expect_refused(&wrong, "'soon' for '--arc-step");
}

#[test]
fn two_hundred_clusters_with_all_faces_are_one_process() {
    let bins = tempfile::tempdir().unwrap();
    let bin = |index: usize| bins.path().join(format!("c{index}"));
    let clusters: String = (0..200)
        .map(|index| {
            format!(
                "{{ name = \"c{index}\", processors = {}, slurm_bin = \"{}\" }},\n",
                index + 1,
                bin(index).display()
            )
        })
        .collect();
    let text = format!(
        "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n[[domain]]\nname = \"a\"\nclusters = [\n{clusters}]\n"
    );
    let bench = Bench::new(&text, &JOBS);
    let scenario = bench.path("s.toml");
    let all = serve(&split(&format!(
        "--scenario {scenario} --all --face arc --face bes"
    )));
    let clusters = all.said["clusters"].as_array().unwrap();
    let mut urls = BTreeSet::new();
    for (index, cluster) in clusters.iter().enumerate() {
        let url = cluster["url"].as_str().unwrap();
        let (status, info) = get(url, INFO);
        assert_eq!(status, 200);
        let slots = format!("<TotalSlots>{}</TotalSlots>", index + 1);
        assert!(info.contains(&slots) && info.contains(&format!("<Name>c{index}</Name>")));
        let (status, wsdl) = get(url, "/services/bes?wsdl");
        assert_eq!(status, 200);
        assert!(wsdl.contains(url), "{wsdl}");
        let sinfo = bin(index).join("sinfo");
        let sinfo = std::process::Command::new(sinfo)
            .env_clear()
            .args(["-h", "-o", "%C"])
            .output()
            .unwrap();
        let free = index + 1;
        assert_eq!(stdout(&sinfo).trim(), format!("0/{free}/0/{free}"));
        urls.insert(url);
    }
    assert_eq!(urls.len(), 200);
}

#[test]
fn all_clusters_end_together_when_they_are_asked_to() {
    let bench = Bench::new(TWO, &JOBS);
    let scenario = bench.path("s.toml");
    let mut all = serve(&["--scenario", &scenario, "--all"]);
    let id = all.child.id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(asked.unwrap().success());
    assert_eq!(all.child.wait().unwrap().code(), Some(0));
}

#[test]
fn wrong_faces_and_files_are_mistakes_of_input() {
    let bench = Bench::new(&TWO.replace("[\"arc\"]", "[\"condor\"]"), &JOBS);
    let scenario = bench.path("s.toml");
    let output = run(&["check", &scenario]);
    expect_refused(&output, "faces");
    expect_stderr(&output, "condor");
    expect_stderr(&output, "arc");
    let output = run(&["emulator", "--processors", "4", "--face", "condor"]);
    expect_refused(
        &output,
        "'condor' for '--face <FACE>': expected one of arc, bes",
    );
    let missing = bench.path("no.pem");
    let line = format!("emulator --processors 4 --tls-cert {missing} --tls-key {missing}");
    let words = split(&line);
    expect_refused(&run(&words), "no.pem");
    let output = run(&["emulator", "--processors", "4", "--all"]);
    expect_code(&output, 2);
}
