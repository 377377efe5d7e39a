//! `Application` and the three forms of a program.

use super::super::{
    Application, FileName, HPC_PROFILE, JSDL, JsdlError, Limit, POSIX, Processes, Program,
    ProgramKind, SPMD, Spmd, Variable,
};
use super::{Reader, at, is_nc_name};
use crate::xml::{Element, SCHEMA_INSTANCE, is_space};

impl Reader<'_> {
    pub(super) fn application(
        &mut self,
        element: &Element,
        path: &str,
    ) -> Result<Application, JsdlError> {
        self.open(element, path, &[])?;
        let mut application = Application::default();
        for child in element.elements() {
            let path = at(path, child);
            let kind = match (child.namespace.as_ref(), child.name.as_ref()) {
                (JSDL, "ApplicationName") => {
                    self.text_once(child, &path, &mut application.name)?;
                    continue;
                }
                (JSDL, "ApplicationVersion") => {
                    self.text_once(child, &path, &mut application.version)?;
                    continue;
                }
                (JSDL, "Description") => {
                    self.text_once(child, &path, &mut application.description)?;
                    continue;
                }
                (POSIX, "POSIXApplication") => ProgramKind::Posix,
                (HPC_PROFILE, "HPCProfileApplication") => ProgramKind::HpcProfile,
                (SPMD, "SPMDApplication") => ProgramKind::Spmd,
                _ => {
                    self.stranger(child, &path)?;
                    continue;
                }
            };
            if application.program.is_some() {
                let problem = "a second application: expected one";
                return Err(self.element(child, &path, problem));
            }
            application.program = Some(self.program(child, &path, kind)?);
        }
        Ok(application)
    }

    fn program(
        &mut self,
        element: &Element,
        path: &str,
        kind: ProgramKind,
    ) -> Result<Program, JsdlError> {
        self.open(element, path, &["name"])?;
        let mut program = Program {
            kind,
            name: self.nc_name(element, path, "name")?,
            ..Program::default()
        };
        let (mut spmd, mut variation) = (Spmd::default(), None);
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, kind.inner()) {
                Some(name) => self.program_part(child, &path, name, &mut program)?,
                None if kind == ProgramKind::Spmd => {
                    self.spmd_part(child, &path, &mut spmd, &mut variation)?;
                }
                None => self.stranger(child, &path)?,
            }
        }
        if kind == ProgramKind::Spmd {
            let missing = || self.missing(element, path, "SPMDVariation");
            spmd.variation = variation.ok_or_else(missing)?;
            program.spmd = Some(spmd);
        }
        Ok(program)
    }

    fn program_part(
        &mut self,
        child: &Element,
        path: &str,
        name: &str,
        program: &mut Program,
    ) -> Result<(), JsdlError> {
        let posix = program.kind == ProgramKind::Posix;
        let limit = Limit::ALL.iter().find(|limit| limit.name() == name);
        if let Some(&limit) = limit.filter(|_| posix) {
            self.once(program.limits.contains_key(&limit), child, path)?;
            let value = self.whole(child, path)?;
            program.limits.insert(limit, value);
            return Ok(());
        }
        let slot = match name {
            "Executable" => &mut program.executable,
            "Input" => &mut program.input,
            "Output" => &mut program.output,
            "Error" => &mut program.error,
            "WorkingDirectory" => &mut program.working_directory,
            "Argument" => {
                let mut argument = self.file_name(child, path, &["filesystemName"])?;
                if program.kind != ProgramKind::HpcProfile {
                    // A normalizedString of the POSIX schema.
                    argument.value = argument.value.replace(is_space, " ");
                }
                program.arguments.push(argument);
                return Ok(());
            }
            "Environment" => {
                let name = self.nc_name(child, path, "name")?;
                let missing = || self.missing(child, path, "the attribute name");
                let name = name.ok_or_else(missing)?;
                let value = self.file_name(child, path, &["name", "filesystemName"])?;
                program.environment.push(Variable { name, value });
                return Ok(());
            }
            "UserName" => return self.text_once(child, path, &mut program.user),
            "GroupName" if posix => return self.text_once(child, path, &mut program.group),
            _ => return self.stranger(child, path),
        };
        self.once(slot.is_some(), child, path)?;
        *slot = Some(self.file_name(child, path, &["filesystemName"])?);
        Ok(())
    }

    fn spmd_part(
        &mut self,
        child: &Element,
        path: &str,
        spmd: &mut Spmd,
        variation: &mut Option<String>,
    ) -> Result<(), JsdlError> {
        match self.named(child, SPMD) {
            Some("NumberOfProcesses") => {
                self.once(spmd.processes.is_some(), child, path)?;
                spmd.processes = Some(self.processes(child, path, "actualtotalcpucount")?);
            }
            Some("ThreadsPerProcess") => {
                self.once(spmd.threads.is_some(), child, path)?;
                spmd.threads = Some(self.processes(child, path, "actualindividualcpucount")?);
            }
            Some("ProcessesPerHost") => {
                self.once(spmd.per_host.is_some(), child, path)?;
                spmd.per_host = Some(self.positive(child, path)?);
            }
            Some("SPMDVariation") => {
                self.text_once(child, path, variation)?;
                if let Some(uri) = variation {
                    *uri = uri.trim_matches(is_space).to_owned();
                }
            }
            _ => self.stranger(child, path)?,
        }
        Ok(())
    }

    fn processes(
        &mut self,
        child: &Element,
        path: &str,
        actual: &str,
    ) -> Result<Processes, JsdlError> {
        self.open_text(child, path, &[actual])?;
        let says = |attribute: Option<&str>| matches!(attribute.map(str::trim), Some("true" | "1"));
        let nil = says(child.attribute(SCHEMA_INSTANCE, "nil"));
        match (nil, says(child.attribute("", actual))) {
            (true, true) => Ok(Processes::Actual),
            (false, false) => Ok(Processes::Number(self.positive_text(child, path)?)),
            _ => {
                let problem =
                    format!("expected a number, or xsi:nil=\"true\" together with {actual}");
                Err(self.element(child, path, &problem))
            }
        }
    }

    fn positive(&mut self, child: &Element, path: &str) -> Result<u32, JsdlError> {
        self.open_text(child, path, &[])?;
        self.positive_text(child, path)
    }

    fn positive_text(&self, child: &Element, path: &str) -> Result<u32, JsdlError> {
        let text = child.text();
        let text = text.trim_matches(is_space);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u32>().ok().filter(|n| digits && *n > 0);
        number.ok_or_else(|| self.value(child, path, text, "a whole number from 1 to 4294967295"))
    }

    fn file_name(
        &mut self,
        child: &Element,
        path: &str,
        known: &[&str],
    ) -> Result<FileName, JsdlError> {
        self.open_text(child, path, known)?;
        Ok(FileName {
            value: child.text(),
            filesystem: self.nc_name(child, path, "filesystemName")?,
        })
    }

    pub(super) fn nc_name(
        &self,
        element: &Element,
        path: &str,
        attribute: &str,
    ) -> Result<Option<String>, JsdlError> {
        let Some(name) = element.attribute("", attribute) else {
            return Ok(None);
        };
        let name = name.trim();
        if is_nc_name(name) {
            return Ok(Some(name.to_owned()));
        }
        let expected = "a name of letters, digits, `_`, `-` and `.`";
        Err(self.value(element, &format!("{path}/@{attribute}"), name, expected))
    }
}
