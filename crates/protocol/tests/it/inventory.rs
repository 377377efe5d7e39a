//! Inventories and their schema documents on the wire: what is written is read
//! as it was and holds against the shipped XSD; what is none is refused with
//! its place.

use crate::jsdl::{complaint, table};
use crate::lagrid::xsd::xmllint;
use gridrig_core::inventory::{
    Form, Inventory, Record, Relation, Schema, SiteCluster, Value, of_clusters,
};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;
use gridrig_protocol::inventory::{InventoryDocument, InventorySize, read_schema, schema_element};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn shipped(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../resources");
    root.join(path)
}

/// LA Grid's Table 2, which ships.
fn table_2() -> Inventory {
    let document = std::fs::read(shipped("inventory/table-2.xml")).unwrap();
    let document = InventoryDocument::parse(&document).unwrap();
    document.inventory().unwrap()
}

fn in_form(flat: &Inventory, form: Form) -> Inventory {
    flat.in_form(form, &Schema::la_grid()).unwrap()
}

/// A domain of many kinds of node.
fn large() -> Inventory {
    let kinds = ["x86", "ppc", "ia64"];
    let group = |number: usize| Resource {
        name: None,
        count: 4 + number as u32,
        cpu_count: 1 << (number % 3),
        architecture: Some(kinds[number % 3].to_owned()),
        os: Some(["LINUX", "A<I>X & \"co\""][number % 2].to_owned()),
        memory_mib: (!number.is_multiple_of(4)).then_some(512 << (number % 4)),
        disk_mib: None,
        speed: Decimal::parse(["1", "2.2", "3.84"][number % 3]).unwrap(),
        generic: Default::default(),
    };
    let resources: Vec<Resources> = (0..8)
        .map(|cluster| Resources::new((cluster..cluster + 5).map(group).collect()).unwrap())
        .collect();
    let names: Vec<String> = (0..8).map(|number| format!("c{number}")).collect();
    let sites: Vec<SiteCluster<'_>> = names
        .iter()
        .zip(&resources)
        .map(|(name, resources)| SiteCluster {
            name,
            resources,
            load: None,
        })
        .collect();
    of_clusters(&sites).unwrap()
}

/// What xmllint has against a document by the shipped XSD; nothing where it is not there.
fn lint(test: &str, document: &str) -> Option<String> {
    xmllint(test).then(|| complaint(&shipped("xsd/inventory.xsd"), document))?
}

#[test]
fn every_form_is_read_as_it_was_written() {
    for flat in [table_2(), large()] {
        for form in Form::ALL {
            let inventory = in_form(&flat, form);
            let document = InventoryDocument::from(&inventory);
            let xml = document.to_xml();
            let read = InventoryDocument::parse(xml.as_bytes()).unwrap();
            assert_eq!(read, document, "{form}");
            assert_eq!(read.inventory().unwrap(), inventory, "{form}");
            let json = serde_json::to_string(&document).unwrap();
            let read: InventoryDocument = serde_json::from_str(&json).unwrap();
            assert_eq!(read.inventory().unwrap(), inventory, "{form}");
            let complaint = lint("every_form_is_read_as_it_was_written", &xml);
            assert_eq!(complaint, None, "{xml}");
        }
    }
}

#[test]
fn aggregated_records_are_named_as_such_and_carry_ranges() {
    let small = InventoryDocument::from(&in_form(&table_2(), Form::NToN));
    let xml = small.to_xml();
    assert!(
        xml.contains("type=\"AggregateComputerSystem\" count=\"2\""),
        "{xml}"
    );
    assert!(xml.contains("<Range min=\"2000\" max=\"3200\"/>"), "{xml}");
    assert!(
        xml.contains("mean=\"2933.333333333\" median=\"3000\""),
        "{xml}"
    );
    let value = serde_json::to_value(&small).unwrap();
    let power = &value["records"][0];
    assert_eq!(power["attributes"]["ProcNum"]["total"], "6");
    assert_eq!(power["attributes"]["ProcType"]["value"], "PowerPC");
    assert_eq!(power["relations"].as_array().unwrap().len(), 3);
}

