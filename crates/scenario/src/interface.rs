//! How clusters and brokers are reached in real time: what a scenario says of
//! the services that stand for them.

use gridrig_protocol::lagrid::Codec;
use std::path::PathBuf;
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};

/// A face that needs no more than to be named to be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FaceKind {
    /// ARC REST 1.0 with GLUE2.
    Arc,
    /// OGSA-BES 1.0 with JSDL.
    Bes,
    /// WS-Agreement 1.0 about advance reservations.
    WsAgreement,
}

impl FaceKind {
    /// All of them.
    pub const ALL: [FaceKind; 3] = [FaceKind::Arc, FaceKind::Bes, FaceKind::WsAgreement];

    /// The name used in flags and files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How brokers at the ends of a link talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum LinkProtocol {
    /// Our own REST interface, without sessions.
    #[default]
    Native,
    /// The operations of LA Grid as JSON documents.
    Json,
    /// The operations of LA Grid in SOAP 1.1.
    Soap,
    /// The operations of LA Grid in SOAP 1.2.
    Soap12,
}

impl LinkProtocol {
    /// All of them.
    pub const ALL: &'static [LinkProtocol] = <LinkProtocol as VariantArray>::VARIANTS;

    /// The name used in files and flags.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// How sessions write their messages; `None` where there are none.
    pub const fn codec(self) -> Option<Codec> {
        match self {
            LinkProtocol::Native => None,
            LinkProtocol::Json => Some(Codec::Json),
            LinkProtocol::Soap => Some(Codec::Soap11),
            LinkProtocol::Soap12 => Some(Codec::Soap12),
        }
    }
}

/// How a real Slurm is reached and used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmAccess {
    /// The directory of its commands; `None` finds them by `PATH`.
    pub bin: Option<PathBuf>,
    /// Its `slurm.conf`; `None` leaves it to `SLURM_CONF` or Slurm itself.
    pub conf: Option<PathBuf>,
    /// The partition that jobs go to; `None` is the default one.
    pub partition: Option<String>,
    /// The batch script of a job: `{seconds}`, `{job}` and `{processors}`
    /// stand for its length on the wall, its number and its size.
    pub template: String,
    /// Time between two looks at the jobs, on the wall.
    pub poll: Duration,
    /// How long a Slurm that does not answer is waited for, on the wall,
    /// before its jobs are lost.
    pub patience: Duration,
}

/// A script that only sleeps.
pub const SLEEP: &str = "#!/bin/sh\nexec sleep {seconds}\n";

impl Default for SlurmAccess {
    fn default() -> Self {
        SlurmAccess {
            bin: None,
            conf: None,
            partition: None,
            template: SLEEP.to_owned(),
            poll: Duration::from_millis(500),
            patience: Duration::from_secs(60),
        }
    }
}
