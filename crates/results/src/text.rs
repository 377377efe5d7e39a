//! Tables of plain text.

/// Lines of cells below each other: a column is as wide as its widest cell, with
/// `gap` between columns. Those of `left` begin alike, the others end alike.
/// Nothing stands behind the last cell of a line.
#[must_use]
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
#[must_use]
pub fn table<L: AsRef<[String]>>(lines: &[L]) -> String {
    aligned(lines, "  ", &[0])
}

/// The names of columns, which stand in a line with ` | ` between.
pub(crate) fn columns(names: &str) -> Vec<String> {
    names.split(" | ").map(str::to_owned).collect()
}

/// A line of cells.
#[must_use]
pub fn cells<T: ToString, const N: usize>(cells: [T; N]) -> Vec<String> {
    cells.iter().map(T::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::{aligned, cells};

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
}
