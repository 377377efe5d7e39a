//! Which runs are wanted: words and `key:value`.

use super::scan::RunEntry;

/// Names before a colon, and what they look at.
const KEYS: [&str; 12] = [
    "path", "scenario", "policy", "clock", "seed", "key", "tag", "note", "state", "valid", "trace",
    "version",
];

/// What runs have to have.
///
/// A filter is words: a plain one has to occur in the path, the scenario, the
/// policy, a tag or the note; `key:value` in that field; `-` in front turns it
/// around. `"..."` holds a value with spaces together. Letters of either case
/// are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    not: bool,
    /// Position in [`KEYS`]; `None` for a plain word.
    key: Option<&'static str>,
    /// In lower case.
    value: String,
}

/// A filter that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter \"{term}\": expected {expected}")]
pub struct FilterError {
    /// The word.
    pub term: String,
    /// What it should be.
    pub expected: String,
}

impl Filter {
    /// Reads a filter; an empty one wants every run.
    ///
    /// # Errors
    /// A key that there is none of, or a `valid:` that is neither yes nor no.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let terms = words(text).into_iter().map(|word| term(&word));
        Ok(Filter {
            terms: terms.collect::<Result<_, _>>()?,
        })
    }

    /// Whether a run is wanted.
    pub fn wants(&self, run: &RunEntry) -> bool {
        self.terms.iter().all(|term| term.fits(run) != term.not)
    }
}

/// Words with blanks between; quotes hold blanks together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut any) = (false, false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                any = true;
            }
            c if c.is_whitespace() && !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn term(word: &str) -> Result<Term, FilterError> {
    let (not, rest) = match word.strip_prefix('-') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, word),
    };
    let plain = Term {
        not,
        key: None,
        value: rest.to_lowercase(),
    };
    let Some((name, value)) = rest.split_once(':') else {
        return Ok(plain);
    };
    let wrong = |expected: String| FilterError {
        term: word.chars().take(80).collect(),
        expected,
    };
    let key = KEYS.iter().find(|key| key.eq_ignore_ascii_case(name));
    let Some(key) = key else {
        return Err(wrong(format!("a key of {}", KEYS.join(", "))));
    };
    let value = value.to_lowercase();
    if *key == "valid" && !matches!(value.as_str(), "yes" | "no") {
        return Err(wrong("valid:yes or valid:no".to_owned()));
    }
    Ok(Term {
        not,
        key: Some(key),
        value,
    })
}

impl Term {
    fn fits(&self, run: &RunEntry) -> bool {
        let holds = |text: &str| text.to_lowercase().contains(&self.value);
        let is = |text: &str| text.to_lowercase() == self.value;
        let policy = run.policy.as_deref().unwrap_or("no broker");
        let tags = &run.labels.tags;
        match self.key {
            Some("path") => holds(&run.path),
            Some("scenario") => holds(&run.scenario),
            Some("policy") => holds(policy),
            Some("clock") => is(&run.clock),
            Some("seed") => is(&run.seed.to_string()),
            Some("key") => holds(&run.key),
            Some("tag") => tags.iter().any(|tag| is(tag)),
            Some("note") => holds(&run.labels.note),
            Some("state") => is(run.state.name()),
            Some("valid") => run.valid == Some(self.value == "yes"),
            Some("trace") => holds(&run.traces),
            Some("version") => holds(&run.versions),
            _ => {
                [&run.path, &run.scenario, &run.labels.note]
                    .into_iter()
                    .any(|text| holds(text))
                    || holds(policy)
                    || tags.iter().any(|tag| holds(tag))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Labels, State};
    use super::*;

    fn run() -> RunEntry {
        RunEntry {
            path: "two-sites-1/round-robin/r000".to_owned(),
            scenario: "two-sites".to_owned(),
            policy: Some("round-robin".to_owned()),
            seed: 1,
            clock: "virtual".to_owned(),
            valid: Some(true),
            state: State::Complete,
            labels: Labels {
                tags: vec!["Needs rerun".to_owned()],
                note: "burst at 9,000 s".to_owned(),
                baseline: false,
            },
            ..RunEntry::default()
        }
    }

    #[test]
    fn words_keys_quotes_and_minus_are_understood() {
        for (text, wanted) in [
            ("", true),
            ("robin BURST", true),
            ("robin nothing", false),
            ("policy:round seed:1", true),
            ("seed:10", false),
            ("tag:\"needs rerun\"", true),
            ("tag:needs", false),
            ("-tag:other valid:yes", true),
            ("-robin", false),
            ("valid:no", false),
            ("state:complete clock:virtual", true),
        ] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(filter.wants(&run()), wanted, "{text}");
        }
    }

    #[test]
    fn a_key_that_there_is_none_of_is_refused_by_name() {
        let error = Filter::parse("colour:red").unwrap_err();
        assert_eq!(error.term, "colour:red");
        assert!(error.to_string().contains("policy"), "{error}");
        assert!(Filter::parse("valid:maybe").is_err());
    }
}
