//! Texts are read by another reader as they were written.

use super::*;
use crate::rundir::columns::{Cell, Column, GroupedFile};
use crate::rundir::values::{Kind, Values};
use gridrig_core::placement::PlacementRun;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// What the reader of `parquet` finds in a file with these rows in groups of so many.
fn read_back(rows: &[Option<String>], group: usize) -> Vec<Option<String>> {
    let file = written(rows, group);
    let found = file.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        match row.get_column_iter().next().unwrap().1 {
            Field::Str(text) => Some(text.clone()),
            other => {
                assert_eq!(*other, Field::Null);
                None
            }
        }
    });
    found.collect()
}

/// All rows, so many at a time.
fn groups(rows: usize, most: usize) -> Vec<Range<usize>> {
    let begins = (0..rows).step_by(most);
    begins.map(|at| at..rows.min(at + most)).collect()
}

fn written(rows: &[Option<String>], group: usize) -> SerializedFileReader<Bytes> {
    let columns = std::iter::once(("text", Kind::Text));
    let mut file = GroupedFile::of(Vec::new(), columns, |it| it).unwrap();
    let groups = groups(rows.len(), group);
    let text = |text: &Option<String>| text.as_deref().map(ByteArray::from);
    let values = |rows: &[Option<String>]| Values::Text(Texts::each(rows.iter().map(text)));
    file.write(&[()], &groups, |_, own, ()| values(&rows[own]))
        .unwrap();
    SerializedFileReader::new(Bytes::from(file.finish().unwrap())).unwrap()
}

proptest! {
    #[test]
    fn texts_are_read_as_they_were_written(
        of in prop_oneof![Just(1_u32), Just(2), Just(9), Just(300)],
        runs in prop::collection::vec((any::<u32>(), 1_usize..40, any::<bool>()), 0..200),
        group in 1_usize..3_000,
    ) {
        let rows = runs.into_iter().flat_map(|(which, times, once)| {
            let text = (which % 5 > 0).then(|| format!("text {}", which % of));
            std::iter::repeat_n(text, if once { 1 } else { times })
        });
        let rows: Vec<Option<String>> = rows.collect();
        prop_assert_eq!(read_back(&rows, group), rows);
    }
}

type Placed = Option<(String, Vec<PlacementRun>)>;

fn nodes(row: &Placed) -> Option<(Cow<'_, str>, &[PlacementRun])> {
    let (cluster, runs) = row.as_ref()?;
    Some((cluster.into(), runs))
}

proptest! {
    #[test]
    fn placements_are_read_as_they_were_written(
        rows in prop::collection::vec(prop::option::of((0..3, 0..4_u32)), 0..300),
        group in 1_usize..100,
    ) {
        let placed = |(cluster, runs)| {
            let run = |node| PlacementRun { resource: 0, node, nodes: 1, processors: node + 2 };
            (format!("c{cluster}"), (0..runs).map(run).collect())
        };
        let rows: Vec<Placed> = rows.into_iter().map(|row| row.map(placed)).collect();
        let columns = [("placement", Cell::Placement(nodes))];
        let mut file = GroupedFile::new(Vec::new(), &columns).unwrap();
        let groups = groups(rows.len(), group);
        let values = |_, own: Range<usize>, (_, cell): &Column<'_, _>| cell.values(rows[own].iter());
        file.write(&columns, &groups, values).unwrap();
        let file = SerializedFileReader::new(Bytes::from(file.finish().unwrap())).unwrap();
        let found = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
        let run = |cluster: &str, run: &PlacementRun| format!(
            "{{cluster: \"{cluster}\", resource: {}, node: {}, nodes: {}, processors: {}}}",
            run.resource, run.node, run.nodes, run.processors
        );
        let expected = rows.iter().map(|row| match row {
            None => "{placement: null}".to_owned(),
            Some((cluster, runs)) => {
                let runs: Vec<String> = runs.iter().map(|it| run(cluster, it)).collect();
                format!("{{placement: [{}]}}", runs.join(", "))
            }
        });
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}

#[test]
fn texts_that_hardly_repeat_have_no_dictionary() {
    let text = |row: u32| (!row.is_multiple_of(7)).then(|| format!("{row:>500}"));
    let rows: Vec<Option<String>> = (0..9_000).map(text).collect();
    assert_eq!(read_back(&rows, 9_000), rows);
    assert_eq!(read_back(&[None, None, None], 2), [const { None }; 3]);
}

#[test]
fn a_column_says_its_least_and_its_greatest_text_or_neither() {
    let of = |texts: &[&str]| {
        let rows = texts.iter().map(|text| Some((*text).to_owned()));
        let rows: Vec<_> = rows.chain([None, None]).collect();
        let file = written(&rows, rows.len());
        let group = file.metadata().row_group(0);
        let found = group.column(0).statistics().unwrap();
        assert_eq!(found.null_count_opt(), Some(2));
        let text = |bytes: Option<&[u8]>| Some(String::from_utf8(bytes?.to_vec()).unwrap());
        (text(found.min_bytes_opt()), text(found.max_bytes_opt()))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of(&["b", "a", "\u{e4}", "b"]), (some("a"), some("\u{e4}")));
    assert_eq!(of(&["a", &"b".repeat(65)]), (None, None));
    assert_eq!(of(&[]), (None, None));
}
