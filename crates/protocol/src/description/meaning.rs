//! What an attribute means in the words of JSDL, by which it is read and written.

use super::files::{command_line, place, stage, staged, words};
use super::syntax::{Relation, Value, texts};
use super::tables::{Attribute, Means};
use super::unit::{self, is_count, narrow, said};
use crate::jsdl::{
    FileName, JobDefinition, JsdlError, Limit, MPI, Processes, Program, ProgramKind, Quantity,
    Spmd, Variable,
};
use crate::xml::too_long;

/// What stands in a document for one text.
enum Slot<'a> {
    Text(&'a mut Option<String>),
    File(&'a mut Option<FileName>),
}

type Put = Result<Option<String>, String>;

fn program(job: &mut JobDefinition) -> &mut Program {
    let application = job.application.get_or_insert_default();
    application.program.get_or_insert_default()
}

fn slot<'a>(job: &'a mut JobDefinition, name: &str) -> Option<Slot<'a>> {
    use Slot::{File, Text};
    Some(match name {
        "JobName" => Text(&mut job.identification.name),
        "Description" => Text(&mut job.identification.description),
        "UserName" => Text(&mut program(job).user),
        "gridrig:Queue" => Text(&mut job.resources.queue),
        "CPUArchitecture" => Text(&mut job.resources.architecture),
        "OperatingSystem" => Text(&mut job.resources.operating_system.get_or_insert_default().name),
        "Executable" => File(&mut program(job).executable),
        "Input" => File(&mut program(job).input),
        "Output" => File(&mut program(job).output),
        "Error" => File(&mut program(job).error),
        "WorkingDirectory" => File(&mut program(job).working_directory),
        _ => return None,
    })
}

