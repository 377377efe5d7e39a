//! `Resources`: what a job runs on.

use super::RangeValue;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Hertz.
    IndividualCpuSpeed,
    /// Seconds.
    IndividualCpuTime,
    /// Processors of a host.
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
    TotalCpuTime,
    /// Processors.
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
    /// Every quantity, in the order of the schema.
    pub const ALL: [Quantity; 13] = [
        Quantity::IndividualCpuSpeed,
        Quantity::IndividualCpuTime,
        Quantity::IndividualCpuCount,
        Quantity::IndividualNetworkBandwidth,
        Quantity::IndividualPhysicalMemory,
        Quantity::IndividualVirtualMemory,
        Quantity::IndividualDiskSpace,
        Quantity::TotalCpuTime,
        Quantity::TotalCpuCount,
        Quantity::TotalPhysicalMemory,
        Quantity::TotalVirtualMemory,
        Quantity::TotalDiskSpace,
        Quantity::TotalResourceCount,
    ];

    /// The name of its element.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantity::IndividualCpuSpeed => "IndividualCPUSpeed",
            Quantity::IndividualCpuTime => "IndividualCPUTime",
            Quantity::IndividualCpuCount => "IndividualCPUCount",
            Quantity::IndividualNetworkBandwidth => "IndividualNetworkBandwidth",
            Quantity::IndividualPhysicalMemory => "IndividualPhysicalMemory",
            Quantity::IndividualVirtualMemory => "IndividualVirtualMemory",
            Quantity::IndividualDiskSpace => "IndividualDiskSpace",
            Quantity::TotalCpuTime => "TotalCPUTime",
            Quantity::TotalCpuCount => "TotalCPUCount",
            Quantity::TotalPhysicalMemory => "TotalPhysicalMemory",
            Quantity::TotalVirtualMemory => "TotalVirtualMemory",
            Quantity::TotalDiskSpace => "TotalDiskSpace",
            Quantity::TotalResourceCount => "TotalResourceCount",
        }
    }
}

/// The processor architectures of JSDL 1.0, besides `other`.
pub(super) const ARCHITECTURES: [&str; 9] = [
    "sparc", "powerpc", "x86", "x86_32", "x86_64", "parisc", "mips", "ia64", "arm",
];

/// The operating systems of JSDL 1.0 (from CIM), besides `other`.
pub(super) const OPERATING_SYSTEMS: [&str; 68] = [
    "Unknown",
    "MACOS",
    "ATTUNIX",
    "DGUX",
    "DECNT",
    "Tru64_UNIX",
    "OpenVMS",
    "HPUX",
    "AIX",
    "MVS",
    "OS400",
    "OS_2",
    "JavaVM",
    "MSDOS",
    "WIN3x",
    "WIN95",
    "WIN98",
    "WINNT",
    "WINCE",
    "NCR3000",
    "NetWare",
    "OSF",
    "DC_OS",
    "Reliant_UNIX",
    "SCO_UnixWare",
    "SCO_OpenServer",
    "Sequent",
    "IRIX",
    "Solaris",
    "SunOS",
    "U6000",
    "ASERIES",
    "TandemNSK",
    "TandemNT",
    "BS2000",
    "LINUX",
    "Lynx",
    "XENIX",
    "VM",
    "Interactive_UNIX",
    "BSDUNIX",
    "FreeBSD",
    "NetBSD",
    "GNU_Hurd",
    "OS9",
    "MACH_Kernel",
    "Inferno",
    "QNX",
    "EPOC",
    "IxWorks",
    "VxWorks",
    "MiNT",
    "BeOS",
    "HP_MPE",
    "NextStep",
    "PalmPilot",
    "Rhapsody",
    "Windows_2000",
    "Dedicated",
    "OS_390",
    "VSE",
    "TPF",
    "Windows_R_Me",
    "Caldera_Open_UNIX",
    "OpenBSD",
    "Not_Applicable",
    "Windows_XP",
    "z_OS",
];

/// The name of a list that is this one but for the case of letters.
pub(super) fn listed(list: &[&'static str], name: &str) -> Option<&'static str> {
    let mut names = list.iter().copied();
    names.find(|listed| listed.eq_ignore_ascii_case(name))
}
