//! Brokers that are somebody else's programs.

use super::Context;
use crate::document::{Broker, Commands, Document, List, PolicyText, Run, Words};
use crate::external::{
    Access, Contender, External, ExternalBroker, Submit, THE_ONLY_POLICY, as_directory, places,
};
use crate::interface::FaceKind;
use crate::value::{At, Written, fill};
use crate::{BrokerKind, ClockName, Result};
use gridrig_core::grid::Grid;
use gridrig_core::ids::DomainId;
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::SimDuration;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bounds that are not written.
const TIMEOUT: SimDuration = SimDuration::from_secs(60);
const START_TIMEOUT: SimDuration = SimDuration::from_secs(120);
const LOST_AFTER: SimDuration = SimDuration::from_secs(60);
const AT_ONCE: u64 = 4;

/// Keys that only somebody else's broker has.
const THEIRS: &str = "files start serve ready submit outlet expect stop timeout at_once \
                      start_timeout lost_after";

impl Broker {
    pub(crate) fn is_external(&self) -> bool {
        self.kind.map(|kind| kind.value()) == Some(BrokerKind::External)
    }

    /// The first key that is written and that only one kind of broker has,
    /// ours or somebody else's.
    fn key_of(&self, theirs: bool) -> Option<String> {
        let keys = serde_json::to_value(self).unwrap_or_default();
        let mut keys = crate::toml::keys(&keys).map(|(key, _)| key);
        let is_theirs = |key: &str| THEIRS.split(' ').any(|own| own == key);
        let own = |key: &&String| *key != "kind" && is_theirs(key) == theirs;
        keys.find(own).cloned()
    }
}

