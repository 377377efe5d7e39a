//! Pictures as SVG, and the offline pages that hold them.
