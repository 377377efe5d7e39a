//! What flags of the command change, where no other test has it.

use crate::command::{
    ALONE, Bench, JOBS, PAIR, Service, expect_code, expect_part, expect_refused, expect_stdout,
    gridrig, json, ok, root, run, split, start, stderr, stdout,
};
use crate::need;
use crate::patience::Patience;
use crate::slurm_bench::Emulated;
use gridrig_service::free_ports;
use serde_json::Value;
use std::process::{Command, Output};

/// What the service answers there.
fn get(service: &Service, path: &str) -> Value {
    let url = format!("{}{path}", service.url);
    let answer = Command::new("curl").args(["-sS", &url]).output().unwrap();
    json(&answer)
}

fn post(service: &Service, path: &str, body: &str) -> Value {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-H", "content-type: application/json", "-d", body]);
    json(&curl.arg(format!("{}{path}", service.url)).output().unwrap())
}

/// An authority, and certificates for 127.0.0.1 of these names by it, in the folder.
fn certificates(bench: &Bench, authority: &str, names: &[&str]) {
    let openssl = |words: &[&str]| {
        let mut openssl = Command::new("openssl");
        openssl.args(words).current_dir(bench.dir.path());
        expect_code(&openssl.output().unwrap(), 0);
    };
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ];
    let (ca, ca_key) = (format!("{authority}.pem"), format!("{authority}.key"));
    let subject = format!("/CN={authority}");
    openssl(
        &[
            &["req", "-x509"][..],
            &key,
            &["-subj", &subject, "-keyout", &ca_key, "-out", &ca],
        ]
        .concat(),
    );
    for name in names {
        let [pem, private] = ["pem", "key"].map(|end| format!("{name}.{end}"));
        let subject = format!("/CN=broker-{name}");
        let mut words = vec![
            "req", "-x509", "-CA", &ca, "-CAkey", &ca_key, "-subj", &subject,
        ];
        words.extend(["-addext", "subjectAltName=IP:127.0.0.1"]);
        words.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
        words.extend(key);
        words.extend(["-keyout", &private, "-out", &pem]);
        openssl(&words);
    }
}

#[test]
fn brokers_have_a_session_by_mutual_tls_with_what_their_flags_say() {
    if !need::program("openssl", "brokers_have_a_session_by_mutual_tls") {
        return;
    }
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    certificates(&bench, "ca", &["a", "b"]);
    let ports = free_ports(4).unwrap();
    let address = |index: usize| format!("127.0.0.1:{}", ports[index]);
    let [scenario, ca] = ["s.toml", "ca.pem"].map(|name| bench.path(name));
    let brokers = [("a", "b", 0), ("b", "a", 1)].map(|(name, peer, own)| {
        let mut words = vec!["broker".to_owned()];
        for (flag, value) in [
            ("--scenario", scenario.clone()),
            ("--name", name.to_owned()),
            ("--listen", address(own)),
            ("--peer-listen", address(own + 2)),
            ("--lrms", format!("{name}1=http://127.0.0.1:9")),
            ("--peer", format!("{peer}=https://{}", address(3 - own))),
            ("--protocol", "soap".to_owned()),
            ("--auth", "mutual-tls".to_owned()),
            ("--tls-cert", bench.path(&format!("{name}.pem"))),
            ("--tls-key", bench.path(&format!("{name}.key"))),
            ("--tls-ca", ca.clone()),
            ("--peer-identity", format!("{peer}=/CN=broker-{peer}")),
            ("--resource-form", "n-to-n".to_owned()),
            ("--policy", "utilization".to_owned()),
            ("--heartbeat", "300ms".to_owned()),
        ] {
            words.extend([flag.to_owned(), value]);
        }
        start(&words)
    });
    for (broker, peer) in brokers.iter().zip(["b", "a"]) {
        let patience = Patience::seconds(180);
        let session = loop {
            let known = get(broker, "/v1/peers");
            let session = known["peers"][0]["session"].clone();
            if session["state"] == "open" && session["resource_form"] == "n-to-n" {
                break session;
            }
            patience.wait(format_args!("a session with {peer}: {known}"));
        };
        assert_eq!(session["authentication"], "mutual-tls", "{session}");
        assert_eq!(get(broker, "/v1/info")["policy"], "utilization");
    }
}

