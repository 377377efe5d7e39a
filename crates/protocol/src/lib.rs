//! Wire and file formats: native REST types, resource XML, and what faces of
//! other systems speak.

pub mod adl;
pub mod agreement;
pub mod bes;
pub mod calendar;
pub mod certificate;
pub mod client;
pub mod description;
pub mod glue2;
pub mod inventory;
pub mod jsdl;
pub mod lagrid;
pub mod resources;
pub mod rest;
pub mod soap;
pub mod tag;
pub mod tls;
mod words;
pub mod xml;
