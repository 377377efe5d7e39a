//! What a domain has to offer, as brokers tell each other: typed records with
//! attributes and relations, in full or aggregated (LA Grid, section 2.2).
//!
//! A record describes one resource (a computer system, its operating system, a
//! file system) or, once aggregated, several of one type. Relations
//! such as *contains* and *uses* link records of different types. A
//! [`Schema`] says which types are aggregated on which attributes, which other
//! attributes are kept and how closely each relation is kept. From close to
//! loose these [`Form`]s are `flat`, `unique`, `one-to-n`, `n-to-n`: smaller on
//! the wire from one to the next, and less accurate. A job that
//! matches an inventory matches every looser form of it, never the other way
//! round.
//!
//! ```
//! use gridrig_core::inventory::{Form, Inventory, Record, Relation, Schema, Value, names};
//!
//! let system = |id, kind, speed: u64| {
//!     Record::new(id, names::COMPUTER_SYSTEM)
//!         .with(names::PROC_TYPE, Value::text(kind))
//!         .with(names::PROC_SPEED, Value::number(speed))
//! };
//! let records = vec![system("c1", "PowerPC", 3200), system("c2", "PowerPC", 2000)];
//! let flat = Inventory::new(Form::Flat, records, Vec::<Relation>::new()).unwrap();
//! let small = flat.in_form(Form::NToN, &Schema::la_grid()).unwrap();
//! let speed = small.records()[0].attribute(names::PROC_SPEED).unwrap();
//! assert_eq!(speed.values.to_string(), "2000..3200");
//! assert_eq!(speed.mean(), Some(2600.into()));
//! ```

mod aggregate;
pub mod names;
mod record;
mod schema;
mod site;
mod value;

pub use record::{Inventory, InventoryError, Record, Relation};
pub use schema::{AttributeRule, RelationRule, Schema, SchemaError, Shape, Statistic, TypeRule};
pub use site::{SiteCluster, of_clusters};
pub use value::{Attribute, Value, Values};

use std::fmt;

/// How closely an inventory keeps relations between resources, from all to
/// nothing but the pairs of types (LA Grid, Figure 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Form {
    /// Every resource by itself.
    Flat,
    /// Resources that are alike together with what they are related to.
    Unique,
    /// Parents that are alike; of the children of such a group, those that are.
    OneToN,
    /// Resources of a type that are alike, and every pair that is related.
    NToN,
}

impl Form {
    /// All forms, the most accurate first.
    pub const ALL: [Form; 4] = [Form::Flat, Form::Unique, Form::OneToN, Form::NToN];

    /// The name used in documents and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The form with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