/// As with other programs, a file of authorities may stand for those of the system.
#[test]
fn a_cluster_over_tls_is_trusted_if_an_authority_of_ssl_cert_file_has_issued_its_certificate() {
    if !need::program("openssl", "a_cluster_over_tls_is_trusted") {
        return;
    }
    let bench = Bench::new(ALONE, &[(0, 1, 1), (1, 1, 1)]);
    certificates(&bench, "ca", &["a"]);
    let [scenario, ca, cert, key] = ["s.toml", "ca.pem", "a.pem", "a.key"].map(|it| bench.path(it));
    let named = ["emulator", "--scenario", &scenario, "--name", "cluster"];
    let service = start(&[&named[..], &["--tls-cert", &cert, "--tls-key", &key]].concat());
    let to = format!("cluster={}", service.url);
    let replay = |ca: Option<&str>| {
        let mut command = gridrig();
        command.args(["replay", &scenario, "--to", &to]);
        if let Some(ca) = ca {
            command.env("SSL_CERT_FILE", ca);
        }
        command.output().unwrap()
    };
    expect_refused(&replay(None), "invalid peer certificate");
    let known = ok(replay(Some(&ca)));
    expect_stdout(&known, "2 completed");
}

#[test]
fn secrets_and_forms_that_no_session_can_use_are_refused_by_their_flag() {
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    let scenario = bench.path("s.toml");
    let refused = |more: &[&str], expected: &str| {
        let mut words = vec!["broker", "--scenario", &scenario, "--name", "a"];
        words.extend([
            "--lrms",
            "a1=http://127.0.0.1:9",
            "--peer",
            "b=http://127.0.0.1:9",
        ]);
        words.extend(more);
        expect_refused(&run(&words), expected);
    };
    refused(
        &["--map-identity", "c=x"],
        "--map-identity: expected NAME=VALUE",
    );
    refused(
        &["--map-identity", "b="],
        "--map-identity: expected NAME=VALUE",
    );
    refused(&["--push-past", "2"], "--push-past");
    refused(&["--resource-form", "square"], "--resource-form");
    let schema = root()
        .join("resources/clusters/kth-sp2.xml")
        .display()
        .to_string();
    refused(&["--resource-schema", &schema], "kth-sp2.xml");
    refused(&["--policy", "coin"], "--policy");
}

