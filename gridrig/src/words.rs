//! Several things in a sentence.

use std::any::Any;
use std::fmt::Display;

/// One after another, with commas between.
pub fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// How many there are of each, such as `3 failed, 1 rejected`.
pub fn counts<N: Display>(all: impl IntoIterator<Item = (impl Display, N)>) -> String {
    list(
        all.into_iter()
            .map(|(what, count)| format!("{count} {what}")),
    )
}

/// A number of things that have a plain plural, such as `1 outage` or `2 outages`.
pub fn many(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// What a panic says.
pub fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without words"))
}
