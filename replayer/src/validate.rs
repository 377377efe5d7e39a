//! Whether a reduced trace still behaves like the original (LSAP 3.2).
