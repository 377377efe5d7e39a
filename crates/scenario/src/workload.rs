//! What a workload is made of: a trace and the steps that reduce it, and the
//! requirements that are drawn for its jobs.

use crate::sanitize::{RuleError, Rules};
use gridrig_core::generic::Generics;
use gridrig_core::job::{Entry, Preferences};
use gridrig_core::time::{Decimal, SimDuration};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// A trace and how it is reduced and entered (design 5, *Trace to jobs*, and
/// 6). The steps apply in the order of the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// The trace file, plain or gzip.
    pub trace: PathBuf,
    /// Which field gives the size of a job.
    pub size: SizeFrom,
    /// Into how many components a job is divided, by the trace.
    pub components_from: ComponentsFrom,
    /// Rules that leave jobs out, and count them.
    pub sanitize: Sanitize,
    /// Wider jobs are left out, and counted.
    pub max_processors: Option<u32>,
    /// The part of the trace that is played; `None` is all of it, unless
    /// `choose` says otherwise.
    pub window: Option<TraceWindow>,
    /// Instead of `window`: the window of this length that represents the
    /// trace best.
    pub choose: Option<WindowChoice>,
    /// The share of its jobs that is kept.
    pub keep: Keep,
    /// What becomes of run times of 0, before scaling.
    pub zero_run_time: ZeroRunTime,
    /// Inter-arrival times are divided by this.
    pub scale_arrival: Decimal,
    /// Run times and requested times are divided by this.
    pub scale_run_time: Decimal,
    /// No run is shorter than this, after scaling.
    pub min_run_time: SimDuration,
    /// Shift against the other workloads, after scaling.
    pub offset: SimDuration,
    /// Whether requested memory is a requirement.
    pub require_memory: bool,
    /// Requirements that are drawn.
    pub draw: Option<Draw>,
    /// What users say of all its jobs for brokers that predict.
    pub preferences: Option<Arc<Preferences>>,
    /// Where its jobs enter.
    pub entry: Entry,
    /// Instead: every domain, one after the other or at random.
    pub spread: Option<Spread>,
    /// Whether `trace` is the file of a workload model, which is made anew with
    /// every seed.
    pub is_model: bool,
    /// The offered load for which the model is made.
    pub model_load: Option<Decimal>,
    /// Seed of a generated workload, of what is drawn and of the spread.
    pub seed: u64,
}

/// What says of which components a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComponentsFrom {
    /// By the comments of the trace, if it has some about its jobs.
    #[default]
    Comments,
    /// None is divided.
    One,
    /// Its queue, SWF field 15.
    Queue,
}

/// How jobs are submitted over the domains (LA Grid 4.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Which is next.
    pub by: SpreadBy,
    /// Over how many domains, from the first on.
    pub domains: u16,
}

/// Which domain is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadBy {
    /// Each in turn.
    RoundRobin,
    /// Any, each as likely.
    Random,
}

/// Sanitizing rules as they are written and as they are meant; by default
/// there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sanitize {
    text: String,
    rules: Rules,
}

impl Sanitize {
    /// Reads a list of rules such as `failed,wider-than=64`.
    ///
    /// # Errors
    /// [`RuleError`] names the rule and what was expected.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        Ok(Sanitize {
            text: text.trim().to_owned(),
            rules: Rules::parse(text)?,
        })
    }

    /// The rules as they were written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }
}

/// Which SWF field gives the size; the other stands in where it is not
/// positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeFrom {
    /// Field 5, allocated processors.
    #[default]
    Allocated,
    /// Field 8, requested processors.
    Requested,
}

/// `[start, start + length)`, counted from the log's time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceWindow {
    /// Where it begins.
    pub start: SimDuration,
    /// How long it is.
    pub length: SimDuration,
}

/// A window that is chosen instead of given: of all windows of this length in
/// the steady part of the trace, the one that represents that part best
/// (`docs/reduction.md`, *Choosing a window*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowChoice {
    /// How long it is, above 0.
    pub length: SimDuration,
    /// Windows start at whole multiples of this, counted from the log's time
    /// 0; above 0.
    pub step: SimDuration,
    /// Warm-up left out after the first submit; `None` leaves it to the rule.
    pub skip_start: Option<SimDuration>,
    /// Wrap-up left out before the last submit; `None` leaves it to the rule.
    pub skip_end: Option<SimDuration>,
}

impl WindowChoice {
    /// A window of this length that may start every day.
    pub fn of_length(length: SimDuration) -> Self {
        WindowChoice {
            length,
            step: SimDuration::from_secs(86_400),
            skip_start: None,
            skip_end: None,
        }
    }
}

