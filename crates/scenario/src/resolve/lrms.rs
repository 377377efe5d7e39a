//! A real LRMS in the place of an emulated one.

use super::Context;
use crate::Result;
use crate::document::Cluster;
use crate::value::{PathText, Str};
use std::ops::Range;

impl Context<'_> {
    /// Completes what is said of the real LRMS of a cluster, if it has one.
    pub(super) fn lrms(&self, cluster: &mut Cluster, span: &Range<usize>) -> Result<()> {
        if !cluster.is_real() {
            cluster.lrms = None;
            let at = self.tables.key(span, "lrms_settings");
            let expected = "no lrms_settings, or lrms = \"slurm\"";
            return self.check(cluster.lrms_settings.is_none(), &at, expected);
        }
        let at = self.tables.key(span, "slurm_bin");
        let expected = "no slurm_bin, since a real Slurm has commands of its own";
        self.check(cluster.slurm_bin.is_none(), &at, expected)?;
        let settings = cluster.lrms_settings.get_or_insert_default();
        settings.complete();
        if let Some(file) = &mut settings.template {
            let at = self.tables.key(span, "lrms_settings");
            let at = self.tables.key(&at, "template");
            let refuse = |expected: String| self.refuse(&at, expected);
            let found = self.find(&file.0.0).map_err(refuse)?;
            let text = std::fs::read_to_string(&found);
            let text = text.map_err(|why| refuse(format!("a text file ({why})")))?;
            self.check(text.starts_with("#!"), &at, "a script that begins with #!")?;
            *file = Str(PathText::of(&found));
            settings.script = Some(text);
        }
        Ok(())
    }
}
