//! Tests of the scenario document.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod grid;
mod seeds;
mod topology;
