//! What a scenario is run in: one policy on one replication at a time.

use super::RunOptions;
use crate::scenario::external::Contender;
use crate::scenario::{POOLED, Replication, Scenario};
use crate::words::list;
use anyhow::bail;
use std::str::FromStr;

/// One run of a scenario: a replication under one policy, or in one pooled
/// cluster. Nothing that it writes comes from another one.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The replication, a scenario of its own.
    pub replication: Replication,
    /// Whose policy runs, and which.
    pub contender: Contender,
}

impl Cell {
    /// The name of its policy, or that it is pooled; `None` without a broker.
    pub fn name(&self) -> Option<String> {
        match self.replication.pooled {
            true => Some(POOLED.to_owned()),
            false => self.contender.name.clone(),
        }
    }
}

/// The cells of a replication, in the order in which they run.
pub fn cells(scenario: &Scenario, replication: &Replication) -> Vec<Cell> {
    let contenders = scenario.contenders().into_iter();
    let policies = contenders.map(|contender| Cell {
        replication: replication.under(&contender),
        contender,
    });
    let pooled = replication.pooled().map(|replication| Cell {
        replication,
        contender: Contender {
            ours: None,
            name: None,
        },
    });
    policies.chain(pooled).collect()
}

/// `k/n`: the cell number k, from 1, of all n; policies are innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellNumber {
    /// Which.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

impl FromStr for CellNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(CellNumber { number, of }),
            _ => Err("expected k/n with 1 <= k <= n, as in 3/12"),
        }
    }
}

/// The cells that are to run, with their numbers, replication by replication.
pub(super) fn wanted(
    scenario: &Scenario,
    replications: &[Replication],
    options: &RunOptions,
) -> anyhow::Result<Vec<(CellNumber, Cell)>> {
    let all = replications.iter().flat_map(|it| cells(scenario, it));
    let all: Vec<Cell> = all.collect();
    let of = all.len();
    if let Some(CellNumber { number, of: told }) = options.cell.filter(|cell| cell.of != of) {
        bail!(
            "--cell {number}/{told}: {} has {of} cells (expected k/{of} with k from 1 to \
             {of}; policies are innermost)",
            scenario.name
        );
    }
    let mut wanted = Vec::new();
    for (number, cell) in (1..).zip(all) {
        let number = CellNumber { number, of };
        if options.wants(number, &cell)? {
            wanted.push((number, cell));
        }
    }
    Ok(wanted)
}

/// Why nobody can go on with a run of this scenario that was broken off, if nobody can:
/// what the programs of others know of it is in no journal.
pub(super) fn cannot_go_on(scenario: &Scenario) -> Option<String> {
    let mut clusters = scenario.grid.clusters.iter();
    let is_real = clusters.any(|cluster| cluster.config.is_real);
    let has_faces = scenario.clusters().any(|it| !it.faces().is_empty());
    let found = [
        (!scenario.external.brokers.is_empty(), "external broker"),
        (
            scenario.asks_programs(),
            "policy or discipline of one's own",
        ),
        (is_real, "real LRMS"),
        (has_faces, "interfaces of other systems"),
    ];
    let found = found.into_iter().filter(|(is_there, _)| *is_there);
    let others = list(found.map(|(_, what)| what));
    (!others.is_empty()).then_some(others)
}
