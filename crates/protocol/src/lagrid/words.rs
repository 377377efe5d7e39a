//! The words that messages choose from.

use serde::{Deserialize, Serialize};

/// An enumeration that is written as words: in JSON by serde, in XML by its
/// name, and both the same.
macro_rules! words {
    ($(
        $(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }
    )+) => {$(
        $(#[$outer])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            Serialize, Deserialize,
        )]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The name on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// The one with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == name)
            }
        }
    )+};
}

words! {
    /// How the parties of a connection show who they are (section 2.4).
    AuthMethod {
        /// Not at all; on loopback only.
        None = "none",
        /// A token in the HTTP header `Authorization: Bearer`.
        Bearer = "bearer",
        /// Certificates of both sides.
        MutualTls = "mutual-tls",
    }

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

    /// How far resource information is aggregated (section 2.2).
    ResourceForm {
        /// Not at all.
        Flat = "flat",
        /// Parents are aggregated, then the children of each.
        OneToN = "one-to-n",
        /// Every distinct pair of parent and child is kept.
        Unique = "unique",
        /// Each type by itself, with all pairs that occur.
        NToN = "n-to-n",
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
