//! Other users of the machine, who reach the loopback as well: they get nowhere
//! without the token, and nobody runs commands unless that is allowed.

use super::http::send;
use super::{Dashboard, draft, shipped};
use crate::command::{Bench, expect_code, expect_part, gridrig, root, stderr};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A scenario with a broker that is a program: this command sets it up.
fn external(start: &str) -> String {
    format!(
        "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n[[domain]]\nname = \"a\"\n\
         clusters = [{{ name = \"a1\", processors = 4 }}]\n[domain.broker]\nkind = \"external\"\n\
         start = [\"sh\", \"-c\", '''{start}''']\noutlet = \"slurm:{{a1.slurm}}\"\n\
         [run]\nclock = \"real\"\nlag_tolerance = \"1h\"\n"
    )
}

/// A dashboard beside a scenario, and a draft of it with another text.
fn beside_a_scenario(words: &[&str], environment: &[(&str, &str)]) -> (Dashboard, Value) {
    let bench = Bench::new(&external("exit 1"), &[(0, 1, 1)]);
    let file = bench.path("s.toml");
    let dashboard = Dashboard::start_over(bench.dir, words, environment);
    let mark = dashboard.dir.path().join("mark");
    let text = external(&format!("env > {}; exit 1", mark.display()));
    (dashboard, json!({ "file": file, "text": text }))
}

/// The routes as they stand in the sources.
fn routes(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            routes(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let calls = text.split(".route(").skip(1);
        found.extend(calls.map(|call| call.split('"').nth(1).unwrap().to_owned()));
    }
}

#[test]
fn no_route_answers_without_the_token_on_loopback_either() {
    let dashboard = Dashboard::start(&[], &[]);
    let mut all = vec![
        "/metrics".to_owned(),
        "/healthz".to_owned(),
        "/nowhere".to_owned(),
    ];
    routes(&root().join("gridrig/src/dashboard"), &mut all);
    for known in ["/", "/api/live/events", "/api/control/start", "/login"] {
        assert!(all.iter().any(|route| route == known), "{known}: {all:?}");
    }
    assert!(all.len() > 20, "{all:?}");
    for route in all {
        // What a login needs says nothing of the runs.
        if route == "/login" || route.starts_with("/assets/") {
            continue;
        }
        let target: String = route.chars().filter(|c| !"{}*".contains(*c)).collect();
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let refused = send(&dashboard.url, method, &target, &[], "{}").expect(401);
            match target.starts_with("/api/") {
                true => assert_eq!(refused.code(), "no-token", "{method} {target}"),
                false => assert!(refused.body.contains("needs its token"), "{target}"),
            }
        }
    }
}

#[test]
fn who_has_no_token_runs_nothing() {
    for words in [&[][..], &["--allow-commands"]] {
        let (dashboard, attack) = beside_a_scenario(words, &[]);
        let headers = [("content-type", "application/json")];
        for action in ["start", "check", "stop"] {
            let target = format!("/api/control/{action}");
            let refused = send(
                &dashboard.url,
                "POST",
                &target,
                &headers,
                &attack.to_string(),
            );
            assert_eq!(refused.expect(401).code(), "no-token", "{action}");
        }
        assert_eq!(dashboard.get("/api/control").json()["running"], Value::Null);
        assert!(!dashboard.dir.path().join("mark").exists());
    }
}

