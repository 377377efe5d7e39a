//! An emulated LRMS as a service
