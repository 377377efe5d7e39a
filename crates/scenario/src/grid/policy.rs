//! The policy of a broker in a manifest.

use crate::value::Text;
use gridrig_core::policy::PolicySpec;

/// A policy as a manifest has it: one of the user's own is written `NAME(exec)`.
#[derive(Clone, Debug)]
pub(super) struct RecordedPolicy(pub PolicySpec);

impl Text for RecordedPolicy {
    const EXPECTED: &'static str = PolicySpec::EXPECTED;

    fn read(text: &str) -> Result<Self, String> {
        let own = text.strip_suffix("(exec)").map(PolicySpec::own);
        own.map_or_else(|| PolicySpec::read(text), Ok)
            .map(RecordedPolicy)
    }

    fn write(&self) -> String {
        match self.0.is_own() {
            true => format!("{}(exec)", self.0),
            false => self.0.to_string(),
        }
    }

    #[cfg(feature = "schema")]
    fn schema() -> schemars::Schema {
        PolicySpec::schema()
    }
}