#[test]
fn looser_forms_are_smaller_on_the_wire() {
    let flat = large();
    let sizes = Form::ALL.map(|form| InventorySize::of(&in_form(&flat, form)));
    let records = sizes.each_ref().map(|size| size.records);
    assert!(
        records.is_sorted_by(|closer, looser| closer > looser),
        "{records:?}"
    );
    for (closer, looser) in sizes.iter().zip(&sizes[1..]) {
        assert!(closer.xml_bytes > looser.xml_bytes, "{sizes:?}");
        assert!(closer.json_bytes > looser.json_bytes, "{sizes:?}");
    }
    let xml = InventoryDocument::from(&flat).to_xml();
    assert_eq!(sizes[0].xml_bytes, xml.len() as u64);
}

#[test]
fn the_page_shows_the_sizes_as_they_are() {
    let page = shipped("../docs/resource-models.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (small, large) = (table_2(), large());
    for form in Form::ALL {
        let of = |flat: &Inventory| InventorySize::of(&in_form(flat, form));
        let (small, large) = (of(&small), of(&large));
        let row = format!(
            "| {form} | {} | {} | {} | {} | {} |",
            small.xml_bytes, small.json_bytes, large.records, large.xml_bytes, large.json_bytes
        );
        assert!(
            page.contains(&row),
            "docs/resource-models.md has no row {row}"
        );
    }
}

#[test]
fn the_shipped_schema_is_the_one_that_is_built_in() {
    let document = std::fs::read_to_string(shipped("inventory/la-grid.xml")).unwrap();
    assert_eq!(read_schema(document.as_bytes()).unwrap(), Schema::la_grid());
    let written = schema_element(&Schema::la_grid().keeping(Form::OneToN)).to_document();
    let read = read_schema(written.as_bytes()).unwrap();
    assert_eq!(read, Schema::la_grid().keeping(Form::OneToN));
    for document in [document, written] {
        let complaint = lint("the_shipped_schema_is_the_one_that_is_built_in", &document);
        assert_eq!(complaint, None, "{document}");
    }
}

/// Contents of a record, and what is said of each.
const WRONG_RECORDS: &str = r#"
<Attribute name="ProcNum"/> => expected exactly one of a value
<Attribute name="A"><Value>1</Value><Range min="1" max="2"/></Attribute> => expected exactly one of a value
<Attribute name="A"><Range min="3" max="2"/></Attribute> => expected a range from low to high
<Attribute name="A"><Range min="-3" max="2"/></Attribute> => range.min = "-3": expected a decimal number
<Attribute name="A" count="3"><Value>1</Value></Attribute> => expected a count from 1 to the record's
<Attribute name="A" mode="3"><Value>1</Value></Attribute> => unknown attribute mode: expected name, count
<Attribute name="A"><Value>b</Value><Value>a</Value></Attribute> => a sorted list
<Relation name="contains" to="c9"/> => relations.to = "c9": expected the id of a record
"#;

#[test]
fn what_is_no_inventory_is_refused_with_its_place() {
    let document = |inside: &str| {
        let namespace = "xmlns=\"urn:gridrig:inventory:1\"";
        format!("<Inventory {namespace} form=\"unique\">\n{inside}</Inventory>")
    };
    let record = |inside: &str| {
        let name = "id=\"c1\" type=\"AggregateComputerSystem\" count=\"2\"";
        document(&format!("<Record {name}>{inside}</Record>"))
    };
    let refused = |document: &str, expected: &str| {
        let read = InventoryDocument::parse(document.as_bytes());
        let error = read.and_then(|read| read.inventory()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(expected), "{document}: {said}");
    };
    for (inside, expected) in table(WRONG_RECORDS) {
        refused(&record(inside), expected);
    }
    let root = "line 1: element Inventory: expected Inventory";
    refused("<Inventory form=\"flat\"/>", root);
    refused(&document("hello"), "unexpected text \"hello\"");
    let thing = "line 2: element Thing: expected Record in the namespace";
    refused(&document("<Thing/>"), thing);
    let good = record("");
    for (part, by, expected) in [
        ("Aggregate", "", "begins with Aggregate"),
        ("unique", "cosy", "form = \"cosy\": expected flat"),
        ("\"2\"", "\"0\"", "expected a count of at least 1"),
        ("\"2\"", "\"+2\"", "expected a whole number"),
    ] {
        refused(&good.replace(part, by), expected);
    }
    let refusal = "document types and entities are refused";
    refused(&format!("<!DOCTYPE a>{good}"), refusal);
}

/// Contents of a schema, and what is said of each.
const WRONG_SCHEMAS: &str = r#"
<Type/> => line 2: element Type: missing attribute name
<Type name="A"/><Type name="B"/><Type name="A"/> => type "A": expected one rule
<Type name="A"><Keep attribute="x"/><Keep attribute="x"/></Type> => attribute "x": expected it to be named once
<Type name="A"><Keep attribute="x" statistics="mode"/></Type> => expected some of total, mean, median
<Type name="A"><Keep attribute="x" values="bag"/></Type> => expected range or list
"#;

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    let refused = |inside: &str, expected: &str| {
        let namespace = "xmlns=\"urn:gridrig:inventory:1\"";
        let document = format!("<ResourceSchema {namespace}>\n{inside}</ResourceSchema>");
        let said = read_schema(document.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(expected), "{document}: {said}");
    };
    for (inside, expected) in table(WRONG_SCHEMAS) {
        refused(inside, expected);
    }
    let relation = |(from, to, model): &(&str, &str, &str)| {
        format!("<Relation name=\"has\" from=\"{from}\" to=\"{to}\" model=\"{model}\"/>")
    };
    let unknown = "type \"C\": expected a type of";
    let cycle = "expected relations without a cycle";
    let twice = "expected one rule for it between two types";
    let unique = ("A", "B", "unique");
    for (relations, expected) in [
        (&[("A", "C", "unique")][..], unknown),
        (&[("A", "B", "flat")], "model = \"flat\": expected unique"),
        (&[("A", "A", "unique")], cycle),
        (&[unique, ("B", "A", "n-to-n")], cycle),
        (&[unique, ("A", "B", "n-to-n")], twice),
    ] {
        let relations: String = relations.iter().map(relation).collect();
        let types = "<Type name=\"A\"/><Type name=\"B\"/>";
        refused(&format!("{types}{relations}"), expected);
    }
}

