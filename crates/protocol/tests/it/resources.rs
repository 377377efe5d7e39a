//! Cluster files: what is read, what is refused and how, and that the schema
//! that ships says the same as the reader.

use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use gridrig_protocol::resources::{MAX_BYTES, NAMESPACE, parse, read, write};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The elements that every group has.
const FIVE: &str = "<Count>2</Count><Architecture>x86</Architecture><CPUCount>4</CPUCount>\
                    <OS>LINUX</OS><PhysicalMemory>512</PhysicalMemory>";

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../resources")
        .join(path)
}

/// A file of one group with this content.
fn group(content: &str) -> String {
    format!(
        "<EmulatedResources xmlns=\"{NAMESPACE}\">\n<Resource>\n{content}\n</Resource>\n</EmulatedResources>"
    )
}

/// The five elements with one of them replaced.
fn with(element: &str, replacement: &str) -> String {
    let start = FIVE.find(&format!("<{element}>")).unwrap();
    let close = format!("</{element}>");
    let end = FIVE.find(&close).unwrap() + close.len();
    group(&format!("{}{replacement}{}", &FIVE[..start], &FIVE[end..]))
}

fn refused(text: &str) -> String {
    parse("site.xml", text).unwrap_err().to_string()
}

#[test]
fn listing_1_of_the_paper_is_read_as_it_stands() {
    let cluster = read(&shipped("clusters/lsap-listing-1.xml")).unwrap();
    assert_eq!((cluster.nodes(), cluster.processors()), (96, 256));
    let second = &cluster.groups()[1];
    assert_eq!((second.count, second.cpu_count), (32, 4));
    assert_eq!(second.architecture.as_deref(), Some("powerpc"));
    assert_eq!(second.os.as_deref(), Some("AIX"));
    assert_eq!(second.memory_mib, Some(4096));
    assert_eq!((second.disk_mib, second.speed), (None, Decimal::ONE));
}

