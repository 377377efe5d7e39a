//! The parts of a document as elements, in the order of the schemas.

use super::language::Jsdl;
use super::resources::{ARCHITECTURES, OPERATING_SYSTEMS, listed};
use super::{
    Application, Bound, CreationFlag, DataStaging, Exact, Identification, JSDL, JobDefinition,
    JsdlError, OWN, OperatingSystem, Range, RangeValue, Resources, SPMD, Spmd,
};
use crate::xml::record::{
    At, Attribute, Field, Fields, Language as _, Record, Tag, Value, Wrong, attribute, put,
    records, required, tag, take, texts, values,
};
use crate::xml::{Element, boolean, digits, is_space};
use gridrig_core::generic::{self, Generics};
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;

pub(super) type Read<T> = Result<T, JsdlError>;

records! { Jsdl:
    // What stands in the JobDescription.
    JobDefinition in JSDL {
        identification = "JobIdentification" [if_any Identification],
        application = "Application",
        resources = "Resources" [if_any Resources],
        staging = "DataStaging",
        run_time = OWN "RunTime",
        requested_time = OWN "RequestedTime",
        .. JobDefinition::default()
    }
    Identification in JSDL {
        name = "JobName",
        description = "Description",
        annotations = "JobAnnotation",
        projects = "JobProject",
    }
    Application in JSDL {
        name = "ApplicationName",
        version = "ApplicationVersion",
        description = "Description",
        program = "",
    }
    Spmd in SPMD {
        processes = "NumberOfProcesses",
        per_host = "ProcessesPerHost",
        threads = "ThreadsPerProcess",
        variation = "SPMDVariation",
    }
    Resources in JSDL {
        candidate_hosts = "CandidateHosts" [if_any Hosts],
        exclusive = "ExclusiveExecution",
        operating_system = "OperatingSystem",
        architecture = "CPUArchitecture" [as Architecture],
        quantities = "",
        generic = OWN "GenericResources",
    }
    OperatingSystem in JSDL {
        name = "OperatingSystemType" [as System],
        version = "OperatingSystemVersion",
        description = "Description",
    }
    Range in JSDL {
        lower = "LowerBound",
        upper = "UpperBound",
    }
    DataStaging in JSDL {
        @name = "name",
        file = "FileName",
        filesystem = "FilesystemName" [as NcName],
        creation = "CreationFlag",
        delete = "DeleteOnTermination",
        source = "Source" [as Place],
        target = "Target" [as Place],
        size = OWN "Size",
    }
}

values! { Jsdl:
    bool = "true or false", boolean;
    u64 = "a whole number from 0 on", |text| digits(text)?.parse().ok();
    u32 = POSITIVE, positive;
    Generics = generic::EXPECTED, |text| text.parse().ok();
    CreationFlag = "overwrite, append or dontOverwrite", |text| text.parse().ok();
}

pub(super) const POSITIVE: &str = "a whole number from 1 to 4294967295";

pub(super) fn positive(text: &str) -> Option<u32> {
    digits(text)?.parse().ok().filter(|number| *number > 0)
}

required! { Jsdl: Bound, Hosts }
texts! { Jsdl }

impl Value<Jsdl> for SimDuration {
    fn write(&self, (namespace, name): Tag) -> Element {
        Element::with_text(namespace, name, self.to_string())
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Read<Self> {
        let text = at.text(language, &[])?;
        let text = text.trim_matches(is_space);
        SimDuration::parse(text).map_err(|error| {
            let expected = format!("a length of time such as \"60s\" ({error})");
            language.error(at, Wrong::Value(text, &expected))
        })
    }
}

/// Numbers by name: an element each, where it is given.
impl<K, V> Field<Jsdl> for BTreeMap<K, V>
where
    K: strum::VariantArray + Copy + Ord + Into<&'static str>,
    V: Value<Jsdl>,
{
    fn put(&self, (namespace, _): Tag, parent: &mut Element) {
        for (name, value) in self {
            parent.push(value.write((namespace, (*name).into())));
        }
    }

    fn take(fields: &mut Fields<'_, Jsdl>, (namespace, _): Tag) -> Read<Self> {
        let mut all = BTreeMap::new();
        for name in K::VARIANTS {
            let value: Option<V> = fields.take((namespace, (*name).into()))?;
            all.extend(value.map(|value| (*name, value)));
        }
        Ok(all)
    }
}

/// A name without a colon, as identifiers of JSDL are.
struct NcName(String);

impl Value<Jsdl> for NcName {
    fn write(&self, tag: Tag) -> Element {
        Value::<Jsdl>::write(&self.0, tag)
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Read<Self> {
        let name = at.text(language, &[])?;
        let wrong = || language.error(at, Wrong::Value(&name, "a name"));
        nc_name(&name).map(NcName).ok_or_else(wrong)
    }
}

impl Attribute<Jsdl> for Option<String> {
    fn put(&self) -> Option<String> {
        self.clone()
    }

