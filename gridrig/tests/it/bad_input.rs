//! Bad input: one clear message, exit 2, nothing half written.

use crate::command::{
    ALONE, Bench, JOBS, PAIR, expect_code, expect_refused, expect_stderr, rows, run, split, stderr,
    stdout,
};
use crate::need::archive;

/// The run is refused with exit 2 and a message that holds all of these.
fn refused(bench: &Bench, words: &[&str], expected: &[&str]) {
    let output = bench.run(words);
    expect_code(&output, 2);
    let message = stderr(&output);
    for part in expected {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
    assert_eq!(stdout(&output), "");
    assert!(
        !bench.dir.path().join("runs").exists(),
        "something was written"
    );
}

#[test]
fn a_trace_that_is_missing_damaged_or_no_trace_is_named() {
    let bench = Bench::new(ALONE, &JOBS);
    let damaged = &b"\x1f\x8b\x08\x00\x00\x00\x00\x00not deflate at all"[..];
    let table = &b"# reservations\n1\t100\t200\n2\t150\t-1\n"[..];
    for (name, bytes) in [
        ("nowhere.swf", None),
        ("damaged.swf.gz", Some(damaged)),
        ("table.log", Some(table)),
        ("empty.swf", Some(&b"; Version: 2.2\n"[..])),
    ] {
        let trace = bench.path(name);
        if let Some(bytes) = bytes {
            std::fs::write(&trace, bytes).unwrap();
        }
        refused(
            &bench,
            &["--set", &format!("workload.trace={trace}")],
            &[name],
        );
    }
}

#[test]
fn a_broken_line_is_named_with_its_number_and_field() {
    let bench = Bench::new(ALONE, &JOBS);
    let trace = bench.path("broken.swf");
    let line = "2 1 -1 x 2 -1 -1 2 -1 -1 1 7 1 1 1 1 -1 -1\n";
    let text = std::fs::read_to_string(bench.path("t.swf")).unwrap();
    std::fs::write(&trace, text.replacen("2 1 -1 20", line.trim_end(), 1)).unwrap();
    refused(
        &bench,
        &["--set", &format!("workload.trace={trace}")],
        &["broken.swf:3", "\"x\""],
    );
}

#[test]
fn the_reservation_table_of_the_archive_is_recognised() {
    let Some(archive) = archive("the_reservation_table_of_the_archive_is_recognised") else {
        return;
    };
    let trace = archive.join("GWA-T-2-grid5000-reservation-jobs.log.gz");
    let bench = Bench::new(ALONE, &JOBS);
    let set = format!("workload.trace={}", trace.display());
    refused(&bench, &["--set", &set], &["reservation"]);
}

/// What else cannot be said is refused by the reader (`scenario_refused`).
#[test]
fn a_scenario_that_cannot_be_is_refused_with_the_place() {
    for (from, to, expected) in [
        ("domain = \"a\"", "domain = \"c\"", ["s.toml:4", "\"c\""]),
        ("\"50ms\"", "\"-1s\"", ["s.toml:", "latency"]),
        (
            "policies",
            "polices",
            ["s.toml:", "`polices`, did you mean `policies`"],
        ),
    ] {
        assert!(PAIR.contains(from), "{from}");
        refused(
            &Bench::new(&PAIR.replacen(from, to, 1), &JOBS),
            &[],
            &expected,
        );
    }
}

#[test]
fn resources_that_cannot_be_are_refused_with_the_place() {
    let scenario = ALONE.replace("processors = 4", "resources = \"c.xml\"");
    let good = "<EmulatedResources xmlns=\"http://cs.fiu.edu/emulator/resources\"><Resource>\
                <Count>4</Count><Architecture>x86</Architecture><CPUCount>1</CPUCount>\
                <OS>LINUX</OS><PhysicalMemory>1024</PhysicalMemory></Resource></EmulatedResources>";
    let with = |xml: &str| {
        let bench = Bench::new(&scenario, &JOBS);
        std::fs::write(bench.path("c.xml"), xml).unwrap();
        bench
    };
    expect_code(&with(good).run(&[]), 0);
    for (from, to) in [
        ("cs.fiu.edu", "example.org"),
        ("<Count>4", "<Count>0"),
        ("<Count>4", "<Count>-1"),
        ("<OS>", "<Colour>red</Colour><OS>"),
        (
            "<EmulatedResources ",
            "<!DOCTYPE x [<!ENTITY e \"1\">]><EmulatedResources ",
        ),
        ("LINUX", "&e;"),
    ] {
        refused(&with(&good.replacen(from, to, 1)), &[], &["c.xml"]);
    }
}

#[test]
fn a_trace_of_which_no_job_can_run_anywhere_is_refused() {
    refused(
        &Bench::new(PAIR, &[(0, 10, 5), (1, 10, 9)]),
        &[],
        &["no job can run anywhere"],
    );
}

#[test]
fn a_port_in_use_is_said_and_exits_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["emulator", "--processors", "4", "--listen", &address]);
    expect_refused(&output, &address);
}

#[test]
fn truth_in_real_time_and_kills_in_virtual_time_are_refused() {
    let bench = Bench::new(PAIR, &JOBS);
    let truth = [
        "--clock",
        "real",
        "--set",
        "run.policies=[\"full-information\"]",
    ];
    refused(&bench, &truth, &["full-information"]);
    refused(&bench, &["--kill", "a1@5s"], &["--clock real"]);
    refused(&bench, &["--clock", "real", "--kill", "c1@5s"], &["c1"]);
}

/// Nobody can listen there, so that nothing is served whose address is taken.
const NOWHERE: &str = "192.0.2.1:1";

#[test]
fn the_address_of_a_service_is_a_url_or_refused_with_its_flag() {
    let lines = "
        emulator --processors 1 --broker BAD => for '--broker <URL>'
        broker --name a --lrms a1=BAD => for '--lrms <NAME=URL>'
        broker --scenario s.toml --name a --lrms a1=http://h --peer b=BAD => for '--peer <NAME=URL>'
        broker role BAD b both => for '<URL>'
        replay s.toml --to a=BAD => for '--to <NAME=URL>'
        replay s.toml --to a=http://h --collect BAD => for '--collect <URL>'
        gridway im --cluster a=BAD => for '--cluster <NAME=URL>'
        load json:BAD => for '<OUTLET>'";
    for bad in ["127.0.0.1:8201", "localhost", "http://", "http://h:82o1"] {
        for (line, flag) in rows(lines) {
            let mut line = line.replace("BAD", bad);
            if line.contains("--name") || line.contains("--processors") {
                line.push_str(&format!(" --listen {NOWHERE}"));
            }
            let output = run(&split(&line));
            for said in [flag, bad, "expected ", "http://"] {
                expect_refused(&output, said);
            }
        }
    }
    let bench = Bench::new(PAIR, &JOBS);
    let scenario = bench.path("s.toml");
    let output = run(&["replay", &scenario, "--outlet", "a=http:127.0.0.1:8201"]);
    expect_code(&output, 2);
    expect_stderr(&output, "--outlet a=http:127.0.0.1:8201: expected json:URL");
}
