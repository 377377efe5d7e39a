//! Colours and the style sheet of pictures and pages.

/// The colour of a series or a box.
///
/// Series colours are those of Okabe and Ito ("Color Universal Design", 2008),
/// which stay apart for colour-blind readers; orange, sky blue and yellow are
/// darkened on a light ground so that every colour has a contrast of 3:1, and
/// all are lightened on a dark one. Lines also differ by their dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Color {
    /// The n-th colour of the palette; it repeats after [`Color::COUNT`].
    Series(usize),
    /// The colour of text.
    Ink,
    /// Grey, for what is only context.
    Muted,
    /// What is as wanted.
    Good,
    /// What is not as wanted.
    Bad,
}

impl Color {
    /// How many series colours there are.
    pub const COUNT: usize = 8;

    /// The class that sets `color`.
    pub(super) fn class(self) -> &'static str {
        const SERIES: [&str; Color::COUNT] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
        match self {
            Color::Series(n) => SERIES[n % Color::COUNT],
            Color::Ink => "ci",
            Color::Muted => "cm",
            Color::Good => "cg",
            Color::Bad => "cb",
        }
    }
}

/// The classes of pictures and tables without the properties: for pages that
/// choose their scheme by themselves and have the properties already.
pub const RULES: &str = concat!(
    include_str!("style/rules.css"),
    include_str!("style/stacked.css")
);

/// Properties and the classes of pictures.
pub(super) const PLOT_CSS: &str = concat!(
    include_str!("style/scheme.css"),
    include_str!("style/rules.css")
);

/// What a page adds to the classes of pictures.
pub(super) const PAGE_CSS: &str = concat!(
    include_str!("style/page.css"),
    include_str!("style/stacked.css")
);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Relative luminance (WCAG 2.2).
    fn luminance(hex: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    /// The properties of the light scheme and of the dark one.
    fn schemes() -> [Vec<&'static str>; 2] {
        let mut roots = include_str!("style/scheme.css").split(":root{").skip(1);
        [(); 2].map(|()| {
            let rules = roots.next().unwrap().split('}').next().unwrap();
            let rules = rules.split(';').map(str::trim);
            rules.filter(|rule| rule.starts_with("--")).collect()
        })
    }

    #[test]
    fn text_has_a_contrast_of_4_5_and_every_colour_of_3() {
        for scheme in schemes() {
            let of: BTreeMap<&str, f64> = scheme
                .into_iter()
                .filter_map(|rule| rule.split_once(':'))
                .map(|(name, hex)| (name, luminance(hex)))
                .collect();
            let contrast = |a: &str, b: &str| {
                let (x, y) = (of[a] + 0.05, of[b] + 0.05);
                (x / y).max(y / x)
            };
            for text in ["--ink", "--mut", "--good", "--bad"] {
                for ground in ["--bg", "--soft"] {
                    assert!(contrast(text, ground) >= 4.5, "{text} on {ground}");
                }
            }
            for n in 0..Color::COUNT {
                let ratio = contrast(&format!("--p{n}"), "--bg");
                assert!(ratio >= 3.0, "--p{n}: {ratio}");
            }
            assert!(
                contrast("--on", "--p0") >= 4.5,
                "{}",
                contrast("--on", "--p0")
            );
            assert!(contrast("--p0", "--bg") >= 4.5, "links");
        }
    }

    #[test]
    fn literal_colours_are_those_of_the_light_scheme() {
        let [light, _] = schemes();
        for rule in light.into_iter().filter(|rule| rule.starts_with("--p")) {
            let (name, hex) = rule.split_once(':').unwrap();
            assert!(
                PLOT_CSS.contains(&format!("color:{hex};color:var({name})")),
                "{rule}"
            );
        }
    }
}
