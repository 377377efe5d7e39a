//! A strict reader of the markup that pictures and pages are made of.

use gridrig_results::plot::{Figure, Page};

/// Elements of HTML without an end tag.
const VOID: [&str; 3] = ["meta", "link", "br"];

/// Checks that a document is well formed: tags nest, attributes are quoted
/// and unique, text holds no bare `&`, `<` or forbidden character. Returns the
/// elements as `NAME` and their attributes, in order.
pub fn elements(document: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = document.strip_prefix("<!DOCTYPE html>").unwrap_or(document);
    while let Some(at) = rest.find('<') {
        text(&rest[..at]);
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "end tags match");
            continue;
        }
        let (tag, closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name: String = tag
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric())
            .collect();
        assert!(!name.is_empty(), "a tag has a name: <{tag}>");
        found.push((name.clone(), attributes(&tag[name.len()..])));
        if name == "style" {
            // Its text is CSS; nothing in it may end the element early.
            let end = rest.find("</style>").expect("the style ends");
            assert!(!rest[..end].contains('<'));
            rest = &rest[end..];
        }
        if !closed && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    text(rest);
    assert!(open.is_empty(), "left open: {open:?}");
    found
}

fn attributes(mut rest: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    while !rest.trim_start().is_empty() {
        assert!(
            rest.starts_with(' '),
            "a space before an attribute: {rest:?}"
        );
        let (name, tail) = rest
            .trim_start()
            .split_once("=\"")
            .expect("a quoted attribute");
        let (value, tail) = tail.split_once('"').expect("a closing quote");
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{name:?}"
        );
        assert!(found.iter().all(|(other, _)| other != name), "{name} twice");
        text(value);
        found.push((name.to_owned(), value.to_owned()));
        rest = tail;
    }
    found
}

/// Text between tags or in quotes.
fn text(text: &str) {
    assert!(!text.contains('<') && !text.contains('>'), "{text:?}");
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(known.iter().any(|name| part.starts_with(name)), "&{part}");
    }
    let forbidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    assert!(!text.contains(forbidden), "{text:?}");
}

/// What lies between these in a document, the first time.
pub fn between<'a>(document: &'a str, before: &str, behind: &str) -> &'a str {
    let (_, rest) = document.split_once(before).unwrap();
    rest.split_once(behind).unwrap().0
}

/// The value of an attribute of an element, empty without it.
pub fn value<'a>(attributes: &'a [(String, String)], name: &str) -> &'a str {
    let found = attributes.iter().find(|(own, _)| own == name);
    found.map_or("", |(_, value)| value)
}

/// A picture as it stands on a page, by itself.
pub fn picture(figure: &dyn Figure) -> String {
    let mut page = Page::new("");
    page.figure(figure, "");
    let html = page.to_html();
    let (_, svg) = html.split_once("<div class=\"scroll\"").unwrap();
    let (_, svg) = svg.split_once(">\n").unwrap();
    svg.split_once("</div>").unwrap().0.trim_end().to_owned()
}

/// Checks one picture: well formed, and every number of its geometry is
/// finite. Returns its elements.
pub fn svg(document: &str) -> Vec<(String, Vec<(String, String)>)> {
    let found = elements(document);
    assert_eq!(found.first().map(|(name, _)| name.as_str()), Some("svg"));
    for (_, attributes) in &found {
        for (name, value) in attributes {
            match name.as_str() {
                "x" | "y" | "width" | "height" | "cx" | "cy" | "r" | "fill-opacity"
                | "stroke-opacity" => {
                    let number: f64 = value.parse().unwrap_or_else(|_| panic!("{name}={value}"));
                    assert!(number.is_finite(), "{name}={value}");
                    if matches!(name.as_str(), "width" | "height" | "r") {
                        assert!(number >= 0.0, "{name}={value}");
                    }
                }
                "d" => {
                    let odd = |c: char| !"0123456789.- Mmlhvz".contains(c);
                    assert!(!value.contains(odd), "d={value}");
                }
                _ => {}
            }
        }
    }
    found
}
