//! The tables of records: what [`records!`] and the others make of them.

/// Values that are fields: one element that has to be there.
macro_rules! required {
    ($language:ident: $($kind:ty),+) => {$(
        impl $crate::xml::record::Field<$language> for $kind {
            fn put(&self, tag: $crate::xml::record::Tag, parent: &mut $crate::xml::Element) {
                parent.push($crate::xml::record::Value::<$language>::write(self, tag));
            }

            fn take(
                fields: &mut $crate::xml::record::Fields<'_, $language>,
                tag: $crate::xml::record::Tag,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                let read: Option<$kind> = fields.take(tag)?;
                read.ok_or_else(|| fields.missing(tag.1))
            }
        }
    )+};
}

/// How a field is taken; [`records!`] tells what the words mean.
macro_rules! take {
    ($fields:ident, $tag:expr) => {
        $fields.take($tag)?
    };
    ($fields:ident, $tag:expr, demanded) => {
        Some($fields.take($tag)?)
    };
    ($fields:ident, $tag:expr, or $default:expr) => {
        $fields.take::<Option<_>>($tag)?.unwrap_or($default)
    };
    ($fields:ident, $tag:expr, as $kind:ident) => {
        $fields.take::<Option<$kind>>($tag)?.map(|part| part.0)
    };
    ($fields:ident, $tag:expr, if_any $kind:ident) => {
        $fields
            .take::<Option<$kind>>($tag)?
            .unwrap_or_default()
            .into()
    };
}

macro_rules! put {
    ($language:ident, $field:expr, $tag:expr, $element:ident $(, demanded)? $(, or $_:expr)?) => {
        <$language as $crate::xml::record::Language>::put(&$field, $tag, $element)
    };
    ($language:ident, $field:expr, $tag:expr, $element:ident, as $kind:ident) => {
        <$language as $crate::xml::record::Language>::put(
            &$field.clone().map($kind),
            $tag,
            $element,
        )
    };
    ($language:ident, $field:expr, $tag:expr, $element:ident, if_any $kind:ident) => {
        if !$crate::xml::record::is_default(&$field) {
            <$language as $crate::xml::record::Language>::put(
                &$kind::from($field.clone()),
                $tag,
                $element,
            )
        }
    };
}

