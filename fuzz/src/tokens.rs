//! Where the words of a text are.

use crate::Chance;
use std::ops::Range;

/// The format of a text, by its first character.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Json,
    Xml,
    Toml,
}

/// A text, and where its tokens are.
pub(crate) struct Tokens<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) kind: Kind,
    pub(crate) at: Vec<Range<usize>>,
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.+".contains(&byte) || byte >= 0x80
}

impl<'a> Tokens<'a> {
    /// Spaces, words, what is quoted, and else single bytes.
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let kind = match first {
            Some(b'<') => Kind::Xml,
            Some(b'{' | b'"') => Kind::Json,
            Some(b'[') if text.windows(2).any(|two| two == b"\":") => Kind::Json,
            _ => Kind::Toml,
        };
        let mut at = Vec::new();
        let mut start = 0;
        while let Some(&byte) = text.get(start) {
            let rest = &text[start + 1..];
            let more = if byte.is_ascii_whitespace() {
                rest.iter()
                    .take_while(|it| it.is_ascii_whitespace())
                    .count()
            } else if byte == b'"' {
                let mut escaped = false;
                let inside = rest.iter().take_while(|it| {
                    let goes_on = escaped || **it != b'"';
                    escaped = !escaped && **it == b'\\';
                    goes_on
                });
                (inside.count() + 1).min(rest.len())
            } else if is_word(byte) {
                rest.iter().take_while(|it| is_word(**it)).count()
            } else {
                0
            };
            at.push(start..start + 1 + more);
            start += 1 + more;
        }
        Self { text, kind, at }
    }

    pub(crate) fn get(&self, token: usize) -> &'a [u8] {
        let range = self.at.get(token).cloned();
        range.map_or(b"", |range| &self.text[range])
    }

    /// Where a token begins, or the text ends.
    pub(crate) fn start(&self, token: usize) -> usize {
        self.at.get(token).map_or(self.text.len(), |it| it.start)
    }

    /// What these tokens are.
    pub(crate) fn of_range(&self, range: Range<usize>) -> &'a [u8] {
        let start = self.start(range.start);
        &self.text[start..self.start(range.end).max(start)]
    }

    /// The text with this in the place of these tokens.
    pub(crate) fn with(&self, range: Range<usize>, new: &[u8]) -> Vec<u8> {
        let (start, end) = (self.start(range.start), self.start(range.end));
        [&self.text[..start], new, &self.text[end.max(start)..]].concat()
    }

    pub(crate) fn is_space(&self, token: usize) -> bool {
        self.get(token).first().is_some_and(u8::is_ascii_whitespace)
    }

    /// Whether a value belongs to it.
    pub(crate) fn is_key(&self, token: usize) -> bool {
        let next = self.get(self.solid(token + 1));
        match self.kind {
            Kind::Json => next == b":",
            Kind::Toml => next == b"=",
            Kind::Xml => false,
        }
    }

    /// The first token from here that is no space.
    pub(crate) fn solid(&self, token: usize) -> usize {
        token + usize::from(self.is_space(token))
    }

    /// The token behind what begins with this one: a value, a key with its value, an
    /// element, a line, or the token itself.
    pub(crate) fn end(&self, token: usize) -> usize {
        match (self.get(token), self.kind) {
            (b"{" | b"[", Kind::Json | Kind::Toml) => {
                let mut depth = 0_usize;
                for next in token..self.at.len() {
                    match self.get(next) {
                        b"{" | b"[" => depth += 1,
                        b"}" | b"]" => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    if depth == 0 {
                        return next + 1;
                    }
                }
                self.at.len()
            }
            (b"<", Kind::Xml) => self.end_of_element(token),
            ([b'"', ..], Kind::Json) => match self.solid(token + 1) {
                colon if self.get(colon) == b":" => self.end(self.solid(colon + 1)),
                _ => token + 1,
            },
            ([b'"' | b'a'..=b'z' | b'A'..=b'Z', ..], Kind::Toml) => {
                let equals = self.solid(token + 1);
                match self.get(equals) {
                    b"=" => self.end(self.solid(equals + 1)),
                    _ => token + 1,
                }
            }
            _ => (token + 1).min(self.at.len()),
        }
    }

    fn end_of_element(&self, token: usize) -> usize {
        let mut depth = 0_usize;
        for next in token..self.at.len() {
            match (self.get(next), self.get(next + 1)) {
                (b"<", b"/") => depth = depth.saturating_sub(1),
                (b"<", word) if word.first().is_some_and(|byte| is_word(*byte)) => depth += 1,
                (b"/", b">") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return next + 2;
                    }
                }
                (b">", _) if depth == 0 => return next + 1,
                _ => {}
            }
        }
        self.at.len()
    }

    /// Any token but a space, the first of what `is` likes if there is one.
    pub(crate) fn any(&self, chance: &mut Chance, is: impl Fn(&[u8]) -> bool) -> usize {
        let from = chance.below(self.at.len());
        let mut all = (from..self.at.len()).chain(0..from);
        all.find(|token| !self.is_space(*token) && is(self.get(*token)))
            .unwrap_or(from)
    }

    /// The element, of XML, that begins at a random place or behind it.
    fn element(&self, chance: &mut Chance) -> usize {
        let from = chance.below(self.at.len());
        let mut all = (from..self.at.len()).chain(0..from);
        all.find(|it| self.get(*it) == b"<" && self.get(it + 1) != b"/")
            .unwrap_or(from)
    }

    /// What can be moved: of XML mostly an element, else any token but a space.
    pub(crate) fn part(&self, chance: &mut Chance) -> usize {
        match (self.kind, chance.below(4)) {
            (Kind::Xml, 1..) => self.element(chance),
            _ => self.any(chance, |_| true),
        }
    }
}
