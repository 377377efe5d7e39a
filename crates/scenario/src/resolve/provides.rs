//! When domains take the jobs of others.

use super::Context;
use crate::Result;
use crate::document::{Document, List, Run};
use crate::provides::{DayHours, TimeOfDay};
use crate::value::{At, Str, Written};
use crate::workload::WorkloadSpec;
use crate::{Over, Replicate};
use gridrig_core::grid::{Grid, LinkHours};
use gridrig_core::ids::DomainId;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_core::timetable::{Hours, Timetable};
use std::collections::BTreeMap;
use std::ops::Range;

/// A day of a trace.
const DAY: SimDuration = SimDuration::from_secs(86_400);

/// Hours as they are written.
#[derive(Default)]
struct Provides {
    domains: BTreeMap<DomainId, Vec<DayHours>>,
    /// By the domains in their order; they stand for those of the providing
    /// domain.
    links: BTreeMap<(DomainId, DomainId), Vec<DayHours>>,
}

impl Context<'_> {
    /// Reads the hours and gives the grid those of each of its links.
    pub(super) fn provides(
        &self,
        raw: &Document,
        run: &mut Run,
        grid: &mut Grid,
        workloads: &[WorkloadSpec],
        replicate: Option<Replicate>,
    ) -> Result<()> {
        let mut provides = Provides::default();
        let mut first: Option<Range<usize>> = None;
        let domains = raw.domain.iter().flat_map(At::get);
        for (domain, id) in domains.zip(0..) {
            if let Some(hours) = &domain.get().provides {
                let id = DomainId(id);
                let asked = grid.consumers_of(id).next().is_some();
                let expected = "no provides, since no other domain forwards to this one";
                self.check(asked, &hours.span(), expected)?;
                provides.domains.insert(id, self.hours(hours)?);
                first = first.or_else(|| Some(hours.span()));
            }
        }
        for link in raw.link.iter().flat_map(At::get) {
            if let (Some(hours), Some(between)) = (&link.get().provides, &link.get().between)
                && let [a, b] = between.get().as_slice()
            {
                let ends = (self.domain(grid, a)?, self.domain(grid, b)?);
                provides.links.insert(ends, self.hours(hours)?);
                first = first.or_else(|| Some(hours.span()));
            }
        }
        let Some(first) = first else {
            let stray = run.day.as_ref().map(At::span);
            let stray = stray.or_else(|| run.starts_at.as_ref().map(At::span));
            let expected = "no such key without `provides` of a domain or link";
            return stray.map_or(Ok(()), |span| Err(self.refuse(&span, expected)));
        };
        if let Some(Replicate {
            over: Over::Window,
            step: Some(step),
            ..
        }) = replicate
            && !step.as_nanos().is_multiple_of(DAY.as_nanos())
        {
            let expected = "a replicate.step of whole days, since hours are those of the trace";
            return Err(self.refuse(&first, expected));
        }
        let day = self.day(run, &first, workloads)?;
        run.day = Some(Written::of(day));
        let midnight = || At::new(Str(TimeOfDay::default()));
        let starts_at = run.starts_at.get_or_insert_with(midnight).get().0;
        self.open_links(&provides, (day, starts_at.of_day(day)), grid, &first)
    }

    fn hours(&self, hours: &At<List<Str<DayHours>>>) -> Result<Vec<DayHours>> {
        let all: Vec<DayHours> = hours.get().iter().map(|one| one.get().0).collect();
        let expected = "at least one part of the day such as \"18:00-08:00\"";
        self.check(!all.is_empty(), &hours.span(), expected)?;
        Ok(all)
    }

    /// How long a day of the trace is in the run.
    fn day(
        &self,
        run: &Run,
        hours: &Range<usize>,
        workloads: &[WorkloadSpec],
    ) -> Result<SimDuration> {
        if let Some(day) = &run.day {
            return Ok(day.value());
        }
        let mut scales = workloads.iter().map(|workload| workload.scale_arrival);
        let scale = scales.next().unwrap_or(Decimal::ONE);
        let alike = scales.all(|other| other == scale);
        let expected = "run.day (the length of a day in the run) as well, since the workloads \
                        differ in scale.arrival";
        self.check(alike, hours, expected)?;
        Ok(SimDuration::from_nanos(scale.divide(DAY.as_nanos())))
    }

    fn open_links(
        &self,
        provides: &Provides,
        (day, starts_at): (SimDuration, SimDuration),
        grid: &mut Grid,
        first: &Range<usize>,
    ) -> Result<()> {
        for link in &grid.links {
            let (consumer, provider) = (link.consumer, link.provider);
            let of_link = provides.links.get(&(consumer, provider));
            let of_link = of_link.or_else(|| provides.links.get(&(provider, consumer)));
            let Some(written) = of_link.or_else(|| provides.domains.get(&provider)) else {
                continue;
            };
            let part = |hours: &DayHours| Hours {
                from: hours.from.of_day(day),
                until: hours.until.of_day(day),
            };
            let open: Vec<Hours> = written.iter().map(part).collect();
            // A provider that closes before its consumer looks would never be
            // sent anything.
            let interval = grid.domains[consumer.index()].broker.interval;
            let timetable = Timetable::new(day, starts_at, &open);
            let Some(timetable) = timetable.filter(|table| table.longest() >= interval) else {
                let consumer = &grid.domains[consumer.index()].name;
                let expected = format!(
                    "hours that last, in the run, at least the interval of {consumer}'s broker \
                     ({interval}); a day of the trace lasts {day}"
                );
                return Err(self.refuse(first, expected));
            };
            grid.hours.push(LinkHours {
                consumer,
                provider,
                timetable,
            });
        }
        Ok(())
    }
}
