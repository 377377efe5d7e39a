//! One change of a text in JSON, XML or TOML.

use crate::tokens::{Kind, Tokens, is_word};
use crate::values::{ADDRESS, INSIDES, MARKUP, SPACES, TOML, VALUES};
use crate::{Chance, words};

fn is_name(token: &[u8]) -> bool {
    token
        .first()
        .is_some_and(|byte| is_word(*byte) || *byte == b'"')
}

/// A value, mostly one of the format.
fn value(kind: Kind, chance: &mut Chance) -> Vec<u8> {
    match (kind, chance.below(4)) {
        (Kind::Xml, 0) => chance.one(MARKUP).to_vec(),
        (Kind::Xml, 1) => chance.one(words()).to_vec(),
        (Kind::Xml, _) => {
            let plain = chance.one(VALUES).iter().filter(|byte| **byte != b'"');
            plain.copied().collect()
        }
        (_, 0) => [b"\"", chance.one(words()), b"\""].concat(),
        (_, 1) if chance.below(3) == 0 => {
            let parts = ADDRESS.iter().map(|of| {
                let all: Vec<&str> = of.split('~').collect();
                all[chance.below(all.len())]
            });
            format!("\"{}\"", parts.collect::<String>()).into_bytes()
        }
        (Kind::Toml, 2) => chance.one(TOML).to_vec(),
        _ => chance.one(VALUES).to_vec(),
    }
}

/// A key, an element or a line that can be there in addition, for the place behind a token.
fn member(tokens: &Tokens, behind: usize, chance: &mut Chance) -> Vec<u8> {
    let (word, value) = (chance.one(words()), value(tokens.kind, chance));
    match (tokens.kind, tokens.get(behind)) {
        (Kind::Json, b"}" | b"]") => [b",\"", word, b"\":", &value].concat(),
        (Kind::Json, _) if chance.below(4) > 0 => [b"\"", word, b"\":", &value, b","].concat(),
        (Kind::Json, _) => [&value[..], b","].concat(),
        (Kind::Xml, b">") => [b"<", word, b">", &value, b"</", word, b">"].concat(),
        (Kind::Xml, _) if chance.below(2) > 0 => [b" ", word, b"=\"", &value, b"\""].concat(),
        (Kind::Xml, _) => value,
        (Kind::Toml, b"{") => [word, b" = ", &value, b","].concat(),
        (Kind::Toml, b"[" | b",") => [&value[..], b","].concat(),
        (Kind::Toml, _) => match chance.below(6) {
            0 => [b"\n[", word, b"]\n"].concat(),
            1 => [b"\n[[", word, b"]]\n"].concat(),
            _ => [b"\n", word, b" = ", &value, b"\n"].concat(),
        },
    }
}

/// The values of an object, as an array.
pub(crate) fn unnamed(tokens: &Tokens, token: usize) -> Vec<u8> {
    let (end, mut next) = (tokens.end(token).saturating_sub(1), token + 1);
    let mut array = vec![b'['];
    while next < end {
        let after = tokens.end(next).max(next + 1);
        let colon = tokens.solid(next + 1);
        let from = match tokens.get(colon) {
            b":" if colon < after => colon + 1,
            _ => next,
        };
        array.extend_from_slice(&tokens.text[tokens.start(from)..tokens.start(after)]);
        next = after;
    }
    array.push(b']');
    array
}

/// What stands between two values, elements or lines.
pub(crate) fn between(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Json => b",",
        Kind::Xml => b"",
        Kind::Toml => b"\n",
    }
}

/// A text with a part of another one in it, or in the place of a part.
pub(crate) fn crossed(text: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let (tokens, others) = (Tokens::of(text), Tokens::of(other));
    let from = others.part(chance);
    let part = others.of_range(from..others.end(from));
    let at = tokens.part(chance);
    match chance.below(2) {
        0 => tokens.with(at..tokens.end(at), part),
        _ => tokens.with(at..at, &[part, between(tokens.kind)].concat()),
    }
}

