//! Behaviours of the wire and file formats, one module each.

mod resources;
