//! Enumerations whose values are words of a document or a message.

/// An enumeration that is written as words: in JSON by serde, in XML by its
/// name, and both the same.
macro_rules! words {
    ($(
        $(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }
    )+) => {$(
        $(#[$outer])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == name)
            }
        }
    )+};
}

pub(crate) use words;
