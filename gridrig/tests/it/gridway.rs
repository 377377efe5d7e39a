//! The GridWay drivers, spoken to as gwd speaks to them (GridWay 5.14, from
//! its sources and a recording). gwd itself is in no package; what it says is
//! played here, and what it hears is read as its own code reads it
//! (`gridway_daemon`).

use crate::command::{Service, expect_part, gridrig, split, start};
use crate::gridway_daemon::{Heard, attributes, heard};
use gridrig_protocol::client::Client;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A driver as gwd holds one: a process with two pipes.
struct Mad {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    /// Lines that came before the one that was waited for.
    early: Vec<String>,
}

impl Mad {
    fn start(words: &[&str]) -> Self {
        let mut child = gridrig()
            .arg("gridway")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Mad {
            requests: child.stdin.take(),
            child,
            answers,
            early: Vec::new(),
        }
    }

    fn say(&mut self, line: &str) {
        let requests = self.requests.as_mut().unwrap();
        writeln!(requests, "{line}").unwrap();
    }

    /// Waits for a line that begins so.
    fn wait(&mut self, begin: &str) -> String {
        if let Some(at) = self.early.iter().position(|line| line.starts_with(begin)) {
            return self.early.remove(at);
        }
        loop {
            let line = self
                .answers
                .recv_timeout(Duration::from_secs(180))
                .unwrap_or_else(|_| panic!("no {begin}; there was {:?}", self.early));
            if line.starts_with(begin) {
                return line;
            }
            self.early.push(line);
        }
    }

    fn ask(&mut self, line: &str, begin: &str) -> String {
        self.say(line);
        self.wait(begin)
    }

