//! Every change at every place of whole documents, one after the other.
//!
//! A reader has a branch for each field that is wrong, and for what it gives up then: the
//! fields that it has read before. Chance finds these late, since it changes one text of
//! thousands at one place of hundreds. So the files that a target begins with, and a
//! document of each of its types with as much in it as types have, are gone through first,
//! each in its order and in the reverse one.

use crate::tokens::{Kind, Tokens, is_word};
use crate::values::{ADDRESS, INSIDES, MARKUP, SPACES, VALUES};
use crate::{Texts, Types, text};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Documents of a type of which those are taken that have keys which no longer one has.
const DRAWS: u64 = 400;

/// What a reversed document gets in the place of its values.
const WRONG: &[&[u8]] = &[b"null", b"[]", b"\"x\"", b"1.5", b"{}", b"\x01"];

/// Where one is in the documents.
pub(crate) struct Sweep {
    /// Whole texts that come before any change of one.
    forms: Texts,
    /// What stands before its text, whether that is reversed, and it; the last one first.
    documents: Vec<(Vec<u8>, bool, Vec<u8>)>,
    /// Places that were like others, in reversed documents or not: a token and those around it.
    seen: HashSet<(bool, u64)>,
    token: usize,
    change: usize,
    /// The next address, in the place of the first one that is found.
    address: usize,
}

impl Sweep {
    /// Goes through the files of text of the directory that `GRIDRIG_FUZZ_SEEDS` names, of
    /// which so many bytes stand `before` the text, and documents of these types. Of one that
    /// is longer than `most` few changes would be short enough.
    pub(crate) fn new(types: Types, seed: u32, before: usize, most: usize) -> Self {
        let of_files = std::env::var("GRIDRIG_FUZZ_SEEDS").ok().into_iter();
        let files = of_files.flat_map(|directory| {
            let read = |file: std::fs::DirEntry| std::fs::read(file.path());
            let all = std::fs::read_dir(&directory).and_then(|all| {
                let texts = all.map(|file| file.and_then(read));
                texts.collect::<std::io::Result<Vec<_>>>()
            });
            let all =
                all.unwrap_or_else(|error| panic!("GRIDRIG_FUZZ_SEEDS = {directory:?}: {error}"));
            let split = all.into_iter().map(|mut file| {
                let text = file.split_off(before.min(file.len()));
                (file, false, text)
            });
            split
                .filter(|(.., text)| std::str::from_utf8(text).is_ok())
                .collect::<Vec<_>>()
        });
        let drawn = types.makes.iter().flat_map(|make| {
            let seeds = (0..DRAWS).map(|draw| u64::from(seed) << 16 | draw);
            let mut drawn: Vec<Vec<u8>> = seeds.filter_map(make).map(String::into_bytes).collect();
            drawn.sort_by_key(|text| std::cmp::Reverse(text.len()));
            let mut keys = HashSet::new();
            drawn.retain(|text| has_new_keys(text, &mut keys));
            drawn
        });
        let drawn = drawn.map(|text| (Vec::new(), false, text));
        let mut documents: Vec<_> = files.chain(drawn).collect();
        documents.retain(|(before, _, text)| before.len() + text.len() <= most);
        // The longest, which have most in them, come first.
        documents.sort_by(|(_, _, a), (_, _, b)| (a.len(), a).cmp(&(b.len(), b)));
        let mut keys = HashSet::new();
        let with_keys = documents.iter().rev().map(|(.., text)| text.clone());
        let with_keys: Vec<_> = with_keys
            .filter(|text| has_new_keys(text, &mut keys))
            .collect();
        let forms = types.forms.iter().flat_map(move |forms| forms(&with_keys));
        let reversed = documents.iter().map(|(before, _, text)| {
            let tokens = Tokens::of(text);
            let reversed = match tokens.kind {
                Kind::Toml => reversed_tables(&tokens),
                Kind::Json | Kind::Xml => reversed(&tokens, tokens.solid(0)),
            };
            (before.clone(), true, reversed)
        });
        let reversed: Vec<_> = reversed.filter(|(.., text)| !text.is_empty()).collect();
        documents.extend(reversed);
        Self {
            forms: Box::new(forms),
            documents,
            seen: HashSet::new(),
            token: 0,
            change: 0,
            address: 0,
        }
    }

