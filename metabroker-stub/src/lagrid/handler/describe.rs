//! What a pulled update tells besides the load of the clusters.

use super::BrokerHandler;
use crate::resources;
use gridrig_core::ids::ClusterId;
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::lagrid::{Form, ResourceUpdate};
use gridrig_protocol::rest::{NodeGroup, Result};

impl BrokerHandler {
    /// The same update with the names and nodes of its clusters, and, where a
    /// form was asked for, with the inventory of the domain in that form.
    pub(super) async fn described(
        &self,
        mut update: ResourceUpdate,
        form: Option<Form>,
    ) -> Result<ResourceUpdate> {
        let setup = &self.app.config.setup;
        for report in &mut update.clusters {
            let id = ClusterId(report.load.cluster);
            let mut own = setup.config.clusters.iter();
            if let Some((_, nodes)) = own.find(|(own, _)| *own == id) {
                report.name = Some(setup.names.cluster(id).into_owned());
                report.groups = NodeGroup::all(nodes);
            }
        }
        if let Some(form) = form {
            let flat = resources::inventory(&self.app).await?;
            let wanted = flat.in_form(form, &setup.resource_schema);
            let wanted = wanted.map_err(resources::contradiction)?;
            update.inventory = Some(InventoryDocument::from(&wanted));
            update.form = form;
        }
        Ok(update)
    }
}