/// Which jobs of the window are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// Index `i` of what remains when
    /// `floor((i+1+phase)*m/n) > floor((i+phase)*m/n)`.
    Systematic {
        /// Keep so many ...
        m: u64,
        /// ... of so many.
        n: u64,
        /// Shift of the pattern.
        phase: u64,
    },
    /// Each job with this probability, from the stream `"sample"` of a seed.
    Share {
        /// Probability, at most 1.
        share: Decimal,
        /// Seed of the stream.
        seed: u64,
    },
    /// The [`Keep::Share`] of this seed that loads so many processors, after
    /// all steps, as near as possible to this.
    Load {
        /// Offered load wanted, above 0.
        offered: Decimal,
        /// Processors that are to be loaded, at least 1.
        processors: u64,
        /// Seed of the stream.
        seed: u64,
    },
}

/// What becomes of a job with a run time of 0 (less than half a second).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroRunTime {
    /// It runs this long; the default is one second.
    As(SimDuration),
    /// It is left out, and counted.
    Drop,
    /// It runs for no time at all.
    Keep,
}

impl Default for ZeroRunTime {
    fn default() -> Self {
        ZeroRunTime::As(SimDuration::from_secs(1))
    }
}

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// Architectures with their weights; empty: none is wanted.
    pub architecture: Vec<(Arc<str>, u64)>,
    /// Operating systems with their weights; empty: none is wanted.
    pub os: Vec<(Arc<str>, u64)>,
    /// So many jobs in a row want the same architecture and system.
    pub burst: (u32, u32),
    /// Memory per processor in MiB with weights; empty: none is wanted.
    pub memory_mib: Vec<(u64, u64)>,
    /// Disk.
    pub disk: Option<Disk>,
    /// Data of a job in MiB with weights; empty: none but its disk.
    pub data_mib: Vec<(u64, u64)>,
    /// Generic resources of each node with weights; empty: none are wanted.
    pub generic: Vec<(Generics, u64)>,
    /// Numbers of components, from 1, with weights; empty: no job is divided.
    pub components: Vec<(u32, u64)>,
    /// To how many accounts jobs are charged.
    pub accounts: Option<NonZeroU32>,
    /// Which jobs are to start within a window.
    pub start_window: Option<StartWindows>,
}

/// Jobs that are to start within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartWindows {
    /// How many of the jobs.
    pub share: Decimal,
    /// Their windows open up to so long after they are submitted.
    pub notice: SimDuration,
    /// How long the windows are.
    pub length: SimDuration,
    /// Whether an LRMS may move a start within its window.
    pub flexible: bool,
}

impl Draw {
    /// What is drawn, by the names of the keys.
    pub fn keys(&self) -> Vec<&'static str> {
        let all = [
            ("architecture", self.architecture.is_empty()),
            ("os", self.os.is_empty()),
            ("memory_mib", self.memory_mib.is_empty()),
            ("disk_rate_mib", self.disk.is_none()),
            ("data_mib", self.data_mib.is_empty()),
            ("generic_resources", self.generic.is_empty()),
            ("components", self.components.is_empty()),
            ("accounts", self.accounts.is_none()),
            ("start_window", self.start_window.is_none()),
        ];
        let drawn = all.into_iter().filter(|(_, absent)| !absent);
        drawn.map(|(key, _)| key).collect()
    }
}

/// Disk that a job wants: `rate x hours of run time x processors x GiB of
/// memory per processor`, times a factor between 1/2 and 3/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// MiB per processor, hour and GiB.
    pub rate_mib: u64,
    /// No job wants more (MiB).
    pub most_mib: u64,
    /// Whether it is also the data that goes with a forwarded job.
    pub is_data: bool,
}

impl WorkloadSpec {
    /// The whole trace as it is, entering there.
    pub fn whole(trace: PathBuf, entry: Entry) -> Self {
        WorkloadSpec {
            trace,
            size: SizeFrom::default(),
            components_from: ComponentsFrom::default(),
            sanitize: Sanitize::default(),
            max_processors: None,
            window: None,
            choose: None,
            keep: Keep::default(),
            zero_run_time: ZeroRunTime::default(),
            scale_arrival: Decimal::ONE,
            scale_run_time: Decimal::ONE,
            min_run_time: SimDuration::ZERO,
            offset: SimDuration::ZERO,
            require_memory: false,
            draw: None,
            preferences: None,
            entry,
            spread: None,
            is_model: false,
            model_load: None,
            seed: 1,
        }
    }
}
