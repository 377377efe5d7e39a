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
mod extent;
mod gamma;
pub mod like;
pub mod lublin;
mod model;
pub mod output;
pub mod poisson;
mod pretty;
pub(crate) mod unit;

pub use error::SynthError;
pub use extent::{Extent, SCHEMA};
pub use model::Model;

use crate::error::TraceError;
use crate::format::{gzip_writer, hex};
use crate::load::{Loaded, load_made};
use crate::spec::SizeFrom;
use burst::Week;
use error::Result;
use flate2::Compression;
use gridrig_core::time::Decimal;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write as _};
use std::path::Path;

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
    pub fn text(&self) -> Result<String> {
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
    let mut encoder = gzip_writer(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// The jobs of a model, as if they had been written and read; `file` is what
/// messages call it.
///
/// # Errors
/// [`TraceError::Model`] where the model makes no workload.
pub fn made(model: &Model, file: &str, size: SizeFrom) -> Result<Loaded, TraceError> {
    let jobs = model
        .jobs()
        .map_err(|source| TraceError::Model(file.to_owned(), Box::new(source)))?;
    load_made(file, size, jobs)
}

/// Makes the workload of a model file with this seed instead of its own, as if
/// it had been written and read. The hash is that of the model file.
///
/// # Errors
/// [`TraceError::Model`] where the file is no model or makes no workload.
pub fn generate(
    path: &Path,
    size: SizeFrom,
    seed: u64,
    load: Option<Decimal>,
) -> Result<Loaded, TraceError> {
    let file = path.display().to_string();
    let about = |source: SynthError| TraceError::Model(file.clone(), Box::new(source));
    let mut model = Model::read(path).map_err(|error| match error {
        // It names the file already.
        SynthError::Trace(error) => error,
        other => about(other),
    })?;
    model.set_seed(seed);
    if let Some(load) = load {
        let Model::Lublin(lublin) = &model else {
            let expected = "a model of the kind lublin, which can be made for a load";
            return Err(about(SynthError::parameter("kind", model.kind(), expected)));
        };
        model = Model::Lublin(lublin.with_load(load.as_f64()).map_err(about)?.0);
    }
    let mut loaded = made(&model, &file, size)?;
    let bytes = std::fs::read(path).map_err(|source| TraceError::Open(file.clone(), source))?;
    loaded.sha256 = hex(&Sha256::digest(bytes));
    Ok(loaded)
}
