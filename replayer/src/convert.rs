//! Conversion between trace formats.
