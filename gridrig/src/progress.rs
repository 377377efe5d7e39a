//! How far a run has come: a bar on a terminal, plain lines elsewhere.

use crate::scenario::{Clock, Scenario};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_results::plot;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How the runs of a scenario get on.
pub struct Pace {
    began: Instant,
    done: AtomicUsize,
    all: usize,
    at_a_time: usize,
    /// Which clock it is, where that has not been said.
    clock: &'static str,
}

impl Pace {
    /// So many are to be run, and so many at a time. In virtual time it says so; in real time the services are
    /// the first to say something, and each run names its clock.
    #[allow(clippy::disallowed_methods, reason = "progress is on the wall clock")]
    pub fn new(scenario: &Scenario, all: usize, (at_a_time, quiet): (usize, bool)) -> Self {
        let in_real_time = matches!(scenario.clock, Clock::Real { .. });
        if all > 1 && !in_real_time && !quiet {
            let beside = match at_a_time {
                0 | 1 => String::new(),
                many => format!(", {many} at a time"),
            };
            eprintln!("{}: {all} runs in virtual time{beside}", scenario.name);
        }
        Pace {
            began: Instant::now(),
            done: AtomicUsize::new(0),
            all,
            at_a_time: at_a_time.max(1),
            clock: if in_real_time { " in real time" } else { "" },
        }
    }

    /// The progress of the run of this number and of how many, which has a bar of its own if
    /// only one runs at a time.
    pub fn progress(&self, number: (usize, usize), name: &str, jobs: usize) -> Progress {
        let done = self.done.load(Ordering::Relaxed);
        Progress {
            before: (self.all > 1).then_some((self.began, done, self.all)),
            ..Progress::new(&self.label(number, name), jobs, self.at_a_time == 1)
        }
    }

    /// `2 of 30: free-node`, of this number and of how many.
    fn label(&self, (number, of): (usize, usize), name: &str) -> String {
        match of {
            1 => name.to_owned(),
            _ => format!("{number} of {of}{}: {name}", self.clock),
        }
    }

    /// Another run is over: how long the others will take, where that is worth knowing.
    pub fn left(&self) -> String {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        left(self.began.elapsed(), done as f64, self.all)
    }
}

/// How long all runs will still take of which so many are done after this time, where that
/// is known and worth knowing.
fn left(elapsed: Duration, done: f64, all: usize) -> String {
    let left = elapsed.as_secs_f64() / done * (all as f64 - done);
    match left.is_finite() && left >= 10.0 {
        true => format!(", about {} left", plot::seconds(left)),
        false => String::new(),
    }
}

/// The progress of one run.
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    /// When the first of several runs began, how many were done before this one, and of how
    /// many.
    before: Option<(Instant, usize, usize)>,
}

impl Progress {
    /// Progress of a run of so many jobs, on stderr; on a terminal as a bar, if wanted.
    pub fn new(label: &str, jobs: usize, shows_bar: bool) -> Self {
        let plain = !shows_bar || !std::io::stderr().is_terminal();
        let target = match plain {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(10),
        };
        let bar = ProgressBar::with_draw_target(Some(jobs as u64), target);
        let template = "{prefix:<18} [{bar:30}] {pos}/{len} jobs, ETA {eta}, {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(label.to_owned());
        bar.set_message("at 0 s of the run");
        Progress {
            bar,
            plain,
            before: None,
        }
    }

    /// The same, of which nothing is said if so wished.
    pub fn silent(mut self, silent: bool) -> Self {
        if silent {
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
            self.plain = false;
        }
        self
    }

    /// So many jobs have ended at this time of the run; `lag` is the worst
    /// submission lag so far, where there is one.
    pub fn update(&self, now: SimTime, ended: usize, lag: Option<SimDuration>) {
        let lag = lag.map_or(String::new(), |lag| {
            format!(", lag {:.3} s", lag.as_secs_f64())
        });
        let now = now.as_secs_f64();
        let all = self.before.map_or(String::new(), |(began, done, all)| {
            let share = ended as f64 / self.bar.length().unwrap_or(0).max(1) as f64;
            match left(began.elapsed(), done as f64 + share, all) {
                left if left.is_empty() => left,
                left => format!("{left} of all {all} runs"),
            }
        });
        self.bar
            .set_message(format!("at {now:.0} s of the run{lag}{all}"));
        self.bar.set_position(ended as u64);
    }

    /// The run is over.
    pub fn finish(&self, outcome: &str) {
        self.bar.finish_and_clear();
        if self.plain {
            eprintln!("{}: {outcome}", self.bar.prefix());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "progress is on the wall clock")]
    fn the_bar_says_how_long_all_runs_will_take() {
        let pace = |all| Pace {
            began: Instant::now()
                .checked_sub(Duration::from_secs(300))
                .unwrap(),
            done: AtomicUsize::new(1),
            all,
            at_a_time: 1,
            clock: "",
        };
        let message = |all: usize| {
            let progress = pace(all).progress((2, all), "free-node", 10);
            progress.update(SimTime::from_secs(7), 5, None);
            progress.bar.message()
        };
        // One and a half of them took five minutes.
        let said = message(4);
        assert!(said.starts_with("at 7 s of the run, about 8 min"), "{said}");
        assert!(said.ends_with(" left of all 4 runs"), "{said}");
        assert_eq!(message(1), "at 7 s of the run");
        assert_eq!(left(Duration::from_secs(9), 0.0, 4), "");
    }
}
