//! What every picture can do: be drawn as part of a page.

use crate::plot::table::Table;
use crate::plot::text::escape_into;
use std::fmt::Write as _;

/// A picture.
pub trait Figure {
    /// Draws it.
    fn draw(&self) -> Drawing;
}

/// A drawing is a picture of itself: what was drawn ahead, on several
/// processors, is put on a page later.
impl Figure for Drawing {
    fn draw(&self) -> Drawing {
        self.clone()
    }
}

/// A picture that was drawn.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
    /// What the reader has to know about what is not, or not exactly, shown:
    /// values left out, series thinned.
    pub notes: Vec<String>,
    /// The numbers behind the picture, in short.
    pub table: Table,
}

impl Drawing {
    /// Appends the picture as an element of an HTML page that has the style.
    pub(super) fn write_inline(&self, out: &mut String) {
        let (w, h) = (self.width, self.height);
        let class = if w > 600.0 { "plot wide" } else { "plot" };
        let _ = writeln!(
            out,
            "<svg class=\"{class}\" role=\"img\" width=\"{w:.0}\" height=\"{h:.0}\" \
viewBox=\"0 0 {w:.0} {h:.0}\">"
        );
        for (element, text) in [("title", &self.title), ("desc", &self.description)] {
            let _ = write!(out, "<{element}>");
            escape_into(out, text);
            let _ = writeln!(out, "</{element}>");
        }
        out.push_str(&self.body);
        out.push_str("</svg>\n");
    }
}
