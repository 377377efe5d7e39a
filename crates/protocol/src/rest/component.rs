//! Components of jobs, and what they ask of their nodes.

use super::generic::GenericCounts;
use super::problem::{Problem, Result};
use crate::xml::too_long;
use gridrig_core::generic::EXPECTED;
use gridrig_core::job::{Component, MOST_COMPONENTS, Requirements};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A component of a job: processors that need the same of their nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobComponent {
    /// Processors wanted.
    #[schema(minimum = 1)]
    pub processors: u32,
    /// What its nodes must offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<JobRequirements>,
}

/// What a job's nodes must offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequirements {
    /// Processor architecture, without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub architecture: Option<String>,
    /// Operating system, without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub os: Option<String>,
    /// Memory per processor in KiB.
    #[serde(default)]
    pub memory_kib: u64,
    /// Disk of each node in MiB.
    #[serde(default)]
    pub disk_mib: u64,
    /// Least speed of each node, in millionths of speed 1.0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub speed_millionths: u64,
    /// Generic resources taken of each node, such as GPUs, however many
    /// processors are taken there: numbers from 1 to 1000000 by name.
    #[serde(default, skip_serializing_if = "GenericCounts::is_empty")]
    pub generic_resources: GenericCounts,
}

/// Whether a number that means nothing at 0 may be left out.
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
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
            generic_resources: (&wanted.generic).into(),
        };
        JobComponent {
            processors: component.processors,
            requirements: (!wanted.is_any()).then_some(requirements),
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
                generic,
            },
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
