//! Values of flags: what is wrong with one is said before anything starts.

use crate::words::list;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gridrig_core::session::{Roles, Threshold};
use gridrig_core::time::SimDuration;
use gridrig_protocol::client::is_address;
use gridrig_scenario::external::OutletText;
use gridrig_scenario::value::{AboveZero, Text};
use std::time::Duration;

/// A value that is read, and refused, as in a scenario.
pub fn text<T: Text>(text: &str) -> Result<T, String> {
    T::read(text).map_err(|why| format!("expected {why}"))
}

/// A length of time of the run that is not 0.
pub fn positive(given: &str) -> Result<SimDuration, String> {
    text(given).map(|AboveZero(length)| length)
}

/// A length of wall-clock time.
pub fn wall(given: &str) -> Result<Duration, String> {
    text::<SimDuration>(given).map(|length| Duration::from_nanos(length.as_nanos()))
}

/// A share, exactly to a millionth.
pub fn share(text: &str) -> Result<Threshold, String> {
    let share: Option<f64> = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or("expected a share from 0 to 1, such as 0.1")?;
    Ok(Threshold::of_millionths((share * 1e6).round() as u32))
}

/// What a broker is to a peer.
pub fn roles(text: &str) -> Result<Roles, String> {
    Roles::from_name(text)
        .ok_or_else(|| "expected one of provider, consumer, both, none".to_owned())
}

/// The address of a service, to which paths can be added, without a slash at its end.
pub fn url(text: &str) -> Result<String, String> {
    match is_address(text) && !text.contains(['?', '#']) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("expected an address such as http://127.0.0.1:8201".to_owned()),
    }
}

/// A way for jobs to leave.
pub fn outlet(text: &str) -> Result<OutletText, String> {
    OutletText::read(text).map_err(|why| format!("expected {why}"))
}

/// `NAME=URL`.
pub fn named_url(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let pair = pair.and_then(|(name, address)| Some((name.to_owned(), url(address).ok()?)));
    pair.ok_or_else(|| "expected NAME=URL, as in a=http://127.0.0.1:8201".to_owned())
}

/// One of several values by its name.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let found = all.iter().copied().find(|one| name(*one) == text);
        found.ok_or_else(|| {
            let names = list(all.iter().map(|one| name(*one)));
            format!("expected one of {names}")
        })
    }
}

/// One of several values by its name; each has a help of its own.
pub fn known<T: Copy + Send + Sync + 'static>(
    all: &'static [(T, &str, &str)],
) -> impl TypedValueParser<Value = T> {
    let values = all
        .iter()
        .map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).map(|text| {
        let found = all.iter().find(|(_, name, _)| *name == text);
        found.expect("one of the possible values").0
    })
}
