//! Where Prometheus finds services that listen on ports nobody knew before:
//! files for its `file_sd_configs`, which it reads again when they change.

use super::labels::Labels;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// How a service is to be monitored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitoring {
    /// Labels of its metrics besides those that it knows itself.
    pub labels: Labels,
    /// The folder in which it says where it listens, as long as it does.
    pub targets: Option<PathBuf>,
}

impl Monitoring {
    /// Says in the folder, if there is one, where the service listens, until
    /// what this answers is let go of.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn announce(&self, name: &str, target: Target) -> io::Result<Option<TargetsFile>> {
        let Some(folder) = &self.targets else {
            return Ok(None);
        };
        let written = TargetsFile::write(folder, name, &[target]);
        written.map(Some).map_err(|source| {
            io::Error::other(format!("targets folder {}: {source}", folder.display()))
        })
    }
}

/// One service to be scraped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    targets: [String; 1],
    labels: BTreeMap<String, String>,
}

impl Target {
    /// The service with these labels at this address.
    pub fn new(address: SocketAddr, labels: &Labels) -> Self {
        let labels = labels.iter();
        Target {
            targets: [reachable(address).to_string()],
            labels: labels.map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        }
    }

    /// The same, spoken to over TLS.
    #[must_use]
    pub fn over_tls(mut self) -> Self {
        let (label, scheme) = ("__scheme__", "https");
        self.labels.insert(label.to_owned(), scheme.to_owned());
        self
    }
}

/// A service that listens everywhere is reached here.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            (std::net::Ipv4Addr::LOCALHOST, v4.port()).into()
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, v6.port()).into()
        }
        other => other,
    }
}

/// A file of targets, which goes away with this.
#[derive(Debug)]
pub struct TargetsFile(PathBuf);

impl TargetsFile {
    /// Writes `NAME-PROCESS.json` into the folder, which is made where it is
    /// missing. `name` loses what has no place in the name of a file.
    ///
    /// # Errors
    /// When the folder cannot be made or written to.
    pub fn write(folder: &Path, name: &str, targets: &[Target]) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let envelopes = name.chars().take(80);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name = envelopes.map(|c| if is_plain(c) { c } else { '_' });
        let name: String = name.collect();
        let stem = format!("{name}-{}", std::process::id());
        let file = folder.join(format!("{stem}.json"));
        let mut text = serde_json::to_string_pretty(targets).map_err(io::Error::other)?;
        text.push('\n');
        // Prometheus may look at any moment: it sees a whole file or none.
        let partial = folder.join(format!(".{stem}.partial"));
        std::fs::write(&partial, text)?;
        std::fs::rename(&partial, &file)?;
        Ok(TargetsFile(file))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TargetsFile {
    fn drop(&mut self) {
        // A folder that somebody has cleared has nothing to remove.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_reached_on_loopback_where_it_listens_everywhere() {
        let seen = |text: &str| Target::new(text.parse().unwrap(), &Labels::default()).targets;
        assert_eq!(seen("0.0.0.0:80"), ["127.0.0.1:80"]);
        assert_eq!(seen("[::]:80"), ["[::1]:80"]);
        assert_eq!(seen("10.0.0.7:80"), ["10.0.0.7:80"]);
    }

    #[test]
    fn a_targets_file_is_what_file_sd_reads_and_goes_with_its_service() {
        let folder = std::env::temp_dir().join(format!("gridrig-targets-{}", std::process::id()));
        let labels = Labels::of("emulator").with("cluster", "a/../1");
        let target = Target::new("127.0.0.1:8101".parse().unwrap(), &labels).over_tls();
        let file = TargetsFile::write(&folder, "emulator-a/../1", &[target]).unwrap();
        assert_eq!(file.path().parent(), Some(&*folder));
        let text = std::fs::read_to_string(file.path()).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read[0]["targets"][0], "127.0.0.1:8101");
        assert_eq!(read[0]["labels"]["cluster"], "a/../1");
        assert_eq!(read[0]["labels"]["__scheme__"], "https");
        drop(file);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }
}
