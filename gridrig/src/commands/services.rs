//! placeholder until the services land
use crate::cli::{BrokerArgs, EmulatorArgs, ReplayArgs};
use crate::exit::Failure;
pub(super) fn emulator(_: &EmulatorArgs) -> Result<(), Failure> { Ok(()) }
pub(super) fn broker(_: &BrokerArgs) -> Result<(), Failure> { Ok(()) }
pub(super) fn replay(_: &ReplayArgs) -> Result<(), Failure> { Ok(()) }
