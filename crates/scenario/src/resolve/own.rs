//! Policies and disciplines of the user's own.

use super::Context;
use crate::document::{Cluster, DisciplineText, Own, PolicyText, Run};
use crate::external::THE_ONLY_POLICY;
use crate::faults::Faults;
use crate::value::{At, Text as _, fill};
use crate::{POOLED, Result};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::Grid;
use gridrig_core::policy::{MatchmakingKind, PolicySpec};
use gridrig_core::time::SimDuration;
use std::collections::BTreeMap;
use std::ops::Range;

/// How long an answer may take where nobody says it, in wall time.
const TIMEOUT: SimDuration = SimDuration::from_secs(10);

impl Context<'_> {
    /// A policy of a list: of ours, or the user's own.
    pub(super) fn our_policy(&self, written: &At<PolicyText>) -> Result<PolicySpec> {
        match written.get() {
            PolicyText::Named(name) => {
                PolicySpec::read(name).map_err(|expected| self.refuse(&written.span(), expected))
            }
            PolicyText::Own(own) => {
                let name = &own.name.0.0;
                let taken = PolicySpec::named(name).is_some()
                    || [POOLED, THE_ONLY_POLICY].contains(&name.as_str());
                let expected =
                    format!("a name of its own, which {name} is not, beside exec or lua");
                self.check(!taken, &written.span(), expected)?;
                Ok(PolicySpec::own(name))
            }
        }
    }

    /// The programs of the policies that are the user's own, by their names, with the
    /// paths of their files. What they cannot be asked about is refused.
    pub(super) fn own_policies(
        &self,
        run: &Run,
        grid: &Grid,
        faults: Option<&Faults>,
    ) -> Result<BTreeMap<String, Own>> {
        let mut found = BTreeMap::new();
        for written in run.policies.iter().flat_map(At::get) {
            let PolicyText::Own(own) = written.get() else {
                continue;
            };
            let mut brokers = grid.domains.iter().map(|domain| &domain.broker);
            let routes = brokers.all(|it| it.matchmaking == MatchmakingKind::Route);
            let expected = "matchmaking = \"route\" in every domain with a policy of one's own";
            self.check(routes, &written.span(), expected)?;
            let restarts = faults.is_some_and(|faults| !faults.restarts.is_empty());
            let expected = "no [[faults.restarts]] with a policy of one's own, whose program \
                            cannot repeat its earlier answers";
            self.check(!restarts, &written.span(), expected)?;
            let mut own = own.clone();
            self.complete(&mut own)
                .map_err(|expected| self.refuse(&written.span(), expected))?;
            found.insert(own.name.0.0.clone(), own);
        }
        Ok(found)
    }

    /// Completes a discipline that is the user's own; at this place.
    pub(super) fn own_discipline(&self, cluster: &mut Cluster, at: &Range<usize>) -> Result<()> {
        let is_real = cluster.is_real();
        let expected = match &mut cluster.discipline {
            None | Some(DisciplineText::Named(_)) => return Ok(()),
            Some(DisciplineText::Own(_)) if is_real => {
                "no discipline where a real LRMS decides".to_owned()
            }
            Some(DisciplineText::Own(own)) => {
                let name = &own.name.0.0;
                match DisciplineKind::from_name(name) {
                    Some(_) => format!("a name of its own, which {name} is not"),
                    None => match self.complete(own) {
                        Ok(()) => return Ok(()),
                        Err(expected) => expected,
                    },
                }
            }
        };
        Err(self.refuse(at, expected))
    }

    /// What is not written of a program, and the paths of its files; or what is expected.
    fn complete(&self, own: &mut Own) -> Result<(), String> {
        if let Some(file) = own.lua_file() {
            let found = self.find(file);
            let found = found.map_err(|why| format!("{file} as {why}"))?;
            own.lua = Some(found.display().to_string());
        }
        let Some(exec) = &mut own.exec else {
            return Ok(());
        };
        fill(&mut own.timeout, TIMEOUT);
        for (index, word) in exec.0.iter_mut().enumerate() {
            // A program without a slash is looked for in PATH.
            let is_file = index > 0 || word.contains('/');
            let Some(file) = is_file.then(|| self.find(word).ok()).flatten() else {
                continue;
            };
            *word = file.display().to_string();
            if index == 0 && !word.contains('/') {
                word.insert_str(0, "./");
            }
        }
        Ok(())
    }
}
