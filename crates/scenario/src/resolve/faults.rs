//! What goes wrong: services that there are, times in their order.

use super::Context;
use crate::Result;
use crate::document::{Between, Distribution, Document, Failures, LinkFaults, MemoryName, Run};
use crate::faults;
use crate::value::{At, Duration, PartyText, Probability, Str, Written, or};
use gridrig_core::agent::Memory;
use gridrig_core::event::Party;
use gridrig_core::faults::{Chance, LinkFaults as OnLinks, Outage, Rates, Restart, Scope};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::{InformationNeed, PolicySpec};
use gridrig_core::time::{SimDuration, SimTime};
use std::ops::Range;

/// The most failures that one entry may have on average.
pub(super) const MOST_FAILURES: u64 = 10_000;

type Named = Option<At<Str<PartyText>>>;

impl Context<'_> {
    pub(super) fn faults(
        &self,
        raw: &Document,
        grid: &Grid,
        is_external: bool,
    ) -> Result<Option<faults::Faults>> {
        let Some(table) = &raw.faults else {
            return Ok(None);
        };
        let expected = "no faults with external brokers, whose messages gridrig does not carry";
        self.check(!is_external, &table.span(), expected)?;
        let raw = table.get();
        let mut faults = faults::Faults {
            patience: raw.patience.as_ref().map(Written::value),
            links: Vec::new(),
            outages: Vec::new(),
            restarts: Vec::new(),
        };
        for link in raw.links.iter().flatten() {
            faults.links.push(self.link_faults(link, grid)?);
        }
        for outage in raw.outages.iter().flatten() {
            let (span, outage) = (outage.span(), outage.get());
            let name = "the service that cannot be reached";
            self.required(&outage.party, &span, "party", name)?;
            let (from, until) = self.time((&outage.from, &outage.until), &span)?;
            let ends = self.ends(&outage.party, &outage.towards, &span, grid)?;
            let (of, towards) = ends.unwrap_or((Party::Client, None));
            let one = Outage {
                of,
                towards,
                from,
                until,
                silent: outage.silent.unwrap_or(false),
                information: outage.information.unwrap_or(false),
            };
            let failures = self.failures(written(&outage.failures), until.since(from))?;
            faults.outages.push((one, failures));
        }
        for restart in raw.restarts.iter().flatten() {
            let (span, restart) = (restart.span(), restart.get());
            let name = "the domain whose broker crashes";
            let broker = self.required(&restart.broker, &span, "broker", name)?;
            let (at, back) = self.time((&restart.from, &restart.until), &span)?;
            let one = Restart {
                broker: self.domain(grid, broker)?,
                at,
                back,
                anew: match or(&restart.memory, MemoryName::Restarted(Memory::Journal)) {
                    MemoryName::Restarted(memory) => Some(memory),
                    MemoryName::Kept => None,
                },
            };
            let failures = self.failures(written(&restart.failures), back.since(at))?;
            faults.restarts.push((one, failures));
        }
        Ok(Some(faults))
    }

    /// Services know only what they are told.
    pub(super) fn refuse_oracles(&self, run: &Run, policies: &[Option<PolicySpec>]) -> Result<()> {
        let written = run.policies.iter().flat_map(At::get);
        for (policy, written) in policies.iter().flatten().zip(written) {
            let expected = "no policy that needs the present state of all clusters, with [faults]";
            let knows = policy.entry().need != InformationNeed::Truth;
            self.check(knows, &written.span(), expected)?;
        }
        Ok(())
    }

    fn link_faults(&self, link: &At<LinkFaults>, grid: &Grid) -> Result<OnLinks> {
        let (span, link) = (link.span(), link.get());
        let ends = self.ends(&link.party, &link.towards, &span, grid)?;
        let between = or(&link.between, Between::All);
        let on = match (ends, &link.between) {
            (Some((one, towards)), None) => Scope::Of(one, towards),
            (None, _) => match between {
                Between::All => Scope::All,
                Between::Brokers => Scope::Brokers,
                Between::Domain => Scope::Domain,
            },
            (Some(_), Some(between)) => {
                return Err(self.refuse(&between.span(), "either between or party, not both"));
            }
        };
        let (from, until) = match link.until {
            Some(_) => self.time((&link.from, &link.until), &span)?,
            None => (
                SimTime::ZERO + or(&link.from, SimDuration::ZERO),
                SimTime::MAX,
            ),
        };
        let chance = |slot: &Option<Probability>| slot.map_or(Chance::default(), |it| it.1);
        let rates = Rates {
            delay: or(&link.delay, SimDuration::ZERO),
            jitter: or(&link.jitter, SimDuration::ZERO),
            lost: chance(&link.loss),
            repeated: chance(&link.duplication),
            overtaken: chance(&link.reordering),
        };
        Ok(OnLinks {
            on,
            from,
            until,
            rates,
        })
    }

    /// From when until when.
    fn time(
        &self,
        (from, until): (&Option<Duration>, &Option<At<Duration>>),
        span: &Range<usize>,
    ) -> Result<(SimTime, SimTime)> {
        let until = self.required(until, span, "until", "a duration such as \"2h\"")?;
        let from = or(from, SimDuration::ZERO);
        let expected = format!("an instant after from = \"{from}\"");
        self.check(until.value() > from, &until.span(), expected)?;
        Ok((SimTime::ZERO + from, SimTime::ZERO + until.value()))
    }

    /// A service, and the one towards which it matters.
    fn ends(
        &self,
        party: &Named,
        towards: &Named,
        span: &Range<usize>,
        grid: &Grid,
    ) -> Result<Option<(Party, Option<Party>)>> {
        let other = towards.as_ref().map(|name| self.party(name, grid));
        let other = other.transpose()?;
        let Some(party) = party else {
            let expected = "party, the service that cannot reach it";
            let alone = self.tables.key(span, "towards");
            self.check(other.is_none(), &alone, expected)?;
            return Ok(None);
        };
        let one = self.party(party, grid)?;
        let at = self.tables.key(span, "towards");
        self.check(other != Some(one), &at, "another service than party")?;
        Ok(Some((one, other)))
    }

    fn party(&self, name: &At<Str<PartyText>>, grid: &Grid) -> Result<Party> {
        let domains = (0..).map(DomainId).zip(&grid.domains);
        let brokers = domains.map(|(id, it)| (format!("broker:{}", it.name), Party::Broker(id)));
        let clusters = (0..).map(ClusterId).zip(&grid.clusters);
        let lrms = clusters.map(|(id, it)| (format!("lrms:{}", it.name), Party::Lrms(id)));
        let client = [("client".to_owned(), Party::Client)];
        let all: Vec<(String, Party)> = brokers.chain(lrms).chain(client).collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let what = "a service (\"broker:DOMAIN\", \"lrms:CLUSTER\" or \"client\")";
        let index = self.position((&name.get().0.0, &name.span()), &names, what)?;
        Ok(all[usize::from(index)].1)
    }

    pub(super) fn failures(
        &self,
        raw: Option<(&Failures, Range<usize>)>,
        length: SimDuration,
    ) -> Result<Option<faults::Failures>> {
        let Some((raw, span)) = raw else {
            return Ok(None);
        };
        let mean = "a duration such as \"8h\"";
        let mtbf = self.required(&raw.mtbf, &span, "mtbf", mean)?.value();
        let mttr = self.required(&raw.mttr, &span, "mttr", mean)?.value();
        let count = length.as_nanos() / (mtbf + mttr).as_nanos().max(1);
        let few = format!("a mean that gives at most {MOST_FAILURES} failures, not {count}");
        let at = self.tables.key(&span, "mtbf");
        self.check(count <= MOST_FAILURES, &at, few)?;
        let distribution = or(&raw.distribution, Distribution::Exponential);
        let is_weibull = distribution == Distribution::Weibull;
        let at = self.tables.key(&span, "shape");
        let expected = "a shape if, and only if, distribution = \"weibull\"";
        self.check(is_weibull == raw.shape.is_some(), &at, expected)?;
        let shape = raw.shape.as_ref().map(|shape| shape.value().as_f64());
        let expected = "a shape from 0.1 to 10";
        let holds = shape.is_none_or(|shape| (0.1..=10.0).contains(&shape));
        self.check(holds, &at, expected)?;
        Ok(Some(faults::Failures::of(raw)))
    }
}

/// Failures with where they stand.
fn written(failures: &Option<At<Failures>>) -> Option<(&Failures, Range<usize>)> {
    let failures = failures.as_ref()?;
    Some((failures.get(), failures.span()))
}
