//! What runs the jobs of a cluster that is served.

use crate::cli::EmulatorArgs;
use crate::exit::Failure;
use crate::scenario::document::Cluster;
use anyhow::anyhow;
use gridrig_emulator::Config;
use gridrig_emulator::lrms::Lrms;
use gridrig_emulator::lrms::slurm::{Settings, Site};

/// Puts a real LRMS into its place, if the flags say so.
pub(super) fn set(config: &mut Config, args: &EmulatorArgs) -> Result<(), Failure> {
    match args.lrms.as_deref() {
        Some("slurm") => {}
        None | Some("emulated") => return Ok(()),
        Some(other) => {
            return Err(Failure::input(anyhow!(
                "--lrms {other}: expected one of emulated, slurm"
            )));
        }
    }
    let mut settings = Settings {
        bin: args.lrms_bin.clone(),
        conf: args.lrms_conf.clone(),
        partition: args.lrms_partition.clone(),
        ..Settings::default()
    };
    if let Some(file) = &args.lrms_template {
        let refuse = |why: String| {
            let file = file.display();
            Failure::input(anyhow!(
                "--lrms-template {file}: {why} (expected a script that begins with #!)"
            ))
        };
        let text = std::fs::read_to_string(file).map_err(|why| refuse(why.to_string()))?;
        if !text.starts_with("#!") {
            return Err(refuse("it is no script".to_owned()));
        }
        settings.template = text;
    }
    let is_said = args.processors.is_some() || args.resources.is_some() || args.scenario.is_some();
    let site = match is_said {
        true => Site::expect(&settings, config.cluster.resources.processors()),
        false => Site::ask(&settings),
    };
    let site = site.map_err(|why| Failure::input(anyhow!("--lrms slurm: {why}")))?;
    if !is_said {
        config.cluster.resources = site.resources();
    }
    config.lrms = Lrms::Slurm(Box::new(site));
    Ok(())
}

/// Puts the real LRMS that is written of a cluster into its place.
pub(super) fn written(config: &mut Config, cluster: &Cluster) -> Result<(), Failure> {
    let Some(access) = cluster.real_lrms() else {
        return Ok(());
    };
    let site = Site::expect(&access, config.cluster.resources.processors());
    let name = &config.name;
    let site = site.map_err(|why| Failure::input(anyhow!("cluster {name}: {why}")))?;
    config.lrms = Lrms::Slurm(Box::new(site));
    Ok(())
}
