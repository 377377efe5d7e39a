//! What a pulled update tells besides the load of the clusters.

use super::BrokerDesk;
use crate::resources;
use gridrig_core::ids::ClusterId;
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::lagrid::terms;
use gridrig_protocol::lagrid::{PeerFault, ResourceForm, ResourceUpdate};
use gridrig_protocol::rest::NodeGroup;

impl BrokerDesk {
    /// The same update with the names and nodes of its clusters, and, where a
    /// form was asked for, with the inventory of the domain in that form.
    pub(super) async fn described(
        &self,
        update: ResourceUpdate,
        form: Option<ResourceForm>,
    ) -> Result<ResourceUpdate, PeerFault> {
        let setup = &self.app.config.setup;
        let mut update = update;
        for report in &mut update.clusters {
            let id = ClusterId(report.load.cluster);
            let mut own = setup.config.clusters.iter();
            if let Some((_, nodes)) = own.find(|(own, _)| *own == id) {
                report.name = Some(setup.names.cluster(id).into_owned());
                report.groups = NodeGroup::all(nodes);
            }
        }
        if let Some(form) = form {
            update.inventory = Some(self.inventory(form).await?);
            update.form = form;
        }
        Ok(update)
    }

    async fn inventory(&self, form: ResourceForm) -> Result<InventoryDocument, PeerFault> {
        let flat = resources::inventory(&self.app).await?;
        let schema = &self.app.config.setup.resource_schema;
        let wanted = flat.in_form(terms::form(form), schema);
        let wanted = wanted.map_err(resources::contradiction)?;
        Ok(InventoryDocument::from(&wanted))
    }
}