/// Every cluster file that ships, those of subdirectories too.
fn shipped_clusters() -> Vec<PathBuf> {
    let mut directories = vec![shipped("clusters")];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

#[test]
fn every_shipped_cluster_is_read() {
    let mut count = 0;
    for path in shipped_clusters() {
        read(&path).unwrap_or_else(|error| panic!("{error}"));
        count += 1;
    }
    assert!(count >= 30, "{count}");
}

#[test]
fn our_own_elements_are_optional() {
    let text = group(&format!(
        "<Speed>0.50</Speed>{FIVE}<Name> a  b\n</Name><Disk>7</Disk>"
    ));
    let cluster = parse("site.xml", &text).unwrap();
    let group = &cluster.groups()[0];
    assert_eq!(group.name.as_deref(), Some("a b"));
    assert_eq!(group.disk_mib, Some(7));
    assert_eq!(group.speed, Decimal::parse("0.5").unwrap());
}

#[test]
fn a_message_names_file_line_element_value_and_what_was_expected() {
    assert_eq!(
        refused(&with("CPUCount", "\n<CPUCount>0</CPUCount>")),
        "site.xml:4: element CPUCount = \"0\": expected a whole number from 1 to 4294967295"
    );
    assert_eq!(
        refused(&with("OS", "")),
        "site.xml:2: element Resource: missing element OS: expected it once"
    );
    assert_eq!(
        refused("<EmulatedResources>\n</EmulatedResources>"),
        format!(
            "site.xml:1: element EmulatedResources: in no namespace: expected the namespace {NAMESPACE:?}"
        )
    );
    assert_eq!(
        refused(&group(&format!("{FIVE}\n<Cores>1</Cores>"))),
        "site.xml:4: element Cores: not allowed here: expected one of Name, Count, Architecture, \
         CPUCount, OS, PhysicalMemory, Disk, Speed, GenericResources"
    );
}

#[test]
fn a_text_has_a_bound() {
    let of = |length: usize| with("OS", &format!("<OS>{}</OS>", "ü".repeat(length)));
    assert!(parse("site.xml", &of(200)).is_ok());
    let value = "ü".repeat(80);
    assert_eq!(
        refused(&of(201)),
        format!("site.xml:3: element OS = \"{value}\": expected at most 200 characters, not 201")
    );
}

#[test]
fn entities_and_document_types_are_refused() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE x [<!ENTITY a \"aaaa\">]>\n<x>&a;</x>";
    assert_eq!(
        refused(bomb),
        "site.xml:2: a document type: expected none, document types and entities are refused"
    );
    let custom = refused(&with("OS", "<OS>&os;</OS>"));
    assert!(
        custom.starts_with("site.xml:3: reference &os;: expected"),
        "{custom}"
    );
    let known = parse("site.xml", &with("OS", "<OS>A&amp;B &#x41;</OS>")).unwrap();
    assert_eq!(known.groups()[0].os.as_deref(), Some("A&B A"));
}

#[test]
fn a_file_that_is_too_large_is_not_read_to_its_end() {
    let directory = std::env::temp_dir().join(format!("gridrig-large-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("large.xml");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    let message = read(&path).unwrap_err().to_string();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(message.contains("larger than"), "{message}");
}

#[test]
fn more_processors_than_can_be_counted_are_refused() {
    let text = with("Count", "<Count>4294967295</Count>");
    assert!(refused(&text).contains("more than 100000000 processors"));
}

#[test]
fn resources_without_the_five_properties_have_no_file() {
    let error = write(&Resources::homogeneous(4)).unwrap_err().to_string();
    assert!(error.contains("Architecture is not set"), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        groups in proptest::collection::vec(
            (1u32..1000, 1u32..64, 1u64.., proptest::option::of(1u64..), 1u64..1_000_000_000, "[ -~äß€]{0,12}", 0u32..9),
            1..6,
        )
    ) {
        let groups = groups.into_iter().map(|(count, cpu_count, memory, disk, speed, word, places)| {
            let words: Vec<&str> = word.split_whitespace().collect();
            let word = format!("w{}", words.join(" "));
            let (whole, fraction) = (speed / 10u64.pow(places), speed % 10u64.pow(places));
            let fraction = format!("{fraction:0>width$}", width = places as usize);
            Resource {
                name: disk.map(|_| word.clone()),
                count,
                cpu_count,
                architecture: Some(word.clone()),
                os: Some(word),
                memory_mib: Some(memory),
                disk_mib: disk,
                speed: Decimal::parse(&format!("{whole}.{fraction}")).unwrap(),
                generic: ["", "gpu:a100:4,nic:1"][count as usize % 2].parse().unwrap(),
            }
        });
        let resources = Resources::new(groups.collect()).unwrap();
        let text = write(&resources).unwrap();
        prop_assert_eq!(parse("site.xml", &text).unwrap(), resources);
    }

    #[test]
    fn any_text_is_refused_or_read_as_it_is_written(text in "(<[/!?]?(Resource|Count|EmulatedResources|x)( xmlns='[a-z:/.]*')?/?>|&[a-z#0-9]*;?|[<>&'\"=\\[\\] a-z0-9\u{0}\n]|<!\\[CDATA\\[|\\]\\]>){0,30}") {
        for text in [&group(&text), &with("OS", &text), &text] {
            if let Ok(read) = parse("site.xml", text) {
                let written = write(&read).unwrap();
                prop_assert_eq!(parse("site.xml", &written).unwrap(), read, "{}", text);
            }
        }
    }
}

/// Whether the file is a cluster file when this element is replaced by that.
const REPLACED: [(&str, bool, &str, &str); 28] = [
    (
        "another order",
        true,
        "Count",
        "<Speed>2</Speed><Count>1</Count>",
    ),
    ("spaces around", true, "Count", "<Count>\n 2 \t</Count>"),
    ("leading zeros", true, "Count", "<Count>002</Count>"),
    (
        "a comment within",
        true,
        "Count",
        "<Count>1<!-- ? -->0</Count>",
    ),
    ("a CDATA section", true, "OS", "<OS><![CDATA[A<B]]></OS>"),
    ("character references", true, "OS", "<OS>&#76;&lt;</OS>"),
    (
        "the largest memory",
        true,
        "PhysicalMemory",
        "<PhysicalMemory>18446744073709551615</PhysicalMemory>",
    ),
    ("a zero count", false, "Count", "<Count>0</Count>"),
    (
        "a zero CPU count",
        false,
        "CPUCount",
        "<CPUCount>0</CPUCount>",
    ),
    ("a negative count", false, "Count", "<Count>-1</Count>"),
    ("a sign", false, "Count", "<Count>+1</Count>"),
    ("a fraction of a node", false, "Count", "<Count>1.5</Count>"),
    ("a word for a number", false, "Count", "<Count>many</Count>"),
    (
        "a count past 32 bits",
        false,
        "Count",
        "<Count>4294967296</Count>",
    ),
    (
        "no memory at all",
        false,
        "PhysicalMemory",
        "<PhysicalMemory>0</PhysicalMemory>",
    ),
    (
        "memory past 64 bits",
        false,
        "PhysicalMemory",
        "<PhysicalMemory>18446744073709551616</PhysicalMemory>",
    ),
    ("a missing element", false, "Architecture", ""),
    ("an empty element", false, "Architecture", "<Architecture/>"),
    (
        "an element of spaces",
        false,
        "Architecture",
        "<Architecture>  </Architecture>",
    ),
    ("an element twice", false, "OS", "<OS>A</OS><OS>B</OS>"),
    ("an unknown attribute", false, "OS", "<OS id=\"1\">A</OS>"),
    ("an element in a value", false, "OS", "<OS><b>A</b></OS>"),
    ("a crossed end tag", false, "OS", "<OS>A</Os>"),
    ("a bare ampersand", false, "OS", "<OS>A & B</OS>"),
    ("an unknown entity", false, "OS", "<OS>&os;</OS>"),
    ("a control character", false, "OS", "<OS>&#1;</OS>"),
    ("the end of a CDATA section", false, "OS", "<OS>]]></OS>"),
    (
        "an element of another namespace",
        false,
        "OS",
        "<OS xmlns=\"x\">A</OS>",
    ),
];

/// Whether the file is a cluster file with this behind the five elements.
const ADDED: [(&str, bool, &str); 13] = [
    ("the five elements", true, ""),
    (
        "all nine",
        true,
        "<Name>n</Name><Disk>1</Disk><Speed>1.5</Speed>\
         <GenericResources>gpu:a100:4,nic,fpga:u250</GenericResources>",
    ),
    (
        "no generic resource",
        false,
        "<GenericResources></GenericResources>",
    ),
    (
        "none of a generic resource",
        false,
        "<GenericResources>gpu:0</GenericResources>",
    ),
    (
        "a generic resource without a name",
        false,
        "<GenericResources>:1</GenericResources>",
    ),
    (
        "a type of a generic resource that begins with a digit",
        false,
        "<GenericResources>gpu:80gb:1</GenericResources>",
    ),
    ("a processing instruction", true, "<?note x?>"),
    ("an unknown element", false, "<Cores>1</Cores>"),
    ("text between elements", false, " x"),
    ("speed 0", false, "<Speed>0.0</Speed>"),
    ("a speed with an exponent", false, "<Speed>1e3</Speed>"),
    (
        "a speed that begins with its point",
        false,
        "<Speed>.5</Speed>",
    ),
    ("a comment with two hyphens", false, "<!-- a -- b -->"),
];

/// Small files, each with whether it is a cluster file.
fn corpus() -> Vec<(&'static str, bool, String)> {
    let five = group(FIVE);
    let root = "EmulatedResources";
    let prefixed = five
        .replace("</", "&/")
        .replace('<', "<r:")
        .replace("&/", "</r:");
    let mut cases = vec![
        ("a prefix", true, prefixed.replace("xmlns=", "xmlns:r=")),
        (
            "an unknown prefix",
            false,
            five.replace("<OS>", "<q:OS>").replace("</OS>", "</q:OS>"),
        ),
        (
            "no group",
            false,
            format!("<{root} xmlns=\"{NAMESPACE}\"/>"),
        ),
        ("an empty group", false, group("")),
        ("another namespace", false, five.replace("fiu", "example")),
        (
            "no namespace",
            false,
            five.replace(&format!(" xmlns=\"{NAMESPACE}\""), ""),
        ),
        ("another root", false, five.replace(root, "Resources")),
        ("two roots", false, format!("{five}{five}")),
        (
            "a cut-off file",
            false,
            five.replace(&format!("</{root}>"), ""),
        ),
        (
            "a late declaration",
            false,
            format!("\n<?xml version=\"1.0\"?>{five}"),
        ),
        ("nothing", false, String::new()),
        ("no XML", false, "Count = 64".to_owned()),
    ];
    let alone = format!("<Resource xmlns=\"{NAMESPACE}\">{FIVE}</Resource>");
    cases.push(("a group as root", false, alone));
    for (name, good, length) in [("a long text", true, 200), ("an endless text", false, 201)] {
        let text = format!("<OS>{}</OS>", "ü".repeat(length));
        cases.push((name, good, with("OS", &text)));
    }
    cases.extend(REPLACED.map(|(name, good, element, by)| (name, good, with(element, by))));
    cases.extend(ADDED.map(|(name, good, more)| (name, good, group(&format!("{FIVE}{more}")))));
    cases
}

#[test]
fn the_reader_takes_the_good_cases_and_refuses_the_bad_ones() {
    for (name, good, text) in corpus() {
        let read = parse("site.xml", &text);
        assert_eq!(read.is_ok(), good, "{name}: {read:?}");
    }
}

#[test]
fn the_schema_agrees_with_the_reader_on_every_case() {
    if !need("xmllint", "the_schema_agrees_with_the_reader_on_every_case") {
        return;
    }
    let directory = std::env::temp_dir().join(format!("gridrig-xsd-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, good, text) in corpus() {
        let path = directory.join("case.xml");
        std::fs::write(&path, text).unwrap();
        assert_eq!(validates(&path), good, "{name}");
    }
    for path in shipped_clusters() {
        assert!(validates(&path), "{}", path.display());
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

fn validates(path: &Path) -> bool {
    let schema = shipped("xsd/emulated-resources.xsd");
    let status = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .args([&schema, path])
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

/// Whether a program is there. A test without it is skipped, or fails where
/// everything is required.
fn need(program: &str, test: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_ok() {
        return true;
    }
    assert!(
        std::env::var("GRIDRIG_REQUIRE").as_deref() != Ok("all"),
        "{test} needs {program}, which is not installed"
    );
    eprintln!("SKIPPED: {test}: no {program}");
    false
}
