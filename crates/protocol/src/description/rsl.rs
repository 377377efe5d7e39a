//! The syntax of the Resource Specification Language 1.0 of Globus, which ARC's xRSL shares.

use super::syntax::{Cursor, MAX_JOBS, OPERATORS, Read, Relation, Request, Value, texts};
use super::{Lost, MAX_BYTES};
use std::collections::BTreeMap;

/// Reads a request, or the requests of a multi-request, which stand behind a `+`.
pub(super) fn read(text: &str) -> Read<Vec<Request>> {
    let mut reader = Reader {
        at: Cursor::new(text, &[("(*", "*)")]),
        bytes: 0,
        variables: BTreeMap::new(),
        lost: Vec::new(),
    };
    let mut all = Vec::new();
    if reader.at.takes("+")? {
        while all.is_empty() || !reader.at.rest.is_empty() {
            reader.at.expect("(")?;
            all.push(reader.request()?);
            reader.at.expect(")")?;
            reader.at.space()?;
            if all.len() > MAX_JOBS {
                return reader.at.wrong(&format!("at most {MAX_JOBS} requests"));
            }
        }
    } else {
        all.push(reader.request()?);
        reader.at.space()?;
    }
    match reader.at.rest.is_empty() {
        true => Ok(all),
        false => reader.at.wrong("the end"),
    }
}

struct Reader<'a> {
    at: Cursor<'a>,
    /// Of all values: variables within variables grow fast.
    bytes: usize,
    variables: BTreeMap<String, String>,
    lost: Vec<Lost>,
}

/// What ends a text without quotation marks.
const SPECIAL: &str = "+&|()=<>!\"'^#$";

impl<'a> Reader<'a> {
    fn request(&mut self) -> Read<Request> {
        let mut relations = Vec::new();
        self.variables.clear();
        self.boolean(&mut relations)?;
        let lost = std::mem::take(&mut self.lost);
        Ok(Request { relations, lost })
    }

    /// A conjunction, or the first of some alternatives.
    fn boolean(&mut self, into: &mut Vec<Relation>) -> Read<()> {
        let is_choice = self.at.takes("|")?;
        if !is_choice && !self.at.takes("&")? {
            return self.at.wrong("& or | (a + stands at the beginning only)");
        }
        self.at.deeper()?;
        let mut is_first = true;
        while self.at.takes("(")? {
            self.at.space()?;
            let (line, text, mut part) = (self.at.line, self.at.rest, Vec::new());
            match text.starts_with(['&', '|', '+']) {
                true => self.boolean(&mut part)?,
                false => self.relation(&mut part)?,
            }
            if is_choice && !is_first {
                let value = &text[..text.len() - self.at.rest.len()];
                let why = "of alternatives the first is taken";
                self.lost.push(Lost::of(line, "|", value, why));
            } else {
                into.append(&mut part);
            }
            self.at.expect(")")?;
            is_first = false;
        }
        self.at.depth -= 1;
        Ok(())
    }

    fn relation(&mut self, into: &mut Vec<Relation>) -> Read<()> {
        let (line, name) = (self.at.line, self.at.name()?);
        self.at.space()?;
        let mut operators = OPERATORS.into_iter();
        let Some(op) = operators.find(|op| self.at.rest.starts_with(op)) else {
            return self.at.wrong("=, !=, <, <=, > or >=");
        };
        self.at.skip(op.len());
        if folded(&name) != "rslsubstitution" {
            into.push(Relation::new(line, name, op, self.values()?));
            return Ok(());
        }
        // Each may have those before it in its value.
        while self.at.takes("(")? {
            let relation = Relation::new(line, name.clone(), op, self.values()?);
            let [name, value] = texts(&relation.values).unwrap_or_default()[..] else {
                return Err(relation.wrong("pairs of a name and a value"));
            };
            self.variables.insert(name.to_owned(), value.to_owned());
            self.at.expect(")")?;
        }
        Ok(())
    }

