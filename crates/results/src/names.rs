//! The names of domains and clusters as files of a run show them.

use gridrig_core::event::{Event, Party, Value};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, Reason};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Names by id, and ids by name.
///
/// A name that is not unique is shown as `DOMAIN/NAME`, and if that is not
/// unique either, with its number behind it: files of a run have to be read
/// back without doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    domains: Vec<String>,
    clusters: Vec<String>,
    /// The same as parties.
    brokers: Vec<String>,
    lrmss: Vec<String>,
    by_text: BTreeMap<String, Party>,
}

impl Names {
    /// The names of a grid.
    pub fn of(grid: &Grid) -> Self {
        let domains = unique(grid.domains.iter().map(|d| (d.name.clone(), None)));
        let clusters = unique(grid.clusters.iter().map(|cluster| {
            let domain = cluster.domain.and_then(|id| domains.get(id.index()));
            let long = domain.map(|domain| format!("{domain}/{}", cluster.name));
            (cluster.name.clone(), long)
        }));
        let shown =
            |of: &[String], class| of.iter().map(|name| format!("{class}:{name}")).collect();
        let brokers: Vec<String> = shown(&domains, "broker");
        let lrmss: Vec<String> = shown(&clusters, "lrms");
        let ids = (0..).map(|n| Party::Broker(DomainId(n)));
        let of_brokers = brokers.iter().cloned().zip(ids);
        let ids = (0..).map(|n| Party::Lrms(ClusterId(n)));
        let of_lrmss = lrmss.iter().cloned().zip(ids);
        let client = ("client".to_owned(), Party::Client);
        Names {
            by_text: of_brokers.chain(of_lrmss).chain([client]).collect(),
            domains,
            clusters,
            brokers,
            lrmss,
        }
    }

    /// A domain's name; `domain N` if it is not of this grid.
    pub fn domain(&self, id: DomainId) -> Cow<'_, str> {
        let known = self.domains.get(id.index());
        known.map_or_else(|| id.to_string().into(), Cow::from)
    }

    /// A cluster's name; `cluster N` if it is not of this grid.
    pub fn cluster(&self, id: ClusterId) -> Cow<'_, str> {
        let known = self.clusters.get(id.index());
        known.map_or_else(|| id.to_string().into(), Cow::from)
    }

    /// All domains.
    pub fn domain_ids(&self) -> impl Iterator<Item = DomainId> + use<> {
        (0..).map(DomainId).take(self.domains.len())
    }

    /// `client`, `broker:DOMAIN` or `lrms:CLUSTER`.
    pub fn party(&self, party: Party) -> Cow<'_, str> {
        match party {
            Party::Client => "client".into(),
            Party::Broker(id) => match self.brokers.get(id.index()) {
                Some(known) => known.into(),
                None => format!("broker:{id}").into(),
            },
            Party::Lrms(id) => match self.lrmss.get(id.index()) {
                Some(known) => known.into(),
                None => format!("lrms:{id}").into(),
            },
        }
    }

    /// Where a submission enters, as the party that takes it.
    pub fn entry(&self, entry: Entry) -> Cow<'_, str> {
        self.party(entry.into())
    }

    /// An event in words, without its job: as the table of kinds has it, on
    /// that placement.
    pub fn told(&self, event: &Event<'_>, placement: &str) -> String {
        let row = event.kind.row();
        let value = match row.value {
            Value::Instant | Value::Length => event.instant().to_string(),
            Value::Components => components(event.value.cast_unsigned()),
            _ => event.value.to_string(),
        };
        let to = event.to.map(|to| self.party(to)).unwrap_or_default();
        row.says
            .replace("{by}", &self.party(event.by))
            .replace("{to}", &to)
            .replace("{reason}", event.reason.map_or("", Reason::name))
            .replace("{value}", &value)
            .replace("{placement}", placement)
    }

    /// The party that [`Names::party`] shows so.
    pub fn find_party(&self, text: &str) -> Option<Party> {
        self.by_text.get(text).copied()
    }

    /// The domain of this name.
    pub fn find_domain(&self, name: &str) -> Option<DomainId> {
        self.find_party(&format!("broker:{name}"))?.domain()
    }

    /// The cluster of this name.
    pub fn find_cluster(&self, name: &str) -> Option<ClusterId> {
        self.find_party(&format!("lrms:{name}"))?.cluster()
    }
}

/// Which components these bits are, counted from 1.
fn components(bits: u64) -> String {
    let own = (0..u64::BITS).filter(|at| bits >> at & 1 == 1);
    match own
        .map(|at| (at + 1).to_string())
        .collect::<Vec<_>>()
        .join(", ")
    {
        none if none.is_empty() => "some of its processors".to_owned(),
        own => format!("its components {own}"),
    }
}

/// The short form of each name where it is unique, else the long form, else
/// that with its position.
pub fn unique(names: impl Iterator<Item = (String, Option<String>)>) -> Vec<String> {
    let names: Vec<_> = names.collect();
    let mut short: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in &names {
        *short.entry(name).or_default() += 1;
    }
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut shown = Vec::with_capacity(names.len());
    for (index, (name, long)) in names.iter().enumerate() {
        let mut text = match long {
            Some(long) if short[name.as_str()] > 1 => long.clone(),
            _ => name.clone(),
        };
        while !used.insert(text.clone()) {
            text = format!("{text}#{index}");
        }
        shown.push(text);
    }
    shown
}

/// The name, or with a number behind it if it is taken; taken from then on.
pub(crate) fn unused(used: &mut BTreeSet<String>, plain: &str, between: &str) -> String {
    let numbered = (2..).map(|number: u32| format!("{plain}{between}{number}"));
    let mut names = std::iter::once(plain.to_owned()).chain(numbered);
    names
        .find(|name| used.insert(name.clone()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_unique_is_told_apart() {
        let long = |name: &str, long: &str| (name.to_owned(), Some(long.to_owned()));
        let names = [
            long("x", "a/x"),
            long("y", "a/y"),
            long("x", "b/x"),
            long("x", "b/x"),
        ];
        assert_eq!(unique(names.into_iter()), ["a/x", "y", "b/x", "b/x#3"]);
    }
}
