use super::*;
use gridrig_core::time::SimDuration;

/// What ARC's client 6.17 sends.
const SENT: &str = r#"<adl:ActivityDescription xmlns:emiestypes="http://www.eu-emi.eu/es/2010/12/types" xmlns:nordugrid-adl="http://www.nordugrid.org/es/2011/12/nordugrid-adl" xmlns:adl="http://www.eu-emi.eu/es/2010/12/adl">
  <adl:ActivityIdentification><adl:Name>emu2</adl:Name></adl:ActivityIdentification>
  <adl:Application>
    <adl:Executable><adl:Path>/bin/sleep</adl:Path><adl:Argument>4</adl:Argument></adl:Executable>
    <adl:Output>out.txt</adl:Output><adl:Error>err.txt</adl:Error>
    <adl:RemoteLogging><adl:ServiceType>SGAS</adl:ServiceType></adl:RemoteLogging>
  </adl:Application>
  <adl:Resources>
    <adl:SlotRequirement><adl:NumberOfSlots>3</adl:NumberOfSlots></adl:SlotRequirement>
    <adl:QueueName>batch</adl:QueueName>
    <adl:WallTime>600</adl:WallTime>
  </adl:Resources>
  <adl:DataStaging>
    <adl:InputFile><adl:Name>data</adl:Name></adl:InputFile>
    <adl:InputFile><adl:Name>far</adl:Name><adl:Source><adl:URI>https://host/far</adl:URI></adl:Source></adl:InputFile>
    <adl:OutputFile><adl:Name>out.txt</adl:Name></adl:OutputFile>
    <nordugrid-adl:DelegationID>35b2167eb767</nordugrid-adl:DelegationID>
  </adl:DataStaging>
</adl:ActivityDescription>"#;

fn one(text: &str) -> Result<Activity, AdlError> {
    read(text)?.remove(0)
}

fn with(section: &str) -> Result<Activity, AdlError> {
    one(&format!(
        "<ActivityDescription xmlns='{NAMESPACE}'>{section}</ActivityDescription>"
    ))
}

#[test]
fn what_arcs_client_sends_is_read_and_the_rest_is_named() {
    let activity = one(SENT).unwrap();
    assert_eq!(activity.name.as_deref(), Some("emu2"));
    assert_eq!((activity.slots, activity.wall_time_s), (3, Some(600)));
    assert_eq!(activity.queue.as_deref(), Some("batch"));
    assert_eq!(activity.delegation.as_deref(), Some("35b2167eb767"));
    let uploaded: Vec<bool> = activity.inputs.iter().map(InputFile::is_uploaded).collect();
    assert_eq!(uploaded, [true, false]);
    assert_eq!(activity.ignored, ["Application/RemoteLogging"]);
    let length = activity.run_time(SimDuration::from_secs(60)).unwrap();
    assert_eq!(length, (SimDuration::from_secs(4), LengthFrom::Sleep));
}

#[test]
fn several_jobs_of_one_document_stand_for_themselves() {
    let bad = SENT.replace(">3<", ">none<");
    let all = read(&format!(
        "<ActivityDescriptions>{SENT}{bad}{SENT}</ActivityDescriptions>"
    ));
    let good: Vec<bool> = all.unwrap().iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, true]);
}

#[test]
fn a_wrong_value_is_named_with_its_line() {
    let refused = |text: &str, expected: &str| {
        let error = one(text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    for (part, by, expected) in [
        (">3<", ">-3<", "NumberOfSlots = \"-3\""),
        (">3<", ">0<", "NumberOfSlots = \"0\""),
        (">600<", ">ten<", "Resources/WallTime = \"ten\""),
        (">data<", ">../data<", "InputFile/Name = \"../data\""),
        ("2010/12/adl", "2010/12/other", "root element"),
    ] {
        refused(&SENT.replace(part, by), expected);
    }
    refused("<!DOCTYPE a><a/>", "document type");
    refused("&(executable=/bin/echo)", "not an ADL document");
}

#[test]
fn a_name_of_nodes_has_a_bound() {
    let names = [
        ("Platform", "", ""),
        ("OperatingSystem", "<Family>", "</Family>"),
        ("OperatingSystem", "<Name>", "</Name>"),
    ];
    for (element, begin, end) in names {
        let of = |length: usize| {
            let name = "ü".repeat(length);
            with(&format!(
                "<Resources><{element}>{begin}{name}{end}</{element}></Resources>"
            ))
        };
        assert!(of(200).is_ok(), "{element}");
        let error = of(201).unwrap_err().to_string();
        let value = "ü".repeat(80);
        let expected = format!(
            "element Resources/{element} = \"{value}\": expected at most 200 characters, not 201"
        );
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn the_virtual_length_is_looked_for_in_order() {
    let default = SimDuration::from_secs(60);
    let variable = |value: &str| {
        format!(
            "<Application><Environment><Name>GRIDRIG_RUN_TIME</Name><Value>{value}</Value></Environment><Executable><Path>/bin/sleep</Path><Argument>9</Argument></Executable></Application>"
        )
    };
    let shell = "<Application><Executable><Path>/bin/sh</Path><Argument>-c</Argument><Argument>echo a; /bin/sleep 7; date</Argument></Executable></Application><Resources><WallTime>600</WallTime></Resources>";
    let cases = [
        (variable("90"), 90_000, LengthFrom::Variable),
        (variable("1.5m"), 90_000, LengthFrom::Variable),
        (shell.to_owned(), 7_000, LengthFrom::Sleep),
        (
            "<Resources><WallTime>600</WallTime></Resources>".to_owned(),
            600_000,
            LengthFrom::WallTime,
        ),
        (String::new(), 60_000, LengthFrom::Default),
    ];
    for (text, millis, from) in cases {
        let length = with(&text).unwrap().run_time(default).unwrap();
        assert_eq!(length, (SimDuration::from_millis(millis), from), "{text}");
    }
    let broken = with(&variable("soon")).unwrap();
    assert_eq!(broken.run_time(default), Err("soon".to_owned()));
}
