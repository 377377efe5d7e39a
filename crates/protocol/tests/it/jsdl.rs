//! JSDL documents: what is written is read as it was and holds against the
//! schemas; what is not supported is refused by its path.

pub mod generate;
mod refused;

use crate::lagrid::xsd::xmllint;
use generate::drawn;
use gridrig_core::generic::Generics;
use gridrig_core::job::{Components, JobSpec, Requirements};
use gridrig_core::time::SimDuration;
use gridrig_protocol::jsdl::{HPC_PROFILE, JSDL, JobDefinition, OWN, POSIX, SPMD};
use gridrig_protocol::xml::Element;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The rows of a table, each a text and what is said of it.
pub fn table(rows: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = rows.lines().filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" => ").unwrap())
}

/// A schema that takes in those of JSDL and our own; `None`, said out loud,
/// where xmllint or the schemas are not at hand.
#[allow(clippy::print_stdout, reason = "says that a test is skipped")]
fn oracle(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let surface = std::env::var_os("GRIDRIG_SURFACE")
        .map_or_else(|| root.join("../shared/surface"), PathBuf::from);
    let schemas = surface.join("schemas");
    if !xmllint(test) {
        return None;
    }
    if !schemas.is_dir() {
        let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
        assert!(!required, "{test} needs GRIDRIG_SURFACE");
        println!("SKIPPED: {test}: no schemas (GRIDRIG_SURFACE)");
        return None;
    }
    let files = [
        (JSDL, schemas.join("jsdl.xsd")),
        (POSIX, schemas.join("jsdl-posix.xsd")),
        (HPC_PROFILE, schemas.join("jsdl-hpcpa.xsd")),
        (SPMD, schemas.join("jsdl-spmd.xsd")),
        (OWN, root.join("resources/xsd/gridrig-jsdl.xsd")),
    ];
    let imports = files.map(|(namespace, file)| {
        let file = file.canonicalize().unwrap();
        let file = file.display();
        format!("<import namespace=\"{namespace}\" schemaLocation=\"{file}\"/>")
    });
    let imports = imports.concat();
    let text = format!("<schema xmlns=\"http://www.w3.org/2001/XMLSchema\">{imports}</schema>");
    let name = format!("gridrig-jsdl-{}-{test}.xsd", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    Some(path)
}

/// What xmllint has against a document.
pub fn complaint(oracle: &Path, document: &str) -> Option<String> {
    let mut lint = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(oracle)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = lint.stdin.take();
    stdin.unwrap().write_all(document.as_bytes()).unwrap();
    let output = lint.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(said)
}

fn read(text: &str) -> Result<JobDefinition, String> {
    JobDefinition::read("job.jsdl", text.as_bytes()).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_document_survives_the_wire(job in generate::definition()) {
        let text = job.write();
        prop_assert_eq!(read(&text), Ok(job.clone()), "{}", text);
        // The lenient reader finds the same and nothing to leave out.
        let root = Element::parse(text.as_bytes()).unwrap();
        let lenient = JobDefinition::read_lenient("job.jsdl", &root).unwrap();
        prop_assert_eq!(lenient.ignored, Vec::<String>::new());
        prop_assert_eq!(lenient.job, job);
    }

    #[test]
    fn a_job_of_ours_survives_the_way_through_a_document(spec in spec()) {
        let text = JobDefinition::of(&spec, Some("a <name>".to_owned())).unwrap().write();
        let read = read(&text).unwrap();
        let length = read.virtual_length().unwrap().unwrap();
        let seen = read.to_job(length, &[]).unwrap();
        prop_assert_eq!(seen, spec);
    }

    #[test]
    fn text_that_is_no_document_is_refused(text in "\\PC{0,200}") {
        prop_assert!(read(&text).is_err());
    }

    #[test]
    fn a_changed_document_is_another_one_or_refused(
        job in generate::definition(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        let mut bytes = job.write().into_bytes();
        // Without the end of its last line a document is whole.
        let at = at.index(bytes.trim_ascii_end().len());
        bytes[at] = with;
        if let Ok(other) = JobDefinition::read("job.jsdl", &bytes) {
            let text = other.write();
            prop_assert_eq!(read(&text), Ok(other), "{}", text);
        }
        bytes.truncate(at);
        prop_assert!(JobDefinition::read("job.jsdl", &bytes).is_err());
    }
}

/// Jobs with names that JSDL's lists have or have not, in their spelling.
fn spec() -> impl Strategy<Value = JobSpec> {
    let named = |names: [&'static str; 3]| {
        prop::option::of(prop::sample::select(names.to_vec()).prop_map(Arc::<str>::from))
    };
    let generic = prop::sample::select(vec!["gpu:a100:2,nic:1", ""]);
    let requirements = drawn!(Requirements {
        architecture: named(["x86_64", "powerpc", "riscv64"]),
        os: named(["LINUX", "AIX", "Plan 9"]),
        memory_kib: 0..1_u64 << 42,
        disk_mib: 0..1_u64 << 32,
        speed_millionths: 0..1_u64 << 32,
        most_per_node: 0..3_u32,
        generic: generic.prop_map(|text| text.parse::<Generics>().unwrap()),
    });
    let time = || (0..u64::MAX / 2).prop_map(SimDuration::from_nanos);
    let times = (time(), prop::option::of(time()));
    let sizes = (1..u32::MAX, 0..1_u64 << 42);
    (requirements, times, sizes).prop_map(|(requirements, times, (processors, data_kib))| JobSpec {
        requested_time: times.1,
        data_kib,
        ..JobSpec::of(Components::one(processors, requirements), times.0)
    })
}

#[test]
fn what_is_written_holds_against_the_schemas() {
    let Some(oracle) = oracle("what_is_written_holds_against_the_schemas") else {
        return;
    };
    let mut runner = prop::test_runner::TestRunner::deterministic();
    let mut complaints = Vec::new();
    for _ in 0..40 {
        let job = generate::definition().new_tree(&mut runner).unwrap();
        let text = job.current().write();
        complaints.extend(complaint(&oracle, &text).map(|said| format!("{said}\n{text}")));
        let spec = spec().new_tree(&mut runner).unwrap().current();
        let text = JobDefinition::of(&spec, None).unwrap().write();
        complaints.extend(complaint(&oracle, &text).map(|said| format!("{said}\n{text}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
    let wrong = format!("<JobDefinition xmlns=\"{JSDL}\"><Wrong/></JobDefinition>");
    assert!(
        complaint(&oracle, &wrong).is_some(),
        "an oracle that complains of nothing"
    );
    let _ = std::fs::remove_file(oracle);
}
