//! Resources as a cluster file.

use super::records::Cluster;
use super::{NAMESPACE, ResourceError, parse};
use crate::xml::record::Value;
use gridrig_core::resource::Resources;
use quick_xml::escape::escape;
use std::fmt::Write as _;

/// Why resources have no cluster file.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format has no word for nodes without this property.
    #[error("resource {0}: {1} is not set: expected a value, the format demands one")]
    Missing(usize, &'static str),
    /// The format cannot carry a value: it would not be read.
    #[error(transparent)]
    Unreadable(ResourceError),
    /// The format cannot carry a value: it would be read back as another.
    #[error("a text has surplus spaces: expected single ones, none at either end")]
    Other,
}

/// The cluster file of these resources; read again, it gives the same ones.
///
/// # Errors
/// When a group has no architecture, operating system or memory (such as
/// those of [`Resources::homogeneous`]), or a value that no file can carry.
pub fn write(resources: &Resources) -> Result<String, WriteError> {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<EmulatedResources xmlns=\"{NAMESPACE}\">\n"
    );
    for (index, group) in resources.groups().iter().enumerate() {
        let demanded = [
            ("Architecture", group.architecture.is_some()),
            ("OS", group.os.is_some()),
            ("PhysicalMemory", group.memory_mib.is_some()),
        ];
        if let Some((element, _)) = demanded.into_iter().find(|(_, is_set)| !is_set) {
            return Err(WriteError::Missing(index, element));
        }
        xml.push_str("  <Resource>\n");
        for field in Value::<Cluster>::write(group, (NAMESPACE, "Resource")).elements() {
            let name = &field.name;
            // Writing to a String cannot fail.
            let _ = writeln!(xml, "    <{name}>{}</{name}>", escape(field.text()));
        }
        xml.push_str("  </Resource>\n");
    }
    xml.push_str("</EmulatedResources>\n");
    match parse("the cluster file", &xml).map_err(WriteError::Unreadable)? {
        read if read == *resources => Ok(xml),
        _ => Err(WriteError::Other),
    }
}
