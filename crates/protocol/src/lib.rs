//! Wire and file formats: native REST types, resource XML, and what faces of
//! other systems speak.

pub mod client;
pub mod element;
pub mod glue2;
pub mod resources;
pub mod rest;
pub mod tls;
