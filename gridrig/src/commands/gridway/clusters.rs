//! Which clusters the drivers know, and where they are.

use crate::cli::values;
use crate::exit::Failure;
use anyhow::{Context as _, bail};
use clap::Args;
use gridrig_protocol::client::Client;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::RwLock;

/// Where clusters are named. gwd cuts the arguments of drivers at colons and
/// gives them as one word, so that a file is what works there.
#[derive(Clone, Debug, Args)]
pub struct ClusterArgs {
    /// A cluster and its address; may be repeated
    #[arg(
        long = "cluster",
        value_name = "NAME=URL",
        required_unless_present = "clusters",
        value_parser = named
    )]
    pub named: Vec<(String, String)>,
    /// File of clusters, one NAME=URL per line, or the first output line of
    /// `gridrig emulator`. It is read again at every DISCOVER
    #[arg(long, value_name = "FILE")]
    pub clusters: Option<PathBuf>,
}

/// The largest file of clusters that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Clusters by name, in the order of names.
type Clusters = BTreeMap<String, String>;

impl ClusterArgs {
    /// The clusters; those of a line without a name are asked for theirs.
    ///
    /// # Errors
    /// When the file cannot be read or a cluster does not say its name.
    async fn load(&self, client: &Client) -> anyhow::Result<Clusters> {
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

    /// What the command line and the file say. The file may still be empty: it is read
    /// again later.
    ///
    /// # Errors
    /// When an argument or the file will not do.
    pub(super) fn read(&self) -> anyhow::Result<Vec<(Option<String>, String)>> {
        let known = |(name, url): (String, String)| (Some(name), url);
        let mut clusters: Vec<_> = self.named.iter().cloned().map(known).collect();
        let Some(file) = &self.clusters else {
            return Ok(clusters);
        };
        for (line, number) in read_bounded(file, MAX_BYTES)?
            .lines()
            .map(str::trim)
            .zip(1..)
        {
            let at = || format!("{}:{number}", file.display());
            if line.starts_with('{') {
                clusters.extend(listening(line).with_context(at)?);
            } else if !line.is_empty() && !line.starts_with('#') {
                clusters.push(known(named(line).with_context(at)?));
            }
        }
        Ok(clusters)
    }
}

/// The clusters as they were read last.
pub(super) struct Known {
    args: ClusterArgs,
    pub(super) client: Client,
    clusters: RwLock<Clusters>,
}

impl Known {
    /// None so far; whoever is asked has so much time to answer.
    pub(super) fn new(args: ClusterArgs, timeout: Duration) -> Result<Self, Failure> {
        Ok(Known {
            args,
            client: Client::new(timeout).map_err(Failure::run)?,
            clusters: RwLock::default(),
        })
    }

    /// Reads them anew; answers their names.
    ///
    /// # Errors
    /// As [`ClusterArgs::load`], in words.
    pub(super) async fn discover(&self) -> Result<String, String> {
        let found = self.args.load(&self.client).await;
        let found = found.map_err(|error| format!("{error:#}"))?;
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let names = names.join(" ");
        *self.clusters.write().await = found;
        Ok(names)
    }

    /// Where a cluster is. One that is not known may have been written since, and
    /// gwd that has been restarted knows hosts from before.
    ///
    /// # Errors
    /// Says that there is none of this name.
    pub(super) async fn url(&self, name: &str) -> Result<String, String> {
        if !self.clusters.read().await.contains_key(name) {
            self.discover().await?;
        }
        let url = self.clusters.read().await.get(name).cloned();
        url.ok_or_else(|| format!("host {name}: expected a cluster of --cluster or --clusters"))
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

fn named(text: &str) -> anyhow::Result<(String, String)> {
    let (name, url) = values::named_url(text).map_err(anyhow::Error::msg)?;
    check_name(&name)?;
    Ok((name, url))
}

/// The first line of `gridrig emulator`: the clusters it lists, or the one
/// that it is.
fn listening(line: &str) -> anyhow::Result<Vec<(Option<String>, String)>> {
    let said: serde_json::Value =
        serde_json::from_str(line).context("expected the first line of gridrig emulator")?;
    let url = |value: &serde_json::Value| {
        let url = value.as_str().and_then(|url| values::url(url).ok());
        url.context("expected an http:// URL under listening or url")
    };
    let Some(clusters) = said["clusters"].as_array() else {
        return Ok(vec![(None, url(&said["listening"])?)]);
    };
    let cluster = |cluster: &serde_json::Value| {
        let name = cluster["name"].as_str().map(str::to_owned);
        Ok((name, url(&cluster["url"])?))
    };
    clusters.iter().map(cluster).collect()
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
        assert!(listening(r#"{"listening":"ftp://h:1"}"#).is_err());
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
