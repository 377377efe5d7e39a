//! Jobs as they are submitted over REST; those that start together are parts of one.

use super::syntax::Read;
use super::{DescriptionError, Descriptions, Language, Lost};
use crate::jsdl::JobDefinition;
use crate::rest::JobSubmission;
use gridrig_core::agent::Arrival;
use gridrig_core::job::{Components, JobSpec, MOST_COMPONENTS};

pub(super) fn read(text: &str) -> Read<Descriptions> {
    let submission = serde_json::from_str::<JobSubmission>(text);
    let wrong = |error: serde_json::Error| DescriptionError::at(error.line(), &error.to_string());
    let submission = submission.map_err(wrong)?;
    let spec = submission.spec();
    let spec = spec.map_err(|problem| DescriptionError::at(1, &problem.to_string()))?;
    let mut all = Descriptions::from(JobDefinition::default());
    (all.language, all.together) = (Language::Json, !spec.components.more.is_empty());
    all.jobs.clear();
    for component in spec.components.iter().cloned() {
        let mut part = spec.clone();
        part.components = Components::one(component.processors, component.requirements);
        let job = JobDefinition::of(&part, submission.tag.clone())?;
        all.jobs.extend(Descriptions::from(job).jobs);
    }
    if let Some(first) = all.jobs.first_mut() {
        first.lost = unsaid(&submission);
    }
    Ok(all)
}

/// Fields that descriptions have words for, or that say nothing of a job by itself.
const SAID: [&str; 9] = [
    "processors",
    "run_time",
    "requested_time",
    "requirements",
    "more_components",
    "tag",
    "data_kib",
    "id",
    "hop",
];

/// What no description says.
fn unsaid(submission: &JobSubmission) -> Vec<Lost> {
    let lost =
        |name: &str, value: String| Lost::of(0, name, &value, "descriptions have no word for it");
    let fields = serde_json::to_value(submission).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !SAID.contains(&name.as_str()));
    let parts = (0..).zip(&submission.more_components);
    let named = parts.filter_map(|(at, part)| {
        let name = format!("more_components[{at}].cluster");
        Some(lost(&name, part.cluster?.to_string()))
    });
    let fields = fields.map(|(name, value)| lost(name, value.to_string()));
    fields.chain(named).collect()
}

pub(super) fn write<'a>(
    jobs: impl ExactSizeIterator<Item = &'a JobDefinition> + Clone,
    together: bool,
) -> Read<String> {
    let (many, most) = (jobs.len(), if together { MOST_COMPONENTS } else { 1 });
    if many > most {
        let text = format!("{many} jobs: expected at most {most} in a submission");
        return Err(DescriptionError::Wrong(text));
    }
    let mut all: Option<JobSpec> = None;
    for job in jobs.clone() {
        let length = job.virtual_length()?.or(job.requested_time);
        let missing = "no run time: expected one, such as a limit of wall time (docs/jsdl.md)";
        let length = length.ok_or_else(|| DescriptionError::Wrong(missing.to_owned()))?;
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
    let missing = || DescriptionError::Wrong("no job: expected one".to_owned());
    let mut arrival = Arrival::of(all.ok_or_else(missing)?);
    arrival.tag = jobs.clone().find_map(|job| Some(job.tag()?.into()));
    let text = serde_json::to_string_pretty(&JobSubmission::of(&arrival));
    let text = text.map_err(|error| DescriptionError::Wrong(error.to_string()))?;
    Ok(text + "\n")
}
