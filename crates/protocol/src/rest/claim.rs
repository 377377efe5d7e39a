//! Processors for parts of jobs that several clusters run together, between a broker and its
//! LRMSs.

use super::field::{length, needed};
use super::job::JobSubmission;
use super::notice::LetterName;
use super::place::Place;
use super::problem::{Problem, Result};
use gridrig_core::agent::{Arrival, Asked, ClaimAnswer, ClaimShare, ClaimStep};
use gridrig_core::ids::JobId;
use gridrig_core::job::MOST_COMPONENTS;
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use serde::{Deserialize, Serialize};

/// What a broker wants of an LRMS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// Processors are to be held for a part of the job, if they are free at once.
    Hold,
    /// They are to be reserved from an instant within a window on, in place of what is
    /// reserved for the job.
    Reserve,
    /// All clusters hold theirs, or have reserved them: the job begins.
    Begin,
    /// They are not wanted any more.
    #[default]
    Release,
}

/// A broker to an LRMS about processors for a part of a job that several clusters run
/// together (docs/coallocation.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "kind": "begin", "from": {"kind": "broker"}, "id": 7, "asked_ns": 60_001_000_000_u64,
    "at_ns": 75_000_000_000_u64, "lasts": "95s", "leads": true
})))]
pub struct ClaimOrder {
    /// What is wanted.
    pub kind: ClaimKind,
    /// Who wants it.
    pub from: Place,
    /// The name of this message; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// The number of the job.
    pub id: u32,
    /// When the processors were to be asked for, in nanoseconds of the run: it names the
    /// request, since a job may be placed again.
    pub asked_ns: u64,
    /// To hold and to reserve, as all fields up to `timeout`: the whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobSubmission>>,
    /// The components of the job that are for this cluster, by their positions
    /// from 0; left out for a job of one component that is divided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub components: Vec<u32>,
    /// How many processors of a job that is divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub processors: Option<u32>,
    /// How long the part is thought to need them: to hold on a node of speed 1.0, to reserve
    /// on any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub needed_for: Option<String>,
    /// They are given back if nothing more is heard for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub timeout: Option<String>,
    /// To reserve: the first start that will do, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earliest_ns: Option<u64>,
    /// To reserve: the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_ns: Option<u64>,
    /// To begin: when, in nanoseconds of the run, everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// To begin: how long the job runs from then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(pattern = "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|ms|s|m|min|h|d|w)$")
    )]
    pub lasts: Option<String>,
    /// To begin: whether this cluster tells of the start and the end of the job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leads: bool,
}

impl ClaimOrder {
    /// What a broker says, in a message of this sender, name and time.
    pub fn of(
        asked: Asked,
        step: &ClaimStep,
        (from, name, meant): (Place, LetterName, SimTime),
    ) -> Self {
        let mut order = ClaimOrder {
            kind: ClaimKind::Release,
            from,
            message: Some(name),
            meant_ns: Some(meant.as_nanos()),
            id: asked.job.0,
            asked_ns: asked.at.as_nanos(),
            ..ClaimOrder::default()
        };
        match step {
            ClaimStep::Hold {
                job,
                share,
                estimate,
                timeout,
            } => {
                order.kind = ClaimKind::Hold;
                order.wants((job, *share), *estimate, *timeout);
            }
            ClaimStep::Reserve {
                job,
                share,
                length,
                timeout,
                window: (earliest, latest),
            } => {
                order.kind = ClaimKind::Reserve;
                order.wants((job, *share), *length, *timeout);
                order.earliest_ns = Some(earliest.as_nanos());
                order.latest_ns = Some(latest.as_nanos());
            }
            ClaimStep::Begin { at, length, leads } => {
                order.kind = ClaimKind::Begin;
                order.at_ns = Some(at.as_nanos());
                order.lasts = Some(length.to_string());
                order.leads = *leads;
            }
            ClaimStep::Release => {}
        }
        order
    }

    fn wants(
        &mut self,
        (job, share): (&Arrival, ClaimShare),
        needed_for: SimDuration,
        timeout: SimDuration,
    ) {
        self.job = Some(Box::new(JobSubmission::of(job)));
        match share {
            ClaimShare::Components(bits) => {
                let all = 0..u64::BITS;
                self.components = all.filter(|at| bits >> at & 1 == 1).collect();
            }
            ClaimShare::Processors(processors) => self.processors = Some(processors),
        }
        self.needed_for = Some(needed_for.to_string());
        self.timeout = Some(timeout.to_string());
    }