impl Attribute {
    /// Takes what the attribute says; answers what of it is lost.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn put(&self, means: Means, relation: &Relation, job: &mut JobDefinition) -> Put {
        let name = match means {
            Means::Element(name) if relation.op == "=" => name,
            Means::Number(_) | Means::Limit(_) if relation.op != "!=" => {
                return self.put_number(means, relation, job);
            }
            _ => return Ok(Some("only = has a counterpart".to_owned())),
        };
        let many = || texts(&relation.values).ok_or_else(|| "texts".to_owned());
        let text = || match relation.values.as_slice() {
            [Value::Text(text)] => Ok(text.as_str()),
            _ => Err("one value".to_owned()),
        };
        if let Some(slot) = slot(job, name) {
            let text = text()?;
            let long =
                too_long(text).filter(|_| matches!(name, "CPUArchitecture" | "OperatingSystem"));
            long.map_or(Ok(()), Err)?;
            match slot {
                Slot::Text(slot) => *slot = Some(text.to_owned()),
                Slot::File(slot) => *slot = Some(FileName::of(text)),
            }
            return Ok(None);
        }
        match (name, self.form) {
            ("Argument", "line") => {
                program(job).arguments = words(text()?)?.into_iter().map(FileName::of).collect();
            }
            ("Argument", _) => {
                let arguments = many()?.into_iter().map(FileName::of);
                program(job).arguments.extend(arguments);
            }
            ("Environment", _) => return environment(&relation.values, job),
            ("JobProject", _) => job.identification.projects.push(text()?.to_owned()),
            ("CandidateHosts", _) => {
                let text = text()?;
                let end = text.find([':', '/']).filter(|_| self.form == "id");
                let (host, rest) = text.split_at(end.unwrap_or(text.len()));
                job.resources.candidate_hosts.push(host.to_owned());
                return Ok((!rest.is_empty()).then(|| format!("{rest}: only the host is kept")));
            }
            ("ExclusiveExecution", _) => job.resources.exclusive = Some(truth(text()?)?),
            ("SPMDApplication", _) => return parallel(&many()?, job),
            ("gridrig:GenericResources", _) => {
                let wrong = |_| gridrig_core::generic::EXPECTED.to_owned();
                job.resources.generic = Some(text()?.parse().map_err(wrong)?);
            }
            ("DataStaging/Source" | "DataStaging/Target", form) => {
                let is_input = name == "DataStaging/Source";
                return match form {
                    "base" | "each" => Ok(place(job, &many()?, form, is_input)),
                    form => stage(relation, form, is_input, job),
                };
            }
            // What is left is `Error` as `Output`.
            _ => {
                if truth(text()?)? {
                    let output = program(job).output.clone();
                    program(job).error = Some(output.ok_or("stdout as well")?);
                }
            }
        }
        Ok(None)
    }

    fn put_number(&self, means: Means, relation: &Relation, job: &mut JobDefinition) -> Put {
        let [Value::Text(text)] = relation.values.as_slice() else {
            return Err("one value".to_owned());
        };
        let value = unit::read(text, self.form, relation.op == ">")?;
        // What has to be more is the next number.
        let is_own = relation.op == self.op() || (relation.op, self.op()) == (">", ">=");
        match means {
            Means::Number(quantity) => {
                let op = match quantity {
                    _ if !is_own => relation.op,
                    Quantity::TotalCpuTime => "<=",
                    quantity if is_count(quantity) && self.form != "least" => "=",
                    _ => ">=",
                };
                if value == 0 && is_count(quantity) {
                    return Err("a whole number from 1".to_owned());
                }
                let range = job.resources.quantities.entry(quantity).or_default();
                narrow(range, op, value);
            }
            Means::Limit(limit) => {
                if !is_own && !["=", "<="].contains(&relation.op) {
                    return Ok(Some("a limit has a value".to_owned()));
                }
                program(job).limits.insert(limit, value);
            }
            Means::Element(_) => {}
        }
        Ok(None)
    }

    /// What the job says of it; nothing where it has no such thing.
    ///
    /// # Errors
    /// For a job that contradicts itself.
    pub(super) fn get(
        &self,
        means: Means,
        job: &mut JobDefinition,
    ) -> Result<Vec<Value>, JsdlError> {
        let times = |number: Option<u64>| number.map(|it| unit::write(it, self.form));
        let only = |texts: &[String]| texts.first().filter(|_| texts.len() == 1).cloned();
        let name = match means {
            Means::Element(name) => name,
            Means::Number(_) | Means::Limit(_) => "",
        };
        let slot = slot(job, name).map(|slot| match slot {
            Slot::Text(text) => text.clone(),
            Slot::File(file) => file.as_ref().map(|file| file.value.clone()),
        });
        let default = Program::default();
        let program = job.program().unwrap_or(&default);
        let arguments = || program.arguments.iter().map(|it| it.value.as_str());
        let pair = |it: &Variable| match self.form {
            "list" => Value::Text(format!("{}={}", it.name, it.value.value)),
            _ => Value::list([&it.name, &it.value.value]),
        };
        let text = match (means, name) {
            _ if slot.is_some() => slot.flatten(),
            (Means::Number(quantity), _) => times(said(job, quantity)?),
            (Means::Limit(limit), _) => {
                let estimate = job.requested_time.filter(|_| limit == Limit::WallTime);
                let estimate = estimate.map(|time| time.as_nanos().div_ceil(1_000_000_000));
                times(program.limits.get(&limit).copied().or(estimate))
            }
            (_, "Argument") if self.form == "line" => Some(command_line(arguments())),
            (_, "JobProject") => only(&job.identification.projects),
            (_, "CandidateHosts") => only(&job.resources.candidate_hosts),
            (_, "ExclusiveExecution") => job.resources.exclusive.map(|it| it.to_string()),
            (_, "gridrig:GenericResources") => {
                job.resources.generic.as_ref().map(|it| it.to_string())
            }
            (_, "SPMDApplication") => {
                let is_mpi = program.kind == ProgramKind::Spmd;
                is_mpi.then(|| self.form.to_owned())
            }
            (_, "Argument") => {
                return Ok(arguments().map(|it| Value::Text(it.to_owned())).collect());
            }
            (_, "Environment") => return Ok(program.environment.iter().map(pair).collect()),
            (_, "DataStaging/Source") => return Ok(staged(job, self.form, true)),
            (_, "DataStaging/Target") => return Ok(staged(job, self.form, false)),
            _ => None,
        };
        let text = text.filter(|text| !text.is_empty() || name != "Argument");
        Ok(text.map(Value::Text).into_iter().collect())
    }
}

fn truth(text: &str) -> Result<bool, String> {
    match &*text.to_ascii_lowercase() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err("yes, true, no or false".to_owned()),
    }
}

/// Pairs, or `NAME=VALUE`.
fn environment(values: &[Value], job: &mut JobDefinition) -> Put {
    for value in values {
        let pair = match value {
            Value::Text(text) => text.split_once('='),
            Value::List(list) => match texts(list).unwrap_or_default()[..] {
                [name, value] => Some((name, value)),
                _ => None,
            },
        };
        let pair = pair.filter(|(name, _)| !name.trim().is_empty());
        let (name, value) = pair.ok_or("names, each with its value")?;
        program(job).environment.push(Variable {
            name: name.trim().to_owned(),
            value: FileName::of(value),
        });
    }
    Ok(None)
}

/// One process for each processor, which MPI starts.
fn parallel(kinds: &[&str], job: &mut JobDefinition) -> Put {
    let mut lost = None;
    for kind in kinds {
        match &*kind.to_ascii_lowercase() {
            "mpi" | "mpich" | "mpich2" | "openmpi" => {
                let program = program(job);
                program.kind = ProgramKind::Spmd;
                program.spmd = Some(Spmd {
                    processes: Some(Processes::Actual),
                    variation: MPI.to_owned(),
                    ..Spmd::default()
                });
            }
            "normal" | "multiple" => {}
            "single" | "condor" | "interactive" | "checkpointable" => {
                lost = Some(format!("{kind}: only MPI has a counterpart"));
            }
            _ => return Err("a kind of one job, such as MPI or the usual one".to_owned()),
        }
    }
    Ok(lost)
}
