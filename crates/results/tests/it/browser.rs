//! A page in a real browser.

use crate::plots::gallery;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether Chromium is here; says that the test is skipped where it is not,
/// and fails it where nothing may be skipped.
fn need_chromium(test: &str) -> bool {
    let browser = std::env::var("GRIDRIG_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let found = Command::new(browser).arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{test} needs chromium");
    println!("SKIPPED: {test}: no chromium");
    false
}

fn screenshots(dir: &Path, page: &Path) -> Output {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/screenshots");
    let mut command = Command::new(script);
    command.args(["--width", "800", "--height", "600"]);
    command.arg(dir).arg(page).output().unwrap()
}

#[test]
fn a_browser_shows_the_gallery_without_complaint_or_traffic() {
    if !need_chromium("a_browser_shows_the_gallery_without_complaint_or_traffic") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("gallery.html");
    std::fs::write(&page, gallery::page(&gallery::figures())).unwrap();
    let output = screenshots(dir.path(), &page);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let (light, dark) = (
        dir.path().join("gallery-light.png"),
        dir.path().join("gallery-dark.png"),
    );
    let pictures = [light, dark].map(|file| std::fs::read(file).unwrap());
    assert!(
        pictures
            .iter()
            .all(|bytes| bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000)
    );
    assert!(pictures[0] != pictures[1], "the schemes differ");
}

/// The test above would pass as well if the script saw nothing.
#[test]
fn complaints_and_traffic_of_a_page_are_seen() {
    if !need_chromium("complaints_and_traffic_of_a_page_are_seen") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"style-src 'none'\">";
    for (name, body, expected) in [
        (
            "style",
            format!("{policy}<style>p{{color:red}}</style>"),
            "wrote to the console",
        ),
        (
            "image",
            "<img src=\"http://gridrig.invalid/x.png\">".to_owned(),
            "http://gridrig.invalid/x.png",
        ),
    ] {
        let page = dir.path().join(format!("{name}.html"));
        std::fs::write(
            &page,
            format!("<!DOCTYPE html><title>t</title>{body}<p>x</p>"),
        )
        .unwrap();
        let output = screenshots(dir.path(), &page);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {told}");
        assert!(told.contains(expected), "{name}: {told}");
    }
}