    /// By what the processors were asked for, and what is wanted; `arrival` reads the job.
    ///
    /// # Errors
    /// When a field is missing or invalid, or the job is another.
    pub fn said(
        self,
        arrival: impl FnOnce(JobSubmission) -> Result<Arrival>,
    ) -> Result<(Asked, ClaimStep)> {
        let time = |value: Option<String>, name| length(name, &needed(value, name)?);
        let asked = Asked {
            job: JobId(self.id),
            at: SimTime::from_nanos(self.asked_ns),
        };
        let step = match self.kind {
            ClaimKind::Hold | ClaimKind::Reserve => {
                let job = arrival(*needed(self.job, "job")?)?;
                if job.id != Some(asked.job) {
                    let id = job.id.map_or(String::new(), |id| id.0.to_string());
                    return Err(Problem::field("job.id", &id, "the id of the message"));
                }
                let share = match self.components[..] {
                    [] => ClaimShare::Processors(needed(self.processors, "processors")?),
                    ref some => ClaimShare::Components(bits_of(some)?),
                };
                let job = Box::new(job);
                let needed_for = time(self.needed_for, "needed_for")?;
                let timeout = time(self.timeout, "timeout")?;
                if self.kind == ClaimKind::Hold {
                    let step = ClaimStep::Hold {
                        job,
                        share,
                        estimate: needed_for,
                        timeout,
                    };
                    return Ok((asked, step));
                }
                let earliest = needed(self.earliest_ns, "earliest_ns")?;
                let latest = needed(self.latest_ns, "latest_ns")?;
                ClaimStep::Reserve {
                    job,
                    share,
                    length: needed_for,
                    timeout,
                    window: (SimTime::from_nanos(earliest), SimTime::from_nanos(latest)),
                }
            }
            ClaimKind::Begin => ClaimStep::Begin {
                at: SimTime::from_nanos(needed(self.at_ns, "at_ns")?),
                length: time(self.lasts, "lasts")?,
                leads: self.leads,
            },
            ClaimKind::Release => ClaimStep::Release,
        };
        Ok((asked, step))
    }
}

fn bits_of(components: &[u32]) -> Result<u64> {
    let most = MOST_COMPONENTS as u32;
    if let Some(beyond) = components.iter().find(|at| **at >= most) {
        let (beyond, expected) = (beyond.to_string(), format!("positions below {most}"));
        return Err(Problem::field("components", &beyond, &expected));
    }
    Ok(components.iter().fold(0, |bits, at| bits | 1 << at))
}

/// An LRMS to its broker: whether processors are held, or reserved, for a part of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "from": {"kind": "lrms", "id": 2}, "id": 7, "asked_ns": 60_001_000_000_u64, "speed": "1"
})))]
pub struct ClaimNotice {
    /// Who says so.
    pub from: Place,
    /// The name of this message; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// The number of the job.
    pub id: u32,
    /// When the processors were to be asked for, as the broker named it.
    pub asked_ns: u64,
    /// The speed of the slowest node of those that are held or reserved; left out where none
    /// are, or none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// They are reserved from then on, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// None are reserved, and might be from this instant on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before_ns: Option<u64>,
}

impl ClaimNotice {
    /// What an LRMS says, in a message of this sender, name and time.
    pub fn of(
        asked: Asked,
        answer: ClaimAnswer,
        (from, name, meant): (Place, LetterName, SimTime),
    ) -> Self {
        let mut notice = ClaimNotice {
            from,
            message: Some(name),
            meant_ns: Some(meant.as_nanos()),
            id: asked.job.0,
            asked_ns: asked.at.as_nanos(),
            ..ClaimNotice::default()
        };
        match answer {
            ClaimAnswer::Held(speed) => notice.speed = Some(speed.to_string()),
            ClaimAnswer::Reserved { start, speed } => {
                notice.speed = Some(speed.to_string());
                notice.start_ns = Some(start.as_nanos());
            }
            ClaimAnswer::No => {}
            ClaimAnswer::NotBefore(next) => notice.not_before_ns = Some(next.as_nanos()),
        }
        notice
    }

