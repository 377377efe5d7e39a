//! Who may ask, and what every answer carries.

use super::Dashboard;
use super::http::send;
use crate::command::{expect_code, expect_part, expect_refused, run, stderr};

#[test]
fn every_answer_carries_a_strict_policy() {
    let dashboard = Dashboard::start(&[], &[]);
    for target in [
        "/",
        "/api/live",
        "/assets/base.css",
        "/nowhere",
        "/api/nowhere",
        "/live/no/such/run",
    ] {
        let page = dashboard.get(target);
        let policy = &page.headers["content-security-policy"];
        assert!(
            policy.starts_with("default-src 'self';"),
            "{target}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{target}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(page.headers[name], value, "{target}");
        }
    }
    assert_eq!(
        dashboard.get("/api/nowhere").expect(404).code(),
        "no-such-route"
    );
    assert!(
        dashboard
            .get("/nowhere")
            .expect(404)
            .body
            .contains("There is no such page")
    );
    dashboard.get("/assets/../Cargo.toml").expect(404);
}

#[test]
fn pages_have_no_inline_script_or_style() {
    let dashboard = Dashboard::start(&[], &[]);
    let html = dashboard.get("/").expect(200).body;
    assert!(
        !html.contains("<style") && !html.contains("style=\""),
        "{html}"
    );
    for script in html.split("<script").skip(1) {
        assert!(
            script.trim_start().starts_with("src=\"/assets/"),
            "{script}"
        );
    }
    for handler in ["onclick", "onload", "javascript:", "http://", "https://"] {
        assert!(!html.contains(handler), "{handler}");
    }
}

#[test]
fn another_host_is_refused() {
    let dashboard = Dashboard::start(&["--allow-host", "lab.example"], &[]);
    let port = dashboard.url.rsplit(':').next().unwrap();
    let ask = |host: &str| dashboard.send("GET", "/", &[("host", host)], "");
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1:1",
        "",
        "127.0.0.1.evil.example",
    ] {
        assert_eq!(ask(host).expect(403).code(), "wrong-host", "{host}");
    }
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        "lab.example".to_owned(),
    ] {
        ask(&host).expect(200);
    }
}

#[test]
fn another_origin_is_refused_for_reading_and_for_writing() {
    let dashboard = Dashboard::start(&[], &[]);
    let ask = |method, target, headers: &[(&str, &str)]| {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        dashboard.send(method, target, &all, "{\"id\":1}")
    };
    let own = dashboard.url.clone();
    for origin in [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://evil.example:443",
    ] {
        let refused = ask("POST", "/api/control/stop", &[("origin", origin)]);
        assert_eq!(refused.expect(403).code(), "wrong-origin", "{origin}");
        ask("GET", "/api/live", &[("origin", origin)]).expect(403);
    }
    let cross = [("sec-fetch-site", "cross-site")];
    assert_eq!(
        ask("POST", "/api/control/stop", &cross).expect(403).code(),
        "wrong-origin"
    );
    // Nothing runs, so nothing can be stopped: the guard has let it through.
    let through = ask("POST", "/api/control/stop", &[("origin", &own)]);
    assert_eq!(through.expect(404).code(), "no-such-scenario");
    // A form cannot send JSON.
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let posted = dashboard.send("POST", "/api/control/stop", &form, "id=1");
    assert_eq!(posted.expect(415).code(), "bad-body");
}

