//! One TLS provider for the whole process.

/// Names ring as the provider, unless one is named already. reqwest is built
/// without a provider of its own and panics when it makes a client, even for
/// plain HTTP, before this has been called; [`Client::new`](crate::client::Client::new)
/// calls it.
pub fn init() {
    // An error says that another call was first, which is just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
