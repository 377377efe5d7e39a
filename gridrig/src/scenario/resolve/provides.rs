//! When domains take the jobs of others.

use super::Context;
use crate::scenario::ScenarioError;
use crate::scenario::provides::{DayHours, Provides, TimeOfDay};
use crate::scenario::raw::{List, RawRun, RawScenario};
use crate::scenario::value::{At, Str};
use crate::scenario::{Over, Replicate};
use gridrig_core::grid::{Grid, LinkHours};
use gridrig_core::ids::DomainId;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_core::timetable::{Hours, Timetable};
use gridrig_tracelab::spec::WorkloadSpec;
use std::ops::Range;

/// A day of a trace.
const DAY: SimDuration = SimDuration::from_secs(86_400);

impl Context<'_> {
    /// Reads the hours and gives the grid those of each of its links.
    pub(super) fn provides(
        &self,
        raw: &RawScenario,
        run: &RawRun,
        grid: &mut Grid,
        workloads: &[WorkloadSpec],
        replicate: Option<Replicate>,
    ) -> Result<Provides, ScenarioError> {
        let mut provides = Provides::always();
        let mut first: Option<Range<usize>> = None;
        let domains = raw.domain.iter().flat_map(|domains| &domains.get().0);
        for (domain, id) in domains.zip(0..) {
            if let Some(hours) = &domain.get().provides {
                let id = DomainId(id);
                if grid.consumers_of(id).next().is_none() {
                    let expected = "hours of a domain that another one forwards to";
                    return Err(self.document.refuse(&hours.span(), expected));
                }
                provides.domains.insert(id, self.hours(hours)?);
                first = first.or_else(|| Some(hours.span()));
            }
        }
        for link in raw.link.iter().flat_map(|links| &links.get().0) {
            if let (Some(hours), Some(between)) = (&link.get().provides, &link.get().between)
                && let [a, b] = between.get().0.as_slice()
            {
                let ends = (self.domain(grid, a)?, self.domain(grid, b)?);
                provides.links.insert(ends, self.hours(hours)?);
                first = first.or_else(|| Some(hours.span()));
            }
        }
        let Some(first) = first else {
            let stray = run.day.as_ref().map(At::span);
            let stray = stray.or_else(|| run.starts_at.as_ref().map(At::span));
            return match stray {
                Some(span) => {
                    let expected = "hours (`provides` of a domain or link) that it is about";
                    Err(self.document.refuse(&span, expected))
                }
                None => Ok(provides),
            };
        };
        if let Some(Over::Window { step }) = replicate.map(|replicate| replicate.over)
            && !step.as_nanos().is_multiple_of(DAY.as_nanos())
        {
            let expected = "a replicate.step of whole days, so that hours stay hours of the trace";
            return Err(self.document.refuse(&first, expected));
        }
        provides.day = self.day(run, &first, workloads)?;
        provides.starts_at = run
            .starts_at
            .as_ref()
            .map_or(TimeOfDay::default(), |at| at.get().0);
        self.open_links(&provides, grid, &first)?;
        Ok(provides)
    }

    fn hours(&self, hours: &At<List<Str<DayHours>>>) -> Result<Vec<DayHours>, ScenarioError> {
        let all: Vec<DayHours> = hours.get().0.iter().map(|one| one.get().0).collect();
        match all.is_empty() {
            false => Ok(all),
            true => {
                let expected = "at least one part of the day such as \"18:00-08:00\"";
                Err(self.document.refuse(&hours.span(), expected))
            }
        }
    }

    /// How long a day of the trace is in the run.
    fn day(
        &self,
        run: &RawRun,
        hours: &Range<usize>,
        workloads: &[WorkloadSpec],
    ) -> Result<SimDuration, ScenarioError> {
        if let Some(day) = &run.day {
            return Ok(day.get().0.0);
        }
        let mut scales = workloads.iter().map(|workload| workload.scale_arrival);
        let scale = scales.next().unwrap_or(Decimal::ONE);
        if scales.any(|other| other.compare(scale).is_ne()) {
            let expected = "run.day beside it (how long a day is in the run), since the \
                            workloads differ in scale.arrival";
            return Err(self.document.refuse(hours, expected));
        }
        Ok(SimDuration::from_nanos(scale.divide(DAY.as_nanos())))
    }

    fn open_links(
        &self,
        provides: &Provides,
        grid: &mut Grid,
        first: &Range<usize>,
    ) -> Result<(), ScenarioError> {
        let (day, starts_at) = (provides.day, provides.starts_at.of_day(provides.day));
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
                    "hours that are as long in the run as the interval of {consumer}'s broker \
                     ({interval}); a day takes {day}"
                );
                return Err(self.document.refuse(first, expected));
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
