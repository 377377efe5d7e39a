//! A report laid out as plain text or as Markdown.

use super::document::Comparison;
use super::present::{Report, Table};
use crate::text::aligned;
use std::fmt::Write as _;

/// Widest line of a text.
const WIDTH: usize = 100;

impl Comparison {
    /// What decides, in lines of at most 100 columns.
    pub fn answer(&self) -> String {
        let mut out = String::new();
        wrap(&mut out, "", "", &clean(&self.sentence()));
        out
    }
}

impl Report {
    /// Plain text, in lines of at most 100 columns unless a name is longer.
    pub fn text(&self) -> String {
        let mut out = String::new();
        wrap(&mut out, "", "", &clean(&self.sentence));
        out.push('\n');
        let indent = self.facts.iter().map(|(name, _)| name.len() + 2).max();
        let indent = indent.unwrap_or(0);
        let mut before = "";
        for (name, text) in &self.facts {
            // Facts of one name stand below each other.
            let shown = if before == name {
                String::new()
            } else {
                format!("{name}:")
            };
            wrap(
                &mut out,
                &format!("{shown:<indent$}"),
                &" ".repeat(indent),
                &clean(text),
            );
            before = name;
        }
        for table in &self.tables {
            out.push('\n');
            table.text(&mut out);
        }
        if !self.warnings.is_empty() {
            out.push('\n');
        }
        for warning in &self.warnings {
            wrap(&mut out, "warning: ", "         ", &clean(warning));
        }
        out
    }

    /// Markdown with tables.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", escape(&self.sentence));
        for (name, text) in &self.facts {
            let _ = writeln!(out, "- {name}: {}", escape(text));
        }
        for table in &self.tables {
            let _ = writeln!(out, "\n### {}\n", escape(&table.title));
            let line = |out: &mut String, cells: &[String]| {
                let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
                let _ = writeln!(out, "| {} |", cells.join(" | "));
            };
            line(&mut out, &table.header);
            let rules = table.header.iter().enumerate().map(|(column, _)| {
                if table.is_left(column) { "---" } else { "---:" }
            });
            let _ = writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "));
            table.rows.iter().for_each(|row| line(&mut out, row));
            if let Some(note) = &table.note {
                let _ = writeln!(out, "\n{}", escape(note));
            }
        }
        if !self.warnings.is_empty() {
            out.push('\n');
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "- warning: {}", escape(warning));
        }
        out
    }
}

impl Table {
    /// Columns of words stand at the left, numbers at the right.
    fn is_left(&self, column: usize) -> bool {
        let words = ["policy", "metric", "require", "kept", "in", "origin"];
        let name = self.header.get(column).map_or("", String::as_str);
        column == 0 || words.contains(&name)
    }

    fn text(&self, out: &mut String) {
        wrap(out, "", "", &clean(&self.title));
        let mut lines: Vec<Vec<String>> = std::iter::once(&self.header)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| clean(cell)).collect())
            .collect();
        // What repeats in the first column says nothing again.
        for line in (2..lines.len()).rev() {
            if lines[line].first() == lines[line - 1].first() {
                lines[line][0].clear();
            }
        }
        let left: Vec<usize> = (0..self.header.len())
            .filter(|n| self.is_left(*n))
            .collect();
        for line in aligned(&lines, "  ", &left).lines() {
            let _ = writeln!(out, "  {line}");
        }
        if let Some(note) = &self.note {
            wrap(out, "  ", "  ", &clean(note));
        }
    }
}

/// Breaks a text between words.
fn wrap(out: &mut String, first: &str, next: &str, text: &str) {
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = next.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// Without control characters: a name from a trace must not steer a terminal.
fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// A name from a trace must not become Markdown or HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> Report {
        Report {
            sentence: "a <script> wins".to_owned(),
            facts: vec![("trace".to_owned(), "x\u{1b}[31m|y".to_owned())],
            tables: vec![Table {
                title: "T".to_owned(),
                header: vec!["policy".to_owned(), "value".to_owned()],
                rows: vec![vec!["p|q".to_owned(), "1.5".to_owned()]],
                note: None,
            }],
            warnings: vec!["word ".repeat(60)],
        }
    }

    #[test]
    fn hostile_names_steer_neither_terminal_nor_page() {
        let text = hostile().text();
        assert!(!text.contains('\u{1b}'), "{text}");
        let markdown = hostile().markdown();
        assert!(markdown.contains("&lt;script&gt;"), "{markdown}");
        assert!(markdown.contains("| p\\|q | 1.5 |"), "{markdown}");
    }

    #[test]
    fn lines_end_before_the_terminal_does() {
        let text = hostile().text();
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(
            text.contains("  policy  value\n  p|q       1.5\n"),
            "{text}"
        );
    }
}
