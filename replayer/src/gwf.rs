//! The Grid Workload Format: one job per line, 29 tab-separated columns.
