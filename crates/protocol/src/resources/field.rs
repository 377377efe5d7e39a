//! The elements of a `Resource` and what their text may be.

use super::ResourceError;
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
        !matches!(self, Field::Name | Field::Disk | Field::Speed)
    }
}

/// The text of one element and its line.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) line: usize,
    pub(super) value: String,
}

/// A `Resource` while its elements are being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) line: usize,
    texts: [Option<Text>; Field::ALL.len()],
}

impl Draft {
    pub(super) fn new(line: usize) -> Self {
        Draft {
            line,
            ..Draft::default()
        }
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.texts[field as usize].is_some()
    }

    pub(super) fn set(&mut self, field: Field, text: Text) {
        self.texts[field as usize] = Some(text);
    }

    /// The group of nodes, once `Resource` has ended.
    pub(super) fn finish(&self, file: &str) -> Result<Resource, ResourceError> {
        if let Some(missing) = Field::ALL
            .iter()
            .find(|field| field.is_required() && !self.has(**field))
        {
            return Err(ResourceError::Element {
                file: file.to_owned(),
                line: self.line,
                element: "Resource".to_owned(),
                problem: format!("missing element {}: expected it once", missing.name()),
            });
        }
        let values = Values { file, draft: self };
        Ok(Resource {
            name: values.word(Field::Name)?,
            count: values.count(Field::Count)?,
            cpu_count: values.count(Field::CpuCount)?,
            architecture: values.word(Field::Architecture)?,
            os: values.word(Field::Os)?,
            memory_mib: values.mebibytes(Field::PhysicalMemory)?,
            disk_mib: values.mebibytes(Field::Disk)?,
            speed: values.speed(Field::Speed)?,
        })
    }
}

/// Reads the values of a draft in which every required element is present.
struct Values<'a> {
    file: &'a str,
    draft: &'a Draft,
}

impl Values<'_> {
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

    fn read<T>(
        &self,
        field: Field,
        expected: &'static str,
        convert: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ResourceError> {
        let Some(text) = &self.draft.texts[field as usize] else {
            return Ok(None);
        };
        convert(&text.value)
            .map(Some)
            .ok_or_else(|| ResourceError::Value {
                file: self.file.to_owned(),
                line: text.line,
                element: field.name(),
                value: text.value.clone(),
                expected,
            })
    }
}

/// The text if it is digits and nothing else: a sign is not part of any of
/// our numbers.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}
