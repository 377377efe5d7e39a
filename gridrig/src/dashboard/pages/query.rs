//! Addresses and forms: names and values, of which some come more than once.

use super::bad_request;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gridrig_protocol::rest::Result;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::convert::Infallible;

/// The pairs of a query or of a form (`application/x-www-form-urlencoded`), in
/// their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    pub(super) fn read(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes());
        Pairs(pairs.into_owned().collect())
    }

    /// All values of a name.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let own = self.0.iter().filter(|(known, _)| known == name);
        own.map(|(_, value)| value.clone()).collect()
    }

    /// The last value of a name, if it is not empty.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rev().find(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// A number, if there is one of this name.
    ///
    /// # Errors
    /// A value that is none.
    pub(super) fn number<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>> {
        let Some(text) = self.one(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            let shown: String = text.chars().take(80).collect();
            bad_request(format!("field {name} = \"{shown}\": expected {expected}"))
        })
    }

    /// Whether a name is there with a value that means yes.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.one(name), Some("1" | "true" | "yes" | "on"))
    }
}

/// Those of the address that is asked for.
impl<S: Send + Sync> FromRequestParts<S> for Pairs {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Pairs::read(parts.uri.query().unwrap_or_default()))
    }
}

/// What stands for itself in an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// A value as it stands in an address.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// `name=value` for each value, with `&` between.
pub(super) fn repeated(name: &str, values: &[String]) -> String {
    let pair = |value: &String| format!("{name}={}", encoded(value));
    values.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_browsers_write_them() {
        let pairs = Pairs::read("run=a%2Fb&run=c+d&each=1&note=%E2%82%AC%0D%0A&odd=%zz%&empty=");
        assert_eq!(pairs.all("run"), ["a/b", "c d"]);
        assert!(pairs.flag("each"));
        assert_eq!(pairs.one("note"), Some("\u{20ac}\r\n"));
        assert_eq!(pairs.one("odd"), Some("%zz%"));
        assert_eq!(pairs.one("empty"), None);
        assert!(pairs.number::<u64>("run", "a number").is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "a b&c=d%/\u{20ac}\"<";
        let pairs = Pairs::read(&repeated("run", &[text.to_owned()]));
        assert_eq!(pairs.all("run"), [text]);
        assert_eq!(Pairs::read("%e2%8").all("%e2%8"), Vec::<String>::new());
    }
}
