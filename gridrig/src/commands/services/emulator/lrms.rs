//! What runs the jobs of a cluster that is served.

use crate::cli::EmulatorArgs;
use crate::scenario::document::Cluster;
use anyhow::{Context as _, bail};
use gridrig_emulator::Config;
use gridrig_emulator::lrms::Lrms;
use gridrig_emulator::lrms::slurm::{Settings, Site};

/// Puts a real LRMS into its place, if the flags say so.
pub(super) fn set(config: &mut Config, args: &EmulatorArgs) -> anyhow::Result<()> {
    match args.lrms.as_deref() {
        Some("slurm") => {}
        None | Some("emulated") => return Ok(()),
        Some(other) => bail!("--lrms {other}: expected one of emulated, slurm"),
    }
    let mut settings = Settings {
        bin: args.lrms_bin.clone(),
        conf: args.lrms_conf.clone(),
        partition: args.lrms_partition.clone(),
        ..Settings::default()
    };
    if let Some(file) = &args.lrms_template {
        let flag = || format!("--lrms-template {}", file.display());
        settings.template = std::fs::read_to_string(file).with_context(flag)?;
        if !settings.template.starts_with("#!") {
            bail!("{}: expected a script that begins with #!", flag());
        }
    }
    let is_said = args.processors.is_some() || args.resources.is_some() || args.scenario.is_some();
    let site = match is_said {
        true => Site::expect(&settings, config.cluster.resources.processors()),
        false => Site::ask(&settings),
    };
    let site = site.context("--lrms slurm")?;
    if !is_said {
        config.cluster.resources = site.resources();
    }
    config.lrms = Lrms::Slurm(Box::new(site));
    Ok(())
}

/// Puts the real LRMS that is written of a cluster into its place.
pub(super) fn written(config: &mut Config, cluster: &Cluster) -> anyhow::Result<()> {
    if let Some(access) = cluster.real_lrms() {
        let site = Site::expect(&access, config.cluster.resources.processors());
        let site = site.with_context(|| format!("cluster {}", config.name))?;
        config.lrms = Lrms::Slurm(Box::new(site));
    }
    Ok(())
}
