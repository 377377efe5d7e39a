//! The virtual-time and the real-time driver of the gridrig models
