//! The generated traces that ship in `traces/`.
//!
//! Each is a week of a grid that never existed, built so that after the LSAP
//! reduction (both scales 60, shortest run 1 s) its moments are those of LSAP
//! Tables 1 and 2. A model is data; one engine turns it into
//! SWF text. Everything is drawn with integers from one named stream and
//! fitted with additions, products, quotients and square roots only, so the
//! same text comes out on every machine.

mod ctc;
mod draw;
mod fit;
mod grid5000;
mod model;
mod write;

use flate2::{Compression, GzBuilder};
use std::io::{self, Write as _};

/// A trace that ships.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name in `traces/`.
    pub file: &'static str,
    model: &'static model::Model,
}

/// All traces that ship.
pub const SHIPPED: [Shipped; 2] = [
    Shipped {
        file: "ctc-like.swf.gz",
        model: &ctc::MODEL,
    },
    Shipped {
        file: "grid5000-like.swf.gz",
        model: &grid5000::MODEL,
    },
];

impl Shipped {
    /// The SWF text, the same every time.
    #[must_use]
    pub fn text(&self) -> String {
        write::text(self.model, &model::generate(self.model))
    }
}

/// The text as one gzip member without name and time, so that equal texts
/// are equal files.
///
/// # Errors
/// None in practice: memory is written to.
pub fn gzip(text: &str) -> io::Result<Vec<u8>> {
    /// Not one of the systems that gzip numbers: the same everywhere.
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