#[test]
fn an_emulator_has_the_number_and_keeps_the_events_that_it_is_told_to() {
    let words = split("emulator --name x --processors 4 --index 7");
    let service = start(&[&words[..], &["--keep-events", "2"]].concat());
    assert_eq!(get(&service, "/v1/info")["cluster"], 7);
    post(&service, "/v1/jobs", r#"{"processors":1,"run_time":"1h"}"#);
    post(&service, "/v1/jobs", r#"{"processors":4,"run_time":"1h"}"#);
    let patience = Patience::seconds(60);
    let page = loop {
        let page = get(&service, "/v1/events");
        if page["total"] == 3 {
            break page;
        }
        patience.wait(&page);
    };
    // The first has been forgotten.
    assert_eq!(page["first"], 1, "{page}");
    assert_eq!(page["events"].as_array().unwrap().len(), 2, "{page}");
}

#[test]
fn clients_certificates_are_held_to_the_authority_that_is_named() {
    if !need::program("openssl", "clients_certificates_are_held_to_the_authority") {
        return;
    }
    let bench = Bench::new(ALONE, &JOBS);
    certificates(&bench, "ca", &["a", "user"]);
    certificates(&bench, "other", &["mallory"]);
    let path = |name: &str| bench.path(name);
    let mut child = gridrig()
        .args(["emulator", "--name", "x", "--processors", "4"])
        .args(["--tls-cert", &path("a.pem"), "--tls-key", &path("a.key")])
        .args(["--tls-client-ca", &path("ca.pem")])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let url = said["listening"].as_str().unwrap().to_owned();
    let service = Service { child, url };
    assert!(service.url.starts_with("https://"), "{}", service.url);
    let ask = |who: Option<&str>| -> Output {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--cacert", &path("ca.pem")]);
        if let Some(who) = who {
            let (cert, key) = (path(&format!("{who}.pem")), path(&format!("{who}.key")));
            curl.args(["--cert", &cert, "--key", &key]);
        }
        curl.arg(format!("{}/healthz", service.url))
            .output()
            .unwrap()
    };
    assert_eq!(stdout(&ask(None)), "ok");
    assert_eq!(stdout(&ask(Some("user"))), "ok");
    let refused = ask(Some("mallory"));
    assert_ne!(refused.status.code(), Some(0), "{}", stdout(&refused));
}

#[test]
fn a_partition_has_its_name_and_runs_so_many_scripts_at_a_time_each_after_a_while() {
    let words =
        split("--slurm-partition night --slurm-execute --slurm-at-once 1 --slurm-launch-delay 1s");
    let cluster = Emulated::start(4, 2, &words);
    let call = |name: &str, args: &[&str]| {
        let output = ok(cluster.command(name).args(args).output().unwrap());
        stdout(&output)
    };
    assert_eq!(call("sinfo", &["-h", "-o", "%P"]), "night*\n");
    let path = |name: &str| cluster.dir.path().join(name);
    let log = path("log").display().to_string();
    let written = |name: &str| std::fs::metadata(path(name)).unwrap().modified().unwrap();
    std::fs::write(path("asked"), "").unwrap();
    let script =
        format!("touch began.$SLURM_JOB_ID; echo begin >>{log}; sleep 0.3; echo end >>{log}");
    for _ in 0..2 {
        call("sbatch", &["-n", "1", "-o", "/dev/null", "--wrap", &script]);
    }
    call(
        "sbatch",
        &["-n", "1", "-o", "/dev/null", "--wait", "--wrap", "true"],
    );
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said, "begin\nend\nbegin\nend\n");
    let launched = written("began.1").duration_since(written("asked")).unwrap();
    assert!(launched.as_millis() >= 1000, "{launched:?}");
}

#[test]
fn a_real_slurm_is_found_in_its_directory_and_by_its_partition() {
    let cluster = Emulated::start(4, 2, &["--slurm-partition", "night"]);
    let bin = cluster.dir.path().join("bin").display().to_string();
    let line = format!("emulator --name x --lrms slurm --lrms-bin {bin}");
    let words = split(&line);
    let service = start(&[&words[..], &["--lrms-partition", "night"]].concat());
    assert_eq!(get(&service, "/v1/info")["processors"], 8);
    let refused = run(&[&words[..], &["--lrms-partition", "day"]].concat());
    assert_ne!(refused.status.code(), Some(0));
    let said = stderr(&refused);
    assert!(said.contains("Slurm has no partition day"), "{said}");
}

#[test]
fn a_command_of_an_outlet_is_bounded_in_time_and_number() {
    let bench = Bench::new(ALONE, &[(0, 1, 1), (0, 1, 1), (0, 1, 1)]);
    let (scenario, log) = (bench.path("s.toml"), bench.path("log"));
    let lrms = start(&["emulator", "--name", "cluster", "--processors", "4"]);
    let replay = |out: &str, command: &str, more: &[&str]| {
        let outlet = format!("cluster=command:{command}");
        let out = bench.path(out);
        let mut words = vec!["replay", &scenario, "--json", "--out", &out];
        words.extend(["--outlet", &outlet, "--collect", &lrms.url]);
        words.extend(["--set", "run.lag_tolerance=1h", "--lost-after", "1s"]);
        words.extend(more);
        run(&words)
    };
    // What is taken never comes to the LRMS; after a second it counts as lost.
    let taken = format!("sh -c 'echo begin >>$0; sleep 0.2; echo end >>$0' {log}");
    let output = ok(replay("one", &taken, &["--outlet-at-once", "1"]));
    assert_eq!(json(&output)["runs"][0]["jobs"]["unfinished"], 3);
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said, "begin\nend\n".repeat(3));
    let output = replay("two", "sleep 3600", &["--outlet-timeout", "300ms"]);
    expect_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("it was killed after 300ms"), "{said}");
}

