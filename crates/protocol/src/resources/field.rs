//! The elements of a `Resource` and what their text may be.

use super::{NAMESPACE, ResourceError};
use crate::xml::{Element, is_space};
use gridrig_core::generic::{EXPECTED, Generics};
use gridrig_core::resource::Resource;
use gridrig_core::time::Decimal;

/// An element of `Resource`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
pub(super) enum Field {
    Name,
    Count,
    Architecture,
    #[strum(to_string = "CPUCount")]
    CpuCount,
    #[strum(to_string = "OS")]
    Os,
    PhysicalMemory,
    Disk,
    Speed,
    GenericResources,
}

impl Field {
    /// All of them, in the order in which they are written.
    pub(super) const ALL: &'static [Field] = <Field as strum::VariantArray>::VARIANTS;

    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The five elements of the paper have to be there.
    const fn is_required(self) -> bool {
        !matches!(
            self,
            Field::Name | Field::Disk | Field::Speed | Field::GenericResources
        )
    }
}

/// A `Resource` whose elements are known ones, each at most once.
pub(super) struct Group<'a> {
    pub(super) file: &'a str,
    pub(super) element: &'a Element,
}

impl Group<'_> {
    /// The nodes that it stands for.
    pub(super) fn resource(&self) -> Result<Resource, ResourceError> {
        let required = Field::ALL.iter().filter(|field| field.is_required());
        let mut missing = required.filter(|field| self.child(**field).is_none());
        if let Some(missing) = missing.next() {
            let problem = format!("missing element {}: expected it once", missing.name());
            return Err(ResourceError::element(self.file, self.element, &problem));
        }
        Ok(Resource {
            name: self.word(Field::Name)?,
            count: self.count(Field::Count)?,
            cpu_count: self.count(Field::CpuCount)?,
            architecture: self.word(Field::Architecture)?,
            os: self.word(Field::Os)?,
            memory_mib: self.mebibytes(Field::PhysicalMemory)?,
            disk_mib: self.mebibytes(Field::Disk)?,
            speed: self.speed(Field::Speed)?,
            generic: self.generic(Field::GenericResources)?,
        })
    }

    fn child(&self, field: Field) -> Option<&Element> {
        self.element.child(NAMESPACE, field.name())
    }

    fn word(&self, field: Field) -> Result<Option<String>, ResourceError> {
        self.read(field, "a text that is not empty", |text| {
            (!text.is_empty()).then(|| text.to_owned())
        })
    }

    fn count(&self, field: Field) -> Result<u32, ResourceError> {
        let expected = "a whole number from 1 to 4294967295";
        let count = self.read(field, expected, |text| {
            digits(text)?.parse::<u32>().ok().filter(|count| *count > 0)
        })?;
        // Count and CPUCount are required, so that the default stands for
        // nothing that a file can contain.
        Ok(count.unwrap_or(1))
    }

    fn mebibytes(&self, field: Field) -> Result<Option<u64>, ResourceError> {
        let expected = "a whole number of MiB from 1 to 18446744073709551615";
        self.read(field, expected, |text| {
            digits(text)?.parse::<u64>().ok().filter(|mib| *mib > 0)
        })
    }

    fn speed(&self, field: Field) -> Result<Decimal, ResourceError> {
        let expected = "a decimal number above 0 with at most 9 digits on either side of its point";
        let speed = self.read(field, expected, |text| {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            let fits = |part: &str| digits(part).is_some() && part.len() <= 9;
            let speed = Decimal::parse(text).filter(|_| fits(whole) && fits(fraction))?;
            (!speed.is_zero()).then_some(speed)
        })?;
        Ok(speed.unwrap_or(Decimal::ONE))
    }

    fn generic(&self, field: Field) -> Result<Generics, ResourceError> {
        let generic = self.read(field, EXPECTED, |text| {
            text.parse().ok().filter(|all: &Generics| !all.is_empty())
        })?;
        Ok(generic.unwrap_or_default())
    }

    fn read<T>(
        &self,
        field: Field,
        expected: &str,
        convert: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ResourceError> {
        let Some(element) = self.child(field) else {
            return Ok(None);
        };
        let value = collapse(&element.text());
        let wrong = || {
            let what = format!("element {} = {value:?}: expected {expected}", field.name());
            ResourceError::at(self.file, element.line, what)
        };
        convert(&value).map(Some).ok_or_else(wrong)
    }
}

/// The text if it is digits and nothing else: a sign is not part of any of
/// our numbers.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// The text as `xs:token` reads it: no spaces around, single ones within.
pub(super) fn collapse(text: &str) -> String {
    let words: Vec<&str> = text
        .split(is_space)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}
