//! Wire and file formats: native REST types and resource XML

pub mod client;
pub mod resources;
pub mod rest;
pub mod tls;
