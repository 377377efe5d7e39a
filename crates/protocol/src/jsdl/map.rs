//! A document as a job of ours, and back. `docs/jsdl.md` has it as a table.

use super::length::wall_time;
use super::{
    DataStaging, JobDefinition, JsdlError, Limit, OperatingSystem, Processes, Program, ProgramKind,
    Quantity, RangeValue, Result, Spmd,
};
use crate::jsdl::{Application, Identification, MPI};
use crate::tag::TAG_VARIABLE;
use gridrig_core::job::{Components, JobSpec, Requirements, SeveralComponents};
use gridrig_core::time::SimDuration;

const RESOURCES: &str = "JobDefinition/JobDescription/Resources";

impl JobDefinition {
    /// The document of a job, under this name.
    ///
    /// # Errors
    /// For a job of several components: JSDL 1.0 has one `Resources`.
    pub fn of(spec: &JobSpec, name: Option<String>) -> Result<Self, SeveralComponents> {
        let component = spec.only_component()?;
        let mut job = JobDefinition {
            identification: Identification {
                name,
                ..Identification::default()
            },
            run_time: Some(spec.run_time),
            ..JobDefinition::default()
        };
        let wanted = &component.requirements;
        let mut program = (wanted.most_per_node > 0).then(|| Program {
            kind: ProgramKind::Spmd,
            spmd: Some(Spmd {
                processes: Some(Processes::Number(component.processors)),
                per_host: Some(wanted.most_per_node),
                variation: MPI.to_owned(),
                ..Spmd::default()
            }),
            ..Program::default()
        });
        if let Some(time) = spec.requested_time {
            // Only the POSIX application has limits; one that cuts a fraction off would
            // kill the job early.
            let seconds = time.as_nanos().div_ceil(NANOS);
            let is_exact = program.is_none() && time.as_nanos() % NANOS == 0;
            if program.is_none() {
                let mut posix = Program::default();
                posix.limits.insert(Limit::WallTime, seconds);
                program = Some(posix);
            }
            job.requested_time = (!is_exact).then_some(time);
        }
        job.application = program.map(|program| Application {
            program: Some(program),
            ..Application::default()
        });
        let resources = &mut job.resources;
        resources.architecture = wanted.architecture.as_deref().map(str::to_owned);
        resources.operating_system = wanted.os.as_deref().map(|name| OperatingSystem {
            name: Some(name.to_owned()),
            ..OperatingSystem::default()
        });
        resources.generic = (!wanted.generic.is_empty()).then(|| wanted.generic.clone());
        let mut set = |quantity, value| resources.quantities.insert(quantity, value);
        let speed = wanted.speed_millionths;
        let each = [
            (Quantity::IndividualPhysicalMemory, wanted.memory_kib, KIB),
            (Quantity::IndividualDiskSpace, wanted.disk_mib, MIB),
            (Quantity::IndividualCpuSpeed, speed, KILOHERTZ),
        ];
        for (quantity, number, unit) in each.into_iter().filter(|it| it.1 > 0) {
            set(quantity, RangeValue::at_least(as_number(number) * unit));
        }
        let processors = RangeValue::exactly(f64::from(component.processors));
        set(Quantity::TotalCpuCount, processors);
        if spec.data_kib > 0 {
            job.staging.push(DataStaging {
                file: "data".to_owned(),
                // Wherever it is: it comes with the job.
                source: Some(None),
                size: Some(spec.data_kib.saturating_mul(KIB as u64)),
                ..DataStaging::default()
            });
        }
        Ok(job)
    }

    /// What its owner calls it: the environment variable `GRIDRIG_TAG`, else
    /// the `JobName`.
    pub fn tag(&self) -> Option<&str> {
        let program = self.program().into_iter();
        let mut named = program.flat_map(|program| &program.environment);
        let tag = named.find(|variable| variable.name == TAG_VARIABLE);
        let name = self.identification.name.as_deref();
        tag.map(|tag| tag.value.value.trim()).or(name)
    }

