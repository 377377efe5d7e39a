//! `DataStaging`.

use super::super::{CreationFlag, DataStaging, JSDL, JsdlError, OWN};
use super::{Reader, at, is_nc_name};
use crate::xml::{Element, is_space};

impl Reader<'_> {
    pub(super) fn staging(
        &mut self,
        element: &Element,
        path: &str,
    ) -> Result<DataStaging, JsdlError> {
        self.open(element, path, &["name"])?;
        let mut staging = DataStaging {
            name: self.nc_name(element, path, "name")?,
            ..DataStaging::default()
        };
        let (mut file, mut flag) = (None, None);
        for child in element.elements() {
            let path = at(path, child);
            match (child.namespace.as_ref(), child.name.as_ref()) {
                (JSDL, "FileName") => self.text_once(child, &path, &mut file)?,
                (JSDL, "FilesystemName") => {
                    self.text_once(child, &path, &mut staging.filesystem)?;
                    let name = staging.filesystem.as_deref().unwrap_or_default();
                    if !is_nc_name(name) {
                        return Err(self.value(child, &path, name, "a name"));
                    }
                }
                (JSDL, "CreationFlag") => {
                    self.once(flag.is_some(), child, &path)?;
                    flag = Some(self.creation(child, &path)?);
                }
                (JSDL, "DeleteOnTermination") => {
                    self.once(staging.delete.is_some(), child, &path)?;
                    staging.delete = Some(self.boolean(child, &path)?);
                }
                (JSDL, "Source") => {
                    self.once(staging.source.is_some(), child, &path)?;
                    staging.source = Some(self.uri(child, &path)?);
                }
                (JSDL, "Target") => {
                    self.once(staging.target.is_some(), child, &path)?;
                    staging.target = Some(self.uri(child, &path)?);
                }
                (OWN, "Size") => {
                    self.once(staging.size.is_some(), child, &path)?;
                    staging.size = Some(self.whole(child, &path)?);
                }
                _ => self.stranger(child, &path)?,
            }
        }
        staging.file = file.ok_or_else(|| self.missing(element, path, "FileName"))?;
        staging.creation = flag.ok_or_else(|| self.missing(element, path, "CreationFlag"))?;
        Ok(staging)
    }

    fn creation(&mut self, child: &Element, path: &str) -> Result<CreationFlag, JsdlError> {
        let text = self.text(child, path)?;
        let text = text.trim_matches(is_space);
        let flag = text.parse();
        flag.map_err(|_| self.value(child, path, text, "overwrite, append or dontOverwrite"))
    }

    fn uri(&mut self, element: &Element, path: &str) -> Result<Option<String>, JsdlError> {
        self.open(element, path, &[])?;
        let mut uri = None;
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("URI") => self.text_once(child, &path, &mut uri)?,
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(uri.map(|uri| uri.trim_matches(is_space).to_owned()))
    }
}
