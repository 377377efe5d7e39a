//! Makes workloads for those who have no trace, or may not show theirs.
//!
//! Five kinds of models, all seeded, all files of one JSON schema
//! (`docs/synthesize.md`):
//!
//! - [`lublin`]: the model of Lublin and Feitelson, with DMM's parameters for
//!   grids and a load that is asked for;
//! - [`poisson`]: Poisson arrivals of a mix of applications, as KOALA's W1 and W2;
//! - [`like`]: a look-alike fitted to any trace;
//! - [`egee`]: a grid's batches of parallel jobs at a load that is asked for;
//! - [`burst`]: a week of bursts with given moments, which is what ships in
//!   `traces/`.
//!
//! A [`Model`] gives its jobs one by one and in order; [`output`] writes them.
//!
//! ```
//! use gridrig_tracelab::synth::{Extent, Model, lublin, output};
//!
//! let model = lublin::Preset::All.model(128, Extent::jobs(10), 1);
//! let (text, made) = output::write(&Model::Lublin(model), "an example", Vec::new())?;
//! assert_eq!(made.jobs, 10);
//! assert!(text.starts_with(b"; Version: 2.2\n"));
//! # Ok::<(), gridrig_tracelab::synth::SynthError>(())
//! ```

pub mod burst;
pub mod egee;
mod error;
mod gamma;
pub mod like;
pub mod lublin;
mod model;
pub mod output;
pub mod poisson;
mod pretty;
mod unit;

pub use error::SynthError;
pub use model::{Extent, Model, SCHEMA};

use burst::Week;
use flate2::{Compression, GzBuilder};
use std::io::{self, Write as _};

/// A trace that ships.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name in `traces/`.
    pub file: &'static str,
    /// The model file beside it.
    pub model: &'static str,
    week: Week,
}

/// All traces that ship.
pub const SHIPPED: [Shipped; 2] = [
    Shipped {
        file: "ctc-like.swf.gz",
        model: "ctc-like.json",
        week: Week::Ctc,
    },
    Shipped {
        file: "grid5000-like.swf.gz",
        model: "grid5000-like.json",
        week: Week::Grid5000,
    },
];

impl Shipped {
    /// The SWF text, the same every time.
    ///
    /// # Errors
    /// None in practice: a test makes every one of them.
    pub fn text(&self) -> Result<String, SynthError> {
        let model = Model::Burst(Box::new(self.week.model()));
        let command = format!("gridrig trace synthesize model traces/{}", self.model);
        let (bytes, _) = output::write(&model, &command, Vec::new())?;
        String::from_utf8(bytes).map_err(|error| SynthError::Write(io::Error::other(error)))
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