    /// The job that the document asks for, with this length, on a cluster
    /// that goes by any of these names. Its id is 0.
    ///
    /// Of every range the cluster gives the least number that is in it.
    ///
    /// # Errors
    /// When it asks for something that no job of ours can ask for, or for
    /// contradictory things; the path of the element is named.
    pub fn to_job(&self, length: SimDuration, hosts: &[&str]) -> Result<JobSpec> {
        self.check_supported(hosts)?;
        let processors = self.processors()?;
        let system = self.resources.operating_system.as_ref();
        let architecture = self.resources.architecture.as_deref();
        let requested = match self.requested_time {
            Some(time) => Some(time),
            None => self.limit(Limit::WallTime).map(wall_time).transpose()?,
        };
        let least = |quantity| self.least(quantity, 0);
        let requirements = Requirements {
            architecture: architecture.map(Into::into),
            os: system.and_then(|s| s.name.as_deref()).map(Into::into),
            memory_kib: self.memory_kib(processors)?,
            disk_mib: least(Quantity::IndividualDiskSpace)?.div_ceil(MIB as u64),
            speed_millionths: least(Quantity::IndividualCpuSpeed)?.div_ceil(KILOHERTZ as u64),
            most_per_node: self.most_per_node()?,
            generic: self.resources.generic.clone().unwrap_or_default(),
        };
        Ok(JobSpec {
            requested_time: requested,
            data_kib: self.staged_in_bytes().div_ceil(KIB as u64),
            ..JobSpec::of(Components::one(processors, requirements), length)
        })
    }

    fn check_supported(&self, hosts: &[&str]) -> Result<()> {
        let resources = &self.resources;
        let refuse = |part: &str, why: &str| {
            Err(JsdlError::unsupported(&format!("{RESOURCES}/{part}"), why))
        };
        let here = |wanted: &String| hosts.iter().any(|host| host.eq_ignore_ascii_case(wanted));
        if !resources.candidate_hosts.is_empty() && !resources.candidate_hosts.iter().any(here) {
            return refuse("CandidateHosts", "this cluster is none of them");
        }
        if resources.exclusive == Some(true) {
            let why = "processors are exclusive, nodes are shared";
            return refuse("ExclusiveExecution", why);
        }
        if resources.queue.as_ref().is_some_and(|it| it != QUEUE) {
            return refuse("Queue", "the one queue is called batch");
        }
        let version = resources.operating_system.as_ref();
        if version.is_some_and(|system| system.version.is_some()) {
            let why = "nodes have an operating system without a version";
            return refuse("OperatingSystem/OperatingSystemVersion", why);
        }
        for quantity in UNSUPPORTED {
            let value = resources.quantities.get(&quantity);
            // What begins at 0 without an upper end asks for nothing.
            let asks =
                |value: &&RangeValue| value.least_whole(0) != Some(0) || value.upper.is_some();
            if value.is_some_and(|value| asks(&value)) {
                return refuse(quantity.name(), "jobs cannot ask for it here");
            }
        }
        Ok(())
    }

    /// SPMD's processes of a host times threads; 0 where it does not say.
    fn most_per_node(&self) -> Result<u32> {
        let spmd = self.program().and_then(|program| program.spmd.as_ref());
        let Some((spmd, per_host)) = spmd.and_then(|spmd| Some((spmd, spmd.per_host?))) else {
            return Ok(0);
        };
        if per_host == 0 {
            let path = "JobDefinition/JobDescription/Application/SPMDApplication/ProcessesPerHost";
            return Err(JsdlError::value(path, "0", "at least 1"));
        }
        Ok(per_host.saturating_mul(number_of(spmd.threads).unwrap_or(1)))
    }

