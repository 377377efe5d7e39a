//! Job Submission Description Language 1.0 (GFD.56, with the corrections of
//! GFD.136): a job as a document, with the POSIX application, the HPC Profile
//! application (GFD.111) and the SPMD application (GFD.115).
//!
//! A document is read by [`JobDefinition::read`], which refuses what it does
//! not support by the path of the element, or [`JobDefinition::read_lenient`],
//! which leaves out what others have put between the elements of the standard
//! and says so. `docs/jsdl.md` has the table of what a job of ours becomes.
//!
//! ```
//! use gridrig_protocol::jsdl::JobDefinition;
//!
//! let text = r#"<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl">
//!   <JobDescription>
//!     <JobIdentification><JobName>runtime=90s</JobName></JobIdentification>
//!     <Resources><TotalCPUCount><Exact>4</Exact></TotalCPUCount></Resources>
//!   </JobDescription>
//! </JobDefinition>"#;
//! let job = JobDefinition::read("job.jsdl", text.as_bytes()).unwrap();
//! let length = job.virtual_length().unwrap().unwrap();
//! let spec = job.to_job(length, &[]).unwrap();
//! assert_eq!((spec.processors(), spec.run_time.to_string()), (4, "90s".to_owned()));
//! ```

mod error;
mod language;
mod length;
mod map;
mod program;
mod range;
mod records;
mod resources;

pub use crate::xml::{HPC_PROFILE, JSDL, JSDL_OWN as OWN, POSIX, SPMD};
pub use error::JsdlError;
use error::Result;
pub use language::Lenient;
pub use length::{annotated, sleep_length};
pub use range::{Bound, Exact, Range, RangeValue};
pub use resources::{
    OperatingSystem, Quantity, Resources, architecture_element, operating_system_element,
};

use crate::xml::record::structs;
use gridrig_core::time::SimDuration;
use language::Jsdl;
use records::{NcName, Place};
use std::collections::BTreeMap;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The document: one job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDefinition {
    /// The attribute `id`.
    pub id: Option<String>,
    /// What the job is called.
    pub identification: Identification,
    /// What it executes.
    pub application: Option<Application>,
    /// What it runs on.
    pub resources: Resources,
    /// The files that go in and out.
    pub staging: Vec<DataStaging>,
    /// How long it runs on a node of speed 1.0 (`gridrig:RunTime`).
    pub run_time: Option<SimDuration>,
    /// The user's estimate, where whole seconds of a `WallTimeLimit` would not
    /// say it exactly (`gridrig:RequestedTime`).
    pub requested_time: Option<SimDuration>,
}

structs! { Jsdl in JSDL:
    /// `JobIdentification`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Identification {
        /// `JobName`.
        pub name: Option<String> = "JobName",
        /// `Description`.
        pub description: Option<String> = "Description",
        /// `JobAnnotation`, any number.
        pub annotations: Vec<String> = "JobAnnotation",
        /// `JobProject`, any number.
        pub projects: Vec<String> = "JobProject",
    }

    /// `Application`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Application {
        /// `ApplicationName`.
        pub name: Option<String> = "ApplicationName",
        /// `ApplicationVersion`.
        pub version: Option<String> = "ApplicationVersion",
        /// `Description`.
        pub description: Option<String> = "Description",
        /// The program, in one of three forms.
        pub program: Option<Program> = "",
    }
}

/// The form of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramKind {
    /// `jsdl-posix:POSIXApplication`.
    #[default]
    Posix,
    /// `jsdl-hpcpa:HPCProfileApplication`.
    HpcProfile,
    /// `jsdl-spmd:SPMDApplication`.
    Spmd,
}

impl ProgramKind {
    /// The namespace and name of its element.
    pub fn element(self) -> (&'static str, &'static str) {
        match self {
            ProgramKind::Posix => (POSIX, "POSIXApplication"),
            ProgramKind::HpcProfile => (HPC_PROFILE, "HPCProfileApplication"),
            ProgramKind::Spmd => (SPMD, "SPMDApplication"),
        }
    }

    /// The namespace of what its element holds: SPMD takes the elements of
    /// the POSIX application.
    pub fn inner(self) -> &'static str {
        match self {
            ProgramKind::Posix | ProgramKind::Spmd => POSIX,
            ProgramKind::HpcProfile => HPC_PROFILE,
        }
    }
}

