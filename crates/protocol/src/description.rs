//! Descriptions of jobs in the languages of others: ADL, xRSL, RSL and JDL, read as a
//! document of JSDL and written of one. Nothing is dropped in silence: what has no
//! counterpart is listed. `docs/descriptions.md` holds each language against JSDL.
//!
//! ```
//! use gridrig_protocol::description::{Language, read, write};
//!
//! let text = "&(executable=/bin/sleep)(arguments=90)(count=4)(notify=\"e me@host\")";
//! let read = read("job.xrsl", text, None).unwrap();
//! assert_eq!(read.language, Language::Xrsl);
//! assert_eq!(read.jobs[0].lost[0].attribute, "notify");
//! let (jdl, lost) = write(Language::Jdl, &read).unwrap();
//! assert!(jdl.contains("CpuNumber = 4;") && lost.is_empty());
//! ```

mod adl;
mod classad;
mod files;
mod json;
mod lost;
mod meaning;
mod rsl;
mod syntax;
mod tables;
mod unit;

pub use lost::Lost;
pub use syntax::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_JOBS};

use crate::jsdl::{JobDefinition, JsdlError, Limit, ProgramKind};
use crate::xml::{Element, is_xml};
use gridrig_core::job::{SeveralComponents, Unsaid};
use gridrig_core::time::SimDuration;
use syntax::{Read, Relation, Request};
use tables::{Attribute, Means};

/// The table of attributes in `docs/descriptions.md`.
pub const TABLE: &str = include_str!("description/table.md");

/// Longest document that is read, in bytes, and most bytes of its values.
pub const MAX_BYTES: usize = 1 << 20;

/// A language of job descriptions.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Language {
    /// JSDL 1.0.
    Jsdl,
    /// The Activity Description Language of EMI-ES.
    Adl,
    /// ARC's extended RSL.
    Xrsl,
    /// The Resource Specification Language of Globus.
    Rsl,
    /// gLite's Job Description Language, which is ClassAds.
    Jdl,
    /// A job as it is submitted over REST.
    Json,
}

/// A job by itself.
impl From<JobDefinition> for Descriptions {
    fn from(job: JobDefinition) -> Self {
        let lost = Vec::new();
        Descriptions {
            language: Language::Jsdl,
            jobs: vec![Described { job, lost }],
            together: false,
        }
    }
}

impl Language {
    /// All of them.
    pub const ALL: &'static [Language] = <Language as strum::VariantArray>::VARIANTS;

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A job as it is described.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Described {
    /// The job.
    pub job: JobDefinition,
    /// What of its description has no counterpart.
    pub lost: Vec<Lost>,
}

/// All jobs of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptions {
    /// The language of the document.
    pub language: Language,
    /// The jobs, at least one.
    pub jobs: Vec<Described>,
    /// Whether they are the parts of one job, which start together: a multi-request of RSL.
    pub together: bool,
}