    /// The next text of at most so many bytes, with what stands before it; `None` when all is
    /// done.
    pub(crate) fn next(&mut self, most: usize) -> Option<Vec<u8>> {
        if let Some(text) = self.forms.find(|text| text.len() <= most) {
            return Some(text);
        }
        loop {
            let (before, is_reversed, document) = self.documents.last()?;
            let tokens = Tokens::of(document);
            if self.token >= tokens.at.len() {
                self.documents.pop();
                self.token = 0;
                continue;
            }
            let skip = tokens.is_space(self.token)
                || self.change == 0
                    // There are hundreds of scenarios.
                    && (!is_reversed || tokens.kind == Kind::Toml)
                    && !self.seen.insert((*is_reversed, place(&tokens, self.token)));
            let made = match skip {
                true => None,
                false => changed(&tokens, self.token, self.change, *is_reversed),
            };
            self.change += 1;
            match made {
                None if !skip
                    && tokens.get(self.token).starts_with(b"\"http")
                    && let Some(address) = address(self.address) =>
                {
                    self.address += 1;
                    let text = tokens.with(self.token..self.token + 1, address.as_bytes());
                    return Some([&**before, &text].concat());
                }
                None => (self.token, self.change) = (self.token + 1, 0),
                Some(text)
                    if text.is_empty() || before.len() + text.len() > most || text == *document => {
                }
                Some(text) => return Some([&**before, &text].concat()),
            }
        }
    }
}

fn has_new_keys(text: &[u8], keys: &mut HashSet<Vec<u8>>) -> bool {
    let tokens = Tokens::of(text);
    let all = (0..tokens.at.len()).filter(|it| match tokens.kind {
        Kind::Xml => tokens.get(*it) == b"<",
        Kind::Json | Kind::Toml => tokens.is_key(*it),
    });
    let name = |it| match tokens.kind {
        Kind::Xml => tokens.of_range(it + 1..it + 4),
        Kind::Json | Kind::Toml => tokens.get(it),
    };
    let new = all.filter(|it| keys.insert(name(*it).to_vec()));
    new.count() > 0
}

/// Addresses with each two of the parts of [`ADDRESS`], and with characters of Unicode's
/// first two planes, before, between and behind others.
fn address(number: usize) -> Option<String> {
    let parts: Vec<Vec<&str>> = ADDRESS.iter().map(|of| of.split('~').collect()).collect();
    let mut left = number;
    for (first, ones) in parts.iter().enumerate() {
        for (second, others) in parts.iter().enumerate().skip(first + 1) {
            if left >= ones.len() * others.len() {
                left -= ones.len() * others.len();
                continue;
            }
            let chosen = parts.iter().enumerate().map(|(part, all)| match part {
                part if part == first => all[left / others.len()],
                part if part == second => all[left % others.len()],
                _ => all[0],
            });
            return Some(format!("\"{}\"", chosen.collect::<String>()));
        }
    }
    // Scripts in which each character has rules of its own, and some of the others.
    let code = match 0x80 + left / 3 {
        near if near < 0x3000 => near,
        far => 0x3000 + (far - 0x3000) * 32,
    };
    let point = char::from_u32(u32::try_from(code).ok()?).unwrap_or('a');
    (code < 0x2_0000).then(|| match left % 3 {
        0 => format!("\"http://{point}/\""),
        1 => format!("\"http://a{point}\u{301}b.{point}\u{200d}c/{point}\""),
        _ => format!("\"http://\u{5d0}{point}.1{point}?{point}\""),
    })
}

/// What stands around a token, by which places are told from each other; all numbers are alike.
fn place(tokens: &Tokens, token: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let before = (0..token).rev().filter(|it| !tokens.is_space(*it));
    for near in before.take(3).chain([token, tokens.solid(token + 1)]) {
        let mut was_digit = false;
        for byte in tokens.get(near) {
            let is_digit = byte.is_ascii_digit();
            if !(is_digit && was_digit) {
                (if is_digit { b'0' } else { *byte }).hash(&mut hasher);
            }
            was_digit = is_digit;
        }
        b'"'.hash(&mut hasher);
    }
    hasher.finish()
}

