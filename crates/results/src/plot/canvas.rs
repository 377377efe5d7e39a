//! Writing SVG elements with fixed number formatting.

use crate::plot::figure::Drawing;
use crate::plot::style::Color;
use crate::plot::table::Table;
use crate::plot::text::{escape_into, wrap};
use std::fmt::{self, Write as _};

/// Characters of a text that shows on pointing.
const MOST_TITLE: usize = 200;

/// A coordinate in pixels, written with at most one decimal.
///
/// What is not finite becomes 0, what is far outside is cut: no picture can
/// contain `NaN` or a number that a renderer refuses.
#[derive(Clone, Copy)]
pub(super) struct Px(pub f64);

impl Px {
    /// The coordinate in tenths of a pixel.
    pub(super) fn tenths(self) -> i64 {
        (self.0.clamp(-1e6, 1e6) * 10.0).round() as i64
    }
}

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tenths(f, self.tenths())
    }
}

/// Writes a number of tenths: `12.5`, `-3`, `.5` is `0.5`.
fn write_tenths(f: &mut impl fmt::Write, tenths: i64) -> fmt::Result {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    match rest {
        0 => write!(f, "{sign}{whole}"),
        rest => write!(f, "{sign}{whole}.{rest}"),
    }
}

/// Path data, written with relative commands in tenths of a pixel, so that
/// rounding does not add up.
#[derive(Default)]
pub(super) struct Path {
    data: String,
    x: i64,
    y: i64,
}

impl Path {
    /// Begins a new part.
    pub(super) fn start(&mut self, x: f64, y: f64) {
        let (x, y) = (Px(x).tenths(), Px(y).tenths());
        match self.data.is_empty() {
            true => self.command('M', &[x, y]),
            false => self.command('m', &[x - self.x, y - self.y]),
        }
        (self.x, self.y) = (x, y);
    }

    /// Draws a line to here; nothing if it is where the path already is.
    pub(super) fn to(&mut self, x: f64, y: f64) {
        let (x, y) = (Px(x).tenths(), Px(y).tenths());
        let (dx, dy) = (x - self.x, y - self.y);
        match (dx, dy) {
            (0, 0) => {}
            (dx, 0) => self.command('h', &[dx]),
            (0, dy) => self.command('v', &[dy]),
            (dx, dy) => self.command('l', &[dx, dy]),
        }
        (self.x, self.y) = (x, y);
    }

    /// A line by itself.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.start(from.0, from.1);
        self.to(to.0, to.1);
    }

    /// A point: a line of no length, which round and square caps make visible.
    pub(super) fn dot(&mut self, x: f64, y: f64) {
        self.start(x, y);
        self.data.push_str("h0");
    }

    /// A closed rectangle.
    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.start(x, y);
        self.to(x + width, y);
        self.to(x + width, y + height);
        self.to(x, y + height);
        self.close(x, y);
    }

    /// Closes the part that began here.
    pub(super) fn close(&mut self, x: f64, y: f64) {
        self.data.push('z');
        (self.x, self.y) = (Px(x).tenths(), Px(y).tenths());
    }

    /// Whether nothing was drawn.
    pub(super) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    fn command(&mut self, name: char, numbers: &[i64]) {
        self.data.push(name);
        for (index, number) in numbers.iter().enumerate() {
            // A minus sign separates as well as a space.
            if index > 0 && *number >= 0 {
                self.data.push(' ');
            }
            let _ = write_tenths(&mut self.data, *number);
        }
    }
}

/// The elements of a picture, in the order they were drawn.
#[derive(Default)]
pub(super) struct Canvas {
    out: String,
    title: String,
    pub width: f64,
    /// What the reader has to know about what is not, or not exactly, shown.
    pub notes: Vec<String>,
}

impl Canvas {
    /// A picture that begins with its title, in at most two lines, and where it
    /// may go on.
    pub(super) fn titled(title: &str, width: f64) -> (Self, f64) {
        let mut canvas = Canvas {
            title: title.to_owned(),
            width,
            ..Canvas::default()
        };
        let lines = wrap(title, 14.0, width - 4.0, 2);
        for (index, line) in lines.iter().enumerate() {
            canvas.text(2.0, 14.0 + 18.0 * index as f64, "t", line);
        }
        (canvas, 2.0 + 18.0 * lines.len() as f64)
    }

    /// The picture as it was drawn.
    pub(super) fn drawing(self, height: f64, description: String, table: Table) -> Drawing {
        Drawing {
            title: self.title,
            description,
            width: self.width,
            height,
            body: self.out,
            notes: self.notes,
            table,
        }
    }

