//! How a broker comes by what it knows.

/// Whether a broker counts what it has sent since its last information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OwnDispatch {
    /// It believes the last information, whatever it has done since.
    #[default]
    Ignored,
    /// It subtracts what it has sent itself from its last view: each job that
    /// arrived there after the sample was taken.
    Debited,
}

/// Where a broker's knowledge of its own clusters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalInfo {
    /// From the exchange, like that of its peers.
    #[default]
    Exchange,
    /// Own clusters are read live at each cycle.
    Fresh,
}