#[test]
fn of_a_replay_whose_log_is_forgotten_what_is_left_is_written_and_marked_partial() {
    let bench = Bench::new(ALONE, &[(0, 1, 1), (0, 1, 1), (0, 1, 1)]);
    let (scenario, out) = (bench.path("s.toml"), bench.path("runs"));
    let words = split("emulator --name cluster --processors 4 --keep-events 2");
    let lrms = start(&words);
    let outlet = format!("cluster=json:{}", lrms.url);
    let mut words = vec!["replay", &scenario, "--json", "--out", &out];
    words.extend(["--outlet", &outlet, "--collect", &lrms.url]);
    words.extend(["--set", "run.lag_tolerance=1h"]);
    let output = run(&words);
    expect_code(&output, 1);
    let said = stderr(&output);
    assert!(said.contains("forgotten"), "{said}");
    let run = &json(&output)["runs"][0];
    assert_eq!(run["valid"], false, "{run}");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("log-gap: http://"), "{warnings}");
    assert!(warnings.contains("it is partial"), "{warnings}");
    let manifest = std::fs::read(bench.path("runs/s-1/no-broker/r000/manifest.json"));
    let manifest: Value = serde_json::from_slice(&manifest.unwrap()).unwrap();
    assert_eq!(manifest["partial"], true);
}

#[test]
fn a_comparison_shows_so_many_users_and_draws_with_its_seed() {
    let scenario = format!("{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\n");
    let bench = Bench::new(&scenario, &JOBS);
    // Each job of a user of its own, of different sizes.
    let trace = std::fs::read_to_string(bench.path("t.swf")).unwrap();
    let mut user = 0;
    let trace = trace.lines().map(|line| {
        user += 1;
        line.replace(" 1 7 1 1 1 1 -1 -1", &format!(" 1 {user} 1 1 1 1 -1 -1")) + "\n"
    });
    std::fs::write(bench.path("t.swf"), trace.collect::<String>()).unwrap();
    expect_code(&bench.run(&[]), 0);
    let runs = bench.path("runs/s-1");
    let compare = |flag: &str, value: &str| {
        let words = ["compare", &runs, "--baseline", "round-robin", "--json"];
        json(&ok(run(&[&words[..], &[flag, value]].concat())))
    };
    for users in ["1", "3"] {
        let document = compare("--users", users);
        let by = document["breakdown"].as_array().unwrap().iter();
        let shown = by.filter(|part| part["by"] == "user");
        let groups = shown.map(|part| part["groups"].as_array().unwrap().len());
        let groups: Vec<String> = groups.map(|count| count.to_string()).collect();
        assert_eq!(groups, [users], "{document:#}");
    }
    let told = &compare("--relevant", "delay_s.mean=0.7")["verdict"]["relevant"];
    assert_eq!(told.as_f64(), Some(0.7));
}

#[test]
fn what_is_damaged_is_left_out_of_a_comparison_that_is_told_so() {
    let scenario = format!("{PAIR}replicate = {{ over = \"broker-phase\", count = 5 }}\n");
    let bench = Bench::ran(&scenario, &JOBS);
    let damaged = bench.path("runs/s-1/free-node/r002/jobs.parquet");
    std::fs::write(&damaged, "no table").unwrap();
    let runs = bench.path("runs/s-1");
    for command in ["compare", "report"] {
        let out = bench.path("report.html");
        let mut words = vec![command, &runs, "--baseline", "round-robin"];
        if command == "report" {
            words.extend(["--out", &out]);
        }
        expect_refused(&run(&words), "r002");
        words.push("--skip-damaged");
        let output = ok(run(&words));
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains("r002"), "{said}");
    }
}

