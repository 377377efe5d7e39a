//! LA Grid's Table 2 in every form, with the figures of its text.

use super::matching::{Matching as _, Query, Test};
use super::*;
use gridrig_core::inventory::{InventoryError, Relation, Value};
use gridrig_core::time::Decimal;

/// Table 2: five computer systems.
fn table_2() -> Inventory {
    let rows = [
        ("PowerPC", [3200, 2, 60], "Linux", [2000, 1000]),
        ("PowerPC", [2000, 4, 180], "Windows", [8000, 4000]),
        ("Intel x86", [3000, 1, 50], "Linux", [4000, 2000]),
        ("Intel x86", [2600, 6, 240], "Windows", [1000, 500]),
        ("Intel x86", [3200, 2, 120], "Windows", [1000, 1000]),
    ];
    let mut records = Vec::new();
    let mut relations = Vec::new();
    for (row, (kind, [speed, number, used], os, [memory, virtual_memory])) in
        rows.into_iter().enumerate()
    {
        let system = Record::new(&format!("cs{row}"), names::COMPUTER_SYSTEM)
            .with(names::PROC_TYPE, Value::text(kind))
            .with(names::PROC_SPEED, Value::number(speed))
            .with(names::PROC_NUM, Value::number(number))
            .with(names::CPU_UTIL, Value::number(used));
        let os = Record::new(&format!("os{row}"), names::OPERATING_SYSTEM)
            .with(names::OS_TYPE, Value::text(os))
            .with(names::FREE_MEM, Value::number(memory))
            .with(names::FREE_VIR_MEM, Value::number(virtual_memory));
        relations.push(Relation::new(
            records.len(),
            names::CONTAINS,
            records.len() + 1,
        ));
        records.extend([system, os]);
    }
    let swap = Record::new("fs0", names::FILE_SYSTEM)
        .with(names::FS_TYPE, Value::text("swap"))
        .with(names::SIZE_MB, Value::number(120_000))
        .with(names::FREE_MB, Value::number(90_000));
    relations.push(Relation::new(0, names::USES, records.len()));
    records.push(swap);
    Inventory::new(Form::Flat, records, relations).unwrap()
}

fn sizes(inventory: &Inventory) -> [usize; 3] {
    [
        names::COMPUTER_SYSTEM,
        names::OPERATING_SYSTEM,
        names::FILE_SYSTEM,
    ]
    .map(|kind| count(inventory, kind))
}

fn number(text: &str) -> Option<Decimal> {
    Some(Decimal::parse(text).unwrap())
}

#[test]
fn flat_has_five_systems_five_operating_systems_and_one_file_system() {
    let flat = in_form(&table_2(), Form::Flat);
    assert_eq!(sizes(&flat), [5, 5, 1]);
    assert_eq!(flat, table_2());
    assert_eq!(flat.relations().len(), 6);
}

#[test]
fn unique_has_four_systems_and_four_operating_systems() {
    let unique = in_form(&table_2(), Form::Unique);
    assert_eq!(sizes(&unique), [4, 4, 1]);
    let mut pairs = Vec::new();
    for (_, system) in unique.of_kind(names::COMPUTER_SYSTEM) {
        let kind = &system.attribute(names::PROC_TYPE).unwrap().values;
        let os = systems_on(&unique, system).join("+");
        pairs.push((format!("{kind}-{os}"), system.count));
    }
    pairs.sort();
    let expected = [
        ("Intel x86-Linux", 1),
        ("Intel x86-Windows", 2),
        ("PowerPC-Linux", 1),
        ("PowerPC-Windows", 1),
    ];
    assert_eq!(
        pairs,
        expected.map(|(pair, count)| (pair.to_owned(), count))
    );
}

#[test]
fn one_to_n_has_two_systems_and_four_operating_systems() {
    let one_to_n = in_form(&table_2(), Form::OneToN);
    assert_eq!(sizes(&one_to_n), [2, 4, 1]);
    for (index, _) in one_to_n.of_kind(names::OPERATING_SYSTEM) {
        let parents = one_to_n.relations().iter().filter(|one| one.to == index);
        assert_eq!(parents.count(), 1, "an operating system is contained once");
    }
    let power = record(
        &one_to_n,
        names::COMPUTER_SYSTEM,
        &[(names::PROC_TYPE, "PowerPC")],
    );
    assert_eq!(systems_on(&one_to_n, power), ["Linux", "Windows"]);
    let of_x86 = [(names::OS_TYPE, "Windows"), (names::FREE_MEM, "1000")];
    assert_eq!(record(&one_to_n, names::OPERATING_SYSTEM, &of_x86).count, 2);
}

#[test]
fn n_to_n_has_two_of_each_and_every_pair() {
    let n_to_n = in_form(&table_2(), Form::NToN);
    assert_eq!(sizes(&n_to_n), [2, 2, 1]);
    for (kind, file_systems) in [("PowerPC", 1), ("Intel x86", 0)] {
        let shown = [(names::PROC_TYPE, kind)];
        let system = record(&n_to_n, names::COMPUTER_SYSTEM, &shown);
        assert_eq!(systems_on(&n_to_n, system), ["Linux", "Windows"]);
        let used = related(&n_to_n, system, names::USES, names::FS_TYPE);
        assert_eq!(used.len(), file_systems, "{kind}");
    }
    let linux = [(names::OS_TYPE, "Linux"), (names::FREE_MEM, "2000..4000")];
    assert_eq!(record(&n_to_n, names::OPERATING_SYSTEM, &linux).count, 2);
    let windows = [
        (names::OS_TYPE, "Windows"),
        (names::FREE_VIR_MEM, "500..4000"),
    ];
    assert_eq!(record(&n_to_n, names::OPERATING_SYSTEM, &windows).count, 3);
}

