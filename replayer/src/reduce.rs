//! Reduction of a trace to a shorter one, written as SWF (LSAP 3.2).
