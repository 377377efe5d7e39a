//! The attributes of each language and what they mean in the words of JSDL: `table.md`,
//! which is a part of `docs/descriptions.md`.

use super::{Language, rsl};
use crate::jsdl::{Limit, Quantity};
use std::sync::LazyLock;
use strum::VariantArray as _;

/// What an attribute means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Means {
    Number(Quantity),
    Limit(Limit),
    /// An element of another kind, by its name.
    Element(&'static str),
}

impl Means {
    /// What the first column of the table says; `None` where JSDL has no word.
    fn named(cell: &'static str) -> Option<Self> {
        let name = cell.strip_prefix('`')?;
        let name = name.strip_suffix('`').unwrap_or(name);
        let limit = Limit::VARIANTS.iter().find(|it| <&str>::from(**it) == name);
        let quantity = Quantity::VARIANTS.iter().find(|it| it.name() == name);
        let number = limit.map(|it| Means::Limit(*it));
        let number = number.or(quantity.map(|it| Means::Number(*it)));
        Some(number.unwrap_or(Means::Element(name)))
    }

    /// Whether it may be said several times.
    pub(super) fn repeats(self) -> bool {
        let all = ["Argument", "Environment", "JobProject", "CandidateHosts"];
        matches!(self, Means::Element(name) if all.contains(&name) || name.contains('/'))
    }
}

/// What an attribute is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    /// Its unit, or how its values are written.
    pub(super) form: &'static str,
    /// Its counterpart in JSDL, if there is one.
    pub(super) means: Option<Means>,
    /// The first column of the table.
    pub(super) about: &'static str,
}

impl Attribute {
    /// The relation by which it is written.
    pub(super) fn op(&self) -> &'static str {
        let is_number = matches!(self.means, Some(Means::Number(_) | Means::Limit(_)));
        match self.name.starts_with("other.") && is_number {
            true => ">=",
            false => "=",
        }
    }
}

static TABLES: LazyLock<[Vec<Attribute>; 4]> =
    LazyLock::new(|| [1, 2, 3, 4].map(|column| attributes(column).collect()));

fn attributes(column: usize) -> impl Iterator<Item = Attribute> {
    let rows = include_str!("table.md").lines().skip(2);
    rows.flat_map(move |row| {
        let about = row.split('|').nth(1).unwrap_or_default().trim();
        let cell = row.split('|').nth(column + 1).unwrap_or_default().trim();
        let cells = cell.split(", ");
        let attributes = cells.filter_map(|it| it.strip_prefix('`')?.split_once('`'));
        attributes.map(move |(name, form)| Attribute {
            name,
            form: form.trim(),
            means: Means::named(about),
            about,
        })
    })
}

/// All attributes of a language; JSDL has elements.
pub(super) fn all(language: Language) -> &'static [Attribute] {
    match language {
        Language::Jsdl | Language::Json => &[],
        Language::Xrsl => &TABLES[0],
        Language::Rsl => &TABLES[1],
        Language::Jdl => &TABLES[2],
        Language::Adl => &TABLES[3],
    }
}

/// The attribute of this name.
pub(super) fn named(language: Language, name: &str) -> Option<&'static Attribute> {
    let folded = |name: &str| match language {
        Language::Xrsl | Language::Rsl => rsl::folded(name),
        Language::Jdl => name.to_ascii_lowercase(),
        _ => name.to_owned(),
    };
    let name = folded(name);
    let mut all = all(language).iter();
    all.find(|attribute| folded(attribute.name) == name)
}
