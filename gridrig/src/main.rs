//! The gridrig command.
fn main() {}