/// The text with this change at a token; `None` if there is no such change.
fn changed(tokens: &Tokens, token: usize, change: usize, is_reversed: bool) -> Option<Vec<u8>> {
    let end = tokens.end(token);
    let (start, text) = (tokens.start(token), tokens.text);
    let replaced = |by: &[u8]| match tokens.is_key(token) {
        true => Vec::new(),
        false => tokens.with(token..end.max(token + 1), by),
    };
    let middle = start + tokens.get(token).len().div_ceil(2);
    let at = match change {
        0 => return Some(text[..start].to_vec()),
        1 => return Some(text[..middle.min(text.len())].to_vec()),
        2 => {
            let comma = tokens.solid(end);
            let more = usize::from(tokens.get(comma) == b",") * (comma + 1 - end);
            return Some(tokens.with(token..end + more, b""));
        }
        3 => {
            let again = [text::between(tokens.kind), tokens.of_range(token..end)].concat();
            return Some(tokens.with(end..end, &again));
        }
        4 if tokens.kind == Kind::Json && tokens.get(token) == b"{" => {
            return Some(tokens.with(token..end, &text::unnamed(tokens, token)));
        }
        4 => return Some(Vec::new()),
        _ => change - 5,
    };
    if is_reversed {
        return WRONG.get(at).map(|wrong| replaced(wrong));
    }
    if let Some(space) = SPACES.get(at) {
        return Some(tokens.with(token..token, space));
    }
    let at = at - SPACES.len();
    if let Some(space) = SPACES.get(at) {
        return Some([&text[..start], space].concat());
    }
    let at = at - SPACES.len();
    if let Some(value) = VALUES.get(at) {
        let is_text =
            tokens.kind != Kind::Xml || tokens.get(token).first().copied().is_some_and(is_word);
        return Some(if is_text { replaced(value) } else { Vec::new() });
    }
    let at = at - VALUES.len();
    if let Some(inside) = INSIDES.get(at) {
        let (before, behind) = text.split_at(middle.min(text.len()));
        return Some([before, inside, behind].concat());
    }
    let markup = MARKUP
        .get(at - INSIDES.len())
        .filter(|_| tokens.kind == Kind::Xml)?;
    Some(tokens.with(token..token, markup))
}

/// Where the value begins of what begins with a token.
fn value_of(tokens: &Tokens, token: usize) -> usize {
    match tokens.is_key(token) {
        true => tokens.solid(tokens.solid(token + 1) + 1),
        false => token,
    }
}

/// A document of TOML, the keys of each table from the last to the first.
fn reversed_tables(tokens: &Tokens) -> Vec<u8> {
    let mut document = Vec::new();
    let mut table: Vec<Vec<u8>> = Vec::new();
    let mut next = tokens.solid(0);
    while next < tokens.at.len() {
        let line_ends = |it: &usize| tokens.is_space(*it) && tokens.get(*it).contains(&b'\n');
        let line = (next..tokens.at.len()).find(line_ends);
        let line = line.unwrap_or(tokens.at.len());
        let value = value_of(tokens, next);
        next = match tokens.get(next) {
            b"[" => {
                document.extend(table.drain(..).rev().flatten());
                document.extend([tokens.of_range(next..line), b"\n"].concat());
                line
            }
            _ if value > next => {
                let key = tokens.of_range(next..value);
                table.push([key, &reversed(tokens, value), b"\n"].concat());
                tokens.end(value).max(next + 1)
            }
            // A comment.
            _ => line.max(next + 1),
        };
        next = tokens.solid(next);
    }
    document.extend(table.drain(..).rev().flatten());
    document
}

/// What begins with a token, its members or elements from the last to the first.
fn reversed(tokens: &Tokens, token: usize) -> Vec<u8> {
    let end = tokens.end(token);
    let mut parts = Vec::new();
    match (tokens.kind, tokens.get(token)) {
        (Kind::Json | Kind::Toml, open @ (b"{" | b"[")) => {
            let mut next = tokens.solid(token + 1);
            while next + 1 < end {
                let value = value_of(tokens, next);
                let after = tokens.end(value).max(next + 1);
                parts.push([tokens.of_range(next..value), &reversed(tokens, value)].concat());
                let comma = tokens.solid(after);
                next = tokens.solid(comma + usize::from(tokens.get(comma) == b","));
            }
            parts.reverse();
            let close: &[u8] = if open == b"{" { b"}" } else { b"]" };
            [open, &parts.join(&b","[..]), close].concat()
        }
        (Kind::Xml, b"<") => {
            let head = (token..end).find(|it| tokens.get(*it) == b">");
            let Some(head) = head.filter(|it| tokens.get(it - 1) != b"/" || *it + 1 < end) else {
                return tokens.of_range(token..end).to_vec();
            };
            let mut next = head + 1;
            while next < end && (tokens.get(next), tokens.get(next + 1)) != (b"<", b"/") {
                let after = tokens.end(next).max(next + 1);
                parts.push(match tokens.get(next) {
                    b"<" => reversed(tokens, next),
                    _ => tokens.of_range(next..after).to_vec(),
                });
                next = after;
            }
            // Texts keep their order: there is one, or they are spaces.
            if parts.iter().any(|part| part.first() == Some(&b'<')) {
                parts.reverse();
            }
            let head = tokens.of_range(token..head + 1);
            [head, &parts.concat(), tokens.of_range(next..end)].concat()
        }
        _ => tokens.of_range(token..end).to_vec(),
    }
}