    /// Everything up to the parenthesis that closes.
    fn values(&mut self) -> Read<Vec<Value>> {
        let mut all = Vec::new();
        loop {
            if self.at.takes("(")? {
                self.at.deeper()?;
                all.push(Value::List(self.values()?));
                self.at.expect(")")?;
                self.at.depth -= 1;
            } else if self.at.rest.is_empty() || self.at.rest.starts_with(')') {
                return Ok(all);
            } else {
                all.push(Value::Text(self.text()?));
            }
        }
    }

    /// A text of parts that stand side by side, or with a `#` between them.
    fn text(&mut self) -> Read<String> {
        let mut text = self.part()?;
        let ends = |c: char| c.is_whitespace() || "()#+&|=<>!".contains(c);
        while self.at.rest.starts_with(|c| !ends(c)) || self.at.takes("#")? {
            self.at.space()?;
            text += &self.part()?;
        }
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            let most = format!("values of at most {MAX_BYTES} bytes");
            return self.at.wrong(&most);
        }
        Ok(text)
    }

    fn part(&mut self) -> Read<String> {
        let here = self.at.rest;
        match here.chars().next() {
            Some('"' | '\'') => self.quoted(),
            Some('^') if here.len() > 1 => {
                self.at.skip(1);
                self.quoted()
            }
            Some('$') => self.variable(),
            _ => Ok(self.bare()?.to_owned()),
        }
    }

    /// Between two marks of any kind; within, the mark itself is written twice.
    fn quoted(&mut self) -> Read<String> {
        let mark: String = self.at.rest.chars().take(1).collect();
        let wrong = self.at.wrong(&format!("a text that ends with {mark}"));
        let mut text = String::new();
        self.at.skip(mark.len());
        loop {
            let Some(end) = self.at.rest.find(&mark) else {
                return wrong;
            };
            text += self.at.skip(end);
            self.at.skip(mark.len());
            if !self.at.rest.starts_with(&mark) {
                return Ok(text);
            }
            text += self.at.skip(mark.len());
        }
    }

    /// `$(NAME)` or `$(NAME DEFAULT)`.
    fn variable(&mut self) -> Read<String> {
        self.at.skip(1);
        self.at.expect("(")?;
        self.at.deeper()?;
        self.at.space()?;
        let (line, name) = (self.at.line, self.bare()?);
        self.at.space()?;
        let default = match self.at.rest.starts_with(')') {
            true => None,
            false => Some(self.text()?),
        };
        self.at.expect(")")?;
        self.at.depth -= 1;
        let value = self.variables.get(name).cloned().or(default);
        Ok(value.unwrap_or_else(|| {
            let value = format!("$({name})");
            let why = "a variable of the system that runs the job: kept as it stands";
            self.lost.push(Lost::of(line, &value, "", why));
            value
        }))
    }

    fn bare(&mut self) -> Read<&'a str> {
        match self.at.until(|c| c.is_whitespace() || SPECIAL.contains(c)) {
            "" => self.at.wrong("a word or a text in quotation marks"),
            word => Ok(word),
        }
    }
}

/// A name of an attribute: neither the case of letters nor `_` counts.
pub(super) fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "")
}

/// One or several requests.
pub(super) fn write(requests: &[Vec<Relation>]) -> String {
    let relation = |it: &Relation| format!("({}{}{})", it.name, it.op, written(&it.values));
    let one = |all: &Vec<Relation>| {
        let all: Vec<String> = all.iter().map(relation).collect();
        format!("&{}", all.join("\n "))
    };
    match requests {
        [only] => one(only) + "\n",
        several => {
            let parts = several.iter().map(|it| format!("({})\n", one(it)));
            format!("+{}", parts.collect::<String>())
        }
    }
}

fn written(values: &[Value]) -> String {
    let value = |value: &Value| match value {
        Value::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::List(list) => format!("({})", written(list)),
    };
    values.iter().map(value).collect::<Vec<_>>().join(" ")
}
