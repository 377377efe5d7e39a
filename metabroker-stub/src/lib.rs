//! The reference meta-broker as a service
