//! Any bytes are a message of the REST interface or are refused; a job that is
//! taken is forwarded as the same job, and events and news are told again as
//! they were.

#![no_main]

use gridrig_core::agent::Arrival;
use gridrig_core::job::JobSpec;
use gridrig_protocol::rest::{EventReport, JobEndReport, JobNotice, JobSubmission, LoadReport};
use libfuzzer_sys::fuzz_target;

fn job(submission: &JobSubmission) -> Option<JobSpec> {
    submission.spec().ok()
}

gridrig_fuzz::changes_text!(
    JobSubmission,
    JobNotice,
    JobEndReport,
    EventReport,
    LoadReport
);

fuzz_target!(|bytes: &[u8]| {
    if let Ok(submission) = serde_json::from_slice::<JobSubmission>(bytes)
        && let Some(spec) = job(&submission)
    {
        let arrival = Arrival {
            id: submission.id.map(|_| spec.id),
            ..Arrival::of(spec.clone())
        };
        assert_eq!(job(&JobSubmission::forwarded(&arrival)), Some(spec));
    }
    if let Ok(notice) = serde_json::from_slice::<JobNotice>(bytes) {
        let _ = notice.news();
    }
    if let Ok(end) = serde_json::from_slice::<JobEndReport>(bytes)
        && let Ok(end) = gridrig_core::message::JobEnd::try_from(&end)
    {
        let again = gridrig_core::message::JobEnd::try_from(&JobEndReport::from(&end));
        assert_eq!(again.ok(), Some(end));
    }
    if let Ok(report) = serde_json::from_slice::<EventReport>(bytes) {
        let (_, placement) = report.at_and_placement();
        let _ = report.event(&placement);
    }
    if let Ok(load) = serde_json::from_slice::<LoadReport>(bytes) {
        let _ = gridrig_core::load::LoadSample::try_from(&load);
    }
});
