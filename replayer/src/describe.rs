//! A job in the words of the systems that may be asked to run it.
//!
//! Every form asks for the same: `sleep` for the job's run time on so many
//! processors, under the job's tag. The tag and the exact run time stand in the
//! environment too, for brokers that put a wrapper or a name of their own in
//! between. A real cluster that gets such a job really sleeps.

use gridrig_core::job::{Component, JobSpec, SeveralComponents};
use gridrig_core::time::SimDuration;
use gridrig_protocol::adl::RUN_TIME_VARIABLE;
use gridrig_protocol::description::{self, DescriptionError, Language};
use gridrig_protocol::jsdl::{FileName, JobDefinition, Program, Variable};
use gridrig_protocol::tag::TAG_VARIABLE;
use std::fmt::Write as _;

/// A language of job descriptions.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    /// JSDL 1.0 with the POSIX application.
    Jsdl,
    /// ARC's extended RSL.
    Xrsl,
    /// ADL of EMI-ES, as ARC REST takes it.
    Adl,
    /// RSL of the Globus Toolkit.
    Rsl,
    /// gLite's JDL.
    Jdl,
    /// A batch script of Slurm.
    Script,
    /// A job template of GridWay 5.
    Template,
}

impl Form {
    /// All of them.
    pub const ALL: &'static [Form] = <Form as strum::VariantArray>::VARIANTS;

    /// Its name: that of its placeholder, and the end of its files' names.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The job in this form.
    ///
    /// # Errors
    /// For a job of several components, one that names clusters, and one with a start window.
    pub fn describe(self, job: &JobSpec, tag: &str) -> Result<String, DescriptionError> {
        let only = job.plain_component()?;
        let language = match self {
            Form::Script => return Ok(script(job, only, tag)),
            Form::Template => return Ok(template(job, only, tag)),
            Form::Jsdl => Language::Jsdl,
            Form::Adl => Language::Adl,
            Form::Xrsl => Language::Xrsl,
            Form::Rsl => Language::Rsl,
            Form::Jdl => Language::Jdl,
        };
        let mut document = document(job, tag)?;
        if self == Form::Jsdl {
            // Elements of the standard alone: others may read it strictly.
            document.resources.generic = None;
        }
        description::text(language, &document.into())
    }
}

/// A limit that cuts a fraction off would end the job early.
pub fn whole_seconds(length: SimDuration) -> u64 {
    length.as_nanos().div_ceil(NANOS)
}

const NANOS: u64 = 1_000_000_000;
const KIB: u64 = 1024;

fn document(job: &JobSpec, tag: &str) -> Result<JobDefinition, SeveralComponents> {
    let mut document = JobDefinition::of(job, Some(tag.to_owned()))?;
    document.run_time = None;
    document.requested_time = None;
    // There is no such file where they look for it.
    document.staging.clear();
    let application = document.application.get_or_insert_default();
    let program = application.program.get_or_insert_with(Program::default);
    program.executable = Some(FileName::of("/bin/sleep"));
    program.arguments = vec![FileName::of(job.run_time.seconds().to_string())];
    let variable = |name: &str, value: String| Variable {
        name: name.to_owned(),
        value: FileName::of(value),
    };
    program.environment = vec![
        variable(RUN_TIME_VARIABLE, job.run_time.to_string()),
        variable(TAG_VARIABLE, tag.to_owned()),
    ];
    Ok(document)
}

fn script(job: &JobSpec, only: &Component, tag: &str) -> String {
    let mut text = format!(
        "#!/bin/sh\n#SBATCH --job-name={tag}\n#SBATCH --ntasks={}\n#SBATCH --output=/dev/null\n",
        only.processors
    );
    if let Some(limit) = job.requested_time {
        let all = whole_seconds(limit);
        let _ = writeln!(text, "#SBATCH --time={}:{:02}", all / 60, all % 60);
    }
    if only.requirements.memory_kib > 0 {
        let mib = only.requirements.memory_kib.div_ceil(KIB);
        let _ = writeln!(text, "#SBATCH --mem-per-cpu={mib}M");
    }
    if !only.requirements.generic.is_empty() {
        let _ = writeln!(text, "#SBATCH --gres={}", only.requirements.generic);
    }
    let _ = writeln!(text, "#GRIDRIG runtime={} tag={tag}", job.run_time);
    let _ = writeln!(text, "exec sleep {}", job.run_time.seconds());
    text
}