    /// SPMD's processes times threads, else `TotalCPUCount`, else
    /// `IndividualCPUCount` times `TotalResourceCount`, else 1.
    pub(crate) fn processors(&self) -> Result<u32> {
        let total = self.resources.quantities.get(&Quantity::TotalCpuCount);
        let path = format!("{RESOURCES}/TotalCPUCount");
        let number = match (self.spmd_processors(), total) {
            (Some(number), Some(total)) if !total.contains(as_number(number)) => {
                let expected = format!("a range with the {number} processors of SPMDApplication");
                return Err(JsdlError::value(&path, &shown(total), &expected));
            }
            (Some(number), _) => number,
            (None, Some(_)) => self.least(Quantity::TotalCpuCount, 1)?,
            (None, None) => {
                let each = self.least(Quantity::IndividualCpuCount, 1)?;
                let hosts = self.least(Quantity::TotalResourceCount, 1)?;
                each.saturating_mul(hosts)
            }
        };
        u32::try_from(number)
            .map_err(|_| JsdlError::value(&path, &number.to_string(), "at most 4294967295"))
    }

    pub(crate) fn spmd_processors(&self) -> Option<u64> {
        let program = self.program().filter(|it| it.kind == ProgramKind::Spmd)?;
        let spmd = program.spmd.as_ref()?;
        // As many threads as a host has processors is known to the host only;
        // one counts for each process then.
        let threads = number_of(spmd.threads).unwrap_or(1);
        Some(u64::from(number_of(spmd.processes)?) * u64::from(threads))
    }

    /// A host of JSDL is one processor, unless `IndividualCPUCount` says more.
    fn memory_kib(&self, processors: u32) -> Result<u64> {
        let each = self.least(Quantity::IndividualCpuCount, 1)?;
        let per_host = self.least(Quantity::IndividualPhysicalMemory, 0)?;
        let total = self.least(Quantity::TotalPhysicalMemory, 0)?;
        let of_hosts = per_host.div_ceil(each.saturating_mul(KIB as u64));
        let of_total = total.div_ceil(u64::from(processors.max(1)) * KIB as u64);
        Ok(of_hosts.max(of_total))
    }

    /// The least whole number from `from` on that will do: `from` where any does.
    fn least(&self, quantity: Quantity, from: u32) -> Result<u64> {
        let Some(value) = self.resources.quantities.get(&quantity) else {
            return Ok(from.into());
        };
        let path = format!("{RESOURCES}/{}", quantity.name());
        let expected = format!("a range with a whole number from {from} to 2^53");
        let wrong = || JsdlError::value(&path, &shown(value), &expected);
        value.least_whole(from).ok_or_else(wrong)
    }

    fn limit(&self, limit: Limit) -> Option<u64> {
        self.program()?.limits.get(&limit).copied()
    }
}

fn number_of(processes: Option<Processes>) -> Option<u32> {
    match processes? {
        Processes::Number(number) => Some(number),
        Processes::Actual => None,
    }
}

const NANOS: u64 = 1_000_000_000;
const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
/// A millionth of speed 1.0, which counts as 1 GHz.
const KILOHERTZ: f64 = 1000.0;

/// The queue of every cluster.
const QUEUE: &str = "batch";

/// What a job of ours has no word for.
const UNSUPPORTED: [Quantity; 6] = [
    Quantity::IndividualCpuTime,
    Quantity::IndividualNetworkBandwidth,
    Quantity::IndividualVirtualMemory,
    Quantity::TotalCpuTime,
    Quantity::TotalVirtualMemory,
    Quantity::TotalDiskSpace,
];

/// Exact up to 2^53, and no cluster has more of anything.
#[allow(clippy::cast_precision_loss, reason = "numbers below 2^53 are exact")]
fn as_number(number: u64) -> f64 {
    number as f64
}

