//! Behaviours of the wire and file formats, one module each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adl;
mod description;
mod inventory;
mod jsdl;
mod lagrid;
mod preferences;
mod resources;
mod seeds;
mod soap;
