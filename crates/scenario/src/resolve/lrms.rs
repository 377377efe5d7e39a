//! A real LRMS in the place of an emulated one.

use super::Context;
use crate::interface::SlurmAccess;
use crate::raw::{LrmsName, RawCluster};
use crate::value::At;
use crate::{RealLrms, ScenarioError};
use gridrig_core::time::SimDuration;
use std::path::PathBuf;
use std::time::Duration;

impl Context<'_> {
    /// The real LRMS of a cluster, if it has one.
    pub(super) fn lrms(&self, cluster: &RawCluster) -> Result<Option<RealLrms>, ScenarioError> {
        let name = cluster.lrms.as_ref().map(|name| name.get().0.0);
        if name != Some(LrmsName::Slurm) {
            return match &cluster.lrms_settings {
                Some(settings) => {
                    let expected = "no lrms_settings, or lrms = \"slurm\"";
                    Err(self.document.refuse(&settings.span(), expected))
                }
                None => Ok(None),
            };
        }
        if let Some(bin) = &cluster.slurm_bin {
            let expected = "no slurm_bin, since a real Slurm has commands of its own";
            return Err(self.document.refuse(&bin.span(), expected));
        }
        let mut settings = SlurmAccess::default();
        let mut template = None;
        if let Some(raw) = cluster.lrms_settings.as_ref().map(At::get) {
            let path = |text: &crate::value::PathText| PathBuf::from(&text.0);
            settings.bin = raw.bin.as_ref().map(|bin| path(&bin.0));
            settings.conf = raw.conf.as_ref().map(|conf| path(&conf.0));
            settings.partition = raw.partition.as_ref().map(|name| name.0.0.clone());
            if let Some(poll) = raw.poll {
                settings.poll = wall(poll.0.0);
            }
            if let Some(patience) = raw.patience {
                settings.patience = wall(patience.0);
            }
            if let Some(file) = &raw.template {
                let refuse = |expected: String| self.document.refuse(&file.span(), expected);
                let found = self.find(&file.get().0.0).map_err(refuse)?;
                let text = std::fs::read_to_string(&found);
                let text = text.map_err(|why| refuse(format!("a file of text ({why})")))?;
                if !text.starts_with("#!") {
                    return Err(refuse("a script that begins with #!".to_owned()));
                }
                settings.template = text;
                template = Some(found);
            }
        }
        Ok(Some(RealLrms { settings, template }))
    }
}

fn wall(length: SimDuration) -> Duration {
    Duration::from_nanos(length.as_nanos())
}