/// A range in a message.
fn shown(value: &RangeValue) -> String {
    let mut parts = Vec::new();
    let exact = value.exact.iter().map(|exact| exact.value.to_string());
    parts.extend(exact);
    parts.extend(value.lower.map(|bound| format!("from {}", bound.value)));
    parts.extend(value.upper.map(|bound| format!("up to {}", bound.value)));
    let ranges = value.ranges.iter();
    parts.extend(ranges.map(|range| format!("{} to {}", range.lower.value, range.upper.value)));
    parts.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(quantities: &[(Quantity, RangeValue)]) -> JobDefinition {
        let mut job = JobDefinition::default();
        job.resources.quantities.extend(quantities.iter().cloned());
        job
    }

    fn job(job: &JobDefinition) -> Result<JobSpec> {
        job.to_job(SimDuration::from_secs(1), &["c1"])
    }

    fn spmd(processes: u32, threads: Option<u32>) -> Option<Application> {
        let spmd = Spmd {
            processes: Some(Processes::Number(processes)),
            threads: threads.map(Processes::Number),
            ..Spmd::default()
        };
        let program = Program {
            kind: ProgramKind::Spmd,
            spmd: Some(spmd),
            ..Program::default()
        };
        Some(Application {
            program: Some(program),
            ..Application::default()
        })
    }

    #[test]
    fn processors_come_from_spmd_then_the_total_then_hosts_times_processors() {
        let (each, hosts) = (RangeValue::exactly(4.0), RangeValue::at_least(3.0));
        let mut asked = asking(&[
            (Quantity::IndividualCpuCount, each),
            (Quantity::TotalResourceCount, hosts),
        ]);
        assert_eq!(job(&asked).unwrap().processors(), 12);
        let mut total = RangeValue::at_least(6.0);
        total.lower.as_mut().unwrap().exclusive = true;
        let quantities = &mut asked.resources.quantities;
        quantities.insert(Quantity::TotalCpuCount, total);
        assert_eq!(job(&asked).unwrap().processors(), 7);
        asked.application = spmd(5, Some(2));
        assert_eq!(job(&asked).unwrap().processors(), 10);
        assert_eq!(job(&JobDefinition::default()).unwrap().processors(), 1);
    }

    #[test]
    fn a_total_that_contradicts_spmd_is_refused() {
        let mut asked = asking(&[(Quantity::TotalCpuCount, RangeValue::exactly(4.0))]);
        asked.application = spmd(5, None);
        let error = job(&asked).unwrap_err().to_string();
        assert!(
            error.contains("TotalCPUCount") && error.contains("\"4\""),
            "{error}"
        );
    }

    #[test]
    fn memory_of_a_host_is_shared_by_its_processors_and_rounded_up() {
        let (each, of_host) = (RangeValue::exactly(4.0), RangeValue::at_least(4097.0));
        let mut asked = asking(&[
            (Quantity::IndividualCpuCount, each),
            (Quantity::IndividualPhysicalMemory, of_host),
        ]);
        let memory = |asked: &JobDefinition| {
            let first = job(asked).unwrap().components.first;
            first.requirements.memory_kib
        };
        assert_eq!(memory(&asked), 2);
        let total = RangeValue::exactly(40960.0);
        let quantities = &mut asked.resources.quantities;
        quantities.insert(Quantity::TotalPhysicalMemory, total);
        assert_eq!(memory(&asked), 10);
    }

    #[test]
    fn what_no_job_can_ask_for_is_refused_by_its_path() {
        for quantity in UNSUPPORTED {
            let error = job(&asking(&[(quantity, RangeValue::at_least(1.0))])).unwrap_err();
            assert_eq!(error.code(), "unsupported-jsdl");
            assert!(error.path().unwrap().ends_with(quantity.name()), "{error}");
            let nothing = asking(&[(quantity, RangeValue::at_least(0.0))]);
            assert!(job(&nothing).is_ok(), "{quantity:?} from 0 on asks nothing");
        }
    }

    #[test]
    fn candidate_hosts_are_matched_by_the_cluster_s_names() {
        let mut asked = JobDefinition::default();
        asked.resources.candidate_hosts = vec!["x".to_owned(), "C1".to_owned()];
        assert!(job(&asked).is_ok());
        asked.resources.candidate_hosts.pop();
        let error = job(&asked).unwrap_err().to_string();
        assert!(error.contains("CandidateHosts"), "{error}");
    }

    #[test]
    fn no_processors_at_all_are_no_job() {
        let none = RangeValue::exactly(0.0);
        let error = job(&asking(&[(Quantity::TotalCpuCount, none)]));
        assert!(error.unwrap_err().to_string().contains("TotalCPUCount"));
    }
}