    /// By what they were asked for, and what became of that.
    ///
    /// # Errors
    /// When the speed is none.
    pub fn said(&self) -> Result<(Asked, ClaimAnswer)> {
        let speed = self.speed.as_ref().map(|text| {
            let speed = Decimal::parse(text).filter(|speed| *speed > Decimal::ZERO);
            speed.ok_or_else(|| Problem::field("speed", text, "a decimal above 0"))
        });
        let asked = Asked {
            job: JobId(self.id),
            at: SimTime::from_nanos(self.asked_ns),
        };
        let start = self.start_ns.map(SimTime::from_nanos);
        let answer = match (speed.transpose()?, start) {
            (Some(speed), Some(start)) => ClaimAnswer::Reserved { start, speed },
            (Some(speed), None) => ClaimAnswer::Held(speed),
            (None, _) => {
                let next = self.not_before_ns.map(SimTime::from_nanos);
                next.map_or(ClaimAnswer::No, ClaimAnswer::NotBefore)
            }
        };
        Ok((asked, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::PlaceKind;
    use gridrig_core::job::JobSpec;

    fn message() -> (Place, LetterName, SimTime) {
        let (kind, id) = (PlaceKind::Broker, 1);
        let name = LetterName {
            incarnation: 2,
            number: 3,
        };
        (Place { kind, id }, name, SimTime::from_secs(4))
    }

    const ASKED: Asked = Asked {
        job: JobId(7),
        at: SimTime::from_secs(60),
    };

    fn job() -> Arrival {
        Arrival {
            id: Some(ASKED.job),
            ..Arrival::of(JobSpec::rigid(ASKED.job, 8, SimDuration::from_secs(60)))
        }
    }

    #[test]
    fn what_is_said_is_what_is_read() {
        let hold = |share| ClaimStep::Hold {
            job: Box::new(job()),
            share,
            estimate: SimDuration::from_millis(1_500),
            timeout: SimDuration::from_secs(60),
        };
        for step in [
            hold(ClaimShare::Components(1 << 63 | 5)),
            hold(ClaimShare::Processors(3)),
            ClaimStep::Reserve {
                job: Box::new(job()),
                share: ClaimShare::Components(2),
                length: SimDuration::from_secs(360),
                timeout: SimDuration::from_secs(60),
                window: (SimTime::from_secs(90), SimTime::from_secs(390)),
            },
            ClaimStep::Begin {
                at: SimTime::from_secs(70),
                length: SimDuration::from_secs(9),
                leads: true,
            },
            ClaimStep::Release,
        ] {
            let text = serde_json::to_string(&ClaimOrder::of(ASKED, &step, message())).unwrap();
            let read: ClaimOrder = serde_json::from_str(&text).unwrap();
            assert_eq!(read.said(|_| Ok(job())), Ok((ASKED, step)), "{text}");
        }
        let (start, speed) = (SimTime::from_secs(70), Decimal::parse("1.25").unwrap());
        for answer in [
            ClaimAnswer::No,
            ClaimAnswer::Held(speed),
            ClaimAnswer::Reserved { start, speed },
            ClaimAnswer::NotBefore(start),
        ] {
            let notice = ClaimNotice::of(ASKED, answer, message());
            assert_eq!(notice.said(), Ok((ASKED, answer)));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_field() {
        let step = ClaimStep::Hold {
            job: Box::new(job()),
            share: ClaimShare::Components(1),
            estimate: SimDuration::ZERO,
            timeout: SimDuration::ZERO,
        };
        let order = ClaimOrder::of(ASKED, &step, message());
        let refused = |order: ClaimOrder, field: &str| {
            let said = order.said(|_| Ok(job())).unwrap_err().detail;
            assert!(said.contains(field), "{said}");
        };
        let mut other = order.clone();
        other.id = 8;
        refused(other, "job.id");
        let mut beyond = order.clone();
        beyond.components = vec![64];
        refused(beyond, "components");
        let mut divided = order.clone();
        divided.components = Vec::new();
        refused(divided, "processors");
        let mut begin = order;
        begin.kind = ClaimKind::Begin;
        refused(begin, "at_ns");
        let mut notice = ClaimNotice::of(ASKED, ClaimAnswer::No, message());
        notice.speed = Some("0".to_owned());
        assert!(notice.said().unwrap_err().detail.contains("speed"));
    }
}