    fn take(fields: &mut Fields<'_, Jsdl>, name: &'static str) -> Read<Self> {
        fields.attribute(name, NC_NAME, |text| nc_name(text.trim()))
    }
}

pub(super) const NC_NAME: &str = "a name of letters, digits, `_`, `-` and `.`";

pub(super) fn nc_name(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let begins = |c: char| c.is_alphabetic() || c == '_';
    let is_name = chars.next().is_some_and(begins)
        && chars.all(|c| begins(c) || c.is_numeric() || matches!(c, '-' | '.' | '\u{b7}'));
    is_name.then(|| text.to_owned())
}

/// A `Source` or `Target`.
struct Place(Option<String>);

impl Record<Jsdl> for Place {
    fn put_all(&self, element: &mut Element) {
        Jsdl::put(&self.0, (JSDL, "URI"), element);
    }

    fn take_all(fields: &mut Fields<'_, Jsdl>) -> Read<Self> {
        let uri: Option<String> = fields.take((JSDL, "URI"))?;
        Ok(Place(uri.map(|uri| uri.trim_matches(is_space).to_owned())))
    }
}

/// The names of hosts, at least one.
#[derive(Default)]
struct Hosts(Vec<String>);

impl From<Vec<String>> for Hosts {
    fn from(hosts: Vec<String>) -> Self {
        Hosts(hosts)
    }
}

impl From<Hosts> for Vec<String> {
    fn from(hosts: Hosts) -> Self {
        hosts.0
    }
}

impl Record<Jsdl> for Hosts {
    fn put_all(&self, element: &mut Element) {
        Jsdl::put(&self.0, (JSDL, "HostName"), element);
    }

    fn take_all(fields: &mut Fields<'_, Jsdl>) -> Read<Self> {
        let hosts: Vec<String> = fields.take((JSDL, "HostName"))?;
        match hosts.is_empty() {
            true => Err(fields.missing("HostName")),
            false => Ok(Hosts(
                hosts.iter().map(|host| host.trim().to_owned()).collect(),
            )),
        }
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

            fn take_all(fields: &mut Fields<'_, Jsdl>) -> Read<Self> {
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
) -> Read<String> {
    let name: String = fields.take((JSDL, inner))?;
    let own: Option<String> = fields.take((OWN, "Name"))?;
    let name = name.trim();
    let within = format!("/{inner}");
    match (name, own) {
        ("other", Some(own)) => Ok(own.trim().to_owned()),
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
#[must_use]
pub fn operating_system_element(namespace: &'static str, name: &str) -> Element {
    let system = OperatingSystem {
        name: Some(name.to_owned()),
        ..OperatingSystem::default()
    };
    system.write((namespace, "OperatingSystem"))
}

/// A processor architecture as an element of another namespace that has the
/// type of JSDL's.
#[must_use]
pub fn architecture_element(namespace: &'static str, name: &str) -> Element {
    Architecture(name.to_owned()).write((namespace, "CPUArchitecture"))
}

impl Record<Jsdl> for RangeValue {
    fn put_all(&self, element: &mut Element) {
        Jsdl::put(&self.upper, (JSDL, "UpperBoundedRange"), element);
        Jsdl::put(&self.lower, (JSDL, "LowerBoundedRange"), element);
        Jsdl::put(&self.exact, (JSDL, "Exact"), element);
        Jsdl::put(&self.ranges, (JSDL, "Range"), element);
    }

    fn take_all(fields: &mut Fields<'_, Jsdl>) -> Read<Self> {
        let value = RangeValue {
            upper: fields.take((JSDL, "UpperBoundedRange"))?,
            lower: fields.take((JSDL, "LowerBoundedRange"))?,
            exact: fields.take((JSDL, "Exact"))?,
            ranges: fields.take((JSDL, "Range"))?,
        };
        if value == RangeValue::default() {
            let expected = "Exact, Range, LowerBoundedRange or UpperBoundedRange";
            return Err(fields.missing(expected));
        }
        Ok(value)
    }
}

impl Value<Jsdl> for Bound {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::with_text(namespace, name, self.value.to_string());
        element.set("exclusiveBound", self.exclusive.then(|| "true".to_owned()));
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Read<Self> {
        let value = number_at(at, language, "exclusiveBound")?;
        let exclusive = at.attribute(language, "exclusiveBound", "true or false", |text| {
            boolean(text.trim())
        });
        Ok(Bound {
            exclusive: exclusive?.unwrap_or(false),
            value,
        })
    }
}

impl Value<Jsdl> for Exact {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::with_text(namespace, name, self.value.to_string());
        element.set("epsilon", self.epsilon.map(|epsilon| epsilon.to_string()));
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Read<Self> {
        Ok(Exact {
            value: number_at(at, language, "epsilon")?,
            epsilon: at.attribute(language, "epsilon", NUMBER, number)?,
        })
    }
}

const NUMBER: &str = "a finite number";

/// The number in an element that may have this attribute.
fn number_at(at: &At<'_>, language: &mut Jsdl, attribute: &'static str) -> Read<f64> {
    let text = at.text(language, &[attribute])?;
    let wrong = || language.error(at, Wrong::Value(text.trim_matches(is_space), NUMBER));
    number(&text).ok_or_else(wrong)
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    // Rust reads "inf" and "nan" as well, which are numbers of nothing.
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    text.parse().ok().filter(|n: &f64| plain && n.is_finite())
}
