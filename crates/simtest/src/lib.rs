//! Slow reference models and seeded random scenarios