/// A program and how it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// In which form.
    pub kind: ProgramKind,
    /// The attribute `name`.
    pub name: Option<String>,
    /// `Executable`.
    pub executable: Option<FileName>,
    /// `Argument`, any number.
    pub arguments: Vec<FileName>,
    /// `Input`.
    pub input: Option<FileName>,
    /// `Output`.
    pub output: Option<FileName>,
    /// `Error`.
    pub error: Option<FileName>,
    /// `WorkingDirectory`.
    pub working_directory: Option<FileName>,
    /// `Environment`, any number.
    pub environment: Vec<Variable>,
    /// The limits of the POSIX application.
    pub limits: BTreeMap<Limit, u64>,
    /// `UserName`.
    pub user: Option<String>,
    /// `GroupName`, of the POSIX application.
    pub group: Option<String>,
    /// What only the SPMD application has.
    pub spmd: Option<Spmd>,
}

/// A text that may be relative to a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// The text.
    pub value: String,
    /// The attribute `filesystemName`.
    pub filesystem: Option<String>,
}

impl FileName {
    /// A text that belongs to no file system.
    pub fn of(value: impl Into<String>) -> Self {
        FileName {
            value: value.into(),
            filesystem: None,
        }
    }
}

/// An environment variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The attribute `name`.
    pub name: String,
    /// Its value.
    pub value: FileName,
}

structs! { Jsdl in SPMD:
    /// What only the SPMD application has (GFD.115).
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Spmd {
        /// `NumberOfProcesses`.
        pub processes: Option<Processes> = "NumberOfProcesses",
        /// `ProcessesPerHost`.
        pub per_host: Option<u32> = "ProcessesPerHost",
        /// `ThreadsPerProcess`.
        pub threads: Option<Processes> = "ThreadsPerProcess",
        /// `SPMDVariation`: which kind of parallel environment, as a URI.
        pub variation: String = "SPMDVariation",
    }
}

/// The variation of SPMD for MPI of any kind (GFD.115).
pub(crate) const MPI: &str = "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/MPI";

/// A number of processes or threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// So many.
    Number(u32),
    /// As many as the job gets processors: `xsi:nil` with
    /// `actualtotalcpucount` or `actualindividualcpucount`.
    Actual,
}

structs! { Jsdl in JSDL:
    /// `DataStaging`: a file that is brought before the job or taken after it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct DataStaging {
        /// The attribute `name`.
        pub name: Option<String> = @"name",
        /// `FileName`.
        pub file: String = "FileName",
        /// `FilesystemName`.
        pub filesystem: Option<String> = "FilesystemName" [as NcName],
        /// `CreationFlag`.
        pub creation: CreationFlag = "CreationFlag",
        /// `DeleteOnTermination`.
        pub delete: Option<bool> = "DeleteOnTermination",
        /// `Source/URI`; the inner `None` is a `Source` that names none.
        pub source: Option<Option<String>> = "Source" [as Place],
        /// `Target/URI`; the inner `None` is a `Target` that names none.
        pub target: Option<Option<String>> = "Target" [as Place],
        /// Its size in bytes (`gridrig:Size`); JSDL has no word for it.
        pub size: Option<u64> = OWN "Size",
    }
}

/// What to do with a file that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, VariantArray)]
#[strum(serialize_all = "camelCase")]
pub enum CreationFlag {
    /// Replace it.
    #[default]
    Overwrite,
    /// Write at its end.
    Append,
    /// Leave it.
    DontOverwrite,
}

/// A limit of the POSIX application, in the order of its schema, with the name of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(suffix = "Limit")]
pub enum Limit {
    /// Seconds of wall-clock time.
    WallTime,
    /// Bytes of a file.
    FileSize,
    /// Bytes of a core dump.
    CoreDump,
    /// Bytes of the data segment.
    DataSegment,
    /// Bytes of locked memory.
    LockedMemory,
    /// Bytes of memory.
    Memory,
    /// Open file descriptors.
    OpenDescriptors,
    /// Bytes of a pipe.
    PipeSize,
    /// Bytes of the stack.
    StackSize,
    /// Seconds of processor time.
    #[strum(to_string = "CPUTime")]
    CpuTime,
    /// Processes.
    ProcessCount,
    /// Bytes of virtual memory.
    VirtualMemory,
    /// Threads.
    ThreadCount,
}

impl JobDefinition {
    /// The bytes that are brought to the job before it can start, as far as
    /// their sizes are given.
    pub fn staged_in_bytes(&self) -> u64 {
        let sources = self.staging.iter().filter(|file| file.source.is_some());
        sources.fold(0, |sum, file| sum.saturating_add(file.size.unwrap_or(0)))
    }

    pub(crate) fn program(&self) -> Option<&Program> {
        self.application.as_ref()?.program.as_ref()
    }
}
