//! What the domain here has to offer, as pushes tell it.

use gridrig_core::agent::BrokerSetup;
use gridrig_core::ids::ClusterId;
use gridrig_core::inventory::{Form, Schema, SiteCluster, of_clusters};
use gridrig_core::load::LoadSample;
use gridrig_core::resource::Resources;
use gridrig_protocol::inventory::InventoryDocument;
use std::sync::Arc;

/// The clusters of a domain, and by which rules they are aggregated.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    clusters: Vec<(ClusterId, String, Arc<Resources>)>,
    schema: Schema,
}

impl Site {
    /// The domain of this broker.
    pub fn of(setup: &BrokerSetup) -> Self {
        let clusters = setup.config.clusters.iter();
        let named = clusters.map(|(id, resources)| {
            let name = setup.names.cluster(*id).into_owned();
            (*id, name, Arc::clone(resources))
        });
        Site {
            clusters: named.collect(),
            schema: setup.resource_schema.clone(),
        }
    }

    /// Its resources in a form, under these loads; `None` if two clusters have
    /// one name, which a grid refuses.
    pub fn in_form(&self, form: Form, loads: &[LoadSample]) -> Option<InventoryDocument> {
        let clusters = self
            .clusters
            .iter()
            .map(|(id, name, resources)| SiteCluster {
                name,
                resources,
                load: loads.iter().find(|load| load.cluster == *id),
            });
        let flat = of_clusters(&clusters.collect::<Vec<_>>()).ok()?;
        let wanted = flat.in_form(form, &self.schema).ok()?;
        Some(InventoryDocument::from(&wanted))
    }
}
