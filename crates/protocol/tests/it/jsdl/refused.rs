//! What the reader refuses, in which words.

use super::*;

/// A document with this in its JobDescription, on the second line.
fn document(inner: &str) -> String {
    format!(
        "<JobDefinition xmlns=\"{JSDL}\" xmlns:p=\"{POSIX}\" xmlns:s=\"{SPMD}\">\n\
         <JobDescription>{inner}</JobDescription></JobDefinition>"
    )
}

/// What is in a JobDescription, and what is said of it.
const WRONG: &str = r#"
<Resources><FileSystem name="HOME"/></Resources> => job.jsdl:2: element JobDefinition/JobDescription/Resources/FileSystem: not supported
<Application><p:POSIXApplication><p:Shell>x</p:Shell></p:POSIXApplication></Application> => Application/POSIXApplication/Shell: not supported
<Surprise xmlns="urn:x"/> => JobDescription/Surprise: not supported: it is in the namespace "urn:x"
<Resources><TotalCPUCount><Exact>four</Exact></TotalCPUCount></Resources> => TotalCPUCount/Exact = "four": expected a finite number
<Resources><TotalCPUCount><Exact>NaN</Exact></TotalCPUCount></Resources> => TotalCPUCount/Exact = "NaN": expected a finite number
<Resources><TotalCPUCount/></Resources> => TotalCPUCount: missing element: expected Exact
<Resources><CPUArchitecture><CPUArchitectureName>z80</CPUArchitectureName></CPUArchitecture></Resources> => CPUArchitectureName = "z80": expected a name of JSDL 1.0's list
<Resources><CPUArchitecture><CPUArchitectureName>other</CPUArchitectureName></CPUArchitecture></Resources> => "other" says nothing without a gridrig:Name
<JobIdentification/><JobIdentification/> => JobIdentification: given twice: expected it once
<Resources/><Resources/> => Resources: given twice: expected it once
(null) => text "(null)" between elements: expected an element
<DataStaging><FileName>f</FileName></DataStaging> => DataStaging: missing element: expected CreationFlag
<Application><s:SPMDApplication/></Application> => SPMDApplication: missing element: expected SPMDVariation
<Application><p:POSIXApplication><p:Environment>x</p:Environment></p:POSIXApplication></Application> => Environment: missing element: expected the attribute name
<Application><p:POSIXApplication><p:WallTimeLimit>-5</p:WallTimeLimit></p:POSIXApplication></Application> => WallTimeLimit = "-5": expected a whole number from 0 on
<RunTime xmlns="urn:gridrig:jsdl:1">soon</RunTime> => RunTime = "soon": expected a length of time such as "60s"
"#;

#[test]
fn what_is_refused_is_named_by_its_path() {
    for (inner, expected) in table(WRONG) {
        let error = read(&document(inner)).unwrap_err();
        assert!(error.contains(expected), "{error}\n  expected {expected}");
        assert!(error.starts_with("job.jsdl:2: "), "{error}");
    }
}

#[test]
fn a_name_of_nodes_has_a_bound() {
    let own = |element: &str, length: usize| {
        let name = "ü".repeat(length);
        format!("<{element}>other</{element}><Name xmlns=\"urn:gridrig:jsdl:1\">{name}</Name>")
    };
    let documents = |length: usize| {
        let architecture = own("CPUArchitectureName", length);
        let system = own("OperatingSystemName", length);
        [
            format!("<CPUArchitecture>{architecture}</CPUArchitecture>"),
            format!(
                "<OperatingSystem><OperatingSystemType>{system}</OperatingSystemType>\
                 </OperatingSystem>"
            ),
        ]
        .map(|inner| read(&document(&format!("<Resources>{inner}</Resources>"))))
    };
    for good in documents(200) {
        good.unwrap();
    }
    for bad in documents(201) {
        let error = bad.unwrap_err();
        let expected = "expected at most 200 characters, not 201";
        assert!(error.contains("/Name = \"ü"), "{error}");
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_document_of_another_kind_is_no_job() {
    for (text, expected) in [
        ("<JobDefinition/>", "expected the element JobDefinition"),
        ("<a", "not well-formed XML"),
        ("<\n></>", "\"\" is no name of an element"),
        ("<a =\"1\"/>", "not well-formed XML"),
        ("<1/>", "\"1\" is no name of an element"),
        ("<a b&c=\"1\"/>", "\"b&c\" is no name"),
        ("<p:a:b xmlns:p=\"urn:x\"/>", "\"a:b\" is no name"),
        (
            "<!DOCTYPE a><a/>",
            "document types and entities are refused",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let bare = format!("<JobDefinition xmlns=\"{JSDL}\"/>");
    let error = read(&bare).unwrap_err();
    assert!(error.contains("expected JobDescription"), "{error}");
}

#[test]
fn the_lenient_reader_leaves_out_what_others_have_put_in_and_says_so() {
    let text = document("<JobIdentification x=\"1\"/>(null)<Surprise xmlns=\"urn:x\"/>");
    let root = Element::parse(text.as_bytes()).unwrap();
    let lenient = JobDefinition::read_lenient("job.jsdl", &root).unwrap();
    let expected = [
        "JobDefinition/JobDescription/text()",
        "JobDefinition/JobDescription/JobIdentification/@x",
        "JobDefinition/JobDescription/Surprise",
    ];
    assert_eq!(lenient.ignored, expected);
    let jsdl = document("<Resources><FileSystem name=\"HOME\"/></Resources>");
    let root = Element::parse(jsdl.as_bytes()).unwrap();
    let error = JobDefinition::read_lenient("job.jsdl", &root).unwrap_err();
    assert_eq!(error.code(), "unsupported-jsdl");
}

#[test]
fn what_is_left_out_is_listed_up_to_a_bound_and_counted_beyond() {
    let text = document(&"<x xmlns=\"urn:x\"/>".repeat(50));
    let root = Element::parse(text.as_bytes()).unwrap();
    let lenient = JobDefinition::read_lenient("job.jsdl", &root).unwrap();
    assert_eq!(lenient.ignored.len(), 33);
    assert_eq!(lenient.ignored[32], "and 18 more");
}
