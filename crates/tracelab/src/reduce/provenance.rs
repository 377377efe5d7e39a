//! How a reduced trace was made: one line of JSON in its header.

use super::outcome::Reduced;
use super::rank::WindowRanking;
use crate::format::{Header, Number};
use crate::spec::{Keep, Sanitize, SizeFrom, TraceWindow, WorkloadSpec, ZeroRunTime};
use gridrig_core::job::Entry;
use gridrig_core::time::SimDuration;
pub use gridrig_scenario::REDUCTION_KEY;
use gridrig_scenario::value::{Duration, Name, Positive, Str, Written as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The steps that made a trace, in the names of a scenario, and what a reader
/// of the trace has to know: `; Gridrig-Reduction: {...}`.
///
/// Numbers are exact to 15 digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Name of the source file, without its folder.
    pub source: String,
    /// SHA-256 of the source on disk, in hex.
    pub sha256: String,
    /// The field that gave the size: `allocated` or `requested`.
    pub size: Str<Name<SizeFrom>>,
    /// The sanitizing rules, as they were written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sanitize: Option<Str<Sanitize>>,
    /// Wider jobs were left out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_processors: Option<u32>,
    /// The part of the source; none is all of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window: Option<WindowNote>,
    /// `m/n`, `share` or `all`.
    pub keep: String,
    /// Shift of `m/n`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<u64>,
    /// Probability of `share`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<Positive>,
    /// Seed of `share`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// The load that `share` was chosen for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<LoadNote>,
    /// A duration, `drop` or `keep`.
    pub zero_run_time: Str<ZeroRunTime>,
    /// Divisors of the times.
    pub scale: ScaleNote,
    /// A duration.
    pub min_run_time: Duration,
    /// What is time 0 of the trace, in seconds of the source's time.
    #[serde(with = "seconds")]
    pub origin_s: SimDuration,
    /// How long the trace lasts, in its own seconds: the window up to the last submit of
    /// the source, or the first to the last submit, divided by the arrival scale.
    #[serde(with = "seconds")]
    pub span_s: SimDuration,
    /// Jobs in the trace.
    pub jobs: u64,
    /// Version of the program that wrote it.
    pub version: String,
}

/// A window of the source, in seconds from its time 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowNote {
    /// Where it begins.
    #[serde(with = "seconds")]
    pub start_s: SimDuration,
    /// How long it is.
    #[serde(with = "seconds")]
    pub length_s: SimDuration,
    /// Of so many windows it was chosen as the most representative; none for
    /// a window that was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chosen_of: Option<u64>,
}

/// The load a sample was chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadNote {
    /// Offered load.
    pub offered: Positive,
    /// On so many processors.
    pub processors: u64,
}

/// The two divisors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleNote {
    /// Of submit times.
    pub arrival: Positive,
    /// Of run times and requested times.
    pub run_time: Positive,
}

impl Provenance {
    /// What the header of a trace says of its making; `None` where it says
    /// nothing, a message where the line cannot be read.
    pub fn of(header: &Header) -> Option<Result<Self, String>> {
        let line = header.values(REDUCTION_KEY).first()?;
        Some(
            serde_json::from_str(line).map_err(|error| {
                format!("the header line {REDUCTION_KEY} cannot be read ({error})")
            }),
        )
    }

    /// Of this reduction.
    pub fn new(spec: &WorkloadSpec, reduced: &Reduced) -> Self {
        let (keep, phase, share, seed) = match reduced.keep {
            Keep::Systematic { m, n, phase } => (format!("{m}/{n}"), Some(phase), None, None),
            Keep::Share { share, seed } => ("share".to_owned(), None, Some(share), Some(seed)),
            // A load has become a share.
            Keep::All | Keep::Load { .. } => ("all".to_owned(), None, None, None),
        };
        let window = reduced.window.map(|window| WindowNote {
            start_s: window.start,
            length_s: window.length,
            chosen_of: reduced.ranking.as_ref().map(WindowRanking::considered),
        });
        let name = Path::new(&reduced.trace.file).file_name();
        Provenance {
            source: name.map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
            sha256: reduced.trace.sha256.clone(),
            size: Str(Name(spec.size)),
            sanitize: (!spec.sanitize.rules().is_empty()).then(|| Str(spec.sanitize.clone())),
            max_processors: spec.max_processors,
            window,
            keep,
            phase,
            share: share.map(Positive),
            seed,
            load: match spec.keep {
                Keep::Load {
                    offered,
                    processors,
                    ..
                } => Some(LoadNote {
                    offered: Positive(offered),
                    processors,
                }),
                _ => None,
            },
            zero_run_time: Str(spec.zero_run_time),
            scale: ScaleNote {
                arrival: Positive(spec.scale_arrival),
                run_time: Positive(spec.scale_run_time),
            },
            min_run_time: Str(spec.min_run_time),
            origin_s: reduced.origin,
            span_s: reduced
                .steps
                .last()
                .map_or(SimDuration::ZERO, |step| step.after.span),
            jobs: reduced.trace.jobs.len() as u64,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The line, as the value of [`REDUCTION_KEY`].
    pub fn to_line(&self) -> String {
        // Strings and numbers only: there is nothing JSON could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The steps again, to be applied to the source (or to another trace).
    ///
    /// # Errors
    /// A message that names the key whose value means nothing.
    pub fn to_spec(&self, trace: PathBuf, entry: Entry) -> Result<WorkloadSpec, String> {
        let bad = |key: &str, value: &str| format!("{REDUCTION_KEY}: {key} = \"{value}\"");
        let keep = match self.keep.as_str() {
            "all" => Keep::All,
            "share" => Keep::Share {
                share: self.share.ok_or_else(|| bad("share", ""))?.0,
                seed: self.seed.unwrap_or_default(),
            },
            pattern => {
                let parts = pattern.split_once('/');
                let parsed = parts.and_then(|(m, n)| Some((m.parse().ok()?, n.parse().ok()?)));
                let (m, n) = parsed.ok_or_else(|| bad("keep", pattern))?;
                let phase = self.phase.unwrap_or_default();
                Keep::Systematic { m, n, phase }
            }
        };
        Ok(WorkloadSpec {
            size: self.size.value(),
            sanitize: self.sanitize.clone().unwrap_or_default().0,
            max_processors: self.max_processors,
            window: self.window.map(|window| TraceWindow {
                start: window.start_s,
                length: window.length_s,
            }),
            keep,
            zero_run_time: self.zero_run_time.0,
            scale_arrival: self.scale.arrival.0,
            scale_run_time: self.scale.run_time.0,
            min_run_time: self.min_run_time.0,
            ..WorkloadSpec::whole(trace, entry)
        })
    }
}

/// Seconds as a number, exact to 15 digits.
mod seconds {
    use super::{Deserialize as _, Deserializer, Number, Positive, Serialize as _, Serializer};
    use gridrig_core::time::SimDuration;
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(value: &SimDuration, to: S) -> Result<S::Ok, S::Error> {
        Positive(value.seconds()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SimDuration, D::Error> {
        let text = serde_json::Number::deserialize(from)?.to_string();
        let number = Number::parse(text.as_bytes()).filter(|number| !number.negative);
        let expected = || D::Error::custom("expected seconds from 0 to 584 years");
        number.and_then(Number::seconds).ok_or_else(expected)
    }
}