/// Why a document was not read, or a job not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// A document is wrong, or a language has no words for so much.
    #[error("{0}")]
    Wrong(String),
    /// A document of JSDL is wrong, or a job contradicts itself.
    #[error(transparent)]
    Jsdl(#[from] JsdlError),
    /// A job has several components.
    #[error(transparent)]
    Several(#[from] SeveralComponents),
    /// A job asks for what a form has no words for.
    #[error(transparent)]
    Unsaid(#[from] Unsaid),
}

impl DescriptionError {
    fn at(line: usize, text: &str) -> Self {
        DescriptionError::Wrong(format!("{line}: {text}"))
    }
}

/// Reads a document, whose language is known by its content unless it is given.
///
/// # Errors
/// Where it is none of its language; file, line, attribute, value and what was expected.
pub fn read(file: &str, text: &str, from: Option<Language>) -> Read<Descriptions> {
    let at = |error: DescriptionError| DescriptionError::Wrong(format!("{file}:{error}"));
    let text = text.trim_start_matches('\u{feff}');
    if text.len() > MAX_BYTES {
        let size = format!("{} bytes: expected at most {MAX_BYTES}", text.len());
        return Err(at(DescriptionError::at(1, &size)));
    }
    if let Some(place) = text.find(|c| !is_xml(c)) {
        let line = 1 + text[..place].matches('\n').count();
        let text = "a control character: expected a text that XML can hold";
        return Err(at(DescriptionError::at(line, text)));
    }
    let language = from.unwrap_or_else(|| known_by(text));
    let xml = || {
        let root = Element::parse(text.as_bytes());
        root.map_err(|error| at(DescriptionError::at(error.line, &error.problem)))
    };
    let requests = match language {
        Language::Jsdl => {
            let read = JobDefinition::read_lenient(file, &xml()?)?;
            let ignored = read.ignored.iter();
            let lost = ignored.map(|path| Lost::of(0, path, "", "JSDL 1.0 has no such thing"));
            let mut all = Descriptions::from(read.job);
            all.jobs[0].lost.extend(lost);
            return Ok(all);
        }
        Language::Json => return json::read(text).map_err(at),
        Language::Adl => adl::read(&xml()?),
        Language::Xrsl | Language::Rsl => rsl::read(text),
        Language::Jdl => classad::read(text).map(|request| vec![request]),
    };
    let jobs = requests.and_then(|all| {
        let jobs = all.into_iter().map(|request| understood(language, request));
        jobs.collect::<Read<Vec<_>>>()
    });
    let jobs = jobs.map_err(at)?;
    Ok(Descriptions {
        language,
        together: language == Language::Rsl && jobs.len() > 1,
        jobs,
    })
}

/// The language of a document, as far as its content tells.
fn known_by(text: &str) -> Language {
    match text.trim_start().chars().next() {
        Some('&' | '|' | '+' | '(') => {}
        Some('{') => return Language::Json,
        Some('<') => {
            let root = Element::parse(text.as_bytes()).unwrap_or_default();
            return match root.name.starts_with("ActivityDescription") {
                true => Language::Adl,
                false => Language::Jsdl,
            };
        }
        _ => return Language::Jdl,
    }
    let requests = rsl::read(text).unwrap_or_default();
    let known = |language| {
        let names = requests.iter().flat_map(|request| &request.relations);
        let known = names.filter(|it| tables::named(language, &it.name).is_some());
        known.count()
    };
    match known(Language::Rsl) > known(Language::Xrsl) {
        true => Language::Rsl,
        false => Language::Xrsl,
    }
}

/// Whether memory is that of a processor, not of a host as in JSDL.
fn is_by_processor(language: Language) -> bool {
    !matches!(language, Language::Jdl)
}

/// The job that a request asks for.
fn understood(language: Language, request: Request) -> Read<Described> {
    let (mut job, mut lost) = (JobDefinition::default(), request.lost);
    let mut all: Vec<(&Attribute, Means, Relation)> = Vec::new();
    for relation in request.relations {
        let attribute = tables::named(language, &relation.name);
        match attribute.map(|attribute| (attribute, attribute.means)) {
            Some((attribute, Some(means))) => all.push((attribute, means, relation)),
            Some((Attribute { about, .. }, None)) => {
                lost.push(relation.lost(&format!("JSDL has no word for it {about}")));
            }
            None => lost.push(relation.lost(&format!("{language} has no such attribute"))),
        }
    }
    // Some depend on others, which stand before them in the table.
    all.sort_by_key(|(attribute, ..)| std::ptr::from_ref(*attribute));
    let mut said: Vec<(&Attribute, Means, &str)> = Vec::new();
    for (attribute, means, relation) in &all {
        let is_same = |it: &&(&Attribute, Means, &str)| it.1 == *means && it.2 == relation.op;
        if let Some((before, ..)) = said.iter().find(is_same).filter(|_| !means.repeats()) {
            if before.name == attribute.name {
                return Err(relation.wrong("it once"));
            }
            lost.push(relation.lost(&format!("{} says it already", before.name)));
            continue;
        }
        said.push((attribute, *means, relation.op));
        let put = attribute.put(*means, relation, &mut job);
        let why = put.map_err(|expected| relation.wrong(&expected))?;
        lost.extend(why.map(|why| relation.lost(&why)));
    }
    if is_by_processor(language) {
        unit::by_host(&mut job, true);
    }
    limits_of_mpi(&mut job, &mut lost);
    lost.sort_by_key(|lost| lost.line);
    Ok(Described { job, lost })
}

/// `SPMDApplication` has no limits: that of wall time is an estimate.
fn limits_of_mpi(job: &mut JobDefinition, lost: &mut Vec<Lost>) {
    let program = job.application.as_mut().and_then(|it| it.program.as_mut());
    let Some(program) = program.filter(|program| program.kind == ProgramKind::Spmd) else {
        return;
    };
    for (limit, value) in std::mem::take(&mut program.limits) {
        match SimDuration::parse(&format!("{value}s")) {
            Ok(estimate) if limit == Limit::WallTime => job.requested_time = Some(estimate),
            _ => {
                let (value, why) = (value.to_string(), "a job of MPI has no limits");
                lost.push(Lost::of(0, limit.into(), &value, why));
            }
        }
    }
}

/// Writes jobs, as far as the language has words for them.
///
/// # Errors
/// Where the language can not say so many jobs, or one contradicts itself.
pub fn text(language: Language, all: &Descriptions) -> Read<String> {
    let jobs = || all.jobs.iter().map(|described| &described.job);
    if language == Language::Json {
        return json::write(jobs(), all.together);
    }
    let requests = jobs().map(|job| relations(language, job));
    let requests = requests.collect::<Read<Vec<_>>>()?;
    match (language, requests.as_slice()) {
        (Language::Jsdl, [_]) => Ok(all.jobs[0].job.write()),
        (Language::Jdl, [only]) => Ok(classad::write(only)),
        (Language::Adl, requests) => Ok(adl::write(requests)),
        (Language::Xrsl | Language::Rsl, requests) => Ok(rsl::write(requests)),
        (_, several) => {
            let count = several.len();
            let text = format!("{count} jobs: expected one, as a document of {language} has one");
            Err(DescriptionError::Wrong(text))
        }
    }
}

/// The same; what the language has no words for is listed.
///
/// # Errors
/// Those of `text`, and where the language does not take a value.
pub fn write(language: Language, all: &Descriptions) -> Read<(String, Vec<Lost>)> {
    let jobs = || all.jobs.iter().map(|described| &described.job);
    let text = text(language, all)?;
    // What others read counts, not what was meant.
    let again = read(&format!("as {language}"), &text, Some(language))?;
    let mut lost = Vec::new();
    if all.together != again.together {
        let why = match all.together {
            true => "here each is a job of its own",
            false => "in RSL the requests behind + start together",
        };
        lost.push(Lost::of(0, "+", "", why));
    }
    for (number, (job, again)) in (1..).zip(jobs().zip(&again.jobs)) {
        let prefix = match all.jobs.len() {
            1 => String::new(),
            _ => format!("job {number}: "),
        };
        lost.extend(lost::between(job, &again.job, &prefix));
    }
    Ok((text, lost))
}

/// The relations by which a job is written.
fn relations(language: Language, job: &JobDefinition) -> Read<Vec<Relation>> {
    let (mut job, mut all) = (job.clone(), Vec::<(&Attribute, Relation)>::new());
    if is_by_processor(language) {
        unit::by_host(&mut job, false);
    }
    for attribute in tables::all(language) {
        let Some(means) = attribute.means else {
            continue;
        };
        let values = attribute.get(means, &mut job)?;
        // Of those that mean the same the first is written.
        let is_same = |(it, _): &(&Attribute, _)| it.means == attribute.means;
        let is_said = attribute.form != "each" && all.iter().any(is_same);
        if !values.is_empty() && !is_said {
            let name = attribute.name.to_owned();
            all.push((attribute, Relation::new(0, name, attribute.op(), values)));
        }
    }
    Ok(all.into_iter().map(|(_, relation)| relation).collect())
}
