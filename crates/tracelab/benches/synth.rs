//! How fast workloads are made: one million jobs of each streaming model, as
//! SWF text into memory that is thrown away, beside a bare loop that draws as
//! many pairs of uniform numbers.
#![allow(clippy::print_stdout, reason = "a bench reports on stdout")]
#![allow(
    clippy::disallowed_methods,
    reason = "a bench measures wall clock time, which nothing else may read"
)]

use gridrig_tracelab::format::{Format, TraceReader, Writer};
use gridrig_tracelab::load::load_from;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::synth::like::LookAlike;
use gridrig_tracelab::synth::lublin::Preset;
use gridrig_tracelab::synth::{Extent, Model, SHIPPED};
use rand::Rng;
use std::error::Error;
use std::hint::black_box;
use std::io;
use std::time::Instant;

const JOBS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut random = gridrig_core::rng::stream(1, "bench");
    for _ in 0..JOBS {
        black_box((random.next_u64(), random.next_u64()));
    }
    let bare = start.elapsed().as_secs_f64();
    println!("{JOBS} pairs of random numbers: {bare:.4} s");
    let mut models = Vec::new();
    for (name, preset) in [("lublin all", Preset::All), ("lublin both", Preset::Both)] {
        models.push((
            name,
            Model::Lublin(preset.model(128, Extent::jobs(JOBS), 1)),
        ));
    }
    let text = SHIPPED[0].text()?;
    let source = load_from(
        &mut TraceReader::new(Format::Swf, text.as_bytes(), "ctc-like"),
        SizeFrom::Allocated,
    )?;
    let mut like = LookAlike::fit(&source, None)?;
    like.extent = Extent::jobs(JOBS);
    models.push(("look-alike", Model::LookAlike(Box::new(like))));
    for (name, model) in models {
        let start = Instant::now();
        let drawn = model.jobs()?.map(black_box).count();
        let drawing = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut writer = Writer::new(io::sink(), Format::Swf, &[])?;
        for job in model.jobs()? {
            writer.write(&job)?;
        }
        let written = writer.records();
        writer.finish()?;
        let writing = start.elapsed().as_secs_f64();
        println!(
            "{name}: {drawn} jobs drawn in {drawing:.3} s ({:.0} x bare), {written} drawn and \
             written in {writing:.3} s ({:.0} x bare)",
            drawing / bare,
            writing / bare
        );
    }
    Ok(())
}