#[test]
fn models_of_workloads_take_what_is_said_of_them() {
    let report = |words: &[&str]| {
        json(&ok(run(
            &[&["trace", "synthesize"], words, &["--json"]].concat()
        )))
    };
    let lublin = |hour| report(&["lublin", "--jobs", "200", "--start-hour", hour]);
    assert_ne!(lublin("0")["hourly"], lublin("12")["hourly"]);
    let span = |mean| {
        let report = report(&["poisson", "--interarrival", mean]);
        report["span_s"].as_f64().unwrap()
    };
    let longer = span("20") / span("10");
    assert!((longer - 2.0).abs() < 0.01, "{longer}");
    let dir = tempfile::tempdir().unwrap();
    let users = |most: &str| {
        let out = dir.path().join(most).display().to_string();
        report(&["burst", "--preset", "ctc", "--users", most, "--out", &out]);
        let trace = std::fs::read_to_string(out).unwrap();
        let jobs = trace.lines().filter(|line| !line.starts_with(';'));
        let users = jobs.map(|job| job.split_whitespace().nth(11).unwrap().to_owned());
        users.collect::<std::collections::BTreeSet<_>>().len()
    };
    // Five more have the bursts.
    assert_eq!((users("2"), users("9")), (2 + 5, 9 + 5));
}

#[test]
fn every_schema_that_is_listed_is_printed_and_parses() {
    let help = stdout(&run(&["schema", "--help"]));
    let lines = help
        .lines()
        .skip_while(|line| !line.ends_with("Possible values:"));
    let lines = lines.skip(1).take_while(|line| !line.trim().is_empty());
    let formats: Vec<&str> = lines
        .filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next())
        .collect();
    assert!(formats.len() >= 5, "{help}");
    for format in formats {
        let output = ok(run(&["schema", format.trim()]));
        let text = stdout(&output);
        let is_xml = text.starts_with("<?xml") && text.contains("schema");
        assert!(
            is_xml || serde_json::from_str::<Value>(&text).is_ok(),
            "{format}: {text}"
        );
    }
}

#[test]
fn shells_are_told_every_command_in_their_own_words() {
    for (shell, words) in [
        ("bash", ["_gridrig()", "complete -F"]),
        ("zsh", ["#compdef gridrig", "(synthesize)"]),
        ("fish", ["complete -c gridrig", "-a \"synthesize\""]),
    ] {
        let output = ok(run(&["completions", shell]));
        let text = stdout(&output);
        for word in words {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    let page = stdout(&run(&["man"]));
    expect_part(&page, ".TH gridrig 1");
    expect_part(&page, "trace");
}

#[test]
fn help_of_every_command_shows_an_example() {
    let help = |words: &[&str]| {
        let output = ok(run(&[words, &["--help"]].concat()));
        stdout(&output)
    };
    // The names under "Commands:", up to the next empty line.
    let below = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| !line.is_empty());
        let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = lines.filter_map(|line| line.split_whitespace().next());
        names
            .filter(|name| *name != "help")
            .map(str::to_owned)
            .collect()
    };
    // Those of gridrig itself stand in groups.
    let all = help(&[]);
    let groups = all.split("\nOptions:").next().unwrap();
    let commands = below(&format!("Commands:\n{}", groups.replace("\n\n", "\n")));
    assert!(commands.len() >= 19, "{commands:?}");
    for command in &commands {
        let text = help(&[command]);
        let inner = below(&text);
        let bare = ["completions", "man"].contains(&command.as_str());
        assert!(
            bare || !inner.is_empty() || text.contains("Example"),
            "{command}"
        );
        for name in &inner {
            let text = help(&[command, name]);
            assert!(text.contains("Usage: gridrig"), "{command} {name}: {text}");
        }
    }
}
