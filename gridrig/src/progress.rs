//! How far a run has come: a bar on a terminal, plain lines elsewhere.

use gridrig_core::time::{SimDuration, SimTime};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// The progress of one run.
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    label: String,
}

impl Progress {
    /// Progress of a run of so many jobs, on stderr.
    #[must_use]
    pub fn new(label: &str, jobs: usize) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let target = match plain {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(10),
        };
        let bar = ProgressBar::with_draw_target(Some(jobs as u64), target);
        let template = "{prefix:<18} [{bar:30}] {pos}/{len} jobs, {msg}, ETA {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(label.to_owned());
        bar.set_message("at 0 s of the run");
        Progress {
            bar,
            plain,
            label: label.to_owned(),
        }
    }

    /// So many jobs have ended at this time of the run; `lag` is the worst
    /// submission lag so far, where there is one.
    pub fn update(&self, now: SimTime, ended: usize, lag: Option<SimDuration>) {
        let lag = lag.map_or(String::new(), |lag| {
            format!(", lag {:.3} s", lag.as_secs_f64())
        });
        let now = now.as_secs_f64();
        self.bar
            .set_message(format!("at {now:.0} s of the run{lag}"));
        self.bar.set_position(ended as u64);
    }

    /// The run is over.
    pub fn finish(&self, outcome: &str) {
        self.bar.finish_and_clear();
        if self.plain {
            eprintln!("{}: {outcome}", self.label);
        }
    }
}