#[test]
fn aggregated_systems_have_the_figures_of_figure_4() {
    for form in [Form::OneToN, Form::NToN] {
        let inventory = in_form(&table_2(), form);
        let system = |kind| {
            let shown = [(names::PROC_TYPE, kind)];
            record(&inventory, names::COMPUTER_SYSTEM, &shown)
        };
        let (power, x86) = (system("PowerPC"), system("Intel x86"));
        assert_eq!((power.count, x86.count), (2, 3));
        let speed = power.attribute(names::PROC_SPEED).unwrap();
        assert_eq!(speed.values.to_string(), "2000..3200");
        assert_eq!((speed.min(), speed.max()), (number("2000"), number("3200")));
        assert_eq!(
            (speed.mean(), speed.median()),
            (number("2600"), number("2600"))
        );
        assert_eq!(
            power.attribute(names::PROC_NUM).unwrap().total(),
            number("6")
        );
        let speed = x86.attribute(names::PROC_SPEED).unwrap();
        assert_eq!(speed.values.to_string(), "2600..3200");
        assert_eq!(speed.mean(), number("2933.333333333"));
        assert_eq!((speed.median(), speed.count), (number("3000"), 3));
        assert_eq!(x86.attribute(names::PROC_NUM).unwrap().total(), number("9"));
        let used = x86.attribute(names::CPU_UTIL).unwrap();
        assert_eq!(
            (used.total(), used.median()),
            (number("410"), number("120"))
        );
    }
}

#[test]
fn each_looser_form_takes_in_what_the_one_before_it_refuses() {
    let system = |kind: &str, speed: u64, os: &str, memory: u64| {
        Query::default()
            .with(
                names::COMPUTER_SYSTEM,
                names::PROC_TYPE,
                Test::Is(kind.into()),
            )
            .with(
                names::COMPUTER_SYSTEM,
                names::PROC_SPEED,
                Test::AtLeast(speed.into()),
            )
            .with(names::OPERATING_SYSTEM, names::OS_TYPE, Test::Is(os.into()))
            .with(
                names::OPERATING_SYSTEM,
                names::FREE_MEM,
                Test::AtLeast(memory.into()),
            )
    };
    let matched = |query: &Query| {
        let could = |form| in_form(&table_2(), form).could_run(query);
        Form::ALL.map(could)
    };
    let there = system("powerpc", 3200, "linux", 2000);
    assert_eq!(matched(&there), [true; 4]);
    // A fast x86 with Windows and a large one, but none that is both.
    let mut fast_and_large = system("Intel x86", 3200, "Windows", 1000);
    fast_and_large.processors = 6;
    assert_eq!(matched(&fast_and_large), [false, true, true, true]);
    // The fast PowerPC runs Linux, the slow one Windows.
    let fast = system("PowerPC", 3000, "Windows", 8000);
    assert_eq!(matched(&fast), [false, false, true, true]);
    // Linux with so much memory runs on x86 only.
    let large = system("PowerPC", 2000, "Linux", 4000);
    assert_eq!(matched(&large), [false, false, false, true]);
    let nowhere = system("PowerPC", 2000, "Linux", 8001);
    assert_eq!(matched(&nowhere), [false; 4]);
}

#[test]
fn an_aggregated_inventory_is_not_aggregated_again() {
    let small = in_form(&table_2(), Form::NToN);
    let error = InventoryError::Aggregated(Form::NToN);
    assert_eq!(small.aggregate(&Schema::la_grid()), Err(error.clone()));
    assert_eq!(small.in_form(Form::Flat, &Schema::la_grid()), Err(error));
}

#[test]
fn a_schema_decides_what_is_kept_and_how() {
    use gridrig_core::inventory::{AttributeRule, Shape, Statistic, TypeRule};
    let rule = TypeRule {
        name: names::COMPUTER_SYSTEM.into(),
        aggregate_on: vec![],
        keep: vec![
            AttributeRule {
                name: names::PROC_SPEED.into(),
                shape: Shape::List,
                statistics: [Statistic::Median].into(),
            },
            AttributeRule::whole(names::PROC_TYPE),
        ],
    };
    let schema = Schema::new(vec![rule], vec![]).unwrap();
    let kept = table_2().aggregate(&schema).unwrap();
    assert_eq!((kept.records().len(), kept.relations().len()), (1, 0));
    let all = &kept.records()[0];
    let speed = all.attribute(names::PROC_SPEED).unwrap();
    assert_eq!(speed.values.to_string(), "{2000, 2600, 3000, 3200}");
    assert_eq!((speed.total(), speed.mean()), (None, None));
    assert_eq!(speed.median(), number("3000"));
    let kinds = all.attribute(names::PROC_TYPE).unwrap();
    assert_eq!(kinds.values.to_string(), "{Intel x86, PowerPC}");
    assert_eq!((kinds.total(), kinds.count), (None, 5));
    assert_eq!(all.attribute(names::PROC_NUM), None);
}