/// Structs of a language together with their records: behind the type of each
/// field stands what a line of [`records!`] has behind its name.
macro_rules! structs {
    ($language:ident in $namespace:ident: $(
        $(#[$outer:meta])*
        pub struct $kind:ident $(<$form:ident = $read:ident>)? $([$some:ident $what:literal])? {$(
            $(#[$inner:meta])*
            pub $field:ident: $type:ty =
                $(@ $attribute:literal)? $($($other:ident)? $name:literal $([$($how:tt)+])?)?,
        )*}
    )+) => {
        $(
            $(#[$outer])*
            pub struct $kind $(<$form = $read>)? {
                $($(#[$inner])* pub $field: $type,)*
            }
        )+

        $crate::xml::record::records! { $language: $($kind in $namespace $([$some $what])? {
            $($(@ $field = $attribute,)?)*
            $($($field = $($other)? $name $([$($how)+])?,)?)*
        })+ }
    };
}

/// Records of a language, each with the namespace of its elements: first its
/// attributes, each after an `@`, then its elements in the order of the schema,
/// those of another namespace with its name before theirs. `demanded` says that
/// an optional one is in every document, `or` what a missing one stands for, `as`
/// in which other type the value of an optional one is written, `if_any` that the
/// default is not written, `..` what the other fields are. `some` after the
/// namespace says what is missing in a record without anything in it.
macro_rules! records {
    ($language:ident: $($kind:ident in $namespace:ident $([some $what:literal])? {
        $(@ $attribute:ident = $text:literal $(or $absent:expr)?,)*
        $($field:ident = $($other:ident)? $name:literal $([$($how:tt)+])?,)*
        $(.. $rest:expr)?
    })+) => {$(
        $crate::xml::record::required! { $language: $kind }

        impl $crate::xml::record::Record<$language> for $kind {
            fn put_all(&self, element: &mut $crate::xml::Element) {
                $(element.set($text, $crate::xml::record::Attribute::<$language>::put(&self.$attribute));)*
                $($crate::xml::record::put!(
                    $language, self.$field,
                    $crate::xml::record::tag!($namespace, $name $(, $other)?),
                    element $(, $($how)+)?
                );)*
            }

            fn take_all(
                fields: &mut $crate::xml::record::Fields<'_, $language>,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                let record = $kind {
                    $($attribute: $crate::xml::record::attribute!(fields, $text $(, $absent)?),)*
                    $($field: $crate::xml::record::take!(
                        fields, $crate::xml::record::tag!($namespace, $name $(, $other)?)
                        $(, $($how)+)?
                    ),)*
                    $(.. $rest)?
                };
                $(if $crate::xml::record::is_default(&record) {
                    return Err(fields.missing($what));
                })?
                Ok(record)
            }
        }
    )+};
}

macro_rules! attribute {
    ($fields:ident, $name:literal) => {
        $crate::xml::record::Attribute::take($fields, $name)?
    };
    ($fields:ident, $name:literal, $absent:expr) => {
        <Option<_> as $crate::xml::record::Attribute<_>>::take($fields, $name)?.unwrap_or($absent)
    };
}

/// The namespace of the record, or that of the field.
macro_rules! tag {
    ($namespace:ident, $name:literal) => {
        ($namespace, $name)
    };
    ($namespace:ident, $name:literal, $other:ident) => {
        ($other, $name)
    };
}

/// Elements that hold one value: what is expected, and how it is read.
macro_rules! values {
    ($language:ident: $($kind:ty = $expected:expr, $parse:expr;)+) => {$(
        $crate::xml::record::required! { $language: $kind }

        impl $crate::xml::record::Value<$language> for $kind {
            fn write(&self, (namespace, name): $crate::xml::record::Tag) -> $crate::xml::Element {
                $crate::xml::Element::with_text(namespace, name, self.to_string())
            }

            fn read(
                at: &$crate::xml::record::At<'_>,
                language: &mut $language,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                at.parsed(language, $expected, $parse)
            }
        }
    )+};
}

/// Texts of a language, each with its spaces.
macro_rules! texts {
    ($language:ident) => {
        $crate::xml::record::required! { $language: String }

        impl $crate::xml::record::Value<$language> for String {
            fn write(&self, (namespace, name): $crate::xml::record::Tag) -> $crate::xml::Element {
                $crate::xml::Element::with_text(namespace, name, self.as_str())
            }

            fn read(
                at: &$crate::xml::record::At<'_>,
                language: &mut $language,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                at.text(language, &[])
            }
        }
    };
}

/// Attributes that may be given or have to be: what is expected, how it is
/// read, and how it is written.
macro_rules! attributes {
    ($language:ident: $($kind:ty = $expected:expr, $parse:expr, $write:expr;)+) => {$(
        impl $crate::xml::record::Attribute<$language> for Option<$kind> {
            fn put(&self) -> Option<String> {
                self.as_ref().map($write)
            }

            fn take(
                fields: &mut $crate::xml::record::Fields<'_, $language>,
                name: &'static str,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                fields.attribute(name, $expected, $parse)
            }
        }

        impl $crate::xml::record::Attribute<$language> for $kind {
            fn put(&self) -> Option<String> {
                Some($write(self))
            }

            fn take(
                fields: &mut $crate::xml::record::Fields<'_, $language>,
                name: &'static str,
            ) -> Result<Self, <$language as $crate::xml::record::Language>::Error> {
                let value = fields.attribute(name, $expected, $parse)?;
                value.ok_or_else(|| fields.no_attribute(name))
            }
        }
    )+};
}

pub(crate) use {attribute, attributes, put, records, required, structs, tag, take, texts, values};
