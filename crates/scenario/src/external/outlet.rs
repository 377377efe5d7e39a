//! Outlets as they are written: `KIND:WHERE`.

use gridrig_protocol::client::is_address;
use gridrig_protocol::lagrid::Codec;

/// An outlet that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutletText {
    /// `json:URL`, or a bare URL: our own interface.
    Json(String),
    /// `bes:URL`: OGSA-BES.
    Bes(String),
    /// `arc:URL`: ARC REST.
    Arc(String),
    /// `slurm:DIR`: `sbatch` in this directory.
    Slurm(String),
    /// `lagrid:URL#INITIATOR` (SOAP 1.1), `lagrid-soap12:URL#INITIATOR` or
    /// `lagrid-json:URL#INITIATOR`: the peer protocol of LA Grid.
    LaGrid(LaGridText),
    /// `command:WORDS`: a command, as words.
    Command(Vec<String>),
}

/// A broker that speaks LA Grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaGridText {
    /// How messages are written.
    pub codec: Codec,
    /// Its base URL.
    pub url: String,
    /// The initiator that it knows the replayer as: what follows a `#`.
    pub name: String,
}

/// The initiator of an outlet that names none.
const INITIATOR: &str = "replayer";

impl LaGridText {
    fn read(codec: Codec, url: &str) -> Self {
        let (url, name) = match url.split_once('#') {
            Some((url, name)) if !name.is_empty() => (url, name),
            _ => (url.trim_end_matches('#'), INITIATOR),
        };
        LaGridText {
            codec,
            url: url.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl OutletText {
    /// What is expected, for messages.
    pub const EXPECTED: &'static str = "json:URL, bes:URL, arc:URL, lagrid:URL#INITIATOR, \
                                        lagrid-soap12:URL#INITIATOR, lagrid-json:URL#INITIATOR \
                                        (each http://), slurm:DIR or command:WORDS";

    /// Reads one.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(text: &str) -> Result<Self, String> {
        let expected = || Self::EXPECTED.to_owned();
        let (kind, place) = text.split_once(':').ok_or_else(expected)?;
        let address = |url: &str| match url.starts_with("http://") && is_address(url) {
            true => Ok(url.to_owned()),
            false => Err(expected()),
        };
        let url = || address(place);
        match kind {
            "http" => address(text).map(OutletText::Json),
            "json" => url().map(OutletText::Json),
            "bes" => url().map(OutletText::Bes),
            "arc" => url().map(OutletText::Arc),
            "lagrid" | "lagrid-soap12" | "lagrid-json" => {
                let codec = match kind {
                    "lagrid" => Codec::Soap11,
                    "lagrid-soap12" => Codec::Soap12,
                    _ => Codec::Json,
                };
                url().map(|url| OutletText::LaGrid(LaGridText::read(codec, &url)))
            }
            "slurm" if !place.is_empty() => Ok(OutletText::Slurm(place.to_owned())),
            "command" => match words(place)? {
                words if words.is_empty() => Err(expected()),
                words => Ok(OutletText::Command(words)),
            },
            _ => Err(expected()),
        }
    }
}

/// The words of a command line: blanks separate, 'single' and "double"
/// quotation marks hold together, and nothing else means anything. No shell
/// has a part in it.
///
/// # Errors
/// A quotation mark without its other half.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some(end) if end == c => break,
                        Some(inner) => word.push(inner),
                        None => return Err(format!("a {c} to end what a {c} has begun")),
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_held_together_by_quotation_marks_and_by_nothing_else() {
        let read = words("arcsub -b 'a b' x\"y 'z\" '' $HOME;\\").unwrap();
        assert_eq!(read, ["arcsub", "-b", "a b", "xy 'z", "", "$HOME;\\"]);
        assert!(words("a 'b").is_err());
    }

    #[test]
    fn an_outlet_is_its_kind_and_its_place() {
        let url = "http://127.0.0.1:1/x".to_owned();
        assert_eq!(OutletText::read(&url), Ok(OutletText::Json(url.clone())));
        let bes = OutletText::read("bes:http://127.0.0.1:1/x");
        assert_eq!(bes, Ok(OutletText::Bes(url)));
        let command = OutletText::read("command:sbatch {script}");
        let words = vec!["sbatch".to_owned(), "{script}".to_owned()];
        assert_eq!(command, Ok(OutletText::Command(words)));
        let named = |text| match OutletText::read(text) {
            Ok(OutletText::LaGrid(found)) => (found.codec, found.url, found.name),
            other => panic!("{other:?}"),
        };
        let at = || "http://127.0.0.1:1".to_owned();
        let (soap, json) = (
            "lagrid:http://127.0.0.1:1",
            "lagrid-json:http://127.0.0.1:1#me",
        );
        assert_eq!(named(soap), (Codec::Soap11, at(), INITIATOR.to_owned()));
        assert_eq!(named(json), (Codec::Json, at(), "me".to_owned()));
        let newer = "lagrid-soap12:http://127.0.0.1:1";
        assert_eq!(named(newer), (Codec::Soap12, at(), INITIATOR.to_owned()));
        let others = ["", "arc:", "bes:ftp://x", "command:", "condor:x", "slurm:"];
        let urls = [
            "http:127.0.0.1:1",
            "json:127.0.0.1:1",
            "bes:http://",
            "http://h:1x",
        ];
        for bad in others.into_iter().chain(urls) {
            assert!(OutletText::read(bad).is_err(), "{bad}");
        }
    }
}