fn template(job: &JobSpec, only: &Component, tag: &str) -> String {
    let mut text = format!(
        "NAME = {tag}\nEXECUTABLE = /bin/sleep\nARGUMENTS = {}\n\
         ENVIRONMENT = {RUN_TIME_VARIABLE}={}, {TAG_VARIABLE}={tag}\n\
         STDOUT_FILE = /dev/null\nSTDERR_FILE = /dev/null\n",
        job.run_time.seconds(),
        job.run_time
    );
    if only.processors > 1 {
        let _ = writeln!(text, "TYPE = mpi\nNP = {}", only.processors);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::{ClusterId, JobId};
    use gridrig_core::job::StartWindow;
    use gridrig_core::time::SimTime;
    use gridrig_protocol::adl;

    #[test]
    fn every_form_has_its_place_in_commands() {
        let places = gridrig_scenario::external::DESCRIPTIONS;
        let names: Vec<&str> = Form::ALL.iter().map(|form| form.name()).collect();
        assert_eq!(names, places);
    }

    fn job() -> JobSpec {
        let mut job = JobSpec::rigid(JobId(7), 3, SimDuration::from_millis(90_500));
        job.requested_time = Some(SimDuration::from_millis(120_001));
        job.components.first.requirements.memory_kib = 2 * 1024;
        job.components.first.requirements.os = Some("a<b".into());
        job.components.first.requirements.generic = "gpu:2".parse().unwrap();
        job
    }

    #[test]
    fn jsdl_and_adl_are_read_back_as_the_job_they_were_made_of() {
        let job = job();
        let text = Form::Jsdl.describe(&job, "gridrig_0j7_90500ms").unwrap();
        let document = JobDefinition::read("t", text.as_bytes()).unwrap();
        assert_eq!(document.tag(), Some("gridrig_0j7_90500ms"));
        let length = document.virtual_length().unwrap().unwrap();
        let read = document.to_job(length, &[]).unwrap();
        assert_eq!((read.processors(), read.run_time), (3, job.run_time));
        assert_eq!(read.requested_time, Some(SimDuration::from_secs(121)));
        assert_eq!(read.components.first.requirements.memory_kib, 2048);
        let text = Form::Adl.describe(&job, "gridrig_0j7_90500ms").unwrap();
        let read = adl::read(&text).unwrap().remove(0).unwrap();
        assert_eq!(read.tag(), Some("gridrig_0j7_90500ms"));
        assert_eq!((read.slots, read.wall_time_s), (3, Some(121)));
        assert_eq!(read.os.as_deref(), Some("a<b"));
        assert_eq!(read.coprocessor, job.components.first.requirements.generic);
        assert!(read.ignored.is_empty(), "{:?}", read.ignored);
        let (length, _) = read.run_time(SimDuration::ZERO).unwrap();
        assert_eq!(length, job.run_time);
    }

    #[test]
    fn no_form_says_less_than_a_job_of_several_components_wants() {
        let mut job = job();
        job.components.more = [job.components.first.clone()].into();
        for form in Form::ALL {
            let refused = form.describe(&job, "t").unwrap_err();
            let wanted = "job 7 has 2 components (expected one)";
            assert_eq!(refused.to_string(), wanted, "{form:?}");
        }
    }

    #[test]
    fn no_form_forgets_where_a_job_may_run_or_when() {
        let (mut named, mut windowed) = (job(), job());
        named.components.first.cluster = Some(ClusterId(1));
        let (earliest, latest) = (SimTime::ZERO, SimTime::from_secs(1));
        windowed.start_window = Some(Box::new(StartWindow {
            earliest,
            latest,
            flexible: false,
        }));
        for form in Form::ALL {
            let refused = [&named, &windowed].map(|job| form.describe(job, "t").unwrap_err());
            let refused = refused.map(|why| why.to_string());
            assert!(
                refused[0].starts_with("job 7 names its cluster"),
                "{form:?}"
            );
            assert!(
                refused[1].starts_with("job 7 has a start window"),
                "{form:?}"
            );
        }
    }

    #[test]
    fn the_other_forms_say_the_same() {
        let job = job();
        let xrsl = Form::Xrsl.describe(&job, "t").unwrap();
        for part in [
            "(arguments=\"90.5\")",
            "(count=\"3\")",
            "(jobname=\"t\")",
            "(walltime=\"121 seconds\")",
            "(memory=\"2\")",
            "(opsys=\"a<b\")",
            "(environment=(\"GRIDRIG_RUN_TIME\" \"90.5s\") (\"GRIDRIG_TAG\" \"t\"))",
        ] {
            assert!(xrsl.contains(part), "{xrsl}");
        }
        let jdl = Form::Jdl.describe(&job, "t").unwrap();
        for part in [
            "Arguments = \"90.5\";",
            "CpuNumber = 3;",
            "MaxWallClockTime >= 3",
        ] {
            assert!(jdl.contains(part), "{jdl}");
        }
        let rsl = Form::Rsl.describe(&job, "t").unwrap();
        assert!(
            rsl.contains("(maxWallTime=\"3\")") && rsl.contains("(count=\"3\")"),
            "{rsl}"
        );
        let script = Form::Script.describe(&job, "t").unwrap();
        for part in ["--ntasks=3", "--time=2:01", "--job-name=t", "sleep 90.5"] {
            assert!(script.contains(part), "{script}");
        }
        let template = Form::Template.describe(&job, "t").unwrap();
        assert!(template.contains("NAME = t\n") && template.contains("NP = 3"));
    }
}
