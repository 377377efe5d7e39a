//! A map: how the columns of a log become the fields of a job, as TOML.

use crate::error::{Result, TraceError};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A map of `resources/maps`.
macro_rules! shipped {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../resources/maps/", $name, ".toml")),
        )
    };
}

/// The maps that are part of the program, with their text.
pub const SHIPPED: &[(&str, &str)] = &[
    shipped!("sacct"),
    shipped!("swf21"),
    shipped!("pm100"),
    shipped!("fdata"),
    shipped!("mit-supercloud"),
    shipped!("acme"),
    shipped!("helios"),
    shipped!("alibaba-spot-2026"),
    shipped!("alibaba-gpu-2023"),
    shipped!("philly"),
    shipped!("batsim"),
];

/// What a map says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// What it was read as, for messages.
    #[serde(skip)]
    pub name: String,
    /// Which logs it is for.
    pub about: String,
    /// How the file is divided into columns.
    #[serde(default)]
    pub table: Table,
    /// The time zone of dates that do not say theirs; UTC by default.
    pub zone: Option<String>,
    /// Where the fields of a job come from.
    pub job: BTreeMap<Key, Sources>,
    /// Where the status comes from; without it no job has one.
    pub status: Option<Status>,
    /// Rows that are no jobs.
    #[serde(default)]
    pub skip: Vec<Skip>,
    /// What the log says of a job and a trace cannot.
    #[serde(default)]
    pub lost: Vec<Lost>,
}

/// How a file is divided into columns. Parquet is known by its content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    /// What kind of text it is.
    pub form: Form,
    /// What stands between the columns.
    pub separator: char,
    /// Whether a column may stand between double quotes.
    pub quotes: bool,
    /// The key of the list in a document of JSON that is more than a list.
    pub records: Option<String>,
    /// The columns of a file whose first row does not name them: it does if it has a name
    /// that the map reads.
    pub columns: Vec<String>,
    /// Values that say *not available*, beside [`NONE`].
    pub none: Vec<String>,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            form: Form::Text,
            separator: ',',
            quotes: true,
            records: None,
            columns: Vec::new(),
            none: Vec::new(),
        }
    }
}

/// Kinds of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A row a line, with something between the columns.
    Text,
    /// A row a line, blanks between the columns, comments after `;` or `#`.
    Blanks,
    /// A list of objects.
    Json,
}

/// Each is a bit of a job.
const MAX_LOST: usize = 48;

/// What says *not available* in every log.
pub const NONE: [&str; 11] = [
    "", "None", "none", "null", "NULL", "nan", "NaN", "NaT", "N/A", "NA", "Unknown",
];

/// A field of a job: those of SWF, and what some of them are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    JobNumber,
    SubmitTime,
    /// Since when it could have started: a job arrives at the later of both.
    EligibleTime,
    StartTime,
    EndTime,
    WaitTime,
    RunTime,
    AllocatedProcessors,
    AverageCpuTime,
    UsedMemory,
    RequestedProcessors,
    RequestedTime,
    RequestedMemory,
    /// Among which memory is divided that is told per node.
    Nodes,
    User,
    Group,
    Executable,
    Queue,
    Partition,
    Site,
    Account,
    PrecedingJob,
    ThinkTime,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    Instant,
    Length,
    Memory,
    Name,
}

impl Key {
    pub(super) fn kind(self) -> Kind {
        use Key::{
            AllocatedProcessors, AverageCpuTime, EligibleTime, EndTime, JobNumber, Nodes,
            PrecedingJob, RequestedMemory, RequestedProcessors, RequestedTime, RunTime, StartTime,
            SubmitTime, ThinkTime, UsedMemory, WaitTime,
        };
        match self {
            JobNumber | AllocatedProcessors | RequestedProcessors | Nodes | PrecedingJob => {
                Kind::Count
            }
            SubmitTime | EligibleTime | StartTime | EndTime => Kind::Instant,
            WaitTime | RunTime | AverageCpuTime | RequestedTime | ThinkTime => Kind::Length,
            UsedMemory | RequestedMemory => Kind::Memory,
            _ => Kind::Name,
        }
    }

