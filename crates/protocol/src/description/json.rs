//! Jobs as they are submitted over REST; those that start together are parts of one.

use super::syntax::Read;
use super::{DescriptionError, Descriptions, Language};
use crate::jsdl::JobDefinition;
use crate::rest::JobSubmission;
use gridrig_core::agent::Arrival;
use gridrig_core::job::{Components, JobSpec, MOST_COMPONENTS};

pub(super) fn read(text: &str) -> Read<Descriptions> {
    let submission = serde_json::from_str::<JobSubmission>(text);
    let wrong = |error: serde_json::Error| DescriptionError::at(error.line(), error.to_string());
    let submission = submission.map_err(wrong)?;
    let spec = submission.spec();
    let spec = spec.map_err(|problem| DescriptionError::at(1, problem.to_string()))?;
    let part = |component: &_| {
        let mut part = spec.clone();
        part.components = Components {
            first: Clone::clone(component),
            more: Box::default(),
        };
        Ok(JobDefinition::of(&part, submission.tag.clone())?)
    };
    let parts = spec.components.iter().map(part).collect::<Read<Vec<_>>>()?;
    Ok(Descriptions {
        language: Language::Json,
        together: parts.len() > 1,
        jobs: parts
            .into_iter()
            .flat_map(|job| Descriptions::from(job).jobs)
            .collect(),
    })
}

pub(super) fn write<'a>(
    jobs: impl ExactSizeIterator<Item = &'a JobDefinition> + Clone,
    together: bool,
) -> Read<String> {
    let many = match together {
        true => MOST_COMPONENTS,
        false => 1,
    };
    if jobs.len() > many {
        let text = format!(
            "{} jobs: expected at most {many} in a submission",
            jobs.len()
        );
        return Err(DescriptionError(text));
    }
    let mut all: Option<JobSpec> = None;
    for job in jobs.clone() {
        let length = job.virtual_length()?.or(job.requested_time);
        let missing = "no run time: expected one, such as a limit of wall time (docs/jsdl.md)";
        let length = length.ok_or_else(|| DescriptionError(missing.to_owned()))?;
        let hosts = job.resources.candidate_hosts.iter().map(String::as_str);
        let part = job.to_job(length, &hosts.collect::<Vec<_>>())?;
        all = Some(match all {
            None => part,
            Some(all) => {
                let parts = all.components.iter().chain(part.components.iter()).cloned();
                JobSpec {
                    components: Components::new(parts).unwrap_or(part.components.clone()),
                    run_time: all.run_time.max(part.run_time),
                    requested_time: all.requested_time.max(part.requested_time),
                    data_kib: all.data_kib.saturating_add(part.data_kib),
                    ..all
                }
            }
        });
    }
    let missing = || DescriptionError("no job: expected one".to_owned());
    let mut arrival = Arrival::of(all.ok_or_else(missing)?);
    arrival.tag = jobs.clone().find_map(|job| Some(job.tag()?.into()));
    let text = serde_json::to_string_pretty(&JobSubmission::of(&arrival));
    text.map(|text| text + "\n")
        .map_err(|error| DescriptionError(error.to_string()))
}
