//! Inventories of resources on the wire, in XML and in JSON, and the schema
//! documents that drive their aggregation (LA Grid 2.2, Listing 1).
//!
//! Both wire forms carry one [`InventoryDocument`]. Values are texts, as in the
//! paper; the shortest way to write a number is that number. An aggregated
//! record of type `T` is called `AggregateT`. `resources/xsd/inventory.xsd`
//! has the rules of the XML, `docs/resource-models.md` describes both.
//!
//! ```
//! use gridrig_core::inventory::{Form, Inventory, Record, Schema, Value, names};
//! use gridrig_protocol::inventory::InventoryDocument;
//!
//! let record = Record::new("c1", names::COMPUTER_SYSTEM)
//!     .with(names::PROC_TYPE, Value::text("x86"));
//! let flat = Inventory::new(Form::Flat, vec![record], vec![]).unwrap();
//! let small = flat.in_form(Form::NToN, &Schema::la_grid()).unwrap();
//! let xml = InventoryDocument::from(&small).to_xml();
//! let read = InventoryDocument::parse(xml.as_bytes()).unwrap();
//! assert_eq!(read.inventory().unwrap(), small);
//! ```

mod convert;
mod error;
mod schema;
mod xml;

pub use error::InventoryDocumentError;
pub use schema::{read_schema, schema_element};

use crate::xml::record::structs;
use gridrig_core::inventory::Inventory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xml::Documents;

/// The namespace of inventories and of their schema documents.
pub const NAMESPACE: &str = "urn:gridrig:inventory:1";

structs! { Documents in NAMESPACE:
    /// An inventory as it is written.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub struct InventoryDocument {
        /// `flat`, `unique`, `one-to-n` or `n-to-n`.
        pub form: String = @"form",
        /// Its records.
        pub records: Vec<RecordDocument> = "Record",
    }

    /// A record.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub struct RecordDocument {
        /// Unlike that of any other record.
        pub id: String = @"id",
        /// Its type; after `Aggregate` in any form but the flat one.
        #[serde(rename = "type")]
        pub kind: String = @"type",
        /// How many resources it stands for.
        pub count: u64 = @"count",
        /// What is known of them, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub attributes: BTreeMap<String, AttributeDocument> = "Attribute",
        /// What it is related to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub relations: Vec<RelationDocument> = "Relation",
    }
}

/// An attribute: exactly one of a value, a range and a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AttributeDocument {
    /// What all have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The least and the greatest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<RangeDocument>,
    /// All that occur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,
    /// How many of the record's resources have it; absent, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The sum. Of a single value no statistics are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
    /// The mean, rounded down to nine places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<String>,
    /// The median, rounded down to nine places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<String>,
}

structs! { Documents in NAMESPACE:
    /// A range of numbers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub struct RangeDocument {
        /// The least.
        pub min: String = @"min",
        /// The greatest.
        pub max: String = @"max",
    }

    /// A relation to another record.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub struct RelationDocument {
        /// How, such as `contains` or `uses`.
        pub name: String = @"name",
        /// Id of the other record.
        pub to: String = @"to",
    }
}

/// How large an inventory is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InventorySize {
    /// Its form.
    pub form: String,
    /// Records.
    pub records: u64,
    /// Relations between them.
    pub relations: u64,
    /// Bytes of the XML document.
    pub xml_bytes: u64,
    /// Bytes of the JSON document.
    pub json_bytes: u64,
}

impl InventorySize {
    /// The size of this inventory, each document being written as it is sent.
    pub fn of(inventory: &Inventory) -> Self {
        let document = InventoryDocument::from(inventory);
        // A document of texts and numbers always serializes.
        let json = serde_json::to_vec(&document).map_or(0, |json| json.len());
        InventorySize {
            form: document.form.clone(),
            records: inventory.records().len() as u64,
            relations: inventory.relations().len() as u64,
            xml_bytes: document.to_xml().len() as u64,
            json_bytes: json as u64,
        }
    }
}
