//! The three forms of a program.

use super::language::Jsdl;
use super::records::{NC_NAME, POSITIVE, nc_name, positive};
use super::{FileName, Limit, Processes, Program, ProgramKind, Result, Spmd, Variable};
use crate::xml::record::{
    At, Attribute, Field, Fields, Language as _, Record as _, Tag, Value, Wrong,
};
use crate::xml::{Element, SCHEMA_INSTANCE, is_space};
use std::collections::BTreeMap;

const KINDS: [ProgramKind; 3] = [
    ProgramKind::Posix,
    ProgramKind::HpcProfile,
    ProgramKind::Spmd,
];

/// One of three elements.
impl Field<Jsdl> for Option<Program> {
    fn put(&self, _tag: Tag, parent: &mut Element) {
        parent.push_all(self.iter().map(Program::element));
    }

    fn take(fields: &mut Fields<'_, Jsdl>, _tag: Tag) -> Result<Self> {
        let mut program = None;
        for kind in KINDS {
            while let Some(element) = fields.next(kind.element()) {
                let at = fields.at.inner(element);
                if program.is_some() {
                    let problem = "a second application: expected one";
                    return Err(fields.language.error(&at, Wrong::Other(problem)));
                }
                program = Some(Program::read(&at, fields.language, kind)?);
            }
        }
        Ok(program)
    }
}

impl Program {
    fn element(&self) -> Element {
        let (namespace, name) = self.kind.element();
        let of = self.kind.inner();
        let mut element = Element::new(namespace, name);
        let parent = &mut element;
        parent.set("name", self.name.clone());
        Jsdl::put(&self.executable, (of, "Executable"), parent);
        Jsdl::put(&self.arguments, (of, "Argument"), parent);
        Jsdl::put(&self.input, (of, "Input"), parent);
        Jsdl::put(&self.output, (of, "Output"), parent);
        Jsdl::put(&self.error, (of, "Error"), parent);
        Jsdl::put(&self.working_directory, (of, "WorkingDirectory"), parent);
        Jsdl::put(&self.environment, (of, "Environment"), parent);
        if self.kind == ProgramKind::Posix {
            Jsdl::put(&self.limits, (of, ""), parent);
        }
        Jsdl::put(&self.user, (of, "UserName"), parent);
        match self.kind {
            ProgramKind::Posix => Jsdl::put(&self.group, (of, "GroupName"), parent),
            ProgramKind::Spmd => self.spmd.clone().unwrap_or_default().put_all(parent),
            ProgramKind::HpcProfile => {}
        }
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl, kind: ProgramKind) -> Result<Self> {
        let mut fields = Fields::of(at, language)?;
        let of = kind.inner();
        let is_posix = kind == ProgramKind::Posix;
        let program = Program {
            kind,
            name: Attribute::take(&mut fields, "name")?,
            executable: fields.take((of, "Executable"))?,
            arguments: arguments(&mut fields, kind)?,
            input: fields.take((of, "Input"))?,
            output: fields.take((of, "Output"))?,
            error: fields.take((of, "Error"))?,
            working_directory: fields.take((of, "WorkingDirectory"))?,
            environment: fields.take((of, "Environment"))?,
            limits: match is_posix {
                true => fields.take((of, ""))?,
                false => BTreeMap::<Limit, u64>::new(),
            },
            user: fields.take((of, "UserName"))?,
            group: match is_posix {
                true => fields.take((of, "GroupName"))?,
                false => None,
            },
            spmd: match kind {
                ProgramKind::Spmd => Some(spmd(&mut fields)?),
                _ => None,
            },
        };
        fields.end()?;
        Ok(program)
    }
}

fn arguments(fields: &mut Fields<'_, Jsdl>, kind: ProgramKind) -> Result<Vec<FileName>> {
    let mut arguments: Vec<FileName> = fields.take((kind.inner(), "Argument"))?;
    if kind != ProgramKind::HpcProfile {
        // A normalizedString of the POSIX schema.
        for argument in &mut arguments {
            argument.value = argument.value.replace(is_space, " ");
        }
    }
    Ok(arguments)
}

fn spmd(fields: &mut Fields<'_, Jsdl>) -> Result<Spmd> {
    let mut spmd = Spmd::take_all(fields)?;
    spmd.variation = spmd.variation.trim_matches(is_space).to_owned();
    Ok(spmd)
}

impl Value<Jsdl> for FileName {
    fn write(&self, (namespace, name): Tag) -> Element {
        let mut element = Element::with_text(namespace, name, self.value.as_str());
        element.set("filesystemName", self.filesystem.clone());
        element
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        file_name(at, language, &["filesystemName"])
    }
}

fn file_name(at: &At<'_>, language: &mut Jsdl, known: &[&'static str]) -> Result<FileName> {
    Ok(FileName {
        value: at.text(language, known)?,
        filesystem: name_of(at, language, "filesystemName")?,
    })
}

fn name_of(at: &At<'_>, language: &Jsdl, attribute: &str) -> Result<Option<String>> {
    at.attribute(language, attribute, NC_NAME, |text| nc_name(text.trim()))
}

impl Value<Jsdl> for Variable {
    fn write(&self, tag: Tag) -> Element {
        let value = self.value.write(tag);
        value.with_attribute("name", self.name.as_str())
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        let name = name_of(at, language, "name")?;
        let missing = || language.error(at, Wrong::NoAttribute("name"));
        let name = name.ok_or_else(missing)?;
        let value = file_name(at, language, &["name", "filesystemName"])?;
        Ok(Variable { name, value })
    }
}

/// The attribute by which a number is that of the processors.
fn actual(name: &str) -> &'static str {
    match name {
        "NumberOfProcesses" => "actualtotalcpucount",
        _ => "actualindividualcpucount",
    }
}

impl Value<Jsdl> for Processes {
    fn write(&self, (namespace, name): Tag) -> Element {
        match self {
            Processes::Number(number) => Element::with_text(namespace, name, number.to_string()),
            Processes::Actual => Element::new(namespace, name)
                .with_attribute(actual(name), "true")
                .with_attribute_of(SCHEMA_INSTANCE, "nil", "true"),
        }
    }

    fn read(at: &At<'_>, language: &mut Jsdl) -> Result<Self> {
        let actual = actual(&at.element.name);
        let says = |namespace, name| {
            let text = at.element.attribute(namespace, name).map(str::trim);
            matches!(text, Some("true" | "1"))
        };
        let text = at.text(language, &[actual])?;
        match (says(SCHEMA_INSTANCE, "nil"), says("", actual)) {
            (true, true) => Ok(Processes::Actual),
            (false, false) => {
                let text = text.trim_matches(is_space);
                let wrong = || language.error(at, Wrong::Value(text, POSITIVE));
                Ok(Processes::Number(positive(text).ok_or_else(wrong)?))
            }
            _ => {
                let problem =
                    format!("expected a number, or xsi:nil=\"true\" together with {actual}");
                Err(language.error(at, Wrong::Other(&problem)))
            }
        }
    }
}
