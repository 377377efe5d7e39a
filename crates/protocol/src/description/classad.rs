//! The syntax of ClassAds, as far as gLite's Job Description Language has jobs in it.
//! Requirements are taken apart where they are a conjunction of comparisons; nothing is
//! evaluated.

use super::Lost;
use super::syntax::{Cursor, MAX_DEPTH, Read, Relation, Request, Value};

const COMMENTS: &[(&str, &str)] = &[("//", "\n"), ("#", "\n"), ("/*", "*/")];

/// Reads a job.
pub(super) fn read(text: &str) -> Read<Request> {
    let mut at = Cursor::new(text, COMMENTS);
    let is_enclosed = at.takes("[")?;
    let mut request = Request::default();
    for entry in entries(&mut at)? {
        let name = entry.name.to_ascii_lowercase();
        match (&*name, entry.values.as_slice()) {
            ("type", [Value::Text(kind)]) if kind.eq_ignore_ascii_case("job") => {}
            ("type", _) => return Err(entry.wrong("\"Job\": of several jobs each is a document")),
            ("requirements", [Value::List(list)]) => {
                let text = list.iter().map(Value::shown).collect::<String>();
                requirements(&text, entry.line, &mut request);
            }
            _ => request.relations.push(entry),
        }
    }
    if is_enclosed {
        at.expect("]")?;
        at.takes(";")?;
    }
    at.space()?;
    match at.rest.is_empty() {
        true => Ok(request),
        false => at.wrong("the end"),
    }
}

/// Attributes up to a bracket that closes, or the end.
fn entries(at: &mut Cursor<'_>) -> Read<Vec<Relation>> {
    let mut all = Vec::new();
    loop {
        while at.takes(";")? {}
        if at.rest.is_empty() || at.rest.starts_with(']') {
            return Ok(all);
        }
        let (name, line) = (at.name()?, at.line);
        at.expect("=")?;
        let values = match value(at)? {
            (Value::List(list), true) => list,
            (value, _) => vec![value],
        };
        all.push(Relation::new(line, name, "=", values));
        at.space()?;
        if !(at.rest.is_empty() || at.rest.starts_with([';', ']'])) {
            return at.wrong(";");
        }
    }
}

/// A value, and whether it is a list. An expression is a list of its text.
fn value(at: &mut Cursor<'_>) -> Read<(Value, bool)> {
    at.deeper()?;
    let mut list = Vec::new();
    let is_list = at.takes("{")?;
    let value = if is_list {
        while !at.takes("}")? {
            list.push(value(at)?.0);
            if !at.takes(",")? && !at.rest.starts_with('}') {
                return at.wrong(", or }");
            }
        }
        Value::List(list)
    } else if at.takes("[")? {
        let entries = entries(at)?;
        at.expect("]")?;
        Value::list(entries.into_iter().map(|entry| entry.name))
    } else {
        expression(at)?
    };
    at.depth -= 1;
    Ok((value, is_list))
}

fn expression(at: &mut Cursor<'_>) -> Read<Value> {
    at.space()?;
    let (text, mut open) = (at.rest, Vec::<char>::new());
    let (mut end, mut is_said) = (0, false);
    loop {
        let next = at.rest.chars().next();
        match (next, open.last()) {
            (None | Some(';' | ',' | '}' | ']'), None) => break,
            (None | Some(')' | ']' | '}'), wanted) if next.as_ref() != wanted => {
                return at.wrong(&wanted.unwrap_or(&';').to_string());
            }
            (Some(')' | ']' | '}'), _) => drop(open.pop()),
            (Some('('), _) => open.push(')'),
            (Some('['), _) => open.push(']'),
            (Some('{'), _) => open.push('}'),
            _ => {}
        }
        if at.depth + open.len() > MAX_DEPTH {
            return at.wrong(&format!("at most {MAX_DEPTH} levels of brackets"));
        }
        let is_operator = at.rest.starts_with("is ") || at.rest.starts_with("isnt ");
        let is_value = next.is_some_and(|c| c == '"' || c == '_' || c.is_alphanumeric());
        if is_said && is_value && !is_operator {
            return at.wrong("; or , or an operator");
        }
        is_said = !is_operator && (is_value || next.is_some_and(|c| ".)]}".contains(c)));
        match next {
            Some('"') => drop(quoted(at)?),
            Some(c) if !is_value && c != '.' => drop(at.skip(c.len_utf8())),
            _ => drop(at.until(|c| !c.is_alphanumeric() && !"_.".contains(c))),
        }
        end = text.len() - at.rest.len();
        at.space()?;
    }
    match end {
        0 => at.wrong("a value"),
        end => Ok(literal(&text[..end]).map_or_else(|| Value::list([&text[..end]]), Value::Text)),
    }
}

