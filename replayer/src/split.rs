//! One stream of jobs per domain.