proptest! {
    #[test]
    fn a_changed_document_is_refused_or_read_as_it_stands(
        form in 0_usize..4,
        at in any::<prop::sample::Index>(),
        with in prop::option::of("[ -~]{0,12}"),
        cut in 0_usize..20,
    ) {
        let inventory = in_form(&table_2(), Form::ALL[form]);
        let mut xml = InventoryDocument::from(&inventory).to_xml();
        let at = at.index(xml.len());
        let end = (at + cut).min(xml.len());
        xml.replace_range(at..end, &with.unwrap_or_default());
        let read = InventoryDocument::parse(xml.as_bytes());
        if let Ok(read) = read.and_then(|read| read.inventory()) {
            let again = InventoryDocument::from(&read).to_xml();
            let again = InventoryDocument::parse(again.as_bytes()).unwrap();
            prop_assert_eq!(again.inventory().unwrap(), read);
        }
        let _ = read_schema(xml.as_bytes());
    }
}

#[test]
fn a_value_keeps_the_way_it_was_written() {
    for text in ["5.10", "007", "2.4", "18446744073709551616", "x86"] {
        let record = Record::new("r", "T").with("a", Value::read(text));
        let flat = Inventory::new(Form::Flat, vec![record], Vec::<Relation>::new()).unwrap();
        let xml = InventoryDocument::from(&flat).to_xml();
        let read = InventoryDocument::parse(xml.as_bytes()).unwrap();
        let read = read.inventory().unwrap();
        let value = &read.records()[0].attribute("a").unwrap().values;
        assert_eq!(value.to_string(), text);
        let numeric = value.max().is_some();
        assert_eq!(numeric, !matches!(text, "5.10" | "007" | "x86"), "{text}");
    }
}
