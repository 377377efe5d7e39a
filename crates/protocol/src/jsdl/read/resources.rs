//! `Resources` and the ranges in it.

use super::super::resources::{ARCHITECTURES, OPERATING_SYSTEMS, listed};
use super::super::{
    Bound, Exact, JSDL, JsdlError, OWN, OperatingSystem, Quantity, Range, RangeValue, Resources,
};
use super::{Reader, at};
use crate::xml::{Element, is_space};

impl Reader<'_> {
    pub(super) fn resources(
        &mut self,
        element: &Element,
        path: &str,
    ) -> Result<Resources, JsdlError> {
        self.open(element, path, &[])?;
        let mut resources = Resources::default();
        for child in element.elements() {
            let path = at(path, child);
            let name = self.named(child, JSDL);
            let quantity = name.and_then(|name| name.parse::<Quantity>().ok());
            if let Some(quantity) = quantity {
                let known = resources.quantities.contains_key(&quantity);
                self.once(known, child, &path)?;
                let value = self.range_value(child, &path)?;
                resources.quantities.insert(quantity, value);
                continue;
            }
            match name {
                Some("CandidateHosts") => {
                    self.once(!resources.candidate_hosts.is_empty(), child, &path)?;
                    resources.candidate_hosts = self.hosts(child, &path)?;
                }
                Some("ExclusiveExecution") => {
                    self.once(resources.exclusive.is_some(), child, &path)?;
                    resources.exclusive = Some(self.boolean(child, &path)?);
                }
                Some("OperatingSystem") => {
                    self.once(resources.operating_system.is_some(), child, &path)?;
                    resources.operating_system = Some(self.operating_system(child, &path)?);
                }
                Some("CPUArchitecture") => {
                    self.once(resources.architecture.is_some(), child, &path)?;
                    let name =
                        self.listed_name(child, &path, "CPUArchitectureName", &ARCHITECTURES)?;
                    resources.architecture = Some(name);
                }
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(resources)
    }

    fn hosts(&mut self, element: &Element, path: &str) -> Result<Vec<String>, JsdlError> {
        self.open(element, path, &[])?;
        let mut hosts = Vec::new();
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("HostName") => hosts.push(self.text(child, &path)?.trim().to_owned()),
                _ => self.stranger(child, &path)?,
            }
        }
        if hosts.is_empty() {
            return Err(self.missing(element, path, "HostName"));
        }
        Ok(hosts)
    }

    fn operating_system(
        &mut self,
        element: &Element,
        path: &str,
    ) -> Result<OperatingSystem, JsdlError> {
        self.open(element, path, &[])?;
        let mut system = OperatingSystem::default();
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("OperatingSystemType") => {
                    self.once(system.name.is_some(), child, &path)?;
                    let list = &OPERATING_SYSTEMS;
                    let name = self.listed_name(child, &path, "OperatingSystemName", list)?;
                    system.name = Some(name);
                }
                Some("OperatingSystemVersion") => {
                    self.text_once(child, &path, &mut system.version)?;
                }
                Some("Description") => self.text_once(child, &path, &mut system.description)?,
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(system)
    }

    /// A name of a list of the standard, or `other` with a name of our own.
    fn listed_name(
        &mut self,
        element: &Element,
        path: &str,
        wanted: &str,
        list: &[&'static str],
    ) -> Result<String, JsdlError> {
        self.open(element, path, &[])?;
        let (mut name, mut own) = (None, None);
        for child in element.elements() {
            let path = at(path, child);
            match (child.namespace.as_ref(), child.name.as_ref()) {
                (JSDL, inner) if inner == wanted => self.text_once(child, &path, &mut name)?,
                (OWN, "Name") => self.text_once(child, &path, &mut own)?,
                _ => self.stranger(child, &path)?,
            }
        }
        let name = name.ok_or_else(|| self.missing(element, path, wanted))?;
        let name = name.trim();
        match (name, own) {
            ("other", Some(own)) => Ok(own.trim().to_owned()),
            ("other", None) => Err(self.unsupported(
                element,
                &format!("{path}/{wanted}"),
                "\"other\" says nothing without a gridrig:Name beside it",
            )),
            _ => match listed(list, name) {
                Some(listed) => Ok(listed.to_owned()),
                None => Err(self.value(
                    element,
                    &format!("{path}/{wanted}"),
                    name,
                    "a name of JSDL 1.0's list",
                )),
            },
        }
    }

    fn range_value(&mut self, element: &Element, path: &str) -> Result<RangeValue, JsdlError> {
        self.open(element, path, &[])?;
        let mut value = RangeValue::default();
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("UpperBoundedRange") => {
                    self.once(value.upper.is_some(), child, &path)?;
                    value.upper = Some(self.bound(child, &path)?);
                }
                Some("LowerBoundedRange") => {
                    self.once(value.lower.is_some(), child, &path)?;
                    value.lower = Some(self.bound(child, &path)?);
                }
                Some("Exact") => {
                    self.open_text(child, &path, &["epsilon"])?;
                    let epsilon = child.attribute("", "epsilon");
                    let epsilon = epsilon
                        .map(|text| self.number(child, &format!("{path}/@epsilon"), text))
                        .transpose()?;
                    let number = self.number(child, &path, &child.text())?;
                    value.exact.push(Exact {
                        value: number,
                        epsilon,
                    });
                }
                Some("Range") => value.ranges.push(self.range(child, &path)?),
                _ => self.stranger(child, &path)?,
            }
        }
        if value == RangeValue::default() {
            return Err(self.missing(
                element,
                path,
                "Exact, Range, LowerBoundedRange or UpperBoundedRange",
            ));
        }
        Ok(value)
    }

    fn range(&mut self, element: &Element, path: &str) -> Result<Range, JsdlError> {
        self.open(element, path, &[])?;
        let (mut lower, mut upper) = (None, None);
        for child in element.elements() {
            let path = at(path, child);
            match self.named(child, JSDL) {
                Some("LowerBound") => {
                    self.once(lower.is_some(), child, &path)?;
                    lower = Some(self.bound(child, &path)?);
                }
                Some("UpperBound") => {
                    self.once(upper.is_some(), child, &path)?;
                    upper = Some(self.bound(child, &path)?);
                }
                _ => self.stranger(child, &path)?,
            }
        }
        Ok(Range {
            lower: lower.ok_or_else(|| self.missing(element, path, "LowerBound"))?,
            upper: upper.ok_or_else(|| self.missing(element, path, "UpperBound"))?,
        })
    }

    fn bound(&mut self, element: &Element, path: &str) -> Result<Bound, JsdlError> {
        self.open_text(element, path, &["exclusiveBound"])?;
        let exclusive = match element.attribute("", "exclusiveBound").map(str::trim) {
            None | Some("false" | "0") => false,
            Some("true" | "1") => true,
            Some(other) => {
                let path = format!("{path}/@exclusiveBound");
                return Err(self.value(element, &path, other, "true or false"));
            }
        };
        Ok(Bound {
            value: self.number(element, path, &element.text())?,
            exclusive,
        })
    }

    fn number(&self, element: &Element, path: &str, text: &str) -> Result<f64, JsdlError> {
        let text = text.trim_matches(is_space);
        // Rust reads "inf" and "nan" as well, which are numbers of nothing.
        let plain = text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let number = text.parse::<f64>().ok().filter(|n| plain && n.is_finite());
        number.ok_or_else(|| self.value(element, path, text, "a finite number"))
    }
}
