//! Design 4 and 5, rule by rule, each worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access_rules;
mod advance_rules;
mod backfill_rules;
mod broker_rules;
mod cluster_rules;
mod coallocation;
mod domain_rules;
mod event_rules;
mod hours_rules;
mod inventory;
mod late_rules;
mod load_rules;
mod name_rules;
mod peer_rules;
mod placement_rules;
mod queue_rules;
mod reservation_rules;
mod rig;
mod view_rules;