/// A text, a number or a truth value that stands by itself.
fn literal(text: &str) -> Option<String> {
    if text.starts_with('"') {
        let mut at = Cursor::new(text, COMMENTS);
        let text = quoted(&mut at).ok()?;
        return at.rest.is_empty().then_some(text);
    }
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let is_truth = ["true", "false"].contains(&&*text.to_ascii_lowercase());
    (is_word && (is_number || is_truth)).then(|| text.to_owned())
}

/// A text in quotation marks.
fn quoted(at: &mut Cursor<'_>) -> Read<String> {
    let (mut text, wrong) = (String::new(), at.wrong("a text that ends with \""));
    at.skip(1);
    loop {
        text += at.until(|c| c == '"' || c == '\\');
        if at.rest.is_empty() {
            return wrong;
        }
        if at.skip(1) == "\"" {
            return Ok(text);
        }
        let next = at.rest.chars().next();
        text.push(match next {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c) if !c.is_ascii_alphanumeric() => c,
            _ => return at.wrong("\", \\, n, r or t after \\"),
        });
        at.skip(next.map_or(0, char::len_utf8));
    }
}

/// Comparisons are relations of their own, everything else is lost.
fn requirements(text: &str, line: usize, request: &mut Request) {
    let text = text.trim();
    // A conjunction binds tighter than a choice, so that no part of it has to hold.
    let plain = text.replace("=?=", "==");
    let is_choice = ["||", "?"].iter().any(|it| split(&plain, it).len() > 1);
    let inner = text.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    if let Some(inner) = inner.filter(|_| split(text, "").len() == 1) {
        requirements(inner, line, request);
    } else if !is_choice && split(text, "&&").len() > 1 {
        let parts = split(text, "&&").into_iter();
        parts.for_each(|part| requirements(part, line, request));
    } else if let Some((name, op, value)) = comparison(text) {
        let relation = Relation::new(line, name, op, vec![Value::Text(value)]);
        request.relations.push(relation);
    } else {
        let why = "not a comparison of an attribute of the cluster with a value";
        request.lost.push(Lost::of(line, "Requirements", text, why));
    }
}

/// What stands between these signs, outside of all brackets and texts; with no sign, what
/// is in one pair of brackets.
fn split<'a>(text: &'a str, sign: &str) -> Vec<&'a str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_i32);
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        let ends = match sign {
            "" => c == ')' && at + 1 < text.len(),
            sign => text[at..].starts_with(sign) && at >= begin,
        };
        if depth == 0 && !is_text && ends {
            parts.push(&text[begin..at]);
            begin = at + sign.len();
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// `other.NAME >= 5`, or the same the other way round.
fn comparison(text: &str) -> Option<(String, &'static str, String)> {
    const SIGNS: [(&str, &str, &str); 6] = [
        ("==", "=", "="),
        ("!=", "!=", "!="),
        ("<=", "<=", ">="),
        (">=", ">=", "<="),
        ("<", "<", ">"),
        (">", ">", "<"),
    ];
    let name = |text: &str| {
        let (other, name) = text.split_once('.')?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && other.eq_ignore_ascii_case("other")).then(|| format!("other.{name}"))
    };
    let mut found = SIGNS.iter().map(|sign| (sign, split(text, sign.0)));
    let ((_, op, flipped), sides) = found.find(|(_, sides)| sides.len() > 1)?;
    let [left, right] = sides[..] else {
        return None;
    };
    let (left, right) = (left.trim(), right.trim());
    match (name(left), literal(right)) {
        (Some(name), Some(value)) => Some((name, op, value)),
        _ => Some((name(right)?, flipped, literal(left)?)),
    }
}

/// A job.
pub(super) fn write(relations: &[Relation]) -> String {
    let mut text = String::from("[\n");
    let mut requirements = Vec::new();
    for relation in relations {
        let (name, op) = (relation.name.as_str(), relation.op);
        let is_bare = BARE.contains(&name) || op != "=";
        let one = |value: &Value| match is_bare {
            true => value.shown(),
            false => written(&value.shown()),
        };
        let values: Vec<String> = relation.values.iter().map(one).collect();
        let value = values.join(", ");
        if name.starts_with("other.") {
            let sign = if op == "=" { "==" } else { op };
            requirements.push(format!("{name} {sign} {value}"));
        } else if LISTS.contains(&name) {
            text += &format!("  {name} = {{{value}}};\n");
        } else {
            text += &format!("  {name} = {value};\n");
        }
    }
    if !requirements.is_empty() {
        text += &format!("  Requirements = {};\n", requirements.join(" && "));
    }
    text + "]\n"
}

/// Attributes that are lists, however many values they have.
const LISTS: [&str; 4] = [
    "Environment",
    "InputSandbox",
    "OutputSandbox",
    "OutputSandboxDestURI",
];

/// Attributes that are numbers or truth values.
const BARE: [&str; 4] = ["CpuNumber", "SMPGranularity", "HostNumber", "WholeNodes"];

fn written(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
