//! `Resources`: what a job runs on.

use super::RangeValue;
use gridrig_core::generic::Generics;
use std::collections::BTreeMap;

/// What a job runs on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// `CandidateHosts`: the only hosts that will do; none given, any will.
    pub candidate_hosts: Vec<String>,
    /// `ExclusiveExecution`.
    pub exclusive: Option<bool>,
    /// `OperatingSystem`.
    pub operating_system: Option<OperatingSystem>,
    /// `CPUArchitecture`, by the name of JSDL's list or by one of our own
    /// (`other` with a `gridrig:Name`).
    pub architecture: Option<String>,
    /// Everything that is a number.
    pub quantities: BTreeMap<Quantity, RangeValue>,
    /// What is taken of each host besides (`gridrig:GenericResources`).
    pub generic: Option<Generics>,
}

/// `OperatingSystem`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatingSystem {
    /// Its type, by the name of JSDL's list or by one of our own (`other` with
    /// a `gridrig:Name`).
    pub name: Option<String>,
    /// `OperatingSystemVersion`.
    pub version: Option<String>,
    /// `Description`.
    pub description: Option<String>,
}

/// A number among the resources, in the order of the schema. `Individual` is
/// per resource (host), `Total` over all of them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
)]
pub enum Quantity {
    /// Hertz.
    #[strum(to_string = "IndividualCPUSpeed")]
    IndividualCpuSpeed,
    /// Seconds.
    #[strum(to_string = "IndividualCPUTime")]
    IndividualCpuTime,
    /// Processors of a host.
    #[strum(to_string = "IndividualCPUCount")]
    IndividualCpuCount,
    /// Bits per second.
    IndividualNetworkBandwidth,
    /// Bytes.
    IndividualPhysicalMemory,
    /// Bytes.
    IndividualVirtualMemory,
    /// Bytes.
    IndividualDiskSpace,
    /// Seconds.
    #[strum(to_string = "TotalCPUTime")]
    TotalCpuTime,
    /// Processors.
    #[strum(to_string = "TotalCPUCount")]
    TotalCpuCount,
    /// Bytes.
    TotalPhysicalMemory,
    /// Bytes.
    TotalVirtualMemory,
    /// Bytes.
    TotalDiskSpace,
    /// Hosts.
    TotalResourceCount,
}

impl Quantity {
    /// The name of its element.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The processor architectures of JSDL 1.0, besides `other`.
pub(super) const ARCHITECTURES: &str = "sparc powerpc x86 x86_32 x86_64 parisc mips ia64 arm";

/// The operating systems of JSDL 1.0 (from CIM), besides `other`.
pub(super) const OPERATING_SYSTEMS: &str = "Unknown MACOS ATTUNIX DGUX DECNT Tru64_UNIX OpenVMS HPUX AIX MVS OS400 OS_2 JavaVM MSDOS \
    WIN3x WIN95 WIN98 WINNT WINCE NCR3000 NetWare OSF DC_OS Reliant_UNIX SCO_UnixWare \
    SCO_OpenServer Sequent IRIX Solaris SunOS U6000 ASERIES TandemNSK TandemNT BS2000 LINUX \
    Lynx XENIX VM Interactive_UNIX BSDUNIX FreeBSD NetBSD GNU_Hurd OS9 MACH_Kernel Inferno \
    QNX EPOC IxWorks VxWorks MiNT BeOS HP_MPE NextStep PalmPilot Rhapsody Windows_2000 \
    Dedicated OS_390 VSE TPF Windows_R_Me Caldera_Open_UNIX OpenBSD Not_Applicable \
    Windows_XP z_OS";

/// The name of a list that is this one but for the case of letters.
pub(super) fn listed(list: &'static str, name: &str) -> Option<&'static str> {
    let mut names = list.split_ascii_whitespace();
    names.find(|listed| listed.eq_ignore_ascii_case(name))
}
