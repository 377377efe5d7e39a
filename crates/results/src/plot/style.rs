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

/// The custom properties of one scheme.
macro_rules! light {
    () => {
        "--bg:#ffffff;--soft:#f5f7f9;--ink:#1c2128;--mut:#57606a;--grid:#e4e7eb;--axis:#8c959f;\
--good:#00714f;--bad:#b33a00;--on:#ffffff;--p0:#0072b2;--p1:#d55e00;--p2:#009e73;--p3:#cc79a7;\
--p4:#c48700;--p5:#1c2128;--p6:#3a9ad3;--p7:#8c7a00"
    };
}
macro_rules! dark {
    () => {
        "--bg:#14181d;--soft:#1c2229;--ink:#e6eaef;--mut:#9da7b3;--grid:#2b323a;--axis:#6b7580;\
--good:#3ecf9f;--bad:#ff8a57;--on:#0b0e11;--p0:#4ba3d9;--p1:#f0803c;--p2:#2cc295;--p3:#dd94bd;\
--p4:#f0b429;--p5:#e6eaef;--p6:#a5daf7;--p7:#f0e442"
    };
}

/// The classes of pictures.
macro_rules! rules {
    () => {
        ".plot{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif;\
font-variant-numeric:tabular-nums}
.plot text{fill:#1c2128;fill:var(--ink)}
.plot .t{font-size:14px;font-weight:600}
.plot .k{fill:#57606a;fill:var(--mut);font-size:11px}
.plot .h{fill:#57606a;fill:var(--mut);font-size:12px}
.plot .v{font-size:11px}
.plot .b6{font-weight:600}
.plot .m{text-anchor:middle}
.plot .e{text-anchor:end}
.plot .bg{fill:#fff;fill:var(--bg)}
.plot .w{fill:#fff;fill:var(--on)}
.plot .g{fill:none;stroke:#e4e7eb;stroke:var(--grid)}
.plot .x{fill:none;stroke:#8c959f;stroke:var(--axis)}
.plot .l{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}
.plot .n{stroke-width:1}
.plot .d1{stroke-dasharray:7 3}
.plot .d2{stroke-dasharray:2 2.5}
.plot .d3{stroke-dasharray:9 3 2 3}
.plot .o{fill:none;stroke:currentColor;stroke-width:4.5;stroke-linecap:round;stroke-opacity:.65}
.plot .q{fill:none;stroke:currentColor;stroke-width:4;stroke-linecap:square;stroke-opacity:.65}
.plot .y{fill:none;stroke:currentColor;stroke-width:4}
.plot .r{fill:none;stroke:currentColor;stroke-dasharray:4 3}
.plot .f{fill:currentColor}
.plot .a{fill:currentColor;fill-opacity:.22}
.plot .s{stroke:#fff;stroke:var(--bg);stroke-width:.6}
.plot .halo{fill:#1c2128;fill:var(--ink);paint-order:stroke;stroke:#fff;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}
.plot text.cg{fill:#00714f;fill:var(--good)}
.plot text.cb{fill:#b33a00;fill:var(--bad);font-weight:600}
.c0{color:#0072b2;color:var(--p0)}
.c1{color:#d55e00;color:var(--p1)}
.c2{color:#009e73;color:var(--p2)}
.c3{color:#cc79a7;color:var(--p3)}
.c4{color:#c48700;color:var(--p4)}
.c5{color:#1c2128;color:var(--p5)}
.c6{color:#3a9ad3;color:var(--p6)}
.c7{color:#8c7a00;color:var(--p7)}
.ci{color:#1c2128;color:var(--ink)}
.cm{color:#57606a;color:var(--mut)}
.cg{color:#00714f;color:var(--good)}
.cb{color:#b33a00;color:var(--bad)}"
    };
}

/// Where a page is narrow, a table is a card for each row: the name of the row
/// first, then every cell below the name of its column.
macro_rules! stacked {
    () => {
        "
@media (max-width:560px){\
.stack{position:relative;overflow-x:visible}\
.stack table,.stack caption,.stack tbody{display:block}\
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}\
.stack tbody tr{display:grid;grid-template-columns:1fr 1fr;gap:3px 14px;padding:8px 0;\
border-bottom:1px solid var(--grid)}\
.stack tbody th,.stack tbody td{display:block;border:0;padding:0;min-width:0;text-align:left;\
white-space:normal;overflow-wrap:anywhere}\
.stack tbody th{grid-column:1/-1;font-weight:600;font-size:15px}\
.stack tbody td:empty{display:none}\
.stack tbody td:not(.num){grid-column:1/-1}\
.stack tbody td::before{content:attr(data-label);display:block;color:var(--mut);font-size:12px;\
font-weight:400}}
"
    };
}

/// The classes of pictures and tables without the properties: for pages that
/// choose their scheme by themselves and have the properties already.
pub const RULES: &str = concat!(rules!(), stacked!());

/// Properties and the classes of pictures.
///
/// Each colour class names a literal colour first: renderers that know no
/// custom properties keep it.
pub(super) const PLOT_CSS: &str = concat!(
    ":root{color-scheme:light dark;",
    light!(),
    "}\n@media (prefers-color-scheme:dark){:root{",
    dark!(),
    "}}\n@media print{:root{color-scheme:light;",
    light!(),
    "}}\n",
    rules!()
);

/// What a page adds to the classes of pictures.
pub(super) const PAGE_CSS: &str = concat!(
    "\
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\",sans-serif}
main{max-width:1240px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:26px;line-height:1.2;margin:0 0 12px}
h2{font-size:20px;margin:36px 0 8px;padding-top:12px;border-top:1px solid var(--grid)}
h3{font-size:16px;margin:24px 0 6px}
p,ul{max-width:76ch;margin:0 0 12px}
h1,h2,h3,p,li,dd,figcaption,caption{overflow-wrap:anywhere}
td,th{overflow-wrap:break-word}
a{color:var(--p0)}
h2 a,h3 a{color:inherit;text-decoration:none}
h2 a:hover,h3 a:hover{text-decoration:underline}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:2px 18px;max-width:none}
.scroll{overflow-x:auto;max-width:100%}
.scroll:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--p0);outline-offset:2px}
table{border-collapse:collapse;margin:0 0 16px;font-variant-numeric:tabular-nums;font-size:14px}
caption{text-align:left;color:var(--mut);padding:0 0 4px}
th,td{padding:3px 12px;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
thead th{border-bottom-color:var(--axis);vertical-align:bottom}
tbody th{font-weight:400;white-space:nowrap}
th:first-child,td:first-child{padding-left:0}
.num{text-align:right;white-space:nowrap}
.none{color:var(--mut)}
.pass{color:var(--good);font-weight:600}
.fail{color:var(--bad);font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 20px;margin:0 0 16px;font-size:14px}
dt{color:var(--mut)}
dd{margin:0}
@media (max-width:560px){dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 6px}}
figure{margin:0 0 20px;min-width:0}
figure svg.plot{display:block;max-width:100%;height:auto;min-width:320px}
figure svg.wide{min-width:700px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:0 28px}
figcaption{font-size:13px;color:var(--mut);margin:4px 0 0;max-width:90ch}
details{font-size:13px;margin:4px 0 0}
summary{cursor:pointer;color:var(--mut)}
details table{font-size:12px;margin:6px 0}
.verdict{border-left:5px solid var(--mut);background:var(--soft);padding:10px 16px;max-width:none;font-size:16px}
.verdict b{margin-right:10px}
.verdict.vp{border-color:var(--good)}
.verdict.vp b{color:var(--good)}
.verdict.vf{border-color:var(--bad)}
.verdict.vf b{color:var(--bad)}
.verdict.vw{border-color:var(--p4)}
pre{background:var(--soft);border:1px solid var(--grid);border-radius:4px;padding:10px 12px;overflow-x:auto;\
white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,\"DejaVu Sans Mono\",Menlo,Consolas,monospace;margin:0 0 16px}
footer{margin-top:40px;padding-top:10px;border-top:1px solid var(--grid);color:var(--mut);font-size:13px}
@media print{main{max-width:none;padding:0}figure,table,pre,.verdict{break-inside:avoid}h2,h3{break-after:avoid}\
nav,details{display:none}}
",
    stacked!()
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

    #[test]
    fn text_has_a_contrast_of_4_5_and_every_colour_of_3() {
        for scheme in [light!(), dark!()] {
            let of: BTreeMap<&str, f64> = scheme
                .split(';')
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
        for rule in light!().split(';').filter(|rule| rule.starts_with("--p")) {
            let (name, hex) = rule.split_once(':').unwrap();
            assert!(
                PLOT_CSS.contains(&format!("color:{hex};color:var({name})")),
                "{rule}"
            );
        }
    }
}
