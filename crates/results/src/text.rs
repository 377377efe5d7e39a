//! Tables of plain text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines of cells below each other: a column is as wide as its widest cell, with
/// `gap` between columns. Those of `left` begin alike, the others end alike.
/// Nothing stands behind the last cell of a line.
pub fn aligned<L: AsRef<[String]>>(lines: &[L], gap: &str, left: &[usize]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let shown = |(column, (cell, &width)): (usize, (&String, &usize))| match left.contains(&column)
    {
        true => format!("{cell:<width$}"),
        false => format!("{cell:>width$}"),
    };
    let mut text = String::new();
    for line in lines.iter().map(AsRef::as_ref) {
        let cells = line.iter().zip(&widths).enumerate().map(shown);
        text.push_str(cells.collect::<Vec<_>>().join(gap).trim_end());
        text.push('\n');
    }
    text
}

/// Lines of which the first cell is a name and the others are figures.
pub fn table<L: AsRef<[String]>>(lines: &[L]) -> String {
    aligned(lines, "  ", &[0])
}

/// The head of a table, in the names of its columns with ` | ` between them.
pub fn head(names: &str) -> Vec<String> {
    names.split(" | ").map(str::to_owned).collect()
}

/// A line of cells.
pub fn cells<T: ToString, const N: usize>(cells: [T; N]) -> Vec<String> {
    cells.iter().map(T::to_string).collect()
}

/// Warnings of a run that are about its setting and turn no conclusion by themselves
/// (`docs/validity.md`).
const OF_THE_SETTING: [&str; 8] = [
    "compressed-intervals",
    "short-median-run",
    "short-runs",
    "herding",
    "wide-jobs-lost",
    "cut-edges",
    "phase-race",
    "mixed-run-time-scales",
];

/// So many warnings that differ in their numbers only are told one by one.
const ALIKE: usize = 3;

/// Each warning once, one of many that differ in their numbers only, and those that are about
/// the setting by their names in a single line, the last.
pub fn folded<'a>(warnings: impl Iterator<Item = &'a String>) -> Vec<String> {
    let (mut told, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for warning in warnings {
        let name = warning.split(':').next().unwrap_or_default();
        let of_setting = OF_THE_SETTING.contains(&name);
        let all = if of_setting { &mut names } else { &mut told };
        let said = if of_setting { name } else { warning };
        if !all.iter().any(|it| it == said) {
            all.push(said.to_owned());
        }
    }
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for warning in &told {
        let others = alike.entry(without_numbers(warning)).or_default();
        others.push(warning.clone());
    }
    told.retain_mut(|warning| {
        let all = &alike[&without_numbers(warning)];
        let is_first = all.first().is_some_and(|first| *first == *warning);
        if all.len() > ALIKE && is_first {
            let more = all.len() - 1;
            let _ = write!(warning, " (and {more} more that differ in numbers only)");
        }
        all.len() <= ALIKE || is_first
    });
    if !names.is_empty() {
        let names = names.join(", ");
        told.push(format!(
            "the setting: {names} (in full: gridrig check; docs/validity.md)"
        ));
    }
    told
}

/// Without its numbers; those within a name are not its own.
fn without_numbers(text: &str) -> String {
    let of_a_name = |c: char| c.is_alphanumeric() || ['_', '-', '.'].contains(&c);
    let (mut words, mut in_number) = (String::new(), false);
    for c in text.chars() {
        let begins = !words.ends_with(of_a_name);
        in_number = match c {
            '.' => in_number,
            _ => c.is_ascii_digit() && (in_number || begins),
        };
        if !in_number {
            words.push(c);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{aligned, cells, folded};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [
            cells(["policy", "mean", "in"]),
            cells(["réseau", "1.5", ""]),
            cells(["rr", "10.25"]),
        ];
        assert_eq!(
            aligned(&lines, "  ", &[0, 2]),
            "policy   mean  in\nréseau    1.5\nrr      10.25\n"
        );
    }

    #[test]
    fn warnings_about_the_setting_are_one_line_behind_the_others() {
        let warnings = ["herding: a", "overload: b", "short-runs: c", "herding: a"];
        let folded = folded(warnings.map(str::to_owned).iter());
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[0], "overload: b");
        assert!(folded[1].starts_with("the setting: herding, short-runs ("));
    }

    #[test]
    fn many_warnings_that_differ_in_numbers_only_are_one_line() {
        let of = |count: u32| {
            let all: Vec<String> = (1..=count)
                .map(|it| format!("seed {it}: 0.{it} s"))
                .collect();
            folded(all.iter())
        };
        assert_eq!(of(3).len(), 3);
        let more = "seed 1: 0.1 s (and 33 more that differ in numbers only)";
        assert_eq!(of(34), [more]);
        // Others are about others.
        let names: Vec<String> = (1..=5).map(|it| format!("t{it}.swf: {it} jobs")).collect();
        assert_eq!(folded(names.iter()).len(), 5);
    }
}