impl Context<'_> {
    /// Whether the brokers are somebody else's: all of them, or none.
    pub(super) fn is_external(&self, raw: &Document) -> Result<bool> {
        let domains = raw.domain.iter().flat_map(At::get);
        let mut found = false;
        for domain in domains.clone() {
            let Some(broker) = &domain.get().broker else {
                continue;
            };
            let (at, broker) = (broker.span(), broker.get());
            let kind = || match broker.kind {
                Some(_) => self.tables.key(&at, "kind"),
                None => domain.span(),
            };
            if let (false, Some(key)) = (broker.is_external(), broker.key_of(true)) {
                let expected = format!("kind = \"external\" for a broker with {key}");
                return Err(self.refuse(&kind(), expected));
            }
            if let (true, Some(key)) = (broker.is_external(), broker.key_of(false)) {
                let expected = format!("no {key}, which an external broker does not have");
                return Err(self.refuse(&kind(), expected));
            }
            found |= broker.is_external();
        }
        let ours = domains.into_iter().find(|domain| {
            let broker = domain.get().broker.as_ref();
            found && !broker.is_some_and(|broker| broker.get().is_external())
        });
        let expected = "a broker with kind = \"external\", as other domains have";
        ours.map_or(Ok(found), |domain| {
            Err(self.refuse(&domain.span(), expected))
        })
    }

    /// The brokers, and faces that their clusters need.
    pub(super) fn external(
        &self,
        raw: &mut Document,
        run: &Run,
        grid: &mut Grid,
    ) -> Result<External> {
        if let Some(links) = &raw.link {
            let expected = "no links between brokers with kind = \"external\"";
            return Err(self.refuse(&links.span(), expected));
        }
        let mut external = External {
            policies: self.their_policies(run)?,
            directory: self.directory(),
            ..External::default()
        };
        external.policy = external.policies[0].clone();
        let domains = raw.domain.iter_mut();
        let domains = domains.flat_map(At::get_mut);
        for (index, domain) in domains.enumerate() {
            let id = DomainId(u16::try_from(index).unwrap_or(u16::MAX));
            let (span, domain) = (domain.span(), domain.get_mut());
            let Some(broker) = &mut domain.broker else {
                continue;
            };
            let at = broker.span();
            let real = run.clock.map(|clock| clock.value()) == Some(ClockName::Real);
            let expected = "run.clock = \"real\", since an external broker runs in real time only";
            self.check(real, &self.tables.key(&at, "kind"), expected)?;
            let read = self.external_broker(broker.get_mut(), &at, &span)?;
            self.check_broker(&read, grid, id, &at)?;
            if let Some(policies) = &run.policies {
                let expected = "no policies, or {policy} in a command or file of the broker";
                self.check(read.uses_policy(grid, id), &policies.span(), expected)?;
            }
            let first = grid.domains[index].clusters.first();
            let first = first.map_or(0, |cluster| cluster.index());
            for (cluster, access) in read.accesses(grid, id) {
                let face = match access {
                    Access::Arc => FaceKind::Arc,
                    Access::Bes => FaceKind::Bes,
                    Access::Native | Access::Slurm => continue,
                };
                let clusters = domain.clusters.iter_mut().flatten();
                if let Some(cluster) = clusters.into_iter().nth(cluster.index() - first) {
                    cluster.get_mut().show(face);
                }
            }
            let settings = &mut grid.domains[index].broker;
            (settings.external, settings.max_hops) = (true, 0);
            external.brokers.insert(id, read);
        }
        Ok(external)
    }

    fn external_broker(
        &self,
        raw: &mut Broker,
        at: &Range<usize>,
        domain: &Range<usize>,
    ) -> Result<ExternalBroker> {
        let submit = match (&raw.submit, &raw.outlet) {
            (Some(words), None) => Submit::Command(words.0.clone()),
            (None, Some(outlet)) => Submit::Outlet(outlet.clone()),
            (Some(_), Some(_)) => {
                let expected = "either submit or outlet, not both";
                return Err(self.refuse(&self.tables.key(at, "outlet"), expected));
            }
            (None, None) => {
                let expected = "the words of the command that submits a job";
                return Err(self.tables.missing(domain, "broker.submit", expected));
            }
        };
        raw.files = raw.files.take().filter(|files| !files.is_empty());
        raw.start = raw.start.take().filter(|start| !start.0.is_empty());
        raw.stop = raw.stop.take().filter(|stop| !stop.0.is_empty());
        let words = |words: &Option<Words>| words.as_ref().map(|words| words.0.clone());
        let commands = |commands: &Option<Commands>| {
            let commands = commands.as_ref();
            commands.map_or_else(Vec::new, |all| all.0.clone())
        };
        Ok(ExternalBroker {
            files: raw.files.clone().unwrap_or_default(),
            start: commands(&raw.start),
            serve: words(&raw.serve),
            ready: words(&raw.ready),
            submit,
            expect: raw.expect.clone(),
            stop: commands(&raw.stop),
            timeout: fill(&mut raw.timeout, TIMEOUT),
            at_once: fill(&mut raw.at_once, AT_ONCE) as usize,
            start_timeout: fill(&mut raw.start_timeout, START_TIMEOUT),
            lost_after: fill(&mut raw.lost_after, LOST_AFTER),
        })
    }

    /// Whether all texts are templates, file names are names, and the outlet
    /// is one.
    fn check_broker(
        &self,
        broker: &ExternalBroker,
        grid: &Grid,
        domain: DomainId,
        at: &Range<usize>,
    ) -> Result<()> {
        let refuse = |key, expected| Err(self.refuse(&self.tables.key(at, key), expected));
        if let Err((key, error)) = broker.templates(&places(grid, domain)) {
            return refuse(key, format!("known placeholders ({error})"));
        }
        let is_name = |name: &String| {
            let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !name.is_empty()
                && name.len() <= 100
                && !name.starts_with('.')
                && name.chars().all(good)
        };
        if let Some(bad) = broker.files.keys().find(|name| !is_name(name)) {
            let expected = format!("names of letters, digits and `.-_`, and not {bad:?}");
            return refuse("files", expected);
        }
        match broker.check_outlet() {
            Err(expected) => refuse("outlet", expected),
            Ok(()) => Ok(()),
        }
    }

    /// Refuses several components where a place of the scenario takes one only.
    pub(super) fn check_components(
        &self,
        raw: &mut Document,
        grid: &Grid,
        external: &External,
    ) -> Result<()> {
        let mut brokers = external.brokers.iter();
        let broker = brokers.find(|(_, broker)| !broker.takes_components());
        let domain = broker.map(|(id, _)| &grid.domains[id.index()].name);
        let cluster = grid.clusters.iter().find(|it| it.config.is_real);
        let place = match (domain, cluster) {
            (Some(name), _) => format!("the external broker of domain {name}"),
            (None, Some(cluster)) => format!("the real LRMS of cluster {}", cluster.name),
            (None, None) => return Ok(()),
        };
        let expected = format!("{{ 1 = 1 }}, since {place} takes jobs of one component only");
        for (_, workload) in raw.workload.iter_mut() {
            let draw = workload.draw.as_ref().map(At::get);
            if let Some(written) = draw.and_then(|draw| draw.components.as_ref()) {
                let mut drawn = written.get().iter().filter(|(_, weight)| weight.0 > 0);
                let one = drawn.all(|(components, _)| components == "1");
                self.check(one, &written.span(), &*expected)?;
            }
        }
        Ok(())
    }

    fn their_policies(&self, run: &Run) -> Result<Vec<String>> {
        let Some(list) = &run.policies else {
            return Ok(vec![THE_ONLY_POLICY.to_owned()]);
        };
        self.each_once(list, |policy| match policy.get() {
            PolicyText::Named(name) => Ok(name.clone()),
            PolicyText::Own(_) => {
                let expected =
                    "the name of a policy: brokers with kind = \"external\" ask no program";
                Err(self.refuse(&policy.span(), expected))
            }
        })
    }

    /// The policies of a list, at least one, none of which would be written over
    /// another.
    pub(super) fn each_once<T: ToString>(
        &self,
        list: &At<List<PolicyText>>,
        read: impl Fn(&At<PolicyText>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut directories = BTreeSet::new();
        let mut policies = Vec::new();
        for written in list.get() {
            let policy = read(written)?;
            let name = policy.to_string();
            let own = !name.is_empty() && directories.insert(as_directory(&name));
            self.check(own, &written.span(), "each policy once, by its name")?;
            policies.push(policy);
        }
        self.check(!policies.is_empty(), &list.span(), "at least one policy")?;
        Ok(policies)
    }

    fn directory(&self) -> PathBuf {
        let beside = self.text.file.parent().unwrap_or(Path::new(""));
        let here = std::env::current_dir().unwrap_or_default();
        here.join(self.text.directory).join(beside)
    }
}

impl crate::Scenario {
    /// What is run on every replication, one after the other.
    pub fn contenders(&self) -> Vec<Contender> {
        let name = |policy: &Option<PolicySpec>| policy.as_ref().map(PolicySpec::to_string);
        let ours = self.policies.iter().map(|one| (one.clone(), name(one)));
        let theirs = self.external.policies.iter();
        let theirs = theirs.map(|name| (None, Some(name.clone())));
        let all: Vec<_> = match self.external.brokers.is_empty() {
            true => ours.collect(),
            false => theirs.collect(),
        };
        let contender = |(ours, name)| Contender { ours, name };
        all.into_iter().map(contender).collect()
    }
}