    /// As a map spells it.
    pub(super) fn name(self) -> String {
        let text = serde_json::to_value(self).unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }
}

/// Units of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Unit {
    #[serde(rename = "s")]
    Second,
    #[serde(rename = "ms")]
    Millisecond,
    #[serde(rename = "min")]
    Minute,
    #[serde(rename = "h")]
    Hour,
    /// `2-03:04:05`, days left out if there are none.
    #[serde(rename = "clock")]
    Clock,
    /// `2024-01-31T12:00:00`, with an offset or not, or Unix seconds.
    #[serde(rename = "date")]
    Date,
    #[serde(rename = "B")]
    Byte,
    #[serde(rename = "KB")]
    Kilobyte,
    #[serde(rename = "MB")]
    Megabyte,
    #[serde(rename = "GB")]
    Gigabyte,
}

impl Kind {
    fn units(self) -> &'static [Unit] {
        use Unit::{
            Byte, Clock, Date, Gigabyte, Hour, Kilobyte, Megabyte, Millisecond, Minute, Second,
        };
        match self {
            Kind::Instant => &[Second, Millisecond, Date],
            Kind::Length => &[Second, Millisecond, Minute, Hour, Clock],
            Kind::Memory => &[Kilobyte, Byte, Megabyte, Gigabyte],
            Kind::Count | Kind::Name => &[],
        }
    }
}

/// What an amount of memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    Job,
    Node,
    Processor,
}

/// Where a value comes from: a column, and what is done with its text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The name of the column.
    pub column: String,
    /// What a number in it counts.
    pub unit: Option<Unit>,
    /// The first of these entries of a list such as `cpu=4,gres/gpu=2` or `1=4,1001=2`;
    /// `gres/gpu:*` is the sum of those that begin so.
    #[serde(default)]
    pub tres: Vec<String>,
    /// Only what stands behind the last of these characters.
    pub after: Option<String>,
    /// Only what stands before the first of these characters.
    pub before: Option<String>,
    /// Further values that say *not available*.
    #[serde(default)]
    pub none: Vec<String>,
    /// The number is multiplied by this.
    pub times: Option<u32>,
    /// The number is multiplied by that of this column.
    pub times_column: Option<String>,
    /// The number is divided by this and rounded up.
    pub divided_by: Option<u32>,
    /// What memory is told for; a job without it.
    pub per: Option<Per>,
    /// Whether a log may be without the column.
    #[serde(default)]
    pub optional: bool,
}

/// Sources in the order in which they are asked: the first one with a value counts.
#[derive(Clone, Debug, Default)]
pub struct Sources(pub Vec<Source>);

impl<'de> Deserialize<'de> for Sources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Sources;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column, a table with one, or a list of such")
            }

            fn visit_str<E: Error>(self, column: &str) -> Result<Sources, E> {
                let column = column.to_owned();
                Ok(Sources(vec![Source {
                    column,
                    ..Source::default()
                }]))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sources, A::Error> {
                let one = Source::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Sources(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Sources, A::Error> {
                let list = Vec::<Sources>::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(Sources(list.into_iter().flat_map(|one| one.0).collect()))
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

/// Words for how a job ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Where the word stands.
    pub of: Sources,
    /// Words of SWF's status 1.
    pub completed: Vec<String>,
    /// Words of SWF's status 0.
    pub failed: Vec<String>,
    /// Words of SWF's status 5.
    pub cancelled: Vec<String>,
    /// Reasons to leave a row out, with their words.
    #[serde(default)]
    pub skip: BTreeMap<String, Vec<String>>,
}

/// Rows that are left out; one of the conditions has to be given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// What they are counted under.
    pub reason: String,
    /// What is looked at.
    pub of: Sources,
    /// A text in it.
    pub contains: Option<String>,
    /// What it is.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// It is a number below this one, or not available.
    pub below: Option<u64>,
}

/// What is lost, counted in jobs that had it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// Its name.
    pub what: String,
    /// A job had it if this is a number above 0 or a text. A log may be without the column.
    pub of: Sources,
    /// Only a number below this one counts.
    pub below: Option<u64>,
}

/// Whether a word is in a list.
pub(super) fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|one| one == word)
}

