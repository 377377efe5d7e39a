//! What is more than one text: files, which go in or out, and command lines.

use super::syntax::{Relation, Value, texts};
use crate::jsdl::{DataStaging, JobDefinition};

/// CREAM's place for files that the client fetches.
const FETCHED: &str = "gsiftp://localhost/";

/// Takes files; answers what of them is lost.
///
/// # Errors
/// What was expected.
pub(super) fn stage(
    relation: &Relation,
    form: &str,
    is_input: bool,
    job: &mut JobDefinition,
) -> Result<Option<String>, String> {
    let mut lost = None;
    for value in &relation.values {
        let parts = match value {
            Value::Text(path) if form == "path" => vec![path.as_str()],
            Value::Text(_) => Vec::new(),
            Value::List(list) => texts(list).unwrap_or_default(),
        };
        let (name, place, more) = match (form, &parts[..]) {
            ("path", [path]) if is_input && path.contains('/') => {
                (path.rsplit('/').next().unwrap_or_default(), *path, &[][..])
            }
            ("path" | "", [name]) => (*name, "", &[][..]),
            ("url", [url, name]) => (*name, *url, &[][..]),
            ("" | "pair", [name, url, more @ ..]) => (*name, *url, more),
            _ => ("", "", &[][..]),
        };
        if name.is_empty() {
            return Err(match form {
                "path" => "names of files".to_owned(),
                "url" => "pairs of a URL and the name of a file".to_owned(),
                _ => "pairs of the name of a file and a URL".to_owned(),
            });
        }
        // What the client has may be given by its size and checksum.
        let size = place.split('.').next().and_then(|size| size.parse().ok());
        let size = size.filter(|_| form.is_empty() && is_input);
        if !more.is_empty() || (size.is_some() && place.contains('.')) {
            lost = Some(format!("options and checksum of {name}"));
        }
        let place = Some(place.to_owned()).filter(|place| !place.is_empty() && size.is_none());
        job.staging.push(DataStaging {
            file: name.to_owned(),
            source: is_input.then(|| place.clone()),
            target: (!is_input).then_some(place),
            size,
            ..DataStaging::default()
        });
    }
    Ok(lost)
}

/// The files of a job in the way of a language.
pub(super) fn staged(job: &JobDefinition, form: &str, is_input: bool) -> Vec<Value> {
    let has_target = |file: &DataStaging| matches!(file.target, Some(Some(_)));
    let is_said = form != "each" || job.staging.iter().any(has_target);
    let one = |file: &DataStaging| {
        let place = if is_input { &file.source } else { &file.target };
        let (name, url) = (file.file.as_str(), place.as_ref()?.as_deref());
        let size = file.size.filter(|_| is_input).map(|size| size.to_string());
        Some(match form {
            "" => Value::list([name, url.or(size.as_deref()).unwrap_or_default()]),
            "pair" => Value::list([name, url?]),
            "url" => Value::list([url?, name]),
            "path" => Value::Text(url.filter(|_| is_input).unwrap_or(name).to_owned()),
            "each" => Value::Text(url.map_or_else(|| format!("{FETCHED}{name}"), str::to_owned)),
            _ => return None,
        })
    };
    let files = job.staging.iter().filter(|_| is_said);
    files.filter_map(one).collect()
}

/// Puts the files of a sandbox below a URL, or each at its own; answers what is lost.
pub(super) fn place(
    job: &mut JobDefinition,
    urls: &[&str],
    form: &str,
    is_input: bool,
) -> Option<String> {
    let mut urls = urls.iter();
    let base = urls.clone().next().filter(|_| form == "base");
    let files = job.staging.iter_mut();
    for file in files.filter(|file| file.source.is_some() == is_input) {
        let place = match is_input {
            true => &mut file.source,
            false => &mut file.target,
        };
        let path = place.iter().flatten().next().unwrap_or(&file.file);
        // An input that says where it is needs no place; an output has one wherever it is.
        if is_input && (path.contains("://") || path.starts_with('/')) {
            continue;
        }
        let name = path.rsplit('/').next().filter(|_| path.starts_with('/'));
        let name = name.unwrap_or(path);
        let own = match base {
            Some(base) => Some(format!("{}/{name}", base.trim_end_matches('/'))),
            None => urls.next().map(|url| (*url).to_owned()),
        };
        *place = Some(own.filter(|url| !url.starts_with(FETCHED)));
    }
    let rest = urls.count();
    (base.is_none() && rest > 0).then(|| format!("the last {rest} of them: there are fewer files"))
}

/// The words of a command line, as a shell takes it apart.
///
/// # Errors
/// What was expected.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut all, mut word, mut open) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, open) {
            ('\'' | '"', Some(mark)) if c == mark => open = None,
            ('\'' | '"', None) => {
                open = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => {
                let escaped = chars.next().ok_or("a character behind the last \\")?;
                word.get_or_insert_default().push(escaped);
            }
            (c, None) if c.is_whitespace() => all.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    match open {
        Some(mark) => Err(format!("a command line whose {mark} is closed")),
        None => Ok(all),
    }
}

/// The command line of some words.
pub(super) fn command_line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-+=./,:@%".contains(c);
    let quoted = words.map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}
