//! The native REST interface of the services: its types, the problem documents
//! its services answer with.
//!
//! Instants are integer nanoseconds of the run (`..._ns`); lengths of time are
//! strings with a unit (`"60s"`, `"1.5h"`), read as exact decimals. `docs/rest.md`
//! describes the routes, `/openapi.json` of each service has the schema.

mod claim;
mod component;
mod deal;
mod end;
mod event;
mod field;
mod generic;
mod info;
mod job;
mod node;
mod notice;
mod place;
mod preferences;
mod problem;
mod reservation;

pub use claim::{ClaimKind, ClaimNotice, ClaimOrder};
pub use component::{
    JobComponent, JobDivision, JobInput, JobRequirements, inputs, more_components,
};
pub use deal::{DealKind, DealNotice};
pub use end::{EndPage, JobEndReport, JobState};
pub use event::{EventPage, EventReport};
pub use generic::GenericCounts;
pub use info::{
    BrokerInfo, CandidateInfo, ClockInfo, ClusterInfo, DrainChange, InfoReport, LoadReport,
    MeanReport, NodeGroup, PeerInfo, PeerList, RoleChange, SessionInfo,
};
pub use job::{JobList, JobReceipt, JobReservation, JobStatus, JobSubmission};
pub use node::{NodeList, NodeState};
pub use notice::{JobNotice, LetterName, NoticeKind};
pub use place::{Place, PlaceKind, PlacementReport};
pub use preferences::{JobBenchmark, JobObjective, JobPreferences, benchmarks};
pub use problem::{Problem, Result};
pub use reservation::{
    ReservationAfter, ReservationList, ReservationRequest, ReservationState, ReservationStatus,
    ReservationUser,
};