impl Map {
    /// One that is part of the program, else a file.
    ///
    /// # Errors
    /// A file that cannot be read or is no map.
    pub fn load(name: &str) -> Result<Map> {
        if let Some((_, text)) = SHIPPED.iter().find(|shipped| shipped.0 == name) {
            return Map::parse(name, text);
        }
        if Path::new(name).extension().is_none_or(|end| end != "toml") {
            let known: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.0).collect();
            let problem = format!(
                "no map of this name: expected {}, or a file that ends in .toml",
                known.join(", ")
            );
            return Err(TraceError::file(name, problem));
        }
        let text = std::fs::read_to_string(name)
            .map_err(|source| TraceError::Open(name.to_owned(), source))?;
        Map::parse(name, &text)
    }

    /// Reads the text of a map; `name` is used in messages.
    ///
    /// # Errors
    /// What is no map, with its line.
    pub fn parse(name: &str, text: &str) -> Result<Map> {
        let mut map: Map = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = 1 + before.unwrap_or_default().matches('\n').count() as u64;
            TraceError::line(name, line, error.message().to_owned())
        })?;
        name.clone_into(&mut map.name);
        match map.problem() {
            Some(problem) => Err(TraceError::file(name, problem)),
            None => Ok(map),
        }
    }

    /// What TOML alone does not say.
    fn problem(&self) -> Option<String> {
        let has = |key| self.job.contains_key(&key);
        if !has(Key::SubmitTime) {
            return Some("job.submit_time is not there: expected a column".to_owned());
        }
        let has_both = has(Key::StartTime) && has(Key::EndTime);
        if !(has(Key::RunTime) || has_both) {
            let problem = "job.run_time is not there: expected it, or start_time and end_time";
            return Some(problem.to_owned());
        }
        let separator = self.table.separator;
        if self.table.form == Form::Text && !separator.is_ascii() {
            let problem = format!("table.separator = \"{separator}\": expected one of ASCII");
            return Some(problem);
        }
        if self.lost.len() > MAX_LOST {
            return Some(format!("more than {MAX_LOST} entries lost: expected fewer"));
        }
        for skip in &self.skip {
            let conditions = usize::from(skip.contains.is_some())
                + usize::from(!skip.one_of.is_empty())
                + usize::from(skip.below.is_some());
            if conditions != 1 {
                let reason = &skip.reason;
                return Some(format!(
                    "skip \"{reason}\": expected one of contains, one_of and below"
                ));
            }
        }
        let mut absolute = None;
        let mut all = self.job.iter();
        all.find_map(|(key, sources)| {
            let mut sources = sources.0.iter();
            sources.find_map(|source| unit_problem(*key, source, &mut absolute))
        })
    }
}

/// A unit that a field cannot have, or dates beside times from a log's own start.
fn unit_problem(key: Key, source: &Source, absolute: &mut Option<bool>) -> Option<String> {
    let (kind, name) = (key.kind(), key.name());
    let shown = |unit: &Unit| serde_json::to_string(unit).unwrap_or_default();
    if let Some(unit) = source.unit
        && !kind.units().contains(&unit)
    {
        let units: Vec<String> = kind.units().iter().map(shown).collect();
        let units = match units.is_empty() {
            true => "no unit".to_owned(),
            false => units.join(", "),
        };
        return Some(format!(
            "job.{name}: unit = {}: expected {units}",
            shown(&unit)
        ));
    }
    if source.divided_by == Some(0) {
        return Some(format!(
            "job.{name}: divided_by = 0: expected a number above 0"
        ));
    }
    let date = source.unit == Some(Unit::Date);
    if kind == Kind::Instant && *absolute.get_or_insert(date) != date {
        return Some(format!(
            "job.{name}: unit: expected \"date\" for all of submit_time, eligible_time, \
             start_time and end_time, or for none"
        ));
    }
    None
}
