//! Text in XML and HTML: escaping, and how wide it will be.

/// Appends text with the characters that markup needs escaped.
///
/// Characters that XML 1.0 forbids and those that turn the direction of text
/// become U+FFFD: a hostile job or user name must neither break the document
/// nor reorder what stands beside it.
pub(super) fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
}

/// The escaped text.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    escape_into(&mut out, text);
    out
}

/// Upper estimate of a text's width in pixels.
///
/// Widths are those of common sans-serif faces in thousandths of the size,
/// with an eighth on top: the font is the reader's, and a gap is better than
/// an overlap.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let thousandths: u32 = text.chars().map(advance).sum();
    f64::from(thousandths) / 1000.0 * size * 1.125
}

/// Advance width of a character in thousandths of the font size.
fn advance(c: char) -> u32 {
    match c {
        'i' | 'j' | 'l' | '|' | '\'' | '.' | ',' | ':' | ';' | '!' | ' ' => 280,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '\\' | '"' => 360,
        'm' | 'M' | 'W' | '%' | '@' => 890,
        'w' | 'A'..='Z' | '&' => 720,
        '\u{2026}' => 1000,
        c if c.is_ascii() => 560,
        c if (c as u32) < 0x1100 => 640,
        _ => 1050,
    }
}

/// The text, shortened with an ellipsis so that it fits into this width.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut used = width("\u{2026}", size);
    let mut out = String::new();
    for c in text.chars() {
        used += f64::from(advance(c)) / 1000.0 * size * 1.125;
        if used > room {
            break;
        }
        out.push(c);
    }
    let mut out = out.trim_end().to_owned();
    out.push('\u{2026}');
    out
}

/// The text broken at spaces into lines that fit into this width; at most
/// `most` lines, the last shortened.
pub(super) fn wrap(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while words.peek().is_some() && lines.len() < most {
        let mut line = String::new();
        let last = lines.len() + 1 == most;
        while let Some(word) = words.peek() {
            let longer = match line.is_empty() {
                true => (*word).to_owned(),
                false => format!("{line} {word}"),
            };
            if !line.is_empty() && !last && width(&longer, size) > room {
                break;
            }
            line = longer;
            words.next();
            // The last line is cut anyway; what lies far beyond is not kept.
            if last && width(&line, size) > room {
                break;
            }
        }
        lines.push(fit(&line, size, room));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_forbidden_characters_are_escaped() {
        assert_eq!(
            escaped("<a href='x'>&\"\u{0}\u{202e}é"),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{fffd}\u{fffd}é"
        );
    }

    #[test]
    fn what_is_fitted_fits() {
        let long = "a rather long label that nobody could fit";
        for room in [20.0, 60.0, 100.0] {
            assert!(width(&fit(long, 12.0, room), 12.0) <= room.max(13.6));
        }
        assert_eq!(fit("short", 12.0, 100.0), "short");
    }

    #[test]
    fn lines_break_at_spaces_and_the_last_is_cut() {
        let lines = wrap("one two three four five six seven", 12.0, 80.0, 2);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "one two");
        assert!(lines[1].ends_with('\u{2026}'));
        assert!(wrap("", 12.0, 80.0, 2).is_empty());
    }
}