    /// Whether it ends by itself, and well.
    fn ends(&mut self) -> bool {
        for _ in 0..3_600 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for Mad {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three clusters and the file that names them.
fn clusters(dir: &Path, speed: &str) -> (Vec<Service>, String) {
    let sizes = [("a1", "4"), ("b1", "8"), ("c1", "2")];
    let services: Vec<Service> = sizes
        .iter()
        .map(|(name, size)| {
            start(&split(&format!(
                "emulator --name {name} --processors {size} --speed {speed}"
            )))
        })
        .collect();
    // One as its own first line, the others by name.
    let lines = format!(
        "# clusters of gwd\n{{\"listening\":\"{}\"}}\nb1={}\n\nc1={}\n",
        services[0].url, services[1].url, services[2].url
    );
    let file = dir.join("clusters.txt");
    std::fs::write(&file, lines).unwrap();
    (services, file.display().to_string())
}

/// What gwd writes for a job of its wrapper: the RSL and the environment.
fn job(dir: &Path, number: usize, processors: u32, seconds: u32) -> String {
    let dir = dir.join(number.to_string());
    std::fs::create_dir_all(&dir).unwrap();
    let rsl = format!(
        "<job> <executable>.gw_u_{number}/.wrapper</executable> <environment><name>GW_JOB_ID\
         </name><value>{number}</value></environment> <stdout>.gw_u_{number}/stdout.wrapper\
         </stdout> <stderr>.gw_u_{number}/stderr.wrapper</stderr> <count>{processors}</count> \
         <jobType>single</jobType></job>"
    );
    let environment =
        format!("export GW_EXECUTABLE=\"/bin/sleep\"\nexport GW_ARGUMENTS=\"{seconds}\"\n");
    std::fs::write(dir.join("job.env"), environment).unwrap();
    let file = dir.join("job.rsl.0");
    std::fs::write(&file, rsl).unwrap();
    file.display().to_string()
}

#[test]
fn gwd_would_spread_its_jobs_over_clusters_whose_load_it_sees() {
    let dir = tempfile::tempdir().unwrap();
    let (services, file) = clusters(dir.path(), "100");
    let with = ["--clusters", file.as_str()];
    let mut im = Mad::start(&["im", with[0], with[1]]);
    let mut em = Mad::start(&["em", with[0], with[1], "--interval", "50ms"]);
    let mut tm = Mad::start(&["tm"]);
    assert_eq!(im.ask("INIT - - -", "INIT"), "INIT - SUCCESS -");
    assert_eq!(em.ask("INIT 200 - -", "INIT"), "INIT 200 SUCCESS -");
    assert_eq!(tm.ask("INIT 200 - - - -", "INIT"), "INIT 200 - SUCCESS -");
    assert_eq!(
        im.ask("DISCOVER - - -", "DISCOVER"),
        "DISCOVER - SUCCESS a1 b1 c1"
    );
    let mut used = std::collections::BTreeSet::new();
    for number in 0..12 {
        let mut best = (0, "");
        for (id, host) in ["a1", "b1", "c1"].into_iter().enumerate() {
            let begin = format!("MONITOR {id} ");
            let said = im.ask(&format!("{begin}{host} -"), &begin);
            expect_part(&said, &format!("SUCCESS HOSTNAME=\"{host}\""));
            let values = attributes(&said[begin.len() + "SUCCESS ".len()..]).unwrap();
            let free = values["QUEUE_FREENODECOUNT[0]"].parse().unwrap();
            best = best.max((free, host));
        }
        let host = best.1;
        used.insert(host);
        let rsl = job(dir.path(), number, 2, 60);
        let work = format!("gsiftp://{host}/~/.gw_u_{number}");
        for line in [
            format!("START {number} - - - - "),
            format!("MKDIR {number} - - {work}/ - "),
            format!(
                "CP {number} 1 - file:{} {work}/job.env",
                rsl.replace("job.rsl.0", "job.env")
            ),
        ] {
            let operation = line.split(' ').next().unwrap();
            let said = tm.ask(&line, &format!("{operation} {number} "));
            assert!(said.contains("SUCCESS"), "{said}");
        }
        let begin = format!("SUBMIT {number} ");
        let said = em.ask(&format!("{begin}{host}/gridrig {rsl}"), &begin);
        assert!(
            said.starts_with(&format!("{begin}SUCCESS {host}/")),
            "{said}"
        );
    }
    for number in 0..12 {
        let done = format!("CALLBACK {number} SUCCESS DONE");
        let said = em.wait(&done);
        assert_eq!(said, done);
        assert_eq!(heard(&said, ""), Heard::Done);
        let wrapper = dir.path().join(number.to_string()).join("stdout.wrapper.0");
        let to = wrapper.display();
        let begin = format!("CP {number} 2 ");
        let said = tm.ask(
            &format!("{begin}- gsiftp://h/w/stdout.wrapper file:{to}"),
            &begin,
        );
        assert_eq!(said, format!("{begin}SUCCESS -"));
        assert_eq!(std::fs::read_to_string(wrapper).unwrap(), "EXIT_STATUS=0\n");
    }
    assert!(
        used.len() > 1,
        "the load that gwd saw never changed: {used:?}"
    );
    for mad in [&mut im, &mut em, &mut tm] {
        mad.say("FINALIZE - - -");
        mad.wait("FINALIZE - ");
        assert!(mad.ends());
    }
    drop(services);
}

#[test]
fn a_job_is_polled_cancelled_and_recovered_by_another_driver() {
    let dir = tempfile::tempdir().unwrap();
    let (services, file) = clusters(dir.path(), "1");
    let words = ["em", "--clusters", file.as_str(), "--interval", "50ms"];
    let rsl = job(dir.path(), 0, 4, 3600);
    let mut em = Mad::start(&words);
    em.ask("INIT 9 - -", "INIT 9 SUCCESS");
    let said = em.ask(&format!("SUBMIT 0 a1/gridrig {rsl}"), "SUBMIT 0 ");
    let contact = said.strip_prefix("SUBMIT 0 SUCCESS ").unwrap().to_owned();
    em.wait("CALLBACK 0 SUCCESS ACTIVE");
    em.ask(&format!("SUBMIT 1 a1/gridrig {rsl}"), "SUBMIT 1 SUCCESS");
    assert_eq!(em.ask("POLL 1 - -", "POLL 1"), "POLL 1 SUCCESS PENDING");
    // gwd dies with its drivers and comes back.
    drop(em);
    let mut em = Mad::start(&words);
    em.ask("INIT 9 - -", "INIT 9 SUCCESS");
    let said = em.ask(&format!("RECOVER 0 {contact} -"), "RECOVER 0");
    assert_eq!(said, "RECOVER 0 SUCCESS ACTIVE");
    assert_eq!(em.ask("CANCEL 0 - -", "CANCEL 0"), "CANCEL 0 SUCCESS -");
    em.wait("CALLBACK 0 SUCCESS DONE");
    // Somebody else cancels one at the cluster: for gwd it has failed.
    let said = em.ask(&format!("SUBMIT 2 a1/gridrig {rsl}"), "SUBMIT 2 ");
    let id = said.rsplit('/').next().unwrap().parse().unwrap();
    let client = Client::new(Duration::from_secs(10)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let cancelled = runtime.block_on(client.cancel(&services[0].url, id, None));
    assert_eq!(cancelled.unwrap().state, "cancelled");
    em.wait("CALLBACK 2 FAILURE cancelled");
    // One that says of no length has that of the driver.
    drop(em);
    let mut em = Mad::start(&[&words[..], &["--default-run-time", "7min"]].concat());
    em.ask("INIT 9 - -", "INIT 9 SUCCESS");
    std::fs::remove_file(dir.path().join("0/job.env")).unwrap();
    let said = em.ask(&format!("SUBMIT 3 a1/gridrig {rsl}"), "SUBMIT 3 ");
    let id = said.rsplit('/').next().unwrap().parse().unwrap();
    let told = runtime.block_on(client.job(&services[0].url, id)).unwrap();
    assert_eq!(told.run_time, "420s");
    // The end of the input ends the driver as FINALIZE does.
    em.requests = None;
    assert!(em.ends());
}

#[test]
fn a_job_that_fails_is_not_taken_for_done_and_its_contact_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let (mut services, file) = clusters(dir.path(), "1");
    let words = ["em", "--clusters", file.as_str(), "--interval", "1ms"];
    let mut em = Mad::start(&words);
    em.ask("INIT 9 - -", "INIT 9 SUCCESS");
    let rsl = job(dir.path(), 0, 2, 3600);
    em.say(&format!("SUBMIT 0 c1/gridrig {rsl}"));
    // gwd takes a job that it hears of for one whose submission it knows.
    let first = em.answers.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(heard(&first, "wrapper"), Heard::Pending, "{first}");
    let said = em.wait("CALLBACK 0 ");
    assert_eq!(heard(&said, ""), Heard::Active, "{said}");
    // The cluster is restarted and knows nothing of the job any more.
    let address = services[2].url.clone();
    let listen = address.strip_prefix("http://").unwrap().to_owned();
    services.truncate(2);
    let again = ["emulator", "--name", "c1", "--processors", "2", "--listen"];
    services.push(start(&[&again[..], &[&listen]].concat()));
    let said = em.wait("CALLBACK 0 ");
    assert_eq!(said, "CALLBACK 0 FAILURE unknown-job");
    assert_eq!(heard(&said, ""), Heard::Failed);
    let said = em.ask("POLL 0 - -", "POLL 0 ");
    assert!(said.starts_with("POLL 0 FAILURE"), "{said}");
}

#[test]
fn what_no_driver_understands_is_answered_with_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let (_services, file) = clusters(dir.path(), "1");
    let absent = dir.path().join("absent").display().to_string();
    let mut em = Mad::start(&["em", "--clusters", file.as_str()]);
    for (line, begin, expected) in [
        ("POLL 7 - -", "POLL 7 FAILURE", "job 7"),
        ("SUBMIT 1 nobody/x /x", "SUBMIT 1 FAILURE", "host nobody"),
        (
            &format!("SUBMIT 2 a1/x {absent}"),
            "SUBMIT 2 FAILURE",
            "absent",
        ),
        ("RECOVER 3 a1 -", "RECOVER 3 FAILURE", "contact a1"),
        ("EXPLODE 4 - -", "EXPLODE 4 FAILURE", "expected INIT"),
        ("HELLO", "- - FAILURE", "HELLO"),
        ("what is this", "- - FAILURE", "capital letters"),
    ] {
        let said = em.ask(line, begin);
        assert!(said.contains(expected), "{line}: {said}");
    }
    let wide = job(dir.path(), 5, 99, 1);
    let said = em.ask(&format!("SUBMIT 5 a1/x {wide}"), "SUBMIT 5 ");
    expect_part(&said, "FAILURE");
    expect_part(&said, "never-fits");
    em.say(&"x".repeat(200_000));
    assert!(em.wait("- - FAILURE").contains("65536 bytes"));
    assert_eq!(em.ask("INIT 1 - -", "INIT 1"), "INIT 1 SUCCESS -");
}

#[test]
fn clusters_that_are_not_named_well_are_a_mistake_of_the_user_s() {
    for words in [
        &["gridway", "im"][..],
        &["gridway", "im", "--cluster", "a1"],
        &[
            "gridway",
            "em",
            "--cluster",
            "a1=http://h",
            "--interval",
            "soon",
        ],
        &["gridway", "em", "--clusters", "/nowhere/at/all"],
    ] {
        let output = crate::command::run(words);
        crate::command::expect_code(&output, 2);
        assert!(output.stdout.is_empty());
    }
}
