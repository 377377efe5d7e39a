//! Cluster files: what is read, what is refused and how, and that the schema
//! that ships says the same as the reader.

use crate::lagrid::xsd::xmllint;
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

#[test]
fn resources_are_written_element_by_element() {
    let nodes = Resource {
        name: Some("n & m".to_owned()),
        count: 3,
        cpu_count: 2,
        architecture: Some("x86".to_owned()),
        os: Some("LINUX".to_owned()),
        memory_mib: Some(512),
        disk_mib: Some(1024),
        speed: Decimal::parse("0.5").unwrap(),
        generic: "gpu:2".parse().unwrap(),
    };
    let elements = [
        "<Name>n &amp; m</Name>",
        "<Count>3</Count>",
        "<Architecture>x86</Architecture>",
        "<CPUCount>2</CPUCount>",
        "<OS>LINUX</OS>",
        "<PhysicalMemory>512</PhysicalMemory>",
        "<Disk>1024</Disk>",
        "<Speed>0.5</Speed>",
        "<GenericResources>gpu:2</GenericResources>",
    ];
    let written = write(&Resources::new(vec![nodes]).unwrap()).unwrap();
    let lines: Vec<&str> = written.lines().map(str::trim).collect();
    let root = format!("<EmulatedResources xmlns=\"{NAMESPACE}\">");
    assert_eq!(lines[1..3], [root.as_str(), "<Resource>"]);
    assert_eq!(lines[3..12], elements);
    assert_eq!(lines[12..], ["</Resource>", "</EmulatedResources>"]);
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

/// What stands in an element, and whether the file is a cluster file then.
const VALUES: [(&str, bool, &[&str]); 9] = [
    // Spaces around, leading zeros, a comment within.
    ("Count", true, &["\n 2 \t", "002", "1<!-- ? -->0"]),
    ("Count", false, &["0", "-1", "+1", "1.5", "many"]),
    ("Count", false, &["4294967296"]),
    ("CPUCount", false, &["0"]),
    ("PhysicalMemory", true, &["18446744073709551615"]),
    ("PhysicalMemory", false, &["0", "18446744073709551616"]),
    ("Architecture", false, &["  "]),
    ("OS", true, &["<![CDATA[A<B]]>", "&#76;&lt;"]),
    ("OS", false, &["<b>A</b>", "A & B", "&os;", "&#1;", "]]>"]),
];

/// The same of what stands in its place.
const REPLACED: [(&str, bool, &str); 7] = [
    // Another order.
    ("Count", true, "<Speed>2</Speed><Count>1</Count>"),
    ("Architecture", false, ""),
    ("Architecture", false, "<Architecture/>"),
    ("OS", false, "<OS>A</OS><OS>B</OS>"),
    ("OS", false, "<OS id=\"1\">A</OS>"),
    ("OS", false, "<OS>A</Os>"),
    ("OS", false, "<OS xmlns=\"x\">A</OS>"),
];

const ALL_NINE: &str = "<Name>n</Name><Disk>1</Disk><Speed>1.5</Speed>\
    <GenericResources>gpu:a100:4,nic,fpga:u250</GenericResources>";

/// The same of what stands behind the five elements.
const ADDED: [(bool, &str); 13] = [
    (true, ""),
    (true, ALL_NINE),
    (true, "<?note x?>"),
    (false, "<GenericResources></GenericResources>"),
    (false, "<GenericResources>gpu:0</GenericResources>"),
    (false, "<GenericResources>:1</GenericResources>"),
    (false, "<GenericResources>gpu:80gb:1</GenericResources>"),
    (false, "<Cores>1</Cores>"),
    (false, " x"),
    (false, "<Speed>0.0</Speed>"),
    (false, "<Speed>1e3</Speed>"),
    (false, "<Speed>.5</Speed>"),
    // Two hyphens in a comment.
    (false, "<!-- a -- b -->"),
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
    for (element, good, values) in VALUES {
        for value in values {
            let by = format!("<{element}>{value}</{element}>");
            cases.push((*value, good, with(element, &by)));
        }
    }
    cases.extend(REPLACED.map(|(element, good, by)| (by, good, with(element, by))));
    cases.extend(ADDED.map(|(good, more)| (more, good, group(&format!("{FIVE}{more}")))));
    cases
}

#[test]
fn the_reader_takes_the_good_cases_and_refuses_the_bad_ones() {
    for (name, good, text) in corpus() {
        let read = parse("site.xml", &text);
        assert_eq!(read.is_ok(), good, "{name}: {text}: {read:?}");
    }
}

#[test]
fn the_schema_agrees_with_the_reader_on_every_case() {
    if !xmllint("the_schema_agrees_with_the_reader_on_every_case") {
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