    /// Text at its baseline; the class says size, colour and anchor.
    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.titled_text(x, y, class, text, "");
    }

    /// Text with a longer one that shows on pointing at it.
    pub(super) fn titled_text(&mut self, x: f64, y: f64, class: &str, text: &str, title: &str) {
        let _ = write!(self.out, "<text x=\"{}\" y=\"{}\"", Px(x), Px(y));
        self.class(class);
        self.out.push('>');
        self.title(title);
        escape_into(&mut self.out, text);
        self.out.push_str("</text>\n");
    }

    /// Text that is shortened to this room; the whole of it shows on pointing.
    /// The classes `k` and `v` are the small ones.
    pub(super) fn fitted_text(&mut self, at: (f64, f64), class: &str, text: &str, room: f64) {
        let small = class.split(' ').any(|name| matches!(name, "k" | "v"));
        let shown = super::text::fit(text, if small { 11.0 } else { 12.0 }, room);
        let title = if shown == text { "" } else { text };
        self.titled_text(at.0, at.1, class, &shown, title);
    }

    /// A path; nothing if it is empty.
    pub(super) fn path(&mut self, class: &str, path: &Path) {
        self.titled_path(class, "", path, "");
    }

    /// A path with further attributes and a text that shows on pointing.
    pub(super) fn titled_path(&mut self, class: &str, attributes: &str, path: &Path, title: &str) {
        if path.is_empty() {
            return;
        }
        self.out.push_str("<path");
        self.class(class);
        self.out.push_str(attributes);
        let _ = write!(self.out, " d=\"{}\"", path.data);
        self.finish("path", title);
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut path = Path::default();
        path.line(from, to);
        self.path(class, &path);
    }

    /// A rectangle with further attributes and a text that shows on pointing.
    pub(super) fn rect(&mut self, class: &str, attributes: &str, area: [f64; 4], title: &str) {
        let [x, y, width, height] = area.map(Px);
        let _ = write!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""
        );
        self.class(class);
        self.out.push_str(attributes);
        self.finish("rect", title);
    }

    /// A disc with a text that shows on pointing.
    pub(super) fn disc(&mut self, at: (f64, f64), title: &str) {
        let (x, y) = (Px(at.0), Px(at.1));
        let _ = write!(
            self.out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" class=\"f\""
        );
        self.finish("circle", title);
    }

    /// Begins a group of one colour.
    pub(super) fn open(&mut self, color: Color) {
        let _ = writeln!(self.out, "<g class=\"{}\">", color.class());
    }

    /// Ends what [`Canvas::open`] began.
    pub(super) fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    /// Begins an area of its own: coordinates count from its corner and what
    /// reaches over its edge is cut.
    pub(super) fn open_area(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let [x, y, width, height] = [x, y, width, height].map(Px);
        let _ = writeln!(
            self.out,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" overflow=\"hidden\">"
        );
    }

    /// Ends what [`Canvas::open_area`] began.
    pub(super) fn close_area(&mut self) {
        self.out.push_str("</svg>\n");
    }

    fn class(&mut self, class: &str) {
        if !class.is_empty() {
            let _ = write!(self.out, " class=\"{class}\"");
        }
    }

    fn title(&mut self, title: &str) {
        if !title.is_empty() {
            self.out.push_str("<title>");
            // A hostile name must not be repeated in full by every cell.
            let end = title.char_indices().nth(MOST_TITLE).map(|(at, _)| at);
            escape_into(&mut self.out, &title[..end.unwrap_or(title.len())]);
            if end.is_some() {
                self.out.push('\u{2026}');
            }
            self.out.push_str("</title>");
        }
    }

    fn finish(&mut self, element: &str, title: &str) {
        if title.is_empty() {
            self.out.push_str("/>\n");
        } else {
            self.out.push('>');
            self.title(title);
            let _ = writeln!(self.out, "</{element}>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_one_decimal_and_are_always_numbers() {
        let shown: Vec<String> = [1.0, -0.04, 2.26, -0.26, f64::NAN, f64::INFINITY]
            .iter()
            .map(|value| Px(*value).to_string())
            .collect();
        assert_eq!(shown, ["1", "0", "2.3", "-0.3", "0", "1000000"]);
    }

    #[test]
    fn a_path_is_relative_and_its_rounding_does_not_add_up() {
        let mut path = Path::default();
        path.start(0.0, 0.0);
        for step in 1..=100 {
            path.to(f64::from(step) * 0.33, 0.0);
        }
        assert_eq!(path.x, 330);
        let mut path = Path::default();
        path.rect(1.0, 2.0, 3.0, 4.0);
        path.dot(0.5, 0.5);
        assert_eq!(path.data, "M1 2h3v4h-3zm-0.5-1.5h0");
    }
}
