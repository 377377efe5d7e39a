//! `Resources`: what a job runs on.

use super::language::Jsdl;
use super::{OWN, RangeValue, Result};
use crate::xml::record::{Fields, Record, Value, structs};
use crate::xml::{Element, JSDL, too_long};
use gridrig_core::generic::Generics;
use std::collections::BTreeMap;
use strum::{IntoStaticStr, VariantArray};

structs! { Jsdl in JSDL:
    /// What a job runs on.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Resources {
        /// `CandidateHosts`: the only hosts that will do; none given, any will.
        pub candidate_hosts: Vec<String> = "CandidateHosts" [if_any Hosts],
        /// `ExclusiveExecution`.
        pub exclusive: Option<bool> = "ExclusiveExecution",
        /// `OperatingSystem`.
        pub operating_system: Option<OperatingSystem> = "OperatingSystem",
        /// `CPUArchitecture`, by the name of JSDL's list or by one of our own
        /// (`other` with a `gridrig:Name`).
        pub architecture: Option<String> = "CPUArchitecture" [as Architecture],
        /// Everything that is a number.
        pub quantities: BTreeMap<Quantity, RangeValue> = "",
        /// What is taken of each host besides (`gridrig:GenericResources`).
        pub generic: Option<Generics> = OWN "GenericResources",
        /// The queue of the cluster (`gridrig:Queue`); JSDL 1.0 has no word for it.
        pub queue: Option<String> = OWN "Queue",
    }

    /// `OperatingSystem`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct OperatingSystem {
        /// Its type, by the name of JSDL's list or by one of our own (`other` with
        /// a `gridrig:Name`).
        pub name: Option<String> = "OperatingSystemType" [as System],
        /// `OperatingSystemVersion`.
        pub version: Option<String> = "OperatingSystemVersion",
        /// `Description`.
        pub description: Option<String> = "Description",
    }
}

/// A number among the resources, in the order of the schema. `Individual` is
/// per resource (host), `Total` over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
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
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The processor architectures of JSDL 1.0, besides `other`.
const ARCHITECTURES: &str = "sparc powerpc x86 x86_32 x86_64 parisc mips ia64 arm";

/// The operating systems of JSDL 1.0 (from CIM), besides `other`.
const OPERATING_SYSTEMS: &str = "Unknown MACOS ATTUNIX DGUX DECNT Tru64_UNIX OpenVMS HPUX AIX MVS OS400 OS_2 JavaVM MSDOS \
    WIN3x WIN95 WIN98 WINNT WINCE NCR3000 NetWare OSF DC_OS Reliant_UNIX SCO_UnixWare \
    SCO_OpenServer Sequent IRIX Solaris SunOS U6000 ASERIES TandemNSK TandemNT BS2000 LINUX \
    Lynx XENIX VM Interactive_UNIX BSDUNIX FreeBSD NetBSD GNU_Hurd OS9 MACH_Kernel Inferno \
    QNX EPOC IxWorks VxWorks MiNT BeOS HP_MPE NextStep PalmPilot Rhapsody Windows_2000 \
    Dedicated OS_390 VSE TPF Windows_R_Me Caldera_Open_UNIX OpenBSD Not_Applicable \
    Windows_XP z_OS";

/// The name of a list that is this one but for the case of letters.
fn listed(list: &'static str, name: &str) -> Option<&'static str> {
    let mut names = list.split_ascii_whitespace();
    names.find(|listed| listed.eq_ignore_ascii_case(name))
}

structs! { Jsdl in JSDL:
    /// The names of hosts, at least one.
    #[derive(Default, PartialEq)]
    pub struct Hosts [some "HostName"] {
        pub names: Vec<String> = "HostName",
    }
}

impl From<Vec<String>> for Hosts {
    fn from(names: Vec<String>) -> Self {
        Hosts { names }
    }
}

impl From<Hosts> for Vec<String> {
    fn from(hosts: Hosts) -> Self {
        let names = hosts.names.iter();
        names.map(|name| name.trim().to_owned()).collect()
    }
}

/// Names of a list of the standard, or `other` with the name beside it in our
/// own namespace.
macro_rules! listed_names {
    ($($kind:ident of $list:ident in $name:literal)+) => {$(
        struct $kind(String);

        impl Record<Jsdl> for $kind {
            fn put_all(&self, element: &mut Element) {
                put_listed(element, $name, $list, &self.0);
            }

            fn take_all(fields: &mut Fields<'_, Jsdl>) -> Result<Self> {
                take_listed(fields, $name, $list).map($kind)
            }
        }
    )+};
}

listed_names! {
    System of OPERATING_SYSTEMS in "OperatingSystemName"
    Architecture of ARCHITECTURES in "CPUArchitectureName"
}

fn put_listed(element: &mut Element, inner: &'static str, list: &'static str, name: &str) {
    let known = listed(list, name);
    element.push(Element::with_text(JSDL, inner, known.unwrap_or("other")));
    if known.is_none() {
        element.push(Element::with_text(OWN, "Name", name));
    }
}

fn take_listed(
    fields: &mut Fields<'_, Jsdl>,
    inner: &'static str,
    list: &'static str,
) -> Result<String> {
    let name: String = fields.take((JSDL, inner))?;
    let own: Option<String> = fields.take((OWN, "Name"))?;
    let name = name.trim();
    let within = format!("/{inner}");
    match (name, own) {
        ("other", Some(own)) => match too_long(own.trim()) {
            Some(expected) => {
                let language = &fields.language;
                Err(language.value(fields.at, "/Name", own.trim(), &expected))
            }
            None => Ok(own.trim().to_owned()),
        },
        ("other", None) => {
            let why = "\"other\" says nothing without a gridrig:Name beside it";
            Err(fields.language.unsupported(fields.at, &within, why))
        }
        _ => {
            let expected = "a name of JSDL 1.0's list";
            let wrong = || fields.language.value(fields.at, &within, name, expected);
            listed(list, name).map(str::to_owned).ok_or_else(wrong)
        }
    }
}

/// An operating system as an element of another namespace that has the type of
/// JSDL's.
pub fn operating_system_element(namespace: &'static str, name: &str) -> Element {
    let system = OperatingSystem {
        name: Some(name.to_owned()),
        ..OperatingSystem::default()
    };
    system.write((namespace, "OperatingSystem"))
}

/// A processor architecture as an element of another namespace that has the
/// type of JSDL's.
pub fn architecture_element(namespace: &'static str, name: &str) -> Element {
    Architecture(name.to_owned()).write((namespace, "CPUArchitecture"))
}
