//! Wire and file formats: native REST types, resource XML, SOAP, JSDL and
//! OGSA-BES

pub mod bes;
pub mod client;
pub mod jsdl;
pub mod resources;
pub mod rest;
pub mod soap;
pub mod tls;
pub mod xml;
