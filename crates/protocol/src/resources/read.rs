//! The reader: from a tree of elements, three levels deep.

use super::field::{Field, Group};
use super::{NAMESPACE, ResourceError};
use crate::xml::{Element, SCHEMA_INSTANCE, is_space};
use gridrig_core::resource::{Resource, Resources};

const ROOT: &str = "EmulatedResources";
const GROUP: &str = "Resource";

/// Most elements and texts of a file: those of 60,000 groups, and some more.
const MAX_NODES: usize = 1_000_000;

/// Reads one document.
pub(super) fn parse(file: &str, text: &str) -> Result<Resources, ResourceError> {
    let root = Element::parse_at_most(text.as_bytes(), MAX_NODES)
        .map_err(|error| ResourceError::at(file, error.line, error.problem))?;
    let reader = Reader { file };
    reader.holder(&root, ROOT)?;
    let groups: Result<Vec<_>, _> = root.elements().map(|one| reader.group(one)).collect();
    let groups = groups?;
    if groups.is_empty() {
        let problem = "missing element Resource: expected at least one";
        return Err(reader.wrong(&root, problem));
    }
    Resources::new(groups).ok_or_else(|| ResourceError::TooManyProcessors {
        file: file.to_owned(),
    })
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn group(&self, element: &Element) -> Result<Resource, ResourceError> {
        self.holder(element, GROUP)?;
        let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        let expected = format!("one of {}", names.join(", "));
        let mut seen = [false; Field::ALL.len()];
        for child in element.elements() {
            let field = Field::from_name(&child.name);
            self.check(child, field.is_some(), &expected)?;
            let seen = field.map(|field| std::mem::replace(&mut seen[field as usize], true));
            if seen == Some(true) {
                return Err(self.wrong(child, "given twice: expected it once"));
            }
            if let Some(inner) = child.elements().next() {
                let problem = format!("not allowed in {}: expected a text", child.name);
                return Err(self.wrong(inner, &problem));
            }
        }
        let file = self.file;
        Group { file, element }.resource()
    }

    /// An element that holds elements and no text.
    fn holder(&self, element: &Element, name: &str) -> Result<(), ResourceError> {
        self.check(element, element.name == name, name)?;
        let Some(word) = element
            .stray_text()
            .and_then(|text| text.split(is_space).next())
        else {
            return Ok(());
        };
        let problem = format!("text {word:?} between elements: expected an element");
        Err(ResourceError::at(self.file, element.line, problem))
    }

    fn check(&self, element: &Element, known: bool, expected: &str) -> Result<(), ResourceError> {
        if element.namespace != NAMESPACE {
            let found = match element.namespace.as_ref() {
                "" => "no namespace".to_owned(),
                other => format!("{other:?}"),
            };
            let problem = format!("in {found}: expected the namespace {NAMESPACE:?}");
            return Err(self.wrong(element, &problem));
        }
        // Attributes of this namespace point editors and validators to the schema.
        let mut own = element.attributes.iter();
        if let Some(own) = own.find(|attribute| attribute.namespace != SCHEMA_INSTANCE) {
            let problem = format!("attribute {}: expected none", own.name);
            return Err(self.wrong(element, &problem));
        }
        match known {
            true => Ok(()),
            false => Err(self.wrong(element, &format!("not allowed here: expected {expected}"))),
        }
    }

    fn wrong(&self, element: &Element, problem: &str) -> ResourceError {
        ResourceError::element(self.file, element, problem)
    }
}