/// A word for a word, where it stands or everywhere.
fn other_word(tokens: &Tokens, everywhere: bool, chance: &mut Chance) -> Vec<u8> {
    let name = tokens.any(chance, is_name);
    let (old, word) = (tokens.get(name), chance.one(words()));
    let new = match old {
        [b'"', ..] => [b"\"", word, b"\""].concat(),
        _ => word.to_vec(),
    };
    if !everywhere {
        return tokens.with(name..name + 1, &new);
    }
    let all = (0..tokens.at.len()).map(|it| tokens.get(it));
    let all: Vec<&[u8]> = all.map(|it| if it == old { &new } else { it }).collect();
    all.concat()
}

/// A value for a value, the key being kept.
fn other_value(tokens: &Tokens, chance: &mut Chance) -> Vec<u8> {
    if tokens.kind == Kind::Xml && chance.below(2) == 0 {
        // The text behind a tag.
        let tag = tokens.any(chance, |it| it == b">");
        let mut behind = tag + 1..tokens.at.len();
        let next = behind.find(|it| tokens.get(*it) == b"<");
        let text = tag + 1..next.unwrap_or(tag + 1);
        return tokens.with(text, &value(tokens.kind, chance));
    }
    let scalar = tokens.any(chance, |it| is_name(it) || matches!(it, b"{" | b"["));
    let after = tokens.solid(scalar + 1);
    let from = match tokens.get(after) {
        b":" | b"=" if tokens.kind != Kind::Xml => tokens.solid(after + 1),
        _ => scalar,
    };
    tokens.with(from..tokens.end(from), &value(tokens.kind, chance))
}

/// The text with one change at a random place.
pub(crate) fn changed(text: &[u8], chance: &mut Chance) -> Vec<u8> {
    let tokens = Tokens::of(text);
    let any = match chance.below(2) {
        0 => tokens.part(chance),
        _ => tokens.any(chance, |_| true),
    };
    let end = tokens.end(any);
    match chance.below(14) {
        0 | 1 => tokens.with(any..any, chance.one(SPACES)),
        2 => {
            // It ends, between words or within one.
            let cut = tokens.start(any) + chance.below(tokens.get(any).len() + 1);
            text[..cut.min(text.len())].to_vec()
        }
        3 => other_word(&tokens, false, chance),
        4 => other_word(&tokens, true, chance),
        5 | 6 => other_value(&tokens, chance),
        7 => {
            let comma = tokens.solid(end);
            let is_comma = tokens.get(comma) == b",";
            tokens.with(any..if is_comma { comma + 1 } else { end }, b"")
        }
        8 => {
            let again = [between(tokens.kind), tokens.of_range(any..end)].concat();
            tokens.with(end..end, &again)
        }
        9 | 10 => {
            let opens = |it: &[u8]| matches!(it, b"{" | b"[" | b"," | b">" | b"=");
            let behind = match chance.below(3) {
                0 => any,
                _ => tokens.any(chance, opens),
            };
            tokens.with(behind + 1..behind + 1, &member(&tokens, behind, chance))
        }
        11 if tokens.kind == Kind::Json => {
            let object = tokens.any(chance, |it| it == b"{");
            tokens.with(object..tokens.end(object), &unnamed(&tokens, object))
        }
        11 => tokens.with(any..any, chance.one(MARKUP)),
        12 => {
            // What is elsewhere in the text.
            let other = tokens.part(chance);
            tokens.with(any..end, tokens.of_range(other..tokens.end(other)))
        }
        _ => {
            let name = tokens.any(chance, is_name);
            let middle = tokens.start(name) + 1 + chance.below(tokens.get(name).len());
            let (before, behind) = text.split_at(middle.min(text.len()));
            [before, chance.one(INSIDES), behind].concat()
        }
    }
}
