//! Reads, reduces and replays workload traces
