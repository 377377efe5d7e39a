//! Where a service may be made to post to.

use super::is_loopback;
use gridrig_protocol::rest::{Problem, Result};
use reqwest::Url;

/// The hosts to which a service posts the news of jobs when a client names
/// them in `notify`. Whoever can reach a service could otherwise have it post
/// to whatever it can reach itself. Brokers, LRMSs and peers are no matter of
/// this: their addresses come from flags and scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotifyHosts {
    /// Only this machine: `localhost`, `127.0.0.0/8` and `[::1]`.
    #[default]
    Loopback,
    /// Whatever a client names.
    Anywhere,
}

impl NotifyHosts {
    /// Whether news may go to this URL.
    ///
    /// # Errors
    /// A problem document that says what is allowed.
    pub fn check(self, notify: Option<&str>) -> Result<()> {
        let is_refused = |url: &&str| self == NotifyHosts::Loopback && !is_on_loopback(url);
        notify.filter(is_refused).map_or(Ok(()), |url| {
            let expected = "a URL on this machine's loopback, such as \
                            http://127.0.0.1:8300/news (the service can be started \
                            with --notify-anywhere)";
            Err(Problem::field("notify", url, expected))
        })
    }
}

/// Whether this URL leads to the loopback interface of this machine.
pub fn is_on_loopback(url: &str) -> bool {
    // Read as the HTTP client will read it, so that both see one host.
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str);
    host.is_some_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_gets_news_unless_more_is_allowed() {
        let allowed = |url: &str| NotifyHosts::Loopback.check(Some(url)).is_ok();
        for url in [
            "http://127.0.0.1:8300/news",
            "http://127.9.9.9/",
            "http://localhost",
            "http://LOCALHOST:1/x",
            "http://[::1]:80/",
        ] {
            assert!(allowed(url), "{url}");
        }
        for url in [
            "http://192.0.2.7/",
            "http://example.org/",
            "http://127.0.0.1.example.org/",
            "http://127.0.0.1@example.org/",
            "http://localhost.example.org/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://",
        ] {
            assert!(!allowed(url), "{url}");
            assert!(NotifyHosts::Anywhere.check(Some(url)).is_ok(), "{url}");
        }
        assert!(NotifyHosts::Loopback.check(None).is_ok());
    }
}