#[test]
fn whoever_says_the_token_is_let_in_by_a_cookie() {
    let token = "0123456789abcdefXYZ";
    let dashboard = Dashboard::start(&[], &[("GRIDRIG_TOKEN", token)]);
    let ask =
        |target: &str, headers: &[(&str, &str)]| send(&dashboard.url, "GET", target, headers, "");
    let refused = ask("/", &[]).expect(401);
    assert!(refused.body.contains("needs its token") && !refused.body.contains(token));
    assert_eq!(ask("/api/live", &[]).expect(401).code(), "no-token");
    let ask = |name: &str, value: &str| ask("/api/live", &[(name, value)]);
    ask("authorization", &format!("Bearer {token}")).expect(200);
    ask("authorization", "Bearer 0123456789abcdefXYz").expect(401);
    let form = ("content-type", "application/x-www-form-urlencoded");
    let enter = |headers: &[(&str, &str)], token: &str| {
        let body = format!("token={token}");
        send(&dashboard.url, "POST", "/login", headers, &body)
    };
    let wrong = enter(&[form], "wrong").expect(401);
    assert!(wrong.body.contains("This is not the token"));
    assert!(!wrong.headers.contains_key("set-cookie"));
    let entered = enter(&[form], token).expect(303);
    // Cookies go to all ports of a name.
    let port = dashboard.url.rsplit(':').next().unwrap();
    let cookie = &entered.headers["set-cookie"];
    let expected = format!("gridrig_token_{port}={token}; Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(*cookie, expected);
    let behind_tls = enter(&[form, ("x-forwarded-proto", "https")], token);
    let secure = &behind_tls.expect(303).headers["set-cookie"];
    assert_eq!(*secure, format!("{expected}; Secure"));
    ask("cookie", cookie.split(';').next().unwrap()).expect(200);
    ask("cookie", &format!("gridrig_token={token}")).expect(401);
    let linked = dashboard.get(&format!("/login?token={token}")).expect(303);
    assert_eq!(linked.headers["location"], "/");
}

#[test]
fn an_address_that_others_reach_is_guarded_like_any_other() {
    let mut dashboard = Dashboard::start(&["--listen", "0.0.0.0:0", "--insecure"], &[]);
    let said = dashboard.stderr_line();
    let token = said.trim().rsplit("token=").next().unwrap().to_owned();
    assert_eq!(token, dashboard.token, "{said}");
    let port = dashboard.url.rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}");
    send(&url, "GET", "/api/live", &[], "").expect(401);
    let bearer = format!("Bearer {token}");
    send(&url, "GET", "/api/live", &[("authorization", &bearer)], "").expect(200);
    let host = [("host", "evil.example"), ("authorization", &*bearer)];
    send(&url, "GET", "/api/live", &host, "").expect(403);
}

#[test]
fn an_address_in_use_is_one_message_and_exit_2() {
    let dashboard = Dashboard::start(&[], &[]);
    let address = dashboard.url.strip_prefix("http://").unwrap();
    let taken = run(&["dashboard", "--listen", address]);
    expect_code(&taken, 2);
    assert!(taken.stdout.is_empty());
    let said = stderr(&taken);
    expect_part(&said, &format!("--listen {address}"));
    expect_part(&said, "in use");
    assert_eq!(said.lines().count(), 1, "{said}");
    let taken = run(&[
        "run",
        "resources/scenarios/two-sites.toml",
        "--no-out",
        &format!("--dashboard={address}"),
    ]);
    expect_refused(&taken, "--dashboard");
}

#[test]
fn a_weak_token_is_refused() {
    let output = crate::command::gridrig()
        .args(["dashboard"])
        .env("GRIDRIG_TOKEN", "short")
        .output()
        .unwrap();
    expect_code(&output, 2);
    let said = stderr(&output);
    assert!(
        said.contains("GRIDRIG_TOKEN: expected at least 16") && !said.contains("short"),
        "{said}"
    );
}

#[test]
fn text_is_packed_for_whoever_can_unpack_it_and_the_page_stays_small() {
    let dashboard = Dashboard::start(&[], &[]);
    let html = dashboard.get("/").expect(200).body;
    let modules = [
        "format", "course", "clusters", "drawer", "control", "lending",
    ];
    let modules = modules.map(|name| format!("/assets/{name}.js"));
    let mut assets: Vec<&str> = html
        .split('"')
        .filter(|part| part.starts_with("/assets/"))
        .collect();
    assets.extend(modules.iter().map(String::as_str));
    let mut sum = 0;
    for target in assets.into_iter().chain(["/"]) {
        let packed = dashboard
            .send("GET", target, &[("accept-encoding", "gzip, br")], "")
            .expect(200);
        let plain = dashboard.get(target).expect(200);
        if plain.bytes.len() > 1024 {
            assert_eq!(packed.headers["content-encoding"], "gzip", "{target}");
            assert!(packed.bytes.len() < plain.bytes.len(), "{target}");
        }
        sum += packed.bytes.len();
    }
    assert!(sum < 100_000, "{sum} bytes");
    let tag = dashboard.get("/assets/base.css").headers["etag"].clone();
    let again = dashboard.send("GET", "/assets/base.css", &[("if-none-match", &tag)], "");
    assert_eq!((again.status, again.bytes.len()), (304, 0));
}
