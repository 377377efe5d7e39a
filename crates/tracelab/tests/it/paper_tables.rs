//! `docs/traces-tables.md` is what its command prints.

#[path = "../../examples/paper_tables.rs"]
#[allow(dead_code, reason = "its main is for the command line")]
pub(crate) mod example;

use crate::archive::need;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(part: &str) {
    let page = fs::read_to_string(root().join("docs/traces-tables.md")).unwrap();
    assert!(
        page.contains(part),
        "docs/traces-tables.md is not current; its command prints:\n{part}"
    );
}

#[test]
fn the_page_of_the_paper_tables_has_the_shipped_week_as_it_is() {
    let trace = root().join("traces/grid5000-like.swf.gz");
    check(&example::grid5000_tables(&trace).unwrap());
}

#[test]
fn the_page_of_the_paper_tables_has_the_ctc_week_as_it_is() {
    if let Some(folder) = need() {
        let trace = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
        check(&example::ctc_tables(&trace).unwrap());
    }
}
