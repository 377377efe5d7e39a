//! Components of jobs, and what they ask of their nodes.

use super::generic::GenericCounts;
use super::problem::{Problem, Result};
use crate::xml::record::is_default;
use crate::xml::too_long;
use gridrig_core::generic::EXPECTED;
use gridrig_core::ids::ClusterId;
use gridrig_core::job::{
    Component, Components, Division, Input, MOST_COMPONENTS, MOST_INPUTS, Requirements,
};
use serde::{Deserialize, Serialize};

/// A component of a job: processors that need the same of their nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobComponent {
    /// Processors wanted.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub processors: u32,
    /// What its nodes must offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<JobRequirements>,
    /// The number of the only cluster that will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<u16>,
}

/// Data that a component reads: it is at its cluster before the job starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobInput {
    /// The position of the component, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub component: u8,
    /// Its size, in MiB.
    pub data_mib: u64,
    /// The numbers of the clusters that have it; left out, it comes from elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub clusters: Vec<u16>,
}

impl From<&Input> for JobInput {
    fn from(input: &Input) -> Self {
        JobInput {
            component: input.component,
            data_mib: input.data_mib,
            clusters: input.clusters.iter().map(|id| id.0).collect(),
        }
    }
}

/// What the components of a job read.
///
/// # Errors
/// A problem document that names the field, its value and what was expected.
pub fn inputs(given: &[JobInput], job: &Components) -> Result<Box<[Input]>> {
    let refuse = |field: &str, value: usize, expected: &str| {
        let field = format!("inputs{field}");
        Problem::field(&field, &value.to_string(), expected)
    };
    if given.len() > MOST_INPUTS {
        return Err(refuse("", given.len(), "at most 256 of them"));
    }
    let known = |(at, input): (usize, &JobInput)| {
        let component = usize::from(input.component);
        if component > job.more.len() {
            let expected = "the position of a component of the job, from 0";
            return Err(refuse(&format!("[{at}].component"), component, expected));
        }
        if input.clusters.len() > MOST_COMPONENTS {
            let field = format!("[{at}].clusters");
            return Err(refuse(&field, input.clusters.len(), "at most 64 of them"));
        }
        Ok(Input {
            component: input.component,
            data_mib: input.data_mib,
            clusters: input.clusters.iter().copied().map(ClusterId).collect(),
        })
    };
    given.iter().enumerate().map(known).collect()
}

/// How a job of one component may be divided over several clusters: within bounds, or into
/// components of given sizes (docs/coallocation.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobDivision {
    /// The least processors on a cluster; 0 is any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub least_component: u32,
    /// Over so many clusters at most; 0 is all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub most_components: u32,
    /// Instead: into components of these sizes, the ways in order of preference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub splits: Vec<Vec<u32>>,
}

impl From<&Division> for JobDivision {
    fn from(division: &Division) -> Self {
        match division {
            Division::Bounds {
                least_component,
                most_components,
            } => JobDivision {
                least_component: *least_component,
                most_components: *most_components,
                splits: Vec::new(),
            },
            Division::Splits(splits) => JobDivision {
                splits: splits.iter().map(|sizes| sizes.to_vec()).collect(),
                ..JobDivision::default()
            },
        }
    }
}

impl JobDivision {
    /// The same for a job of these components.
    ///
    /// # Errors
    /// A problem document that names the field, its value and what was expected.
    pub fn division(&self, job: &Components) -> Result<Box<Division>> {
        let refuse = |field: &str, value: &str, expected: &str| {
            Err(Problem::field(&format!("division{field}"), value, expected))
        };
        if job.only().is_none_or(|only| only.cluster.is_some()) {
            let expected = "a job of one component, which names no cluster";
            return refuse("", "", expected);
        }
        if self.splits.is_empty() {
            return Ok(Box::new(Division::Bounds {
                least_component: self.least_component,
                most_components: self.most_components,
            }));
        }
        if self.least_component > 0 || self.most_components > 0 {
            return refuse(".splits", "", "either splits or bounds, not both");
        }
        if self.splits.len() > MOST_COMPONENTS {
            let given = format!("{} ways", self.splits.len());
            return refuse(".splits", &given, "at most 64");
        }
        for (at, sizes) in self.splits.iter().enumerate() {
            let sum: u64 = sizes.iter().copied().map(u64::from).sum();
            let all = job.processors();
            let good = sizes.len() < MOST_COMPONENTS && !sizes.contains(&0);
            if !good || u64::from(all) != sum {
                let expected =
                    format!("at most 63 sizes from 1, in all the {all} processors of the job");
                return refuse(&format!(".splits[{at}]"), &format!("{sizes:?}"), &expected);
            }
        }
        let splits = self.splits.iter().map(|sizes| sizes.as_slice().into());
        Ok(Box::new(Division::Splits(splits.collect())))
    }
}

