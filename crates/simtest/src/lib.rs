//! Slow reference models, seeded random scenarios and invariant checkers.
//!
//! [`reference`](mod@reference) is a second reading of design sections 4 and 5, written for the
//! eye and not for speed: it shares jobs, resources, times and the description
//! of a grid with the models it checks, and no algorithm. [`scenarios`] makes
//! up grids and jobs in which instants coincide on purpose. [`trail`] keeps
//! what happened to every job in a form in which two implementations can be
//! compared step by step, and [`checkers`] name what must hold of any run.
//! [`faults`] draws what goes wrong in a run of [`services`].

pub mod checkers;
pub mod faults;
pub mod minimal;
pub mod reference;
pub mod scenarios;
pub mod services;
pub mod table;
pub mod trail;
