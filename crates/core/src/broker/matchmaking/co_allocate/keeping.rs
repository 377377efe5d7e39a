//! A job for one cluster, which is reserved for at those where it is predicted to be first; one
//! reservation is kept (JSS 5.2.1). A cluster that does not reserve, and a neighbour, has a
//! guess in its place, and gets the job like any other if that is the earliest.

use super::searching::Searching;
use super::{Around, CoAllocate};
use crate::broker::Broker;
use crate::coallocation::{Found, Place, Search};
use crate::ids::JobId;
use crate::job::{JobRequest, MOST_COMPONENTS};
use crate::policy::{Forecast, SHORTEST};
use crate::resource::Resources;
use crate::time::{Decimal, SimDuration, SimTime};
use std::collections::BTreeMap;

/// Of a neighbour whose own clusters could not run the job: it knows some that could.
const UNKNOWN: Forecast = Forecast {
    start: SimDuration::from_nanos(u64::MAX),
    ready: SimDuration::from_nanos(u64::MAX),
};

impl CoAllocate {
    /// The search for one reservation; `None` if the job goes to who was chosen at once.
    pub(super) fn keeping(
        &self,
        broker: &Broker,
        now: SimTime,
        job: JobId,
        chosen: usize,
    ) -> Option<Searching> {
        let held = broker.jobs.get(&job)?;
        let spec = &held.spec;
        let (settings, clusters) = (&broker.config.settings, &broker.config.clusters);
        let (costs, rules) = (&settings.co_allocation, self.placing.reservations?);
        let components = spec.components.iter().count();
        let window = spec.start_window.as_deref();
        if components >= MOST_COMPONENTS || rules.windows_only && window.is_none() {
            return None;
        }
        let ahead = Self::search_ahead(broker, job);
        let soonest = now + costs.startup(1) + settings.lrms_latency + rules.notice + ahead;
        let view = &broker.survey.view;
        // Not before its files are in place.
        let staged = view.stage_in.iter().take(clusters.len()).max();
        let soonest = soonest.max(now + staged.copied().unwrap_or_default());
        let (earliest, latest) = match window {
            None => (soonest, Self::last_start(held, now, soonest, rules.within)),
            Some(window) => (window.earliest.max(soonest), window.latest),
        };
        let request = JobRequest::from(spec);
        let told = view.possible.iter().map(|&index| {
            let forecast = broker.policy.forecast(&request, view, index);
            (index, forecast.unwrap_or(UNKNOWN))
        });
        let mut ranked: Vec<(usize, Forecast)> = told.collect();
        ranked.sort_by_key(|(index, forecast)| (forecast.ready, *index != chosen, *index));
        if rules.candidates > 0 {
            ranked.truncate(rules.candidates);
        }
        let places = ranked.into_iter().map(|(resource, forecast)| {
            let reserves = resource < clusters.len();
            let starts = now + forecast.start;
            let estimate = match window {
                // Who does not reserve refuses it.
                Some(_) if reserves => None,
                window => Some(window.map_or(starts, |it| it.earliest.max(starts))),
            };
            Place {
                resource,
                reserves,
                estimate,
                run: forecast.ready - forecast.start,
            }
        });
        let places: Vec<Place> = places.collect();
        if !places.iter().any(|place| place.reserves) {
            return None;
        }
        let program = (spec.executable, spec.processors());
        let length = costs.length(program, spec.run_time, 1);
        let length = length.max(spec.requested_time.unwrap_or_default());
        let at = |resources: &Resources| {
            let speeds = resources.groups().iter().map(|group| group.speed);
            let slowest = speeds.min().unwrap_or(Decimal::ONE);
            SimDuration::from_nanos(slowest.divide(length.as_nanos())).max(SHORTEST)
        };
        Some(Searching {
            search: Search::best((1 << components) - 1, places, (earliest, latest)),
            order: (0..components).collect(),
            lengths: clusters.iter().map(|(_, all)| at(all)).collect(),
            timeout: costs.claim_timeout + ahead,
            asked: None,
            reserved: BTreeMap::new(),
        })
    }

    /// A search has found where a job is to run.
    pub(super) fn end_well(
        &mut self,
        broker: &mut Broker,
        cx: &mut Around<'_>,
        job: JobId,
        found: &Found,
    ) {
        let reserved = self.searching_of(job).map(|it| !it.reserved.is_empty());
        let Some((place, start)) = found.first().filter(|_| reserved == Some(false)) else {
            return self.confirm(broker, cx, job);
        };
        self.forget(job);
        self.tell_kept(broker, cx, job, (*place, *start));
        let target = broker.known[*place].target;
        broker.send_to(&mut { cx }, job, target);
    }

    /// Where a job goes that was to have one reservation, and when it starts there.
    pub(super) fn tell_kept(
        &self,
        broker: &mut Broker,
        mut cx: &mut Around<'_>,
        job: JobId,
        (place, start): (usize, SimTime),
    ) {
        if self.placing.keeps_one() {
            broker.count_on(&mut cx, job, place, Some(start));
        }
    }
}
