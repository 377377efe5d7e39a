//! Writes the generated traces into a folder, by default `traces/` of the
//! repository: `cargo run -p gridrig-tracelab --example shipped_traces`.

use gridrig_tracelab::synth::{SHIPPED, gzip};
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces")),
        PathBuf::from,
    );
    for shipped in SHIPPED {
        let path = folder.join(shipped.file);
        fs::write(&path, gzip(&shipped.text()?)?)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