#[test]
fn a_page_names_no_program_directory_file_or_real_lrms() {
    let (dashboard, attack) = beside_a_scenario(&[], &[]);
    let refused = |draft: &Value, field: &str| {
        for action in ["start", "check"] {
            let page = dashboard.post(&format!("/api/control/{action}"), draft);
            let mistake = page.expect(422).json();
            let detail = mistake["detail"].as_str().unwrap();
            let named = detail.contains(&format!("field {field} = "));
            assert!(named && detail.ends_with("--allow-commands"), "{detail}");
            assert!(mistake["line"].is_u64(), "{mistake}");
        }
    };
    refused(&attack, "domain.a.broker.kind");
    assert!(!dashboard.dir.path().join("mark").exists());
    let site = "[cluster]\nprocessors = 4\n";
    for (text, field) in [
        ("lrms = \"slurm\"", "cluster.lrms"),
        ("lrms_settings.bin = \"/tmp\"", "cluster.lrms_settings"),
        ("slurm_bin = \"/tmp/s\"", "cluster.slurm_bin"),
    ] {
        let text = format!("workload.trace = \"t.swf\"\n{site}{text}\n[run]\nclock = \"real\"\n");
        refused(&json!({ "file": attack["file"], "text": text }), field);
    }
    let secret = dashboard.dir.path().join("secret");
    fs::write(&secret, "1 0 -1 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n").unwrap();
    let there = secret.to_str().unwrap();
    for file in [there, "secret", "../t.swf", "/etc/passwd", "/no/such/file"] {
        for key in ["trace", "model"] {
            let text = format!("workload.{key} = \"{file}\"\n{site}");
            let draft = json!({ "file": attack["file"], "text": text });
            refused(&draft, &format!("workload.{key}"));
        }
        let text = format!("workload.trace = \"t.swf\"\n[cluster]\nresources = \"{file}\"\n");
        refused(
            &json!({ "file": attack["file"], "text": text }),
            "cluster.resources",
        );
    }
    // What a listed scenario names may be read, under any text.
    let text = format!("workload.trace = \"t.swf\"\n{site}lrms = \"emulated\"\n");
    let harmless = json!({ "file": attack["file"], "text": text });
    dashboard.post("/api/control/check", &harmless).expect(200);
    for name in ["two-sites.toml", "realtime-smoke.toml", "la-grid-3.toml"] {
        let checked = dashboard.post("/api/control/check", &draft(name, &shipped(name)));
        checked.expect(200);
    }
}

#[test]
fn commands_that_are_allowed_run_without_the_secrets_of_the_dashboard() {
    let token = "0123456789abcdefXYZ";
    let secrets = [
        ("GRIDRIG_TOKEN", token),
        ("API_KEY", "of-somebody"),
        ("TZ", "UTC"),
    ];
    let (dashboard, attack) = beside_a_scenario(&["--allow-commands"], &secrets);
    dashboard.post("/api/control/start", &attack).expect(202);
    dashboard.until(|state| state["session"]["state"] == "failed");
    let told = fs::read_to_string(dashboard.dir.path().join("mark")).unwrap();
    let names: Vec<&str> = told
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert!(names.contains(&"PATH") && names.contains(&"TZ"), "{told}");
    for secret in ["GRIDRIG_TOKEN", "API_KEY", "XDG_STATE_HOME"] {
        assert!(!names.contains(&secret), "{secret}: {told}");
    }
    assert!(
        !told.contains(token) && !told.contains("of-somebody"),
        "{told}"
    );
}

#[test]
fn the_token_is_kept_for_its_user_alone_and_is_the_same_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Neither a state directory of its own nor a relative one: below HOME.
    let start = |state: &str| {
        let words = [
            ("XDG_STATE_HOME", state),
            ("HOME", home.path().to_str().unwrap()),
        ];
        let mut dashboard = Dashboard::start(&[], &words);
        let said = dashboard.stderr_line();
        let link = said.trim().rsplit(' ').next().unwrap().to_owned();
        let token = link.rsplit("token=").next().unwrap().to_owned();
        assert_eq!(
            link,
            format!("{}/login?token={token}", dashboard.url),
            "{said}"
        );
        dashboard.token.clone_from(&token);
        dashboard.get("/api/live").expect(200);
        token
    };
    let token = start("");
    let file = home.path().join(".local/state/gridrig/dashboard-token");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{token}\n"));
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(start("relative"), token);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let output = gridrig()
        .args(["dashboard"])
        .env("XDG_STATE_HOME", home.path().join(".local/state"))
        .output()
        .unwrap();
    expect_code(&output, 2);
    let said = stderr(&output);
    expect_part(
        &said,
        "dashboard-token: expected a file that is yours and has mode 600",
    );
    assert!(output.stdout.is_empty() && !said.contains(&token));
}
