//! One HTML file that holds everything it shows.

use crate::names::unused;
use crate::plot::figure::Figure;
use crate::plot::style::{PAGE_CSS, PLOT_CSS};
use crate::plot::table::Table;
use crate::plot::text::{escape_into, escaped};
use data_encoding::BASE64;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What a page says about the question it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is as wanted.
    Pass,
    /// It is not.
    Fail,
    /// It can be used, with a reservation.
    Warning,
    /// Nothing was judged.
    Info,
}

/// An offline HTML page, built from top to bottom.
///
/// It has no script and loads nothing; a content security policy inside says
/// so to the browser. Everything given is text and is escaped.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    body: String,
    sections: Vec<(String, String)>,
    used: BTreeSet<String>,
    footer: String,
    figures: usize,
    tables: usize,
}

impl Page {
    /// An empty page with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Page {
            title: title.into(),
            ..Page::default()
        }
    }

    /// Begins a section. Its address is its heading in lower case with dashes;
    /// sections are listed at the top where there are three or more.
    pub fn heading(&mut self, text: &str) {
        let id = self.heading_at(2, text);
        self.sections.push((id, text.to_owned()));
    }

    /// Begins a part of a section.
    pub fn subheading(&mut self, text: &str) {
        self.heading_at(3, text);
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    /// Adds a list of points.
    pub fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.body.push_str("<ul>\n");
            items.for_each(|item| self.element("li", item.as_ref()));
            self.body.push_str("</ul>\n");
        }
    }

    /// Adds the answer of the page, with a word for its colour.
    pub fn verdict(&mut self, verdict: Verdict, text: &str) {
        let word = match verdict {
            Verdict::Pass => "\u{2713} Pass",
            Verdict::Fail => "\u{2717} Fail",
            Verdict::Warning => "Warning",
            Verdict::Info => "Note",
        };
        self.badge(verdict, word, text)
    }

    /// As [`Page::verdict`], in a word of its own.
    pub fn badge(&mut self, verdict: Verdict, word: &str, text: &str) {
        let class = match verdict {
            Verdict::Pass => " vp",
            Verdict::Fail => " vf",
            Verdict::Warning => " vw",
            Verdict::Info => "",
        };
        let _ = write!(self.body, "<p class=\"verdict{class}\"><b>{word}</b>");
        escape_into(&mut self.body, text);
        self.body.push_str("</p>\n");
    }

    /// Adds names and what they are.
    pub fn facts<K: AsRef<str>, V: AsRef<str>>(&mut self, facts: impl IntoIterator<Item = (K, V)>) {
        let mut facts = facts.into_iter().peekable();
        if facts.peek().is_some() {
            self.body.push_str("<dl>\n");
            for (name, value) in facts {
                self.element("dt", name.as_ref());
                self.element("dd", value.as_ref());
            }
            self.body.push_str("</dl>\n");
        }
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) {
        self.tables += 1;
        let name = format!("Table {}", self.tables);
        table.write_html(&mut self.body, &name, true);
    }

    /// Adds a table that is opened by a click on `summary`.
    pub fn folded_table(&mut self, summary: &str, table: &Table) {
        self.folded(summary, |page| page.table(table))
    }

    /// Adds a block in a fixed-width face: a command, a file.
    pub fn code(&mut self, text: &str) {
        self.body.push_str("<pre tabindex=\"0\"><code>");
        escape_into(&mut self.body, text.trim_end());
        self.body.push_str("</code></pre>\n");
    }

    /// Adds such a block that is opened by a click on `summary`.
    pub fn folded_code(&mut self, summary: &str, text: &str) {
        self.folded(summary, |page| page.code(text))
    }

    fn folded(&mut self, summary: &str, inner: impl Fn(&mut Self)) {
        self.body.push_str("<details><summary>");
        escape_into(&mut self.body, summary);
        self.body.push_str("</summary>\n");
        inner(self);
        self.body.push_str("</details>\n");
    }

    /// Adds a picture with a caption, its notes, and the numbers behind it.
    pub fn figure(&mut self, figure: &dyn Figure, caption: &str) {
        self.figures += 1;
        let drawing = figure.draw();
        self.body.push_str(
            "<figure>\n<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"",
        );
        let _ = write!(self.body, "Figure {}: ", self.figures);
        escape_into(&mut self.body, &drawing.title);
        self.body.push_str("\">\n");
        drawing.write_inline(&mut self.body);
        self.body.push_str("</div>\n<figcaption>");
        let _ = write!(self.body, "Figure {}. ", self.figures);
        escape_into(&mut self.body, caption);
        for note in &drawing.notes {
            self.body.push(' ');
            escape_into(&mut self.body, note);
        }
        self.body.push_str("</figcaption>\n");
        if !drawing.table.is_empty() {
            self.body.push_str("<details><summary>Numbers</summary>\n");
            let name = format!("Numbers of figure {}", self.figures);
            drawing.table.write_html(&mut self.body, &name, false);
            self.body.push_str("</details>\n");
        }
        self.body.push_str("</figure>\n");
    }

    /// Adds two pictures side by side (one below the other where the page is
    /// narrow), each with its caption. Draw them half as wide.
    pub fn pair(&mut self, left: (&dyn Figure, &str), right: (&dyn Figure, &str)) {
        self.grid([left, right])
    }

    /// Adds pictures in two columns, each with this caption.
    pub fn figures<F: Figure>(&mut self, figures: &[F], caption: &str) {
        let figures = figures.iter().map(|figure| figure as &dyn Figure);
        self.grid(figures.map(|figure| (figure, caption)))
    }

    /// Adds pictures in two columns, each with its caption.
    pub fn grid<'a>(&mut self, figures: impl IntoIterator<Item = (&'a dyn Figure, &'a str)>) {
        self.body.push_str("<div class=\"grid\">\n");
        for (figure, caption) in figures {
            self.figure(figure, caption);
        }
        self.body.push_str("</div>\n");
    }

    /// What stands at the foot of the page.
    pub fn footer(&mut self, text: &str) {
        self.footer = text.to_owned();
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        let style = format!("\n{PLOT_CSS}{PAGE_CSS}");
        let hash = BASE64.encode(&Sha256::digest(style.as_bytes()));
        let title = escaped(&self.title);
        let mut out = String::with_capacity(self.body.len() + style.len() + 2048);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
<meta name=\"color-scheme\" content=\"light dark\">\n\
<meta name=\"generator\" content=\"gridrig\">\n\
<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        self.write_inner(&mut out);
        if !self.footer.is_empty() {
            let _ = writeln!(out, "<footer>{}</footer>", escaped(&self.footer));
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    /// What stands between title and footer, for a page around it that has the
    /// classes ([`RULES`](crate::plot::RULES)) and a title of its own.
    pub fn to_fragment(&self) -> String {
        let mut out = String::with_capacity(self.body.len() + 1024);
        self.write_inner(&mut out);
        out
    }

    fn write_inner(&self, out: &mut String) {
        if self.sections.len() >= 3 {
            out.push_str("<nav aria-label=\"Sections\"><ul>\n");
            for (id, text) in &self.sections {
                let _ = writeln!(out, "<li><a href=\"#{id}\">{}</a></li>", escaped(text));
            }
            out.push_str("</ul></nav>\n");
        }
        out.push_str(&self.body);
    }

    fn element(&mut self, name: &str, text: &str) {
        let _ = write!(self.body, "<{name}>");
        escape_into(&mut self.body, text);
        let _ = writeln!(self.body, "</{name}>");
    }

    /// Adds a heading that links to itself; returns its address.
    fn heading_at(&mut self, level: u8, text: &str) -> String {
        let id = unused(&mut self.used, &slug(text), "-");
        let _ = write!(self.body, "<h{level} id=\"{id}\"><a href=\"#{id}\">");
        escape_into(&mut self.body, text);
        let _ = writeln!(self.body, "</a></h{level}>");
        id
    }
}

/// Letters and digits of ASCII in lower case, dashes between.
fn slug(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let slug: String = words.join("-").chars().take(60).collect();
    match slug.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => slug,
        _ => format!("section-{slug}").trim_end_matches('-').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_addresses_of_their_own() {
        let mut page = Page::new("t");
        for heading in ["Run times", "Run times", "%"] {
            page.heading(heading);
        }
        page.subheading("4 x");
        let html = page.to_html();
        for id in ["run-times", "run-times-2", "section", "section-4-x"] {
            assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
        }
        assert!(html.contains("<li><a href=\"#run-times-2\">Run times</a></li>"));
    }
}
