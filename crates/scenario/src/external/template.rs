//! Commands and texts with places to be filled in.

use std::collections::{BTreeMap, BTreeSet};

/// A text with placeholders such as `{xrsl}`; `{{` and `}}` stand for braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A placeholder that stands for nothing.
    #[error("{{{name}}}: expected one of {}", known.join(", "))]
    Unknown {
        /// What is between the braces.
        name: String,
        /// What may be.
        known: Vec<String>,
    },
    /// A brace without its other half.
    #[error("a lone {0}: expected {{name}}, or {0}{0} for a brace")]
    Brace(char),
}

impl Template {
    /// Reads a text whose placeholders are all among these names.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn read(text: &str, known: &BTreeSet<String>) -> Result<Self, TemplateError> {
        let (mut pieces, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = char::from(rest.as_bytes()[at]);
            let after = &rest[at + 1..];
            if let Some(doubled) = after.strip_prefix(brace) {
                plain.push(brace);
                rest = doubled;
                continue;
            }
            let inner = after.split_once('}').filter(|_| brace == '{');
            let (name, behind) = inner.ok_or(TemplateError::Brace(brace))?;
            if !known.contains(name) {
                return Err(TemplateError::Unknown {
                    name: name.to_owned(),
                    known: known.iter().map(|name| format!("{{{name}}}")).collect(),
                });
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Place(name.to_owned()));
            rest = behind;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Template(pieces))
    }

    /// The placeholders in it.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with every place filled in; one without a value is left empty.
    pub fn fill(&self, values: &[&BTreeMap<String, String>]) -> String {
        let value = |name: &str| values.iter().find_map(|values| values.get(name));
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Place(name) => value(name).map_or("", String::as_str),
        });
        pieces.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Template, TemplateError> {
        Template::read(
            text,
            &BTreeSet::from(["dir".to_owned(), "a1.arc".to_owned()]),
        )
    }

    #[test]
    fn places_are_filled_and_doubled_braces_are_braces() {
        let template = read("-z {dir}/c.{{x}}={a1.arc}").unwrap();
        let places: Vec<&str> = template.places().collect();
        assert_eq!(places, ["dir", "a1.arc"]);
        let one = BTreeMap::from([("dir".to_owned(), "/d{x}".to_owned())]);
        let other = BTreeMap::from([("a1.arc".to_owned(), "u".to_owned())]);
        assert_eq!(template.fill(&[&one, &other]), "-z /d{x}/c.{x}=u");
    }

    #[test]
    fn unknown_places_and_lone_braces_are_named() {
        let error = read("{xrsl}").unwrap_err().to_string();
        assert_eq!(error, "{xrsl}: expected one of {a1.arc}, {dir}");
        for text in ["a } b", "a { b"] {
            assert!(read(text).unwrap_err().to_string().starts_with("a lone"));
        }
    }
}
