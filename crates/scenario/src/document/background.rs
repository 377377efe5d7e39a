//! The background load of a cluster as it is written.

use crate::value::{AboveZero, Count, Share, Str, Whole, Written, or};
use gridrig_core::cluster as core;
use gridrig_core::time::{Decimal, SimDuration};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Within which range the background load of a cluster is kept (KOALA, 5.5). No scale divides
/// these times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Background {
    /// Below this share of its processors a dummy job is submitted. Default 0.15.
    pub least: Option<Share>,
    /// Above this share dummy jobs are removed. Default 0.2.
    pub most: Option<Share>,
    /// Time between two looks at it. Default "10s".
    pub check: Option<Str<AboveZero>>,
    /// Processors of a dummy job. Default: half of the range, at least 1.
    pub processors: Option<Count>,
    /// How long one runs that is not removed. Default "10min".
    pub length: Option<Str<AboveZero>>,
}

impl Background {
    pub(super) fn of(settings: &core::Background) -> Self {
        Background {
            least: Some(Share(settings.least)),
            most: Some(Share(settings.most)),
            check: Some(Written::of(settings.check)),
            processors: Some(Whole(settings.processors.get().into())),
            length: Some(Written::of(settings.length)),
        }
    }

    pub(super) fn settings(&self, processors: u32) -> core::Background {
        let share = |written: Option<Share>, default: &str| {
            let default = Decimal::parse(default).unwrap_or(Decimal::ZERO);
            written.map_or(default, |share| share.0)
        };
        let (least, most) = (share(self.least, "0.15"), share(self.most, "0.2"));
        let whole = |share: Decimal| share.multiply(processors.into());
        let half = whole(most).saturating_sub(whole(least)) / 2;
        let own = self.processors.map_or(half, |own| own.0);
        core::Background {
            least,
            most,
            check: or(&self.check, SimDuration::from_secs(10)),
            processors: NonZeroU32::new(u32::try_from(own).unwrap_or(u32::MAX))
                .unwrap_or(NonZeroU32::MIN),
            length: or(&self.length, SimDuration::from_secs(600)),
        }
    }
}
