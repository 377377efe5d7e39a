//! `gridrig trace synthesize`

mod args;
mod report;

use super::behaviour::{Behaviour, Yardstick};
use crate::commands::{answer, refuse_existing, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::{Context as _, bail};
pub use args::What;
use args::{BurstArgs, Common, LikeArgs, LublinArgs, ModelArgs, PoissonArgs};
use gridrig_tracelab::format::create;
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::synth::like::{LookAlike, recurring_jobs};
use gridrig_tracelab::synth::lublin::Calibration;
use gridrig_tracelab::synth::output::{self, Made};
use gridrig_tracelab::synth::{Extent, Model, SynthError, made};
use std::fs;
use std::path::Path;

/// A model with what was found out while it was made.
struct Prepared {
    model: Model,
    calibration: Option<Calibration>,
    /// Jobs of the source among those of the look-alike.
    recurring: Option<u64>,
    /// How a look-alike of its length queues beside the source.
    behaviour: Option<Behaviour>,
    /// How often it was dealt until it queued alike, or at most.
    deals: u64,
}

/// Makes a workload from a model.
pub(super) fn synthesize(what: &What) -> Result<(), Failure> {
    let (common, prepared) = match what {
        What::Lublin(args) => (&args.common, lublin(args)?),
        What::Poisson(args) => (&args.common, poisson(args)?),
        What::Like(args) => (&args.common, like(args)?),
        What::Burst(args) => (&args.common, burst(args)?),
        What::Model(args) => (&args.common, model_file(args)?),
    };
    for path in [&common.out, &common.model_out].into_iter().flatten() {
        refuse_existing(path, common.force)?;
    }
    if let Some(path) = &common.model_out {
        fs::write(path, prepared.model.to_json()).with_context(|| unwritable(path))?;
    }
    let made = match &common.out {
        None => output::measure(&prepared.model).map_err(Failure::input)?,
        Some(path) => write(&prepared.model, path)?,
    };
    let document = report::document(&prepared, &made, common);
    let document = Versioned::of("gridrig.trace-synthesize.1", &document);
    answer(common.json, &document, |_| {
        report::text(&prepared, &made, common)
    })
}

fn write(model: &Model, path: &Path) -> anyhow::Result<Made> {
    let about = || unwritable(path);
    let file = create(path).with_context(about)?;
    let (file, made) = match output::write(model, &command_line(), file) {
        Err(SynthError::Write(source)) => Err(source).with_context(about)?,
        other => other?,
    };
    file.commit().with_context(about)?;
    Ok(made)
}

fn lublin(args: &LublinArgs) -> anyhow::Result<Prepared> {
    let extent = args.common.extent(Extent::days(7.0));
    let seed = args.common.seed.unwrap_or(1);
    let mut model = args.preset.model(args.processors, extent, seed);
    model.start_hour = args.start_hour;
    let solved = args.load.map(|load| model.with_load(load)).transpose()?;
    let (model, calibration) = match solved {
        Some((solved, found)) => (solved, Some(found)),
        None => (model, None),
    };
    Ok(Prepared {
        calibration,
        ..Prepared::plain(Model::Lublin(model))
    })
}

fn poisson(args: &PoissonArgs) -> anyhow::Result<Prepared> {
    let seed = args.common.seed.unwrap_or(1);
    let mut model = args.preset.model(seed);
    model.extent = args.common.extent(model.extent);
    if let Some(seconds) = args.interarrival {
        model.interarrival_s = seconds;
    }
    if let Some(range) = args.run_time {
        for application in &mut model.applications {
            application.run_time_s = range;
        }
    }
    if let Some(processors) = args.processors {
        model.processors = processors;
    }
    Ok(Prepared::plain(Model::Poisson(model)))
}

fn burst(args: &BurstArgs) -> anyhow::Result<Prepared> {
    if args.common.days.is_some() {
        bail!("--days: expected none, a burst model is a week; see --jobs");
    }
    let mut model = args.preset.model();
    if let Some(jobs) = args.common.jobs {
        model.jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
    }
    if let Some(processors) = args.processors {
        model.processors = processors;
    }
    if let Some(moments) = args.run_time {
        model.set_run_time(moments);
    }
    if let Some(moments) = args.size {
        model.set_size(moments);
    }
    if let Some([bursts, jobs, size]) = args.bursts {
        model.set_bursts(bursts, jobs, size);
    }
    if let Some(users) = args.users {
        model.users = users;
    }
    if args.changes() {
        "burst".clone_into(&mut model.name);
        "a generated week of bursts".clone_into(&mut model.note);
    }
    let mut prepared = Prepared::plain(Model::Burst(Box::new(model)));
    prepared.override_seed(&args.common);
    Ok(prepared)
}

fn like(args: &LikeArgs) -> anyhow::Result<Prepared> {
    let trace = load(&args.trace, SizeFrom::Allocated)?;
    say_each("warning", &trace.warnings);
    for (reason, count) in &trace.skipped {
        eprintln!("skipped: {count} lines: {reason}");
    }
    let mut model = LookAlike::fit(&trace, args.processors)?;
    let whole = model.extent;
    if trace.header.max_processors().is_none() && args.processors.is_none() {
        let file = args.trace.display();
        let found = model.processors;
        eprintln!(
            "warning: {file}: no MaxProcs in the header; its widest job has {found} processors \
             (--processors sets another number)"
        );
    }
    model.extent = args.common.extent(model.extent);
    model.seed = args.common.seed.unwrap_or(1);
    let recurring = recurring_jobs(&trace, model.jobs()?);
    let (behaviour, deals) = match model.extent == whole {
        true => deal(&mut model, &trace).map(|(behaviour, deals)| (Some(behaviour), deals))?,
        false => (None, 1),
    };
    Ok(Prepared {
        recurring: Some(recurring),
        behaviour,
        deals,
        ..Prepared::plain(Model::LookAlike(Box::new(model)))
    })
}

/// So often a look-alike is dealt at most.
const DEALS: u64 = 10;

/// Deals until a look-alike queues alike, each time with another seed, else takes that
/// which is nearest; answers how it queues and how often was dealt.
fn deal(model: &mut LookAlike, trace: &Loaded) -> anyhow::Result<(Behaviour, u64)> {
    let (seed, processors) = (model.seed, model.processors);
    let yardstick = Yardstick::of(&trace.jobs, processors, seed);
    let mut nearest: Option<(Behaviour, u64)> = None;
    for number in 0..DEALS {
        // Far from the seeds that somebody might ask for next.
        model.seed = seed.wrapping_add(number << 32);
        let dealt = Model::LookAlike(Box::new(model.clone()));
        let dealt = made(&dealt, &trace.file, SizeFrom::Allocated)?;
        let found = yardstick.beside(&dealt.jobs);
        if found.failure().is_none() {
            return Ok((found, number + 1));
        }
        if nearest
            .as_ref()
            .is_none_or(|(it, _)| found.distance() < it.distance())
        {
            nearest = Some((found, model.seed));
        }
    }
    let (found, seed) = nearest.context("a look-alike is dealt at least once")?;
    model.seed = seed;
    Ok((found, DEALS))
}

fn model_file(args: &ModelArgs) -> anyhow::Result<Prepared> {
    let mut model = Model::read(&args.file)?;
    let common = &args.common;
    match &mut model {
        Model::Lublin(model) => model.extent = common.extent(model.extent),
        Model::Poisson(model) => model.extent = common.extent(model.extent),
        Model::LookAlike(model) => model.extent = common.extent(model.extent),
        Model::Egee(model) => model.extent = common.extent(model.extent),
        Model::Burst(model) => match (common.jobs, common.days) {
            (None, None) => {}
            (Some(jobs), None) => model.jobs = usize::try_from(jobs).unwrap_or(usize::MAX),
            _ => bail!("--days: expected none, a burst model is a week"),
        },
    }
    let mut prepared = Prepared::plain(model);
    prepared.override_seed(common);
    Ok(prepared)
}

impl Prepared {
    fn plain(model: Model) -> Self {
        Prepared {
            model,
            calibration: None,
            recurring: None,
            behaviour: None,
            deals: 1,
        }
    }

    fn override_seed(&mut self, common: &Common) {
        if let Some(seed) = common.seed {
            self.model.set_seed(seed);
        }
    }
}

fn unwritable(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

/// The command that makes the same trace: what the user typed, without where
/// the result went and how it was reported.
fn command_line() -> String {
    const WITH_VALUE: [&str; 3] = ["--out", "--model-out", "--log-format"];
    const ALONE: [&str; 2] = ["--force", "--json"];
    let mut words = vec!["gridrig".to_owned()];
    let mut typed = std::env::args_os().skip(1);
    while let Some(word) = typed.next() {
        let word = word.to_string_lossy().into_owned();
        if WITH_VALUE.contains(&word.as_str()) {
            typed.next();
            continue;
        }
        let joined = |flag: &str| word.starts_with(&format!("{flag}="));
        if ALONE.contains(&word.as_str()) || WITH_VALUE.iter().any(|flag| joined(flag)) {
            continue;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
        words.push(match word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        });
    }
    words.join(" ")
}
