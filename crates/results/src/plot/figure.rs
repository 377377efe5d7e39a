//! What every picture can do: be drawn, as a file or as part of a page.

use crate::plot::style::PLOT_CSS;
use crate::plot::table::Table;
use crate::plot::text::{escape_into, wrap};
use std::fmt::Write as _;

/// Space around a picture that is a document, in pixels.
const MARGIN: f64 = 14.0;

/// A picture.
pub trait Figure {
    /// Draws it.
    fn draw(&self) -> Drawing;

    /// The picture as an SVG document of its own, with its style inside and
    /// its notes below.
    fn to_svg(&self) -> String {
        self.draw().to_svg()
    }
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
    pub(super) notes: Vec<String>,
    pub(super) table: Table,
}

impl Drawing {
    /// What the reader has to know about what is not, or not exactly, shown:
    /// values left out, series thinned.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The numbers behind the picture, in short.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// An SVG document of its own.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let lines: Vec<String> = self
            .notes
            .iter()
            .flat_map(|note| wrap(note, 11.0, self.width - 4.0, 4))
            .collect();
        let height = self.height + 14.0 * lines.len() as f64;
        let mut out = String::with_capacity(self.body.len() + PLOT_CSS.len() + 1024);
        self.write_head(&mut out, height, Some(MARGIN));
        let _ = writeln!(out, "<style>\n{PLOT_CSS}</style>");
        let (w, h) = (self.width + 2.0 * MARGIN, height + 2.0 * MARGIN);
        let _ = writeln!(
            out,
            "<rect class=\"bg\" x=\"-{MARGIN:.0}\" y=\"-{MARGIN:.0}\" width=\"{w:.0}\" height=\"{h:.0}\"/>"
        );
        out.push_str(&self.body);
        for (index, line) in lines.iter().enumerate() {
            let y = self.height + 10.0 + 14.0 * index as f64;
            let _ = write!(out, "<text class=\"k\" x=\"2\" y=\"{y:.0}\">");
            escape_into(&mut out, line);
            out.push_str("</text>\n");
        }
        out.push_str("</svg>\n");
        out
    }

    /// Appends the picture as an element of an HTML page that has the style.
    pub(super) fn write_inline(&self, out: &mut String) {
        self.write_head(out, self.height, None);
        out.push_str(&self.body);
        out.push_str("</svg>\n");
    }

    /// The opening tag, of a document if there is a margin, with title and
    /// description.
    fn write_head(&self, out: &mut String, height: f64, margin: Option<f64>) {
        let namespace = match margin {
            Some(_) => " xmlns=\"http://www.w3.org/2000/svg\"",
            None => "",
        };
        let m = margin.unwrap_or(0.0);
        let (w, h) = (self.width + 2.0 * m, height + 2.0 * m);
        let class = if w > 600.0 { "plot wide" } else { "plot" };
        let _ = writeln!(
            out,
            "<svg{namespace} class=\"{class}\" role=\"img\" width=\"{w:.0}\" height=\"{h:.0}\" \
viewBox=\"{:.0} {:.0} {w:.0} {h:.0}\">",
            0.0 - m,
            0.0 - m
        );
        for (element, text) in [("title", &self.title), ("desc", &self.description)] {
            let _ = write!(out, "<{element}>");
            escape_into(out, text);
            let _ = writeln!(out, "</{element}>");
        }
    }
}
