//! What an attribute means in the words of JSDL, by which it is read and written.

use super::files::{command_line, place, stage, staged, words};
use super::syntax::{Relation, Value, texts};
use super::tables::Attribute;
use super::unit::{self, is_count, narrow, said};
use crate::jsdl::{
    FileName, JobDefinition, JsdlError, Limit, Processes, Program, ProgramKind, Quantity, Spmd,
    Variable,
};
use crate::xml::too_long;
use strum::VariantArray as _;

/// What an attribute means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Means {
    Number(Quantity),
    Limit(Limit),
    /// An element of another kind, by its name.
    Element(&'static str),
}

/// What stands in a document for one text.
enum Slot<'a> {
    Text(&'a mut Option<String>),
    File(&'a mut Option<FileName>),
}

/// The variation of SPMD for MPI of any kind (GFD.115).
const MPI: &str = "http://www.ogf.org/jsdl/2007/02/jsdl-spmd/MPI";

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

impl Means {
    /// What the first column of the table says; `None` where JSDL has no word.
    pub(super) fn named(cell: &'static str) -> Option<Self> {
        let name = cell.strip_prefix('`')?;
        let name = name.strip_suffix('`').unwrap_or(name);
        let limit = |it: &&Limit| {
            name == format!("{}Limit", <&str>::from(**it)) || name == <&str>::from(**it)
        };
        let limit = Limit::VARIANTS
            .iter()
            .find(limit)
            .copied()
            .map(Means::Limit);
        let mut quantities = Quantity::VARIANTS.iter();
        let quantity = quantities.find(|it| it.name() == name).copied();
        Some(
            limit
                .or(quantity.map(Means::Number))
                .unwrap_or(Means::Element(name)),
        )
    }

    /// Whether it may be said several times.
    pub(super) fn repeats(self) -> bool {
        let all = ["Argument", "Environment", "JobProject", "CandidateHosts"];
        matches!(self, Means::Element(name) if all.contains(&name) || name.contains('/'))
    }
}

impl Attribute {
    /// Takes what the attribute says; answers what of it is lost.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn put(&self, means: Means, relation: &Relation, job: &mut JobDefinition) -> Put {
        match means {
            Means::Number(_) | Means::Limit(_) if relation.op != "!=" => {
                return self.put_number(means, relation, job);
            }
            _ if relation.op != "=" => return Ok(Some("only = has a counterpart".to_owned())),
            _ => {}
        }
        let Means::Element(name) = means else {
            return Ok(None);
        };
        let all = texts(&relation.values);
        let many = || all.clone().ok_or_else(|| "texts".to_owned());
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
            ("Argument", _) => program(job)
                .arguments
                .extend(many()?.into_iter().map(FileName::of)),
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
        let is_own = relation.op == self.op();
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
                narrow(
                    job.resources.quantities.entry(quantity).or_default(),
                    op,
                    value,
                );
            }
            Means::Limit(limit) => {
                let is_least = [">", ">="].contains(&relation.op) && self.op() == ">=";
                if !is_least && !["=", "<="].contains(&relation.op) {
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
    ) -> Result<Option<Vec<Value>>, JsdlError> {
        let some = |text: Option<String>| text.map(|text| vec![Value::Text(text)]);
        let name = match means {
            Means::Number(quantity) => {
                return Ok(some(
                    said(job, quantity)?.map(|it| unit::write(it, self.form)),
                ));
            }
            Means::Limit(limit) => {
                let estimate = job.requested_time.filter(|_| limit == Limit::WallTime);
                let estimate = estimate.map(|time| time.as_nanos().div_ceil(1_000_000_000));
                let limit = program(job).limits.get(&limit).copied().or(estimate);
                return Ok(some(limit.map(|it| unit::write(it, self.form))));
            }
            Means::Element(name) => name,
        };
        if let Some(slot) = slot(job, name) {
            return Ok(some(match slot {
                Slot::Text(text) => text.clone(),
                Slot::File(file) => file.as_ref().map(|file| file.value.clone()),
            }));
        }
        let only = |texts: &[String]| some(texts.first().filter(|_| texts.len() == 1).cloned());
        let program = &*program(job);
        let arguments = || program.arguments.iter().map(|it| it.value.as_str());

        let all = match (name, self.form) {
            ("Argument", "line") if program.arguments.is_empty() => return Ok(None),
            ("Argument", "line") => return Ok(some(Some(command_line(arguments())))),
            ("Argument", _) => arguments().map(|it| Value::Text(it.to_owned())).collect(),
            ("Environment", form) => {
                let one = |it: &Variable| match form {
                    "list" => Value::Text(format!("{}={}", it.name, it.value.value)),
                    _ => Value::list([&it.name, &it.value.value]),
                };
                program.environment.iter().map(one).collect()
            }
            ("JobProject", _) => return Ok(only(&job.identification.projects)),
            ("CandidateHosts", _) => return Ok(only(&job.resources.candidate_hosts)),
            ("ExclusiveExecution", _) => {
                return Ok(some(job.resources.exclusive.map(|it| it.to_string())));
            }
            ("SPMDApplication", word) if program.kind == ProgramKind::Spmd => {
                return Ok(some(Some(word.to_owned())));
            }
            ("gridrig:GenericResources", _) => {
                return Ok(some(
                    job.resources.generic.as_ref().map(ToString::to_string),
                ));
            }
            ("DataStaging/Source", form) => staged(job, form, true),
            ("DataStaging/Target", form) => staged(job, form, false),
            _ => Vec::new(),
        };
        Ok(Some(all).filter(|all| !all.is_empty()))
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
                lost = Some(format!(
                    "{kind}: only MPI and the usual kind have a counterpart"
                ));
            }
            _ => return Err("a kind of one job, such as MPI or the usual one".to_owned()),
        }
    }
    Ok(lost)
}
