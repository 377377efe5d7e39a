//! Tables of a page.

use crate::plot::format;
use crate::plot::text::escape_into;

/// One cell of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Text, aligned left.
    Text(String),
    /// A number as it is to be shown, aligned right.
    Number(String),
    /// A figure that is not defined.
    Missing,
    /// What is as wanted; with a check mark, aligned left.
    Pass(String),
    /// What is not as wanted; with a cross, aligned left.
    Fail(String),
}

impl Cell {
    /// A share from 0 to 1, see [`format::percent`].
    pub fn percent(value: f64) -> Self {
        Cell::shown(value, format::percent)
    }

    /// A number as `how` shows it, if it is one.
    pub(crate) fn shown(value: f64, how: impl Fn(f64) -> String) -> Self {
        match value.is_finite() {
            true => Cell::Number(how(value)),
            false => Cell::Missing,
        }
    }

    fn is_numeric(&self) -> bool {
        matches!(self, Cell::Number(_) | Cell::Missing)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    /// With four significant digits, see [`format::number`].
    fn from(value: f64) -> Self {
        Cell::shown(value, format::number)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Missing, Cell::from)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell::Number(format::integer(value))
    }
}

/// A table: a head, rows whose first cell names them, and a caption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    caption: String,
}

/// Tables of more rows scroll sideways where the page is narrow.
const MOST_CARDS: usize = 60;

impl Table {
    /// A table with these column heads.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Table {
            head: head.into_iter().map(Into::into).collect(),
            ..Table::default()
        }
    }

    /// Says what the table shows.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }

    /// Adds a row. Cells that are missing at its end stay empty, those past
    /// the last column get a column without a head.
    pub fn row<T: Into<Cell>>(mut self, cells: impl IntoIterator<Item = T>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row in place, for tables built in a loop.
    pub fn push<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends the table as HTML, in an area that scrolls sideways by itself
    /// and can be reached by keyboard. One that `stacks` is read row by row
    /// where the page is narrow, each cell below the name of its column.
    pub(super) fn write_html(&self, out: &mut String, name: &str, stacks: bool) {
        let label = match self.caption.is_empty() {
            true => name,
            false => &self.caption,
        };
        // Two columns fit anywhere, and hundreds of cards are read by nobody.
        let stacks = stacks && self.head.len() > 2 && self.rows.len() <= MOST_CARDS;
        out.push_str(match stacks {
            true => "<div class=\"scroll stack\" role=\"group\" tabindex=\"0\" aria-label=\"",
            false => "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"",
        });
        escape_into(out, label);
        out.push_str("\">\n<table>\n");
        if !self.caption.is_empty() {
            out.push_str("<caption>");
            escape_into(out, &self.caption);
            out.push_str("</caption>\n");
        }
        let widest = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = self.head.len().max(widest);
        out.push_str("<thead><tr>");
        for index in 0..columns {
            let numeric = index > 0 && self.is_numeric(index);
            out.push_str(match numeric {
                true => "<th scope=\"col\" class=\"num\">",
                false => "<th scope=\"col\">",
            });
            escape_into(out, self.head.get(index).map_or("", String::as_str));
            out.push_str("</th>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            let labels: &[String] = if stacks { &self.head } else { &[] };
            write_row(out, row, columns, labels);
        }
        out.push_str("</tbody>\n</table>\n</div>\n");
    }

    /// Whether all cells of a column are numbers.
    fn is_numeric(&self, column: usize) -> bool {
        let rows = self.rows.iter();
        let mut cells = rows.filter_map(|row| row.get(column)).peekable();
        cells.peek().is_some() && cells.all(Cell::is_numeric)
    }
}

fn write_row(out: &mut String, row: &[Cell], columns: usize, labels: &[String]) {
    out.push_str("<tr>");
    for index in 0..columns {
        let (class, mark, text) = match row.get(index) {
            None => ("", "", ""),
            Some(Cell::Text(text)) => ("", "", text.as_str()),
            Some(Cell::Number(text)) => ("num", "", text.as_str()),
            Some(Cell::Missing) => ("num none", "", "n/a"),
            Some(Cell::Pass(text)) => ("pass", "\u{2713} ", text.as_str()),
            Some(Cell::Fail(text)) => ("fail", "\u{2717} ", text.as_str()),
        };
        // A name that is not repeated from the row above is no header.
        let heads = index == 0 && !(mark.is_empty() && text.is_empty());
        out.push_str(if heads { "<th scope=\"row\"" } else { "<td" });
        if !class.is_empty() {
            out.push_str(" class=\"");
            out.push_str(class);
            out.push('"');
        }
        let said = !(heads || mark.is_empty() && text.is_empty());
        if let Some(label) = labels.get(index).filter(|label| said && !label.is_empty()) {
            out.push_str(" data-label=\"");
            escape_into(out, label);
            out.push('"');
        }
        out.push('>');
        out.push_str(mark);
        escape_into(out, text);
        out.push_str(if heads { "</th>" } else { "</td>" });
    }
    out.push_str("</tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_rows_are_named() {
        let table = Table::new(["metric", "mean"])
            .caption("All <jobs>")
            .row(["delay".into(), Cell::from(1234.5)])
            .row(["wait".into(), Cell::from(None)]);
        let mut out = String::new();
        table.write_html(&mut out, "table", false);
        assert!(out.contains("<caption>All &lt;jobs&gt;</caption>"));
        assert!(out.contains("<th scope=\"col\" class=\"num\">mean</th>"));
        assert!(
            out.contains("<th scope=\"row\">delay</th><td class=\"num\">1,234</td>"),
            "{out}"
        );
        assert!(out.contains("<td class=\"num none\">n/a</td>"));
    }

    #[test]
    fn cells_of_a_table_that_stacks_carry_the_names_of_their_columns() {
        let table = Table::new(["policy", "mean", "a \"b\""])
            .row(["x".into(), Cell::from(1.0), Cell::Text(String::new())])
            .row(["y".into(), Cell::from(2.0), Cell::Pass("z".to_owned())]);
        let mut out = String::new();
        table.write_html(&mut out, "t", true);
        assert!(out.contains("class=\"scroll stack\""));
        assert!(
            out.contains(
                "<th scope=\"row\">x</th><td class=\"num\" data-label=\"mean\">1</td><td></td>"
            ),
            "{out}"
        );
        assert!(out.contains("data-label=\"a &quot;b&quot;\">"), "{out}");
        let mut narrow = String::new();
        Table::new(["a", "b"])
            .row(["1", "2"])
            .write_html(&mut narrow, "t", true);
        assert!(!narrow.contains("stack"), "{narrow}");
    }

    #[test]
    fn ragged_rows_keep_their_columns() {
        let table = Table::new(["a"]).row(["1", "2", "3"]).row(["4"]);
        let mut out = String::new();
        table.write_html(&mut out, "t", false);
        assert_eq!(out.matches("<th scope=\"col\"").count(), 3);
        assert_eq!(out.matches("<td").count(), 4);
    }
}
