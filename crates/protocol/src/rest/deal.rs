//! What brokers say to each other to bring jobs and processors together.

use super::field::needed;
use super::job::JobSubmission;
use super::notice::LetterName;
use super::place::Place;
use super::problem::{Problem, Result};
use gridrig_core::agent::{Arrival, Asked, Deal, ToPeer};
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::time::SimTime;
use serde::{Deserialize, Serialize};

/// What is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DealKind {
    /// The sender asks for the processors that the job needs.
    #[default]
    Request,
    /// The sender has none for the job, and will have none.
    Reject,
    /// Those of the cluster that were asked for are the receiver's, until it releases them.
    Delegate,
    /// The sender needs none for the job, or no more.
    Release,
    /// The sender has room for a job of so many processors.
    Room,
}

/// One broker to another about processors (docs/matchmaking.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "kind": "delegate", "from": {"kind": "broker", "id": 1}, "id": 7,
    "asked_ns": 60_050_000_000_u64, "cluster": 2
})))]
pub struct DealNotice {
    /// What is said.
    pub kind: DealKind,
    /// Who says so.
    pub from: Place,
    /// The name of this message; without one it is never a repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub letter: Option<LetterName>,
    /// When it was meant to arrive, in nanoseconds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant_ns: Option<u64>,
    /// The job whose processors are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobSubmission>>,
    /// The number of the job that anything else is about, but room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// When the request was meant to arrive for which this is, in nanoseconds of the run:
    /// of a request, when this one is. A job may be asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ns: Option<u64>,
    /// Where the processors are that are delegated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u16>,
    /// Until when at most, in nanoseconds of the run, if not until they are released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<u64>,
    /// For how many there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// After so many jobs of the receiver's have come there in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
}

impl DealNotice {
    /// A message of this kind that says nothing else yet.
    fn of(kind: DealKind, (from, name, meant): (Place, LetterName, SimTime)) -> Self {
        DealNotice {
            kind,
            from,
            letter: Some(name),
            meant_ns: Some(meant.as_nanos()),
            ..DealNotice::default()
        }
    }

    /// A request for the processors of this job.
    pub fn request((job, at): (&Arrival, SimTime), message: (Place, LetterName, SimTime)) -> Self {
        DealNotice {
            job: Some(Box::new(JobSubmission::forwarded(job))),
            asked_ns: Some(at.as_nanos()),
            ..Self::of(DealKind::Request, message)
        }
    }

    /// Anything else.
    pub fn deal(deal: Deal, message: (Place, LetterName, SimTime)) -> Self {
        let of = |kind, asked: Asked| DealNotice {
            id: Some(asked.job.0),
            asked_ns: Some(asked.at.as_nanos()),
            ..Self::of(kind, message)
        };
        match deal {
            Deal::Reject(asked) => of(DealKind::Reject, asked),
            Deal::Release(asked) => of(DealKind::Release, asked),
            Deal::Delegate {
                asked,
                cluster,
                until,
            } => DealNotice {
                cluster: Some(cluster.0),
                until_ns: until.map(SimTime::as_nanos),
                ..of(DealKind::Delegate, asked)
            },
            Deal::Room { processors, jobs } => DealNotice {
                processors: Some(processors),
                jobs: Some(jobs),
                ..Self::of(DealKind::Room, message)
            },
        }
    }

    /// What it says; `arrival` reads the job of a request, which its sender passes on.
    ///
    /// # Errors
    /// When a field is missing, or the job is none, or comes from somebody else.
    pub fn said(self, arrival: impl FnOnce(JobSubmission) -> Result<Arrival>) -> Result<ToPeer> {
        let at = || needed(self.asked_ns, "asked_ns").map(SimTime::from_nanos);
        let asked = || {
            let job = needed(self.id, "id").map(JobId)?;
            at().map(|at| Asked { job, at })
        };
        let deal = match self.kind {
            DealKind::Request => {
                let job = arrival(*needed(self.job, "job")?)?;
                needed(job.id, "job.id")?;
                if Place::from(job.from()) != self.from || job.hop() == 0 {
                    let expected = "a job with the sender's domain as from, and hop 1 or more";
                    return Err(Problem::field("job.hop", &job.hop().to_string(), expected));
                }
                return Ok(ToPeer::Request(Box::new(job), at()?));
            }
            DealKind::Reject => Deal::Reject(asked()?),
            DealKind::Release => Deal::Release(asked()?),
            DealKind::Delegate => Deal::Delegate {
                asked: asked()?,
                cluster: needed(self.cluster, "cluster").map(ClusterId)?,
                until: self.until_ns.map(SimTime::from_nanos),
            },
            DealKind::Room => Deal::Room {
                processors: needed(self.processors, "processors")?,
                jobs: needed(self.jobs, "jobs")?,
            },
        };
        Ok(ToPeer::Deal(deal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::PlaceKind;
    use gridrig_core::ids::DomainId;
    use gridrig_core::job::JobSpec;
    use gridrig_core::message::Route;
    use gridrig_core::time::SimDuration;

    fn message() -> (Place, LetterName, SimTime) {
        let (kind, id) = (PlaceKind::Broker, 1);
        let name = LetterName {
            incarnation: 2,
            number: 3,
        };
        (Place { kind, id }, name, SimTime::from_secs(4))
    }

    fn none(_: JobSubmission) -> Result<Arrival> {
        unreachable!("there is no job")
    }

    #[test]
    fn what_is_said_is_what_is_read() {
        let job = JobId(7);
        let cluster = ClusterId(2);
        let at = SimTime::from_secs(3);
        let asked = Asked { job, at };
        for deal in [
            Deal::Reject(asked),
            Deal::Release(asked),
            Deal::Delegate {
                asked,
                cluster,
                until: None,
            },
            Deal::Delegate {
                asked,
                cluster,
                until: Some(at),
            },
            Deal::Room {
                processors: 8,
                jobs: 1,
            },
        ] {
            let text = serde_json::to_string(&DealNotice::deal(deal, message())).unwrap();
            let read: DealNotice = serde_json::from_str(&text).unwrap();
            assert_eq!(read.said(none), Ok(ToPeer::Deal(deal)), "{text}");
        }
        let spec = JobSpec::rigid(job, 4, SimDuration::from_secs(60));
        let domain = DomainId(1);
        let entered = Route::entering(domain);
        let asked = Arrival {
            id: Some(job),
            route: Some(Route {
                from: Some(domain),
                hop: 1,
                ..entered
            }),
            ..Arrival::of(spec)
        };
        let notice = DealNotice::request((&asked, at), message());
        let said = notice.clone().said(|text| {
            assert_eq!((text.processors, text.id), (4, Some(7)));
            Ok(asked.clone())
        });
        assert_eq!(said, Ok(ToPeer::Request(Box::new(asked.clone()), at)));
        for route in [Some(entered), None] {
            let foreign = Arrival {
                route,
                ..asked.clone()
            };
            let said = notice.clone().said(|_| Ok(foreign)).unwrap_err().detail;
            assert!(said.contains("the sender's domain"), "{said}");
        }
        let nothing = DealNotice {
            job: None,
            ..notice
        };
        let said = nothing.said(none).unwrap_err().detail;
        assert!(said.contains("job"), "{said}");
    }
}