/// What a job's nodes must offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobRequirements {
    /// Processor architecture, without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub architecture: Option<String>,
    /// Operating system, without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub os: Option<String>,
    /// Memory per processor in KiB.
    #[serde(default)]
    pub memory_kib: u64,
    /// Disk of each node in MiB.
    #[serde(default)]
    pub disk_mib: u64,
    /// Least speed of each node, in millionths of speed 1.0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub speed_millionths: u64,
    /// Most processors taken of each node; 0: any number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub most_per_node: u32,
    /// Generic resources taken of each node, such as GPUs, however many
    /// processors are taken there: numbers from 1 to 1000000 by name.
    #[serde(default, skip_serializing_if = "GenericCounts::is_empty")]
    pub generic_resources: GenericCounts,
}

impl From<&Component> for JobComponent {
    fn from(component: &Component) -> Self {
        let wanted = &component.requirements;
        let requirements = JobRequirements {
            architecture: wanted.architecture.as_deref().map(str::to_owned),
            os: wanted.os.as_deref().map(str::to_owned),
            memory_kib: wanted.memory_kib,
            disk_mib: wanted.disk_mib,
            speed_millionths: wanted.speed_millionths,
            most_per_node: wanted.most_per_node,
            generic_resources: (&wanted.generic).into(),
        };
        JobComponent {
            processors: component.processors,
            requirements: (!wanted.is_any()).then_some(requirements),
            cluster: component.cluster.map(|id| id.0),
        }
    }
}

impl JobComponent {
    /// The component, whose fields are called by their names after `within`.
    ///
    /// # Errors
    /// A problem document that names the field, its value and what was
    /// expected.
    pub fn component(self, within: &str) -> Result<Component> {
        let refuse = |field, value: &str, expected| {
            Err(Problem::field(&format!("{within}{field}"), value, expected))
        };
        if self.processors == 0 {
            return refuse("processors", "0", "at least 1");
        }
        let wanted = self.requirements.unwrap_or_default();
        let names = [
            ("requirements.architecture", &wanted.architecture),
            ("requirements.os", &wanted.os),
        ];
        for (field, name) in names {
            let name = name.as_deref().unwrap_or_default();
            if let Some(expected) = too_long(name) {
                return refuse(field, name, &expected);
            }
        }
        let Some(generic) = wanted.generic_resources.generics() else {
            let given = wanted.generic_resources.to_string();
            return refuse("requirements.generic_resources", &given, EXPECTED);
        };
        Ok(Component {
            processors: self.processors,
            requirements: Requirements {
                architecture: wanted.architecture.map(Into::into),
                os: wanted.os.map(Into::into),
                memory_kib: wanted.memory_kib,
                disk_mib: wanted.disk_mib,
                speed_millionths: wanted.speed_millionths,
                most_per_node: wanted.most_per_node,
                generic,
            },
            cluster: self.cluster.map(ClusterId),
        })
    }
}

/// The components after the first.
///
/// # Errors
/// As [`JobComponent::component`], and when they are more than 63.
pub fn more_components(all: Vec<JobComponent>) -> Result<Box<[Component]>> {
    const FIELD: &str = "more_components";
    if all.len() >= MOST_COMPONENTS {
        let given = format!("{} components", all.len());
        return Err(Problem::field(FIELD, &given, "at most 63"));
    }
    let all = all.into_iter().enumerate();
    all.map(|(index, one)| one.component(&format!("{FIELD}[{index}].")))
        .collect()
}
