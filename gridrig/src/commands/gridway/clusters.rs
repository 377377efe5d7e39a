//! Which clusters the drivers know, and where they are.

use crate::exit::Failure;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use gridrig_protocol::client::Client;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where clusters are named. gwd cuts the arguments of drivers at colons and
/// gives them as one word, so that a file is what works there.
#[derive(Clone, Debug, Args)]
pub(super) struct ClusterArgs {
    /// A cluster and its address; may be repeated
    #[arg(
        long = "cluster",
        value_name = "NAME=URL",
        required_unless_present = "clusters"
    )]
    pub named: Vec<String>,
    /// A file of such clusters: a line NAME=URL each, or the first line that
    /// `gridrig emulator` says. It is read again at every DISCOVER
    #[arg(long, value_name = "FILE")]
    pub clusters: Option<PathBuf>,
}

/// The largest file of clusters that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Clusters by name, in the order of names.
pub(super) type Clusters = BTreeMap<String, String>;

impl ClusterArgs {
    /// Refuses what the command line says before anything is served. The file
    /// may still be empty: it is read again later.
    ///
    /// # Errors
    /// When an argument or the file will not do.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.read().map(drop).map_err(Failure::Input)
    }

    /// The clusters; those of a line without a name are asked for theirs.
    ///
    /// # Errors
    /// When the file cannot be read or a cluster does not say its name.
    pub(super) async fn load(&self, client: &Client) -> anyhow::Result<Clusters> {
        let mut clusters = Clusters::new();
        for (name, url) in self.read()? {
            let name = match name {
                Some(name) => name,
                None => client.cluster(&url).await?.name,
            };
            check_name(&name)?;
            if let Some(other) = clusters.insert(name.clone(), url.clone())
                && other != url
            {
                bail!("cluster {name} is at {other} and at {url}: expected one address");
            }
        }
        Ok(clusters)
    }

    fn read(&self) -> anyhow::Result<Vec<(Option<String>, String)>> {
        let mut clusters = Vec::new();
        for text in &self.named {
            let cluster = named(text).map_err(|e| anyhow!("--cluster {text}: {e}"))?;
            clusters.push(cluster);
        }
        let Some(file) = &self.clusters else {
            return Ok(clusters);
        };
        let text = read_bounded(file, MAX_BYTES)?;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = || format!("{}:{}", file.display(), number + 1);
            if line.starts_with('{') {
                clusters.extend(listening(line).with_context(at)?);
            } else {
                clusters.push(named(line).with_context(at)?);
            }
        }
        Ok(clusters)
    }
}

/// A file of at most so many bytes.
///
/// # Errors
/// When it cannot be read or is larger.
pub(super) fn read_bounded(file: &Path, most: u64) -> anyhow::Result<String> {
    use std::io::Read as _;
    let shown = file.display();
    let handle = std::fs::File::open(file).with_context(|| format!("{shown}: cannot be read"))?;
    let mut text = String::new();
    let read = handle.take(most + 1).read_to_string(&mut text);
    if read.with_context(|| format!("{shown}: cannot be read as text"))? as u64 > most {
        bail!("{shown}: larger than {most} bytes");
    }
    Ok(text)
}

fn named(text: &str) -> anyhow::Result<(Option<String>, String)> {
    match text.split_once('=') {
        Some((name, url)) if url.starts_with("http://") => {
            check_name(name)?;
            Ok((Some(name.to_owned()), address(url)))
        }
        _ => bail!("expected NAME=URL, as in a1=http://127.0.0.1:8101"),
    }
}

fn address(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}

/// The first line of `gridrig emulator`: the clusters it lists, or the one
/// that it is.
fn listening(line: &str) -> anyhow::Result<Vec<(Option<String>, String)>> {
    let said: serde_json::Value =
        serde_json::from_str(line).context("expected the first line of gridrig emulator")?;
    let url = |value: &serde_json::Value| {
        let url = value.as_str().filter(|url| url.starts_with("http://"));
        url.map(address)
            .context("expected an http:// URL under listening or url")
    };
    match said["clusters"].as_array() {
        Some(clusters) => clusters
            .iter()
            .map(|cluster| {
                let name = cluster["name"].as_str().map(str::to_owned);
                Ok((name, url(&cluster["url"])?))
            })
            .collect(),
        None => Ok(vec![(None, url(&said["listening"])?)]),
    }
}

/// The protocol separates words by blanks, and a host from its job manager by
/// a slash.
fn check_name(name: &str) -> anyhow::Result<()> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '"' | '=');
    if name.is_empty() || name.len() > 200 || name.contains(bad) {
        bail!("cluster {name:?}: expected a name without blanks, slashes and quotes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_emulator_names_one_cluster_or_lists_all() {
        let one = listening(r#"{"listening":"http://127.0.0.1:1/"}"#).unwrap();
        assert_eq!(one, [(None, "http://127.0.0.1:1".to_owned())]);
        let all = r#"{"listening":"http://h:1","clusters":[{"name":"a","url":"http://h:1","faces":[]},
            {"name":"b","url":"http://h:2"}]}"#;
        let names: Vec<_> = listening(all)
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
        assert!(listening(r#"{"listening":"https://h:1"}"#).is_err());
    }

    #[test]
    fn names_that_the_protocol_would_break_are_refused() {
        for bad in [
            "a b=http://h",
            "a/b=http://h",
            "=http://h",
            "a=ftp://h",
            "a",
        ] {
            assert!(named(bad).is_err(), "{bad}");
        }
    }
}
