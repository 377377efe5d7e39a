//! The words that messages choose from.

use crate::words::words;
pub use gridrig_core::inventory::Form;
pub use gridrig_core::session::Auth;

words! {
    /// What a broker is on a connection (section 2).
    Role {
        /// It runs jobs of the other one and tells of its resources.
        Provider = "provider",
        /// It sends jobs to the other one.
        Consumer = "consumer",
    }

    /// In which language jobs are described.
    JobLanguage {
        /// JSDL 1.0 with our own elements (`docs/jsdl.md`).
        Jsdl = "jsdl-1.0",
    }

    /// In which language resources are described.
    ResourceLanguage {
        /// The load of clusters and the nodes they have.
        Clusters = "gridrig-clusters-1",
        /// Resource records and their aggregates (section 2.2).
        Inventory = "gridrig-inventory-1",
    }

    /// What a `notifyConn` is about.
    ConnEvent {
        /// Something is wrong; the connection stands.
        Error = "error",
        /// The connection ends.
        End = "end",
    }

    /// How much resource information a message has.
    UpdateKind {
        /// All of it.
        Full = "full",
        /// What has changed since another update.
        Incremental = "incremental",
    }

    /// What became of an update.
    UpdateVerdict {
        /// It has been taken in.
        Accepted = "accepted",
        /// It was here before, or is older than what is known: nothing changed.
        Stale = "stale",
        /// It is based on an update that is not known here: nothing changed,
        /// and only a full one can help.
        FullWanted = "full-wanted",
    }

    /// What a `notifyJob` tells.
    JobNews {
        /// The job stands elsewhere than before, or has ended.
        State = "state",
        /// The job comes back: it was not taken.
        Refused = "refused",
    }
}
