//! placeholder until realtime lands
use super::{Executed, Load};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::scenario::Scenario;
use gridrig_core::grid::Grid;
use gridrig_core::time::Decimal;
pub(super) fn execute(_: &Scenario, _: &Grid, _: &Load, _: Decimal, _: &Progress) -> Result<Executed, Failure> {
    Err(Failure::run(anyhow::anyhow!("real time")))
}
