//! ADL from anybody: what is written is read, and nothing makes it panic.

use gridrig_core::time::SimDuration;
use gridrig_protocol::adl::{self, NAMESPACE, NORDUGRID};
use gridrig_protocol::xml::Element;
use proptest::prelude::*;

/// A description with these values, as ARC's client nests it.
fn written(name: &str, slots: u32, wall: u64, arguments: &[String], files: &[String]) -> String {
    let executable = Element::new("", "Executable")
        .field("Path", "/bin/sleep")
        .fields("Argument", arguments);
    let slots = Element::new("", "SlotRequirement").field("NumberOfSlots", slots);
    let inputs = files
        .iter()
        .map(|file| Element::new("", "InputFile").field("Name", file));
    Element::new("", "ActivityDescription")
        .with_attribute("xmlns", NAMESPACE)
        .with_attribute("xmlns:n", NORDUGRID)
        .with(Element::new("", "ActivityIdentification").field("Name", name))
        .with(Element::new("", "Application").with(executable))
        .with(
            Element::new("", "Resources")
                .with(slots)
                .field("WallTime", wall),
        )
        .with(
            Element::new("", "DataStaging")
                .with_all(inputs)
                .field("n:DelegationID", "d1"),
        )
        .to_document()
}

/// Text that XML can hold, without blanks around it.
fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9<>&'\"\u{e4}\u{4e00} ._-]{0,20}".prop_map(|text| text.trim().to_owned())
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        name in text(),
        slots in 1u32..,
        wall in 0u64..,
        arguments in prop::collection::vec("[a-z<&0-9]{1,8}", 0..4),
        files in prop::collection::vec("[a-z]{1,8}(/[a-z&<]{1,8}){0,2}", 0..4),
    ) {
        let read = adl::read(&written(&name, slots, wall, &arguments, &files)).unwrap();
        let activity = read.into_iter().next().unwrap().unwrap();
        prop_assert_eq!(activity.name.unwrap_or_default(), name);
        prop_assert_eq!((activity.slots, activity.wall_time_s), (slots, Some(wall)));
        prop_assert_eq!(activity.executable.unwrap().arguments, arguments);
        let names: Vec<String> = activity.inputs.iter().map(|file| file.name.clone()).collect();
        prop_assert_eq!(names, files);
        prop_assert_eq!(activity.delegation.as_deref(), Some("d1"));
        prop_assert!(activity.ignored.is_empty());
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        at in 0usize..700,
        length in 0usize..20,
        put in ".{0,12}",
        value in ".{0,12}",
    ) {
        let values = [value];
        let whole = written("a", 1, 60, &values, &values);
        let mut damaged: Vec<char> = whole.chars().collect();
        let at = at.min(damaged.len());
        let end = (at + length).min(damaged.len());
        damaged.splice(at..end, put.chars());
        let damaged: String = damaged.into_iter().collect();
        if let Ok(activities) = adl::read(&damaged) {
            for activity in activities.into_iter().flatten() {
                prop_assert!(activity.slots > 0);
                for file in &activity.inputs {
                    prop_assert!(!file.name.split('/').any(|part| part == ".."), "{}", file.name);
                }
                let _ = activity.run_time(SimDuration::from_secs(1));
            }
        }
    }
}
